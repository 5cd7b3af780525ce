//! Zones from named, nsd and knotd over loopback; and from servers that do what no good one does.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use control::secondary::{Clock, Event, Keeper, Primary, Prober, Report, Room, Task, Tell, Transfers};
use transfer::incoming::{Fault, Kind, Limit, Limits, Outcome, Stop, Unreachable};
use transfer::refresh::{Answer, Job, PrimaryState, Settings};
use wire::tsig::{Algorithm, Key};
use wire::{Name, NameBuf};
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, Kind as Program, Server, free_address};
use zonda_tests::zone::{ZoneFile, data};
use zone::Contents;

/// No answer takes so long unless something stands still.
const PATIENCE: Duration = Duration::from_secs(30);

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn primary(address: SocketAddr) -> Arc<Primary> {
    Arc::new(Primary { address, key: None, source: None })
}

fn task(zone: &str, primary: &Arc<Primary>, kind: Kind, ours: Option<u32>) -> Task {
    let job = Job { zone: 0, primary: 0, kind, ours, has_edns: true, is_udp: kind == Kind::Soa };
    Task { job, zone: name(zone), primary: Arc::clone(primary), limits: Limits::default() }
}

fn to(sender: Sender<Report>) -> Tell {
    Arc::new(move |report| drop(sender.send(report)))
}

/// Transfers of one thread, and where their results come.
fn one_thread() -> (Transfers, Receiver<Report>) {
    with_room(&Room::new(std::env::temp_dir().into()))
}

fn with_room(room: &Room) -> (Transfers, Receiver<Report>) {
    let (sender, reports) = channel();
    (Transfers::start(1, room.clone(), false, to(sender)).unwrap(), reports)
}

fn next(reports: &Receiver<Report>) -> Report {
    reports.recv_timeout(PATIENCE).expect("a report in time")
}

/// All records: owner, type, TTL, RDATA in canonical form.
fn all(contents: &Contents) -> BTreeSet<(String, u16, u32, Vec<u8>)> {
    let sets = contents.nodes().flat_map(|node| node.rrsets().map(move |set| (node.name().to_string(), set)));
    sets.flat_map(|(owner, set)| {
        let (rtype, ttl) = (set.rtype(), set.ttl());
        set.records().map(move |record| {
            let mut rdata = record.rdata.to_vec();
            wire::rdata::fold(rtype, &mut rdata);
            (owner.clone(), rtype, ttl, rdata)
        })
    })
    .collect()
}

