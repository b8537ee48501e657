//! A fresh database for each measurement.

use std::fs;
use std::path::Path;

use anyhow::Context;
use waitscope_scratch_postgres::Server;

use crate::bench::processes::{OTHER_CORE, move_to_core, ticks_per_second};

/// Which database a service keeps its tickets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    pub(super) const BOTH: [Self; 2] = [Self::Sqlite, Self::Postgres];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// What databases are made with: a `PostgreSQL` server, which ends when this is dropped. An `SQLite`
/// file needs nothing.
pub(super) struct Databases {
    postgres: Server,
}

impl Databases {
    /// The server runs where this process does, on the core that is not the service's.
    pub(super) fn start() -> anyhow::Result<Self> {
        move_to_core(OTHER_CORE)?;
        Ok(Self { postgres: Server::start().context("cannot start PostgreSQL")? })
    }

    /// The address of a database that has no tables yet.
    pub(super) fn fresh(&self, database: Database, folder: &Path) -> anyhow::Result<String> {
        Ok(match database {
            Database::Sqlite => format!("sqlite:{}", folder.join("tickets.db").display()),
            Database::Postgres => self.postgres.create_database()?,
        })
    }
}

/// The CPU time of all `PostgreSQL` processes below this one so far, in seconds.
pub(super) fn postgres_cpu_seconds() -> anyhow::Result<f64> {
    let folders = fs::read_dir("/proc").context("cannot read /proc")?;
    let stats = folders.flatten().filter_map(|folder| read_stat(&folder.path())).collect();
    Ok(ticks_of_servers(std::process::id(), stats) / ticks_per_second())
}

/// One process; none when it has just ended, or the folder is not one.
fn read_stat(folder: &Path) -> Option<Stat> {
    parse_stat(&fs::read_to_string(folder.join("stat")).ok()?)
}

/// What is needed of `/proc/PID/stat` (proc(5)).
#[derive(Debug, Clone, PartialEq)]
struct Stat {
    pid: u32,
    parent: u32,
    is_postgres: bool,
    /// User and system time, of its own and of its children that have ended.
    ticks: f64,
}

fn parse_stat(stat: &str) -> Option<Stat> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, fields) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: Option<f64> =
        fields.get(11..15)?.iter().map(|ticks| ticks.parse::<f64>().ok()).sum();
    Some(Stat {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        is_postgres: name == "postgres",
        ticks: ticks?,
    })
}

/// Those of the servers that a process started, and of their children.
fn ticks_of_servers(process: u32, stats: Vec<Stat>) -> f64 {
    let mut below = vec![process];
    let mut ticks = 0.0;
    let mut rest = stats;
    loop {
        let (found, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|stat| below.contains(&stat.parent));
        if found.is_empty() {
            return ticks;
        }
        below = found.iter().map(|stat| stat.pid).collect();
        ticks += found.iter().filter(|stat| stat.is_postgres).map(|stat| stat.ticks).sum::<f64>();
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_server_includes_that_of_its_children() {
        let stat = |pid: u32, name: &str, parent: u32, ticks: [u32; 4]| {
            let [user, system, childrens_user, childrens_system] = ticks;
            let line = format!(
                "{pid} ({name}) S {parent} 7 7 0 -1 4194304 90 0 0 0 \
                 {user} {system} {childrens_user} {childrens_system} 20 0 1 0 99"
            );
            parse_stat(&line).unwrap()
        };
        let stats = vec![
            stat(40, "postgres", 30, [1, 2, 3, 4]),
            stat(41, "postgres", 40, [10, 20, 0, 0]),
            // A wrapper, and a server of somebody else.
            stat(30, "runuser) (x", 7, [100, 100, 100, 100]),
            stat(50, "postgres", 1, [1_000, 0, 0, 0]),
        ];
        assert!((ticks_of_servers(7, stats) - 40.0).abs() < 1e-9);
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }
}
