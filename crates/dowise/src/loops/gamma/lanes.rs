//! Random bits, many at a time: the generator xoshiro128++ in many lanes side by side.

use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// So many that a step of all of them is a loop, not a list of single instructions.
pub(crate) const LANES: usize = 64;

type Words = [u32; LANES];

/// Generators side by side, each the one of `rand_xoshiro` with a seed of its own, stepped together.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    state: [Words; 4],
}

impl Lanes {
    pub(crate) fn new(seed: u64) -> Lanes {
        let mut seeds = SplitMix64::seed_from_u64(seed);
        let mut state = [[0; LANES]; 4];
        for pair in state.as_flattened_mut().as_chunks_mut::<2>().0 {
            let word = seeds.next_u64();
            *pair = [word as u32, (word >> 32) as u32];
        }
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
    use rand_xoshiro::Xoshiro128PlusPlus;

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
