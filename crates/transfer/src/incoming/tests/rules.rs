//! RFC 5936 2.2, RFC 1995 4, and the attacks on transfers that others had to mend.

use super::super::{Fault, Kind, Limit, Limits, Outcome, Place, Soa, Step, Unreachable};
use super::kit::*;
use crate::incoming::{Incoming, Memory, Sink, Spool, Stop};
use wire::header::{AA, QR, TC};
use wire::iana::{class, rcode, rtype};
use wire::message;
use wire::render::Section;
use zonefile::rdata;

fn whole(rows: &[Row]) -> Vec<Vec<u8>> {
    vec![script(Kind::Axfr).with(rows)]
}

fn differences(rows: &[Row]) -> Vec<Vec<u8>> {
    vec![script(Kind::Ixfr).with(rows)]
}

#[test]
fn all_of_a_zone() {
    let rows = [soa(7), ns("example", "ns.example"), a("ns.example", 1), a("NS.Example", 2)];
    let sent = [&rows[..], &[soa(7)]].concat();
    let (found, list) = done(axfr(), &whole(&sent));
    assert_eq!((found.outcome, found.counts.records, found.is_over), (Outcome::Whole, 5, true));
    assert_eq!(found.soa, Some(Soa { serial: 7, refresh: 3_600, retry: 900, expire: 604_800 }));
    assert_eq!(list.0, rows);
}

/// One record a message, later messages without question, as old servers send (RFC 5936 2.2.1).
#[test]
fn a_record_a_message() {
    let mut messages = whole(&[soa(7)]);
    let later = Script { question: None, ..script(Kind::Axfr) };
    messages.extend((0..50).map(|number| later.with(&[a("b.example", number)])));
    messages.push(later.with(&[soa(7)]));
    assert_eq!(done(axfr(), &messages).1.0.len(), 51);
}

#[test]
fn expire_option() {
    let script = Script { expire: Some(77), ..script(Kind::Axfr) };
    assert_eq!(done(axfr(), &[script.with(&[soa(7), soa(7)])]).0.expire, Some(77));
}

#[test]
fn differences_one_by_one() {
    let sent = [
        soa(9),
        soa(5),
        a("a.example", 1),
        soa(7),
        a("a.example", 2),
        a("b.example", 3),
        soa(7),
        a("b.example", 3),
        soa(9),
        soa(9),
    ];
    let (found, list) = done(ixfr(5), &differences(&sent));
    let Outcome::Changes(changes) = found.outcome else { panic!("{found:?}") };
    let serials: Vec<_> =
        changes.iter().map(|change| (change.serial_before(), change.serial_after())).collect();
    assert_eq!((serials, list.0.len(), found.is_over), (vec![(5, 7), (7, 9)], 0, true));
    let counts = |records: &zone::Records| records.iter().count();
    assert_eq!((counts(changes[0].removed()), counts(changes[0].added())), (2, 3));
    assert_eq!((counts(changes[1].removed()), counts(changes[1].added())), (2, 1));
}

/// Several versions as one difference; serials across zero; cut anywhere.
#[test]
fn condensed_differences_in_many_messages() {
    let sent = [soa(3), soa(u32::MAX), a("a.example", 1), soa(3), a("a.example", 2), soa(3)];
    for cut in 1..sent.len() {
        let messages = [script(Kind::Ixfr).with(&sent[..cut]), script(Kind::Ixfr).with(&sent[cut..])];
        let (found, _) = done(ixfr(u32::MAX), &messages);
        let Outcome::Changes(changes) = found.outcome else { panic!("{found:?}") };
        assert_eq!((changes.len(), changes[0].serial_before(), changes[0].serial_after()), (1, u32::MAX, 3));
    }
}

#[test]
fn all_of_a_zone_in_place_of_differences() {
    let sent = [soa(9), a("a.example", 1), soa(9)];
    let (found, list) = done(ixfr(5), &differences(&sent));
    assert_eq!((found.outcome, list.0.len()), (Outcome::Whole, 2));
    // A zone of its SOA record alone.
    assert_eq!(done(ixfr(5), &differences(&[soa(9), soa(9)])).1.0, [soa(9)]);
}

