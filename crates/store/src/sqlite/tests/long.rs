//! A zone of a million records: how long it takes, in memory that does not depend on it.

use std::time::Instant;

use super::*;

const RECORDS: u32 = 1_000_000;

#[test]
#[ignore = "long: make test-long"]
fn a_million_records() {
    let apex = name("example.");
    let build = |changed: u32| {
        let mut builder = ContentsBuilder::new(&apex);
        for record in zonefile::records(SOA, &apex).unwrap() {
            let position = SourcePosition::default();
            builder.push(&record.owner, false, record.rtype, record.ttl, &record.rdata, position).unwrap();
        }
        for number in 0..RECORDS {
            // Names in another order than that of the index.
            let owner = name(&format!("n{}.example.", number.wrapping_mul(2_654_435_761)));
            let address = (number + u32::from(number < changed)).to_be_bytes();
            builder.push(&owner, false, 1, 300, &address, SourcePosition::default()).unwrap();
        }
        builder.finish()
    };
    let mut scratch = Scratch::new();
    let mut put = |contents: &Contents, what: &str| {
        let begin = Instant::now();
        let mut writer = scratch.store.writer().unwrap();
        let Put::Made(version) = writer.put(contents, None, &Meta::default()).unwrap() else {
            panic!("{what}")
        };
        writer.commit().unwrap();
        println!("{what}: {:.1} s", begin.elapsed().as_secs_f64());
        version
    };
    assert_eq!(put(&build(0), "a new zone").kind, Kind::Whole);
    assert_eq!(put(&build(1), "one record changed").rows, 4);
    assert_eq!(put(&build(100_001), "a tenth changed").rows, 200_002);
    assert_eq!(put(&build(RECORDS), "all others changed").kind, Kind::Whole);
    let begin = Instant::now();
    let (contents, _) = scratch.store.contents(&apex).unwrap();
    println!("read: {:.1} s", begin.elapsed().as_secs_f64());
    assert_eq!(contents.record_count(), RECORDS as usize + 3);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap());
}
