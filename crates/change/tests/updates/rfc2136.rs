//! Every form of RFC 2136: its response code, and what it changes.
use crate::kit::*;
use change::draft::NoChange;
use change::{Applied, Draft, Request, SerialStyle, Why};
use wire::iana::rcode::{self, *};
use wire::iana::{class, rtype};

const ZONE: &str = "
    @        60 SOA   ns hostmaster 7 3600 600 86400 60
    @        60 NS    ns
    ns       60 A     192.0.2.53
    www      60 A     192.0.2.1
    www      60 A     192.0.2.2
    www      60 TXT   \"web\"
    alias    60 CNAME WWW
    a.b.c    60 A     192.0.2.3
    *.wild   60 A     192.0.2.4
    key      60 CNAME www
    key      60 KEY   512 3 8 AQPSKmynfzW4kyBv015MUG2D
    sub      60 NS    ns.sub
    ns.sub   60 A     192.0.2.5
    service  60 WKS   192.0.2.1 6 25
";

/// What a script does to the zone: its response code, and the change where there is one.
#[track_caller]
fn check(script: &str, rcode: u16, expected: &str) {
    let pack = pack(&records(ZONE));
    let mut draft = Draft::new(view(&pack)).unwrap();
    assert_eq!(apply(&mut draft, script), rcode, "{script}");
    let change = draft.into_change(SerialStyle::Increment, NOW);
    let found = change.as_ref().map_or(String::new(), text);
    assert_eq!(found, trimmed(expected), "{script}");
    if expected.is_empty() {
        assert_eq!(change.err(), Some(NoChange::Nothing), "no change, no new serial (3.6)");
    }
}

/// 2.4.1 to 2.4.5, 3.2.
#[test]
fn prerequisites() {
    for (script, rcode) in [
        ("yx www", NOERROR),
        ("yx WWW.example.", NOERROR),
        ("yx none", NXDOMAIN),
        ("yx b.c", NXDOMAIN),
        ("yx x.wild", NXDOMAIN),
        ("yx *.wild", NOERROR),
        ("yx ns.sub", NOERROR),
        ("nx none", NOERROR),
        ("nx b.c", NOERROR),
        ("nx www", YXDOMAIN),
        ("yx www A", NOERROR),
        ("yx www MX", NXRRSET),
        ("yx alias A", NXRRSET),
        ("yx none A", NXRRSET),
        ("nx www MX", NOERROR),
        ("nx www A", YXRRSET),
        ("yx www A 192.0.2.2\nyx www A 192.0.2.1", NOERROR),
        ("yx www A 192.0.2.2\nyx www A 192.0.2.1\nyx www A 192.0.2.1", NOERROR),
        ("yx www A 192.0.2.1", NXRRSET),
        ("yx www A 192.0.2.1\nyx www A 192.0.2.2\nyx www A 192.0.2.3", NXRRSET),
        ("yx none A 192.0.2.1", NXRRSET),
        ("yx alias CNAME www", NOERROR),
        ("yx alias CNAME WWW.EXAMPLE.", NOERROR),
        ("yx www TXT \"WEB\"", NXRRSET),
        ("yx www.other.", NOTZONE),
        ("nx www.xexample. A", NOTZONE),
        // Order: the first that fails of those without values, then those with.
        ("yx www A 192.0.2.1\nyx none", NXDOMAIN),
        ("nx www\nyx none", YXDOMAIN),
    ] {
        check(script, rcode, "");
        let with_update = format!("{script}\nadd new 60 A 192.0.2.9");
        let expected = if rcode == NOERROR { "7 -> 8\n+ new.example. 60 A 192.0.2.9" } else { "" };
        check(&with_update, rcode, expected);
    }
}