#[test]
fn one_soa_record() {
    for question in [ixfr, probe] {
        let sent = [script(question(0).kind).with(&[soa(7)])];
        assert_eq!(done(question(7), &sent).0.outcome, Outcome::Current);
        assert_eq!(done(question(9), &sent).0.outcome, Outcome::Behind);
    }
    assert_eq!(done(probe(5), &[script(Kind::Soa).with(&[soa(7)])]).0.outcome, Outcome::Newer);
    // In a stream the others follow; in a datagram they do not.
    let sent = differences(&[soa(7)]);
    assert_eq!(run(ixfr(5), &sent).unwrap().0, Step::More);
    let over_udp = crate::incoming::Question { is_udp: true, ..ixfr(5) };
    assert_eq!(done(over_udp.clone(), &sent).0.outcome, Outcome::Newer);
    let cut = Script { flags: QR | AA | TC, ..script(Kind::Ixfr) }.with(&[]);
    assert_eq!(done(over_udp.clone(), &[cut]).0.outcome, Outcome::Newer);
    assert_eq!(fault(over_udp, &differences(&[soa(7), soa(5)])), Fault::Truncated);
}

/// A primary that is behind sends all it has, and nothing of it counts.
#[test]
fn a_primary_behind_sends_all() {
    let (found, _) = done(ixfr(9), &differences(&[soa(7), a("a.example", 1), soa(7)]));
    assert_eq!(found.outcome, Outcome::Behind);
    let (found, _) = done(ixfr(9), &differences(&[soa(7), a("a.example", 1)]));
    assert_eq!((found.outcome, found.is_over), (Outcome::Behind, false));
}

#[test]
fn probes() {
    let lame = Script { flags: QR, ..script(Kind::Soa) };
    assert_eq!(fault(probe(5), &[lame.with(&[soa(7)])]), Fault::NotAuthoritative);
    assert_eq!(fault(probe(5), &[script(Kind::Soa).with(&[])]), Fault::NoSoa);
    let below = Script { section: Section::Authority, ..script(Kind::Soa) };
    assert_eq!(fault(probe(5), &[below.with(&[soa(7)])]), Fault::NoSoa);
}

/// Features.md 2.1: SOA in the midst of a zone.
#[test]
fn soa_in_the_midst() {
    let sent = [soa(7), a("a.example", 1), soa(8), a("b.example", 1), soa(7)];
    assert_eq!(fault(axfr(), &whole(&sent)), Fault::OtherSoa { found: 8, first: 7 });
    // The end of the zone changed with the same serial.
    let mut other = soa(7);
    *other.3.last_mut().unwrap() ^= 1;
    assert_eq!(
        fault(axfr(), &whole(&[soa(7), a("a.example", 1), other])),
        Fault::OtherSoa { found: 7, first: 7 }
    );
    let mut below = soa(7);
    below.0 = name("a.example");
    assert_eq!(fault(axfr(), &whole(&[soa(7), below])), Fault::SoaOwner);
    assert_eq!(fault(axfr(), &whole(&[soa(7), soa(5)])), Fault::OtherSoa { found: 5, first: 7 });
}

/// Features.md 2.1: records of other classes, and out of the zone.
#[test]
fn records_of_others() {
    let chaos = Script { class: class::CH, ..script(Kind::Axfr) };
    assert_eq!(fault(axfr(), &[chaos.with(&[soa(7)])]), Fault::Class(class::CH));
    let outside = [soa(7), a("example.org", 1), a("notexample", 1), a("a.example", 1), a("org", 1), soa(7)];
    let (found, list) = done(axfr(), &whole(&outside));
    assert_eq!((found.counts.out_of_zone, list.0), (3, vec![soa(7), a("a.example", 1)]));
    assert_eq!(fault(axfr(), &whole(&[a("org", 1), soa(7)])), Fault::NoSoa);
    let sent = [soa(9), soa(5), a("org", 1), soa(9), a("org", 2), soa(9)];
    let Outcome::Changes(changes) = done(ixfr(5), &differences(&sent)).0.outcome else { panic!() };
    assert_eq!(changes[0].added().iter().count(), 1);
}

