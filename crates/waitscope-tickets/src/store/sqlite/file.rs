//! Whether the file behind the open connections is still the one at its path. A file that was
//! deleted stays writable for whoever has it open: tickets would be accepted and lost.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Looks at the path before a connection is used.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    file: Option<FileId>,
    since: Instant,
}

/// Device and inode.
type FileId = (u64, u64);

impl Watched {
    /// Begins with the file that is there now.
    pub(super) fn new(path: &Path) -> Self {
        let seen = Seen { file: file_id(path), since: Instant::now() };
        Self { path: path.to_owned(), seen: Mutex::new(seen) }
    }

    /// Whether a connection of this age leads to the file that is there now. It costs one `stat`,
    /// some microseconds.
    pub(super) fn is_the_one_opened(&self, age: Duration) -> bool {
        let file = file_id(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if file != seen.file {
            *seen = Seen { file, since: Instant::now() };
        }
        file.is_some() && age < seen.since.elapsed()
    }
}

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

/// Elsewhere only the absence of the file is noticed.
#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    std::fs::metadata(path).ok().map(|_| (0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connections_to_the_present_file_are_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let other = folder.path().join("b.db");
        std::fs::File::create(&path).unwrap();
        let watched = Watched::new(&path);
        let opened = Instant::now();
        assert!(watched.is_the_one_opened(opened.elapsed()));

        std::fs::File::create(&other).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(!watched.is_the_one_opened(opened.elapsed()), "another file is there");
        let reopened = Instant::now();
        assert!(watched.is_the_one_opened(reopened.elapsed()));

        std::fs::remove_file(&path).unwrap();
        assert!(!watched.is_the_one_opened(reopened.elapsed()), "no file is there");
    }
}