fn of_text(origin: &Name, path: &std::path::Path) -> Contents {
    auth::inspect::contents(origin, &std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every record of every zone, from each of the other servers, all over one connection.
#[test]
fn zones_of_others() {
    let zones: Vec<ZoneFile> = [
        ("test.", "test.zone"),
        ("nsec.test.", "nsec.test.zone"),
        ("nsec3.test.", "nsec3.test.zone"),
        ("corners.test.", "corners.zone"),
        ("big.test.", "big.zone"),
    ]
    .map(|(origin, file)| ZoneFile::new(origin, data().join("zones").join(file)))
    .into();
    for kind in Program::PEERS {
        let server = Server::start(kind, &zones);
        let primary = primary(server.address);
        let (transfers, reports) = one_thread();
        for zone in &zones {
            if kind == Program::Nsd && zone.origin == "big.test." {
                without_end(&zone.origin, &primary);
                continue;
            }
            transfers.push(task(&zone.origin, &primary, Kind::Axfr, None));
            let report = next(&reports);
            let done =
                report.result.unwrap_or_else(|stop| panic!("{} of {}: {stop}", zone.origin, kind.label()));
            assert_eq!((done.outcome, done.is_over), (Outcome::Whole, true));
            let (found, expected) =
                (all(&report.contents.unwrap()), all(&of_text(&name(&zone.origin), &zone.path)));
            let missing: Vec<_> = expected.difference(&found).take(5).collect();
            let more: Vec<_> = found.difference(&expected).take(5).collect();
            assert!(
                missing.is_empty() && more.is_empty(),
                "{} of {}: {missing:?} {more:?}",
                zone.origin,
                kind.label()
            );
        }
        probes(&primary, kind);
    }
}

/// An RRset of this zone does not fit the messages that nsd makes of transfers: it sends messages without records, without end.
fn without_end(zone: &str, primary: &Arc<Primary>) {
    let (transfers, reports) = one_thread();
    transfers.push(task(zone, primary, Kind::Axfr, None));
    assert_eq!(next(&reports).result.unwrap_err().fault, Fault::Empty);
}

/// A zone that is larger than the memory of a transfer goes through a file, and is as whole.
#[test]
fn a_large_zone_through_a_file() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("large.zone");
    let mut text = "$TTL 60\n@ SOA ns hostmaster 1 3600 900 604800 60\n@ NS ns\nns A 192.0.2.1\n".to_owned();
    for number in 0..20_000_u32 {
        let label = number.wrapping_mul(0x9e37_79b9);
        text += &format!("h{label:x} TXT \"{}\"\nh{label:x} A 192.0.2.{}\n", "x".repeat(100), number % 256);
    }
    std::fs::write(&path, text).unwrap();
    let server = Server::start(Program::Knot, &[ZoneFile::new("large.test.", &path)]);
    let small = Room { arena_octets: 1 << 20, ..Room::new(scratch.path().into()) };
    let (transfers, reports) = with_room(&small);
    transfers.push(task("large.test", &primary(server.address), Kind::Axfr, None));
    let found = all(&next(&reports).contents.unwrap());
    assert!(found == all(&of_text(&name("large.test"), &path)), "{}", found.len());

    // Too large for what it may take at the end; too large for the file; no folder for it.
    let none = Room { folder: scratch.path().join("none").into(), ..small.clone() };
    for room in
        [Room { zone_octets: 1 << 20, ..small.clone() }, Room { files_octets: 1 << 20, ..small }, none]
    {
        let (transfers, reports) = with_room(&room);
        transfers.push(task("large.test", &primary(server.address), Kind::Axfr, None));
        assert_eq!(next(&reports).result.unwrap_err().fault, Fault::Full, "{room:?}");
    }
}

/// The SOA record by a datagram, and what comes of serials before and after it.
fn probes(primary: &Arc<Primary>, kind: Program) {
    let (sender, reports) = channel();
    let prober = Prober::start(to(sender)).unwrap();
    prober.push(task("test.", primary, Kind::Soa, None));
    let report = next(&reports);
    let serial = report.result.as_ref().unwrap().soa.unwrap().serial;
    assert_eq!(report.answer(), Some(Answer::Newer), "{}", kind.label());
    for (ours, expected) in [(serial, true), (serial.wrapping_add(1), false)] {
        prober.push(task("test.", primary, Kind::Soa, Some(ours)));
        let answer = next(&reports).answer().unwrap();
        assert_eq!(matches!(answer, Answer::Current { .. }), expected, "{answer:?}");
        assert_eq!(answer == Answer::Behind { serial }, !expected, "{answer:?}");
    }
    // A zone that it does not have.
    prober.push(task("elsewhere.", primary, Kind::Soa, Some(1)));
    assert!(matches!(next(&reports).answer(), Some(Answer::Stopped(Stop { fault: Fault::Rcode(_), .. }))));
}

const NAMED: &str = r#"
key "transfer." { algorithm hmac-sha256; secret "c2VjcmV0IG9mIHRoZSB0cmFuc2Zlcg=="; };
options { directory "FOLDER"; pid-file none; session-keyfile none; listen-on-v6 { none; };
  listen-on port PORT { 127.0.0.1; }; recursion no; dnssec-validation no; notify no; allow-transfer { key "transfer."; }; };
controls { };
zone "live.test" { type primary; file "live.zone"; allow-update { 127.0.0.1; }; };
"#;

/// A zone that changes at named, under TSIG: differences, none, and all of it.
#[test]
fn differences_of_named() {
    let scratch = tempfile::tempdir().unwrap();
    let address = free_address();
    // Large enough that named thinks differences of it worth sending.
    let text = "$TTL 60\n@ SOA ns hostmaster 1 3600 900 604800 60\n@ NS ns\nns A 192.0.2.1\nold A 192.0.2.2\n\
                $GENERATE 1-96 h$ A 192.0.2.$\n";
    std::fs::write(scratch.path().join("live.zone"), text).unwrap();
    let settings = NAMED.replace("FOLDER", scratch.path().to_str().unwrap());
    let settings = settings.replace("PORT", &address.port().to_string());
    std::fs::write(scratch.path().join("named.conf"), settings).unwrap();
    let mut command = Command::new(require("named", "bind9"));
    command.args(["-g", "-n", "1", "-c"]).arg(scratch.path().join("named.conf"));
    let _named = Guarded::spawn(command, scratch.path());

    let key = Key::new(&name("transfer"), Algorithm::HmacSha256, b"secret of the transfer");
    let signed = Arc::new(Primary { address, key: Some(Arc::new(key)), source: None });
    let (transfers, reports) = one_thread();
    let mut tries = 0;
    let first = loop {
        transfers.push(task("live.test", &signed, Kind::Axfr, None));
        let report = next(&reports);
        if report.result.is_ok() {
            break report;
        }
        tries += 1;
        assert!(tries < 200, "{:?}", report.result);
        std::thread::sleep(Duration::from_millis(50));
    };
    let soa = first.result.unwrap().soa.unwrap();
    assert_eq!((soa.serial, first.contents.unwrap().record_count()), (1, 100));

    for change in ["update delete old.live.test A", "update add new.live.test 60 A 192.0.2.3"] {
        let script = format!("server 127.0.0.1 {}\nzone live.test\n{change}\nsend\n", address.port());
        let mut nsupdate = Command::new("nsupdate").stdin(Stdio::piped()).spawn().unwrap();
        nsupdate.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(nsupdate.wait().unwrap().success());
    }
    transfers.push(task("live.test", &signed, Kind::Ixfr, Some(1)));
    let done = next(&reports).result.unwrap();
    let Outcome::Changes(changes) = &done.outcome else { panic!("{done:?}") };
    let serials: Vec<_> =
        changes.iter().map(|change| (change.serial_before(), change.serial_after())).collect();
    assert_eq!(serials, [(1, 2), (2, 3)]);
    let owners =
        |records: &zone::Records| records.iter().map(|record| record.owner.to_string()).collect::<Vec<_>>();
    assert_eq!(owners(changes[0].removed()), ["live.test.", "old.live.test."]);
    assert_eq!(owners(changes[1].added()), ["live.test.", "new.live.test."]);
    transfers.push(task("live.test", &signed, Kind::Ixfr, Some(3)));
    assert_eq!(next(&reports).result.unwrap().outcome, Outcome::Current);
    transfers.push(task("live.test", &signed, Kind::Ixfr, Some(4)));
    assert_eq!(next(&reports).answer(), Some(Answer::Behind { serial: 3 }));

    // Over UDP named sends its SOA record alone: ask over TCP (RFC 1995 2).
    let (sender, answers) = channel();
    let prober = Prober::start(to(sender)).unwrap();
    let mut over_udp = task("live.test", &signed, Kind::Ixfr, Some(1));
    over_udp.job.is_udp = true;
    prober.push(over_udp);
    assert_eq!(next(&answers).answer(), Some(Answer::Newer));

    // Without the key, and with one that named does not have.
    transfers.push(task("live.test", &primary(address), Kind::Axfr, None));
    assert!(matches!(next(&reports).result, Err(Stop { fault: Fault::Rcode(5), .. })));
    let other = Key::new(&name("other"), Algorithm::HmacSha256, b"secret");
    let other = Arc::new(Primary { address, key: Some(Arc::new(other)), source: None });
    transfers.push(task("live.test", &other, Kind::Axfr, None));
    assert!(matches!(next(&reports).result, Err(Stop { fault: Fault::Tsig(..), .. })));
}

/// A server that accepts, reads what comes, writes some octets and goes.
fn server(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(stream.read(&mut [0; 512]));
        stream.write_all(answer).unwrap();
    });
    address
}

