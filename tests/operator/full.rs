//! No room for the log of changes: updates are refused and said so once, zones are served as they were, and it goes on by itself once there is room.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, tcp};
use zonda_tests::message::{Query, header, question, record};
use zonda_tests::name::Name;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, Kind, Server, free_address, program, settings, write};

const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n";

/// Octets of a file at most: those of the log have four mebioctets, so that none can be made.
const NO_LOG: &str = "1048576";
/// Of the log that is there no more than heads of segments can be written.
const HEADS: &str = "4096";

/// Starts the server with files of so many octets at most. What is written beyond that fails, as on a full disk.
fn start(folder: &Path, address: SocketAddr, octets: &str) -> Server {
    let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    let path = folder.display();
    let more = format!(
        "pack-directory = \"{path}/packs\"\n[access]\nupdate = \"all\"\n[[zone]]\nname = \"full.test.\"\nfile = \"{path}/zone\"\n"
    );
    let settings = write(scratch.path(), "zonda.toml", &settings(scratch.path(), address, &[], &more));
    // The signal that comes with it would end any program that does not know of it.
    let script = format!("trap '' XFSZ; exec prlimit --fsize={octets}:unlimited \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(program()).args(["serve", "--config"]).arg(settings);
    let process = Guarded::spawn(command, scratch.path());
    let server = Server { kind: Kind::Zonda, address, scratch, process };
    server.await_zones();
    server
}

fn update(server: SocketAddr, number: u8) -> u8 {
    let (zone, name) = (Name::parse("full.test."), Name::parse(&format!("n{number}.full.test.")));
    let mut message = header(number.into(), 5 << 11, [1, 0, 1, 0]);
    question(&mut message, &zone, rtype::SOA, 1);
    record(&mut message, &name, rtype::A, 1, 60, &[192, 0, 2, number]);
    tcp(server, &message)[3] & 15
}

fn is_there(server: SocketAddr, number: u8) -> bool {
    let answer = ask(server, Transport::Udp, &Query::new(&format!("n{number}.full.test."), rtype::A));
    answer.answer.first().is_some_and(|record| record.rdata == [192, 0, 2, number])
}

#[test]
fn no_room_for_the_log() {
    let (files, address) = (tempfile::tempdir().expect("a scratch folder"), free_address());
    write(files.path(), "zone", ZONE);
    let server = start(files.path(), address, NO_LOG);
    for number in 1..=5 {
        assert_eq!(update(address, number), 2, "SERVFAIL\n{}", server.log());
        assert!(!is_there(address, number));
        let kept = ask(address, Transport::Udp, &Query::new("ns.full.test.", rtype::A));
        assert_eq!((kept.rcode(), kept.answer.len()), (0, 1));
        std::thread::sleep(Duration::from_millis(500));
    }
    let said = server.log().lines().filter(|line| line.contains("ERROR")).count();
    assert!((1..=2).contains(&said), "{}", server.log());
    let number = make_room(&server, 6);
    assert!(server.log().contains("can be written again"), "{}", server.log());
    // Nothing that was refused came with it, nor comes after a start.
    let all = |number: u8| (1..number).all(|refused| !is_there(address, refused));
    assert!(is_there(address, number) && all(number));
    drop(server);
    let server = start(files.path(), address, NO_LOG);
    assert!(is_there(address, number) && all(number), "{}", server.log());
}

/// Gives the server room, and updates it until that is done, with names from this number on; the number of the one that was added.
fn make_room(server: &Server, mut number: u8) -> u8 {
    let pid = server.process.pid().to_string();
    let mut command = Command::new("prlimit");
    let status = command.args(["--fsize=unlimited:unlimited", "--pid", &pid]).status();
    assert!(status.expect("the program prlimit").success());
    await_that("room", || {
        let is_there = update(server.address, number) == 0;
        if !is_there {
            // Seldom enough that numbers do not run out.
            std::thread::sleep(Duration::from_millis(300));
            number += 1;
        }
        is_there
    });
    number
}

/// A log that is there and cannot be begun at a start: what it has is served, updates are refused, and it is begun once there is room.
#[test]
fn no_room_at_a_start_for_the_log_that_is_there() {
    let (files, address) = (tempfile::tempdir().expect("a scratch folder"), free_address());
    write(files.path(), "zone", ZONE);
    let server = start(files.path(), address, "unlimited");
    assert_eq!((update(address, 1), update(address, 2)), (0, 0));
    drop(server);
    for round in [10, 100] {
        let server = start(files.path(), address, HEADS);
        let acknowledged =
            |number: u8| [1, 2].iter().all(|&kept| is_there(address, kept)) && is_there(address, number);
        assert!(acknowledged(if round == 10 { 2 } else { 1 }));
        for number in 0..3 {
            assert_eq!(update(address, round + number), 2, "SERVFAIL\n{}", server.log());
            assert!(!is_there(address, round + number));
            std::thread::sleep(Duration::from_millis(300));
        }
        let number = make_room(&server, round + 3);
        assert!(acknowledged(number));
        drop(server);
        let server = start(files.path(), address, "unlimited");
        assert!(acknowledged(number), "{}", server.log());
        assert!((round..number).all(|refused| !is_there(address, refused)), "{}", server.log());
        drop(server);
    }
}
