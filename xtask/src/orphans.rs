//! Processes whose parents ended before them. On Linux they become children of this program,
//! whatever their process group is, and are ended; elsewhere only process groups are.

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

/// Becomes the parent of every orphan among the descendants.
#[cfg(target_os = "linux")]
pub(crate) fn adopt() -> rustix::io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

/// Collects the orphans that have ended, as init would: until then they look alive to whoever
/// waits for their end. `running` is left to its own waiter.
#[cfg(target_os = "linux")]
pub(crate) fn collect(running: Option<Pid>) {
    for (pid, alive) in linux::children() {
        if !alive && Some(pid) != running {
            // An error says that it is gone already.
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// Kills all children, and what becomes a child by that. Gives their number; those that had
/// ended already are not counted.
#[cfg(target_os = "linux")]
pub(crate) fn end() -> usize {
    let mut killed = 0;
    loop {
        let children = linux::children();
        if children.is_empty() {
            return killed;
        }
        for (pid, alive) in children {
            killed += usize::from(alive && kill_process(pid, Signal::KILL).is_ok());
            // It is gone when this returns; an error says that it was gone before.
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{Pid, getpid};

    /// The children of this process, each with whether it is still alive.
    pub(super) fn children() -> Vec<(Pid, bool)> {
        let Ok(folders) = std::fs::read_dir("/proc") else { return Vec::new() };
        let stats = folders.flatten().filter_map(|folder| {
            let pid: i32 = folder.file_name().to_str()?.parse().ok()?;
            let (state, parent) =
                state_and_parent(&std::fs::read_to_string(folder.path().join("stat")).ok()?)?;
            let is_ours = parent == getpid().as_raw_nonzero().get();
            is_ours.then_some((Pid::from_raw(pid)?, state != 'Z'))
        });
        stats.collect()
    }

    /// Fields 3 and 4 of `/proc/PID/stat` (proc(5)). The name before them may hold anything,
    /// also blanks and brackets.
    pub(super) fn state_and_parent(stat: &str) -> Option<(char, i32)> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_whitespace();
        Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
    }
}

/// Nothing can be adopted here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt() -> rustix::io::Result<()> {
    Ok(())
}

/// Nothing was adopted here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn collect(_running: Option<Pid>) {}

/// Nothing was adopted here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end() -> usize {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::state_and_parent;

    #[test]
    fn a_stat_line_is_read_from_its_last_bracket() {
        for (line, expected) in [
            ("42 (sleep) S 7 42 1 0", Some(('S', 7))),
            ("42 (a) R 1 (b) Z 9 42 1 0", Some(('Z', 9))),
            ("42 (sleep", None),
            ("42 (sleep) S", None),
            ("", None),
        ] {
            assert_eq!(state_and_parent(line), expected, "{line}");
        }
    }
}