/// 3.4.2.2.
#[test]
fn additions() {
    check("add new 300 A 192.0.2.9", NOERROR, "7 -> 8\n+ new.example. 300 A 192.0.2.9");
    check("add New 300 MX 1 MaIl", NOERROR, "7 -> 8\n+ new.example. 300 MX 1 MaIl.example.");
    // What is there already, in other letters too.
    check("add www 60 A 192.0.2.1", NOERROR, "");
    check("add alias 60 CNAME www", NOERROR, "");
    // One TTL for the RRset (RFC 2181 5.2).
    check(
        "add www 300 A 192.0.2.3",
        NOERROR,
        "7 -> 8
         - www.example. 60 A 192.0.2.1
         - www.example. 60 A 192.0.2.2
         + www.example. 300 A 192.0.2.1
         + www.example. 300 A 192.0.2.2
         + www.example. 300 A 192.0.2.3",
    );
    check(
        "add www 4294967295 TXT web",
        NOERROR,
        "7 -> 8\n- www.example. 60 TXT \"web\"\n+ www.example. 0 TXT \"web\"",
    );
    // CNAME and other data.
    check("add www 60 CNAME ns", NOERROR, "");
    check("add alias 60 A 192.0.2.1", NOERROR, "");
    check("add b.c 60 CNAME ns", NOERROR, "7 -> 8\n+ b.c.example. 60 CNAME ns.example.");
    check(
        "add alias 60 CNAME ns",
        NOERROR,
        "7 -> 8\n- alias.example. 60 CNAME WWW.example.\n+ alias.example. 60 CNAME ns.example.",
    );
    check(
        "add key 60 CNAME ns",
        NOERROR,
        "7 -> 8\n- key.example. 60 CNAME www.example.\n+ key.example. 60 CNAME ns.example.",
    );
    // One service list for an address and a protocol.
    check(
        "add service 60 WKS 192.0.2.1 6 80\nadd service 60 WKS 192.0.2.1 17 53",
        NOERROR,
        "7 -> 8
         - service.example. 60 WKS 192.0.2.1 6 25
         + service.example. 60 WKS 192.0.2.1 6 80
         + service.example. 60 WKS 192.0.2.1 17 53",
    );
    // Below a cut, as glue; a wildcard is a name.
    check("add ns.sub 60 A 192.0.2.6", NOERROR, "7 -> 8\n+ ns.sub.example. 60 A 192.0.2.6");
    check("add *.wild 60 A 192.0.2.6", NOERROR, "7 -> 8\n+ *.wild.example. 60 A 192.0.2.6");
    check(
        "add *.x 60 DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=",
        NOERROR,
        "7 -> 8\n+ *.x.example. 60 DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=",
    );
}

/// 3.4.2.3, 3.4.2.4.
#[test]
fn deletions() {
    check("del www A 192.0.2.1", NOERROR, "7 -> 8\n- www.example. 60 A 192.0.2.1");
    check("del www A 192.0.2.9", NOERROR, "");
    check("del none A 192.0.2.9", NOERROR, "");
    check("del none", NOERROR, "");
    check("del alias CNAME www", NOERROR, "7 -> 8\n- alias.example. 60 CNAME WWW.example.");
    check("del www A", NOERROR, "7 -> 8\n- www.example. 60 A 192.0.2.1\n- www.example. 60 A 192.0.2.2");
    check(
        "del www",
        NOERROR,
        "7 -> 8
         - www.example. 60 A 192.0.2.1
         - www.example. 60 A 192.0.2.2
         - www.example. 60 TXT \"web\"",
    );
    check("del sub NS ns.sub", NOERROR, "7 -> 8\n- sub.example. 60 NS ns.sub.example.");
    // The apex keeps SOA and its last NS.
    check("del @ SOA", NOERROR, "");
    check("del @ NS", NOERROR, "");
    check("del @ NS ns", NOERROR, "");
    check("del @ SOA ns hostmaster 7 3600 600 86400 60", NOERROR, "");
    check("add @ 60 MX 1 ns\nadd @ 60 TXT x\ndel @", NOERROR, "");
    check(
        "add @ 60 NS ns2\ndel @ NS ns\ndel @ NS ns2",
        NOERROR,
        "7 -> 8\n- example. 60 NS ns.example.\n+ example. 60 NS ns2.example.",
    );
    // In their order.
    check("add new 60 A 192.0.2.9\ndel new", NOERROR, "");
    check(
        "del www A\nadd www 60 A 192.0.2.2\nadd www 60 A 192.0.2.8",
        NOERROR,
        "7 -> 8\n- www.example. 60 A 192.0.2.1\n+ www.example. 60 A 192.0.2.8",
    );
    check(
        "del www\nadd www 60 CNAME ns",
        NOERROR,
        "7 -> 8
         - www.example. 60 A 192.0.2.1
         - www.example. 60 A 192.0.2.2
         - www.example. 60 TXT \"web\"
         + www.example. 60 CNAME ns.example.",
    );
}

