//! The algorithms once more, plainly: dense loops over states, actions, causes and next states, from the published formulas.

use std::collections::{BTreeMap, BTreeSet};

use dowise::learn::{Cap, Causes, Estimate, Sets, States, Width};
use dowise::world::{Action, VarId, World};
use dowise::{Options, Space};

use crate::play::Seen;

/// One counted factor: what its rows are, and how many values it has.
struct Factor {
    /// Position of the state factor, or the whole state.
    part: Option<usize>,
    n_values: usize,
    /// Row of `[state][cause]`.
    row: Vec<Vec<Vec<usize>>>,
    /// Number of joint values of the state scope (S\[I_i\]).
    state_rows: usize,
    /// Number of different rows.
    cells: usize,
    /// (block, row) → how often each value followed
    counts: BTreeMap<(usize, Vec<usize>), Vec<f64>>,
}

/// Counts and plans like a learner with the same options, slowly.
pub(crate) struct Reference {
    world: World,
    options: Options,
    actions: Vec<Action>,
    /// Joint values of the cause variables.
    causes: Vec<Vec<usize>>,
    /// P(cause | state, action) in the learner's view.
    p_sac: Vec<Vec<Vec<f64>>>,
    r_sc: Vec<Vec<f64>>,
    factors: Vec<Factor>,
    visits_hs: Vec<Vec<f64>>,
    earlier_hsc: Vec<Vec<Vec<f64>>>,
    /// In which order confidence sets are maximised over, the first innermost.
    pub(crate) order: Vec<usize>,
}

/// The mean over next states of something that depends on how often they were visited.
type MeanOver<'a> = &'a dyn Fn(&dyn Fn(f64) -> f64) -> f64;

/// Values and action values, by stage and state.
pub(crate) struct Dense {
    pub(crate) v_hs: Vec<Vec<f64>>,
    pub(crate) q_hsa: Vec<Vec<Vec<f64>>>,
}

impl Reference {
    pub(crate) fn new(world: &World, options: Options) -> Reference {
        let states = world.state_space();
        let n_states = states.len();
        let all = world.interventions();
        let actions: Vec<Action> = (0..all.count()).map(|i| all.nth(i)).collect();
        let ids = world.cause_variables();
        let space = Space::new(&world.sizes(&ids)).expect("small");
        let causes: Vec<Vec<usize>> = (0..space.len()).map(|c| space.digits(c)).collect();
        let p_keys: Vec<Vec<Vec<f64>>> = (0..n_states)
            .map(|s| actions.iter().map(|&a| cause_distribution(world, s, a, &ids, &causes)).collect())
            .collect();
        let r_keys: Vec<Vec<f64>> =
            (0..n_states).map(|s| causes.iter().map(|c| reward(world, s, &ids, c)).collect()).collect();
        let by_action = options.causes == Causes::Actions;
        let (p_sac, r_sc) = if by_action {
            let one_hot = |a: usize| (0..actions.len()).map(|b| f64::from(u8::from(a == b))).collect();
            let p = (0..n_states).map(|_| (0..actions.len()).map(one_hot).collect()).collect();
            let mean = |s: usize, a: usize| -> f64 { p_keys[s][a].iter().zip(&r_keys[s]).map(|(p, r)| p * r).sum() };
            (p, (0..n_states).map(|s| (0..actions.len()).map(|a| mean(s, a)).collect()).collect())
        } else {
            (p_keys, r_keys)
        };
        let n_causes = if by_action { actions.len() } else { causes.len() };
        let parts: Vec<Option<usize>> = match options.states {
            States::Flat => vec![None],
            States::Factored => (0..states.n_axes()).map(Some).collect(),
        };
        let factors = parts.into_iter().map(|part| factor(world, &options, part, n_causes, &ids, &causes)).collect();
        let horizon = world.horizon();
        let mut reference = Reference {
            visits_hs: vec![vec![0.0; n_states]; horizon + 1],
            earlier_hsc: vec![],
            order: (0..states.n_axes()).collect(),
            world: world.clone(),
            options,
            actions,
            causes,
            p_sac,
            r_sc,
            factors,
        };
        reference.earlier_hsc = (0..horizon).map(|h| vec![vec![reference.cap(h); n_causes]; n_states]).collect();
        reference
    }

