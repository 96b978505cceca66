//! d-separation: the conditional independences that a directed acyclic graph implies.

/// Whether the conditioning set d-separates two nodes.
///
/// `parents[v]` are the parents of node v. A chain or fork is blocked if its middle node is given. A collider is
/// blocked if neither it nor any of its descendants is given.
///
/// # Cost
/// O(nodes + edges) for each query, by reachability (Koller and Friedman 2009, algorithm 3.1).
pub(super) fn separated(parents: &[Vec<usize>], a: usize, b: usize, given: &[usize]) -> bool {
    let n = parents.len();
    let mut children = vec![Vec::new(); n];
    for (child, of) in parents.iter().enumerate() {
        of.iter().for_each(|&p| children[p].push(child));
    }
    let mut is_given = vec![false; n];
    given.iter().for_each(|&v| is_given[v] = true);
    // Ancestors of given nodes, and these nodes: colliders there are open.
    let mut leads_to_given = is_given.clone();
    let mut open: Vec<usize> = given.to_vec();
    while let Some(v) = open.pop() {
        for &p in &parents[v] {
            if !std::mem::replace(&mut leads_to_given[p], true) {
                open.push(p);
            }
        }
    }
    // Reached from a child (against an arrow) or from a parent (along one).
    let mut seen = vec![[false; 2]; n];
    let (from_child, from_parent) = (0, 1);
    let mut open = vec![(a, from_child)];
    while let Some((v, way)) = open.pop() {
        if std::mem::replace(&mut seen[v][way], true) {
            continue;
        }
        if v == b && !is_given[v] {
            return false;
        }
        if way == from_child && !is_given[v] {
            open.extend(parents[v].iter().map(|&p| (p, from_child)));
            open.extend(children[v].iter().map(|&c| (c, from_parent)));
        }
        if way == from_parent {
            if !is_given[v] {
                open.extend(children[v].iter().map(|&c| (c, from_parent)));
            }
            if leads_to_given[v] {
                open.extend(parents[v].iter().map(|&p| (p, from_child)));
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// The joint distribution of binary nodes, parents before children, with random P(1 | parents).
    fn joint(parents: &[Vec<usize>], rng: &mut ChaCha8Rng) -> Vec<f64> {
        let tables: Vec<Vec<f64>> =
            parents.iter().map(|p| (0..1 << p.len()).map(|_| rng.random_range(0.05..0.95)).collect()).collect();
        let of = |x: usize| {
            let mut p = 1.0;
            for (v, parents) in parents.iter().enumerate() {
                let row = parents.iter().fold(0, |row, &q| row * 2 + (x >> q & 1));
                p *= if x >> v & 1 == 1 { tables[v][row] } else { 1.0 - tables[v][row] };
            }
            p
        };
        (0..1 << parents.len()).map(of).collect()
    }

    /// The greatest |P(a, b | c) − P(a | c) P(b | c)| over all values c of the conditioning set.
    fn dependence(joint: &[f64], a: usize, b: usize, given: &[usize]) -> f64 {
        let mut worst = 0.0f64;
        for row in 0..1usize << given.len() {
            let mut cells = [0.0; 4];
            for (x, p) in joint.iter().enumerate() {
                if given.iter().enumerate().all(|(i, &v)| x >> v & 1 == row >> i & 1) {
                    cells[(x >> a & 1) * 2 + (x >> b & 1)] += p;
                }
            }
            let all: f64 = cells.iter().sum();
            let [p11, p10, p01] = [cells[3] / all, cells[2] / all, cells[1] / all];
            worst = worst.max((p11 - (p11 + p10) * (p11 + p01)).abs());
        }
        worst
    }

    #[test]
    fn separated_nodes_are_independent_and_others_are_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (mut implied, mut not) = (0, 0);
        for _ in 0..150 {
            let n = rng.random_range(3..=7);
            let density = rng.random_range(0.15..0.6);
            let parents: Vec<Vec<usize>> =
                (0..n).map(|v| (0..v).filter(|_| rng.random_bool(density)).collect()).collect();
            let joint = joint(&parents, &mut rng);
            for a in 0..n {
                for b in 0..a {
                    let given: Vec<usize> = (0..n).filter(|&v| v != a && v != b && rng.random_bool(0.4)).collect();
                    let found = dependence(&joint, a, b, &given);
                    assert_eq!(separated(&parents, a, b, &given), separated(&parents, b, a, &given));
                    if separated(&parents, a, b, &given) {
                        implied += 1;
                        assert!(found < 1e-12, "{parents:?}: {a} and {b} given {given:?} depend by {found}");
                    } else {
                        not += 1;
                        assert!(found > 1e-9, "{parents:?}: {a} and {b} given {given:?} do not depend: {found}");
                    }
                }
            }
        }
        assert!(implied > 300 && not > 300, "{implied} and {not}");
    }

    #[test]
    fn a_chain_a_fork_and_a_collider_are_as_in_the_textbooks() {
        let chain = [vec![], vec![0], vec![1]];
        let fork = [vec![1], vec![], vec![1]];
        let collider = [vec![], vec![0, 2], vec![], vec![1]];
        assert!(!separated(&chain, 0, 2, &[]) && separated(&chain, 0, 2, &[1]));
        assert!(!separated(&fork, 0, 2, &[]) && separated(&fork, 0, 2, &[1]));
        assert!(separated(&collider, 0, 2, &[]) && !separated(&collider, 0, 2, &[1]));
        assert!(!separated(&collider, 0, 2, &[3]), "what follows from a collider opens it as well");
    }
}
