//! Signed zones take just those updates that leave them validly signed, as the checks of whole zones see it.
use crate::kit::sign::{Proof, Record, Signer, contents};
use crate::kit::*;
use change::failure::Unsigned;
use change::{Applied, Draft, SerialStyle, Why};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use wire::iana::{class, rtype};
use zone::check::{Options, Severity, check};
use zone::delta::DeltaWriter;
use zone::{Change, ZoneView};

/// Adds to a message what leads from one zone to another, in the order of RFC 2136 2.5: deletions, then additions.
fn difference(before: &[Record], after: &[Record]) -> Vec<(Record, u16)> {
    let set = |records: &[Record]| records.iter().map(key_of).collect::<BTreeSet<_>>();
    let (old, new) = (set(before), set(after));
    let gone = before.iter().filter(|record| !new.contains(&key_of(record)) && record.1 != rtype::SOA);
    let come = after.iter().filter(|record| !old.contains(&key_of(record)));
    let gone = gone.map(|record| (record.clone(), class::NONE));
    gone.chain(come.map(|record| (record.clone(), class::IN))).collect()
}

fn key_of(record: &Record) -> (String, u16, u32, Vec<u8>) {
    (record.0.to_string().to_lowercase(), record.1, record.2, record.3.clone())
}

fn message_of(entries: &[(Record, u16)]) -> Message {
    let mut message = Message::new();
    for ((owner, rtype, ttl, rdata), class) in entries {
        let ttl = if *class == class::IN { *ttl } else { 0 };
        message.push(2, owner, (*rtype, *class, ttl), rdata);
    }
    message
}

/// What comes of the entries; the zone afterwards if they are taken.
fn update(before: &[Record], entries: &[(Record, u16)]) -> Result<Vec<Record>, Why> {
    let pack = pack(before);
    let change = change_of(view(&pack), entries)?;
    Ok(change.map_or(before.to_vec(), |change| apply_change(before, &change)))
}

/// The change that the entries make.
fn change_of(view: ZoneView<'_>, entries: &[(Record, u16)]) -> Result<Option<Change>, Why> {
    let mut draft = Draft::new(view).unwrap();
    match draft.update(&message_of(entries).request(), &somebody(), &terms(None)).unwrap() {
        Applied::Done => Ok(draft.into_change(SerialStyle::Increment, NOW).ok()),
        Applied::Failed(failure) => Err(failure.why),
        Applied::Unproved | Applied::CommitFirst => panic!("commit first, or unproved"),
    }
}

fn apply_change(before: &[Record], change: &Change) -> Vec<Record> {
    let mut records: BTreeSet<_> = before.iter().map(key_of).collect();
    for record in change.removed().iter() {
        let key = (record.owner.to_string(), record.rtype, record.ttl, record.rdata.to_vec());
        assert!(records.remove(&key), "{key:?} was there");
    }
    for record in change.added().iter() {
        let key = (record.owner.to_string(), record.rtype, record.ttl, record.rdata.to_vec());
        assert!(records.insert(key), "it was not there");
    }
    records.into_iter().map(|(owner, rtype, ttl, rdata)| (name(&owner), rtype, ttl, rdata)).collect()
}

/// What is wrong with signatures and proofs of a zone.
fn faults(records: &[Record]) -> Vec<String> {
    let mut faults = Vec::new();
    check(&contents(records), &Options { now: Some(NOW), ..Options::default() }, &mut |finding| {
        let id = finding.check.id();
        let is_ours = ["rrsig-", "nsec", "denial-"].iter().any(|begin| id.starts_with(begin));
        if is_ours && finding.severity >= Severity::Error {
            faults.push(format!("{finding}"));
        }
    });
    faults
}

fn soa(serial: u32) -> String {
    format!("@ 60 SOA ns hostmaster {serial} 3600 600 86400 60")
}