    fn horizon(&self) -> f64 {
        self.world.horizon() as f64
    }

    pub(crate) fn observe(&mut self, step: &Seen) {
        let cause = if self.options.causes == Causes::Actions {
            self.actions.iter().position(|&a| a == step.action).expect("an action")
        } else {
            let ids = self.world.cause_variables();
            let now: Vec<usize> = ids.iter().map(|id| step.values[id.ix()] as usize).collect();
            self.causes.iter().position(|c| *c == now).expect("a cause")
        };
        let block = if self.options.stage_dependent { step.stage } else { 0 };
        for f in &mut self.factors {
            let value = f.part.map_or(step.next_state, |i| self.world.state_space().digit(step.next_state, i));
            let key = (block, f.row[step.state][cause].clone());
            f.counts.entry(key).or_insert_with(|| vec![0.0; f.n_values])[value] += 1.0;
        }
        self.visits_hs[step.stage][step.state] += 1.0;
    }

    /// Visits of all rows, by factor.
    pub(crate) fn totals(&self) -> Vec<f64> {
        self.factors.iter().map(|f| f.counts.values().flatten().sum()).collect()
    }

    fn range(&self) -> f64 {
        if self.options.cap == Cap::Literal {
            return 1.0;
        }
        let [lo, hi] = self.world.reward_range();
        let [cheap, dear] = self.world.interventions().cost_range();
        hi - cheap - (lo - dear)
    }

    fn cap(&self, stage: usize) -> f64 {
        let [_, hi] = self.world.reward_range();
        let step = hi - self.world.interventions().cost_range()[0];
        match self.options.cap {
            Cap::Literal => self.horizon(),
            Cap::Horizon => hi + (self.horizon() - 1.0) * step,
            Cap::Stage => hi + (self.horizon() - 1.0 - stage as f64) * step,
        }
    }

    /// Plans from what was seen; remembers the action-free values if they must not rise.
    pub(crate) fn plan(&mut self) -> Dense {
        let (horizon, n_states) = (self.world.horizon(), self.world.n_states());
        let mut v_hs = vec![vec![0.0; n_states]; horizon + 1];
        let mut q_hsa = vec![vec![vec![0.0; self.actions.len()]; n_states]; horizon];
        for h in (0..horizon).rev() {
            for s in 0..n_states {
                let q_c: Vec<f64> = (0..self.r_sc[s].len())
                    .map(|c| {
                        let q = self.value(h, s, c, &v_hs[h + 1]).min(self.cap(h));
                        if self.options.monotone { q.min(self.earlier_hsc[h][s][c]) } else { q }
                    })
                    .collect();
                for (a, &action) in self.actions.iter().enumerate() {
                    let mean: f64 = self.p_sac[s][a].iter().zip(&q_c).map(|(p, q)| p * q).sum();
                    q_hsa[h][s][a] = mean - self.world.interventions().cost(action);
                }
                v_hs[h][s] = q_hsa[h][s].iter().copied().fold(f64::NEG_INFINITY, f64::max);
                self.earlier_hsc[h][s] = q_c;
            }
        }
        Dense { v_hs, q_hsa }
    }