/// 3.4.2.2, 3.6.
#[test]
fn soa_records() {
    let soa = |serial: u32| format!("add @ 60 SOA ns hostmaster {serial} 3600 600 86400 60");
    check(&soa(100), NOERROR, "7 -> 100");
    check(
        &format!("{}\nadd new 60 A 192.0.2.9", soa(100)),
        NOERROR,
        "7 -> 100\n+ new.example. 60 A 192.0.2.9",
    );
    check(&soa(7), NOERROR, "");
    check(&soa(6), NOERROR, "");
    check(&soa(7 + (1 << 31)), NOERROR, "");
    check(&soa(6 + (1 << 31)), NOERROR, "7 -> 2147483654");
    check(&soa(u32::MAX), NOERROR, "");
    check(&format!("{}\n{}", soa(100), soa(50)), NOERROR, "7 -> 100");
    check("add www 60 SOA ns hostmaster 100 3600 600 86400 60", NOERROR, "");
    check(&format!("{}\nadd new 60 A 192.0.2.9", soa(7)), NOERROR, "7 -> 8\n+ new.example. 60 A 192.0.2.9");
}

/// 3.4.1, and all or nothing.
#[test]
fn what_has_another_form() {
    let any = |class, ttl, rtype, rdata: &[u8]| {
        let mut message = message("add new 60 A 192.0.2.9");
        message.push(2, &name("www"), (rtype, class, ttl), rdata);
        message
    };
    let prerequisite = |class, ttl, rtype, rdata: &[u8]| {
        let mut message = Message::new();
        message.push(1, &name("www"), (rtype, class, ttl), rdata);
        message.line("add new 60 A 192.0.2.9");
        message
    };
    let a = &[192, 0, 2, 1][..];
    for (message, expected) in [
        (any(class::IN, 0, rtype::ANY, &[]), FORMERR),
        (any(class::IN, 0, rtype::AXFR, &[]), FORMERR),
        (any(class::IN, 0, rtype::TSIG, &[]), FORMERR),
        (any(class::IN, 0, rtype::OPT, &[]), FORMERR),
        (any(class::IN, 0, 0, &[]), FORMERR),
        (any(class::IN, 0, rtype::A, &[1, 2, 3]), FORMERR),
        (any(class::ANY, 1, rtype::A, &[]), FORMERR),
        (any(class::ANY, 0, rtype::A, a), FORMERR),
        (any(class::ANY, 0, rtype::MAILB, &[]), FORMERR),
        (any(class::NONE, 1, rtype::A, a), FORMERR),
        (any(class::NONE, 0, rtype::ANY, &[]), FORMERR),
        (any(class::NONE, 0, rtype::MAILA, &[]), FORMERR),
        (any(class::CH, 0, rtype::A, a), FORMERR),
        (any(class::NONE, 0, rtype::A, &[]), NOERROR),
        (prerequisite(class::ANY, 1, rtype::A, &[]), FORMERR),
        (prerequisite(class::ANY, 0, rtype::A, a), FORMERR),
        (prerequisite(class::NONE, 0, rtype::A, a), FORMERR),
        (prerequisite(class::IN, 1, rtype::A, a), FORMERR),
        (prerequisite(class::CH, 0, rtype::A, a), FORMERR),
        (prerequisite(class::IN, 0, rtype::ANY, &[]), FORMERR),
    ] {
        let pack = pack(&records(ZONE));
        let mut draft = Draft::new(view(&pack)).unwrap();
        let applied = match Request::read(message.octets()) {
            Ok(request) => draft.update(&request, &somebody(), &terms(None)).unwrap(),
            Err(failure) => Applied::Failed(failure),
        };
        let rcode = if let Applied::Failed(failure) = applied { failure.rcode() } else { NOERROR };
        assert_eq!(rcode, expected, "{:02x?}", message.octets());
        let change = draft.into_change(SerialStyle::Increment, NOW);
        assert_eq!(change.is_ok(), expected == NOERROR, "all or nothing");
    }
    check("add new 60 A 192.0.2.9\nadd www.other. 60 A 192.0.2.9", NOTZONE, "");
}

