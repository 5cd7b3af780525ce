//! Servers that are not to run as root: PostgreSQL does not start so, and Zonda has no API then. Where root measures they are
//! nobody's, and so are the folders that they write.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use crate::{Error, error};

/// A user, and a group, without rights.
pub const NOBODY: u32 = 65_534;
/// What others need of a folder to get to what is below it.
const SEARCHED_BY_OTHERS: u32 = 0o001;

/// Whether servers are started as root, so that they have to become somebody else.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Makes a folder where it is not there, and has it be nobody's where root asks.
pub fn hand_over(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(error::file(folder, "create"))?;
    if is_root() {
        chown(folder, Some(NOBODY), Some(NOBODY)).map_err(error::file(folder, "change the owner of"))?;
    }
    Ok(())
}

/// The first folder above, or this one, that nobody gets through, where root asks.
pub fn closed(folder: &Path) -> Option<PathBuf> {
    let is_closed = |folder: &&Path| {
        fs::metadata(folder).is_ok_and(|of| of.permissions().mode() & SEARCHED_BY_OTHERS == 0)
    };
    folder.ancestors().filter(|_| is_root()).find(is_closed).map(Path::to_owned)
}

/// The command line of a program that is to be nobody's where root asks.
pub fn as_nobody(program: &Path, words: &[&str]) -> Vec<String> {
    let number = NOBODY.to_string();
    let before = ["setpriv", "--reuid", &number, "--regid", &number, "--clear-groups"];
    let before = if is_root() { &before[..] } else { &[] };
    let program = program.to_string_lossy();
    before.iter().copied().chain([&*program]).chain(words.iter().copied()).map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_through_a_closed_folder() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        hand_over(&below).unwrap();
        let open = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        open(0o700);
        assert_eq!(closed(&below), is_root().then(|| folder.path().to_owned()));
        open(0o711);
        assert_eq!(closed(&below), None);
        let words = as_nobody(Path::new("/bin/true"), &["-x"]);
        assert_eq!(words[words.len() - 2..], ["/bin/true", "-x"]);
        assert_eq!(words.len() > 2, is_root());
    }
}
