//! A folder with programs of peers: packages unpacked by this program, or whatever else somebody put there.
//!
//! ```text
//! FOLDER/peers.json   what was unpacked, from where; written last, so that a folder without it is half done
//! FOLDER/bin/         for each program a script that runs it, for a path
//! FOLDER/root/        the packages' files, as they lie in a system
//! FOLDER/apt/         lists and packages while they are fetched
//! ```
//!
//! Programs of `root` run through its own loader with its own libraries, whatever the system has. One that looks for its parts at
//! absolute paths runs in a mount namespace where `root` is the root, beside `/dev`, `/proc` and whatever its working folder is in.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::{Error, error, peers::Stamp};

/// Below a folder, where the packages' files are.
pub const TREE: &str = "root";
/// Where the scripts are that run them.
pub const SCRIPTS: &str = "bin";
/// Folders of programs below another one, in which they are looked for.
const PROGRAM_FOLDERS: [&str; 5] = ["bin", "sbin", "usr/sbin", "usr/bin", ""];
/// Programs that look for their parts at absolute paths: Knot Resolver's modules in Lua.
const ROOTED: [&str; 1] = ["kresd"];
/// Runs a program as if the tree were the system: `sh -c RUN_ROOTED sh TREE PROGRAM ARGUMENTS`. Without root's rights in a user
/// namespace. The first folder of the working one is what settings and all that the program writes are in.
const RUN_ROOTED: &str = r#"user=; [ "$(id -u)" = 0 ] || user=--map-root-user
exec unshare --mount $user sh -c 'tree=$1 program=$2; shift 2
top=${PWD#/}; top=/${top%%/*}
case $top in /usr | /etc | /dev | /proc | /lib* | /bin | /sbin) echo "$program cannot run in a folder below $top" >&2; exit 1 ;; esac
mkdir -p "$tree$top" && for folder in /dev /proc "$top"; do mount --rbind "$folder" "$tree$folder" || exit 1; done
exec chroot "$tree" "$program" "$@"' sh "$@""#;

/// A folder with programs.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The words before a program of `root`, where there is one.
    loader: Option<Vec<OsString>>,
    /// What was unpacked, where this program did.
    pub stamp: Option<Stamp>,
}

impl Folder {
    /// A folder that is there.
    pub fn open(path: &Path) -> Result<Folder, Error> {
        let path = fs::canonicalize(path).map_err(error::file(path, "open"))?;
        let stamp = Stamp::read(&path)?;
        let loader = loader(&path.join(TREE)).ok();
        Ok(Folder { path, loader, stamp })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is run by that name: a file.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        found(&self.path, program)
    }

    /// The words that run a program, up to its arguments; `None` where it has none of that name.
    pub fn words(&self, program: &str) -> Option<Vec<OsString>> {
        let file = self.find(program)?;
        let (Some(loader), Some(own)) = (&self.loader, found(&self.path.join(TREE), program)) else {
            return Some(vec![file.into()]);
        };
        if !ROOTED.contains(&program) {
            return Some([loader.clone(), vec![own.into()]].concat());
        }
        let tree = self.path.join(TREE);
        let within = Path::new("/").join(own.strip_prefix(&tree).unwrap_or(&own));
        let words: [&OsStr; 6] = [
            "sh".as_ref(),
            "-c".as_ref(),
            RUN_ROOTED.as_ref(),
            "sh".as_ref(),
            tree.as_ref(),
            within.as_ref(),
        ];
        Some(words.map(OsStr::to_owned).to_vec())
    }

    /// The folder of PowerDNS's modules, which it looks for at an absolute path otherwise.
    pub fn powerdns_modules(&self) -> Option<PathBuf> {
        let libraries = libraries(&self.path.join(TREE)).ok()?;
        Some(libraries.join("pdns")).filter(|path| path.is_dir())
    }

    /// A file of the packages, by its path in a system.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        Some(self.path.join(TREE).join(path.trim_start_matches('/'))).filter(|path| path.is_file())
    }

    /// The path of programs that are started, with these first.
    pub fn search_path(&self) -> OsString {
        let before =
            PROGRAM_FOLDERS.map(|folder| self.path.join(folder)).into_iter().filter(|path| path.is_dir());
        let path = env::var_os("PATH").unwrap_or_default();
        // A folder with a colon in its name cannot be on a path at all.
        env::join_paths(before.chain(env::split_paths(&path))).unwrap_or(path)
    }

    /// Writes the scripts that run `programs`; those that the tree lacks are named.
    pub fn write_scripts(path: &Path, programs: impl Iterator<Item = &'static str>) -> Result<(), Error> {
        let tree = path.join(TREE);
        let loader = Some(loader(&tree)?);
        let scripts = path.join(SCRIPTS);
        fs::create_dir_all(&scripts).map_err(error::file(&scripts, "create"))?;
        let folder = Folder { path: path.to_owned(), loader, stamp: None };
        for program in programs {
            let script = scripts.join(program);
            // It is found by its script, which is to be there for that.
            fs::write(&script, "").map_err(error::file(&script, "write"))?;
            let missing = || missing(&tree, program);
            found(&tree, program).ok_or_else(missing)?;
            let words = folder.words(program).ok_or_else(missing)?;
            let words: Vec<String> = words.iter().map(|word| quoted(&word.to_string_lossy())).collect();
            let text = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
            fs::write(&script, text).map_err(error::file(&script, "write"))?;
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&script, executable).map_err(error::file(&script, "write"))?;
        }
        Ok(())
    }
}

