//! Who reads a large zone slowly: it is told as a whole, of one version, and others are held up by nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Bed, SERVER, await_child, proc_file, replace};

/// Names of the zone: what is told of it is larger than all that lies in sockets.
const NAMES: usize = 150_000;

/// How much is read at a time, and the pause behind that.
const READ_OCTETS: usize = 128 << 10;
const PAUSE: Duration = Duration::from_millis(20);

/// What an answer of others may take meanwhile.
const OTHERS_WAIT: Duration = Duration::from_secs(5);

fn memory(pid: u32) -> u64 {
    let status = proc_file(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The body of a reply that came in chunks, to its end.
fn of_chunks(reply: &[u8]) -> Vec<u8> {
    let end = |octets: &[u8], mark: &[u8]| {
        octets.windows(mark.len()).position(|window| window == mark).expect("a mark") + mark.len()
    };
    assert!(reply.starts_with(b"HTTP/1.1 200"));
    let (mut rest, mut body) = (&reply[end(reply, b"\r\n\r\n")..], Vec::new());
    loop {
        let at = end(rest, b"\r\n");
        let length = std::str::from_utf8(&rest[..at - 2]).expect("a length");
        let length = usize::from_str_radix(length, 16).expect("a length");
        body.extend_from_slice(&rest[at..at + length]);
        rest = &rest[at + length + 2..];
        if length == 0 {
            assert!(rest.is_empty());
            return body;
        }
    }
}

#[test]
fn a_large_zone_is_read_slowly() {
    let bed = Bed::new();
    let mut text = String::from(
        "a.test. 60 IN SOA ns host 1 3 2 5 5\na.test. 60 IN NS ns.a.test.\nns.a.test. 60 IN A 192.0.2.53\n",
    );
    for number in 0..NAMES {
        text += &format!("host{number}.a.test. 60 IN A 192.0.2.1\n");
    }
    std::fs::write(bed.files.path().join("texts/a.test."), text).expect("a text");
    let fixture = bed.start();
    let child = await_child(&fixture);
    // What is read once has been in memory once.
    assert_eq!(fixture.get("/zones/b.test.", &bed.acme).status, 200);
    let before = memory(child);
    let mut stream = TcpStream::connect(fixture.at).expect("a connection");
    stream.set_read_timeout(Some(OTHERS_WAIT)).expect("a timeout");
    let head = format!(
        "GET {SERVER}/zones/a.test. HTTP/1.1\r\nHost: {}\r\nX-API-Key: {}\r\nConnection: close\r\n\r\n",
        fixture.at, bed.acme
    );
    stream.write_all(head.as_bytes()).expect("a request");
    let (mut told, mut buffer, mut reads, mut most) = (Vec::new(), vec![0; READ_OCTETS], 0, 0);
    loop {
        let count = stream.read(&mut buffer).expect("an answer that goes on");
        if count == 0 {
            break;
        }
        told.extend_from_slice(&buffer[..count]);
        reads += 1;
        if reads == 4 {
            // Others change the same zone and read others meanwhile.
            let began = Instant::now();
            let changed = fixture.patch("a.test.", &bed.acme, "", &[replace("host7.a.test.", "192.0.2.77")]);
            assert_eq!(changed.status, 204, "{changed:?}");
            assert_eq!(fixture.addresses("host7.a.test."), [[192, 0, 2, 77]]);
            assert_eq!(fixture.get("/zones/b.test.", &bed.acme).status, 200);
            assert!(began.elapsed() < OTHERS_WAIT, "{:?}", began.elapsed());
        }
        most = most.max(memory(child));
        std::thread::sleep(PAUSE);
    }
    let zone: serde_json::Value = serde_json::from_slice(&of_chunks(&told)).expect("a zone");
    let sets = zone["rrsets"].as_array().expect("RRsets");
    assert_eq!(sets.len(), NAMES + 3);
    let is_newer = |set: &serde_json::Value| set["records"][0]["content"] == "192.0.2.77";
    assert!(!sets.iter().any(is_newer), "of one version");
    // Pieces of one answer, whatever its length.
    assert!(most < before + (8 << 10), "{most} KiB, {before} before");
    let after = fixture.get("/zones/a.test.?rrset_name=host7.a.test.", &bed.acme);
    assert!(after.text.contains("192.0.2.77"), "{after:?}");
}
