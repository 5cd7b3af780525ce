//! The fuzzer's way in: any octets as an update of zones with every corner.

use crate::draft::NoChange;
use crate::response::{RESPONSE_OCTETS_MAX, header_only, response};
use crate::sig0::Signature;
use crate::{Applied, Asker, Draft, Limits, Policy, Proof, Request, SerialStyle, Terms};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;
use wire::iana::rtype;
use wire::{Message, NameBuf, Transport};
use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Pack, PackBuilder, Records, TextStamp, ZoneView};

/// Zones with referrals, aliases, wildcards, without proofs and with both kinds of them; kept apart from the tests so that a finding stays one.
const ZONES: [(&str, &str); 4] = [
    (
        "plain.test.",
        "@ 60 SOA ns host 7 60 60 60 60\n@ 60 NS ns\nns 60 A 192.0.2.1\na.b 60 CNAME ns\n*.w 60 TXT x",
    ),
    ("example.", include_str!("../../../tests/data/zones/rfc4035.signed.zone")),
    ("nsec.test.", include_str!("../../../tests/data/zones/nsec.test.zone")),
    ("optout.test.", include_str!("../../../tests/data/zones/optout.test.zone")),
];
/// A time at which all of their signatures are valid.
const NOW: u64 = 1_800_000_000;

/// Owner, type, TTL and canonical RDATA of all records of a zone.
type Content = BTreeSet<(Vec<u8>, u16, u32, Vec<u8>)>;

fn zones() -> &'static (Pack, Vec<Content>, Policy) {
    static ALL: OnceLock<(Pack, Vec<Content>, Policy)> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut builder = PackBuilder::new(7);
        let mut contents = Vec::new();
        for (origin, text) in ZONES {
            let origin = NameBuf::from_text(origin).expect("a name");
            let mut zone = ContentsBuilder::new(&origin);
            for record in zonefile::records(text, &origin).expect("the zones are sound") {
                zone.push(
                    &record.owner,
                    false,
                    record.rtype,
                    record.ttl,
                    &record.rdata,
                    SourcePosition::default(),
                )
                .expect("in the zone");
            }
            builder.add_zone(&zone.finish(), TextStamp::default()).expect("zones fit");
        }
        let pack = Pack::open(builder.finish().expect("few names")).expect("as it was made");
        contents.extend(
            (0..ZONES.len() as u32).map(|number| content(&ZoneView::new(&pack, number).expect("there"))),
        );
        let rules =
            ["grant * wildcard *.w.plain.test. TXT A", "deny * name plain.test.", "grant * zonesub ANY"];
        (pack, contents, Policy::new(rules).expect("rules"))
    })
}

/// All records of a zone, as the zone has them.
fn content(view: &ZoneView<'_>) -> Content {
    let (mut all, mut crawl) = (Content::new(), zone::Crawl::default());
    while let Some(step) = crawl.next(view).expect("a sound pack") {
        let mut labels = [0; 255];
        let octets = step.owner.write_labels(&mut labels).expect("room");
        let owner = [&labels[..octets], view.apex().octets()].concat();
        let name = wire::Name::from_wire(&owner).expect("a name");
        let rtype = step.rrset.rtype();
        let mut push = |rtype: u16, mut rdata: Vec<u8>| {
            wire::rdata::fold(rtype, &mut rdata);
            all.insert((owner.clone(), rtype, step.rrset.ttl(), rdata));
        };
        step.rrset.rdata(name, view.apex()).expect("sound").into_iter().for_each(|rdata| push(rtype, rdata));
        step.rrset.signature_rdata().into_iter().for_each(|rdata| push(rtype::RRSIG, rdata));
    }
    all
}

fn set_of(records: &Records) -> Content {
    let all = records.iter().map(|record| {
        let mut rdata = record.rdata.to_vec();
        wire::rdata::fold(record.rtype, &mut rdata);
        (record.owner.octets().to_vec(), record.rtype, record.ttl, rdata)
    });
    all.collect()
}

/// Takes `data` as an update, and checks: what fails changes nothing, what is done takes away only what is there and adds only what is not, and
/// the answer can be read.
pub fn fuzz_update(data: &[u8]) {
    let (pack, contents, policy) = zones();
    let request = match Request::read(data) {
        Ok(request) => request,
        Err(failure) => {
            if let Some(answer) = header_only(data, &failure) {
                assert_eq!(answer[..2], data[..2], "the ID");
            }
            return;
        }
    };
    let mut views = (0..ZONES.len() as u32).filter_map(|number| ZoneView::new(pack, number));
    let view = views.find(|view| view.apex().eq_ignore_case(request.zone()));
    let view = view.unwrap_or_else(|| ZoneView::new(pack, 0).expect("there"));
    if let Ok(signature) = Signature::find(data) {
        assert!(signature.verify(&view, NOW).is_err(), "nobody has these keys");
    }
    let asker = Asker { address: IpAddr::V4(Ipv4Addr::LOCALHOST), transport: Transport::Tcp, key: None };
    for policy in [None, Some(policy)] {
        let terms = Terms { policy, limits: Limits::default(), now: NOW, proof: Proof::Here };
        let mut draft = Draft::new(view).expect("a sound zone");
        let applied = draft.update(&request, &asker, &terms).expect("a sound zone");
        let failure = match &applied {
            Applied::Failed(failure) => Some(failure),
            _ => None,
        };
        let answer = response(&request, failure, 1232);
        assert!(answer.len() <= RESPONSE_OCTETS_MAX);
        let read = Message::read(&answer).expect("our own answer");
        assert!(read.records().expect("our own answer").all(|record| record.is_ok()));
        let has_failed = failure.is_some();
        match draft.into_change(SerialStyle::UnixTime, NOW) {
            Ok(change) => {
                assert!(!has_failed, "{applied:?} changed {change:?}");
                let content = &contents[view.number() as usize];
                let (removed, added) = (set_of(change.removed()), set_of(change.added()));
                assert!(removed.is_subset(content), "not there: {:?}", removed.difference(content));
                let rest: Content = content.difference(&removed).cloned().collect();
                assert!(rest.is_disjoint(&added), "there already: {change:?}");
            }
            Err(NoChange::Nothing) => {}
            Err(NoChange::Damaged) => panic!("a sound zone"),
        }
    }
}
