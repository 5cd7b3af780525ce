//! The message as a whole: header, EDNS, faults, classes, signatures, who are you.

use crate::kit;
use crate::kit::{AA, Kit, rcode};
use auth::inspect::{self, Response};
use auth::{Client, Server, Transport};
use std::sync::Arc;
use wire::NameBuf;
use wire::iana::rtype;
use zone::Catalog;
use zone::catalog::{Absence, ViewSource};

const ZONE: &str = "@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n";

fn kit() -> Kit {
    Kit::new(&[("example", ZONE)])
}

/// A query for `ns.example` with these flags, class, count of additional records, and octets after the question.
fn query(flags: u16, qtype: u16, class: u8, additional: u8, tail: &[u8]) -> Vec<u8> {
    let name: NameBuf = "ns.example".parse().unwrap_or_else(|_| unreachable!());
    let mut octets = inspect::query(flags, &name, qtype, None);
    let last = octets.len() - 1;
    octets[last] = class;
    octets[11] = additional;
    octets.extend_from_slice(tail);
    octets
}

fn ask(octets: &[u8]) -> Response {
    kit().raw(octets, Transport::Udp).unwrap_or_else(|| panic!("no answer to {octets:02x?}"))
}

#[test]
fn flags() {
    // QR and RD; AD, CD, Z, RA, AA, TC and RCODE of the query go nowhere.
    let response = ask(&query(0x07ff, rtype::A, 1, 0, b""));
    assert_eq!(response.flags, 0x8000 | AA | 0x0100);
    assert!(kit().raw(&query(0x8000, rtype::A, 1, 0, b""), Transport::Udp).is_none());
    for opcode in [1, 2, 4, 5, 6, 15] {
        let response = ask(&query(opcode << 11, rtype::SOA, 1, 0, b""));
        assert_eq!((response.rcode, response.flags & 0x7800), (rcode::NOTIMP, opcode << 11));
        assert!(response.question.is_some());
    }
}

#[test]
fn faults() {
    let whole = query(0, rtype::A, 1, 0, b"");
    for end in 0..whole.len() {
        let response = kit().raw(&whole[..end], Transport::Udp);
        assert_eq!(
            response.map(|response| (response.rcode, response.question)),
            match end {
                0..12 => None,
                _ => Some((rcode::FORMERR, None)),
            }
        );
    }
    assert_eq!(ask(&query(0, rtype::A, 1, 1, b"")).rcode, rcode::FORMERR);
    assert_eq!(ask(&query(0, rtype::A, 1, 0, b"trailing")).rcode, rcode::NOERROR);
}

#[test]
fn edns() {
    let opt = |version, flags, rdata: &[u8]| {
        let mut octets = vec![0, 0, 41, 0x10, 0, 0, version, flags, 0, 0, rdata.len() as u8];
        octets.extend_from_slice(rdata);
        octets
    };
    let response = ask(&query(0, rtype::A, 1, 1, &opt(0, 0x80, b"")));
    assert_eq!(response.opt, Some((1232, true, vec![])));
    let response = ask(&query(0, rtype::A, 1, 1, &opt(1, 0, b"")));
    assert_eq!((response.rcode, response.flags & AA, response.sections[0].len()), (rcode::BADVERS, 0, 0));
    let response = ask(&query(0, rtype::A, 1, 2, &[opt(0, 0, b""), opt(0, 0, b"")].concat()));
    assert_eq!((response.rcode, response.opt.is_some()), (rcode::FORMERR, true));
    let response = ask(&query(0, rtype::A, 1, 1, &opt(0, 0, b"\0\x03\0\0\0\x0a\0\x01x")));
    assert_eq!(response.opt, Some((1232, false, vec![])), "no name is set");
    let mut kit = kit();
    kit.server.nsid = Some(vec![b'n'; 1000].into());
    let response = kit.raw(&query(0, rtype::A, 1, 1, &opt(0, 0, b"\0\x03\0\0")), Transport::Udp);
    let (_, _, options) = response.and_then(|response| response.opt).unwrap_or_default();
    assert_eq!((options.len(), &options[..5]), (4 + auth::limits::NSID_OCTETS_MAX, &b"\0\x03\0\x80n"[..]));
}

