//! The limit of open files of this process: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many files this process may hold open now; `None` when there is no limit.
pub fn open_files_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Raises the soft limit of open files to the hard one and returns what holds then; `None` when
/// there is no limit. A refusal leaves the limit as it is.
pub fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        // Refused or not: what holds is read back below.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    open_files_limit()
}

/// How many ports of one address connections to one server can come from; `None` where the system
/// does not tell (Linux: `net.ipv4.ip_local_port_range`, ip(7)).
pub fn local_ports() -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel that answers at once")]
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut bounds = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_the_hard_one_afterwards() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_open_files(), hard);
    }

    #[test]
    fn there_are_ports_to_connect_from() {
        assert!((1..=65_536).contains(&local_ports().unwrap()));
    }
}
