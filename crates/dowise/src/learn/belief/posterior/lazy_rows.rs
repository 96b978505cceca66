//! Lazily sampled rows: posterior samples of only those interventions that can be optimal.
//!
//! The continuation value of an intervention is at most the best next value. If its reward falls short by more than
//! that value can compensate, it is never chosen, so its row need not be sampled. The interventions of a state are
//! sorted by reward, and rows are sampled in that order until no further one can win.
//!
//! If every row is sampled, an episode of `psrl` takes 1.9x as long at 8 states and 64 interventions, and 5x at 64 and
//! 343 (example `episode_times`).

use crate::loops::gamma::{BATCH, Gammas, Lanes};
use crate::loops::simd;

/// Interventions sampled together: as many as fit a register.
const CHUNK: usize = 8;

/// Values of a chunk in one batch.
const VALUES: usize = BATCH / CHUNK;

/// States and interventions from which on lazy sampling is faster: with fewer, whole batches sample more than is
/// saved.
const MANY: (usize, usize) = (6, 32);

/// End of the first draw for a state: all interventions that win if the best value reaches this share of the spread
/// between the least and the greatest next value.
const EXPECTED_SHARE: f64 = 0.6;

/// Dirichlet posteriors of the rows (state, intervention), sampled chunk by chunk on demand.
#[derive(Clone, Debug)]
pub(crate) struct LazyRows {
    n_states: usize,
    n_actions: usize,
    n_chunks: usize,
    /// Prior weight of each next state.
    prior: f64,
    /// Margin by which an omitted row must fall short.
    margin: f64,
    /// Interventions by net reward, best first, `[state][place]`; forbidden ones and the rest of the last chunk are
    /// [`NONE`].
    actions: Vec<u32>,
    /// Net rewards in the same order; −∞ for [`NONE`].
    rewards: Vec<f64>,
    /// Place of an intervention, `[state][intervention]`.
    places: Vec<u32>,
    /// `[block][state][chunk][next state][intervention of the chunk]`, each chunk in whole batches.
    gammas: Gammas,
    /// 1 / (sum of a row's variates), `[block][state][chunk]`.
    scales: Vec<[f64; CHUNK]>,
    /// Chunks drawn, `[block][state]`.
    drawn: Vec<u32>,
    random: Lanes,
    /// Chunks to sample now.
    wanted: Vec<u32>,
    /// The undecided states: number, processed chunks, best value so far.
    open: Vec<(u32, u32, f64)>,
}

const NONE: u32 = u32::MAX;

impl LazyRows {
    /// Whether there are enough rows for lazy sampling to be faster.
    pub(crate) fn pays(n_states: usize, n_actions: usize) -> bool {
        n_states >= MANY.0 && n_actions >= MANY.1
    }

    /// Bytes for one block: two constants, a flag, a variate and a share of the redrawn variates for every cell, in
    /// whole batches; a scale, a reward and two places for every row.
    pub(crate) fn bytes(n_states: u128, n_actions: u128) -> u128 {
        let rows = n_states * n_actions.next_multiple_of(CHUNK as u128);
        rows * (14 * n_states.next_multiple_of(VALUES as u128) + 24)
    }

