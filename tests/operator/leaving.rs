//! What becomes of connections to a server from which another one has taken over.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, read_framed, tcp_stream, write_framed};
use zonda_tests::message::Query;
use zonda_tests::patience::{PATIENCE, await_that};
use zonda_tests::rtype;
use zonda_tests::server::signal;

use crate::kit::SOUND;
use crate::upgrade::{Line, is_good, is_running, query};

/// More than the system keeps of a connection that nobody reads.
const RECORDS: usize = 100_000;

const TRANSFERS: &str =
    "[[zone]]\nname = \"large.example\"\nfile = \"FILES/large\"\nallow-transfer = \"all\"\n";

/// A server with a zone that takes long to be transferred.
fn start() -> Line {
    let files = tempfile::tempdir().expect("a scratch folder");
    let records: String =
        (0..RECORDS).map(|number| format!("n{number} 60 TXT {}\n", "x".repeat(200))).collect();
    let text = format!("$TTL 60\n@ SOA ns. host. 1 2 3 4 5\n@ NS ns.\n{records}");
    fs::write(files.path().join("large"), text).expect("a zone file");
    let line = Line::start_in(files, TRANSFERS);
    let ask_large = || ask(line.at(), Transport::Udp, &Query::new("large.example.", rtype::SOA)).rcode();
    await_that("the large zone is loaded", || ask_large() == 0);
    line
}

/// A transfer that has begun and that nobody reads.
fn transfer(line: &Line) -> TcpStream {
    let mut stream = tcp_stream(line.at()).expect("a connection");
    write_framed(&mut stream, &Query::new("large.example.", rtype::AXFR).octets()).expect("a query is sent");
    let first = read_framed(&mut stream).expect("a first message");
    assert!(first[3] & 0xf == 0 && first[7] > 0, "{}", line.server.log());
    stream
}

/// Who keeps a connection is told to make another one, soon, and hears the new server there; a transfer is sent to its end.
#[test]
fn connections_end_soon_and_transfers_are_sent_to_their_end() {
    let mut line = start();
    let old = line.pid();
    let [mut kept, mut idle] = [(); 2].map(|()| tcp_stream(line.at()).expect("a connection"));
    write_framed(&mut kept, &query().octets()).expect("a query is sent");
    assert!(is_good(&read_framed(&mut kept).expect("an answer")));
    let mut transfer = transfer(&line);
    line.hand_over();
    for stream in [&mut kept, &mut idle] {
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
        assert_eq!(stream.read(&mut [0; 1]).expect("an end in order"), 0, "{}", line.server.log());
    }
    assert!(is_running(old), "it has a transfer in hand");
    // One SOA record was in the first message.
    let mut last = Vec::new();
    let end =
        std::iter::from_fn(|| read_framed(&mut transfer).ok()).inspect(|message| last.clone_from(message));
    assert!(end.count() > 100);
    assert!(last.windows(4).any(|octets| octets == [0, 6, 0, 1]), "the last message has the SOA record");
    drop(transfer);
    await_that("the old one ends", || !is_running(old));
}

/// Somebody who knows no other process tells the one that was the server.
#[test]
fn a_reload_meanwhile_is_not_lost() {
    let mut line = start();
    let old = line.pid();
    let transfer = transfer(&line);
    line.hand_over();
    assert!(is_running(old), "it has a transfer in hand");
    fs::write(line.files.path().join("example."), SOUND.replace("192.0.2.2", "192.0.2.77"))
        .expect("a zone file");
    signal(old, "HUP");
    let address = || {
        let response = ask(line.at(), Transport::Udp, &query());
        rtype::rdata_text(rtype::A, &response.answer[0].rdata)
    };
    await_that("the new one reads again", || address() == "192.0.2.77");
    drop(transfer);
    await_that("the old one ends", || !is_running(old));
}

/// The second server ends in order as a third takes over, which is no fault that the first one, with clients yet, has to tell of.
#[test]
fn two_upgrades_in_a_row_are_no_fault() {
    let mut line = start();
    let _transfer = transfer(&line);
    line.hand_over();
    let second = line.pid();
    line.hand_over();
    await_that("the second one ends", || !is_running(second));
    let status = line.server.process.wait(PATIENCE).expect("the first one ends");
    assert_eq!(status.code(), Some(0), "{}", line.server.log());
    assert!(!line.server.log().contains("ERROR"), "{}", line.server.log());
}
