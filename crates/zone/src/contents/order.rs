//! Brings the records of a zone into canonical order and joins them into RRsets.
//!
//! Most large zones arrive sorted: then records stay where they are. Otherwise runs are sorted by the
//! first eight octets of their key, whole keys deciding ties, and their rows are copied in that order.

use super::{
    Contents, ContentsBuilder, DUPLICATES_KEPT_MAX, Duplicate, Flags, NodeRow, RecordRow, Run,
    SourcePosition, served_ttl,
};
use dnssec::CanonicalSet;
use std::ops::Range;
use wire::iana::rtype;

/// Sorts what the builder took. Nodes come out without flags, parents and empty non-terminals.
pub(super) fn sort(mut builder: ContentsBuilder) -> Contents {
    fn key<'k>(keys: &'k [u8], run: &Run) -> &'k [u8] {
        &keys[run.key_at as usize..][..run.key_octets as usize]
    }
    let apex_missing = !builder.runs.iter().any(|run| run.key_octets == 0);
    if apex_missing {
        // The apex is a name of the zone even where the file forgot its records.
        let run = Run { key_at: 0, first_record: 0, key_octets: 0 };
        builder.runs.insert(0, run);
    }
    let keys = &builder.keys;
    let sorted = builder.runs.windows(2).all(|pair| key(keys, &pair[0]) < key(keys, &pair[1]));
    if !sorted {
        let (runs, records) = permute(&builder.runs, &builder.records, |run| key(keys, run));
        builder.runs = runs;
        builder.records = records;
    }
    let mut contents = Contents {
        apex: builder.apex,
        apex_key: builder.apex_key,
        nodes: Vec::with_capacity(builder.runs.len()),
        keys: builder.keys,
        rdata: builder.rdata,
        records: builder.records,
        duplicates: Vec::new(),
        duplicate_count: 0,
    };
    join(&mut contents, &builder.runs);
    contents
}

/// Runs in key order, those of equal key joined, and the records in the order of the runs.
fn permute<'k>(
    runs: &[Run],
    records: &[RecordRow],
    key: impl Fn(&Run) -> &'k [u8],
) -> (Vec<Run>, Vec<RecordRow>) {
    let mut order: Vec<(u64, u32)> = runs.iter().zip(0..).map(|(run, at)| (prefix(key(run)), at)).collect();
    let tie = |at: u32| key(&runs[at as usize]);
    // The place in the file decides last, so that equal keys keep their order.
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| tie(a.1).cmp(tie(b.1))).then(a.1.cmp(&b.1)));
    let mut new_runs: Vec<Run> = Vec::with_capacity(runs.len());
    let mut new_records = Vec::with_capacity(records.len());
    for (_, at) in order {
        let run = &runs[at as usize];
        let end = runs.get(at as usize + 1).map_or(records.len(), |next| next.first_record as usize);
        if new_runs.last().is_none_or(|last| key(last) != key(run)) {
            new_runs.push(Run { first_record: new_records.len() as u32, ..*run });
        }
        new_records.extend_from_slice(&records[run.first_record as usize..end]);
    }
    (new_runs, new_records)
}