const BASE: &str = "
    @      60 NS ns
    ns     60 A  192.0.2.53
    a      60 A  192.0.2.1
    b.c    60 A  192.0.2.2
    sub    60 NS ns.sub
    ns.sub 60 A  192.0.2.3
";

fn zone(serial: u32, text: &str) -> Vec<Record> {
    records(&format!("{}\n{text}", soa(serial)))
}

#[track_caller]
fn refused(before: &[Record], entries: &[(Record, u16)], expected: Unsigned) {
    assert_eq!(update(before, entries).err(), Some(Why::Signed(expected)));
}

#[test]
fn updates_bring_what_they_change() {
    let signer = Signer::new(7, 257);
    for proof in [Proof::Nsec, Proof::Nsec3 { opt_out: false }, Proof::Nsec3 { opt_out: true }] {
        let before = signer.zone(&zone(7, BASE), proof);
        assert_eq!(faults(&before), Vec::<String>::new());
        let more = signer.zone(&zone(8, &format!("{BASE}\nnew 60 A 192.0.2.9")), proof);
        let whole = difference(&before, &more);
        let after = update(&before, &whole).unwrap();
        assert_eq!(difference(&after, &more).len(), 0);
        // Without one of its parts.
        let without = |is_it: &dyn Fn(&Record) -> bool| -> Vec<_> {
            let part: Vec<_> = whole
                .iter()
                .filter(|(record, class)| *class == class::NONE || !is_it(record))
                .cloned()
                .collect();
            assert!(part.len() < whole.len());
            part
        };
        let covers = |record: &Record, covered: u16| {
            record.1 == rtype::RRSIG && record.3[..2] == covered.to_be_bytes()
        };
        refused(&before, &without(&|record| record.1 == rtype::SOA), Unsigned::Soa);
        refused(&before, &without(&|record| covers(record, rtype::A)), Unsigned::Missing(rtype::A));
        refused(&before, &without(&|record| covers(record, rtype::SOA)), Unsigned::Missing(rtype::SOA));
        let (proof_type, owner) = match proof {
            Proof::Nsec => (rtype::NSEC, name("new")),
            Proof::Nsec3 { .. } => (rtype::NSEC3, name("@")),
        };
        let is_proof =
            |record: &Record| record.1 == proof_type && (proof_type == rtype::NSEC3 || record.0 == owner);
        // Of NSEC3 all are left out, the changed one too: what covered the name says that it is not there.
        assert!(matches!(update(&before, &without(&is_proof)), Err(Why::Signed(_))));
        // A proof of nothing.
        let is_new = |record: &Record| {
            record.0 == name("new") && record.1 == rtype::A
                || record.0 == name("new") && covers(record, rtype::A)
        };
        refused(&before, &without(&is_new), Unsigned::StrayProof);
        // Signatures by another key, and of another time.
        let other = Signer::new(8, 257).zone(&zone(8, &format!("{BASE}\nnew 60 A 192.0.2.9")), proof);
        let entries: Vec<_> = difference(&before, &other)
            .into_iter()
            .filter(|(record, _)| record.1 != rtype::DNSKEY && !covers(record, rtype::DNSKEY))
            .collect();
        assert!(matches!(update(&before, &entries), Err(Why::Signed(Unsigned::Invalid(_)))));
        let pack = pack(&before);
        let mut draft = Draft::new(view(&pack)).unwrap();
        let late = change::Terms { now: u64::from(sign::EXPIRATION) + 1, ..terms(None) };
        let applied = draft.update(&message_of(&whole).request(), &somebody(), &late).unwrap();
        assert!(
            matches!(applied, Applied::Failed(failure) if matches!(failure.why, Why::Signed(Unsigned::Invalid(_))))
        );
        // What changes nothing needs nothing; a key may come, and not go.
        assert_eq!(update(&before, &difference(&before, &before)).unwrap().len(), before.len());
        let mut keys = zone(8, BASE);
        keys.push((name("@"), rtype::DNSKEY, 60, Signer::new(9, 256).key().to_vec()));
        let with_key = signer.zone(&keys, proof);
        assert!(update(&before, &difference(&before, &with_key)).is_ok());
        let again = signer.zone(&zone(9, BASE), proof);
        refused(&with_key, &difference(&with_key, &again), Unsigned::KeyGone);
    }
}

