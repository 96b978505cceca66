//! Mean, spread and quantiles of a few numbers.

/// What a set of numbers looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of one run, with n − 1; 0 for a single number.
    pub sd: f64,
    /// Least.
    pub min: f64,
    /// First quartile, interpolated.
    pub q25: f64,
    /// Median.
    pub median: f64,
    /// Third quartile, interpolated.
    pub q75: f64,
    /// Greatest.
    pub max: f64,
}

impl Summary {
    /// Summarises; all zeros if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Summary {
        let mut x: Vec<f64> = numbers.into_iter().collect();
        x.sort_by(f64::total_cmp);
        let n = x.len();
        if n == 0 {
            return Summary::default();
        }
        let mean = x.iter().sum::<f64>() / n as f64;
        let squares: f64 = x.iter().map(|v| (v - mean).powi(2)).sum();
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        let quantile = |p: f64| {
            let at = p * (n - 1) as f64;
            let (low, high) = (x[at.floor() as usize], x[at.ceil() as usize]);
            low + (high - low) * at.fract()
        };
        Summary {
            n,
            mean,
            sd,
            min: x[0],
            q25: quantile(0.25),
            median: quantile(0.5),
            q75: quantile(0.75),
            max: x[n - 1],
        }
    }

    /// Standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sd / (self.n as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_numbers() {
        let s = Summary::of([4.0, 1.0, 2.0, 3.0]);
        assert_eq!((s.n, s.mean, s.min, s.q25, s.median, s.q75, s.max), (4, 2.5, 1.0, 1.75, 2.5, 3.25, 4.0));
        assert!((s.sd - (5.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(Summary::of([7.0]).sd, 0.0);
    }
}
