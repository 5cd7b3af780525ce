//! Primaries that are not as they should be, and what operators are told.

use super::fake::{Does, Fake};
use super::*;
use std::net::UdpSocket;
use zonda_tests::server::free_address;

/// What no primary confirms is not served for longer than it says, and not after a restart; it comes back with the primary, whatever that has.
#[test]
fn expires_and_comes_back() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    // In whole seconds: up to one less.
    let primary = Fake::start(Does { serial: 7, expire: Some(2), ..Does::default() });
    let settings = unsigned(folder.path(), primary.address, "");
    let mut server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(7));
    let came = Instant::now();
    primary.change(|does| does.rcode = 5);
    await_that("the end of its time", || rcode(address) == 2);
    assert!(came.elapsed() > Duration::from_millis(500), "{:?}", came.elapsed());
    let words = await_words(&server, &[", expired ", "says REFUSED"]);
    assert!(words.contains("serial 7"), "{words}");
    kill(&mut server.process);
    drop(server);
    let server = start(folder.path(), address, &settings);
    assert_eq!(rcode(address), 2);
    await_words(&server, &["says REFUSED"]);
    // It was put back, to an older version.
    primary.change(|does| (does.rcode, does.serial, does.expire) = (0, 3, None));
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("the zone again", || serial(address) == Some(3));
    drop(server);
}

/// Why a zone does not come is said for each primary, with where to look; and once it comes, how.
#[test]
fn says_why_not_and_how() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Fake::start(Does { serial: 7, rcode: 5, ..Does::default() });
    let away = free_address();
    let mut settings = unsigned(folder.path(), primary.address, "");
    settings += &format!("[[remote]]\nname = \"away\"\naddresses = [\"{away}\"]\n");
    let settings = settings.replace("primaries = [\"there\"]", "primaries = [\"there\", \"away\"]");
    let server = start(folder.path(), address, &settings);
    let of = |name: &str, words: &str| {
        let line =
            words.lines().find(|line| line.starts_with(&format!("primary   {name} "))).unwrap_or_default();
        line.to_owned()
    };
    await_words(&server, &["no data yet", "says REFUSED", "refuses the connection"]);
    let said = words(&server);
    assert!(of("there", &said).contains("it does not let this server have the zone"), "{said}");
    assert!(of("away", &said).contains("nothing listens at that address"), "{said}");
    let now = || assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    // What is no zone is not served, whatever it is called.
    primary.change(|does| (does.rcode, does.has_ns) = (0, false));
    now();
    await_words(&server, &["sent what cannot be served: no NS records at the apex"]);
    assert_eq!(serial(address), None);
    primary.change(|does| does.has_ns = true);
    now();
    await_that("the zone", || serial(address) == Some(7));
    let said = await_words(&server, &["received  1 transfer: 1 by AXFR", "received last by AXFR from there"]);
    assert!(said.contains("serial 7, 3 records"), "{said}");
    assert!(!of("there", &said).contains("ago it"), "{said}");
    // It is behind.
    primary.change(|does| does.serial = 5);
    now();
    let said = await_words(&server, &["says serial 5, which is behind ours"]);
    assert!(of("there", &said).contains("zonda ctl retransfer"), "{said}");
    // It does not have the zone.
    primary.change(|does| (does.serial, does.is_authoritative) = (7, false));
    now();
    let said = await_words(&server, &["is not authoritative for the zone"]);
    assert!(of("there", &said).contains("it does not serve the zone by that name"), "{said}");
    // Not a valid MX host beside what is fine: served, and said.
    primary.change(|does| {
        (does.serial, does.is_authoritative) = (8, true);
        does.records = vec![(15, b"\0\x0a\x04host\xc0\x0c".to_vec()), (15, b"\0\0\0".to_vec())];
    });
    now();
    await_that("the next version", || serial(address) == Some(8));
    await_words(&server, &["finding", "null MX beside other MX records"]);
}

/// More than may come, in messages and in records that are all the same; neither is served, and neither takes more than its share.
#[test]
fn more_than_there_is_room_for() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let records = vec![(16, [&[200][..], &[b'x'; 200]].concat()); 60];
    let primary = Fake::start(Does { records, times: 200, ..Does::default() });
    let settings = unsigned(folder.path(), primary.address, "transfer-octets-max = 1000000");
    let server = start(folder.path(), address, &settings);
    let said = await_words(&server, &["sent more octets than are allowed"]);
    assert!(said.contains("`transfer-octets-max` in [secondary]"), "{said}");
    assert_eq!(serial(address), None);
    // The same record 12,000 times is one.
    primary.change(|does| does.times = 1);
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("the zone", || serial(address) == Some(1));
    let said = await_words(&server, &["received last by AXFR"]);
    assert!(said.contains("63 records") && said.contains("records   3"), "{said}");
}

/// One that answers no datagrams, asked from an address of ours.
#[test]
fn probes_over_tcp_from_an_address() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Fake::start(Does { udp: false, ..Does::default() });
    let more = "retry-min-seconds = 1\nrefresh-min-seconds = 1";
    let settings = unsigned(folder.path(), primary.address, more).replace(
        &format!("addresses = [\"{}\"]", primary.address),
        &format!("addresses = [\"{}\"]\nsource = \"127.0.0.7\"", primary.address),
    );
    let server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(1));
    assert_eq!(primary.from().map(|from| from.ip().to_string()), Some("127.0.0.7".to_owned()));
    primary.change(|does| does.serial = 2);
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("the next version", || serial(address) == Some(2));
    // A datagram thrice, then a question over TCP.
    assert!(primary.asked().0 > 3, "{:?}", primary.asked());
    assert_eq!(primary.from().map(|from| from.ip().to_string()), Some("127.0.0.7".to_owned()));
}

/// A primary that comes back tells of all its zones in a moment; who hears that it is not the time does not tell again (RFC 1996 4.8).
#[test]
fn notices_in_a_burst() {
    const NOTICES: u16 = 12_000;
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Fake::start(Does { serial: 7, ..Does::default() });
    let server = start(folder.path(), address, &unsigned(folder.path(), primary.address, ""));
    await_that("the zone", || serial(address) == Some(7));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(address).expect("a server");
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
    let takes = socket.try_clone().expect("the socket once more");
    let replies = std::thread::spawn(move || {
        let (mut room, mut by_rcode) = ([0; 512], [0_usize; 16]);
        while takes.recv(&mut room).is_ok() {
            by_rcode[usize::from(room[3] & 15)] += 1;
        }
        by_rcode
    });
    let labels = ORIGIN.trim_end_matches('.').split('.');
    let name = labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).chain([0]);
    let question = name.chain([0, 6, 0, 1]).collect::<Vec<u8>>();
    for id in 0..NOTICES {
        // NOTIFY, AA; one question.
        let head = [id, 0x2400, 1, 0, 0, 0].map(u16::to_be_bytes).concat();
        socket.send(&[head, question.clone()].concat()).expect("a notice sent");
    }
    let by_rcode = replies.join().expect("all replies");
    assert!(by_rcode[0] > 0, "{by_rcode:?}");
    assert_eq!(by_rcode[1..], [0; 15], "others than NOERROR");
    drop(server);
}