/// Features.md 2.1: malformed SVCB, APL and HIP; types that no zone has.
#[test]
fn data_of_the_wrong_form() {
    let with =
        |rtype, rdata: &[u8]| fault(axfr(), &whole(&[soa(7), (name("a.example"), rtype, 1, rdata.to_vec())]));
    for (rtype, rdata) in [
        (rtype::SVCB, &b"\0\x01\0\0\x03\0\x01"[..]),
        (rtype::APL, b"\0\x01\x20\x08"),
        (rtype::HIP, b"\x10\x02\0\x04abc"),
        (rtype::A, b"\x01\x02\x03"),
        (rtype::TXT, b"\x05abc"),
        (rtype::OPT, b""),
        (rtype::ANY, b""),
        (rtype::TSIG, b""),
        (rtype::IXFR, b""),
        (0, b""),
    ] {
        let found = with(rtype, rdata);
        assert!(
            matches!(found, Fault::Rdata(of, _) if of == rtype) || matches!(found, Fault::Message(_)),
            "{rtype}: {found:?}"
        );
    }
    assert_eq!(with(rtype::ANY, b""), Fault::Rdata(rtype::ANY, rdata::Fault::MetaType));
    // An SOA record whose numbers are cut off.
    let mut short = soa(7);
    short.3.truncate(20);
    assert!(matches!(fault(axfr(), &whole(&[short])), Fault::Rdata(..) | Fault::Message(_)));
}

#[test]
fn what_follows_the_end() {
    let sent = [soa(7), a("a.example", 1), soa(7), a("b.example", 1)];
    assert_eq!(fault(axfr(), &whole(&sent)), Fault::AfterEnd);
    let sent = [soa(9), soa(5), soa(9), soa(9), soa(9)];
    assert_eq!(fault(ixfr(5), &differences(&sent)), Fault::AfterEnd);
    let mut octets = whole(&[soa(7), soa(7)]);
    octets[0].push(0);
    assert_eq!(fault(axfr(), &octets), Fault::TrailingOctets);
    // Nothing is taken after the end, or after a fault.
    let mut incoming = Incoming::new(axfr(), None, Limits::default(), 0);
    let messages = whole(&[soa(7), soa(7)]);
    assert!(matches!(
        incoming.message(&messages[0], Default::default(), &mut List::default()),
        Ok(Step::Done(_))
    ));
    let again = incoming.message(&messages[0], Default::default(), &mut List::default());
    assert_eq!(again.unwrap_err().fault, Fault::AfterEnd);
}

#[test]
fn heads() {
    let good = || script(Kind::Axfr);
    let rows = [soa(7), soa(7)];
    for (script, expected) in [
        (Script { id: 1, ..good() }, Fault::Id),
        (Script { flags: AA, ..good() }, Fault::NotResponse),
        (Script { flags: QR | AA | 0x2000, ..good() }, Fault::NotResponse),
        (Script { flags: QR | AA | TC, ..good() }, Fault::Truncated),
        (Script { flags: QR | 5, ..good() }, Fault::Rcode(rcode::REFUSED)),
        (Script { question: None, ..good() }, Fault::NoQuestion),
        (Script { question: Some((name("example"), rtype::IXFR, 1)), ..good() }, Fault::OtherQuestion),
        (Script { question: Some((name("example"), rtype::AXFR, 3)), ..good() }, Fault::OtherQuestion),
        (Script { question: Some((name("org"), rtype::AXFR, 1)), ..good() }, Fault::OtherQuestion),
    ] {
        assert_eq!(fault(axfr(), &[script.with(&rows)]), expected);
    }
    let upper = Script { question: Some((name("EXAMPLE"), rtype::AXFR, 1)), ..good() };
    done(axfr(), &[upper.with(&rows)]);
    let mut two = good().with(&rows);
    two[5] = 2;
    assert_eq!(fault(axfr(), &[two]), Fault::Message(message::Error::Counts));
    assert_eq!(fault(axfr(), &[good().with(&[])]), Fault::Empty);
    // A few between others move nothing, and harm nobody.
    let empty = || Script { question: None, ..good() }.with(&[]);
    done(axfr(), &[good().with(&rows[..1]), empty(), empty(), good().with(&rows[..1])]);
    let later: Vec<_> = [good().with(&rows[..1])].into_iter().chain((0..9).map(|_| empty())).collect();
    assert_eq!(fault(axfr(), &later), Fault::Empty);
}

/// A server that does not know this version of EDNS says so in the OPT record.
#[test]
fn upper_half_of_the_response_code() {
    let mut octets = Script { expire: Some(0), ..script(Kind::Axfr) }.with(&[]);
    let ttl = octets.len() - 8 - 2 - 4;
    octets[ttl] = 1;
    assert_eq!(fault(axfr(), &[octets]), Fault::Rcode(rcode::BADVERS));
}

