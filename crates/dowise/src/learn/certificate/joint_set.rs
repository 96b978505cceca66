//! Joint confidence sets for all rows of one state: an ellipsoid in place of a box of intervals, at one union-bound
//! cost.
//!
//! A sum over many rows, such as Σ_c d_c p_c·m, is off by Σ |g| |p − p^| if every row may be at the end of its own interval, and by far less
//! if they cannot all be. For binary rows with p^ counted in n visits, (p^ − p) n has exponential moments below those of a normal with
//! variance n σ²(p), σ²(p) = (1 − 2p)/(2 ln((1 − p)/p)) ≤ 1/4 (Kearns and Saul 1998). Mixed over a normal of variance 1/(a σ²),
//!
//! ```text
//! Π_rows exp(n² (p^ − p)²/(2 σ² (n + a))) / √(1 + n/a)
//! ```
//!
//! is a supermartingale that begins at 1, a product over rows being one too since each visit is of one row. By Ville's inequality, with
//! probability 1 − δ at all times together, for all states, and for each strength a with its share w of the stake,
//!
//! ```text
//! Σ_rows n² (p^ − p)²/(2 σ² (n + a)) ≤ B = ln(states/(w δ)) + Σ_rows ½ ln(1 + n/a),
//! ```
//!
//! so that by Cauchy and Schwarz Σ g (p − p^) ≤ √(B Σ g² 2 σ² (n + a)/n²). Expectations over several factors are polynomials in their
//! rows, of degree 1 in each: what is of higher degree is bounded by the intervals of the rows.

use crate::learn::evidence::Evidence;
use crate::learn::view::View;
use crate::math::{ln, ln_1p};

/// Strengths of the mixture, all of which hold: each is best for rows with about that many visits.
const STRENGTHS: [f64; 5] = [8.0, 64.0, 512.0, 4096.0, 32768.0];

/// Most factors: the polynomial has a coefficient for each subset of them.
const MOST_FACTORS: usize = 6;

/// Joint confidence sets of the rows of each state.
pub(super) struct Together {
    n_causes: usize,
    n_factors: usize,
    /// Of each block, `[state]`.
    blocks: Vec<Vec<Rows>>,
}

/// The rows of one state.
struct Rows {
    /// `[cause][factor]`
    cells: Vec<Cell>,
    /// 2 σ² (n + a)/n² of each row; infinite for unvisited rows.
    off: Vec<f64>,
    /// B
    budget: f64,
}

/// One factor's row under one configuration.
#[derive(Clone, Copy)]
struct Cell {
    /// Frequency of the second value.
    p: f64,
    /// Distance from there to the farther end of the row's interval.
    far: f64,
    /// Its index among the rows of the state; `None` if it is known.
    row: Option<u32>,
}

/// Buffers.
#[derive(Default)]
pub(super) struct Scratch {
    coefficients: Vec<f64>,
    gradient: Vec<f64>,
    far: Vec<f64>,
}

impl Together {
    /// Whether joint sets apply: every factor has two values, there are not too many, and the state is factored.
    pub(super) fn fits(view: &View) -> bool {
        let layout = &view.layout;
        !layout.flat
            && (1..=MOST_FACTORS).contains(&layout.factors.len())
            && layout.factors.iter().all(|f| f.n_values == 2)
    }

    /// The sets of all states, with probability 1 − δ; `entries` bounds single probabilities, `[block][factor]`, as
    /// `[state row][cause][value]`.
    pub(super) fn new(evidence: &Evidence, entries: &[Vec<[Vec<f64>; 2]>], delta: f64) -> Together {
        let view = &evidence.view;
        let layout = &view.layout;
        let price = ln((layout.n_states() * view.n_blocks * STRENGTHS.len()) as f64 / delta);
        let of_block = |block: usize| {
            let of_state = |state: usize| {
                let (mut rows, mut seen): (Vec<(usize, usize)>, Vec<[f64; 2]>) = (Vec::new(), Vec::new());
                let mut cells = Vec::with_capacity(layout.n_causes * layout.factors.len());
                for cause in 0..layout.n_causes {
                    for (f, factor) in layout.factors.iter().enumerate() {
                        let state_row = factor.state_row(&layout.state_space, state);
                        let place = (state_row * layout.n_causes + cause) * 2 + 1;
                        let [low, high] = [0, 1].map(|end| entries[block][f][end][place]);
                        if factor.known.is_some() {
                            cells.push(Cell { p: low, far: high - low, row: None });
                            continue;
                        }
                        let row = factor.row(state_row, cause, layout.n_causes);
                        let counts = &evidence.transitions[block][f];
                        let n = f64::from(counts.n_r[row]);
                        let p = if n > 0.0 { f64::from(counts.values(row)[1]) / n } else { 0.5 };
                        let at = rows.iter().position(|&known| known == (f, row)).unwrap_or_else(|| {
                            rows.push((f, row));
                            seen.push([n, variance(low, high)]);
                            rows.len() - 1
                        });
                        cells.push(Cell { p, far: (high - p).max(p - low), row: Some(at as u32) });
                    }
                }
                Rows::new(cells, &seen, price)
            };
            (0..layout.n_states()).map(of_state).collect()
        };
        let blocks = (0..view.n_blocks).map(of_block).collect();
        Together { n_causes: layout.n_causes, n_factors: layout.factors.len(), blocks }
    }

