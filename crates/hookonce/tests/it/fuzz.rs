//! What must hold for any bytes holds for all that a fuzzer has ever found worth keeping, and for the
//! vectors of every scheme. Nothing is made up here: that is what `scripts/fuzz.sh` does.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, missing_docs, reason = "it is a library of its own, for the fuzzer")]
mod targets;

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use targets::TARGETS;

/// What the whole corpus may come to: it is read in every test run and kept for ever.
const FILES_LIMIT: usize = 300;
const BYTES_LIMIT: usize = 1 << 20;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

#[test]
fn what_must_hold_for_any_bytes_holds_for_the_corpus_and_the_vectors() {
    let vectors = vectors();
    assert!(vectors.len() > 20, "{} vectors: they are no longer found", vectors.len());
    for (name, target) in TARGETS {
        let corpus = files(&fuzz().join("corpus").join(name));
        for path in corpus.iter().chain(&vectors) {
            let bytes = std::fs::read(path).unwrap();
            let held = catch_unwind(|| target(&bytes)).is_ok();
            assert!(held, "`{name}` doesn't hold for {}", path.display());
        }
    }
}

#[test]
fn each_target_has_a_corpus_and_each_corpus_a_target() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let names = |folder: &str, ending: &str| -> BTreeSet<String> {
        let paths = entries(&fuzz().join(folder)).into_iter();
        let name =
            |path: PathBuf| path.file_name()?.to_str()?.strip_suffix(ending).map(String::from);
        paths.filter_map(name).collect()
    };
    assert_eq!(names("corpus", ""), targets, "left: folders of fuzz/corpus");
    assert_eq!(names("fuzz_targets", ".rs"), targets, "left: files of fuzz/fuzz_targets");
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in &targets {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        assert!(!files(&fuzz().join("corpus").join(name)).is_empty(), "`{name}` has no input");
    }
    assert!(names("dictionaries", ".dict").is_subset(&targets));
}

#[test]
fn the_corpus_is_small() {
    let all: Vec<_> =
        entries(&fuzz().join("corpus")).iter().flat_map(|folder| files(folder)).collect();
    let bytes: usize = all.iter().map(|path| std::fs::read(path).unwrap().len()).sum();
    assert!(all.len() <= FILES_LIMIT, "{} files", all.len());
    assert!(bytes <= BYTES_LIMIT, "{bytes} bytes");
}

/// The requests beside which it says which events they give, and what it says there.
fn vectors() -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let folders = entries(&tests).into_iter().filter(|path| path.is_dir());
    let files: Vec<_> = folders.flat_map(|folder| files(&folder)).collect();
    let stem = |path: &Path| -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        Some(path.with_file_name(name.split('.').next()?))
    };
    let is_events = |path: &&PathBuf| path.to_str().is_some_and(|p| p.ends_with(".events.json"));
    let stems: BTreeSet<_> = files.iter().filter(is_events).filter_map(|p| stem(p)).collect();
    files.into_iter().filter(|path| stem(path).is_some_and(|stem| stems.contains(&stem))).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_file()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
