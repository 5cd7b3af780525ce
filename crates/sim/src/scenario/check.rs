//! Compares an answer with what is expected of it.

use super::Expected;
use crate::reply::{Reply, rcode_text};
use auth::inspect::Record;
use std::collections::BTreeSet;
use wire::Name;
use wire::header;
use wire::iana::rtype;

/// Flags that are compared: the others of an answer follow from the query.
const COMPARED: [(u16, &str); 3] = [(header::AA, "aa"), (header::TC, "tc"), (header::AD, "ad")];

/// What is wrong with an answer, in words.
pub(super) fn check(expected: &Expected, reply: &Reply) -> Result<(), String> {
    if expected.is_any {
        return Ok(());
    }
    let Some(rcode) = expected.rcode else { return Err(format!("no answer was expected: {}", reply.line())) };
    if reply.rcode != rcode {
        return Err(format!("{} was expected: {}", rcode_text(rcode), reply.line()));
    }
    // Who may not recurse is not offered it.
    if reply.flags & header::RA == 0 && rcode != wire::iana::rcode::REFUSED {
        return Err(format!("ra is not set: {}", reply.line()));
    }
    for (flag, name) in COMPARED {
        if (reply.flags ^ expected.flags) & flag != 0 {
            let is = if reply.flags & flag != 0 { "set" } else { "not set" };
            return Err(format!("{name} is {is}: {}", reply.line()));
        }
    }
    if let Some(code) = expected.ede
        && reply.ede() != Some(code)
    {
        return Err(format!("extended error {code} was expected: {}", reply.line()));
    }
    for (number, name) in [(0, "answer"), (1, "authority"), (2, "additional")] {
        if let Some(lines) = &expected.sections[number] {
            check_section(lines, &reply.sections[number]).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// Signatures are left out, the order does not count.
fn check_section(lines: &str, records: &[Record]) -> Result<(), String> {
    let mut missing = Vec::new();
    let mut found: BTreeSet<String> =
        records.iter().filter(|one| one.rtype != rtype::RRSIG).map(|one| text_of(one, false)).collect();
    for line in lines.lines() {
        let is_any_ttl = line.split_whitespace().nth(1) == Some("~");
        let read = zonefile::records(&line.replacen('~', "0", usize::from(is_any_ttl)), Name::root());
        let wanted = read.map_err(|report| format!("{line}: {report}"))?;
        for one in wanted {
            let one = Record { owner: one.owner, rtype: one.rtype, class: 1, ttl: one.ttl, rdata: one.rdata };
            let text = text_of(&one, is_any_ttl);
            let same = found.iter().find(|found| **found == text || is_any_ttl && without_ttl(found) == text);
            match same.cloned() {
                Some(same) => drop(found.remove(&same)),
                None => missing.push(text),
            }
        }
    }
    match (missing.first(), found.first()) {
        (None, None) => Ok(()),
        (Some(one), None) => Err(format!("{one} is missing")),
        (None, Some(one)) => Err(format!("{one} was not expected")),
        (Some(one), Some(other)) => Err(format!("{one} is missing, {other} was not expected")),
    }
}

fn text_of(record: &Record, is_any_ttl: bool) -> String {
    let text = record.to_string().to_lowercase();
    if is_any_ttl { without_ttl(&text) } else { text }
}

/// The line without its second word.
fn without_ttl(line: &str) -> String {
    let words: Vec<&str> =
        line.split(' ').enumerate().filter(|(at, _)| *at != 1).map(|(_, word)| word).collect();
    words.join(" ")
}
