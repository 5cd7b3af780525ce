use super::*;
use proptest::prelude::*;

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

type Row = (String, u16, u32, Vec<u8>);

fn all(contents: &Contents) -> Vec<(String, u16, u32, Vec<u8>)> {
    let sets = contents.nodes().flat_map(|node| node.rrsets().map(move |set| (node.name().to_string(), set)));
    let records = sets.flat_map(|(owner, set)| {
        set.records().map(move |record| (owner.clone(), set.rtype(), record.ttl, record.rdata.to_vec()))
    });
    records.collect()
}

fn push(sink: &mut impl Sink, rows: &[Row]) -> Result<(), Fault> {
    let mut before = None;
    for (owner, rtype, ttl, rdata) in rows {
        let same_owner = before == Some(owner);
        sink.record(&name(owner), same_owner, *rtype, *ttl, rdata)?;
        before = Some(owner);
    }
    Ok(())
}

fn row() -> impl Strategy<Value = Row> {
    // Long data, so that runs are many.
    let label = prop_oneof!["[a-c]", "[A-C]", Just("\\000\\001".to_owned()), "[a-z]{8,12}"];
    let owner = proptest::collection::vec(label, 0..3)
        .prop_map(|labels| labels.into_iter().chain(["example".to_owned()]).collect::<Vec<_>>().join("."));
    (owner, prop_oneof![Just(16u16), Just(65_280)], 0..2u32, 0..4u8, prop_oneof![Just(10usize), Just(60_000)])
        .prop_map(|(owner, rtype, ttl, octet, length)| (owner, rtype, ttl, vec![octet; length]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// As all in memory, whatever the order and however many runs.
    #[test]
    fn as_in_memory(rows in proptest::collection::vec(row(), 0..200)) {
        let apex = name("example");
        let mut builder = Builder::new(&apex, u64::MAX);
        push(&mut builder, &rows).unwrap();
        let mut spool = Spool::new(&apex, 0, Memory::new(usize::MAX));
        push(&mut spool, &rows).unwrap();
        let octets: usize = rows.iter().map(|row| row.3.len()).sum();
        prop_assert!(spool.run_count() >= octets / (2 << 20));
        prop_assert!(spool.arena.capacity() <= 4 << 20);
        prop_assert_eq!(all(&spool.finish(u64::MAX).unwrap()), all(&builder.finish()));
    }
}

/// A stream of one and the same record takes storage, but no memory at the end.
#[test]
fn duplicates_take_no_memory() {
    let mut spool = Spool::new(&name("example"), 0, Memory::new(usize::MAX));
    for _ in 0..200 {
        push(&mut spool, &[("a.example".to_owned(), 16, 1, vec![1; 50_000])]).unwrap();
    }
    assert!(spool.run_count() > 5);
    assert_eq!(spool.finish(200_000).unwrap().record_count(), 1);
}

#[test]
fn bounds() {
    let rows: Vec<Row> =
        (0..100).map(|number| (format!("n{number}.example"), 16, 1, vec![1; 50_000])).collect();
    let mut spool = Spool::new(&name("example"), 0, Memory::new(2 << 20));
    assert_eq!(push(&mut spool, &rows), Err(Fault::Full));
    let mut spool = Spool::new(&name("example"), 0, Memory::new(usize::MAX));
    push(&mut spool, &rows).unwrap();
    assert_eq!(spool.finish(1 << 20).err(), Some(Fault::Full));
}

/// Storage that gives back other octets than it was given: found at the end at the latest, whichever they are.
#[test]
fn damaged_storage() {
    struct Damaged(Memory, usize);
    impl Runs for Damaged {
        fn append(&mut self, octets: &[u8]) -> Result<(), NoStorage> {
            self.0.append(octets)
        }
        fn read(&mut self, at: u64, to: &mut [u8]) -> Result<(), NoStorage> {
            self.0.read(at, to)?;
            let place = self.1.checked_sub(at as usize).filter(|place| *place < to.len());
            place.into_iter().for_each(|place| to[place] ^= 1);
            Ok(())
        }
    }
    let rows: Vec<Row> =
        (0..100).map(|number| (format!("n{number}.example"), 16, 1, vec![1; 50_000])).collect();
    for place in [0, 1, 2, 4, 8, 9, 10, 11, 100, 50_000, 50_014, 2_000_000, 4_000_000] {
        let mut spool = Spool::new(&name("example"), 0, Damaged(Memory::new(usize::MAX), place));
        push(&mut spool, &rows).unwrap();
        assert_eq!(spool.finish(u64::MAX).err(), Some(Fault::Full), "{place}");
    }
}
