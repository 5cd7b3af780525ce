#![allow(clippy::unwrap_used)]
//! One small zone for each check, and all that is expected to be found in it.
use super::*;
use crate::contents::{ContentsBuilder, Place};
use wire::NameBuf;
use zonefile::{NoIncludes, Record, Source};

mod hostile;
mod signed;
mod signer;
mod unsigned;

/// Reads the text of a zone; what is out of the zone is left out, as a loader does.
fn contents(apex: &str, text: &str) -> Contents {
    let apex = NameBuf::from_text(apex).unwrap();
    let mut builder = ContentsBuilder::new(&apex);
    let mut sink = |record: &Record<'_>| {
        let place = Place { file: record.place.file, line: record.place.line };
        let _ = builder.push(record.owner, record.same_owner, record.rtype, record.ttl, record.rdata, place);
        Ok(())
    };
    let source = Source { name: "zone".to_owned(), input: Box::new(text.as_bytes()) };
    zonefile::read(source, &zonefile::Options::new(&apex), &mut NoIncludes, &mut sink).unwrap();
    builder.finish()
}

/// All findings, each as `severity id owner TYPE :line detail`.
fn findings(contents: &Contents, options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    let summary = super::check(contents, options, &mut |finding: Finding| {
        let mut line = format!("{} {} {}", finding.severity, finding.check.id(), finding.owner);
        if let Some(rtype) = finding.rtype {
            line += &format!(" {}", rtype::Text(rtype));
        }
        if let Some(place) = finding.place {
            line += &format!(" :{}", place.line);
        }
        line += &finding.detail.to_string();
        lines.push(line);
    });
    let counted: u64 = Check::all().map(|check| summary.count(check)).sum();
    assert_eq!(counted, lines.len() as u64, "every finding is counted once");
    lines
}

/// Checks that exactly these are found, in any order: the order of passes is no promise.
#[track_caller]
fn assert_found(mut found: Vec<String>, expected: &[&str]) {
    found.sort();
    let mut expected: Vec<_> = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
}
