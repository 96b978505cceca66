//! Interventions do(x): allowed settings of levers by state, their costs, and a numbering without enumeration.

use serde::{Deserialize, Serialize};

/// An intervention do(some levers = values), encoded as one number.
///
/// The number has one digit per lever, the first lever slowest: 0 leaves the lever alone, d > 0 sets it to its value d
/// − 1. Numerical order is thus "left alone first, then values in order". If every lever is always set and such numbers
/// would exceed 64 bits, the digits are the values themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Action(pub u64);

/// Which levers interventions set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeverRule {
    /// Every lever.
    All,
    /// At most this many (any subset if it is the number of levers).
    AtMost(usize),
    /// Exactly these interventions, in increasing order.
    List(Vec<Action>),
}

/// A forbidden combination: in matching states, a matching intervention is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbid {
    /// (position of a state factor, its matching values); all must match.
    pub when: Vec<(usize, Vec<bool>)>,
    /// (position of a lever, its matching values); all must match.
    pub levers: Vec<(usize, Vec<bool>)>,
}

/// The allowed interventions of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Interventions {
    sizes: Vec<usize>,
    places: Vec<u64>,
    /// The digit of a lever's first value: 1, or 0 if no lever can be left alone and the numbers would not fit
    /// otherwise.
    first_digit: u64,
    lever_rule: LeverRule,
    forbid: Vec<Forbid>,
    costs: Vec<Vec<f64>>,
    /// `ways[i][k]`: number of settings of the levers from i on when at most k more may be set.
    ways: Vec<Vec<u64>>,
}

impl Interventions {
    /// Interventions on levers with these numbers of values; `None` if there are too many to number.
    ///
    /// `costs` has one list per lever with one cost per value.
    pub fn new(sizes: Vec<usize>, lever_rule: LeverRule, forbid: Vec<Forbid>, costs: Vec<Vec<f64>>) -> Option<Self> {
        let n = sizes.len();
        let with_alone = places(&sizes, 1);
        let (places, first_digit) = match (with_alone, &lever_rule) {
            (Some(places), _) => (places, 1),
            (None, LeverRule::All) => (places(&sizes, 0)?, 0),
            (None, LeverRule::AtMost(_) | LeverRule::List(_)) => return None,
        };
        let most = match lever_rule {
            LeverRule::AtMost(k) => k.min(n),
            LeverRule::All | LeverRule::List(_) => n,
        };
        let mut ways = vec![vec![1u64; most + 1]; n + 1];
        for i in (0..n).rev() {
            for k in 0..=most {
                let alone = if lever_rule == LeverRule::All { 0 } else { ways[i + 1][k] };
                let set = if k > 0 { (sizes[i] as u64).checked_mul(ways[i + 1][k - 1])? } else { 0 };
                ways[i][k] = alone.checked_add(set)?;
            }
        }
        Some(Interventions { sizes, places, first_digit, lever_rule, forbid, costs, ways })
    }

    /// Number of levers.
    pub fn n_levers(&self) -> usize {
        self.sizes.len()
    }

    /// Number of values of each lever.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Which levers interventions set.
    pub fn lever_rule(&self) -> &LeverRule {
        &self.lever_rule
    }

    /// Forbidden combinations.
    pub fn forbid(&self) -> &[Forbid] {
        &self.forbid
    }

    /// Cost of each lever's values.
    pub fn costs(&self) -> &[Vec<f64>] {
        &self.costs
    }

    /// Whether any lever has a cost.
    pub fn has_costs(&self) -> bool {
        self.costs.iter().flatten().any(|&c| c != 0.0)
    }

    /// Number of interventions, including forbidden combinations (A in the paper).
    pub fn count(&self) -> u64 {
        match &self.lever_rule {
            LeverRule::List(list) => list.len() as u64,
            LeverRule::All | LeverRule::AtMost(_) => self.ways[0][self.ways[0].len() - 1],
        }
    }

    /// The `rank`-th intervention in increasing order, including forbidden ones.
    pub fn nth(&self, mut rank: u64) -> Action {
        if let LeverRule::List(list) = &self.lever_rule {
            return list[rank as usize];
        }
        let mut left = self.ways[0].len() - 1;
        let mut code = 0;
        for i in 0..self.sizes.len() {
            let alone = if self.lever_rule == LeverRule::All { 0 } else { self.ways[i + 1][left] };
            if rank < alone {
                continue;
            }
            rank -= alone;
            left -= 1;
            let later = self.ways[i + 1][left];
            code += (rank / later + self.first_digit) * self.places[i];
            rank %= later;
        }
        Action(code)
    }

