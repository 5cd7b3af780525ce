//! Starts that fail: one clear line, exit status 1.

use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use zonda_tests::message::Query;
use zonda_tests::patience::await_or;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program_command};

use crate::kit::{SOUND, await_answer, folder, text, zonda, zonda_without_rights};

#[test]
fn a_busy_port() {
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    // Two ports, each held from the beginning: what was free a moment ago may be somebody else's by now.
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    for address in [udp.local_addr(), tcp.local_addr()] {
        let address = address.expect("an address").to_string();
        zonda(&["serve", "--listen", &address, "--zone", &zone]).assert_fails(1, &[&address, "in use"]);
    }
}

#[test]
fn an_address_that_is_not_here() {
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    zonda(&["serve", "--listen", "192.0.2.77:5300", "--zone", &zone]).assert_fails(1, &["192.0.2.77:5300"]);
}

#[test]
fn a_port_that_needs_rights() {
    let start = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    if start.trim() == "0" {
        return; // Every port may be bound here by everybody: nothing to see.
    }
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let said = zonda_without_rights(&folder, &["serve", "--listen", "127.0.0.1:53", "--zone", &zone]);
    said.assert_fails(1, &["127.0.0.1:53", "ermission"]);
}

#[test]
fn a_zone_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let path = folder.path().join("example.zone");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("rights taken away");
    zonda_without_rights(&folder, &["check-zone", "example.", text(&path)])
        .assert_fails(1, &["example.zone", "ermission"]);
}

#[test]
fn without_zones_the_root_zone_is_served_to_try() {
    let address = free_address();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let mut process =
        Guarded::spawn(program_command(&["serve", "--listen", &address.to_string()]), scratch.path());
    let query = Query::new(".", rtype::SOA).octets();
    let log = || std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    let answer = await_answer(&process, address, &query, log);
    let response = Response::parse(&answer).expect("a sound answer");
    assert_eq!(response.answer.len(), 1, "{response:#?}");
    // Its signatures ended in August 2026.
    let wanted =
        ["WARN", "zone .", "ran out", "today's root zone: ", "https://www.internic.net/domain/root.zone"];
    await_or(log, || log().lines().any(|line| wanted.iter().all(|word| line.contains(word))));
    assert_eq!(log().matches(" WARN ").count(), 1, "what nobody here can mend: {}", log());
    process.stop();
}

/// A folder for a file: whoever means the root zone writes it before the sign.
#[test]
fn a_folder_for_a_zone() {
    let scratch = folder(&[]);
    zonda(&["serve", "--zone", "a=."]).assert_fails(2, &["found the folder", ".=FILE"]);
    let zone = format!("a={}", text(scratch.path()));
    zonda(&["serve", "--zone", &zone]).assert_fails(2, &["found the folder", text(scratch.path())]);
}

#[test]
fn a_zone_that_is_broken() {
    let folder = folder(&[("example.zone", b"nonsense\n")]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let address = free_address().to_string();
    zonda(&["serve", "--listen", &address, "--zone", &zone]).assert_fails(1, &["example.zone:1:"]);
}

#[test]
fn a_wrong_count_of_sockets_of_a_service_manager() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = format!("example.={}", text(&scratch.path().join("example.zone")));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "LISTEN_PID=$$ LISTEN_FDS=5 exec \"$0\" \"$@\""]).arg(zonda_tests::server::program());
    command.args(["serve", "--listen", &free_address().to_string(), "--zone", &zone]);
    let mut process = Guarded::spawn(command, scratch.path());
    // Told, never served without them or deaf.
    let status = process.wait(Duration::from_secs(30)).expect("an end by itself");
    let log = std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    assert!(status.code() == Some(1) && log.contains("descriptor 3"), "{status}: {log}");
}

/// A server with settings as given and the small zone, once it answers.
fn server(more: &str) -> (tempfile::TempDir, Guarded) {
    use std::os::unix::fs::PermissionsExt;
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).expect("an open folder");
    let address = free_address();
    let socket = scratch.path().join("control.sock");
    let settings = format!(
        "[control]\nsocket = \"{}\"\n[server]\nlisten = [\"{address}\"]\nworkers = 1\n{more}\n\
         [[zone]]\nname = \"example.\"\nfile = \"example.zone\"\n",
        socket.display()
    );
    let path = scratch.path().join("zonda.toml");
    std::fs::write(&path, settings).expect("the settings");
    let process = Guarded::spawn(program_command(&["serve", "--config", text(&path)]), scratch.path());
    let query = Query::new("example.", rtype::SOA).octets();
    await_answer(&process, address, &query, || {
        std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default()
    });
    (scratch, process)
}

#[test]
fn the_control_socket_is_of_the_servers_user() {
    use std::os::unix::fs::MetadataExt;
    if std::fs::metadata("/proc/self").expect("a process").uid() != 0 {
        assert!(std::env::var_os("CI").is_none(), "only root may become another user");
        return;
    }
    let (scratch, _process) = server("user = \"65534\"\ngroup = \"65534\"");
    let socket = std::fs::metadata(scratch.path().join("control.sock")).expect("the socket");
    assert_eq!((socket.uid(), socket.mode() & 0o777), (65534, 0o600));
}

#[test]
fn the_control_socket_of_another_stays() {
    let (scratch, mut process) = server("");
    let path = scratch.path().join("control.sock");
    std::fs::remove_file(&path).expect("the socket goes");
    let _other = std::os::unix::net::UnixListener::bind(&path).expect("another socket");
    zonda_tests::server::signal(process.pid(), "TERM");
    assert_eq!(process.wait(Duration::from_secs(10)).expect("an end").code(), Some(0));
    assert!(path.exists(), "it was not ours");
}