#[test]
fn messages_that_are_no_updates() {
    let read = |message: &[u8]| Request::read(message).err().map(|failure| (failure.why, failure.rcode()));
    let of_zone = |qtype, qclass| Message::of_zone(&name("@"), qtype, qclass).octets().to_vec();
    assert_eq!(read(&of_zone(rtype::SOA, class::IN)), None);
    assert_eq!(read(&of_zone(rtype::A, class::IN)), Some((Why::ZoneSection, FORMERR)));
    assert_eq!(read(&of_zone(rtype::SOA, class::CH)), Some((Why::ZoneClass, rcode::NOTAUTH)));
    let mut none = of_zone(rtype::SOA, class::IN);
    none[5] = 0;
    none.truncate(12);
    assert_eq!(read(&none), Some((Why::ZoneSection, FORMERR)));
    let mut response = of_zone(rtype::SOA, class::IN);
    response[2] |= 0x80;
    assert_eq!(read(&response), Some((Why::NoUpdate, FORMERR)));
    // Cut off anywhere.
    let whole = message("yx www A 192.0.2.1\nadd new 60 MX 1 mail\ndel www");
    for end in 0..whole.octets().len() {
        assert_eq!(read(&whole.octets()[..end]).map(|(_, rcode)| rcode), Some(FORMERR), "{end}");
    }
}

/// 3.7, and what journal.md says of a commit.
#[test]
fn updates_of_a_commit() {
    let pack = pack(&records(ZONE));
    let mut draft = Draft::new(view(&pack)).unwrap();
    assert_eq!(apply(&mut draft, "add one 60 A 192.0.2.1"), NOERROR);
    // Each sees what those before did, and what fails leaves nothing.
    assert_eq!(apply(&mut draft, "yx one A 192.0.2.1\nadd one 90 A 192.0.2.2"), NOERROR);
    assert_eq!(apply(&mut draft, "nx one\nadd one 60 A 192.0.2.3"), YXDOMAIN);
    assert_eq!(
        apply(
            &mut draft,
            "del one\ndel www\nadd @ 60 MX 1 ns\nadd www 60 A 192.0.2.7\nadd one 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 @ AAAA"
        ),
        REFUSED
    );
    assert_eq!(apply(&mut draft, "yx one A 192.0.2.1\nyx one A 192.0.2.2\nyx www TXT\nnx @ MX"), NOERROR);
    // One with an SOA record of its own is a version of its own.
    let own = message("add @ 60 SOA ns hostmaster 50 3600 600 86400 60\nadd two 60 A 192.0.2.2");
    let applied = draft.update(&own.request(), &somebody(), &terms(None)).unwrap();
    assert_eq!(applied, Applied::CommitFirst);
    let change = draft.into_change(SerialStyle::Date, NOW).unwrap();
    assert_eq!(
        text(&change),
        "7 -> 2026112200\n+ one.example. 90 A 192.0.2.1\n+ one.example. 90 A 192.0.2.2"
    );
    let mut draft = Draft::new(view(&pack)).unwrap();
    assert_eq!(draft.update(&own.request(), &somebody(), &terms(None)), Ok(Applied::Done));
    let next = message("add three 60 A 192.0.2.2").request();
    assert_eq!(draft.update(&next, &somebody(), &terms(None)), Ok(Applied::CommitFirst));
    let change = draft.into_change(SerialStyle::Increment, NOW).unwrap();
    assert_eq!(text(&change), "7 -> 50\n+ two.example. 60 A 192.0.2.2");
    // One that was undone leaves no version of its own.
    let mut draft = Draft::new(view(&pack)).unwrap();
    let bad = "add @ 60 SOA ns hostmaster 50 3600 600 86400 60\nadd @ 60 NSEC3PARAM 1 0 0 -";
    assert_eq!(apply(&mut draft, bad), REFUSED);
    assert_eq!((draft.has_own_soa(), draft.serial(), draft.is_unchanged()), (false, 7, true));
}

