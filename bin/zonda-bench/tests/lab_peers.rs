//! Programs of other servers that are not the system's: unpacked from packages that a made-up apt fetches, and measured out of a
//! folder.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

const BENCH: &str = env!("CARGO_BIN_EXE_zonda-bench");

/// A mirror with all packages, of which each has its programs; it is down while there is a file `down`.
const APT: &str = r#"#!/bin/sh
echo "$@" >> "$FAKE/asked"
[ "$1" = indextargets ] && exec echo 'http://mirror.example/debian/ bookworm main'
[ -e "$FAKE/down" ] && { echo 'E: Could not resolve mirror.example' >&2; exit 100; }
apt=$(dirname "$2")
case " $* " in
*' update '*) echo 'Date: Fri, 30 Oct 2026 08:08:01 UTC' > "$apt/lists/mirror.example_InRelease" ;;
*' --download-only '*)
    while [ "$1" != --download-only ]; do shift; done
    shift
    for name in libc6 "$@"; do echo "$name" > "$apt/archives/$name.deb"; done ;;
esac
"#;
/// Unpacks such a package; `libc6` has the loader, which runs nothing, and tells what it was asked to run.
const DPKG: &str = r#"#!/bin/sh
name=$(cat "$2")
[ "$1" = --show ] && exec printf '%s\t1.2-3\n' "$name"
[ -e "$FAKE/broken" ] && { echo 'no space left' >&2; exit 2; }
mkdir -p "$3/usr/sbin" "$3/usr/lib64" "$3/usr/lib/fake-linux-gnu"
[ "$name" = libc6 ] && printf '#!/bin/sh\necho "loaded $*"\n' > "$3/usr/lib64/ld-linux-fake.so.2" && chmod 755 "$3/usr/lib64/ld-linux-fake.so.2"
for program in PROGRAMS; do : > "$3/usr/sbin/$program"; done
"#;

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// `lab` with these words in a folder, where `fake` is first on the path.
fn lab(folder: &Path, words: &[&str]) -> Output {
    let fake = folder.join("fake");
    let path = format!("{}:{}", fake.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(BENCH);
    command.arg("lab").args(words).current_dir(folder).env("PATH", path).env("FAKE", fake).output().unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
fn packages_are_unpacked_once_and_again_where_it_was_broken_off() {
    let place = tempfile::tempdir().unwrap();
    let (folder, fake) = (place.path(), place.path().join("fake"));
    let programs: Vec<&str> =
        lab::peers::PACKAGES.iter().flat_map(|(_, programs)| *programs).copied().collect();
    script(&fake.join("apt-get"), APT);
    script(&fake.join("dpkg"), "#!/bin/sh\necho fake\n");
    script(&fake.join("dpkg-deb"), &DPKG.replace("PROGRAMS", &programs.join(" ")));
    let peers = folder.join("lab-results/data/peers-unstable");
    let words = ["peers", "unstable", "--mirror", "http://mirror.example/debian"];

    fs::write(fake.join("down"), "").unwrap();
    let failed = lab(folder, &words);
    let said = text(&failed.stderr);
    assert!(!failed.status.success() && said.contains("Could not resolve mirror.example"), "{said}");
    fs::remove_file(fake.join("down")).unwrap();
    fs::write(fake.join("broken"), "").unwrap();
    let failed = lab(folder, &words);
    let said = text(&failed.stderr);
    assert!(said.contains("no space left") && said.contains("goes on from there"), "{said}");
    assert!(!peers.join("peers.json").exists() && peers.join("apt/archives/nsd.deb").exists());
    fs::remove_file(fake.join("broken")).unwrap();

    let made = lab(folder, &words);
    let (said, shown) = (text(&made.stderr), text(&made.stdout));
    assert!(made.status.success(), "{said}");
    assert!(shown.contains("Debian unstable of 2026-10-30") && shown.contains("1.2-3"), "{shown}");
    assert!(!peers.join("apt").exists() && peers.join("root/usr/sbin/nsd").exists());
    let said = text(&Command::new(peers.join("bin/nsd")).arg("-v").output().unwrap().stdout);
    let nsd = fs::canonicalize(&peers).unwrap().join("root/sbin/nsd");
    assert!(
        said.starts_with("loaded --inhibit-cache --library-path ")
            && said.ends_with(&format!("{} -v\n", nsd.display()))
    );

    let asked = fs::read_to_string(fake.join("asked")).unwrap();
    assert!(lab(folder, &words).status.success());
    assert_eq!(fs::read_to_string(fake.join("asked")).unwrap(), asked, "what is there is not fetched");
    assert!(lab(folder, &[&words[..], &["--again"]].concat()).status.success());
    assert_ne!(fs::read_to_string(fake.join("asked")).unwrap(), asked);
}

/// The server, where it was built (`make unit` does so first, and says where).
fn zonda() -> Option<PathBuf> {
    let beside = Path::new(BENCH).with_file_name("zonda");
    let named = std::env::var_os("ZONDA").map(PathBuf::from);
    let found = named.into_iter().chain([beside]).find(|path| path.is_file());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "zonda is not built");
    found
}

#[test]
fn programs_of_a_folder_are_measured_and_told() {
    let Some(zonda) = zonda() else { return };
    let place = tempfile::tempdir().unwrap();
    let nsd = "#!/bin/sh\n[ \"$1\" = -v ] && exec printf 'NSD version 99\\nConfigure line: --with-cheese\\n'\nexit 3\n";
    script(&place.path().join("servers/sbin/nsd"), nsd);
    let words = ["start", "--check", "--bed", "loopback", "--out", "out", "--contenders", "zonda,nsd"];
    let more = ["--zonda", zonda.to_str().unwrap(), "--peers", "servers"];
    let output = lab(place.path(), &[&words[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record: Value =
        serde_json::from_slice(&fs::read(place.path().join("out/record.json")).unwrap()).unwrap();
    let nsd = record["contenders"].as_array().unwrap().iter().find(|of| of["name"] == "nsd").unwrap();
    assert_eq!(
        (&nsd["version"], &nsd["options"]),
        (&"NSD version 99".into(), &"Configure line: --with-cheese".into())
    );
    let notes = record["notes"].to_string();
    assert!(
        notes.contains("nsd was built without recvmmsg")
            && notes.contains("nsd ended by itself with status 3"),
        "{notes}"
    );
    assert_eq!(record["machine"]["peers"], "those of servers");
    for program in ["zonda", "zonda-bench"] {
        assert_eq!(record["machine"]["programs"][program]["sha256"].as_str().unwrap().len(), 64);
    }
    let page = fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(
        page.contains("How it was built") && page.contains("--with-cheese") && page.contains("Built from")
    );

    let output = lab(place.path(), &[&words[..], &["--peers", "nowhere"]].concat());
    assert!(text(&output.stderr).contains("cannot open nowhere: No such file"), "{}", text(&output.stderr));
}
