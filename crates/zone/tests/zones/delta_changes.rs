//! Single changes of a zone: what is the same record, what is refused, what is raised.
use std::sync::Arc;
use wire::iana::rtype;
use wire::{NameBuf, SortKey};
use zone::catalog::PartSet;
use zone::change::Records;
use zone::contents::SourcePosition;
use zone::delta::{Due, MERGE_OCTETS_MIN, MERGE_PERCENT, MergeFrom, PAST_OCTETS_MIN, Refused};
use zone::{Change, ContentsBuilder, DeltaWriter, Node, Pack, PackBuilder, TextStamp};

type Record<'r> = (&'r str, u16, u32, &'r [u8]);

fn soa(serial: u32) -> Vec<u8> {
    [&b"\x02NS\x07Example\0\x04host\0"[..], &serial.to_be_bytes(), &[0; 16]].concat()
}

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn wire(text: &str) -> Vec<u8> {
    name(text).octets().to_vec()
}

/// A writer over a zone of these records.
fn writer(records: &[Record<'_>]) -> DeltaWriter {
    let mut contents = ContentsBuilder::new(&name("example."));
    let first = ("example.", rtype::SOA, 60, &soa(1)[..]);
    for (owner, rtype, ttl, rdata) in [first].iter().chain(records) {
        contents.push(&name(owner), false, *rtype, *ttl, rdata, SourcePosition::default()).unwrap();
    }
    let mut builder = PackBuilder::new(5);
    builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
    DeltaWriter::new(Arc::new(Pack::open(builder.finish().unwrap()).unwrap()), 0).unwrap()
}

/// Applies a change of these records to the next serial.
fn apply(writer: &mut DeltaWriter, removed: &[Record<'_>], added: &[Record<'_>]) -> Result<PartSet, Refused> {
    let serial = writer.newest().row().serial;
    let part = |serial, list: &[Record<'_>]| {
        let mut records = Records::default();
        records.push(&name("EXAMPLE."), rtype::SOA, 60, &soa(serial).to_ascii_lowercase());
        list.iter().for_each(|(owner, rtype, ttl, rdata)| records.push(&name(owner), *rtype, *ttl, rdata));
        records
    };
    let change = Change::new(part(serial, removed), part(serial + 1, added)).unwrap();
    writer.apply(&change).map(|applied| *applied.parts)
}

fn node<'w>(writer: &'w DeltaWriter, owner: &str) -> Option<Node<'w>> {
    let found = writer.newest().walk(&SortKey::of(&name(owner))).unwrap();
    (found.labels == name(owner).label_count()).then_some(found.node)
}

/// Answers that something is not there have all of the SOA record, and are kept beside another serial.
#[test]
fn another_soa_record_is_a_change_of_everything() {
    let mut writer = writer(&[("a.example.", rtype::A, 60, &[1; 4])]);
    assert_eq!(apply(&mut writer, &[], &[]), Ok(PartSet::NONE));
    let mut change = |before: (u32, &[u8]), after: (u32, &[u8])| {
        let part = |(ttl, rdata)| {
            let mut records = Records::default();
            records.push(&name("example."), rtype::SOA, ttl, rdata);
            records
        };
        let change = Change::new(part(before), part(after)).unwrap();
        *writer.apply(&change).unwrap().parts
    };
    let soa = |serial: u32, host: &str, minimum: u8| {
        let (host, numbers) = (wire(host), [&serial.to_be_bytes()[..], &[0; 15], &[minimum]].concat());
        [&b"\x02ns\x07example\0"[..], &host, &numbers].concat()
    };
    let versions = [
        (60, soa(2, "host.", 0)),
        (61, soa(3, "host.", 0)),
        (61, soa(4, "host.", 1)),
        (61, soa(5, "other.", 1)),
        (61, soa(6, "Other.", 1)),
    ];
    let parts = versions.windows(2).map(|pair| change((pair[0].0, &pair[0].1), (pair[1].0, &pair[1].1)));
    let is_everything: Vec<bool> = parts.map(PartSet::is_everything).collect();
    assert_eq!(is_everything, [true, true, true, false]);
}

