//! Values of something that is followed, by any belief: the backward induction without a choice.

use super::Lookahead;

/// V_h(s) = `expect`(h, s, q_h(s, ·)), backwards over stages, as `[stage][state]` with one further stage of zeros.
///
/// `expect` says what is made of the values of the causes: Σ_c P(c | s, π) q(c) − cost(π) for a policy, the same with the causes
/// that were logged for whoever was logged. After each stage `after` gets the stage, q (`[state][cause]`) and the values.
///
/// # Cost
/// H look aheads, and S calls of `expect` for each.
pub(crate) fn values_along(
    lookahead: &mut impl Lookahead,
    [horizon, n_states]: [usize; 2],
    mut expect: impl FnMut(usize, usize, &[f64]) -> f64,
    mut after: impl FnMut(usize, &[f64], &[f64], &[f64]),
) -> Vec<f64> {
    let mut value_hs = vec![0.0; (horizon + 1) * n_states];
    let mut q_sc = Vec::new();
    for stage in (0..horizon).rev() {
        let (now, next) = value_hs.split_at_mut((stage + 1) * n_states);
        lookahead.look(stage, &next[..n_states], &mut q_sc);
        let n_causes = q_sc.len() / n_states;
        let now = &mut now[stage * n_states..];
        for (s, (v, q)) in now.iter_mut().zip(q_sc.chunks_exact(n_causes)).enumerate() {
            *v = expect(stage, s, q);
        }
        after(stage, &q_sc, now, &next[..n_states]);
    }
    value_hs
}
