//! What a new operator meets first: small things that are said wrongly, or not said.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::server::{Server, one_zone, run};

/// Whether this user may become another. Where `CI` is set that right must be there: nothing is left out silently.
fn is_root() -> bool {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    assert!(is_root || std::env::var_os("CI").is_none(), "only root may become another user");
    is_root
}

/// The problems of settings, without the path of their file.
fn problems(folder: &Path, settings: &str) -> Vec<String> {
    let file = folder.join("zonda.toml");
    std::fs::write(&file, settings).unwrap();
    let (_, _, errors) = run(&["check-config", file.to_str().unwrap()]);
    let before = format!("zonda: {}: ", file.display());
    errors.lines().map(|line| line.strip_prefix(&before).unwrap_or(line).to_owned()).collect()
}

#[test]
fn the_first_second() {
    let (folder, settings) = one_zone();
    let server = Server::start(folder, settings);
    let (_, status, _) = server.ctl(&["status"]);
    let uptime = status.lines().find(|line| line.starts_with("uptime")).unwrap();
    // On a busy machine more than one may have gone by.
    let is_well_said = uptime.ends_with("less than 1 s") || !uptime.contains(['.', 'm']);
    assert!(is_well_said, "{uptime}");
}

#[test]
fn no_heading_without_a_server() {
    let (status, output, errors) = run(&["ctl", "--socket", "/nonexistent/control", "zones"]);
    assert_eq!((status, output.as_str()), (Some(1), ""));
    assert!(errors.contains("is the server running?"), "{errors}");
}

#[test]
fn sigusr1_writes_the_status_to_the_log() {
    let (folder, settings) = one_zone();
    let mut server = Server::start(folder, settings);
    server.soa("a.example");
    server.signal("USR1");
    server.wait_for("status: up ");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("status: up ")).unwrap();
    assert!(line.contains(", 1 zone loaded, 4 records, memory ") && line.contains("queries "), "{line}");
    server.soa("a.example");
    server.stop();
}

#[test]
fn the_control_socket_goes_with_a_server_of_another_user() {
    if !is_root() {
        return;
    }
    let (folder, settings) = one_zone();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let text = format!(
        "[control]\nsocket = \"run/zonda/control\"\n[server]\nlisten = [\"127.0.0.1:0\"]\nuser = \"nobody\"\n{settings}"
    );
    std::fs::write(folder.path().join("zonda.toml"), text).unwrap();
    let config = folder.path().join("zonda.toml");
    let mut server = Server::spawn(folder, &["--config", config.to_str().unwrap()]);
    server.wait_for("serving 1 zone");
    server.wait_until(|| server.path("run/zonda/control").exists());
    let owner = |path: &str| std::fs::metadata(server.path(path)).unwrap().uid();
    // The folder that was made for it is the server's, what is above that is not.
    assert_eq!((owner("run"), owner("run/zonda"), owner("run/zonda/control")), (0, 65534, 65534));
    let socket = server.path("run/zonda/control");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!socket.exists(), "{}", server.log());
}

#[test]
fn all_wrong_addresses_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let found =
        problems(folder.path(), "[server]\nlisten = [\"localhost\", \"127.0.0.1:53\", 53, \"::1:x\"]\n");
    let places: Vec<_> = found.iter().map(|line| line.split(" listen").next().unwrap()).collect();
    assert_eq!(places.len(), 3, "{found:?}");
    assert!(found[1].ends_with("found 53") && found[2].ends_with("found \"::1:x\""), "{found:?}");
}

#[test]
fn processors_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let found = problems(folder.path(), "[server]\npin = [1022, 1023]\n");
    assert!(found.len() == 1 && found[0].ends_with("found 1022, 1023"), "{found:?}");
    assert!(found[0].starts_with("[server] pin: expected processors that may be used here ("), "{found:?}");
    let found = problems(folder.path(), "[server]\npin = [0, \"x\", -1]\n");
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn folders_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let found = problems(
        folder.path(),
        "[server]\npack-directory = \"file/packs\"\n[control]\nsocket = \"file/no/control\"\n",
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("[server] pack-directory: cannot make "), "{found:?}");
    assert!(found[0].ends_with("file: not a directory"), "{found:?}");
    assert!(
        found[1].starts_with("[control] socket: cannot make ") && found[1].contains("/file/no in "),
        "{found:?}"
    );
    if !is_root() {
        return;
    }
    // As the user that the server will be.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let settings =
        "[server]\nuser = \"nobody\"\npack-directory = \"packs\"\n[control]\nsocket = \"run/control\"\n";
    let found = problems(folder.path(), settings);
    assert!(found.len() == 1 && found[0].contains(": user nobody cannot make "), "{found:?}");
    assert!(found[0].ends_with(": permission denied"), "{found:?}");
    std::fs::create_dir(folder.path().join("packs")).unwrap();
    std::os::unix::fs::chown(folder.path().join("packs"), Some(65534), None).unwrap();
    assert_eq!(problems(folder.path(), settings), Vec::<String>::new());
}