#[test]
fn types_and_classes() {
    for (qtype, transport, expected) in [
        (rtype::AXFR, Transport::Udp, rcode::FORMERR),
        (rtype::AXFR, Transport::Tcp, rcode::REFUSED),
        (rtype::IXFR, Transport::Udp, rcode::REFUSED),
        (rtype::MAILB, Transport::Udp, rcode::NOTIMP),
        (rtype::OPT, Transport::Udp, rcode::FORMERR),
        (rtype::NXNAME, Transport::Udp, rcode::FORMERR),
        (0, Transport::Udp, rcode::NOERROR),
        (65280, Transport::Udp, rcode::NOERROR),
    ] {
        let response = kit().raw(&query(0, qtype, 1, 0, b""), transport).unwrap_or_default();
        assert_eq!((response.rcode, response.sections[0].len()), (expected, 0), "TYPE{qtype}");
    }
    assert_eq!(ask(&query(0, rtype::A, 4, 0, b"")).rcode, rcode::REFUSED);
    let any = ask(&query(0, rtype::A, 255, 0, b""));
    assert_eq!((any.types(0), any.flags & AA), ("A".into(), 0));
}

#[test]
fn extended_errors() {
    const OPT: &[u8] = b"\0\0\x29\x02\0\0\0\0\0\0\0";
    let name: NameBuf = "example".parse().unwrap_or_else(|_| unreachable!());
    for (why, expected) in [(Absence::NotLoaded, 14), (Absence::Expired, 24)] {
        let catalog = Catalog::new(1);
        catalog.insert(&[(&*name, ViewSource::Absent(why))]);
        let kit = Kit { catalog, server: Server::default() };
        let response = kit.raw(&query(0, rtype::A, 1, 1, OPT), Transport::Udp).unwrap_or_default();
        assert_eq!((response.rcode, response.flags & AA), (rcode::SERVFAIL, 0));
        assert_eq!(response.opt, Some((1232, false, vec![0, 15, 0, 2, 0, expected])));
    }
    let other = Kit { catalog: Catalog::new(1), server: Server::default() };
    let response = other.raw(&query(0, rtype::A, 1, 1, OPT), Transport::Udp).unwrap_or_default();
    assert_eq!(response.rcode, rcode::REFUSED);
    assert_eq!(response.opt, Some((1232, false, vec![0, 15, 0, 2, 0, 20])));
}

#[test]
fn signed_queries_get_badkey() {
    let tsig = |rdata: &[u8]| {
        let mut octets = b"\x03key\0\0\xfa\0\xff\0\0\0\0\0".to_vec();
        octets.push(rdata.len() as u8);
        octets.extend_from_slice(rdata);
        octets
    };
    let rdata = b"\x0bhmac-sha256\0\0\0\x60\0\0\0\x01\x2c\0\x04macs\xab\xcd\0\0\0\0";
    let octets = query(0, rtype::A, 1, 1, &tsig(rdata));
    let mut buffer = [0; 512];
    let kit = kit();
    let length = kit.catalog.reader().with(|view| {
        auth::Responder::new().answer(
            &octets,
            view,
            &kit.server,
            &Client::unknown(Transport::Udp),
            &mut buffer,
        )
    });
    let response = inspect::read(&buffer[..length]).unwrap_or_default();
    assert_eq!((response.rcode, response.has_tsig), (rcode::NOTAUTH, true));
    let expected = b"\x0bhmac-sha256\0\0\0\x60\0\0\0\x01\x2c\0\0\xab\xcd\0\x11\0\0";
    assert!(buffer[..length].ends_with(expected));
    assert_eq!(ask(&query(0, rtype::A, 1, 1, &tsig(&rdata[..20]))).rcode, rcode::FORMERR);
}