    /// Number of multiplications for one configuration and one next state.
    pub(super) fn work(view: &View) -> u128 {
        8 * view.layout.factors.len() as u128
    }

    /// Σ_c d_c p_c(y) for a next state y: its value at the frequencies, and its maximal error. Equals
    /// [`Together::mean`] for the indicator of y, but faster: coefficients are products.
    pub(super) fn probability(
        &self,
        block: usize,
        state: usize,
        d: &[(u32, f64)],
        y: usize,
        scratch: &mut Scratch,
    ) -> [f64; 2] {
        let rows = &self.blocks[block][state];
        scratch.clear(rows.off.len());
        let n = self.n_factors;
        let (mut centre, mut rest) = (0.0, 0.0);
        for &(cause, d) in d {
            let cells = &rows.cells[cause as usize * n..][..n];
            // The probability of each factor's value, and the products before and after it.
            let (mut own, mut before, mut after) =
                ([0.0; MOST_FACTORS], [1.0; MOST_FACTORS + 1], [1.0; MOST_FACTORS + 1]);
            let second = |i: usize| y >> (n - 1 - i) & 1 == 1;
            let mut farthest = 1.0;
            for (i, cell) in cells.iter().enumerate() {
                own[i] = if second(i) { cell.p } else { 1.0 - cell.p };
                before[i + 1] = before[i] * own[i];
                farthest *= own[i] + cell.far;
            }
            for i in (0..n).rev() {
                after[i] = after[i + 1] * own[i];
            }
            centre += d * after[0];
            let mut linear = 0.0;
            for (i, cell) in cells.iter().enumerate() {
                let others = before[i] * after[i + 1];
                linear += others * cell.far;
                match cell.row {
                    Some(row) => scratch.add(row, if second(i) { d * others } else { -d * others }, cell.far),
                    None => rest += d.abs() * others * cell.far,
                }
            }
            // All coefficients of higher degree, with the largest error of each factor.
            rest += d.abs() * (farthest - after[0] - linear).max(0.0);
        }
        [centre, rest + rows.first_order(&scratch.gradient, &scratch.far)]
    }

    /// Σ_c d_c p_c·m for a function m of the next state: its value at the frequencies, and its maximal error.
    pub(super) fn mean(
        &self,
        block: usize,
        state: usize,
        d: &[(u32, f64)],
        m: &[f64],
        scratch: &mut Scratch,
    ) -> [f64; 2] {
        let rows = &self.blocks[block][state];
        scratch.clear(rows.off.len());
        let mut coefficients = std::mem::take(&mut scratch.coefficients);
        let (mut centre, mut rest) = (0.0, 0.0);
        for &(cause, d) in d {
            debug_assert!((cause as usize) < self.n_causes);
            let cells = &rows.cells[cause as usize * self.n_factors..][..self.n_factors];
            derivatives(cells, m, &mut coefficients);
            centre += d * coefficients[0];
            for (subset, coefficient) in coefficients.iter().enumerate().skip(1) {
                let of = |i: &usize| subset >> (self.n_factors - 1 - i) & 1 == 1;
                if subset.is_power_of_two() {
                    let cell = cells[(0..self.n_factors).find(of).expect("invariant: one factor")];
                    match cell.row {
                        Some(row) => scratch.add(row, d * coefficient, cell.far),
                        None => rest += d.abs() * coefficient.abs() * cell.far,
                    }
                } else {
                    let size: f64 = (0..self.n_factors).filter(of).map(|i| cells[i].far).product();
                    rest += d.abs() * coefficient.abs() * size;
                }
            }
        }
        scratch.coefficients = coefficients;
        [centre, rest + rows.first_order(&scratch.gradient, &scratch.far)]
    }
}

