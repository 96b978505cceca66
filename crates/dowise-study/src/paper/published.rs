//! The curves that the paper shows, read off the pixels of its published version (within about 1.5 % of an axis).

/// A value of a published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Number of the figure in the paper.
    pub figure: u8,
    /// Position of the learner: plain, F, C, CF.
    pub learner: usize,
    /// Episode (Figure 2) or number of state factors (Figure 4).
    pub x: u64,
    /// Cumulative regret.
    pub regret: f64,
}

/// Figure 2: episodes 500, 1000, 2500, 5000.
const FIGURE_2: [(usize, [f64; 4]); 4] = [
    (0, [311.0, 611.0, 1501.0, 2941.0]),
    (1, [269.0, 538.0, 1175.0, 1854.0]),
    (2, [150.0, 186.0, 254.0, 305.0]),
    (3, [52.0, 57.0, 67.0, 72.0]),
];

/// Figure 4: 2, 3, 4, 5 state factors.
const FIGURE_4: [(usize, [f64; 4]); 3] =
    [(1, [283.0, 328.0, 293.0, 357.0]), (2, [24.0, 43.0, 71.0, 132.0]), (3, [5.0, 12.0, 7.0, 15.0])];

/// All values of Figures 2 and 4. (Figure 3 could not be read off.)
pub fn published() -> Vec<Published> {
    let of = |figure: u8, x: [u64; 4], rows: &[(usize, [f64; 4])]| -> Vec<Published> {
        let row = |&(learner, y): &(usize, [f64; 4])| {
            x.into_iter().zip(y).map(move |(x, regret)| Published { figure, learner, x, regret })
        };
        rows.iter().flat_map(row).collect()
    };
    [of(2, [500, 1000, 2500, 5000], &FIGURE_2), of(4, [2, 3, 4, 5], &FIGURE_4)].concat()
}
