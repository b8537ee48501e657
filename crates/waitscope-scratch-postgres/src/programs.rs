//! The programs of `PostgreSQL`, where they are and how they are run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::ServerError;

/// Where Debian has the programs of each version, in `VERSION/bin`.
const DEBIAN: &str = "/usr/lib/postgresql";
/// What is used. All must come from one version, so they must be in one folder.
const NAMES: [&str; 3] = ["postgres", "initdb", "psql"];
/// How much of what a program said belongs into an error.
const SHOWN_LINES: usize = 20;

/// Whether the programs are there, on the `PATH` or where Debian has them.
pub fn is_installed() -> bool {
    Programs::find().is_ok()
}

/// The folder of the programs.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// The first on the `PATH`, or else Debian's newest.
    pub(crate) fn find() -> Result<Self, ServerError> {
        let path = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
        let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
        let versions = versions.map(|entry| entry.path()).collect();
        choose(path, versions, |file| fs::canonicalize(file).ok())
            .map(|folder| Self { folder })
            .ok_or(ServerError::NotInstalled)
    }

    pub(crate) fn postgres(&self) -> PathBuf {
        self.folder.join("postgres")
    }

    pub(crate) fn initdb(&self) -> PathBuf {
        self.folder.join("initdb")
    }

    pub(crate) fn psql(&self) -> PathBuf {
        self.folder.join("psql")
    }
}

/// The folder that holds all programs. `real` gives the file behind a path, if there is one: on the
/// `PATH` there may be nothing but links to some of them.
fn choose(
    path: Vec<PathBuf>,
    mut versions: Vec<PathBuf>,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Option<PathBuf> {
    versions.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let of_debian = versions.into_iter().map(|folder| folder.join("bin"));
    path.into_iter()
        .chain(of_debian)
        .filter_map(|folder| Some(real(&folder.join(NAMES[0]))?.parent()?.to_path_buf()))
        .find(|folder| NAMES.iter().all(|name| real(&folder.join(name)).is_some()))
}

/// `9.6` and `15` as numbers, so that the newer one is greater.
fn version(folder: &Path) -> Vec<u32> {
    let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.split('.').map_while(|number| number.parse().ok()).collect()
}

/// A command that obeys none of the user's settings for `PostgreSQL` and speaks English, so that
/// what it says can be told apart.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C");
    command
}

/// Runs a command to its end. What it says is shown only when it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), ServerError> {
    let path = Path::new(command.get_program());
    let program = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let output = command.output().map_err(ServerError::cannot(&format!("run {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = last_lines(&[output.stdout, output.stderr].concat());
    Err(ServerError::Failed { program, status: output.status, said })
}

/// The end of what a program said, in one line.
pub(crate) fn last_lines(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len().checked_sub(SHOWN_LINES) {
        _ if lines.is_empty() => "nothing".into(),
        Some(hidden) => lines[hidden..].join(" | "),
        None => lines.join(" | "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_comes_first_and_then_the_newest_of_debian() {
        let all = |folder: &str| NAMES.map(|name| (format!("{folder}/{name}"), None)).to_vec();
        let link = |from: &str, to: &str| vec![(from.to_owned(), Some(to.to_owned()))];
        let check = |files: &[Vec<(String, Option<String>)>], expected: Option<&str>| {
            let files = files.concat();
            let real = |path: &Path| {
                let (file, target) = files.iter().find(|(file, _)| Path::new(file) == path)?;
                Some(PathBuf::from(target.as_ref().unwrap_or(file)))
            };
            let path = ["/a", "/b"].map(PathBuf::from).to_vec();
            let versions = ["/pg/9.6", "/pg/15", "/pg/14", "/pg/old"].map(PathBuf::from).to_vec();
            let found = choose(path, versions, real);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{files:?}");
        };
        check(&[], None);
        check(&[all("/b")], Some("/b"));
        check(&[all("/b"), all("/a"), all("/pg/15/bin")], Some("/a"));
        check(&[all("/pg/9.6/bin"), all("/pg/15/bin"), all("/pg/14/bin")], Some("/pg/15/bin"));
        check(&[all("/pg/9.6/bin"), all("/pg/old/bin")], Some("/pg/9.6/bin"));
        // Only a link to the server is on the path; the others are beside the server.
        let linked = link("/a/postgres", "/opt/bin/postgres");
        check(&[linked.clone(), all("/opt/bin")], Some("/opt/bin"));
        // A link to a server without the other programs, and clients without a server.
        check(&[linked, link("/opt/bin/postgres", "/opt/bin/postgres")], None);
        check(&[all("/b")[1..].to_vec(), all("/pg/14/bin")], Some("/pg/14/bin"));
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let shell = |script: &str| run(Command::new("sh").args(["-c", script]));
        shell("echo fine").unwrap();
        let error = shell("echo one; echo; echo two >&2; exit 3").unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3): one | two");
        assert_eq!(shell("exit 4").unwrap_err().to_string(), "sh failed (exit status: 4): nothing");
        let error = run(&mut Command::new("/nowhere/initdb")).unwrap_err();
        assert!(error.to_string().starts_with("cannot run initdb: No such file"), "{error}");
    }

    #[test]
    fn only_the_end_of_long_output_is_shown() {
        let lines = (1..=30).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
        let shown = last_lines(lines.as_bytes());
        assert!(shown.starts_with("11 | 12 |") && shown.ends_with("| 30"), "{shown}");
    }
}
