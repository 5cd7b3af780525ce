//! Corner zones made at random: few labels, so that aliases, DNAMEs, cuts, wildcards and names that do not exist meet.
//!
//! ```text
//! number   the zone is
//! 0        not signed
//! 1        signed with NSEC, then its signatures and keys taken out: unsigned with NSEC records
//! 2        signed with NSEC
//! 3        signed with NSEC3
//! 4        the same with its signatures and keys taken out
//! 5        signed with NSEC3 and opt-out
//! ```
//!
//! What the peers refuse to load is left out: data beside a CNAME, NS and DNAME records at wildcards, names below a DNAME. Aliases stay in
//! their zone or lead to names that nobody here has: those between zones of a server are in the corners that were made by hand.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use zonda_tests::mutate::Random;
use zonda_tests::zone::ZoneFile;

use crate::sets::{ZoneSet, sign};

/// Kinds of signing, see the module.
pub const KINDS: usize = 6;

/// What all of these zones are below.
pub const ORIGIN: &str = "generated.";

/// Names that are tried for each zone; some are refused, as they cannot stand beside others.
const NAMES_TRIED: usize = 40;

const LABELS: [&str; 6] = ["a", "b", "c", "d", "e", "ent"];

/// A set of zones of every kind. `sample`: queries to each.
pub fn set(seed: u64, sample: usize) -> ZoneSet {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("generated-{seed}"));
    std::fs::create_dir_all(&folder).expect("a writable target folder");
    let zones = (0..KINDS).map(|kind| zone(seed, kind, &folder)).collect();
    ZoneSet { name: "generated", zones, sample }
}

fn zone(seed: u64, kind: usize, folder: &Path) -> ZoneFile {
    let origin = format!("z{kind}.{ORIGIN}");
    let text = text(&mut Random::new(seed.wrapping_mul(KINDS as u64).wrapping_add(kind as u64)));
    let path = folder.join(format!("z{kind}.zone"));
    std::fs::write(&path, format!("$ORIGIN {origin}\n$TTL 300\n{text}")).expect("a writable target folder");
    let options: &[&str] = match kind {
        0 => return ZoneFile::new(&origin, path),
        1 | 2 => &[],
        3 | 4 => &["-3", "-"],
        _ => &["-3", "-", "-A"],
    };
    let signed = sign(&origin, &path, options);
    ZoneFile::new(&origin, if matches!(kind, 1 | 4) { without_signatures(&signed) } else { signed })
}

/// What is left of a signed zone without signatures and keys.
fn without_signatures(signed: &Path) -> PathBuf {
    let text = std::fs::read_to_string(signed).expect("a signed zone");
    // One record a line: owner, TTL, class, type.
    let is_made = |line: &str| matches!(line.split_whitespace().nth(3), Some("RRSIG" | "DNSKEY"));
    let lines = text.lines().filter(|line| !is_made(line));
    let path = signed.with_extension("unsigned");
    std::fs::write(&path, lines.map(|line| format!("{line}\n")).collect::<String>()).expect("a zone file");
    path
}

/// What a name has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Alias,
    Dname,
    Cut,
    /// An address below a cut.
    Glue,
}

/// Labels from the apex down.
type Labels = Vec<&'static str>;

fn text(random: &mut Random) -> String {
    let mut names: BTreeMap<Labels, Kind> = BTreeMap::new();
    let mut text = String::from(
        "@ SOA ns1 hostmaster 1 7200 3600 1209600 60\n@ NS ns1\n@ MX 10 a\n@ TXT \"apex\"\nns1 A 192.0.2.1\nns1 AAAA 2001:db8::1\n",
    );
    for _ in 0..NAMES_TRIED {
        let name = path(random, true);
        let wanted = [Kind::Data, Kind::Data, Kind::Data, Kind::Alias, Kind::Alias, Kind::Dname, Kind::Cut]
            [random.below(7)];
        let Some(kind) = fitting(&names, &name, wanted) else { continue };
        let owner = owner(&name);
        names.insert(name, kind);
        let mut add = |line: String| writeln!(text, "{owner} {line}").expect("a string grows");
        match kind {
            Kind::Data => data(random, &mut add),
            Kind::Glue => add(format!("A 192.0.2.{}", random.below(200) + 20)),
            Kind::Alias => add(format!("CNAME {}", target(random, None))),
            Kind::Dname => add(format!("DNAME {}", target(random, Some(&owner)))),
            Kind::Cut => cut(random, &owner, &mut text),
        }
    }
    text
}

/// What `name` may have of what is wanted, beside the names that are there.
fn fitting(names: &BTreeMap<Labels, Kind>, name: &Labels, wanted: Kind) -> Option<Kind> {
    let is_wildcard = name.last() == Some(&"*");
    let above = (1..name.len())
        .filter_map(|count| names.get(&name[..count]))
        .find(|kind| matches!(kind, Kind::Dname | Kind::Cut));
    let is_above_some =
        names.range(name.clone()..).take_while(|(other, _)| other.starts_with(name)).next().is_some();
    match (above, wanted) {
        _ if names.contains_key(name) => None,
        (Some(Kind::Cut), _) => Some(Kind::Glue),
        (Some(_), _) => None,
        (None, Kind::Dname | Kind::Cut) if is_wildcard || is_above_some => None,
        (None, wanted) => Some(wanted),
    }
}

fn data(random: &mut Random, add: &mut impl FnMut(String)) {
    add(format!("A 192.0.2.{}", random.below(200) + 20));
    if random.one_in(2) {
        add("TXT \"text\"".to_owned());
    }
    if random.one_in(3) {
        add(format!("AAAA 2001:db8::{}", random.below(9) + 1));
    }
    if random.one_in(4) {
        add(format!("MX 10 {}", target(random, None)));
    }
}

/// A delegation to servers in the zone, below the cut with or without glue (their own, or a wildcard's), or elsewhere.
fn cut(random: &mut Random, owner: &str, text: &mut String) {
    let mut add = |line: String| writeln!(text, "{line}").expect("a string grows");
    add(format!("{owner} NS ns.{owner}"));
    match random.below(4) {
        0 => {}
        1 => add(format!("*.{owner} A 192.0.2.9")),
        _ => add(format!("ns.{owner} A 192.0.2.8")),
    }
    if random.one_in(2) {
        add(format!("{owner} NS {}", ["ns1", "ns.away.example."][random.below(2)]));
    }
    if random.one_in(3) {
        add(format!("{owner} DS 12345 13 2 {}", "0123456789abcdef".repeat(4)));
    }
}

/// Where an alias leads: to any name of the zone, there or not; out of it; or, for a DNAME, below itself.
fn target(random: &mut Random, below: Option<&str>) -> String {
    match (random.below(6), below) {
        (0, _) => "www.away.example.".to_owned(),
        (1 | 2, Some(owner)) => format!("{}.{owner}", LABELS[random.below(LABELS.len())]),
        _ => owner(&path(random, false)),
    }
}

fn path(random: &mut Random, may_be_wildcard: bool) -> Labels {
    let mut path: Labels = (0..1 + random.below(3)).map(|_| LABELS[random.below(LABELS.len())]).collect();
    if may_be_wildcard && random.one_in(5) {
        path.push("*");
    }
    path
}

fn owner(path: &Labels) -> String {
    path.iter().rev().copied().collect::<Vec<_>>().join(".")
}
