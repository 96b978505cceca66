//! Moves labels at line ends apart so that none lies over another.

/// Heights that are as near as possible to those wanted, at least `apart` from each other, within `[top, bottom]`.
pub(super) fn space_out(wanted: &[f64], apart: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // Groups of touching labels: (sum of wanted heights with each label's offset taken off, members, first member).
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &i in &order {
        groups.push((wanted[i], 1));
        while groups.len() > 1 {
            let (last, before) = (groups[groups.len() - 1], groups[groups.len() - 2]);
            if start(before, apart, top, bottom) + before.1 as f64 * apart <= start(last, apart, top, bottom) + 1e-9 {
                break;
            }
            groups.pop();
            let at = groups.len() - 1;
            groups[at] = (before.0 + last.0 - last.1 as f64 * before.1 as f64 * apart, before.1 + last.1);
        }
    }
    let mut out = vec![0.0; wanted.len()];
    let mut next = order.into_iter();
    for group in groups {
        let first = start(group, apart, top, bottom);
        for k in 0..group.1 {
            let i = next.next().expect("invariant: every label is in one group");
            out[i] = first + k as f64 * apart;
        }
    }
    out
}

/// Where a group starts: centred on what its members want, but inside.
fn start((sum, n): (f64, usize), apart: f64, top: f64, bottom: f64) -> f64 {
    (sum / n as f64).min(bottom - (n - 1) as f64 * apart).max(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let at = space_out(&[50.0, 51.0, 10.0, 99.0, 98.0, 97.0], 10.0, 0.0, 100.0);
        assert_eq!(at[2], 10.0);
        assert!((at[1] - at[0] - 10.0).abs() < 1e-9 && ((at[0] + at[1]) / 2.0 - 50.5).abs() < 1e-9);
        assert_eq!((at[5], at[4], at[3]), (80.0, 90.0, 100.0));
    }
}
