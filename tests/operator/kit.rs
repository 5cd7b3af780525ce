//! Runs the program with arguments and looks at what it says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::udp_within;
use zonda_tests::patience::await_some;
use zonda_tests::server::{Guarded, program};

/// How long a command may take, in seconds: all of these end at once, or hang for ever.
const COMMAND_SECONDS: &str = "30";

/// Exit status of `timeout` when it had to end the command.
const TIMED_OUT: i32 = 124;

/// What a command said.
#[derive(Debug)]
pub struct Said {
    /// Exit status.
    pub status: i32,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

/// Runs `zonda` with these arguments.
pub fn zonda<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Said {
    run(Command::new("timeout").arg(COMMAND_SECONDS).arg(program()).args(arguments))
}

/// Runs `zonda` with at most this much address space.
pub fn zonda_within(kibioctets: u64, arguments: &[&str]) -> Said {
    let script = format!("ulimit -v {kibioctets}; exec timeout {COMMAND_SECONDS} \"$@\"");
    run(Command::new("sh").args(["-c", &script, "sh"]).arg(program()).args(arguments))
}

/// Runs `zonda` as a user without rights, from a copy in `folder` that this user may reach.
pub fn zonda_without_rights(folder: &tempfile::TempDir, arguments: &[&str]) -> Said {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let me = std::fs::metadata("/proc/self").expect("a process");
    let mut command = Command::new("timeout");
    command.arg(COMMAND_SECONDS);
    if me.uid() == 0 {
        let copy = folder.path().join("zonda");
        // By another process: what another test starts meanwhile would inherit a descriptor that writes, and then a program cannot be started.
        assert!(Command::new("cp").arg(program()).arg(&copy).status().expect("cp starts").success());
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
            .expect("an open folder");
        command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    } else {
        command.arg(program());
    }
    run(command.args(arguments))
}

fn run(command: &mut Command) -> Said {
    let output = command.output().expect("the program starts");
    let said = Said {
        status: output.status.code().unwrap_or(-1),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert_ne!(said.status, TIMED_OUT, "{command:?} does not end: {said:?}");
    assert!(!said.errors.contains("panicked"), "{command:?} panics: {said:?}");
    said
}

impl Said {
    /// The command failed with this status, and said so in lines that each hold something, one of them all of `words`.
    pub fn assert_fails(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, status, "{self:#?}");
        let told = |line: &str| words.iter().all(|word| line.contains(word));
        let text = format!("{}{}", self.errors, self.output);
        assert!(text.lines().any(told), "no line with {words:?} in {self:#?}");
    }

    /// The command did what it was asked to.
    pub fn assert_fine(&self) -> &Said {
        assert_eq!(self.status, 0, "{self:#?}");
        self
    }
}

/// Waits until a server has this query answered with NOERROR, and returns the answer. `log`: what it says.
#[track_caller]
pub fn await_answer(
    process: &Guarded,
    address: SocketAddr,
    query: &[u8],
    log: impl Fn() -> String,
) -> Vec<u8> {
    await_some(
        || format!("no answer: {}", log()),
        || {
            assert!(process.is_running(), "{}", log());
            let answer = udp_within(address, query, Duration::from_millis(200)).ok().flatten();
            answer.filter(|answer| answer[3] & 0xf == 0)
        },
    )
}

/// A scratch folder with a few files.
pub fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for (name, octets) in files {
        std::fs::write(folder.path().join(name), octets).expect("a file");
    }
    folder
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A small sound zone.
pub const SOUND: &str = "$TTL 60\n@ SOA ns host 1 3 2 5 5\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n";

/// A pack of the small sound zone `example.`, and its folder.
pub fn sound_pack() -> (tempfile::TempDir, PathBuf) {
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let (zone, pack) = (folder.path().join("example.zone"), folder.path().join("example.pack"));
    zonda(&["compile", "-o", text(&pack), &format!("example.={}", text(&zone))]).assert_fine();
    (folder, pack)
}

/// Octets of base64 (RFC 4648 4 and 5), with padding or without.
pub fn base64(text: &str) -> Vec<u8> {
    let (mut octets, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
        }
    }
    octets
}