#[test]
fn servers_that_do_not_do() {
    let (transfers, reports) = one_thread();
    let fault = |address, limits| {
        transfers.push(Task { limits, ..task("test.", &primary(address), Kind::Axfr, None) });
        next(&reports).result.unwrap_err().fault
    };
    let limits = Limits::default();
    // Nobody is there.
    assert_eq!(fault(free_address(), limits), Fault::Unreachable(Unreachable::Refused));
    // Gone at once; in the midst of a length; of a message.
    for answer in ["", "\0", "\0\x20abc"] {
        assert_eq!(fault(server(answer.as_bytes()), limits), Fault::Ended);
    }
    // A message of nothing.
    assert!(matches!(fault(server(b"\0\0"), limits), Fault::Message(_)));
    // One that says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let short = Limits { idle: 300, ..limits };
    assert_eq!(fault(silent.local_addr().unwrap(), short), Fault::Limit(Limit::Idle));
    // A probe to a port that nobody has.
    let (sender, reports) = channel();
    let prober = Prober::start(to(sender)).unwrap();
    prober.push(task("test.", &primary(free_address()), Kind::Soa, Some(1)));
    assert!(matches!(next(&reports).result, Err(Stop { fault: Fault::Unreachable(_), .. })));
}

/// A connection is used again, and made anew where the other end has closed it meanwhile.
#[test]
fn connections_are_used_again() {
    const TRANSFERS_A_CONNECTION: usize = 3;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&accepted);
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            counted.fetch_add(1, Ordering::Relaxed);
            for _ in 0..TRANSFERS_A_CONNECTION {
                let mut question = [0; 512];
                let octets = stream.read(&mut question).unwrap();
                stream.write_all(&framed(&soas(&question[2..octets], 7, 2))).unwrap();
            }
        }
    });
    let (transfers, reports) = one_thread();
    let primary = primary(address);
    for number in 0..7 {
        transfers.push(task("test.", &primary, Kind::Axfr, None));
        assert_eq!(next(&reports).result.unwrap().outcome, Outcome::Whole, "{number}");
    }
    assert_eq!(accepted.load(Ordering::Relaxed), 7_usize.div_ceil(TRANSFERS_A_CONNECTION));
}

