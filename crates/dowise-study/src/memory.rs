//! How much memory this process may still take, as far as the system says so.

use std::path::Path;

/// The least of [`dowise::MOST_MEMORY`], the memory that is available, what is left of the process's address space, and what
/// its control groups leave it.
///
/// Linux says so in `/proc` and `/sys/fs/cgroup`; elsewhere it is [`dowise::MOST_MEMORY`].
pub fn memory_allowed() -> u64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let available = kilobytes(&read("/proc/meminfo"), "MemAvailable:");
    let taken = kilobytes(&read("/proc/self/status"), "VmSize:").unwrap_or(0);
    let space = address_space(&read("/proc/self/limits")).map(|limit| limit.saturating_sub(taken));
    let groups = control_groups(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    [available, space, groups].into_iter().flatten().fold(dowise::MOST_MEMORY, u64::min)
}

/// Lowers the library's limit to [`memory_allowed`]: what the machine or a limit of the process does not leave is refused,
/// instead of ending in an abort.
pub fn keep_to_memory() {
    dowise::set_memory_limit(memory_allowed());
}

/// What the control groups of a process leave: the limit of each, up to the outermost that is mounted, less what is taken.
///
/// `groups` has lines such as `0::/user.slice` (version 2) or `4:memory:/jobs/7` (version 1).
fn control_groups(groups: &str, mounted: &Path) -> Option<u64> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (root, limit, usage) = match controllers {
            "" => (mounted.to_path_buf(), "memory.max", "memory.current"),
            c if c.split(',').any(|c| c == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => return None,
        };
        let number = |file: &Path| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
        let left = |level: &Path| {
            let stat = std::fs::read_to_string(level.join("memory.stat")).unwrap_or_default();
            let taken = number(&level.join(usage))?.saturating_sub(cached(&stat));
            Some(number(&level.join(limit))?.saturating_sub(taken))
        };
        // Inside a container the own group is mounted as the root, and its path from outside leads nowhere.
        let within = root.join(path.trim_start_matches('/'));
        let levels = within.ancestors().take_while(|level| level.starts_with(&root));
        levels.filter_map(left).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// Bytes of files that a control group has in memory, which it gives up when memory is asked for.
fn cached(stat: &str) -> u64 {
    let numbers = stat.lines().filter_map(|line| line.split_once(' '));
    let of =
        |word: &str| numbers.clone().find(|(name, _)| *name == word).and_then(|(_, n)| n.trim().parse::<u64>().ok());
    // Version 1 has the group alone under the short names.
    let files = |kind: &str| of(&format!("total_{kind}")).or(of(kind)).unwrap_or(0);
    files("inactive_file").saturating_add(files("active_file"))
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

    #[test]
    fn the_tightest_of_the_control_groups_counts() {
        let mounted = tempfile::tempdir().unwrap();
        let group = |path: &str, files: [(&str, &str); 2]| {
            let path = mounted.path().join(path);
            std::fs::create_dir_all(&path).unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(path.join(name), text).unwrap());
        };
        let left = |groups: &str| control_groups(groups, mounted.path());
        assert_eq!(left("0::/a/b\n"), None);
        group("a", [("memory.max", "1000\n"), ("memory.current", "400\n")]);
        group("a/b", [("memory.max", "max\n"), ("memory.current", "100\n")]);
        assert_eq!(left("0::/a/b\n"), Some(600));
        // Files in memory are not counted.
        std::fs::write(mounted.path().join("a/memory.stat"), "anon 300\nactive_file 30\ninactive_file 70\n").unwrap();
        assert_eq!(left("0::/a/b\n"), Some(700));
        group("a/b", [("memory.max", "150\n"), ("memory.current", "100\n")]);
        assert_eq!(left("0::/a/b\n"), Some(50));
        assert_eq!(left("0::/a\n"), Some(700));
        // Version 1, mounted as the root of a container.
        group("memory", [("memory.limit_in_bytes", "70\n"), ("memory.usage_in_bytes", "40\n")]);
        assert_eq!(left("5:cpu,memory:/docker/7\n3:cpuset:/\n"), Some(30));
        assert_eq!(left("5:cpu,memory:/docker/7\n0::/a/b\n"), Some(30));
        group("memory", [("memory.limit_in_bytes", "30\n"), ("memory.usage_in_bytes", "40\n")]);
        assert_eq!(left("5:memory:/\nnonsense\n"), Some(0));
    }
}
