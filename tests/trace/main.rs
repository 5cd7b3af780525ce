//! `zonda-bench trace` and tshark count the same messages, types and response codes in the same captures.
//!
//! `ZONDA_TRACE_CAPTURES=FOLDER` compares on the captures there; all differences are shown then.

mod compare;

use std::path::{Path, PathBuf};

use compare::{Counts, Difference};
use zonda_tests::zone::repository;

/// Differences that are no mistake: capture, what is counted, ours, that of tshark.
const EXPLAINED: &[(&str, &str, u64, u64)] = &[
    // A segment is missing from the capture; tshark does not read the message after it.
    ("suricata-dns-tcp-ts-gap.pcap", "requests", 2, 1),
    ("suricata-dns-tcp-ts-gap.pcap", "type 1", 2, 1),
    // The name is a pointer to itself; tshark reads the type behind it, we take the question as not readable.
    ("zeek-dns-invalid-names.pcap", "type 1", 0, 1),
];

/// Captures that ship with the tests, or those of the folder that the variable names.
fn captures() -> (Vec<PathBuf>, bool) {
    let named = std::env::var_os("ZONDA_TRACE_CAPTURES");
    let folder = named.clone().map_or_else(|| repository().join("tests/data/captures"), PathBuf::from);
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no captures in {}", folder.display());
    (files, named.is_some())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of captures") {
        let path = entry.expect("an entry of the folder").path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            _ if path.is_dir() => collect(&path, files),
            Some("pcap" | "pcapng" | "cap" | "trace") => files.push(path),
            _ => {}
        }
    }
}

#[test]
fn tshark_counts_the_same() {
    let (files, is_own_choice) = captures();
    let mut report = String::new();
    let mut used = 0;
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let (ours, theirs) = (Counts::of_zonda_bench(file), Counts::of_tshark(file));
        eprintln!(
            "{name}: {} requests, {} replies; tshark {}, {}",
            ours.requests(),
            ours.responses(),
            theirs.requests(),
            theirs.responses()
        );
        for Difference { what, ours, theirs } in ours.differences(&theirs) {
            match EXPLAINED.contains(&(name, what.as_str(), ours, theirs)) {
                true => used += 1,
                false => report += &format!("{name}: {what}: {ours}, tshark {theirs}\n"),
            }
        }
    }
    assert!(report.is_empty(), "differences that are not explained:\n{report}");
    assert!(
        is_own_choice || used == EXPLAINED.len(),
        "{} explanations are not needed",
        EXPLAINED.len() - used
    );
}
