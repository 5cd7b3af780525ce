//! A zone as a text, in a body: a master file without what a client has no part in, files of others and records that nobody wrote.

use wire::{Name, NameBuf};
use zonefile::{NoIncludes, Options, Record, Source};

use super::{FAULTS_MAX, Refusal};
use crate::frame::{RRSETS_MAX, SetsBuf, TTL_MAX, What};

/// Reads the records of a text. Those that follow each other with one owner, type and TTL are one set, which extends what was before.
pub(super) fn read(zone: &Name, text: &str, octets_max: usize) -> Result<SetsBuf, Refusal> {
    if generates(text) {
        return Err(refused(422, "`zone`: expected no $GENERATE"));
    }
    let mut sets = SetsBuf::default();
    let mut open: Option<(NameBuf, u16, u32)> = None;
    let mut take = |record: &Record<'_>| {
        // As of zone files: with the top bit set a TTL counts as zero (RFC 2181 8).
        let ttl = if record.ttl > TTL_MAX { 0 } else { record.ttl };
        let is_same = |(owner, rtype, known): &(NameBuf, u16, u32)| {
            (&**owner, *rtype, *known) == (record.owner, record.rtype, ttl)
        };
        if !open.as_ref().is_some_and(is_same) || !sets.record(record.rdata) {
            sets.begin(record.owner, record.rtype, What::Extend, ttl);
            if sets.count() == RRSETS_MAX {
                return Err(zonefile::Refusal::Stop);
            }
            sets.record(record.rdata);
            open = Some((record.owner.to_owned(), record.rtype, ttl));
        }
        if sets.octets() > octets_max { Err(zonefile::Refusal::Stop) } else { Ok(()) }
    };
    let options = Options { diagnostics_max: FAULTS_MAX, ..Options::new(zone) };
    let source = Source { name: "zone".to_owned(), input: Box::new(text.as_bytes()) };
    match zonefile::read(source, &options, &mut NoIncludes, &mut take) {
        Ok(_) => {
            sets.end();
            Ok(sets)
        }
        Err(report) if report.diagnostics.is_empty() => Err(refused(413, "too many records for one request")),
        Err(report) => {
            // What stands there is the client's; where it stands it can see for itself.
            let faults = report.diagnostics.iter();
            let faults = faults.map(|fault| format!("zone:{}:{}: {}", fault.line, fault.column, fault.cause));
            Err(Refusal { faults: faults.collect(), ..refused(422, "`zone` is no zone file") })
        }
    }
}

fn refused(status: u16, words: &str) -> Refusal {
    Refusal { status, words: words.to_owned(), faults: Vec::new() }
}

/// Whether a line begins with `$GENERATE`: only there is it one, behind the mark that some editors put before all.
fn generates(text: &str) -> bool {
    const GENERATE: &str = "$GENERATE";
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split('\n')
        .any(|line| line.get(..GENERATE.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(GENERATE)))
}
