//! A zone in any order and cut arrives whole; octets of any kind end with a fault.

use super::super::{Builder, Incoming, Kind, Limits, Outcome, Sink, Step, Times};
use super::kit::*;
use proptest::prelude::*;
use proptest::sample::Index;
use zone::Contents;

fn row() -> impl Strategy<Value = Row> {
    let label = prop_oneof!["[a-c]", "[A-C]{1,3}", Just("*".to_owned()), "[a-z]{1,20}"];
    let owner = proptest::collection::vec(label, 0..4)
        .prop_map(|labels| labels.into_iter().chain(["example".to_owned()]).collect::<Vec<_>>().join("."));
    (owner.clone(), owner, 0..4u8, any::<u8>()).prop_map(|(owner, other, kind, octet)| match kind {
        0 | 1 => a(&owner, octet % 4),
        2 => ns(&owner, &other),
        _ => (name(&owner), 16, 60, vec![1, octet % 4]),
    })
}

fn all(contents: &Contents) -> Vec<(String, u16, u32, Vec<u8>)> {
    let sets = contents.nodes().flat_map(|node| node.rrsets().map(move |set| (node.name().to_string(), set)));
    sets.flat_map(|(owner, set)| {
        set.records().map(move |record| (owner.clone(), set.rtype(), record.ttl, record.rdata.to_vec()))
    })
    .collect()
}

fn built(rows: &[Row]) -> Contents {
    let mut builder = Builder::new(&name("example"), u64::MAX);
    for (owner, rtype, ttl, rdata) in rows {
        builder.record(owner, false, *rtype, *ttl, rdata).unwrap();
    }
    builder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whole_in_any_order_and_cut(
        rows in proptest::collection::vec(row(), 1..60),
        cuts in proptest::collection::vec(any::<Index>(), 0..12),
        shift in any::<Index>(),
        again in proptest::collection::vec(any::<Index>(), 0..5),
    ) {
        let expected = all(&built(&[&[soa(7)][..], &rows].concat()));
        let mut sent = rows.clone();
        sent.rotate_left(shift.index(rows.len()));
        sent.extend(again.iter().map(|index| rows[index.index(rows.len())].clone()));
        let sent = [&[soa(7)][..], &sent, &[soa(7)]].concat();
        let mut cuts: Vec<_> = cuts.iter().map(|index| 1 + index.index(sent.len() - 1)).chain([0, sent.len()]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let messages: Vec<_> = cuts.windows(2).map(|cut| script(Kind::Axfr).with(&sent[cut[0]..cut[1]])).collect();
        let mut incoming = Incoming::new(axfr(), None, Limits::default(), 0);
        let mut builder = Builder::new(&name("example"), u64::MAX);
        for (number, message) in messages.iter().enumerate() {
            let step = incoming.message(message, Times::default(), &mut builder).unwrap();
            prop_assert_eq!(matches!(step, Step::Done(_)), number + 1 == messages.len());
        }
        prop_assert_eq!(all(&builder.finish()), expected);
    }

    /// Differences applied to what they begin with give what they lead to.
    #[test]
    fn differences_lead_to_the_new_version(
        before in proptest::collection::vec(row(), 0..20),
        versions in proptest::collection::vec(proptest::collection::vec(row(), 0..10), 1..6),
        cut in any::<Index>(),
    ) {
        let last = 5 + versions.len() as u32;
        let (mut sent, mut held) = (vec![soa(last)], before);
        for (number, added) in versions.iter().enumerate() {
            let serial = 5 + number as u32;
            let removed: Vec<_> = held.iter().step_by(3).cloned().collect();
            held.retain(|row| !removed.contains(row));
            held.extend(added.clone());
            sent.extend([&[soa(serial)][..], &removed, &[soa(serial + 1)], added].concat());
        }
        sent.push(soa(last));
        let cut = 1 + cut.index(sent.len() - 1);
        let (found, _) = done(ixfr(5), &[script(Kind::Ixfr).with(&sent[..cut]), script(Kind::Ixfr).with(&sent[cut..])]);
        let Outcome::Changes(changes) = found.outcome else { panic!("{found:?}") };
        prop_assert_eq!(changes.len(), versions.len());
        for (change, added) in changes.iter().zip(&versions) {
            let found: Vec<_> = change.added().iter().skip(1).map(|record| record.owner.to_owned()).collect();
            prop_assert_eq!(found, added.iter().map(|row| row.0.clone()).collect::<Vec<_>>());
        }
    }

    /// Octets changed anywhere: a fault, or a transfer that is as good as another; no panic, and no more than was sent.
    #[test]
    fn changed_octets(
        rows in proptest::collection::vec(row(), 1..20),
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..8),
        is_ixfr in any::<bool>(),
    ) {
        let (question, kind) = if is_ixfr { (ixfr(5), Kind::Ixfr) } else { (axfr(), Kind::Axfr) };
        let between = if is_ixfr { vec![soa(5), soa(7)] } else { Vec::new() };
        let mut message = script(kind).with(&[&[soa(7)][..], &between, &rows, &[soa(7)]].concat());
        for (index, octet) in changes {
            let at = index.index(message.len());
            message[at] = octet;
        }
        let mut incoming = Incoming::new(question, None, Limits::default(), 0);
        let mut list = List::default();
        for _ in 0..3 {
            match incoming.message(&message, Times::default(), &mut list) {
                Ok(Step::More) => {}
                Ok(Step::Done(_)) | Err(_) => break,
            }
        }
        prop_assert!(list.0.len() <= 3 * message.len() / 11);
    }
}
