//! Variable elimination: exact inference by products of tables with axes marginalised out.

use crate::Space;

/// An axis of a [`Potential`]: a variable, or a copy of one.
pub(crate) type Node = usize;

/// Maximum number of entries of a table (2 GiB of numbers).
pub(crate) const MAX_ENTRIES: usize = 1 << 28;

/// A table of numbers over named axes, the first slowest.
#[derive(Clone, Debug)]
pub(crate) struct Potential {
    pub(crate) nodes: Vec<Node>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

/// A table would exceed the maximum number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Entries needed; `None` if that number overflows.
    pub entries: Option<usize>,
}

impl Potential {
    fn stride_of(&self, node: Node) -> usize {
        match self.nodes.iter().position(|&n| n == node) {
            Some(i) => self.sizes[i + 1..].iter().product(),
            None => 0,
        }
    }

    fn size_of(&self, node: Node) -> Option<usize> {
        self.nodes.iter().position(|&n| n == node).map(|i| self.sizes[i])
    }
}

/// Multiplies tables and marginalises out every axis not in `keep`; the result has exactly the axes `keep`, in that
/// order.
///
/// An axis in `keep` that no table has gets the size given there. The greedy order always eliminates the axis with the
/// smallest product, so the cost is exponential only in the width of that order.
pub(crate) fn eliminate(mut tables: Vec<Potential>, keep: &[(Node, usize)]) -> Result<Potential, TooLarge> {
    loop {
        let mut open: Vec<Node> = tables.iter().flat_map(|t| t.nodes.iter().copied()).collect();
        open.sort_unstable();
        open.dedup();
        open.retain(|n| keep.iter().all(|(k, _)| k != n));
        let cheapest = open
            .into_iter()
            .map(|node| {
                let axes = joint_axes(tables.iter().filter(|t| t.nodes.contains(&node)));
                (axes.iter().fold(1usize, |n, (_, size)| n.saturating_mul(*size)), node)
            })
            .min();
        let Some((_, node)) = cheapest else { break };
        let (with, without): (Vec<_>, Vec<_>) = tables.into_iter().partition(|t| t.nodes.contains(&node));
        let mut axes = joint_axes(with.iter());
        axes.retain(|(n, _)| *n != node);
        tables = without;
        tables.push(multiply(&with, &axes, Some(node))?);
    }
    multiply(&tables, keep, None)
}

/// Peak number of entries of [`eliminate`], from the axes of the tables alone.
pub(crate) fn most_entries(mut tables: Vec<Vec<(Node, usize)>>, keep: &[(Node, usize)]) -> u128 {
    let size = |axes: &[(Node, usize)]| axes.iter().fold(1u128, |n, (_, size)| n.saturating_mul(*size as u128));
    let total = |tables: &[Vec<(Node, usize)>]| tables.iter().fold(0u128, |sum, t| sum.saturating_add(size(t)));
    let mut most = 0;
    loop {
        let has = |t: &Vec<(Node, usize)>, node: Node| t.iter().any(|(n, _)| *n == node);
        let joint = |tables: &[Vec<(Node, usize)>], node: Node| {
            let mut axes: Vec<(Node, usize)> = tables.iter().filter(|t| has(t, node)).flatten().copied().collect();
            axes.sort_unstable();
            axes.dedup();
            axes
        };
        let mut open: Vec<Node> = tables.iter().flatten().map(|(n, _)| *n).collect();
        open.sort_unstable();
        open.dedup();
        open.retain(|n| keep.iter().all(|(k, _)| k != n));
        let cheapest = open.into_iter().map(|node| (size(&joint(&tables, node)), node)).min();
        let Some((_, node)) = cheapest else { break };
        let mut axes = joint(&tables, node);
        axes.retain(|(n, _)| *n != node);
        most = most.max(total(&tables).saturating_add(size(&axes)));
        tables.retain(|t| !has(t, node));
        tables.push(axes);
    }
    most.max(total(&tables).saturating_add(size(keep)))
}

/// The axes of these tables, without duplicates, in increasing order.
fn joint_axes<'a>(tables: impl Iterator<Item = &'a Potential>) -> Vec<(Node, usize)> {
    let mut axes: Vec<(Node, usize)> =
        tables.flat_map(|t| t.nodes.iter().copied().zip(t.sizes.iter().copied())).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// The product of tables as a table over `axes`, with at most one further axis marginalised out.
fn multiply(tables: &[Potential], axes: &[(Node, usize)], summed: Option<Node>) -> Result<Potential, TooLarge> {
    let sizes: Vec<usize> = axes.iter().map(|(_, size)| *size).collect();
    let space = Space::new(&sizes).filter(|s| s.len() <= MAX_ENTRIES);
    let Some(space) = space else {
        return Err(TooLarge { entries: Space::new(&sizes).map(|s| s.len()) });
    };
    let strides: Vec<Vec<usize>> =
        tables.iter().map(|t| axes.iter().map(|(node, _)| t.stride_of(*node)).collect()).collect();
    let sum_strides: Vec<usize> = tables.iter().map(|t| summed.map_or(0, |node| t.stride_of(node))).collect();
    let n_summed = summed.and_then(|node| tables.iter().find_map(|t| t.size_of(node))).unwrap_or(1);
    let mut data = vec![0.0; space.len()];
    let mut digits = vec![0usize; axes.len()];
    let mut offsets = vec![0usize; tables.len()];
    for out in data.iter_mut() {
        for v in 0..n_summed {
            *out += tables
                .iter()
                .zip(&offsets)
                .zip(&sum_strides)
                .map(|((t, offset), stride)| t.data[offset + v * stride])
                .product::<f64>();
        }
        for axis in (0..axes.len()).rev() {
            digits[axis] += 1;
            if digits[axis] < sizes[axis] {
                offsets.iter_mut().zip(&strides).for_each(|(o, s)| *o += s[axis]);
                break;
            }
            offsets.iter_mut().zip(&strides).for_each(|(o, s)| *o -= s[axis] * (sizes[axis] - 1));
            digits[axis] = 0;
        }
    }
    Ok(Potential { nodes: axes.iter().map(|(n, _)| *n).collect(), sizes, data })
}
