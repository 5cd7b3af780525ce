//! What harmed transfers of others, and must not harm these.

use std::io::Read;
use std::process::Command;

use super::*;
use zonda_tests::exchange::{tcp_stream, write_framed};
use zonda_tests::message::Query;
use zonda_tests::server::{Kind, Server, ZoneFile};

/// Clients that may not have a zone, more of them at a time than there may be transfers, take no place from one that may.
#[test]
fn who_is_refused_takes_no_place() {
    const ATTACKERS: usize = 40;
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = zonda_tests::server::write(folder.path(), "zone", crate::secondary::ZONE);
    let more = "[[acl]]\nname = \"one\"\naddresses = [\"127.0.0.2\"]\n[access]\ntransfer = \"one\"\n";
    let server = Server::start_with(Kind::Zonda, &[ZoneFile::new(ORIGIN, &path)], more);
    let question = Query::new(ORIGIN, 252).octets();
    let mut streams: Vec<_> =
        (0..ATTACKERS).map(|_| tcp_stream(server.address).expect("a connection")).collect();
    for stream in &mut streams {
        // Many each, of which it reads the first answer alone.
        (0..20).for_each(|_| write_framed(stream, &question).expect("a question"));
    }
    for stream in &mut streams {
        let mut head = [0; 6];
        stream.read_exact(&mut head).expect("an answer");
        assert_eq!(head[5] & 0xf, 5, "REFUSED");
    }
    let (address, port) = (server.address.ip().to_string(), server.address.port().to_string());
    let arguments =
        ["-b", "127.0.0.2", "-p", &port, &format!("@{address}"), ORIGIN, "AXFR", "+tries=1", "+time=5"];
    let output =
        Command::new("dig").args(arguments).output().expect("the program dig (package bind9-dnsutils)");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("XFR size: 9 records"), "{text}");
    let said = words(&server);
    assert!(said.contains("1 transfer: 1 complete") && said.contains("800 refused"), "{said}");
}