    /// Rank of an intervention, the inverse of [`Interventions::nth`]; `None` if it is not one.
    pub fn rank(&self, action: Action) -> Option<u64> {
        if let LeverRule::List(list) = &self.lever_rule {
            return list.binary_search(&action).ok().map(|i| i as u64);
        }
        if action.0 >= self.end() {
            return None;
        }
        let mut left = self.ways[0].len() - 1;
        let mut rank = 0;
        for i in 0..self.sizes.len() {
            match self.lever(action, i) {
                None if self.lever_rule == LeverRule::All => return None,
                None => {}
                Some(value) => {
                    let alone = if self.lever_rule == LeverRule::All { 0 } else { self.ways[i + 1][left] };
                    left = left.checked_sub(1)?;
                    rank += alone + value as u64 * self.ways[i + 1][left];
                }
            }
        }
        Some(rank)
    }

    /// The value that an intervention gives a lever: `None` leaves it alone.
    pub fn lever(&self, action: Action, lever: usize) -> Option<usize> {
        let digit = action.0 / self.places[lever] % (self.sizes[lever] as u64 + self.first_digit);
        if self.first_digit == 0 {
            // Numbers beyond the last would leave some lever alone, which is no intervention here.
            return (action.0 < self.end()).then_some(digit as usize);
        }
        (digit as usize).checked_sub(1)
    }

    /// The values that an intervention gives all levers.
    pub fn levers(&self, action: Action) -> Vec<Option<usize>> {
        (0..self.sizes.len()).map(|i| self.lever(action, i)).collect()
    }

    /// The intervention with these lever values.
    pub fn action(&self, levers: &[Option<usize>]) -> Action {
        if self.first_digit == 0 && levers.contains(&None) {
            return Action(u64::MAX);
        }
        Action(levers.iter().enumerate().map(|(i, &v)| self.part(i, v)).sum())
    }

    /// One lever's share of an intervention's number; an intervention is the sum of its shares.
    pub fn part(&self, lever: usize, value: Option<usize>) -> u64 {
        value.map_or(0, |v| (v as u64 + self.first_digit) * self.places[lever])
    }

    /// Cost of an intervention.
    pub fn cost(&self, action: Action) -> f64 {
        if !self.has_costs() {
            return 0.0;
        }
        (0..self.sizes.len()).filter_map(|i| self.lever(action, i).map(|v| self.costs[i][v])).sum()
    }

    /// Least and greatest cost of an intervention, including forbidden ones.
    pub fn cost_range(&self) -> [f64; 2] {
        if !self.has_costs() {
            return [0.0, 0.0];
        }
        if let LeverRule::List(list) = &self.lever_rule {
            let costs = list.iter().map(|&a| self.cost(a));
            return costs.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], c| [lo.min(c), hi.max(c)]);
        }
        let mut lows: Vec<f64> = self.costs.iter().map(|c| c.iter().copied().fold(f64::INFINITY, f64::min)).collect();
        let mut highs: Vec<f64> =
            self.costs.iter().map(|c| c.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        if let LeverRule::AtMost(most) = self.lever_rule {
            // The cheapest and the dearest few; a lever is left alone if setting it does not extend the range.
            lows.sort_by(f64::total_cmp);
            lows = lows.into_iter().take(most).map(|c| c.min(0.0)).collect();
            highs.sort_by(|a, b| b.total_cmp(a));
            highs = highs.into_iter().take(most).map(|c| c.max(0.0)).collect();
        }
        [lows.iter().sum(), highs.iter().sum()]
    }

    /// Whether an intervention is allowed in a state with these factor values.
    pub fn allows(&self, state: &[usize], action: Action) -> bool {
        // A number beyond the last would decode as a smaller one.
        if action.0 >= self.end() {
            return false;
        }
        let by_rule = match &self.lever_rule {
            LeverRule::All => (0..self.sizes.len()).all(|i| self.lever(action, i).is_some()),
            LeverRule::AtMost(k) => (0..self.sizes.len()).filter(|&i| self.lever(action, i).is_some()).count() <= *k,
            LeverRule::List(list) => list.binary_search(&action).is_ok(),
        };
        by_rule && !self.is_forbidden(state, action)
    }

    /// One past the largest intervention number.
    fn end(&self) -> u64 {
        self.places.first().map_or(1, |place| place * (self.sizes[0] as u64 + self.first_digit))
    }

    /// Whether a forbidden combination matches in a state.
    pub fn is_forbidden(&self, state: &[usize], action: Action) -> bool {
        self.forbid.iter().any(|rule| {
            rule.when.iter().all(|(i, values)| values[state[*i]])
                && rule.levers.iter().all(|(j, values)| self.lever(action, *j).is_some_and(|v| values[v]))
        })
    }
}

