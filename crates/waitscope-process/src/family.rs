//! Processes and what they started: a server's listening process is not always the one that works.

/// `pids` and all processes that they started, directly or not, as far as they can be seen.
#[cfg(target_os = "linux")]
pub fn with_descendants(pids: &[i32]) -> Vec<i32> {
    let Ok(processes) = procfs::process::all_processes() else { return pids.to_vec() };
    let parents: Vec<(i32, i32)> = processes
        .filter_map(|process| process.ok()?.stat().ok())
        .map(|stat| (stat.pid, stat.ppid))
        .collect();
    descendants(pids, &parents)
}

/// Without `/proc` nobody's children are known.
#[cfg(not(target_os = "linux"))]
pub fn with_descendants(pids: &[i32]) -> Vec<i32> {
    pids.to_vec()
}

/// Walks the tree of (process, its parent) down from `pids`.
fn descendants(pids: &[i32], parents: &[(i32, i32)]) -> Vec<i32> {
    let mut family = pids.to_vec();
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        next += 1;
        for (pid, of) in parents {
            if *of == parent && !family.contains(pid) {
                family.push(*pid);
            }
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_walked_to_its_leaves() {
        let parents = [(2, 1), (3, 1), (4, 2), (5, 4), (9, 8), (1, 0)];
        let cases: [(&[i32], &[i32]); 4] =
            [(&[1], &[1, 2, 3, 4, 5]), (&[4], &[4, 5]), (&[2, 4], &[2, 4, 5]), (&[], &[])];
        for (pids, expected) in cases {
            assert_eq!(descendants(pids, &parents), expected, "{pids:?}");
        }
    }

    #[test]
    fn a_child_of_this_process_is_found() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let family = with_descendants(&[own]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.contains(&i32::try_from(child.id()).unwrap()), "{family:?}");
    }
}