/// Names in messages are compressed, in RDATA too (RFC 1035 4.1.4).
#[test]
fn names_are_expanded() {
    let mut message = Message::of_zone(&name("@"), rtype::SOA, class::IN).octets().to_vec();
    message[9] = 1;
    message.extend(b"\x02Mx\xc0\x0c\0\x0f\0\x01\0\0\0\x3c\0\x07\0\x01\x02in\xc0\x19");
    let pack = pack(&records(ZONE));
    let mut draft = Draft::new(view(&pack)).unwrap();
    let request = Request::read(&message).unwrap();
    assert_eq!(draft.update(&request, &somebody(), &terms(None)), Ok(Applied::Done));
    let change = draft.into_change(SerialStyle::Increment, NOW).unwrap();
    assert_eq!(text(&change), "7 -> 8\n+ mx.example. 60 MX 1 in.Mx.example.");
}

/// What a DHCP server does for its clients (RFC 4703 5.3).
#[test]
fn names_of_dhcp_clients() {
    let pack = pack(&records(ZONE));
    let mut draft = Draft::new(view(&pack)).unwrap();
    let id = "DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=";
    let other = "DHCID AAEBOSD+XR3Os/0LozeXVqcNc7FwCfQdWL3b/NaiUDlW2No=";
    // 5.3.1: the name is not in use.
    let first = |name: &str, id: &str| format!("nx {name}\nadd {name} 60 A 192.0.2.7\nadd {name} 60 {id}");
    assert_eq!(apply(&mut draft, &first("client", id)), NOERROR);
    assert_eq!(apply(&mut draft, &first("client", other)), YXDOMAIN);
    assert_eq!(apply(&mut draft, &first("www", id)), YXDOMAIN);
    // 5.3.2: it is, by the same client or another.
    let again = |name: &str, id: &str| format!("yx {name} {id}\ndel {name} A\nadd {name} 60 A 192.0.2.8");
    assert_eq!(apply(&mut draft, &again("client", id)), NOERROR);
    assert_eq!(apply(&mut draft, &again("client", other)), NXRRSET);
    assert_eq!(apply(&mut draft, &again("www", id)), NXRRSET);
    // 5.5: the address goes, and then the name if nothing else is there.
    assert_eq!(apply(&mut draft, &format!("yx client {id}\ndel client A 192.0.2.8")), NOERROR);
    assert_eq!(
        apply(&mut draft, &format!("yx client {id}\nnx client A\nnx client AAAA\ndel client")),
        NOERROR
    );
    assert_eq!(draft.into_change(SerialStyle::Increment, NOW).err(), Some(NoChange::Nothing));
}