#[cfg(test)]
impl Together {
    /// Normalised squared distance of a state's rows from the centre of its set: 1 on the border. Also the
    /// frequencies, `[cause][factor]`.
    pub(super) fn place_of(&self, state: usize, p: impl Fn(usize, usize) -> f64) -> (f64, Vec<f64>) {
        let rows = &self.blocks[0][state];
        let mut of_row = vec![0.0; rows.off.len()];
        for (i, cell) in rows.cells.iter().enumerate() {
            if let Some(row) = cell.row {
                of_row[row as usize] = (p(i / self.n_factors, i % self.n_factors) - cell.p).powi(2);
            }
        }
        let sum: f64 = of_row.iter().zip(&rows.off).map(|(square, off)| square / off).sum();
        (sum / rows.budget, rows.cells.iter().map(|cell| cell.p).collect())
    }
}

impl Scratch {
    fn clear(&mut self, n_rows: usize) {
        for of_rows in [&mut self.gradient, &mut self.far] {
            of_rows.clear();
            of_rows.resize(n_rows, 0.0);
        }
    }

    fn add(&mut self, row: u32, coefficient: f64, far: f64) {
        self.gradient[row as usize] += coefficient;
        self.far[row as usize] = far;
    }
}

impl Rows {
    /// Chooses the strength that is best if all rows matter equally.
    fn new(cells: Vec<Cell>, seen: &[[f64; 2]], price: f64) -> Rows {
        let with = |a: f64| {
            let budget = price + seen.iter().map(|[n, _]| 0.5 * ln_1p(n / a)).sum::<f64>();
            let off = |&[n, variance]: &[f64; 2]| {
                if n > 0.0 { 2.0 * variance * (n + a) / (n * n) } else { f64::INFINITY }
            };
            (budget, seen.iter().map(off).collect::<Vec<f64>>())
        };
        let total = |(budget, off): &(f64, Vec<f64>)| budget * off.iter().filter(|x| x.is_finite()).sum::<f64>();
        let best = STRENGTHS.map(with).into_iter().min_by(|x, y| total(x).total_cmp(&total(y)));
        let (budget, off) = best.expect("invariant: there are strengths");
        Rows { cells, off, budget }
    }

    /// Upper bound on Σ g (p − p^) over the rows: by the joint set, or by their intervals.
    fn first_order(&self, gradient: &[f64], far: &[f64]) -> f64 {
        let (mut squares, mut unseen, mut box_) = (0.0, 0.0, 0.0);
        for ((g, far), off) in gradient.iter().zip(far).zip(&self.off) {
            box_ += g.abs() * far;
            if off.is_finite() { squares += g * g * off } else { unseen += g.abs() * far }
        }
        box_.min((self.budget * squares).sqrt() + unseen)
    }
}

/// The coefficient of every subset of factors in E[m] as a polynomial in the errors of their rows, the first factor as
/// the highest bit.
fn derivatives(cells: &[Cell], m: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend_from_slice(m);
    for (i, cell) in cells.iter().enumerate() {
        let stride = 1 << (cells.len() - 1 - i);
        for pair in out.chunks_exact_mut(2 * stride) {
            let (first, second) = pair.split_at_mut(stride);
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = (*a + cell.p * (*b - *a), *b - *a);
            }
        }
    }
}