/// Letters of names in RDATA do not tell records apart, be they in a pack, in the delta or in a change (RFC 4034 6.2).
#[test]
fn letters_do_not_count() {
    let (mixed, lower) = (wire("Ns1.Example."), wire("ns1.example."));
    let mx = |name: &str| [&[0, 10][..], &wire(name)].concat();
    let mut writer = writer(&[
        ("A.example.", rtype::NS, 60, &mixed),
        ("b.example.", rtype::MX, 60, &mx("Mail.B.Example.")),
        ("t.example.", rtype::TXT, 60, b"\x01A"),
    ]);
    assert_eq!(
        apply(&mut writer, &[], &[("a.example.", rtype::NS, 60, &lower)]),
        Err(Refused::AlreadyThere(1))
    );
    apply(&mut writer, &[("a.EXAMPLE.", rtype::NS, 1, &lower)], &[("a.example.", rtype::NS, 60, &mixed)])
        .unwrap();
    apply(&mut writer, &[("a.example.", rtype::NS, 60, &lower)], &[]).unwrap();
    apply(&mut writer, &[("b.example.", rtype::MX, 60, &mx("mail.b.example."))], &[]).unwrap();
    assert!(node(&writer, "a.example.").is_none() && node(&writer, "b.example.").is_none());
    assert_eq!(
        apply(&mut writer, &[("t.example.", rtype::TXT, 60, b"\x01a")], &[]),
        Err(Refused::NotThere(1))
    );
    assert_eq!(writer.newest().row().record_count, 2);
}

/// An RRset has the TTL of what came last; signatures go to their RRset when it comes, and stay when it goes.
#[test]
fn ttls_and_signatures() {
    let signature =
        |covered: u16| [&covered.to_be_bytes()[..], &[13, 1], &[0; 14], &wire("example."), &[9]].concat();
    let (of_a, of_txt) = (signature(rtype::A), signature(rtype::TXT));
    let mut writer = writer(&[
        ("a.example.", rtype::A, 300, &[1; 4]),
        ("a.example.", rtype::A, 300, &[2; 4]),
        ("a.example.", rtype::RRSIG, 300, &of_a),
        ("a.example.", rtype::RRSIG, 300, &of_txt),
    ]);
    apply(&mut writer, &[("a.example.", rtype::A, 300, &[1; 4])], &[("a.example.", rtype::A, 600, &[1; 4])])
        .unwrap();
    let set = |writer: &DeltaWriter, rtype| {
        let set = node(writer, "a.example.")?.rrset(rtype)?;
        Some((set.ttl(), set.is_signed(), set.rdata(&name("a.example."), &name("example.")).unwrap().len()))
    };
    assert_eq!(set(&writer, rtype::A), Some((600, true, 2)));
    let both = [("a.example.", rtype::A, 0, &[1; 4][..]), ("a.example.", rtype::A, 0, &[2; 4])];
    apply(&mut writer, &both, &[("a.example.", rtype::TXT, 30, b"\0")]).unwrap();
    assert_eq!((set(&writer, rtype::A), set(&writer, rtype::TXT)), (None, Some((30, true, 1))));
    assert_eq!(set(&writer, rtype::RRSIG).map(|(_, _, count)| count), Some(1), "that of A");
    apply(&mut writer, &[("a.example.", rtype::RRSIG, 0, &of_a)], &both[..1]).unwrap();
    assert_eq!((set(&writer, rtype::A), set(&writer, rtype::RRSIG)), (Some((0, false, 1)), None));
}