/// Signatures may be looked at elsewhere: until then nothing of the update is in the draft, and once it is said that they are right they are not looked at again.
#[test]
fn signatures_are_looked_at_elsewhere() {
    let signer = Signer::new(7, 257);
    let before = signer.zone(&zone(7, BASE), Proof::Nsec);
    let more = signer.zone(&zone(8, &format!("{BASE}\nnew 60 A 192.0.2.9")), Proof::Nsec);
    let (pack, entries) = (pack(&before), difference(&before, &more));
    let terms = |proof| change::Terms { proof, ..terms(None) };
    let (here, elsewhere, given) = (change::Proof::Here, change::Proof::Elsewhere, change::Proof::Given);
    let mut draft = Draft::new(view(&pack)).unwrap();
    let request = message_of(&entries).request();
    let mut update = |proof| draft.update(&request, &somebody(), &terms(proof)).unwrap();
    assert_eq!(update(elsewhere), Applied::Unproved);
    assert_eq!(update(here), Applied::Done);
    // The draft has an SOA record that was brought.
    assert_eq!(update(elsewhere), Applied::CommitFirst);
    let mut draft = Draft::new(view(&pack)).unwrap();
    assert_eq!(draft.update(&request, &somebody(), &terms(elsewhere)), Ok(Applied::Unproved));
    assert!(draft.is_unchanged() && !draft.has_own_soa());
    assert_eq!(draft.update(&request, &somebody(), &terms(given)), Ok(Applied::Done));
    let change = draft.into_change(SerialStyle::Increment, NOW).unwrap();
    assert_eq!(Some(change), change_of(view(&pack), &entries).unwrap());
    // What costs nothing to see is said at once.
    let without: Vec<_> = entries.iter().filter(|(record, _)| record.1 != rtype::SOA).cloned().collect();
    let mut draft = Draft::new(view(&pack)).unwrap();
    let applied = draft.update(&message_of(&without).request(), &somebody(), &terms(elsewhere));
    assert!(matches!(applied, Ok(Applied::Failed(failure)) if failure.why == Why::Signed(Unsigned::Soa)));
}

/// By which key the parent knows a zone is not known to us: none that signs the keys may be left out, whatever other keys sign them.
#[test]
fn who_signed_the_keys_signs_them() {
    let (known, other, new) = (Signer::new(7, 257), Signer::new(8, 256), Signer::new(9, 257));
    let with = |serial: u32, keys: &[&Signer]| {
        let mut all = zone(serial, BASE);
        all.extend(keys.iter().map(|key| (name("@"), rtype::DNSKEY, 60, key.key().to_vec())));
        all
    };
    let signs_keys =
        |record: &Record| record.1 == rtype::RRSIG && record.3[..2] == rtype::DNSKEY.to_be_bytes();
    // The zone with these keys beside the known one, signed by that; but its keys by these.
    let signed = |serial: u32, keys: &[&Signer], by: &[&Signer]| -> Vec<Record> {
        let all = known.zone(&with(serial, keys), Proof::Nsec);
        let unsigned: Vec<Record> = all.iter().filter(|record| record.1 != rtype::RRSIG).cloned().collect();
        let over_keys =
            by.iter().flat_map(|key| key.sign(unsigned.clone())).filter(|record| signs_keys(record));
        all.iter().filter(|record| !signs_keys(record)).cloned().chain(over_keys).collect()
    };
    let before = signed(7, &[&other], &[&known]);
    assert_eq!(faults(&before), Vec::<String>::new());
    let to = |after: &[Record]| difference(&before, after);
    for by in [&[&other][..], &[&new], &[&other, &new]] {
        let after = signed(8, &[&other, &new], by);
        assert_eq!(faults(&after), Vec::<String>::new(), "by itself it is signed");
        refused(&before, &to(&after), Unsigned::SignerGone);
    }
    for by in [&[&known][..], &[&known, &new]] {
        assert!(update(&before, &to(&signed(8, &[&other, &new], by))).is_ok());
    }
    // One of two that signed.
    let both = signed(7, &[&other], &[&known, &other]);
    for by in [&known, &other] {
        refused(&both, &difference(&both, &signed(8, &[&other], &[by])), Unsigned::SignerGone);
    }
}

