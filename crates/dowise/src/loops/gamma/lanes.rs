//! SIMD random number generator: xoshiro128++ in many parallel lanes.

use crate::loops::simd;
use crate::random::splitmix64;

/// Lanes stepped together: enough for the step to be compiled as a loop, not as a list of single instructions.
pub(crate) const LANES: usize = 64;

type Words = [u32; LANES];

/// What the state of SplitMix64 grows by with every word.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Generators side by side, each the one of `rand_xoshiro` with a seed of its own, stepped together.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    state: [Words; 4],
}

impl Lanes {
    pub(crate) fn new(seed: u64) -> Lanes {
        let mut state = [[0; LANES]; 4];
        // The stream of SplitMix64. Each word is a function of its number, so none waits for the one before.
        simd::wide(
            #[inline(always)]
            || {
                for (i, pair) in state.as_flattened_mut().as_chunks_mut::<2>().0.iter_mut().enumerate() {
                    let word = splitmix64(seed.wrapping_add((i as u64).wrapping_mul(STEP)));
                    *pair = [word as u32, (word >> 32) as u32];
                }
            },
        );
        Lanes { state }
    }

    /// Random bits, N numbers from every lane.
    #[inline(always)]
    pub(crate) fn draw<const N: usize>(&mut self) -> [Words; N] {
        let mut out = [[0; LANES]; N];
        let [a, b, c, d] = &mut self.state;
        for i in 0..LANES {
            let [mut w, mut x, mut y, mut z] = [a[i], b[i], c[i], d[i]];
            for out in &mut out {
                out[i] = w.wrapping_add(z).rotate_left(7).wrapping_add(w);
                let t = x << 9;
                y ^= w;
                z ^= x;
                x ^= y;
                w ^= z;
                y ^= t;
                z = z.rotate_left(11);
            }
            [a[i], b[i], c[i], d[i]] = [w, x, y, z];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::{SplitMix64, Xoshiro128PlusPlus};

    #[test]
    fn seeds_are_the_words_of_the_library_one_after_the_other() {
        for seed in [0, 7, u64::MAX] {
            let mut words = SplitMix64::seed_from_u64(seed);
            for pair in Lanes::new(seed).state.as_flattened().as_chunks::<2>().0 {
                let word = words.next_u64();
                assert_eq!(*pair, [word as u32, (word >> 32) as u32]);
            }
        }
    }

    #[test]
    fn every_lane_is_a_generator_of_the_library() {
        let mut lanes = Lanes::new(7);
        let mut library: Vec<Xoshiro128PlusPlus> = (0..LANES)
            .map(|lane| {
                let bytes: Vec<u8> = lanes.state.iter().flat_map(|word| word[lane].to_le_bytes()).collect();
                Xoshiro128PlusPlus::from_seed(bytes.try_into().unwrap())
            })
            .collect();
        for out in [lanes.draw::<3>(), lanes.draw::<3>()].as_flattened() {
            assert!(out.iter().zip(&mut library).all(|(word, generator)| *word == generator.next_u32()));
        }
    }
}