#[test]
fn what_is_refused_leaves_all_as_it_was() {
    let param = [1, 0, 0, 0, 0];
    let mut writer = writer(&[("a.example.", rtype::A, 60, &[1; 4])]);
    let new = ("b.example.", rtype::A, 60, &[1; 4][..]);
    let mut check = |removed: &[Record<'_>], added: &[Record<'_>], refused| {
        let mut all = vec![new];
        all.extend(added);
        assert_eq!(apply(&mut writer, removed, &all), Err(refused));
        assert!(node(&writer, "b.example.").is_none());
        assert_eq!((writer.newest().row().serial, writer.newest().row().node_count), (1, 2));
    };
    check(&[("a.example.", rtype::A, 60, &[2; 4])], &[], Refused::NotThere(1));
    check(&[("x.a.example.", rtype::A, 60, &[2; 4])], &[], Refused::NotThere(1));
    check(&[], &[("a.example.", rtype::A, 60, &[1; 4])], Refused::AlreadyThere(2));
    check(&[], &[("example.org.", rtype::A, 60, &[1; 4])], Refused::OutOfZone);
    check(&[], &[("example.", rtype::NSEC3PARAM, 60, &param)], Refused::NeedsPack);
    let signature = [&rtype::SOA.to_be_bytes()[..], &[13, 1], &[0; 14], &wire("example."), &[9]].concat();
    check(&[], &[("example.", rtype::RRSIG, 60, &signature)], Refused::NeedsPack);
    let texts: Vec<Vec<u8>> =
        (0..300u16).map(|at| [&[253][..], &[7; 251], &at.to_be_bytes()].concat()).collect();
    let large: Vec<Record<'_>> =
        texts.iter().map(|rdata| ("t.example.", rtype::TXT, 60, &rdata[..])).collect();
    check(&[], &large, Refused::TooLarge(rtype::TXT));
    let types: Vec<Record<'_>> = (1000..1900).map(|rtype| ("m.example.", rtype, 60, &[0][..])).collect();
    check(&[], &types, Refused::TooManyTypes);
    let from = MergeFrom { octets_min: MERGE_OCTETS_MIN, percent: MERGE_PERCENT };
    assert_eq!(writer.due(from, PAST_OCTETS_MIN), None::<Due>);
}

/// A merge is due by the share of the zone that has changed, and not before there are so many octets.
#[test]
fn merges_are_due_by_share() {
    let mut writer = writer(&[("a.example.", rtype::A, 60, &[1; 4])]);
    apply(&mut writer, &[], &[("b.example.", rtype::A, 60, &[1; 4])]).unwrap();
    let now = writer.octets() * 100 / writer.share();
    let due = |octets_min, percent| writer.due(MergeFrom { octets_min, percent }, PAST_OCTETS_MIN);
    assert_eq!((due(0, now - 1), due(0, now + 1)), (Some(Due::Merge), None));
    assert_eq!(due(writer.octets(), now - 1), None);
}

/// A delegation that comes with its own glue, and goes, is a matter of its own part; a server of another cut is one of all.
#[test]
fn delegations_raise_their_own_part() {
    let (own, other) = (wire("ns.sub.example."), wire("host.example."));
    let mut writer = writer(&[
        ("cut.example.", rtype::NS, 60, &other),
        ("host.example.", rtype::A, 60, &[1; 4]),
        ("*.w.example.", rtype::A, 60, &[1; 4]),
        ("wild.example.", rtype::NS, 60, &wire("x.w.example.")),
    ]);
    let glue = |writer: &DeltaWriter, cut: &str| {
        let (zone, cut) = (writer.newest(), node(writer, cut).unwrap());
        match zone.live_glue(&cut) {
            Some(live) => (true, live.count()),
            None => (false, cut.glue().map_or(0, Iterator::count)),
        }
    };
    let sub = [("sub.example.", rtype::NS, 60, &own[..]), ("ns.sub.example.", rtype::A, 60, &[9; 4])];
    let of = |key: &[u8]| PartSet::of_name(key);
    assert_eq!(apply(&mut writer, &[], &sub), Ok(of(b"sub\0")));
    assert_eq!((glue(&writer, "sub.example."), glue(&writer, "cut.example.")), ((true, 1), (false, 1)));
    assert_eq!(
        apply(&mut writer, &sub[1..], &[("ns.sub.example.", rtype::A, 60, &[8; 4])]),
        Ok(of(b"sub\0"))
    );
    let moved = [("host.example.", rtype::A, 60, &[1; 4][..])];
    assert!(apply(&mut writer, &moved, &[]).unwrap().is_everything());
    assert_eq!((glue(&writer, "cut.example."), glue(&writer, "wild.example.")), ((true, 0), (true, 1)));
    // The bit is set already; who kept a referral does not know.
    assert!(apply(&mut writer, &[], &moved).unwrap().is_everything());
    let wildcard = [("*.w.example.", rtype::A, 60, &[1; 4][..])];
    assert!(
        apply(&mut writer, &wildcard, &[("*.w.example.", rtype::A, 60, &[2; 4])]).unwrap().is_everything()
    );
}
