//! What is fuzzed holds for the committed inputs: the seeds, and every input that failed once.

use std::fs;
use std::path::Path;

#[expect(unreachable_pub, reason = "it belongs to the fuzz targets' library as well")]
#[path = "../../../../fuzz/src/load/mod.rs"]
mod targets;

#[test]
#[expect(clippy::disallowed_methods, reason = "no event loop runs here")]
fn the_seeds_hold() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, check) in targets::TARGETS {
        let files: Vec<_> = fs::read_dir(seeds.join(name)).unwrap().map(Result::unwrap).collect();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            // What fails says what it is about; this says which file it was.
            println!("{}", file.path().display());
            check(&fs::read(file.path()).unwrap());
        }
    }
}
