//! Reading the tree: which files there are, and what of a file is code.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A file of the tree.
pub(super) struct File {
    /// Its path from the root.
    pub(super) name: String,
    pub(super) text: String,
}

/// Every file under `dir` (from the root) whose name ends like that, in order of name; what cargo
/// builds and what is hidden left out.
pub(super) fn files(dir: &str, ending: &str) -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    let mut dirs = vec![root.join(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if name.starts_with('.') || name == "target" || name == "node_modules" {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else if name.ends_with(ending) {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push(File { name, text: std::fs::read_to_string(&path).unwrap() });
            }
        }
    }
    assert!(!found.is_empty(), "no `{ending}` under `{dir}`: the check would check nothing");
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The Rust of both crates' `src`.
pub(super) fn sources() -> Vec<File> {
    let mut found = files("crates/hookonce/src", ".rs");
    found.extend(files("crates/hookonce-server/src", ".rs"));
    found
}

impl File {
    /// The code without comments and without the unit tests at its foot.
    pub(super) fn code(&self) -> String {
        let code = self.text.split("\n#[cfg(test)]\n").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        code.lines().filter(is_code).collect::<Vec<_>>().join("\n")
    }

    /// The sentences of its `//!` header.
    pub(super) fn header(&self) -> String {
        self.text.lines().take_while(|line| line.starts_with("//!")).collect()
    }

    /// The modules that lead to it, from its crate's root.
    pub(super) fn module(&self) -> Vec<&str> {
        let path = self.name.split_once("/src/").map_or(&*self.name, |(_, path)| path);
        let path = path.strip_suffix(".rs").unwrap_or(path);
        path.split('/').filter(|part| !matches!(*part, "lib" | "main")).collect()
    }

    /// The modules of its own crate, right under the root, that its code names.
    pub(super) fn imports(&self) -> Vec<String> {
        let code = self.code();
        let mut imports = Vec::new();
        for (at, _) in code.match_indices("crate::") {
            imports.push(word(&code[at + "crate::".len()..]));
        }
        for (at, _) in code.match_indices("super::") {
            // Of `super::super::x` the first stands for all.
            if code[..at].ends_with("super::") {
                continue;
            }
            let mut module = self.module();
            let mut rest = &code[at..];
            while let Some(after) = rest.strip_prefix("super::") {
                module.pop();
                rest = after;
            }
            imports.push(module.first().map_or_else(|| word(rest), |first| (*first).to_owned()));
        }
        imports.sort();
        imports.dedup();
        imports
    }
}

/// The identifier that `text` begins with.
fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}
