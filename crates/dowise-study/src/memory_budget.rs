//! How many runs fit into memory at once.

/// What runs of one kind take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes of one of them at most.
    pub(crate) bytes: u128,
    /// How many there are.
    pub(crate) count: usize,
}

/// How many runs, up to a number, may be played at once: whichever come together fit into what is left. At least one, since a
/// run that does not fit alone is refused with its own reason.
pub(crate) fn at_once(needs: &[Need], left: u64, most: usize) -> usize {
    let mut largest_first = needs.to_vec();
    largest_first.sort_by_key(|need| std::cmp::Reverse(need.bytes));
    let mut room = u128::from(left);
    let mut runs = 0;
    for Need { bytes, count } in largest_first {
        let fit = room.checked_div(bytes).unwrap_or(u128::MAX).min(count as u128) as usize;
        runs += fit;
        if fit < count || runs >= most {
            return runs.clamp(1, most);
        }
        room -= bytes * fit as u128;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(needs: &[(u128, usize)], left: u64, most: usize) -> usize {
        let needs: Vec<Need> = needs.iter().map(|&(bytes, count)| Need { bytes, count }).collect();
        at_once(&needs, left, most)
    }

    #[test]
    fn the_largest_runs_must_fit_together() {
        assert_eq!(runs(&[(10, 100)], 1000, 8), 8);
        assert_eq!(runs(&[(10, 100)], 79, 8), 7);
        // One large run and many small ones: the large one and three others may come together.
        assert_eq!(runs(&[(10, 100), (50, 1)], 80, 8), 4);
        assert_eq!(runs(&[(50, 3)], 100, 8), 2);
    }

    #[test]
    fn where_all_fit_nothing_is_held_back() {
        assert_eq!(runs(&[(50, 2)], 100, 2), 2);
        assert_eq!(runs(&[(0, 5)], 0, 5), 5);
    }

    #[test]
    fn a_run_that_does_not_fit_is_tried_alone_and_says_why() {
        assert_eq!(runs(&[(u128::MAX, 5), (1, 1)], 100, 8), 1);
    }
}