/// The place value of each lever's digit, the last lever fastest; `None` if the numbers do not fit.
fn places(sizes: &[usize], first_digit: u64) -> Option<Vec<u64>> {
    let mut places = vec![1u64; sizes.len()];
    let mut place = 1u64;
    for i in (0..sizes.len()).rev() {
        places[i] = place;
        place = place.checked_mul(sizes[i] as u64 + first_digit)?;
    }
    // The largest 64-bit number stays free: it represents no intervention.
    (place < u64::MAX).then_some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_runs_through_all_interventions_in_increasing_order() {
        for (lever_rule, count) in
            [(LeverRule::All, 24), (LeverRule::AtMost(3), 60), (LeverRule::AtMost(1), 10), (LeverRule::AtMost(0), 1)]
        {
            let all = Interventions::new(vec![2, 3, 4], lever_rule, vec![], vec![]).unwrap();
            assert_eq!(all.count(), count);
            let codes: Vec<Action> = (0..count).map(|i| all.nth(i)).collect();
            assert!(codes.windows(2).all(|w| w[0] < w[1]));
            assert!(codes.iter().all(|&a| all.allows(&[], a) && all.action(&all.levers(a)) == a));
            assert!(
                codes.iter().all(|&a| !all.allows(&[], Action(a.0 + 3 * 4 * 5))),
                "no intervention has two numbers"
            );
            let ranks: Vec<u64> = (0..99).filter_map(|code| all.rank(Action(code))).collect();
            assert_eq!(ranks, (0..count).collect::<Vec<_>>(), "rank is the inverse of nth, and knows no others");
        }
    }

    #[test]
    fn the_range_of_costs_is_that_of_all_interventions() {
        let costs = vec![vec![0.5, -0.1], vec![0.2, 0.3, 0.1], vec![0.0, 0.7, 0.4, 0.2]];
        for lever_rule in
            [LeverRule::All, LeverRule::AtMost(3), LeverRule::AtMost(2), LeverRule::AtMost(1), LeverRule::AtMost(0)]
        {
            let all = Interventions::new(vec![2, 3, 4], lever_rule, vec![], costs.clone()).unwrap();
            let each = (0..all.count()).map(|i| all.cost(all.nth(i)));
            let [lo, hi] = each.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], c| [lo.min(c), hi.max(c)]);
            let [low, high] = all.cost_range();
            assert!((lo - low).abs() < 1e-12 && (hi - high).abs() < 1e-12, "{:?}", all.lever_rule());
        }
    }

    #[test]
    fn levers_that_are_always_set_are_numbered_by_their_values_where_there_are_many() {
        // 4^28 = 2^56 fits, 5^28 would not.
        let all = Interventions::new(vec![4; 28], LeverRule::All, vec![], vec![vec![0.0, 0.5, 1.0, 2.0]; 28]).unwrap();
        assert_eq!(all.count(), 1 << 56);
        for rank in [0, 1, 12_345_678_901_234, (1 << 56) - 1] {
            let action = all.nth(rank);
            assert_eq!((all.rank(action), all.action(&all.levers(action))), (Some(rank), action));
            assert!(all.allows(&[], action) && all.levers(action).iter().all(Option::is_some));
        }
        assert_eq!((all.cost(all.nth(0)), all.cost(all.nth((1 << 56) - 1))), (0.0, 56.0));
        let mut alone = vec![Some(1); 28];
        alone[3] = None;
        let none = all.action(&alone);
        assert!(all.rank(none).is_none() && !all.allows(&[], none) && all.levers(none).iter().all(Option::is_none));
        assert!(Interventions::new(vec![4; 28], LeverRule::AtMost(28), vec![], vec![]).is_none());
    }

    #[test]
    fn more_interventions_than_can_be_numbered_are_refused() {
        assert!(Interventions::new(vec![9; 21], LeverRule::All, vec![], vec![]).is_none());
        assert!(Interventions::new(vec![9; 20], LeverRule::AtMost(20), vec![], vec![]).is_none());
    }
}
