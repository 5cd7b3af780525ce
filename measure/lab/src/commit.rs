//! The commit of the tree that a program is run in.

use std::process::{Command, Stdio};

/// The commit of the repository that the working directory is in, with `-dirty` behind it where tracked files have changes;
/// empty where there is none, or no git.
pub fn here() -> String {
    let Some(commit) = git(&["rev-parse", "HEAD"]) else {
        return String::new();
    };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => commit + "-dirty",
    }
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