    /// Reward, what is to be expected next, and what optimism adds; infinite if nothing is known.
    fn value(&self, h: usize, s: usize, c: usize, next: &[f64]) -> f64 {
        let block = if self.options.stage_dependent { h } else { 0 };
        let rows: Vec<Option<&Vec<f64>>> =
            self.factors.iter().map(|f| f.counts.get(&(block, f.row[s][c].clone()))).collect();
        let width = match self.options.estimate {
            Estimate::Sets(kind) => {
                let mut digits = vec![0; self.world.state_space().n_axes()];
                let depth = self.factors.len();
                return self.r_sc[s][c] + self.best(kind, &rows, depth, &mut digits, next);
            }
            Estimate::Width(width) => width,
            other => panic!("{other:?} is not optimistic"),
        };
        let Some(rows) = rows.into_iter().collect::<Option<Vec<_>>>() else { return f64::INFINITY };
        let n: Vec<f64> = rows.iter().map(|r| r.iter().sum()).collect();
        let probability = |y: usize| -> f64 {
            let of = |(i, f): (usize, &Factor)| {
                let v = f.part.map_or(y, |p| self.world.state_space().digit(y, p));
                rows[i][v] / n[i]
            };
            self.factors.iter().enumerate().map(of).product()
        };
        let p: Vec<f64> = (0..next.len()).map(probability).collect();
        let expect = |x: &dyn Fn(usize) -> f64| -> f64 { p.iter().enumerate().map(|(y, p)| p * x(y)).sum() };
        let mean = expect(&|y| next[y]);
        let variance = expect(&|y| (next[y] - mean).powi(2));
        let visits = |cap: &dyn Fn(f64) -> f64| expect(&|y| cap(self.visits_hs[h + 1][y]));
        self.r_sc[s][c] + mean + self.options.scale * self.width(width, h, &n, variance, &visits)
    }

    fn width(&self, width: Width, h: usize, n: &[f64], variance: f64, visits: MeanOver<'_>) -> f64 {
        let (hor, k, delta) = (self.horizon(), self.options.episodes as f64, self.options.delta);
        let t = k * hor;
        let (s, w) = (self.world.n_states() as f64, self.r_sc[0].len() as f64);
        let m = self.factors.len() as f64;
        let sizes: Vec<f64> = self.factors.iter().map(|f| f.n_values as f64).collect();
        let scopes: f64 = self.factors.iter().map(|f| f.state_rows as f64).sum();
        let cells: f64 = self.factors.iter().map(|f| f.cells as f64).sum();
        let flat = self.options.states == States::Flat;
        let azar = flat && self.options.causes == Causes::Actions;
        let range = self.range();
        let ahead = (hor - 1.0 - h as f64) * range;
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 { n.iter().zip(&sizes).map(|(&n, &size)| of(n, size)).sum() };
        let paper_log =
            if azar { (5.0 * s * w * t / delta).ln() } else { (5.0 * scopes * hor * k * w * t / delta).ln() };
        let azar_log = (5.0 * scopes * w * t / delta).ln();
        let l1 = |n: f64, size: f64| (2.0 * (size * 2f64.ln() + (2.0 * cells * t / delta).ln()) / n).sqrt();
        match width {
            Width::Paper if azar => range * 7.0 * hor * paper_log / n[0].sqrt(),
            Width::Paper => range * sum(&|n, size| 7.0 * hor * paper_log * (size / n).sqrt()),
            Width::PaperPlain => range * sum(&|n, _| 7.0 * hor * paper_log / n.sqrt()),
            Width::AzarHoeffding => range * sum(&|n, _| 7.0 * hor * azar_log / n.sqrt()),
            Width::AzarBernstein => {
                let a = w;
                let most = (hor * range).powi(2);
                let of_visits = |v: f64| {
                    let term = 100f64.powi(2) * hor.powi(3) * s.powi(2) * a * azar_log.powi(2) * range.powi(2) / v;
                    if v == 0.0 { most } else { term.min(most) }
                };
                (8.0 * azar_log * variance / n[0]).sqrt()
                    + 14.0 * hor * range * azar_log / (3.0 * n[0])
                    + (8.0 / n[0] * visits(&of_visits)).sqrt()
            }
            Width::Weissman => ahead / 2.0 * sum(&l1),
            Width::HoeffdingV if flat => ahead * ((2.0 * s * w * hor * t / delta).ln() / (2.0 * n[0])).sqrt(),
            Width::HoeffdingV => {
                let first = sum(&|n, _| ((4.0 * m * s * w * hor * t / delta).ln() / (2.0 * n)).sqrt());
                let eps: Vec<f64> = n.iter().zip(&sizes).map(|(&n, &size)| l1(n, size).min(2.0)).collect();
                let mut cross = 0.0;
                for i in 0..eps.len() {
                    for j in 0..i {
                        cross += eps[i] * eps[j];
                    }
                }
                ahead * first + ahead / 2.0 * cross
            }
            Width::Bernstein if n[0] <= 1.0 => f64::INFINITY,
            Width::Bernstein => {
                let l = (4.0 * s * w * hor * t / delta).ln() / (n[0] - 1.0);
                (8.0 * variance * l).sqrt().max(8.0 * ahead * l)
            }
            Width::Quasi => range * sum(&|n, _| 1.0 / n),
            Width::Rlberry => {
                let most = ahead + range;
                (sum(&|n, _| range / n.sqrt()) + sum(&|n, _| most / n)).min(most)
            }
        }
    }