/// The greatest σ² of a probability in an interval: at its point nearest to one half.
fn variance(low: f64, high: f64) -> f64 {
    let p = 0.5f64.clamp(low, high.max(low));
    let q = p.min(1.0 - p);
    // Near one half the quotient is 0/0; it is below 1/4 everywhere.
    if q > 0.49 {
        0.25
    } else if q <= 0.0 {
        0.0
    } else {
        (1.0 - 2.0 * q) / (2.0 * ln((1.0 - q) / q))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// E[m] under a product of binary factors, by enumeration of next states.
    fn plain(p: &[f64], m: &[f64]) -> f64 {
        let n = p.len();
        let of = |y: usize| (0..n).map(|i| if y >> (n - 1 - i) & 1 == 1 { p[i] } else { 1.0 - p[i] }).product::<f64>();
        (0..m.len()).map(|y| of(y) * m[y]).sum()
    }

    #[test]
    fn the_polynomial_is_the_expectation() {
        let m: Vec<f64> = (0..8).map(|y| f64::from(y * y % 7)).collect();
        let centre = [0.3, 0.6, 0.1];
        let cells = centre.map(|p| Cell { p, far: 0.1, row: None });
        let mut coefficients = Vec::new();
        derivatives(&cells, &m, &mut coefficients);
        let e = [0.05, -0.1, 0.08];
        let moved: Vec<f64> = centre.iter().zip(e).map(|(p, e)| p + e).collect();
        let term = |subset: usize| (0..3).filter(|i| subset >> (2 - i) & 1 == 1).map(|i| e[i]).product::<f64>();
        let sum: f64 = coefficients.iter().enumerate().map(|(subset, c)| c * term(subset)).sum();
        assert!((sum - plain(&moved, &m)).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn a_single_next_state_is_bounded_as_its_indicator_is() {
        let number = |i: usize| (i as f64 * 0.618_034).fract();
        // Two configurations share each row, and one row is known.
        let cell = |i: usize| Cell { p: number(i), far: 0.1 * number(i + 50), row: (i < 5).then_some(i as u32) };
        let off = (0..5).map(|i| 0.01 * number(i + 9)).collect();
        let rows = Rows { cells: (0..12).map(|i| cell(i % 6)).collect(), off, budget: 9.0 };
        let together = Together { n_causes: 4, n_factors: 3, blocks: vec![vec![rows]] };
        let (d, mut scratch) = ([(0, 0.3), (2, -0.5), (3, 0.2)], Scratch::default());
        for y in 0..8 {
            let mut only = [0.0; 8];
            only[y] = 1.0;
            let [fast, slow] =
                [together.probability(0, 0, &d, y, &mut scratch), together.mean(0, 0, &d, &only, &mut scratch)];
            assert!(fast.iter().zip(slow).all(|(a, b)| (a - b).abs() < 1e-12), "{y}: {fast:?} {slow:?}");
        }
    }

    #[test]
    fn binary_rows_are_sub_gaussian_with_the_variance_that_is_used() {
        for i in 1..100 {
            let p = f64::from(i) / 100.0;
            let v = variance(p, p);
            assert!(v <= 0.25 && v >= p * (1.0 - p) - 1e-12, "{p} {v}");
            for l in -60..=60 {
                let l = f64::from(l) / 4.0;
                let moment = p * (l * (1.0 - p)).exp() + (1.0 - p) * (-l * p).exp();
                assert!(moment.ln() <= l * l * v / 2.0 + 1e-12, "{p} {l}");
            }
        }
        assert_eq!((variance(0.0, 0.0), variance(0.2, 0.8), variance(0.0, 1.0)), (0.0, 0.25, 0.25));
        assert_eq!(variance(0.1, 0.2), variance(0.2, 0.2));
    }

    #[test]
    fn joint_sets_cover_all_rows_at_all_times_and_are_narrower_than_intervals() {
        const DELTA: f64 = 0.2;
        let truth: Vec<f64> = (0..12).map(|i| 0.05 + 0.9 * f64::from(i) / 11.0).collect();
        let mut broken = 0;
        for seed in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut counts = [[0.0; 2]; 12];
            let mut fails = false;
            for step in 0..1500 {
                // The next visited row depends on the data.
                let row = if counts[step % 12][1] > 0.6 * counts[step % 12][0] { step % 12 } else { step * 7 % 12 };
                counts[row][0] += 1.0;
                counts[row][1] += f64::from(u8::from(rng.random::<f64>() < truth[row]));
                if step % 10 > 0 {
                    continue;
                }
                let seen: Vec<[f64; 2]> = counts.iter().zip(&truth).map(|(c, &p)| [c[0], variance(p, p)]).collect();
                let rows = Rows::new(Vec::new(), &seen, ln(STRENGTHS.len() as f64 / DELTA));
                let squares = counts.iter().zip(&truth).zip(&rows.off).filter(|(_, off)| off.is_finite());
                fails |= squares.map(|((c, p), off)| (c[1] / c[0] - p).powi(2) / off).sum::<f64>() > rows.budget;
            }
            broken += u32::from(fails);
        }
        assert!(f64::from(broken) <= 0.2 * 200.0, "{broken}");
        // Twelve rows with 500 visits each: half as wide as with every row at the end of its own interval.
        let rows = Rows::new(Vec::new(), &[[500.0, 0.25]; 12], ln(5.0 / 0.05));
        let far = ((ln(12.0 / 0.05) + 3.3) / (2.0 * 500.0)).sqrt();
        let (round, boxed) = (rows.first_order(&[1.0; 12], &[f64::INFINITY; 12]), 12.0 * far);
        assert!(round < 0.7 * boxed, "{round} {boxed}");
    }
}
