//! How the baseline is kept, in words and numbers.

use dowise::learn::SafetyBudget;
use serde_json::{Value, json};

/// What is promised, and what that has cost so far; null where nothing is.
pub(crate) fn kept(account: Option<&SafetyBudget>) -> Value {
    let Some(account) = account else { return Value::Null };
    json!({
        "alpha": account.alpha(),
        "delta": account.delta(),
        "episodes": account.episodes(),
        "of_baseline": account.of_baseline(),
        "room": account.room(),
        "allows_another": account.allows_another(),
    })
}