/// What went or came below a zone cut that comes or goes is looked at too.
#[test]
fn zone_cuts_come_and_go() {
    let signer = Signer::new(7, 257);
    let plain = format!("{BASE}\nx.deep 60 A 192.0.2.7\ny.x.deep 60 A 192.0.2.8");
    let cut = format!("{plain}\ndeep 60 NS x.deep");
    for proof in [Proof::Nsec, Proof::Nsec3 { opt_out: false }, Proof::Nsec3 { opt_out: true }] {
        for (old, new) in [(&plain, &cut), (&cut, &plain)] {
            let before = signer.zone(&zone(7, old), proof);
            let after = signer.zone(&zone(8, new), proof);
            let whole = difference(&before, &after);
            let result = update(&before, &whole).unwrap();
            assert_eq!(difference(&result, &after).len() + difference(&after, &result).len(), 0);
            // Without what is to be done at a name that does not change itself.
            let is_below = |record: &Record| record.0 == name("y.x.deep");
            let part: Vec<_> = whole.iter().filter(|(record, _)| !is_below(record)).cloned().collect();
            assert!(part.len() < whole.len());
            assert!(matches!(update(&before, &part), Err(Why::Signed(_))), "{proof:?} {old}");
        }
    }
}

/// What an update has looked at is bounded.
#[test]
fn a_cut_hides_so_many_names() {
    let signer = Signer::new(7, 257);
    let below =
        |count: usize| (0..count).map(|at| format!("h{at}.deep 60 A 192.0.2.1\n")).collect::<String>();
    for (count, expected) in [(1_000, Unsigned::Stray(rtype::A)), (1_001, Unsigned::TooMuch)] {
        let before = signer.zone(&zone(7, &format!("{BASE}{}", below(count))), Proof::Nsec);
        let after = signer.zone(&zone(8, &format!("{BASE}\ndeep 60 NS h0.deep\n")), Proof::Nsec);
        let whole = difference(&before, &after);
        let is_cut = |(record, _): &&(Record, u16)| record.0 == name("deep") || record.0 == name("@");
        refused(&before, &whole.iter().filter(is_cut).cloned().collect::<Vec<_>>(), expected);
    }
}

/// A signature says the TTL of what it signs.
#[test]
fn ttls_are_signed() {
    let signer = Signer::new(7, 257);
    let before = signer.zone(&zone(7, BASE), Proof::Nsec);
    let after = signer.zone(&zone(8, &BASE.replace("a      60", "a      90")), Proof::Nsec);
    let whole = difference(&before, &after);
    assert!(update(&before, &whole).is_ok());
    let is_other = |(record, _): &&(Record, u16)| record.1 != rtype::RRSIG || record.0 != name("a");
    let part: Vec<_> = whole.iter().filter(is_other).cloned().collect();
    refused(&before, &part, Unsigned::Invalid(rtype::A));
}

