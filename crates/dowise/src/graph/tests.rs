//! d-separation against conditional independence in random networks, and the other properties against plain loops.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Dag, parents_first};

fn dag(parents: &[Vec<usize>]) -> Dag {
    Dag::new(parents.to_vec())
}

/// P of all joint values of binary nodes, parents before children, from random P(1 | parents).
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

/// The greatest |P(a, b | c) − P(a | c) P(b | c)| over all values c of what is given.
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
        let parents: Vec<Vec<usize>> = (0..n).map(|v| (0..v).filter(|_| rng.random_bool(density)).collect()).collect();
        let joint = joint(&parents, &mut rng);
        for a in 0..n {
            for b in 0..a {
                let given: Vec<usize> = (0..n).filter(|&v| v != a && v != b && rng.random_bool(0.4)).collect();
                let found = dependence(&joint, a, b, &given);
                assert_eq!(dag(&parents).separated(a, b, &given), dag(&parents).separated(b, a, &given));
                if dag(&parents).separated(a, b, &given) {
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
    assert!(!dag(&chain).separated(0, 2, &[]) && dag(&chain).separated(0, 2, &[1]));
    assert!(!dag(&fork).separated(0, 2, &[]) && dag(&fork).separated(0, 2, &[1]));
    assert!(dag(&collider).separated(0, 2, &[]) && !dag(&collider).separated(0, 2, &[1]));
    assert!(!dag(&collider).separated(0, 2, &[3]), "what follows from a collider opens it as well");
}

#[test]
fn ancestors_and_descendants_are_those_by_powers_of_the_adjacency_matrix() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..50 {
        let n = rng.random_range(1..=8);
        let parents: Vec<Vec<usize>> = (0..n).map(|v| (0..v).filter(|_| rng.random_bool(0.3)).collect()).collect();
        // reach[a][b]: there is a directed path from a to b.
        let mut reach = vec![vec![false; n]; n];
        for b in 0..n {
            reach[b][b] = true;
            for a in 0..n {
                reach[a][b] |= parents[b].iter().any(|&p| reach[a][p]);
            }
        }
        for v in 0..n {
            let up: Vec<bool> = (0..n).map(|a| reach[a][v]).collect();
            assert_eq!(dag(&parents).ancestors(&[v]), up);
            assert_eq!(dag(&parents).descendants(&[v]), reach[v]);
        }
    }
}

#[test]
fn observed_parents_are_found_through_unobserved_nodes() {
    // 0 → 1 → 2 and 3 → 2, where 1 is not observed.
    let graph = dag(&[vec![], vec![0], vec![1, 3], vec![]]);
    assert_eq!(graph.observed_parents(2, |v| v != 1), [0, 3]);
    assert_eq!(graph.observed_parents(2, |_| true), [1, 3]);
}

#[test]
fn items_keep_their_order_unless_a_parent_comes_later() {
    let items = vec![("d", vec!["b"]), ("b", vec![]), ("c", vec!["outside"]), ("a", vec!["d", "c"])];
    let ordered = parents_first(items, |(name, _)| vec![*name], |(_, needs)| needs.clone());
    assert_eq!(ordered.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["b", "d", "c", "a"]);
}
