//! Sets of zones that one server process holds together.

use std::fs;
use std::path::PathBuf;

use zonda_tests::zone::{ZoneFile, data, repository, unpack};

/// Zones served together.
pub struct ZoneSet {
    /// Name in reports.
    pub name: &'static str,
    /// The zones.
    pub zones: Vec<ZoneFile>,
    /// How many of the possible queries of a zone the sample takes.
    pub sample: usize,
}

/// Every set, the cheapest first.
pub fn all() -> Vec<ZoneSet> {
    vec![corners(), root(), gov()]
}

/// The generated zones: all corners, unsigned and signed four ways, parent and children together.
fn corners() -> ZoneSet {
    let text = |origin: &str, file: &str| ZoneFile::new(origin, data().join("zones").join(file));
    ZoneSet {
        name: "corners",
        zones: vec![
            text("test.", "test.zone"),
            text("corners.test.", "corners.zone"),
            text("peer.test.", "peer.zone"),
            text("big.test.", "big.zone"),
            text("types.test.", "types.zone"),
            text("nsec.test.", "nsec.test.zone"),
            text("nsec3.test.", "nsec3.test.zone"),
            text("optout.test.", "optout.test.zone"),
            text("salted.test.", "salted.test.zone"),
            text("2.0.192.in-addr.arpa.", "reverse4.zone"),
            text("0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", "reverse6.zone"),
        ],
        sample: 4000,
    }
}

/// The signed root zone as published.
fn root() -> ZoneSet {
    let zones = vec![ZoneFile::new(".", repository().join("data/root.zone"))];
    ZoneSet { name: "root", zones, sample: 12000 }
}

/// The .gov zone as its registry exports it, unsigned, with the NS records that the export leaves out.
fn gov() -> ZoneSet {
    let mut text = String::from_utf8(unpack(&data().join("gov-20260822.zone.zst"))).expect("a text");
    text.push_str("\ngov. 3600 IN NS a.ns.gov.\na.ns.gov. 3600 IN A 192.0.2.53\n");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gov.zone");
    fs::write(&path, text).expect("a writable target folder");
    ZoneSet { name: "gov", zones: vec![ZoneFile::new("gov.", path)], sample: 8000 }
}