    /// The optimistic member of the confidence sets: factor by factor, each choice free to depend on the factors further out.
    fn best(&self, kind: Sets, rows: &[Option<&Vec<f64>>], depth: usize, digits: &mut [usize], next: &[f64]) -> f64 {
        if depth == 0 {
            return next[self.world.state_space().index(digits)];
        }
        let i = if self.factors.len() == 1 { 0 } else { self.order[depth - 1] };
        let f = &self.factors[i];
        let x: Vec<f64> = (0..f.n_values)
            .map(|v| match f.part {
                None => next[v],
                Some(part) => {
                    digits[part] = v;
                    self.best(kind, rows, depth - 1, digits, next)
                }
            })
            .collect();
        let Some(row) = rows[i] else { return x.iter().copied().fold(f64::NEG_INFINITY, f64::max) };
        let n: f64 = row.iter().sum();
        let p: Vec<f64> = row.iter().map(|k| k / n).collect();
        let t = self.options.episodes as f64 * self.horizon();
        let cells: f64 = self.factors.iter().map(|f| f.cells as f64).sum();
        let log = (2.0 * cells * t / self.options.delta).ln();
        let blocks = if self.options.stage_dependent { self.horizon() } else { 1.0 };
        match (kind, f.n_values) {
            (Sets::Mixture, _) => {
                let log = (cells * blocks / self.options.delta).ln();
                best_in_kl_ball(&p, &x, (log + price_of_mixture(row)) / n)
            }
            (Sets::L1, 2) => {
                let e = (log / (2.0 * n)).sqrt();
                let at = |q: f64| (1.0 - q) * x[0] + q * x[1];
                at((p[1] - e).max(0.0)).max(at((p[1] + e).min(1.0)))
            }
            (Sets::Kl, 2) => {
                let at = |q: f64| (1.0 - q) * x[0] + q * x[1];
                at(kl_end(p[1], log / n, 1.0)).max(at(kl_end(p[1], log / n, 0.0)))
            }
            (Sets::L1 | Sets::Kl, _) => {
                let eps = (2.0 * (log + (f.n_values as f64 - 1.0) * 2f64.ln()) / n).sqrt();
                best_in_l1_ball(&p, &x, eps)
            }
        }
    }
}

/// The point between p and `end` (0 or 1) farthest from p with KL(p ‖ q) ≤ bound.
pub(crate) fn kl_end(p: f64, bound: f64, end: f64) -> f64 {
    let term = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
    let kl = |q: f64| term(p, q) + term(1.0 - p, 1.0 - q);
    if kl(end) <= bound {
        return end;
    }
    let (mut inside, mut outside) = (p, end);
    for _ in 0..200 {
        let middle = 0.5 * (inside + outside);
        if kl(middle) <= bound { inside = middle } else { outside = middle }
    }
    inside
}

