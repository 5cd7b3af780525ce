//! What is left to a resolver beside zones of ours, kept answers or not.
use crate::kit::{AA, Kit, rcode};
use auth::{Access, Answered, Client, Responder, Server, Transport, inspect};
use wire::NameBuf;
use wire::header::RD;
use wire::iana::rtype;
use zone::catalog::Group;

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

/// What comes of a question: whether it is elsewhere, the response code, whether it is authoritative.
type Fate = (bool, u16, bool);

/// Zones, of which some are mirrors, and what comes of questions: name, type, flags, fate.
fn check_mirrors(mirrors: &[&str], expected: &[(&str, u16, u16, Fate)]) {
    const PLAIN: &str = "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\n*.w 60 A 192.0.2.1\n";
    let zones = [
        (".", "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\nexample 60 NS ns\n"),
        ("example.", ZONE),
        ("cut.example.", PLAIN),
        ("other.", PLAIN),
    ];
    let server = Server { recurses: true, access: Access::default().mirroring(true), ..Server::default() };
    let kit = Kit { server, ..Kit::new(&zones) };
    let slot_of = |name: &str| {
        let name: NameBuf = name.parse().unwrap();
        kit.catalog.reader().with(|view| view.slot_named(&name)).unwrap()
    };
    let (mut responder, mut reader) = (Responder::new(), kit.catalog.reader());
    // Before and after it is one, and what was kept is of no more use.
    for is_marked in [false, true, false, true] {
        for name in mirrors {
            let group = if is_marked { Group::new(1, true).mirrored() } else { Group::default() };
            kit.catalog.set_group(slot_of(name), group);
        }
        for _ in 0..4 {
            for (name, qtype, flags, expected) in expected {
                let mut query = inspect::query(0, &name.parse::<NameBuf>().unwrap(), *qtype, None);
                query[2..4].copy_from_slice(&flags.to_be_bytes());
                let (mut room, client) = ([0; 512], Client::unknown(Transport::Udp));
                let served =
                    reader.with(|view| responder.serve(&query, view, &kit.server, &client, &mut room));
                let (octets, is_elsewhere) = match served {
                    Answered::Octets(octets) => (octets, false),
                    Answered::Elsewhere(octets) => (octets, true),
                    Answered::Request => unreachable!("a query"),
                };
                let response = inspect::read(&room[..octets]).unwrap();
                let found = (is_elsewhere, response.rcode, response.flags & AA != 0);
                match is_marked {
                    true => assert_eq!(found, *expected, "{name} {qtype} {flags:x}"),
                    false => assert!(found.1 != rcode::REFUSED, "{name}: there are zones of all names"),
                }
                assert!(!is_elsewhere || responder.elsewhere().is_some_and(|plain| plain.qtype == *qtype));
            }
        }
    }
}

/// Clients are not answered from mirrors, but as if they were not there.
#[test]
fn mirrors() {
    let (nothing, own) = ((true, rcode::REFUSED, false), (false, rcode::NOERROR, true));
    check_mirrors(
        &["."],
        &[
            (".", rtype::SOA, RD, nothing),
            ("none.", rtype::A, 0, nothing),
            ("a.none.", rtype::A, RD, nothing),
            ("ns.example.", rtype::A, RD, own),
            ("none.example.", rtype::A, RD, (false, rcode::NXDOMAIN, true)),
            ("a.w.other.", rtype::A, RD, own),
            // Of the parent there is nothing here.
            ("other.", rtype::DS, RD, own),
            ("out.example.", rtype::A, RD, (true, rcode::NOERROR, true)),
        ],
    );
    check_mirrors(
        &["cut.example.", "."],
        &[
            // A referral, as that is what the zone above has.
            ("a.w.cut.example.", rtype::A, 0, (false, rcode::NOERROR, false)),
            ("a.w.cut.example.", rtype::A, RD, (true, rcode::NOERROR, false)),
            ("cut.example.", rtype::SOA, RD, (true, rcode::NOERROR, false)),
            ("cut.example.", rtype::DS, RD, own),
            ("a.w.other.", rtype::A, RD, own),
            ("none.", rtype::A, RD, nothing),
        ],
    );
}
