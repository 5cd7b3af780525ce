//! What all generators promise: zones without errors, and the same octets for the same seed.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use wire::NameBuf;
use zone::check::{self, Severity};

use super::{
    caching, dynamic, flat, hosting, net, panel,
    queries::{self, Mix},
    registry, root,
    slice::{self, Range},
    text::Style,
    updates,
};
use crate::labels;

/// Reads the zone as the server would, and fails on any finding that `zonda check-zone` calls an error.
#[track_caller]
pub fn check_zone(text: &str, origin: &str, records: usize) {
    let apex = NameBuf::from_text(origin).unwrap();
    let mut builder = zone::ContentsBuilder::new(&apex);
    for (line, record) in zonefile::records(text, &apex).unwrap().into_iter().enumerate() {
        let position = zone::contents::SourcePosition { file: 0, line: line as u32 };
        builder.push(&record.owner, false, record.rtype, record.ttl, &record.rdata, position).unwrap();
    }
    let contents = builder.finish();
    assert_eq!((contents.record_count(), contents.duplicate_count()), (records, 0));
    let mut errors = Vec::new();
    let mut report = |finding: check::Finding| {
        if finding.severity >= Severity::Error {
            errors.push(finding.to_string());
        }
    };
    check::check(&contents, &check::Options::default(), &mut report);
    check::fit(&contents, &mut report);
    assert!(errors.is_empty(), "{errors:#?}");
}

/// FNV-1a: enough to see that octets changed.
fn checksum(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |value, &octet| (value ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3))
}

/// All files below a folder, by name, as one run of octets.
fn folder_octets(folder: &Path) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        octets.extend_from_slice(path.file_name().unwrap().as_encoded_bytes());
        octets.extend(if path.is_dir() { folder_octets(&path) } else { fs::read(&path).unwrap() });
    }
    octets
}

/// A change here changes what every measurement with generated data is made of: it belongs into CHANGELOG.md.
#[test]
fn same_seed_same_octets() {
    let folder = tempfile::tempdir().unwrap();
    let labels = labels::make(300, None, 1).unwrap();
    let mut sums = Vec::new();
    let mut text = Vec::new();
    let mut take = |name: &str, octets: &[u8]| sums.push(format!("{name} {:016x}", checksum(octets)));

    root::write(&mut text, &root::Shape::new(150, 1), &labels::make_top_level(150, None, 1).unwrap())
        .unwrap();
    take("root-like", &text);
    let root_file = folder.path().join("root.zone");
    fs::write(&root_file, &text).unwrap();

    let shape = registry::Shape::net(registry::RECORDS_MIN + 500, 1);
    text.clear();
    registry::write(&mut text, &shape, &labels).unwrap();
    take("net", &text);
    let net_file = folder.path().join("net.zone");
    fs::write(&net_file, &text).unwrap();

    text.clear();
    registry::write(&mut text, &registry::Shape::com(300, 1), &labels).unwrap();
    take("com", &text);

    text.clear();
    let like = net::Shape {
        origin: "net.".to_owned(),
        providers: 10,
        provider_share: 0.7,
        serial: 1,
        style: Style::Relative,
        shuffled: false,
        seed: 1,
    };
    net::write(&mut text, &like, &labels).unwrap();
    take("net-like", &text);

    text.clear();
    flat::write(&mut text, "flat.example.", Style::Relative, &labels, 1).unwrap();
    take("flat", &text);

    text.clear();
    dynamic::write(&mut text, "dynamic.example.", Style::Relative, &labels, 200, 1).unwrap();
    take("dynamic", &text);

    let few = labels::make(5, None, 1).unwrap();
    hosting::write(&folder.path().join("many"), &few, 5, false, 1).unwrap();
    take("many", &folder_octets(&folder.path().join("many")));
    panel::write(&folder.path().join("panel"), &few, false, 1).unwrap();
    take("panel", &folder_octets(&folder.path().join("panel")));
    let bed = caching::Bed {
        origin: "bed.example.".to_owned(),
        hosts: 10,
        short_share: 0.5,
        parent: [127, 0, 53, 2].into(),
        children: [127, 0, 53, 1].into(),
        seed: 1,
    };
    caching::write(&folder.path().join("bed"), &bed, &few).unwrap();
    take("caching", &folder_octets(&folder.path().join("bed")));

    let mut lines = String::new();
    let mix = Mix { count: 200, ..Mix::default() };
    queries::from_zone(&net_file, None, &mix, |query| lines += &format!("{query}\n")).unwrap();
    take("queries", lines.as_bytes());
    lines.clear();
    let mix = Mix { types: super::types::Types::FRoot, nxdomain_share: None, ..mix };
    queries::from_zone(&root_file, None, &mix, |query| lines += &format!("{query}\n")).unwrap();
    take("f-root", lines.as_bytes());

    text.clear();
    let plan = updates::Plan { count: 60, group: 5, prerequisites: true, ..updates::Plan::default() };
    updates::write(&mut text, &net_file, None, &plan).unwrap();
    take("updates", &text);

    text.clear();
    let ranges = [Range::from_text("a-m").unwrap()];
    slice::zone(&net_file, None, &ranges, &mut [&mut text]).unwrap();
    take("slice", &text);

    assert_eq!(sums, EXPECTED, "{sums:#?}");
}

const EXPECTED: [&str; 13] = [
    "root-like 083fd70e094c8e8b",
    "net 7ca9883b4a54d72a",
    "com 2790acb5323f94f0",
    "net-like bbffecfeb8d52e26",
    "flat 4f2e3254b6a1647c",
    "dynamic 2d90b27b18254e6b",
    "many 8c110adbe1e8afea",
    "panel 3357450cbbc740bf",
    "caching 6eded81d8e5f4ea3",
    "queries 73b6e7784d996ac2",
    "f-root 232226152b7807b5",
    "updates 0905fb552797ce42",
    "slice a8989261aabc8dbd",
];
