//! Starts that fail: one clear line, exit status 1.

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program_command};

use crate::kit::{SOUND, folder, text, zonda, zonda_without_rights};

#[test]
fn a_busy_port() {
    let address = free_address();
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let udp = UdpSocket::bind(address).expect("the port");
    let arguments = ["serve", "--listen", &address.to_string(), "--zone", &zone];
    zonda(&arguments).assert_fails(1, &[&address.to_string(), "in use"]);
    drop(udp);
    let _tcp = TcpListener::bind(address).expect("the port");
    zonda(&arguments).assert_fails(1, &[&address.to_string(), "in use"]);
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
    let until = Instant::now() + Duration::from_secs(20);
    let answer = loop {
        assert!(process.is_running() && Instant::now() < until, "no answer");
        match udp_within(address, &query, Duration::from_millis(200)) {
            Ok(Some(answer)) if answer[3] & 0xf == 0 => break answer,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let response = Response::parse(&answer).expect("a sound answer");
    assert_eq!(response.answer.len(), 1, "{response:#?}");
    process.stop();
}

#[test]
fn a_zone_that_is_broken() {
    let folder = folder(&[("example.zone", b"nonsense\n")]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let address = free_address().to_string();
    zonda(&["serve", "--listen", &address, "--zone", &zone]).assert_fails(1, &["example.zone:1:"]);
}