/// ln of the greatest likelihood of a row of counts less ln of its mixture: Krichevsky and Trofimov's for two values; for more,
/// half of it over all values, half over k of them with weight 1/k.
pub(crate) fn price_of_mixture(row: &[f64]) -> f64 {
    let (m, n) = (row.len(), row.iter().sum::<f64>());
    let seen = row.iter().filter(|k| **k > 0.0).count();
    // One observation after the other.
    let mixed = |values: usize| -> f64 {
        let (mut log, mut before) = (0.0, 0.0);
        for &count in row {
            for i in 0..count as usize {
                log += ((i as f64 + 0.5) / (before + values as f64 / 2.0)).ln();
                before += 1.0;
            }
        }
        log
    };
    let fit: f64 = row.iter().filter(|k| **k > 0.0).map(|k| k * (k / n).ln()).sum();
    if m == 2 {
        return fit - mixed(2);
    }
    let choose = |n: usize, k: usize| (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>();
    let harmonic: f64 = (1..=m).map(|k| 1.0 / k as f64).sum();
    let some = (seen..=m).map(|k| 0.5 / (k as f64 * harmonic) * choose(k, seen) / choose(m, seen) * mixed(k).exp());
    fit - (0.5 * mixed(m).exp() + some.sum::<f64>()).ln()
}

/// max q·x over the simplex with KL(p ‖ q) ≤ eps, by halving the multiplier of the constraint: q = p/(ν − x) to scale, and what
/// ν at the best value leaves over goes to that value.
pub(crate) fn best_in_kl_ball(p: &[f64], x: &[f64], eps: f64) -> f64 {
    let best = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let seen: Vec<(f64, f64)> = p.iter().zip(x).filter(|(p, _)| **p > 0.0).map(|(p, x)| (*p, best - x)).collect();
    if seen.iter().all(|(_, d)| *d == 0.0) {
        return best;
    }
    let at = |t: f64| -> (f64, f64) {
        let scale: f64 = seen.iter().map(|(p, d)| p / (t + d)).sum();
        let divergence = seen.iter().map(|(p, d)| p * ((t + d) * scale).ln()).sum();
        (divergence, seen.iter().map(|(p, d)| p / (t + d) / scale * d).sum())
    };
    if seen.iter().all(|(_, d)| *d > 0.0) && at(0.0).0 <= eps {
        return best - (at(0.0).0 - eps).exp() * at(0.0).1;
    }
    let (mut outside, mut inside) = (-600.0, 60.0);
    for _ in 0..100 {
        let middle: f64 = 0.5 * (outside + inside);
        *(if at(middle.exp()).0 <= eps { &mut inside } else { &mut outside }) = middle;
    }
    best - at(inside.exp()).1
}

/// max p'·x over the simplex with ‖p' − p‖₁ ≤ eps, by trying every shape that a corner of this set can have:
/// one value gains, some are emptied, one gives a part.
pub(crate) fn best_in_l1_ball(p: &[f64], x: &[f64], eps: f64) -> f64 {
    let n = p.len();
    let mut best = f64::NEG_INFINITY;
    for gains in 0..n {
        for emptied in 0..1usize << n {
            for part in 0..n {
                if emptied >> gains & 1 == 1 || emptied >> part & 1 == 1 {
                    continue;
                }
                let moved: f64 = (0..n).filter(|v| emptied >> v & 1 == 1).map(|v| p[v]).sum();
                if moved > eps / 2.0 {
                    continue;
                }
                let rest = if part == gains { 0.0 } else { p[part].min(eps / 2.0 - moved) };
                let value: f64 = (0..n)
                    .map(|v| {
                        let mass = if emptied >> v & 1 == 1 { 0.0 } else { p[v] };
                        let mass = if v == part { mass - rest } else { mass };
                        x[v] * if v == gains { mass + moved + rest } else { mass }
                    })
                    .sum();
                best = best.max(value);
            }
        }
    }
    best
}

fn value_of(world: &World, id: VarId, state: usize, ids: &[VarId], cause: &[usize]) -> usize {
    match world.state().iter().position(|s| *s == id) {
        Some(i) => world.state_space().digit(state, i),
        None => cause[ids.iter().position(|c| *c == id).expect("a cause")],
    }
}

fn reward(world: &World, state: usize, ids: &[VarId], cause: &[usize]) -> f64 {
    let of = |term: &dowise::world::RewardTerm| {
        let at = term
            .scope
            .iter()
            .fold(0, |at, &id| at * world.variable(id).size() + value_of(world, id, state, ids, cause));
        term.table.as_ref().expect("known")[at]
    };
    world.rewards().iter().map(of).sum()
}

/// P(causes | state, do(action)) by going through every joint value of everything within a step.
pub(crate) fn cause_distribution(
    world: &World,
    state: usize,
    action: Action,
    ids: &[VarId],
    causes: &[Vec<usize>],
) -> Vec<f64> {
    let inner: Vec<VarId> =
        (0..world.variables().len() as u16).map(VarId).filter(|id| !world.state().contains(id)).collect();
    let space = Space::new(&world.sizes(&inner)).expect("small");
    let mut out = vec![0.0; causes.len()];
    for point in 0..space.len() {
        let value = |id: VarId| value_of(world, id, state, &inner, &space.digits(point));
        let set = |id: VarId| {
            let lever = world.levers().iter().position(|l| *l == id)?;
            world.interventions().lever(action, lever)
        };
        if inner.iter().any(|&id| set(id).is_some_and(|v| v != value(id))) {
            continue;
        }
        let index = |ids: &[VarId]| ids.iter().fold(0, |i, &id| i * world.variable(id).size() + value(id));
        let mut p = 1.0;
        let mut decided = BTreeSet::new();
        for m in world.mechanisms().iter().filter(|m| m.children.iter().all(|&id| set(id).is_none())) {
            let n: usize = world.sizes(&m.children).iter().product();
            p *= m.table.as_ref().expect("known")[index(&m.parents) * n + index(&m.children)];
            decided.extend(m.children.iter().copied());
        }
        // A lever that is always set has no mechanism to decide it.
        assert!(
            inner.iter().all(|id| decided.contains(id) || set(*id).is_some()),
            "everything is decided by something"
        );
        let now: Vec<usize> = ids.iter().map(|&id| value(id)).collect();
        out[causes.iter().position(|c| *c == now).expect("a cause")] += p;
    }
    out
}

fn factor(
    world: &World,
    options: &Options,
    part: Option<usize>,
    n_causes: usize,
    ids: &[VarId],
    causes: &[Vec<usize>],
) -> Factor {
    let states = world.state_space();
    let parents: &[VarId] = part.map_or(&[], |i| &world.transitions()[i].parents);
    let scope: Vec<usize> = match part {
        None => (0..states.n_axes()).collect(),
        Some(_) => (0..states.n_axes()).filter(|&i| parents.contains(&world.state()[i])).collect(),
    };
    let key = |s: usize, c: usize| -> Vec<usize> {
        let mut key: Vec<usize> = scope.iter().map(|&i| states.digit(s, i)).collect();
        match options.causes {
            Causes::OwnKeys if part.is_some() => {
                let own = ids.iter().zip(&causes[c]).filter(|(id, _)| parents.contains(id));
                key.extend(own.map(|(_, v)| *v));
            }
            _ => key.push(c),
        }
        key
    };
    let row: Vec<Vec<Vec<usize>>> = (0..states.len()).map(|s| (0..n_causes).map(|c| key(s, c)).collect()).collect();
    let cells = row.iter().flatten().collect::<BTreeSet<_>>().len();
    Factor {
        part,
        n_values: part.map_or(states.len(), |i| states.sizes()[i]),
        state_rows: scope.iter().map(|&i| states.sizes()[i]).product(),
        row,
        cells,
        counts: BTreeMap::new(),
    }
}
