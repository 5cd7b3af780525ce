//! Starts that fail: one clear line, exit status 1.

use std::net::{TcpListener, UdpSocket};

use crate::kit::{SOUND, folder, text, zonda};
use zonda_tests::server::free_address;

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
    // As a user without rights, where there is a way to become one.
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let start = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    if is_root || start.trim() == "0" {
        return; // Every port may be bound here: nothing to see.
    }
    zonda(&["serve", "--listen", "127.0.0.1:53", "--zone", &zone])
        .assert_fails(1, &["127.0.0.1:53", "ermission"]);
}

#[test]
fn a_zone_that_is_broken() {
    let folder = folder(&[("example.zone", b"nonsense\n")]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let address = free_address().to_string();
    zonda(&["serve", "--listen", &address, "--zone", &zone]).assert_fails(1, &["example.zone:1:"]);
}
