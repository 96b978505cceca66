//! Directed acyclic graphs: order, ancestors, descendants, d-separation and projection onto observed nodes.
//!
//! Nodes are numbers; whoever asks knows what they stand for. Everything here is a property of the graph alone, whatever the
//! probabilities are.

/// A directed acyclic graph on the nodes 0..n.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dag {
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
}

impl Dag {
    /// From the parents of each node; the caller guarantees that there are no cycles.
    pub(crate) fn new(parents: Vec<Vec<usize>>) -> Dag {
        let mut children = vec![Vec::new(); parents.len()];
        for (child, of) in parents.iter().enumerate() {
            of.iter().for_each(|&p| children[p].push(child));
        }
        Dag { parents, children }
    }

    pub(crate) fn parents(&self, node: usize) -> &[usize] {
        &self.parents[node]
    }

    /// By node: whether it is one of these or an ancestor of one.
    ///
    /// # Cost
    /// O(nodes + edges)
    pub(crate) fn ancestors(&self, of: &[usize]) -> Vec<bool> {
        reached(&self.parents, of)
    }

    /// By node: whether it is one of these or a descendant of one.
    pub(crate) fn descendants(&self, of: &[usize]) -> Vec<bool> {
        reached(&self.children, of)
    }

    /// The observed nodes that act on a node directly or through unobserved ones alone, in order: its parents in the latent projection.
    pub(crate) fn observed_parents(&self, node: usize, is_observed: impl Fn(usize) -> bool) -> Vec<usize> {
        let (mut found, mut open) = (Vec::new(), self.parents[node].clone());
        while let Some(v) = open.pop() {
            if is_observed(v) {
                found.push(v);
            } else {
                open.extend(&self.parents[v]);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether every path between two nodes is blocked by the given ones (d-separation).
    ///
    /// A path is blocked at a chain or fork whose middle node is given, and at a collider if neither it nor a descendant is given.
    ///
    /// # Cost
    /// O(nodes + edges), by reachability (Koller and Friedman 2009, algorithm 3.1).
    pub(crate) fn separated(&self, a: usize, b: usize, given: &[usize]) -> bool {
        let n = self.parents.len();
        let mut is_given = vec![false; n];
        given.iter().for_each(|&v| is_given[v] = true);
        // A collider is open if it is given or an ancestor of a given node.
        let opens = self.ancestors(given);
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
                open.extend(self.parents[v].iter().map(|&p| (p, from_child)));
            }
            if !is_given[v] {
                open.extend(self.children[v].iter().map(|&c| (c, from_parent)));
            }
            if way == from_parent && opens[v] {
                open.extend(self.parents[v].iter().map(|&p| (p, from_child)));
            }
        }
        true
    }
}

/// By node: whether it is one of these or can be reached from one along the edges.
fn reached(edges: &[Vec<usize>], from: &[usize]) -> Vec<bool> {
    let mut found = vec![false; edges.len()];
    let mut open = from.to_vec();
    from.iter().for_each(|&v| found[v] = true);
    while let Some(v) = open.pop() {
        for &next in &edges[v] {
            if !std::mem::replace(&mut found[next], true) {
                open.push(next);
            }
        }
    }
    found
}

/// The items with parents before children, otherwise in their order: the first item that is ready comes next. `makes` and `needs`
/// give the nodes that an item decides and depends on; nodes that no item decides are there from the beginning.
///
/// # Panics
/// If items depend on each other in a cycle.
///
/// # Cost
/// O(items² · nodes of an item); items are the mechanisms of a step.
pub(crate) fn parents_first<T, N: PartialEq + Copy>(
    mut items: Vec<T>,
    makes: impl Fn(&T) -> Vec<N>,
    needs: impl Fn(&T) -> Vec<N>,
) -> Vec<T> {
    let mut ordered = Vec::with_capacity(items.len());
    while !items.is_empty() {
        let pending: Vec<N> = items.iter().flat_map(&makes).collect();
        let is_ready = |item: &T| {
            let own = makes(item);
            needs(item).iter().all(|node| own.contains(node) || !pending.contains(node))
        };
        let ready = items.iter().position(is_ready).expect("invariant: mechanisms of a step form no cycle");
        ordered.push(items.remove(ready));
    }
    ordered
}

#[cfg(test)]
mod tests;
