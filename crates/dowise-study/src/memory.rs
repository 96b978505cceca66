//! How much memory this process may still take, as far as the system says so.

/// The least of [`dowise::MOST_MEMORY`], the memory that is available, and what is left of the process's address space.
///
/// Linux says so in `/proc`; elsewhere it is [`dowise::MOST_MEMORY`].
pub fn memory_allowed() -> u64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let available = kilobytes(&read("/proc/meminfo"), "MemAvailable:");
    let taken = kilobytes(&read("/proc/self/status"), "VmSize:").unwrap_or(0);
    let space = address_space(&read("/proc/self/limits")).map(|limit| limit.saturating_sub(taken));
    [available, space].into_iter().flatten().fold(dowise::MOST_MEMORY, u64::min)
}

/// The number after a word, in bytes.
fn kilobytes(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The limit of the address space in bytes; `None` if there is none.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(kilobytes("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", "MemAvailable:"), Some(2 << 20));
        let limits = "Max cpu time              unlimited            unlimited            seconds\n\
                      Max address space         3072000000           unlimited            bytes\n";
        assert_eq!(address_space(limits), Some(3_072_000_000));
        assert_eq!(address_space("Max address space         unlimited            unlimited            bytes\n"), None);
        assert!(memory_allowed() <= dowise::MOST_MEMORY);
    }
}