    /// Rows with this total prior weight and no visits. `net` holds each intervention's reward less its cost, −∞ if
    /// forbidden, `[state][intervention]`.
    pub(crate) fn new(n_states: usize, net: &[f64], n_blocks: usize, prior: f64, margin: f64) -> LazyRows {
        let n_actions = net.len() / n_states;
        let n_chunks = n_actions.div_ceil(CHUNK);
        let width = n_chunks * CHUNK;
        let (mut actions, mut rewards) = (vec![NONE; n_states * width], vec![f64::NEG_INFINITY; n_states * width]);
        let mut places = vec![NONE; n_states * n_actions];
        for (s, net) in net.chunks_exact(n_actions).enumerate() {
            let mut order: Vec<usize> = (0..n_actions).filter(|&a| net[a] > f64::NEG_INFINITY).collect();
            order.sort_by(|&a, &b| net[b].total_cmp(&net[a]).then(a.cmp(&b)));
            for (place, &a) in order.iter().enumerate() {
                (actions[s * width + place], rewards[s * width + place]) = (a as u32, net[a]);
                places[s * n_actions + a] = place as u32;
            }
        }
        let prior = prior / n_states as f64;
        LazyRows {
            n_states,
            n_actions,
            n_chunks,
            prior,
            margin,
            actions,
            rewards,
            places,
            gammas: Gammas::new(n_blocks * n_states * n_chunks * n_states.div_ceil(VALUES), prior),
            scales: vec![[0.0; CHUNK]; n_blocks * n_states * n_chunks],
            drawn: vec![0; n_blocks * n_states],
            random: Lanes::new(0),
            wanted: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Sets the counts of one row.
    pub(crate) fn set(&mut self, block: usize, row: usize, counts: &[u32]) {
        let (state, place) = (row / self.n_actions, self.places[row] as usize);
        if place == NONE as usize {
            return;
        }
        let first = self.chunk(block, state, place / CHUNK) * self.batches() * BATCH + place % CHUNK;
        for (v, &n) in counts.iter().enumerate() {
            self.gammas.set(first + v * CHUNK, self.prior + f64::from(n));
        }
    }

    /// Discards all samples; from here on the samples are functions of this seed and of the requests.
    pub(crate) fn draw_anew(&mut self, seed: u64) {
        self.random = Lanes::new(seed);
        self.drawn.fill(0);
    }

    fn batches(&self) -> usize {
        self.n_states.div_ceil(VALUES)
    }

    fn chunk(&self, block: usize, state: usize, chunk: usize) -> usize {
        (block * self.n_states + state) * self.n_chunks + chunk
    }

    /// q(s, a) = `reward_sa` + E[V(s')] of every row that may be optimal up to the margin; for the others an upper
    /// bound that still falls short.
    ///
    /// # Cost
    /// (rows that may be optimal) × S, and as many gamma variates for rows not sampled before.
    pub(crate) fn look(&mut self, block: usize, next_value: &[f64], reward_sa: &[f64], out: &mut Vec<f64>) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for &v in next_value {
            (least, most) = (least.min(v), most.max(v));
        }
        out.clear();
        out.extend(reward_sa.iter().map(|r| r + most));
        if least == most {
            // As after the last stage: next states do not matter.
            return;
        }
        simd::wide(
            #[inline(always)]
            || self.look_here(block, next_value, [least, most], reward_sa, out),
        );
    }

    #[inline(always)]
    fn look_here(
        &mut self,
        block: usize,
        next_value: &[f64],
        [least, most]: [f64; 2],
        reward_sa: &[f64],
        out: &mut [f64],
    ) {
        self.open.clear();
        for s in 0..self.n_states {
            self.open.push((s as u32, 0, f64::NEG_INFINITY));
        }
        while !self.open.is_empty() {
            let mut kept = 0;
            for i in 0..self.open.len() {
                let (state, mut chunk, mut best) = self.open[i];
                let s = state as usize;
                let drawn = self.drawn[block * self.n_states + s];
                let rewards = &self.rewards[s * self.n_chunks * CHUNK..(s + 1) * self.n_chunks * CHUNK];
                let n_chunks = self.n_chunks as u32;
                let wins = |chunk: u32, best: f64| chunk < n_chunks && rewards[chunk as usize * CHUNK] + most >= best;
                while chunk < drawn && wins(chunk, best) {
                    let mean = self.mean(block, s, chunk as usize, next_value);
                    let first = chunk as usize * CHUNK;
                    let mut q = [0.0; CHUNK];
                    for lane in 0..CHUNK {
                        q[lane] = rewards[first + lane] + mean[lane];
                    }
                    for q in q {
                        best = if q - self.margin > best { q - self.margin } else { best };
                    }
                    let row = s * self.n_actions..(s + 1) * self.n_actions;
                    self.put(s, chunk as usize, &mean, &reward_sa[row.clone()], &mut out[row]);
                    chunk += 1;
                }
                if wins(chunk, best) {
                    // The first time all rows that are probably needed, later one chunk after another.
                    let enough =
                        if drawn == 0 { rewards[0] + least + EXPECTED_SHARE * (most - least) } else { f64::INFINITY };
                    let mut to = drawn + 1;
                    while wins(to, enough) {
                        to += 1;
                    }
                    for chunk in drawn..to {
                        self.wanted.push(self.chunk(block, s, chunk as usize) as u32);
                    }
                    self.drawn[block * self.n_states + s] = to;
                    self.open[kept] = (state, chunk, best);
                    kept += 1;
                }
            }
            self.open.truncate(kept);
            self.draw();
        }
    }

    /// E[V(s')] of the rows of a sampled chunk.
    #[inline(always)]
    fn mean(&self, block: usize, state: usize, chunk: usize, next_value: &[f64]) -> [f64; CHUNK] {
        let chunk = self.chunk(block, state, chunk);
        let n = self.batches();
        let variates = self.gammas.variates[chunk * n..(chunk + 1) * n].as_flattened();
        let mut mean = [0.0; CHUNK];
        for (of_value, v) in variates.as_chunks::<CHUNK>().0.iter().zip(next_value) {
            for lane in 0..CHUNK {
                mean[lane] += f64::from(of_value[lane]) * v;
            }
        }
        let scale = &self.scales[chunk];
        for lane in 0..CHUNK {
            mean[lane] *= scale[lane];
        }
        mean
    }

    /// Writes q of the rows of a chunk.
    #[inline(always)]
    fn put(&self, state: usize, chunk: usize, mean: &[f64; CHUNK], reward_a: &[f64], out: &mut [f64]) {
        let first = (state * self.n_chunks + chunk) * CHUNK;
        for (mean, &a) in mean.iter().zip(&self.actions[first..first + CHUNK]) {
            if let (Some(out), Some(r)) = (out.get_mut(a as usize), reward_a.get(a as usize)) {
                *out = r + mean;
            }
        }
    }

    /// Samples the wanted chunks.
    #[inline(always)]
    fn draw(&mut self) {
        let n = self.batches();
        let (wanted, random) = (&self.wanted, &mut self.random);
        self.gammas.draw(wanted.iter().flat_map(|&chunk| chunk as usize * n..(chunk as usize + 1) * n), random);
        for &chunk in &self.wanted {
            let chunk = chunk as usize;
            let variates = self.gammas.variates[chunk * n..(chunk + 1) * n].as_flattened_mut();
            let rows = &mut variates.as_chunks_mut::<CHUNK>().0[..self.n_states];
            let mut sum = [0.0; CHUNK];
            for of_value in &*rows {
                for lane in 0..CHUNK {
                    sum[lane] += f64::from(of_value[lane]);
                }
            }
            for lane in 0..CHUNK {
                if sum[lane] == 0.0 {
                    // Every variate underflowed: with a tiny prior the sample is a corner of the simplex.
                    let [bits] = self.random.draw();
                    let corner = crate::random::scale(u64::from(bits[0]) << 32, self.n_states as u64) as usize;
                    (rows[corner][lane], sum[lane]) = (1.0, 1.0);
                }
                self.scales[chunk][lane] = 1.0 / sum[lane];
            }
        }
        self.wanted.clear();
    }

    /// q(s, ·) of one state, with every row sampled.
    pub(crate) fn look_at(
        &mut self,
        block: usize,
        state: usize,
        next_value: &[f64],
        reward_a: &[f64],
        out: &mut Vec<f64>,
    ) {
        let drawn = &mut self.drawn[block * self.n_states + state];
        let from = std::mem::replace(drawn, self.n_chunks as u32);
        for chunk in from as usize..self.n_chunks {
            self.wanted.push(self.chunk(block, state, chunk) as u32);
        }
        self.draw();
        out.clear();
        out.extend_from_slice(reward_a);
        for chunk in 0..self.n_chunks {
            let mean = self.mean(block, state, chunk, next_value);
            self.put(state, chunk, &mean, reward_a, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_moments;
    use super::*;
    use proptest::prelude::*;

    /// Rewards, costs (infinite where not allowed), counts and next values of two stages.
    type Case = (usize, Vec<f64>, Vec<f64>, Vec<u32>, [Vec<f64>; 2]);

    fn case() -> impl Strategy<Value = Case> {
        (1..20usize, 1..40usize).prop_flat_map(|(n_states, n_actions)| {
            let rows = n_states * n_actions;
            // Few distinct numbers, so that there are ties.
            let rewards = prop::collection::vec((0..40).prop_map(|r| f64::from(r) / 40.0), rows);
            let cost = prop_oneof![4 => Just(0.0), 1 => Just(0.25), 1 => Just(f64::INFINITY)];
            let mut costs = prop::collection::vec(cost, rows).boxed();
            costs = costs
                .prop_map(move |mut c| {
                    (0..n_states).for_each(|s| c[s * n_actions] = 0.5);
                    c
                })
                .boxed();
            let counts = prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0..50u32], rows * n_states);
            let values = || prop::collection::vec((0..30).prop_map(|v| f64::from(v) / 60.0), n_states);
            (Just(n_states), rewards, costs, counts, [values(), values()])
        })
    }

    proptest! {
        #[test]
        fn what_is_left_out_could_not_have_been_best((n_states, rewards, costs, counts, values) in case(), seed: u64) {
            let n_actions = rewards.len() / n_states;
            let margin = 1e-9;
            let net: Vec<f64> = rewards.iter().zip(&costs).map(|(r, cost)| r - cost).collect();
            let mut lazy_rows = LazyRows::new(n_states, &net, 1, 2.0, margin);
            for (row, counts) in counts.chunks_exact(n_states).enumerate() {
                lazy_rows.set(0, row, counts);
            }
            lazy_rows.draw_anew(seed);
            let mut looks = [Vec::new(), Vec::new()];
            for (look, next) in looks.iter_mut().zip(&values) {
                lazy_rows.look(0, next, &rewards, look);
            }
            // From here on every row is drawn, and those of before are the same.
            let mut all = Vec::new();
            for (look, next) in looks.iter().zip(&values) {
                for s in 0..n_states {
                    let of_state = s * n_actions..(s + 1) * n_actions;
                    lazy_rows.look_at(0, s, next, &rewards[of_state.clone()], &mut all);
                    let (look, costs) = (&look[of_state.clone()], &costs[of_state]);
                    let best = all.iter().zip(costs).map(|(q, cost)| q - cost).fold(f64::NEG_INFINITY, f64::max);
                    for a in (0..n_actions).filter(|&a| costs[a] < f64::INFINITY) {
                        let same = (look[a] - all[a]).abs() < 1e-14;
                        prop_assert!(same || look[a] > all[a] && look[a] - costs[a] < best - margin);
                    }
                }
            }
        }
    }

    #[test]
    fn few_rows_are_drawn_where_rewards_differ_more_than_next_values() {
        let (n_states, n_actions) = (4, 64);
        let net: Vec<f64> = (0..n_states * n_actions).map(|i| (i * 37 % 64) as f64).collect();
        let mut lazy_rows = LazyRows::new(n_states, &net, 1, 2.0, 1e-9);
        lazy_rows.draw_anew(1);
        let mut q = Vec::new();
        lazy_rows.look(0, &[0.0; 4], &net, &mut q);
        assert_eq!((lazy_rows.drawn.as_slice(), &q), ([0; 4].as_slice(), &net));
        lazy_rows.look(0, &[0.0, 1.0, 2.0, 3.0], &net, &mut q);
        assert_eq!(lazy_rows.drawn, [1; 4]);
    }

    #[test]
    fn rows_have_the_mean_and_variance_of_their_posterior() {
        // Of 5 next states; the second block's last row of the second state has been seen.
        let (n_states, n_actions) = (5, 33);
        let net: Vec<f64> = (0..n_states * n_actions).map(|i| (i % 7) as f64).collect();
        let mut lazy_rows = LazyRows::new(n_states, &net, 2, 2.0, 1e-9);
        let counts = [3, 0, 1, 9, 0];
        lazy_rows.set(1, 2 * n_actions - 1, &counts);
        let (rounds, mut sums, mut squares) = (20_000, [[0.0; 5]; 2], [[0.0; 5]; 2]);
        let mut q = Vec::new();
        for seed in 0..rounds {
            lazy_rows.draw_anew(seed);
            for v in 0..n_states {
                let mut indicator = [0.0; 5];
                indicator[v] = 1.0;
                lazy_rows.look_at(1, 1, &indicator, &[0.0; 33], &mut q);
                for (i, p) in [q[n_actions - 1], q[4]].into_iter().enumerate() {
                    sums[i][v] += p;
                    squares[i][v] += p * p;
                }
            }
        }
        for (i, counts) in [counts, [0; 5]].into_iter().enumerate() {
            assert_moments(&counts, 2.0, rounds, &sums[i], &squares[i]);
        }
    }

    #[test]
    fn a_tiny_prior_gives_corners() {
        let mut lazy_rows = LazyRows::new(3, &[0.0; 99], 1, 1e-6, 1e-9);
        let (mut q, mut corners) = (Vec::new(), [0; 3]);
        for seed in 0..300 {
            lazy_rows.draw_anew(seed);
            lazy_rows.look_at(0, 0, &[0.0, 1.0, 2.0], &[0.0; 33], &mut q);
            assert!(q.iter().all(|q| q.fract() == 0.0), "{q:?}");
            corners[q[0] as usize] += 1;
        }
        assert!(corners.iter().all(|&n| n > 60), "{corners:?}");
    }
}
