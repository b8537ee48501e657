//! A disk without room. The test runs itself once more, in a namespace in which it may mount a
//! small file system; that ends with it.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::block_in_place;
use waitscope_scratch_postgres::Setup;
use waitscope_tickets::{Config, IntakeMode};

use super::load::Load;
use crate::fixture::{Database, FakeProvider, Service, at_once, settings};

/// The environment variable with the folder of the small disk.
const SMALL_DISK: &str = "SMALL_DISK";

/// A cluster of `PostgreSQL` takes some 60 MB, most of it for its log.
const SIZE: &str = "160m";

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_unavailable_until_it_has_room() {
    let Some(disk) = std::env::var_os(SMALL_DISK).map(PathBuf::from) else {
        return block_in_place(on_a_small_disk);
    };
    let setup = Setup { parent: disk.clone(), ..Setup::default() };
    let server = setup.start().unwrap();
    for mode in IntakeMode::ALL {
        let file = Database::Sqlite(tempfile::tempdir_in(&disk).unwrap());
        for database in [file, Database::on(&server)] {
            check(mode, &database, &disk).await;
        }
    }
}

/// Runs this test as a user who is not root, which `PostgreSQL` refuses to be, and may mount.
#[expect(clippy::disallowed_methods, reason = "in a section of its own thread")]
fn on_a_small_disk() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("mount -t tmpfs -o size={SIZE} none \"$SMALL_DISK\" && exec \"$0\" \"$@\"");
    let ran = Command::new("unshare")
        .args(["--map-user=1000", "--map-group=1000", "--keep-caps", "--mount"])
        .args(["sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("faults::full_disk::a_full_disk_is_unavailable_until_it_has_room")
        .env(SMALL_DISK, folder.path())
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}\n{}", said(&ran.stdout), said(&ran.stderr));
    assert!(said(&ran.stdout).contains("1 passed"), "{}", said(&ran.stdout));
}

async fn check(mode: IntakeMode, database: &Database, disk: &Path) {
    let provider = FakeProvider::start(Duration::from_millis(5));
    let service = Arc::new(Service::start(Config {
        db_pool_size: 4.try_into().unwrap(),
        ..settings(mode, database, &provider)
    }));
    let load = Load::start(&service, mode);
    load.accepts(12).await;
    let filler = disk.join("filler");
    block_in_place(|| fill(&filler));
    load.refuses(24).await;
    let reply = service.get("/v1/tickets/T-400001").await;
    assert_eq!(reply.status, 200, "{mode} {}: reading goes on", database.kind());
    block_in_place(|| std::fs::remove_file(&filler)).unwrap();
    load.accepts(24).await;
    let errors = [(503, "database_unavailable")];
    let lost_answers = load.end().await.balance(database, &service, &errors).await;
    assert_eq!(lost_answers, 0, "{mode} {}", database.kind());
    let (replies, _) = at_once(&service, 12).await;
    assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
}

/// Leaves no byte free.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    let mut piece = vec![0_u8; 1 << 20];
    while !piece.is_empty() {
        match file.write_all(&piece) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => piece.truncate(piece.len() / 2),
            Err(error) => panic!("{error}"),
        }
    }
}
