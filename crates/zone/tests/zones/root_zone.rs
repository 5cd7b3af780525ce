//! The signed root zone goes into a pack and comes out of it unchanged.
use wire::sort_key::KEY_OCTETS_MAX;
use wire::{Name, NameBuf, SortKey};
use zone::contents::SourcePosition;
use zone::{Contents, ContentsBuilder, Flags, MatchKind, Pack, PackBuilder, TextStamp, ZoneView};

fn contents() -> Contents {
    let text = include_bytes!("../../../../data/root.zone");
    let mut builder = ContentsBuilder::new(Name::root());
    let mut sink = |record: &zonefile::Record<'_>| {
        let position = SourcePosition { file: record.position.file, line: record.position.line };
        builder
            .push(record.owner, record.same_owner, record.rtype, record.ttl, record.rdata, position)
            .unwrap();
        Ok(())
    };
    let source = zonefile::Source { name: "root.zone".into(), input: Box::new(&text[..]) };
    let summary =
        zonefile::read(source, &zonefile::Options::new(Name::root()), &mut zonefile::NoIncludes, &mut sink);
    assert_eq!(summary.unwrap().records, 24_877);
    builder.finish()
}

#[test]
fn nothing_is_lost_or_changed() {
    let contents = contents();
    let mut builder = PackBuilder::new(11);
    builder.add_zone(&contents, TextStamp::default()).unwrap();
    let pack = Pack::open(builder.finish().unwrap()).unwrap();
    let zone = ZoneView::new(&pack, 0).unwrap();
    assert_eq!(zone.row().record_count, 24_877);
    assert_eq!(zone.nodes().count(), contents.node_count());
    let mut records = 0;
    for (node, expected) in zone.nodes().zip(contents.nodes()) {
        let owner = expected.name();
        let mut key = [0; 512];
        let length = node.copy_key(&mut key);
        assert_eq!(&key[..length], expected.key(), "{owner}");
        assert_eq!(zone.find(expected.key()).unwrap().number(), node.number());
        let kept = Flags::APEX.0 | Flags::CUT.0 | Flags::OCCLUDED.0 | Flags::EMPTY.0 | Flags::PARENT.0;
        assert_eq!(node.flags().0 & kept, expected.flags().0 & kept, "{owner}");
        for set in node.rrsets() {
            let source = expected.rrset(set.rtype()).unwrap();
            assert_eq!(set.ttl(), source.ttl());
            let found = set.rdata(&owner, zone.apex()).unwrap();
            let lower = |rdata: &[u8]| rdata.to_ascii_lowercase();
            assert!(
                found.iter().map(|rdata| lower(rdata)).eq(source.records().map(|record| lower(record.rdata)))
            );
            let signatures = expected.signatures(set.rtype());
            let signatures =
                signatures.iter().flat_map(|set| set.records()).map(|record| record.rdata.to_vec());
            assert!(set.signature_rdata().into_iter().eq(signatures));
            records += found.len() + set.signature_rdata().len();
        }
    }
    assert_eq!(records, contents.record_count());
}

#[test]
fn the_covering_nsec_is_found() {
    let contents = contents();
    let mut builder = PackBuilder::new(12);
    builder.add_zone(&contents, TextStamp::default()).unwrap();
    let pack = Pack::open(builder.finish().unwrap()).unwrap();
    let zone = ZoneView::new(&pack, 0).unwrap();
    let found = |key: &[u8]| {
        let mut found = [0; KEY_OCTETS_MAX];
        let octets = zone.nsec_at_or_before(key).unwrap().copy_key(&mut found);
        found[..octets].to_vec()
    };
    let mut last = Vec::new();
    for node in contents.nodes() {
        if node.rrset(wire::iana::rtype::NSEC).is_some() {
            last = node.key().to_vec();
        }
        assert_eq!(found(node.key()), last);
        // A name just after it, and before the next.
        let after = [node.key(), b"\x01\x01\0"].concat();
        assert_eq!(found(&after), last, "{}", node.name());
    }
    let key = SortKey::of(&"no-such-tld".parse::<NameBuf>().unwrap());
    assert_eq!(zone.walk(&key).unwrap().kind, MatchKind::Encloser);
}