#[test]
fn who_are_you() {
    let ask = |kit: &Kit, name: &str, qtype| {
        let name: NameBuf = name.parse().unwrap_or_else(|_| unreachable!());
        let mut octets = inspect::query(0, &name, qtype, None);
        let last = octets.len() - 1;
        octets[last] = 3;
        kit.raw(&octets, Transport::Udp).unwrap_or_default()
    };
    let mut kit = kit();
    for name in ["version.bind", "version.server", "hostname.bind", "id.server", "authors.bind", "ns.example"]
    {
        assert_eq!(ask(&kit, name, rtype::TXT).rcode, rcode::REFUSED, "{name}");
    }
    kit.server.version = Some(b"one".as_slice().into());
    kit.server.hostname = Some(vec![b'h'; 300].into());
    kit.server.id_server = Some(b"".as_slice().into());
    let rdata = |response: Response| response.sections[0][0].rdata.clone();
    assert_eq!(rdata(ask(&kit, "VERSION.bind", rtype::TXT)), b"\x03one");
    assert_eq!(rdata(ask(&kit, "version.server", rtype::ANY)), b"\x03one");
    assert_eq!(rdata(ask(&kit, "hostname.bind", rtype::TXT)).len(), 302);
    assert_eq!(rdata(ask(&kit, "id.server", rtype::TXT)), b"\0");
    let other = ask(&kit, "id.server", rtype::A);
    assert_eq!((other.rcode, other.sections[0].len()), (rcode::NOERROR, 0));
}

#[test]
fn ds_at_an_apex_comes_from_the_parent_if_that_is_ours() {
    let child = "@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\n";
    let digest = "1 13 2 0000000000000000000000000000000000000000000000000000000000000000";
    let parent = format!("{ZONE}child 60 NS ns\nchild 60 DS {digest}\n");
    let both = Kit::new(&[("example", &parent), ("child.example", child)]);
    let answer = format!("child.example. 60 IN DS {digest}");
    both.check("child.example DS", kit::How::Plain, rcode::NOERROR, true, &answer, "");
    let soa = "child.example. 5 IN SOA ns.child.example. host.child.example. 1 2 3 4 5";
    both.check("child.example A", kit::How::Plain, rcode::NOERROR, true, "", soa);
    let alone = Kit::new(&[("child.example", child)]);
    alone.check("child.example DS", kit::How::Plain, rcode::NOERROR, true, "", soa);
}

#[test]
fn buffers_too_small_get_nothing() {
    let kit = kit();
    let octets = query(0, rtype::A, 1, 0, b"");
    for length in 0..64 {
        let mut buffer = vec![0; length];
        let written = kit.catalog.reader().with(|view| {
            auth::Responder::new().answer(
                &octets,
                view,
                &kit.server,
                &Client::unknown(Transport::Udp),
                &mut buffer,
            )
        });
        assert!(written <= length && (written == 0) == (length < octets.len()), "{length}: {written}");
    }
    drop(Arc::new(kit));
}

/// Targets of services leave in full (RFC 2782), in the zone's case, whoever asks in whatever case; a set too long for pointers to reach, too.
#[test]
fn targets_of_services() {
    let many: String = (0..300).map(|port| format!("_m._tcp 60 SRV 0 0 {port} host.far\n")).collect();
    let zone = format!("{ZONE}_sip._tcp 60 SRV 0 0 5060 ns\n_sip._tcp 60 SRV 1 0 5060 ns.elsewhere.\n{many}");
    let kit = Kit::new(&[("example", &zone)]);
    let (mut reader, mut responder) = (kit.catalog.reader(), auth::Responder::new());
    let mut octets_of = |name: &str| {
        let name: NameBuf = name.parse().unwrap_or_else(|_| unreachable!());
        let mut buffer = vec![0; 65535];
        let query = inspect::query(0, &name, rtype::SRV, None);
        let client = Client::unknown(Transport::Tcp);
        let length = reader.with(|view| responder.answer(&query, view, &kit.server, &client, &mut buffer));
        buffer.truncate(length);
        buffer
    };
    let count =
        |message: &[u8], octets: &[u8]| message.windows(octets.len()).filter(|at| *at == octets).count();
    // The second time from what is kept.
    for name in ["_sip._tcp.example", "_SIP._tcp.EXAMPLE", "_sip._TCP.exAMPLE"] {
        let message = octets_of(name);
        assert_eq!(
            count(&message, b"\0\x12\0\0\0\0\x13\xc4\x02ns\x07example\0"),
            1,
            "{name}: {message:02x?}"
        );
        assert_eq!(count(&message, b"\x02ns\x09elsewhere\0"), 1, "{name}: {message:02x?}");
        assert_eq!(message[6..8], [0, 2]);
    }
    let message = octets_of("_m._tcp.Example");
    assert_eq!((count(&message, b"\x04host\x03far\x07example\0"), &message[6..8]), (300, &[1, 44][..]));
}
