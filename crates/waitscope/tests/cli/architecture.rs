//! The dependency direction of ARCHITECTURE.md, over what cargo says.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// For each crate, the crates of ours that it may use, and those that only its tests may use.
const ALLOWED: [(&str, &[&str], &[&str]); 11] = [
    ("stats", &[], &[]),
    ("wire", &[], &[]),
    ("process", &[], &[]),
    ("serve", &[], &[]),
    ("scratch-postgres", &[], &[]),
    ("record", &[], &[]),
    ("report", &["record"], &[]),
    ("load", &["process", "record", "stats"], &[]),
    ("provider", &["serve", "stats", "wire"], &[]),
    ("tickets", &["serve", "wire"], &["scratch-postgres"]),
    ("xtask", &["scratch-postgres"], &[]),
];

#[test]
fn crates_depend_only_downwards() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let allowed: BTreeMap<&str, (&[&str], &[&str])> =
        ALLOWED.iter().map(|(name, uses, in_tests)| (*name, (*uses, *in_tests))).collect();
    let mut seen = 0;
    for package in &metadata.packages {
        let name = short(&package.name);
        if name == "waitscope" {
            continue;
        }
        seen += 1;
        let (uses, in_tests) =
            allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        for dependency in package.dependencies.iter().filter(|d| d.path.is_some()) {
            let below = short(&dependency.name);
            let fine = uses.contains(&below)
                || (dependency.kind == DependencyKind::Development && in_tests.contains(&below));
            assert!(fine, "{name} must not use {below}");
        }
    }
    assert_eq!(seen, ALLOWED.len(), "a crate of the table is gone");
}

fn short(name: &str) -> &str {
    name.strip_prefix("waitscope-").unwrap_or(name)
}