/// The record before one that comes or goes has to lead past it.
#[test]
fn the_record_before_changes_too() {
    let signer = Signer::new(7, 257);
    for proof in [Proof::Nsec, Proof::Nsec3 { opt_out: false }] {
        let few = signer.zone(&zone(7, BASE), proof);
        let more = |serial| signer.zone(&zone(serial, &format!("{BASE}\nbb 60 A 192.0.2.9")), proof);
        for (before, after) in [(&few, &more(8)), (&more(6), &few)] {
            let whole = difference(before, after);
            assert!(update(before, &whole).is_ok());
            // That is the one with proofs before and after.
            let is_proof = |(record, _): &&(Record, u16)| matches!(record.1, rtype::NSEC | rtype::NSEC3);
            let proofs: Vec<_> = whole.iter().filter(is_proof).map(|(record, _)| record.0.clone()).collect();
            let owner = proofs.iter().find(|owner| proofs.iter().filter(|other| other == owner).count() == 2);
            let part: Vec<_> = whole.iter().filter(|(record, _)| Some(&record.0) != owner).cloned().collect();
            refused(before, &part, Unsigned::Chain);
        }
    }
}

/// A record that takes over from one that lets insecure delegations out lets them out too.
#[test]
fn opt_out_is_not_lost() {
    let signer = Signer::new(7, 257);
    let before = signer.zone(&zone(7, BASE), Proof::Nsec3 { opt_out: true });
    let mut after = signer.zone(&zone(8, BASE), Proof::Nsec3 { opt_out: true });
    // The same chain without the flag, which is a lie about the insecure delegation.
    after.retain(|record| record.1 != rtype::RRSIG);
    after.iter_mut().filter(|record| record.1 == rtype::NSEC3).for_each(|record| record.3[1] = 0);
    let after = signer.sign(after);
    refused(&before, &difference(&before, &after), Unsigned::Chain);
}

#[test]
fn the_chain_itself_does_not_change() {
    let signer = Signer::new(7, 257);
    let before = signer.zone(&zone(7, BASE), Proof::Nsec3 { opt_out: false });
    let mut entries = difference(&before, &signer.zone(&zone(8, BASE), Proof::Nsec3 { opt_out: false }));
    entries.push(((name("@"), rtype::NSEC3PARAM, 0, vec![1, 0, 0, 0, 0]), class::IN));
    assert_eq!(update(&before, &entries).err(), Some(Why::NotByUpdate(rtype::NSEC3PARAM)));
}

const OWNERS: [&str; 12] = ["@", "a", "b.a", "c", "x.c", "y.x.c", "d", "*.d", "e.f.g", "g", "z", "z.z.z"];

fn record() -> impl Strategy<Value = (usize, u8, u8)> {
    (0..OWNERS.len(), 0..10u8, any::<u8>())
}

/// Lines of records that may stand together.
fn lines(picks: &[(usize, u8, u8)]) -> String {
    let mut text = String::from("@ 60 NS ns\nns 60 A 192.0.2.53\n");
    for (owner, kind, number) in picks {
        let owner = OWNERS[*owner];
        text += &match kind {
            0 if owner != "@" => format!("{owner} 60 NS ns{}.{owner}\n", number % 2),
            1 if owner != "@" => format!("{owner} 60 NS ns\n{owner} 60 DS 1 15 2 {}\n", "ab".repeat(32)),
            2 if owner != "@" && number % 3 == 0 => format!("{owner} 60 DNAME target\n"),
            3 => format!("{owner} 60 TXT {}\n", number % 3),
            4 => format!("{owner} 60 MX 1 ns\n"),
            _ => format!("{owner} 60 A 192.0.2.{}\n", number % 4),
        };
    }
    text
}

fn proof() -> impl Strategy<Value = Proof> {
    prop_oneof![
        Just(Proof::Nsec),
        Just(Proof::Nsec3 { opt_out: false }),
        Just(Proof::Nsec3 { opt_out: true })
    ]
}

/// One DNAME a name.
fn tidy(mut records: Vec<Record>) -> Vec<Record> {
    let mut seen = BTreeSet::new();
    records.retain(|record| seen.insert(key_of(record)));
    records
}

