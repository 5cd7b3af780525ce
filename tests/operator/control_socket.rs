//! The control socket: whose it is from its first moment on, and who can hold up others there.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zonda_tests::patience::await_that;
use zonda_tests::server::{Guarded, Kind, Server, ctl, free_address, program_command};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, folder, text};

/// Clients that the server serves at a time.
const CLIENTS_MAX: usize = 16;

#[test]
fn clients_that_say_nothing_make_room() {
    let folder = folder(&[("example.", SOUND.as_bytes())]);
    let server = Server::start(Kind::Zonda, &[ZoneFile::new("example.", folder.path().join("example."))]);
    await_that("the control socket", || server.path("control.sock").exists());
    let connect = |_| {
        let mut stream = UnixStream::connect(server.path("control.sock")).expect("a connection");
        stream.write_all(b"{").expect("an octet");
        stream
    };
    let _slow: Vec<UnixStream> = (0..CLIENTS_MAX).map(connect).collect();
    let started = Instant::now();
    let output = ctl(&server, &["status"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

/// What somebody sees who looks at the socket's name all the time while a server starts: owner, group and mode of sockets there.
fn seen(socket: &std::path::Path, stop: &AtomicBool) -> BTreeSet<(u32, u32, u32)> {
    let mut seen = BTreeSet::new();
    loop {
        // Looked at before: once more after the end.
        let is_last = stop.load(Ordering::Relaxed);
        if let Ok(metadata) = std::fs::symlink_metadata(socket) {
            assert!(metadata.file_type().is_socket());
            seen.insert((metadata.uid(), metadata.gid(), metadata.mode() & 0o777));
        }
        if is_last {
            return seen;
        }
    }
}

#[test]
fn the_socket_is_never_seen_with_another_owner_or_mode() {
    let is_root = std::fs::metadata("/proc/self").expect("a process").uid() == 0;
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    std::fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).expect("an open folder");
    let group = match is_root {
        true => "daemon".to_owned(),
        false => {
            let output = std::process::Command::new("id").arg("-gn").output().expect("the program id");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
    };
    let user = if is_root { "user = \"65534\"\ngroup = \"65534\"\n" } else { "" };
    let socket = scratch.path().join("control.sock");
    let settings = format!(
        "[control]\nsocket = \"{}\"\ngroup = \"{group}\"\n[server]\nlisten = [\"{}\"]\nworkers = 1\n{user}\
         [[zone]]\nname = \"example.\"\nfile = \"example.zone\"\n",
        socket.display(),
        free_address()
    );
    let path = scratch.path().join("zonda.toml");
    std::fs::write(&path, settings).expect("the settings");
    let stop = Arc::new(AtomicBool::new(false));
    let watch = {
        let (socket, stop) = (socket.clone(), Arc::clone(&stop));
        std::thread::spawn(move || seen(&socket, &stop))
    };
    let process = Guarded::spawn(program_command(&["serve", "--config", text(&path)]), scratch.path());
    await_that("the control socket", || {
        assert!(process.is_running(), "it ends at the start");
        UnixStream::connect(&socket).is_ok()
    });
    // Made elsewhere, and whole when it came here: the system remembers the name that it was bound under.
    let bound = std::fs::read_to_string("/proc/net/unix").expect("the sockets of this machine");
    let bound: Vec<&str> = bound.lines().filter(|line| line.contains(text(scratch.path()))).collect();
    assert!(bound.iter().any(|line| line.contains("/.control.sock.")), "{bound:?}");
    stop.store(true, Ordering::Relaxed);
    let seen = watch.join().expect("a watcher");
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen.iter().all(|(owner, _, mode)| *mode == 0o660 && (!is_root || *owner == 65534)), "{seen:?}");
    let names = std::fs::read_dir(scratch.path()).expect("the folder").flatten();
    let left: Vec<_> =
        names.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_no_socket_is_not_replaced() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes()), ("control.sock", b"a file")]);
    std::os::unix::fs::symlink("nowhere", scratch.path().join("link")).expect("a link");
    for name in ["control.sock", "link"] {
        let settings = format!(
            "[control]\nsocket = \"{name}\"\n[server]\nlisten = [\"{}\"]\nworkers = 1\n\
             [[zone]]\nname = \"example.\"\nfile = \"example.zone\"\n",
            free_address()
        );
        let path = scratch.path().join("zonda.toml");
        std::fs::write(&path, settings).expect("the settings");
        crate::kit::zonda(&["serve", "--config", text(&path)]).assert_fails(1, &[name, "cannot listen"]);
    }
    assert_eq!(std::fs::read(scratch.path().join("control.sock")).expect("the file"), b"a file");
    assert!(scratch.path().join("link").is_symlink());
}