/// A program in the folders for programs of a folder.
fn found(folder: &Path, program: &str) -> Option<PathBuf> {
    PROGRAM_FOLDERS.map(|below| folder.join(below).join(program)).into_iter().find(|path| path.is_file())
}

/// The words that run a program of a tree through its loader. Of the system's cache of libraries nothing is taken.
fn loader(tree: &Path) -> Result<Vec<OsString>, Error> {
    let own = libraries(tree)?;
    let folders = [tree.join("usr/lib64"), tree.join("usr/lib"), own.clone()];
    let is_loader = |name: &str| name.starts_with("ld-linux") && name.contains(".so.");
    let loader = folders.iter().find_map(|folder| entry(folder, is_loader));
    let mut path = own.into_os_string();
    path.push(":");
    path.push(tree.join("usr/lib"));
    let words =
        [loader.ok_or_else(|| missing(tree, "ld-linux*.so.*"))?.into_os_string(), "--inhibit-cache".into()];
    Ok([words.to_vec(), vec!["--library-path".into(), path]].concat())
}

/// The folder of a tree's libraries: that of its architecture.
fn libraries(tree: &Path) -> Result<PathBuf, Error> {
    entry(&tree.join("usr/lib"), |name| name.contains("-linux-gnu"))
        .ok_or_else(|| missing(tree, "*-linux-gnu*"))
}

/// An entry of a folder by its name.
fn entry(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    entries.find(|entry| entry.file_name().to_str().is_some_and(&is_meant)).map(|entry| entry.path())
}

fn missing(tree: &Path, what: &str) -> Error {
    error::file(&tree.join("usr/…").join(what), "find")(io::ErrorKind::NotFound.into())
}

/// A word as a shell takes it, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A folder as it is unpacked: a loader that tells its arguments, and programs.
    fn unpacked(folder: &Path) {
        for (path, text) in [
            ("root/usr/lib64/ld-linux-x86-64.so.2", "#!/bin/sh\nfor word; do echo \"<$word>\"; done\n"),
            ("root/usr/lib/x86_64-linux-gnu/pdns/libbindbackend.so", ""),
            ("root/usr/sbin/nsd", ""),
            ("root/usr/sbin/kresd", ""),
        ] {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn programs_run_through_their_own_loader() {
        let place = tempfile::tempdir().unwrap();
        // A name that a shell would take apart.
        let folder = place.path().join("the peers' $HOME");
        unpacked(&folder);
        Folder::write_scripts(&folder, ["nsd", "kresd"].into_iter()).unwrap();
        let peers = Folder::open(&folder).unwrap();
        let (tree, own) = (peers.path().join("root"), peers.path().join("root/usr/lib"));
        let libraries = format!("{}/x86_64-linux-gnu:{}", own.display(), own.display());
        let nsd = tree.join("usr/sbin/nsd").display().to_string();
        let expected = ["--inhibit-cache", "--library-path", &libraries, &nsd];
        let words = peers.words("nsd").unwrap();
        assert_eq!(words[1..], expected.map(OsString::from));
        assert!(words[0].to_str().unwrap().ends_with("root/usr/lib64/ld-linux-x86-64.so.2"));
        let said = Command::new(peers.find("nsd").unwrap()).args(["-c", "two words"]).output().unwrap();
        let lines: String =
            expected.iter().chain(&["-c", "two words"]).map(|word| format!("<{word}>\n")).collect();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), lines);
        let kresd = peers.words("kresd").unwrap();
        assert_eq!(kresd[4..], [tree.into_os_string(), "/usr/sbin/kresd".into()]);
        assert_eq!((peers.words("named"), peers.find("named")), (None, None));
        assert!(peers.powerdns_modules().unwrap().ends_with("x86_64-linux-gnu/pdns"));
        let error = Folder::write_scripts(&folder, ["named"].into_iter()).unwrap_err().to_string();
        assert!(error.starts_with("cannot find ") && error.contains("root/usr/…/named"), "{error}");
    }

    #[test]
    fn other_folders_have_programs_that_run_by_themselves() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("sbin/nsd");
        fs::create_dir(place.path().join("sbin")).unwrap();
        fs::write(&program, "").unwrap();
        let peers = Folder::open(place.path()).unwrap();
        let program = fs::canonicalize(program).unwrap();
        assert_eq!(peers.words("nsd").unwrap(), [program.clone().into_os_string()]);
        assert_eq!((peers.find("nsd"), peers.stamp.is_none()), (Some(program.clone()), true));
        let path = peers.search_path();
        assert_eq!(env::split_paths(&path).next().as_deref(), program.parent());
        assert!(Folder::open(&place.path().join("nowhere")).is_err());
    }
}
