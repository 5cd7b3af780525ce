//! What is left to a resolver beside zones of ours, kept answers or not.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod kit;

use auth::{Answered, Client, Responder, Server, Transport, inspect};
use kit::{Kit, rcode};
use wire::NameBuf;
use wire::header::RD;
use wire::iana::rtype;

const ZONE: &str = "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nin 60 CNAME ns\nout 60 CNAME www.elsewhere.\n\
    cut 60 NS ns.cut\nns.cut 60 A 192.0.2.4\n";

#[test]
fn a_resolver_can_say_more() {
    let server = Server { recurses: true, ..Server::default() };
    let kit = Kit { server, ..Kit::new(&[("example.", ZONE)]) };
    let (mut responder, mut reader) = (Responder::new(), kit.catalog.reader());
    let mut serve = |name: &str, flags: u16, server: &Server| {
        let mut query = inspect::query(0, &name.parse::<NameBuf>().unwrap(), rtype::A, None);
        query[2..4].copy_from_slice(&flags.to_be_bytes());
        let mut room = [0; 512];
        let client = Client::unknown(Transport::Udp);
        let served = reader.with(|view| responder.serve(&query, view, server, &client, &mut room));
        let (octets, is_elsewhere) = match served {
            Answered::Octets(octets) => (octets, false),
            Answered::Elsewhere(octets) => (octets, true),
            Answered::Request => unreachable!("a query"),
        };
        (is_elsewhere, inspect::read(&room[..octets]).unwrap().rcode)
    };
    let without = Server::default();
    // Often enough that what can be kept is.
    for _ in 0..4 {
        for (name, flags, expected) in [
            ("ns.example.", RD, (false, rcode::NOERROR)),
            ("none.example.", RD, (false, rcode::NXDOMAIN)),
            ("in.example.", RD, (false, rcode::NOERROR)),
            ("out.example.", 0, (false, rcode::NOERROR)),
            ("out.example.", RD, (true, rcode::NOERROR)),
            ("www.cut.example.", 0, (false, rcode::NOERROR)),
            ("www.cut.example.", RD, (true, rcode::NOERROR)),
            ("www.elsewhere.", 0, (true, rcode::REFUSED)),
            ("www.elsewhere.", RD, (true, rcode::REFUSED)),
        ] {
            assert_eq!(serve(name, flags, &kit.server), expected, "{name} {flags:x}");
            assert_eq!(serve(name, flags, &without), (false, expected.1), "{name} {flags:x}");
        }
    }
}
