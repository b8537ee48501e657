//! Other processes, as proc(5) shows them.

use std::{fs, io};

use rustix::process::Pid;

/// The state letter of a process; none when there is none.
pub(crate) fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    state_in(&stat)
}

/// The processes that the main thread of `pid` has started, also those that have ended and wait to be
/// collected.
pub(crate) fn children(pid: Pid) -> io::Result<Vec<Pid>> {
    let pid = pid.as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(list.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect())
}

/// The third field. The name before it is in brackets and may hold anything.
fn state_in(stat: &str) -> Option<char> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_last_bracket() {
        for (stat, expected) in
            [("7 (postgres) S 1 7", Some('S')), ("7 (a) R) Z 1 7", Some('Z')), ("7 (a", None)]
        {
            assert_eq!(state_in(stat), expected, "{stat}");
        }
    }

    #[test]
    fn this_process_runs() {
        assert_eq!(state(rustix::process::getpid()).map(|state| "RS".contains(state)), Some(true));
    }
}