/// SOA records as the answer to a question: one to a probe, two are the smallest zone.
fn soas(question: &[u8], serial: u32, count: u8) -> Vec<u8> {
    let name_octets = Name::split_from(&question[12..]).unwrap().0.octets().len();
    let mut message = question[..12 + name_octets + 4].to_vec();
    message[2..12].copy_from_slice(&[0x84, 0, 0, 1, 0, count, 0, 0, 0, 0]);
    for _ in 0..count {
        message.extend(b"\xc0\x0c\0\x06\0\x01\0\0\0\x3c\0\x16\0\0");
        let numbers = [serial, 3_600, 900, 604_800, 60];
        message.extend(numbers.map(u32::to_be_bytes).as_flattened());
    }
    message
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes(), message].concat()
}

/// A primary of any zone with this serial, for as long as the test runs.
fn primary_of_all(address: SocketAddr, serial: &Arc<AtomicU32>) {
    let (udp, tcp) = (UdpSocket::bind(address).unwrap(), TcpListener::bind(address).unwrap());
    let of_udp = Arc::clone(serial);
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((octets, from)) = udp.recv_from(&mut question) {
            let answer = soas(&question[..octets], of_udp.load(Ordering::Relaxed), 1);
            udp.send_to(&answer, from).unwrap();
        }
    });
    let of_tcp = Arc::clone(serial);
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = tcp.accept() {
            let serial = Arc::clone(&of_tcp);
            std::thread::spawn(move || {
                let mut question = [0; 512];
                while let Ok(octets @ 1..) = stream.read(&mut question) {
                    let answer = framed(&soas(&question[2..octets], serial.load(Ordering::Relaxed), 2));
                    if stream.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

/// Serves, as the test goes, all that comes until `count` zones have the serial.
fn serve_until(keeper: &mut Keeper, zones: &[u32], serial: u32) {
    let until = Instant::now() + PATIENCE;
    while zones.iter().any(|zone| keeper.schedule().serial(*zone) != Some(serial)) {
        assert!(Instant::now() < until, "not all current in time");
        if let Some(Event::Transferred(report)) = keeper.next(Duration::from_millis(200)) {
            let done = report.result.unwrap();
            assert_eq!(report.contents.unwrap().record_count(), 1);
            let answer = Answer::Transferred { soa: done.soa.unwrap(), expire: done.expire };
            keeper.served(&report.job, &answer);
        }
    }
}

/// Many zones of a primary that is not there when they are added, then is, and then changes all of them.
#[test]
fn many_zones_of_a_primary_that_comes_back() {
    const ZONES: usize = 1_000;
    let address = free_address();
    let room = Room::new(std::env::temp_dir().into());
    let mut keeper = Keeper::start(Settings::default(), Limits::default(), room, false).unwrap();
    let number = keeper.add_primary(Primary { address, key: None, source: None }, true, false).unwrap();
    let list = keeper.schedule().add_list(&[number]).unwrap();
    let zones: Vec<_> =
        (0..ZONES).map(|zone| keeper.add(&name(&format!("z{zone}.test")), list, None)).collect();
    // It is refused, and is down at once.
    assert!(keeper.next(Duration::from_millis(500)).is_none());
    let state = keeper.schedule().primary_state(number);
    assert!(matches!(state, Some(PrimaryState::Down { .. })), "{state:?}");
    let serial = Arc::new(AtomicU32::new(1));
    primary_of_all(address, &serial);
    serve_until(&mut keeper, &zones, 1);
    assert_eq!(keeper.name(zones[7]).to_string(), "z7.test.");

    serial.store(2, Ordering::Relaxed);
    let now = Clock.seconds();
    let (told, commanded) = zones.split_at(ZONES / 2);
    told.iter().for_each(|zone| assert!(keeper.schedule().notify(*zone, Some(number), Some(2), now)));
    commanded.iter().for_each(|zone| keeper.schedule().refresh(*zone, now));
    serve_until(&mut keeper, &zones, 2);
    // Somebody who has something to say is heard at once.
    let bell = keeper.bell();
    bell.ring();
    let begin = Instant::now();
    while keeper.next(PATIENCE).is_some() {}
    assert!(begin.elapsed() < PATIENCE / 2);
}

/// Threads that wait for a server end when they are told to.
#[test]
fn the_end_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (transfers, reports) = one_thread();
    transfers.push(task("test.", &primary(silent.local_addr().unwrap()), Kind::Axfr, None));
    let accepted = silent.accept().unwrap();
    drop(transfers);
    assert_eq!(next(&reports).result.unwrap_err().fault, Fault::Ended);
    drop(accepted);
}
