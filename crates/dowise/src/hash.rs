//! Hashes that are the same in every version and on every machine, which those of the standard library are not.
//!
//! Counter-based random numbers use `splitmix64`, which is in `random`.

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a of bytes: fingerprints of texts.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    fnv_words(bytes.iter().map(|&b| u64::from(b)))
}

/// FNV-1a over whole numbers instead of bytes.
pub(crate) fn fnv_words(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(FNV_START, |hash, word| (hash ^ word).wrapping_mul(FNV_PRIME))
}

/// Joins one more number to a hash: one multiplication, so the caller mixes the result once at the end.
#[inline]
pub(crate) fn join(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_stability() {
        // From the specification of FNV-1a.
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv_words([102, 111, 111].into_iter()), fnv(b"foo"));
        assert_eq!(join(1, 2), 0x035e_2aa2_e7e4_7aca);
    }
}
