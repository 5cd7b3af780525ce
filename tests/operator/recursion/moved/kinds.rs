//! The kinds of local zones, beside Unbound's.

use super::super::internet::{dig, in_internet};
use super::super::shown;
use super::peers::{UNBOUND, await_peer, unbound};

/// The kinds of local zones: Unbound's name, and ours where it is another.
const KINDS: [(&str, &str); 14] = [
    ("static", "static"),
    ("transparent", "transparent"),
    ("typetransparent", "typetransparent"),
    ("redirect", "redirect"),
    ("refuse", "refuse"),
    ("deny", "drop"),
    ("nodefault", ""),
    ("inform", ""),
    ("always_nxdomain", "nxdomain"),
    ("always_nodata", "nodata"),
    ("always_refuse", "refuse"),
    ("always_deny", "drop"),
    ("always_null", "null"),
    ("always_transparent", ""),
];

/// What is asked below and at a local zone that has an A record of its own and one of a name.
const OF_KINDS: [(&str, &str); 7] = [
    ("plain.org", "A"),
    ("plain.org", "TXT"),
    ("here.plain.org", "A"),
    ("here.plain.org", "AAAA"),
    ("www.plain.org", "A"),
    ("www.plain.org", "AAAA"),
    ("none.plain.org", "A"),
];

/// Each kind of a local zone answers as Unbound's of that name: status, AA and records.
#[test]
fn kinds_of_local_zones() {
    in_internet(|internet| {
        for (theirs, ours) in KINDS.iter().filter(|(_, ours)| !ours.is_empty()) {
            // With data of its own, where that kind has any here, too.
            let (mut unbound_lines, mut records) = (format!("local-zone: \"plain.org\" {theirs}\n"), "");
            if !theirs.starts_with("always_") && !["refuse", "drop"].contains(ours) {
                unbound_lines += "local-data: \"plain.org. 300 A 192.0.2.70\"\n";
                records = "records = [\"@ 300 A 192.0.2.70\"]\n";
                if *theirs != "redirect" {
                    unbound_lines += "local-data: \"here.plain.org. 300 A 192.0.2.71\"\n";
                    records = "records = [\"@ 300 A 192.0.2.70\", \"here 300 A 192.0.2.71\"]\n";
                }
            }
            let unbound = unbound(internet, &unbound_lines);
            let zonda = internet
                .resolver(&format!("[[local-zone]]\nname = \"plain.org\"\nkind = \"{ours}\"\n{records}"));
            await_peer(UNBOUND, &unbound);
            // Silence is waited for: twice is enough.
            let count = if *ours == "drop" { 2 } else { OF_KINDS.len() };
            for &(name, rtype) in &OF_KINDS[..count] {
                let words = [name, rtype, "+time=1"];
                let (said, expected) = (zonda.dig(&words), dig(&format!("@{UNBOUND}"), &words));
                let ((status, flags, answer), other) = (shown(&said), shown(&expected));
                // REFUSED is nobody's answer: AA says nothing there.
                let has_aa = |status: &str, flags: &str| status != "REFUSED" && flags.contains("aa");
                let records = |lines: &[String]| {
                    lines
                        .iter()
                        .map(|line| line.split(' ').skip(2).collect::<Vec<_>>().join(" "))
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    (has_aa(&status, &flags), status, records(&answer)),
                    (has_aa(&other.0, &other.1), other.0, records(&other.2)),
                    "{theirs}: {name} {rtype}\n{said}\n{expected}"
                );
            }
        }
    });
}
