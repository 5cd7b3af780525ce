//! Handshakes of strangers: halves, none, slow ones, and as many as there may be.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::{Authority, Kept, bed, status};
use crate::api::{SERVER, await_child, proc_file};

/// How long a handshake may take, and what a machine that is busy takes besides.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(5);
const BUSY: Duration = Duration::from_secs(20);

/// Handshakes that are begun: with those of others, fewer than there are places for one client.
const HALVES: usize = 50;

/// A ClientHello of TLS 1.2 (RFC 8446 4.1.2) that the server answers with all that is dear: suites of both kinds of keys, two groups, signatures of both.
fn hello() -> Vec<u8> {
    let extension = |number: u16, body: &[u8]| {
        [&number.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), body].concat()
    };
    let extensions = [
        extension(10, &[0, 4, 0, 29, 0, 23]),
        extension(11, &[1, 0]),
        extension(13, &[0, 6, 4, 3, 8, 4, 4, 1]),
        extension(23, &[]),
    ]
    .concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[0],
        &[0, 4, 0xc0, 0x2b, 0xc0, 0x2f],
        &[1, 0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    let message = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
    [&[22, 3, 1][..], &(message.len() as u16).to_be_bytes(), &message].concat()
}

fn connect(at: SocketAddr, octets: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.set_read_timeout(Some(BUSY)).expect("a limit");
    // It may be ended before all is sent.
    let _ = stream.write_all(octets);
    stream
}

/// All that comes until the connection ends.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut octets = Vec::new();
    if let Err(error) = stream.read_to_end(&mut octets) {
        assert!(!matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "it does not end");
    }
    octets
}

fn memory(pid: u32) -> u64 {
    let status = proc_file(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Each ends, with an alert or without a word, and nobody else is held up.
#[test]
fn what_is_no_handshake_ends() {
    let authority = Authority::new();
    let bed = bed(&authority);
    let fixture = bed.start();
    let (at, child) = (fixture.at, await_child(&fixture));
    let hello = hello();
    let alert = |octets: &[u8]| octets.first() == Some(&21);
    // No record, a record of another kind, one that is too long, a message that is none, one of a version that is none.
    for octets in [
        &b"\0\0\0\0\0\0\0\0"[..],
        &[23, 3, 3, 0, 5, 1, 2, 3, 4, 5],
        &[22, 3, 1, 0xff, 0xff],
        &[22, 3, 1, 0, 4, 9, 0, 0, 0],
        &[22, 3, 1, 0, 9, 1, 0, 0, 5, 3, 3, 0, 0, 0],
        &[0x80, 0x2e, 1, 0, 2, 0, 0x15],
    ] {
        let said = rest(&mut connect(at, octets));
        assert!(said.is_empty() || alert(&said), "{octets:?}: {said:?}");
    }
    // An SSL 3 client, or one that has no suite of ours.
    let mut old = hello.clone();
    (old[9], old[10]) = (3, 0);
    assert!(alert(&rest(&mut connect(at, &old))));
    let mut poor = hello.clone();
    let suites = 5 + 4 + 2 + 32 + 1 + 2;
    poor[suites..suites + 4].copy_from_slice(&[0, 5, 0, 10]);
    assert!(alert(&rest(&mut connect(at, &poor))));
    // Each octet of a right one changed: whatever comes of it, it ends once nothing more comes.
    for place in 0..hello.len() {
        let mut changed = hello.clone();
        changed[place] ^= 0x55;
        let mut stream = connect(at, &changed);
        let _ = stream.shutdown(Shutdown::Write);
        rest(&mut stream);
    }
    // What is long before it is anything.
    let long: Vec<u8> = [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &[0; 16_380]].concat();
    rest(&mut connect(at, &long.repeat(8)));
    // Letters that are no HTTP either, and HTTP that never ends.
    let said = rest(&mut connect(at, b"EHLO client\r\n\r\n"));
    assert!(said.starts_with(b"HTTP/1.1 400"), "{said:?}");
    let began = Instant::now();
    rest(&mut connect(at, b"GET / HTTP/1.1\r\nX-API-Key: "));
    assert!(began.elapsed() < HANDSHAKE_WAIT + BUSY);
    assert_eq!(status(&authority, at, &bed.acme, &[], &format!("{SERVER}/zones")), 200);
    assert_eq!(fixture.child(), Some(child), "{}", fixture.server.log());
}

#[test]
fn half_handshakes_keep_nobody_out() {
    let authority = Authority::new();
    let bed = bed(&authority);
    let fixture = bed.start();
    let (at, child, path) = (fixture.at, await_child(&fixture), format!("{SERVER}/zones/a.test."));
    let mut kept = Kept::new(&authority, at, &[]);
    assert_eq!(kept.head(&path, &bed.acme), Some(200));
    let before = memory(child);
    // All that is dear was computed for these, and no more comes of them.
    let began = Instant::now();
    let mut halves: Vec<TcpStream> = (0..HALVES).map(|_| connect(at, &hello())).collect();
    assert_eq!(kept.head(&path, &bed.acme), Some(200), "who is there goes before");
    // Others, several at once.
    std::thread::scope(|scope| {
        let ask = || status(&authority, at, &bed.acme, &[], &path);
        let all: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        assert!(all.into_iter().all(|asked| asked.join().expect("a status") == 200));
    });
    // The last one is answered, has its time, and no longer.
    assert_eq!(rest(&mut halves[HALVES - 1]).first(), Some(&22));
    assert!(began.elapsed() < HANDSHAKE_WAIT + BUSY);
    // Who says nothing, a part, or an octet now and then.
    let hello = hello();
    let mut slow: Vec<TcpStream> = (0..200).map(|number| connect(at, &hello[..number % 60])).collect();
    assert_eq!(status(&authority, at, &bed.acme, &[], &path), 200);
    for stream in &mut slow {
        let _ = stream.write_all(&[0]);
    }
    assert_eq!(
        (status(&authority, at, &bed.acme, &[], &path), kept.head(&path, &bed.acme)),
        (200, Some(200))
    );
    let began = Instant::now();
    rest(slow.last_mut().expect("one"));
    assert!(began.elapsed() < HANDSHAKE_WAIT + BUSY);
    let after = memory(child);
    assert!(after < before + (16 << 10), "{before} KiB, then {after} KiB");
    assert_eq!(fixture.child(), Some(child), "{}", fixture.server.log());
}
