//! Many at once, each of whom wants as much of the process's memory as there is: by bodies that become more than they are, answers that are not read, bodies that do not come.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;

use super::client::{Client, body, rrset};
use super::clients::add_client;
use super::{Bed, Fixture, SERVER, await_child, proc_file, replace};

/// Connections whose requests are looked at before the server is heard again (a turn of tokio's `LocalSet`); three of one client are left.
const CROWD: usize = 61;

/// Memory that a crowd may cost the process: half of a mebibyte each.
const GROWTH_KIBIBYTES: u64 = 32 << 10;

/// The most memory that a process has had.
fn memory_max(pid: u32) -> u64 {
    let status = proc_file(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// What is looked at again when a crowd has done what it can.
struct Watched<'f> {
    fixture: &'f Fixture<'f>,
    child: u32,
    before: u64,
    /// A key that has nothing to do with the crowd.
    other: &'f str,
}

impl<'f> Watched<'f> {
    fn new(fixture: &'f Fixture<'f>, other: &'f str) -> Watched<'f> {
        let child = await_child(fixture);
        let watched = Watched { fixture, child, before: memory_max(child), other };
        // What one request takes it has had before.
        watched.other_changes("192.0.2.1");
        Watched { before: memory_max(child), ..watched }
    }

    fn other_changes(&self, address: &str) {
        let changed = self.fixture.patch("a.test.", self.other, "", &[replace("other.a.test.", address)]);
        assert_eq!(changed.status, 204, "{changed:?}");
    }

    /// It is the same process, with little more memory.
    fn is_well(&self) {
        let log = || self.fixture.server.log();
        assert_eq!(self.fixture.child(), Some(self.child), "{}", log());
        let after = memory_max(self.child);
        assert!(after < self.before + GROWTH_KIBIBYTES, "{after} KiB, {} before", self.before);
    }
}

fn head(fixture: &Fixture<'_>, method: &str, key: &str, length: usize) -> String {
    let at = fixture.at;
    let line = format!("{method} {SERVER}/zones/a.test. HTTP/1.1");
    format!("{line}\r\nHost: {at}\r\nX-API-Key: {key}\r\nContent-Length: {length}\r\n\r\n")
}

/// A request of some kilobytes that becomes two megabytes: the highest port of a host is 8 KiB (RFC 1035 3.4.2).
fn swelling(fixture: &Fixture<'_>, key: &str) -> Vec<u8> {
    let contents: Vec<String> = (1..=255).map(|host| format!("10.0.0.{host} 6 65535")).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    let body = body(&[rrset("swell.a.test.", "WKS", "REPLACE", 60, &contents)]);
    (head(fixture, "PATCH", key, body.len()) + &body).into_bytes()
}

/// Sends a request of each key over a connection of its own, the last octets at once; their statuses.
fn at_once(watched: &Watched<'_>, keys: &[&str], address: &str) -> Vec<u16> {
    let fixture = watched.fixture;
    let mut crowd: Vec<(Client, u8)> = keys
        .iter()
        .map(|key| {
            let mut client = Client::new(fixture.at).expect("a connection");
            let request = swelling(fixture, key);
            let (last, octets) = request.split_last().expect("a request");
            client.begin(octets);
            (client, *last)
        })
        .collect();
    // The process has read all but these by then.
    std::thread::sleep(Duration::from_millis(500));
    crowd.iter_mut().for_each(|(client, last)| client.begin(&[*last]));
    watched.other_changes(address);
    crowd.iter_mut().map(|(client, _)| client.send(&[], false).map_or(0, |reply| reply.status)).collect()
}

#[test]
fn small_bodies_that_become_large() {
    let mut bed = Bed::new();
    let other = add_client(&mut bed);
    let fixture = bed.start();
    let watched = Watched::new(&fixture, &other);
    // Strangers, and one whom the server knows.
    let mut keys = vec!["wrong"; CROWD];
    keys.push(&bed.acme);
    let statuses = at_once(&watched, &keys, "192.0.2.2");
    assert_eq!(statuses[..CROWD], [401; CROWD], "{}", fixture.server.log());
    // A name has no more records than a message has room for.
    assert!(matches!(statuses[CROWD], 413 | 422), "{statuses:?}");
    watched.is_well();
    // The same of one who is known.
    let statuses = at_once(&watched, &[&*bed.acme; CROWD], "192.0.2.3");
    assert!(statuses.iter().all(|status| matches!(status, 413 | 422 | 429)), "{statuses:?}");
    assert!(statuses.contains(&429) && !statuses.iter().all(|status| *status == 429), "{statuses:?}");
    watched.is_well();
}

#[test]
fn answers_that_nobody_reads() {
    const HOSTS: usize = 24;
    // Three megabytes each, which eight hosts become, would be more than the bound.
    const READERS: usize = 12;
    let mut bed = Bed::new();
    let other = add_client(&mut bed);
    let path = bed.files.path().join("texts/a.test.");
    let mut text = std::fs::read_to_string(&path).expect("a text");
    let ports = "ff".repeat(8192);
    for host in 0..HOSTS {
        text += &format!("full{host}.a.test. 60 IN WKS \\# 8197 0a0000{host:02x}06{ports}\n");
    }
    std::fs::write(&path, text).expect("a text");
    let fixture = bed.start();
    let watched = Watched::new(&fixture, &other);
    let request = head(&fixture, "GET", &bed.acme, 0);
    let reader = |_| {
        let mut stream = TcpStream::connect(fixture.at).expect("a connection");
        // Else the system reads megabytes for who does not.
        sockopt::set_socket_recv_buffer_size(&stream, 4096).expect("a small buffer");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).expect("an answer");
        assert_eq!(begin, *b"HTTP/1.1 200");
        stream
    };
    let unread: Vec<TcpStream> = (0..READERS).map(reader).collect();
    watched.other_changes("192.0.2.2");
    watched.is_well();
    drop(unread);
    // Who reads is told all of it.
    let zone = fixture.get("/zones/a.test.", &bed.acme).json();
    let full: Vec<_> =
        zone["rrsets"].as_array().expect("RRsets").iter().filter(|set| set["type"] == "WKS").collect();
    let is_whole = |set: &serde_json::Value| {
        let content = set["records"][0]["content"].as_str().expect("a content");
        content.split(' ').count() == 2 + (1 << 16) && content.ends_with(" 65534 65535")
    };
    assert!(full.len() == HOSTS && full.into_iter().all(is_whole));
    watched.is_well();
}

/// Bodies that were announced and do not come leave room for those of others.
#[test]
fn bodies_that_do_not_come() {
    let mut bed = Bed::new();
    let other = add_client(&mut bed);
    let fixture = bed.start();
    let watched = Watched::new(&fixture, &other);
    let announced = head(&fixture, "PATCH", &bed.acme, 2 << 20);
    let mut slow: Vec<TcpStream> = Vec::new();
    let refused = loop {
        let mut stream = TcpStream::connect(fixture.at).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
        stream.write_all(announced.as_bytes()).expect("a request");
        let mut begin = [0; 12];
        if stream.read_exact(&mut begin).is_ok() {
            break String::from_utf8_lossy(&begin).into_owned();
        }
        slow.push(stream);
        assert!(slow.len() < CROWD);
    };
    // Half of what there is.
    assert_eq!((&*refused, slow.len()), ("HTTP/1.1 429", 4));
    let rrsets = body(&[replace("large.a.test.", "192.0.2.2")]);
    let large =
        format!("{{\"x\":\"{}\",{}", "y".repeat(100_000), rrsets.strip_prefix('{').expect("an object"));
    let path = format!("{SERVER}/zones/a.test.");
    let changed = fixture.ask("PATCH", &path, &other, "", &large).expect("a reply");
    assert_eq!(changed.status, 204, "{changed:?}");
    // Who has them can still change what is small.
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("x.a.test.", "192.0.2.3")]).status, 204);
    watched.is_well();
}