#[test]
fn chains_that_do_not_fit() {
    let chain = |found, expected| Fault::Chain { found, expected };
    for (sent, expected) in [
        (vec![soa(9), soa(6), soa(9), soa(9)], chain(6, 5)),
        (vec![soa(9), soa(5), soa(7), soa(8), soa(9), soa(9)], chain(8, 7)),
        (vec![soa(9), soa(5), soa(7), soa(9)], chain(9, 7)),
        (vec![soa(9), soa(5), soa(4)], Fault::Backwards { before: 5, after: 4 }),
        (vec![soa(9), soa(5), soa(5)], Fault::Backwards { before: 5, after: 5 }),
        // Round and round.
        (vec![soa(9), soa(5), soa(7), soa(7), soa(5)], Fault::Backwards { before: 7, after: 5 }),
        (vec![soa(9), soa(5), soa(11), soa(9)], chain(9, 11)),
    ] {
        assert_eq!(fault(ixfr(5), &differences(&sent)), expected, "{sent:?}");
    }
}

/// Features.md 2.1: records that go on for ever.
#[test]
fn limits() {
    let rows: Vec<_> = (0..100).map(|number| a("a.example", number)).collect();
    let of = |limits, question, first: &[Row]| {
        let messages = [script(question).with(&[first, &rows].concat()), script(question).with(&rows)];
        let question = if question == Kind::Axfr { axfr() } else { ixfr(5) };
        run_within(question, limits, &messages).unwrap_err()
    };
    let limits = Limits { records: 150, ..Limits::default() };
    let Stop { fault, place } = of(limits, Kind::Axfr, &[soa(7)]);
    assert_eq!((fault, place.message), (Fault::Limit(Limit::Records), 2));
    let limits = Limits { octets: 3_000, ..Limits::default() };
    assert_eq!(of(limits, Kind::Axfr, &[soa(7)]).fault, Fault::Limit(Limit::Octets));
    let limits = Limits { difference_octets: 3_000, ..Limits::default() };
    assert_eq!(of(limits, Kind::Ixfr, &[soa(7), soa(5)]).fault, Fault::Limit(Limit::Differences));
    // Sequences without records cost too.
    let mut rows = vec![soa(u32::MAX / 2)];
    rows.extend((6..106).flat_map(|serial| [soa(serial - 1), soa(serial)]));
    let limits = Limits { difference_octets: 10_000, ..Limits::default() };
    let found = run_within(ixfr(5), limits, &differences(&rows)).unwrap_err();
    assert_eq!(found.fault, Fault::Limit(Limit::Differences));
}

#[test]
fn words() {
    let text = |fault, message, octet| Stop { fault, place: Place { message, octet } }.to_string();
    assert_eq!(text(Fault::Rcode(rcode::REFUSED), 1, 0), "says REFUSED");
    assert_eq!(text(Fault::Class(class::CH), 3, 29), "sent a record of class CH (message 3, octet 29)");
    assert_eq!(text(Fault::Unreachable(Unreachable::Silent), 0, 0), "does not answer");
    let bad = text(Fault::Rdata(rtype::A, rdata::Fault::TrailingOctets), 1, 40);
    assert!(bad.starts_with("sent a record of type A with wrong data: "), "{bad}");
}

/// One record that comes again and again, in order and between others, takes the room of one, in memory and in storage.
#[test]
fn duplicates_take_no_room() {
    let apex = name("example");
    let mut spool = Spool::new(&apex, 1 << 20, Memory::new(1 << 20));
    let rows = [soa(1), ns("example", "ns.b.example"), a("x.example", 1), a("y.example", 2)];
    for number in 0..400_000 {
        let (owner, rtype, ttl, rdata) = &rows[number % rows.len()];
        spool.record(owner, false, *rtype, *ttl, rdata).unwrap();
    }
    assert!(spool.run_count() > 8, "{}", spool.run_count());
    // Room for these four and no more.
    let contents = spool.finish(2_000).unwrap();
    assert_eq!(contents.nodes().map(|node| node.rrsets().count()).collect::<Vec<_>>(), [2, 1, 1]);
}
