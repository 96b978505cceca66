//! What was predicted of key variables beside what was observed.

use serde_json::{Value, json};

use super::Past;
use crate::served::Served;

/// Classes of predicted probabilities.
const CLASSES: usize = 10;

/// For every value of every key variable: decisions by the probability that was predicted, and how often it came true.
///
/// Ends are of Wilson's interval of 95 %.
pub(crate) fn calibration(served: &Served, past: &[Past]) -> Value {
    let world = &served.world;
    let mut out = Vec::new();
    for (position, &id) in world.keys().iter().enumerate() {
        let variable = world.variable(id);
        for (value, name) in variable.values.iter().enumerate() {
            let mut classes = [(0u64, 0u64, 0.0); CLASSES];
            for one in past {
                let predicted = one.answer["expected_keys"][&variable.name][name].as_f64();
                // What was done instead was not predicted.
                let as_decided = one.step.parts.did.is_none_or(|did| did == one.step.action);
                let (Some(p), Some(seen), true) = (predicted, one.step.parts.keys[position], as_decided) else {
                    continue;
                };
                let class = &mut classes[((p * CLASSES as f64) as usize).min(CLASSES - 1)];
                class.0 += 1;
                class.1 += u64::from(seen == value);
                class.2 += p;
            }
            let point = |&(n, came, sum): &(u64, u64, f64)| {
                let (share, [low, high]) = (came as f64 / n as f64, wilson(came as f64, n as f64));
                json!({"n": n, "predicted": sum / n as f64, "observed": share, "low": low, "high": high})
            };
            let points: Vec<Value> = classes.iter().filter(|c| c.0 > 0).map(point).collect();
            out.push(json!({"key": variable.name, "value": name, "points": points}));
        }
    }
    Value::Array(out)
}

/// Wilson's interval of a share at 95 %.
fn wilson(came: f64, n: f64) -> [f64; 2] {
    let z = 1.96;
    let share = came / n;
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_interval_has_the_values_of_the_textbook() {
        // 8 of 10: 0.490 to 0.943 (Agresti and Coull 1998).
        let [low, high] = wilson(8.0, 10.0);
        assert!((low - 0.490).abs() < 5e-4 && (high - 0.943).abs() < 5e-4, "{low} {high}");
        assert_eq!(wilson(0.0, 5.0)[0], 0.0);
        assert_eq!(wilson(5.0, 5.0)[1], 1.0);
    }
}
