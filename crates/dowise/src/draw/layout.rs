//! Layered graph layout: few edge crossings, and connected boxes close to each other.

use super::Graph;

/// A slot in a layer: a box, or a bend of an edge that passes through.
struct Slot {
    width: f64,
    x: f64,
    /// Connected slots in the layer below and in the layer above.
    below: Vec<usize>,
    above: Vec<usize>,
}

/// The finished layout.
pub(super) struct Layout {
    /// Centre of each box.
    pub(super) x: Vec<f64>,
    /// For every edge the centres of its bends, one for each layer it passes.
    pub(super) bends: Vec<Vec<f64>>,
    /// From the left edge of the leftmost box to the right edge of the rightmost.
    pub(super) width: f64,
}

const GAP: f64 = 18.0;
const BEND_WIDTH: f64 = 6.0;
const SWEEPS: usize = 12;

/// Lays out boxes of these widths.
pub(super) fn layout(graph: &Graph, widths: &[f64]) -> Layout {
    let slot = |width| Slot { width, x: 0.0, below: vec![], above: vec![] };
    let mut slots: Vec<Slot> = widths.iter().map(|&w| slot(w)).collect();
    let mut layers: Vec<Vec<usize>> = vec![vec![]; graph.n_layers()];
    for (i, node) in graph.nodes.iter().enumerate() {
        layers[node.layer].push(i);
    }
    let mut bends = vec![vec![]; graph.edges.len()];
    for (&(from, to), bends) in graph.edges.iter().zip(&mut bends) {
        let (low, high) = (graph.nodes[from].layer, graph.nodes[to].layer);
        // An edge within a layer, or downwards, is drawn as an arc and ignored here.
        if low >= high {
            continue;
        }
        let mut last = from;
        for layer in low + 1..high {
            let bend = slots.len();
            slots.push(slot(BEND_WIDTH));
            layers[layer].push(bend);
            connect(&mut slots, last, bend);
            bends.push(bend);
            last = bend;
        }
        connect(&mut slots, last, to);
    }
    order(&mut layers, &slots);
    place(&layers, &mut slots);

    let left = slots.iter().map(|s| s.x - s.width / 2.0).fold(f64::INFINITY, f64::min);
    let right = slots.iter().map(|s| s.x + s.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let x_of = |i: &usize| slots[*i].x - left;
    Layout {
        x: (0..widths.len()).map(|i| x_of(&i)).collect(),
        bends: bends.iter().map(|b| b.iter().map(x_of).collect()).collect(),
        width: (right - left).max(0.0),
    }
}

fn connect(slots: &mut [Slot], low: usize, high: usize) {
    slots[low].above.push(high);
    slots[high].below.push(low);
}

/// Barycentre ordering: sorts each layer by the mean position of its neighbours, up and down, and keeps the best order.
fn order(layers: &mut Vec<Vec<usize>>, slots: &[Slot]) {
    let mut best = (crossings(layers, slots), layers.clone());
    for sweep in 0..SWEEPS {
        let upwards = sweep % 2 == 0;
        let n = layers.len();
        for step in 1..n {
            let layer = if upwards { step } else { n - 1 - step };
            let beside = &layers[if upwards { layer - 1 } else { layer + 1 }];
            let mut place = vec![0.0; slots.len()];
            beside.iter().enumerate().for_each(|(i, &s)| place[s] = i as f64);
            let mut keyed: Vec<(f64, usize)> = layers[layer]
                .iter()
                .enumerate()
                .map(|(i, &s)| {
                    let linked = if upwards { &slots[s].below } else { &slots[s].above };
                    (average(linked.iter().map(|&l| place[l])).unwrap_or(i as f64), s)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[layer] = keyed.into_iter().map(|(_, s)| s).collect();
        }
        let count = crossings(layers, slots);
        if count < best.0 {
            best = (count, layers.clone());
        }
    }
    *layers = best.1;
}

fn crossings(layers: &[Vec<usize>], slots: &[Slot]) -> usize {
    let mut place = vec![0usize; slots.len()];
    for layer in layers {
        layer.iter().enumerate().for_each(|(i, &s)| place[s] = i);
    }
    let count = |layer: &Vec<usize>| -> usize {
        let edges: Vec<(usize, usize)> =
            layer.iter().flat_map(|&s| slots[s].above.iter().map(move |&t| (s, t))).collect();
        let pairs = edges.iter().enumerate().flat_map(|(i, e)| edges[..i].iter().map(move |f| (e, f)));
        pairs.filter(|((a, b), (c, d))| (place[*a] < place[*c]) != (place[*b] < place[*d]) && a != c && b != d).count()
    };
    layers.iter().map(count).sum()
}

/// Moves every slot towards its neighbours, as far as the order and the gaps allow.
fn place(layers: &[Vec<usize>], slots: &mut [Slot]) {
    for layer in layers {
        let mut x = 0.0;
        for &s in layer {
            slots[s].x = x + slots[s].width / 2.0;
            x += slots[s].width + GAP;
        }
        layer.iter().for_each(|&s| slots[s].x -= x / 2.0);
    }
    for sweep in 0..2 * SWEEPS {
        let order: Vec<usize> =
            if sweep % 2 == 0 { (0..layers.len()).collect() } else { (0..layers.len()).rev().collect() };
        for l in order {
            let wanted: Vec<f64> = layers[l]
                .iter()
                .map(|&s| {
                    let linked = slots[s].below.iter().chain(&slots[s].above).map(|&t| slots[t].x);
                    average(linked).unwrap_or(slots[s].x)
                })
                .collect();
            for (&s, x) in layers[l].iter().zip(spaced(&layers[l], slots, &wanted)) {
                slots[s].x = x;
            }
        }
    }
}

/// The positions nearest to the wanted ones (least squares) that keep order and gaps: isotonic regression by pooling
/// overlapping neighbours.
fn spaced(layer: &[usize], slots: &[Slot], wanted: &[f64]) -> Vec<f64> {
    let mut offset = vec![0.0; layer.len()];
    for i in 1..layer.len() {
        offset[i] = offset[i - 1] + (slots[layer[i - 1]].width + slots[layer[i]].width) / 2.0 + GAP;
    }
    let mut pools: Vec<(f64, usize)> = vec![];
    for i in 0..layer.len() {
        pools.push((wanted[i] - offset[i], 1));
        while let [.., (a, n), (b, m)] = pools[..]
            && a > b
        {
            pools.truncate(pools.len() - 2);
            pools.push(((a * n as f64 + b * m as f64) / (n + m) as f64, n + m));
        }
    }
    let levels = pools.iter().flat_map(|&(level, n)| std::iter::repeat_n(level, n));
    levels.zip(&offset).map(|(level, o)| level + o).collect()
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}