fn check_updates(
    before: &[(usize, u8, u8)],
    changed: &[(usize, u8, u8)],
    kept: usize,
    proof: Proof,
    left_out: &[prop::sample::Index],
) {
    let signer = Signer::new(7, 257);
    let after: Vec<_> = before.iter().take(kept).chain(changed).copied().collect();
    let before = tidy(signer.zone(&zone(7, &lines(before)), proof));
    let after = tidy(signer.zone(&zone(8, &lines(&after)), proof));
    assert_eq!((faults(&before), faults(&after)), (vec![], vec![]), "the signer is right");
    let whole = difference(&before, &after);
    let result = update(&before, &whole);
    let result = result.unwrap_or_else(|why| panic!("{why}\n{whole:?}"));
    assert_eq!(difference(&result, &after).len() + difference(&after, &result).len(), 0);
    // Parts of it are taken if all is well afterwards: without one record, and without all of one owner.
    for index in left_out {
        let at = index.index(whole.len());
        let mut without_one = whole.clone();
        let ((owner, ..), _) = without_one.remove(at);
        let without_owner: Vec<_> = whole.iter().filter(|(record, _)| record.0 != owner).cloned().collect();
        for part in [without_one, without_owner] {
            if let Ok(result) = update(&before, &part) {
                assert_eq!(faults(&result), Vec::<String>::new(), "without {:?}", whole[at]);
            }
        }
    }
}

fn picks(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    prop::collection::vec(record(), count)
}

/// Version after version in a delta: each update is judged by what the ones before left.
fn check_versions(versions: &[Vec<(usize, u8, u8)>], proof: Proof, left_out: &[prop::sample::Index]) {
    let signer = Signer::new(7, 257);
    let mut picked = versions[0].clone();
    let mut shown = tidy(signer.zone(&zone(7, &lines(&picked)), proof));
    let mut writer = DeltaWriter::new(Arc::new(pack(&shown)), 0).unwrap();
    for (changed, serial) in versions[1..].iter().zip(8..) {
        picked.truncate(picked.len() * 2 / 3);
        picked.extend(changed);
        let next = tidy(signer.zone(&zone(serial, &lines(&picked)), proof));
        let whole = difference(&shown, &next);
        for index in left_out {
            let owner = &whole[index.index(whole.len())].0.0;
            let part: Vec<_> = whole.iter().filter(|(record, _)| record.0 != *owner).cloned().collect();
            if let Ok(Some(change)) = change_of(writer.newest(), &part) {
                assert_eq!(faults(&apply_change(&shown, &change)), Vec::<String>::new(), "without {owner}");
            }
        }
        let change =
            change_of(writer.newest(), &whole).unwrap_or_else(|why| panic!("{why}\n{whole:?}")).unwrap();
        writer.apply(&change).unwrap();
        let state = writer.newest_box().state();
        writer.published(state);
        shown = apply_change(&shown, &change);
        assert_eq!(difference(&shown, &next).len() + difference(&next, &shown).len(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn versions_follow_each_other(
        versions in prop::collection::vec(picks(0..8), 2..8), proof in proof(),
        left_out in prop::collection::vec(any::<prop::sample::Index>(), 2)
    ) {
        check_versions(&versions, proof, &left_out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn what_is_taken_leaves_the_zone_signed(
        before in picks(0..12), changed in picks(0..4), kept in 0..12usize, proof in proof(),
        left_out in prop::collection::vec(any::<prop::sample::Index>(), 6)
    ) {
        check_updates(&before, &changed, kept, proof, &left_out);
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

        #[test]
        #[ignore = "long"]
        fn what_is_taken_leaves_the_zone_signed(
            before in picks(0..12), changed in picks(0..4), kept in 0..12usize, proof in proof(),
            left_out in prop::collection::vec(any::<prop::sample::Index>(), 6)
        ) {
            check_updates(&before, &changed, kept, proof, &left_out);
        }

        #[test]
        #[ignore = "long"]
        fn versions_follow_each_other(
            versions in prop::collection::vec(picks(0..8), 2..8), proof in proof(),
            left_out in prop::collection::vec(any::<prop::sample::Index>(), 2)
        ) {
            check_versions(&versions, proof, &left_out);
        }
    }
}
