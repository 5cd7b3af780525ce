//! Sets of zones that one server process holds together.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::generate;
use zonda_tests::server::peers::require;
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

/// The generated zones that are always asked: of any seed, a quick look.
const GENERATED_SEED: u64 = 1;
const GENERATED_SAMPLE: usize = 500;

/// Every set, the cheapest first.
pub fn all() -> Vec<ZoneSet> {
    vec![corners(), generate::set(GENERATED_SEED, GENERATED_SAMPLE), root(), gov(), signed_gov()]
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
    ZoneSet { name: "gov", zones: vec![ZoneFile::new("gov.", gov_text())], sample: 8000 }
}

/// The same, signed with NSEC3 and opt-out as most large zones are.
fn signed_gov() -> ZoneSet {
    let signed = sign("gov.", &gov_text(), &["-3", "-", "-A"]);
    ZoneSet { name: "signed-gov", zones: vec![ZoneFile::new("gov.", signed)], sample: 8000 }
}

/// Writes the text of .gov to the target folder.
fn gov_text() -> PathBuf {
    let mut text = String::from_utf8(unpack(&data().join("gov-20260822.zone.zst"))).expect("a text");
    text.push_str("\ngov. 86400 IN NS a.ns.gov.\na.ns.gov. 3600 IN A 192.0.2.53\n");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gov.zone");
    fs::write(&path, text).expect("a writable target folder");
    path
}

/// Signs a zone with a new key. `options`: of the signer; without any with NSEC, `-3 -` with NSEC3, no salt and no iterations (RFC 9276),
/// `-A` with opt-out. Returns the signed text.
pub fn sign(origin: &str, text: &Path, options: &[&str]) -> PathBuf {
    let keys = tempfile::tempdir().expect("a scratch folder");
    let mut keygen = Command::new(require("dnssec-keygen", "bind9-utils"));
    keygen.args(["-q", "-a", "ECDSAP256SHA256", "-f", "KSK", "-K"]).arg(keys.path()).arg(origin);
    let made = keygen.output().expect("dnssec-keygen");
    let key = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    assert!(made.status.success() && !key.is_empty(), "{made:?}");
    let public = fs::read_to_string(keys.path().join(format!("{key}.key"))).expect("the public key");
    let unsigned = keys.path().join("unsigned");
    let zone = fs::read_to_string(text).expect("the zone");
    fs::write(&unsigned, format!("{zone}\n{public}")).expect("a zone file");
    let signed = text.with_extension("signed");
    let mut signzone = Command::new(require("dnssec-signzone", "bind9-utils"));
    signzone.args(["-q", "-z", "-P", "-O", "full", "-o", origin]).args(options).arg("-d").arg(keys.path());
    signzone.arg("-f").arg(&signed).arg(&unsigned).arg(keys.path().join(&key));
    let done = signzone.output().expect("dnssec-signzone");
    assert!(done.status.success(), "{done:?}");
    signed
}
