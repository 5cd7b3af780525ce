//! What the programs of this project were built from: the digest of each file, and the commit of its sources.
//!
//! No program has its commit built in: that would build all anew with each commit, and would not tell what was changed since.
//! Cargo leaves a list of its sources beside each program (`zonda.d`). They say in which tree it was built, git says at which commit that
//! tree is and whether it was changed, and a source that is newer than the program says that it was not built from this.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

use crate::{Error, error, process};

/// Octets that are read at a time.
const PIECE_OCTETS: usize = 1 << 20;
/// All of a tree that programs are made of: documents and records are not, so that a record that is committed leaves those to come of the same commit.
const MADE_OF: [&str; 4] = [":(top)", ":(top,exclude)docs", ":(top,exclude)benches", ":(top,exclude)*.md"];
/// Appended to a commit whose tree, or program, is not quite that.
const DIRTY: &str = "-dirty";

/// What a program was built from, as a record has it: `sha256` in hexadecimal, and `commit` where its tree is known.
pub fn of(program: &Path) -> Result<Value, Error> {
    let mut origin = json!({ "sha256": sha256(program)? });
    if let Some(commit) = commit(program) {
        origin["commit"] = commit.into();
    }
    Ok(origin)
}

/// The SHA-256 of a file, in hexadecimal.
fn sha256(path: &Path) -> Result<String, Error> {
    let mut file = File::open(path).map_err(error::file(path, "open"))?;
    let (mut piece, mut context) = (vec![0; PIECE_OCTETS], Context::new(&SHA256));
    loop {
        let octets = file.read(&mut piece).map_err(error::file(path, "read"))?;
        if octets == 0 {
            return Ok(context.finish().as_ref().iter().map(|octet| format!("{octet:02x}")).collect());
        }
        context.update(&piece[..octets]);
    }
}

/// The commit that last changed what programs are made of, with `-dirty` where such files differ from it or a source is newer than the program.
/// `None` for one that is not where it was built, or without git.
pub fn commit(program: &Path) -> Option<String> {
    let sources = sources(&fs::read_to_string(program.with_extension("d")).ok()?);
    let tree = sources.first()?.parent()?;
    let of_sources = |words: &[&str]| git(tree, &[words, &["--"], &MADE_OF].concat());
    let commit = of_sources(&["log", "-1", "--format=%H"]).filter(|commit| !commit.trim().is_empty())?;
    let changed = of_sources(&["status", "--porcelain", "--untracked-files=no"])?;
    let modified = |path: &Path| fs::metadata(path).and_then(|of| of.modified()).ok();
    let built: Option<SystemTime> = modified(program);
    let is_old = sources.iter().any(|source| modified(source).is_none_or(|changed| Some(changed) > built));
    let dirty = if changed.trim().is_empty() && !is_old { "" } else { DIRTY };
    Some(format!("{}{dirty}", commit.trim()))
}

/// The sources of a list that Cargo made: `PROGRAM: SOURCE SOURCE …`, a space within a name behind a backslash.
fn sources(list: &str) -> Vec<PathBuf> {
    let line = list.lines().next().unwrap_or_default();
    let Some((_, line)) = line.split_once(": ") else { return Vec::new() };
    let words = line.replace("\\ ", "\0");
    words.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('\0', " ").into()).collect()
}

/// What git says in a folder; `None` where it fails.
fn git(folder: &Path, words: &[&str]) -> Option<String> {
    let mut git = Command::new(process::find("git")?);
    git.arg("-C").arg(folder).args(words).stdin(Stdio::null());
    let output = git.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn digests_are_of_the_whole_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("zonda");
        // The second example of FIPS 180-2, B.3: a million times the letter a, which is less than two pieces.
        fs::write(&path, vec![b'a'; 1_000_000]).unwrap();
        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(sha256(&path).unwrap(), expected);
        assert_eq!(of(&path).unwrap(), json!({ "sha256": expected }));
        assert!(of(&place.path().join("nowhere")).is_err());
    }

    #[test]
    fn reads_lists_of_sources() {
        let list = "/out/zonda: /my\\ tree/main.rs /my\\ tree/lib.rs\n\n/my\\ tree/main.rs:\n";
        assert_eq!(sources(list), [PathBuf::from("/my tree/main.rs"), PathBuf::from("/my tree/lib.rs")]);
        assert_eq!((sources("").len(), sources("/out/zonda:\n").len()), (0, 0));
    }

    #[test]
    fn a_program_is_of_a_commit_if_nothing_was_changed_since() {
        let place = tempfile::tempdir().unwrap();
        let (tree, program) = (place.path().join("tree"), place.path().join("zonda"));
        fs::create_dir(&tree).unwrap();
        let source = tree.join("main.rs");
        let at = |path: &Path, seconds: u64| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + seconds);
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        fs::write(&source, "fn main() {}\n").unwrap();
        fs::write(&program, "built").unwrap();
        at(&source, 0);
        at(&program, 60);
        assert_eq!(commit(&program), None, "without a list of sources");
        fs::write(place.path().join("zonda.d"), format!("{}: {}\n", program.display(), source.display()))
            .unwrap();
        let Some(_) = git(&tree, &["init", "--quiet"]) else { return };
        git(&tree, &["add", "main.rs"]).unwrap();
        let who = ["-c", "user.name=lab", "-c", "user.email=lab@lab.example"];
        git(&tree, &[&who[..], &["commit", "--quiet", "--no-verify", "-m", "all"]].concat()).unwrap();
        let head = git(&tree, &["rev-parse", "HEAD"]).unwrap().trim().to_owned();
        assert_eq!(commit(&program), Some(head.clone()));
        fs::write(tree.join("notes"), "git does not know it").unwrap();
        assert_eq!(commit(&program), Some(head.clone()));
        // A record that is committed, and a document that is not.
        fs::create_dir_all(tree.join("benches/records")).unwrap();
        fs::write(tree.join("benches/records/root"), "{}").unwrap();
        fs::write(tree.join("README.md"), "one").unwrap();
        git(&tree, &["add", "."]).unwrap();
        git(&tree, &["reset", "--quiet", "notes"]).unwrap();
        git(&tree, &[&who[..], &["commit", "--quiet", "--no-verify", "-m", "a record"]].concat()).unwrap();
        fs::write(tree.join("README.md"), "two").unwrap();
        assert_eq!(commit(&program), Some(head.clone()), "the program would be the same");
        at(&source, 120);
        assert_eq!(commit(&program), Some(format!("{head}-dirty")), "it was built before");
        fs::write(&source, "fn main() { panic!() }\n").unwrap();
        at(&source, 0);
        assert_eq!(commit(&program), Some(format!("{head}-dirty")), "the tree was changed");
    }
}