/// The first eight octets of a key as a number that sorts as they do.
fn prefix(key: &[u8]) -> u64 {
    let mut octets = [0; 8];
    let length = key.len().min(8);
    octets[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(octets)
}

/// Makes a node of each run: sorts its records by type and RDATA, drops duplicates, closes the gaps.
fn join(contents: &mut Contents, runs: &[Run]) {
    let mut kept = 0;
    let mut canonical = CanonicalSet::new();
    for (number, run) in runs.iter().enumerate() {
        let end = runs.get(number + 1).map_or(contents.records.len(), |next| next.first_record as usize);
        let range = run.first_record as usize..end;
        let rdata = &contents.rdata;
        let rdata_of = |row: &RecordRow| &rdata[row.rdata_at as usize..][..row.rdata_octets as usize];
        let order =
            |a: &RecordRow, b: &RecordRow| a.rtype.cmp(&b.rtype).then_with(|| rdata_of(a).cmp(rdata_of(b)));
        let rows = &mut contents.records[range.clone()];
        if rows.len() > 1 && !rows.is_sorted_by(|a, b| order(a, b).is_lt()) {
            rows.sort_by(order);
        }
        let mut flags = Flags::default();
        let first_record = kept;
        for at in range {
            let row = contents.records[at];
            let is_duplicate = kept > first_record && {
                let last = &contents.records[kept - 1];
                last.rtype == row.rtype && contents.rdata_of(last) == contents.rdata_of(&row)
            };
            if is_duplicate {
                contents.drop_duplicate(number, kept - 1, row);
                continue;
            }
            match row.rtype {
                rtype::NS => flags.set(Flags::CUT),
                rtype::DNAME => flags.set(Flags::DNAME),
                rtype::CNAME => flags.set(Flags::CNAME),
                _ => {}
            }
            contents.records[kept] = row;
            kept += 1;
        }
        if kept - first_record > 1 {
            kept = drop_case_duplicates(contents, number, first_record..kept, &mut canonical);
        }
        contents.nodes.push(NodeRow {
            key_at: run.key_at,
            parent: 0,
            first_record: first_record as u32,
            key_octets: run.key_octets,
            flags,
        });
    }
    contents.records.truncate(kept);
}

/// Drops records that differ from others of their RRset in the case of names only (RFC 4034 6.3), among those in `records`, the
/// node's. Returns where the rest ends.
fn drop_case_duplicates(
    contents: &mut Contents,
    node: usize,
    records: Range<usize>,
    canonical: &mut CanonicalSet,
) -> usize {
    let mut kept = records.start;
    let mut first = records.start;
    while first < records.end {
        let rtype = contents.records[first].rtype;
        let set = &contents.records[first..records.end];
        let set = first..first + set.iter().take_while(|row| row.rtype == rtype).count();
        first = set.end;
        if set.len() < 2 || !has_folded_names(rtype) || !has_capitals(contents, set.clone()) {
            if kept < set.start {
                contents.records.copy_within(set.clone(), kept);
            }
            kept += set.len();
            continue;
        }
        // The first in the text stays.
        contents.records[set.clone()].sort_by_key(|row| (row.file, row.line));
        let start = kept;
        canonical.fill(rtype, contents.records[set.clone()].iter().map(|row| contents.rdata_of(row)));
        for (source, at) in set.enumerate() {
            let row = contents.records[at];
            if canonical.records().any(|(first, _)| first == source) {
                contents.records[kept] = row;
                kept += 1;
            } else {
                // The one it equals came before.
                contents.drop_duplicate(node, kept - 1, row);
            }
        }
        let rdata = &contents.rdata;
        contents.records[start..kept]
            .sort_by_key(|row| &rdata[row.rdata_at as usize..][..row.rdata_octets as usize]);
    }
    kept
}

/// Whether RDATA of the type has names whose letters do not tell records apart. Signatures have too, but come from signers,
/// which write them in one way.
fn has_folded_names(rtype: u16) -> bool {
    matches!(
        rtype,
        rtype::NS
            | rtype::CNAME
            | rtype::DNAME
            | rtype::SOA
            | rtype::PTR
            | rtype::MX
            | rtype::SRV
            | rtype::NAPTR
            | rtype::KX
            | rtype::AFSDB
            | rtype::RP
            | rtype::RT
    )
}

fn has_capitals(contents: &Contents, records: Range<usize>) -> bool {
    contents.records[records].iter().any(|row| contents.rdata_of(row).iter().any(u8::is_ascii_uppercase))
}

impl Contents {
    /// Takes note of a record that the RRset holds already, as record `like`.
    fn drop_duplicate(&mut self, node: usize, like: usize, row: RecordRow) {
        let like = &mut self.records[like];
        let kept_ttl = like.ttl;
        if served_ttl(row.ttl) < served_ttl(kept_ttl) {
            like.ttl = row.ttl;
        }
        self.duplicate_count += 1;
        if self.duplicates.len() < DUPLICATES_KEPT_MAX {
            let position = SourcePosition { file: row.file, line: row.line };
            self.duplicates.push(Duplicate {
                node: node as u32,
                rtype: row.rtype,
                ttl: row.ttl,
                kept_ttl,
                position,
            });
        }
    }
}
