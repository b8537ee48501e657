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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_the_hard_one_afterwards() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_open_files(), hard);
    }
}
