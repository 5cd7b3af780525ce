#![allow(clippy::unwrap_used)]
//! One small zone for each check, and all that is expected to be found in it.
use super::*;
use crate::contents::{ContentsBuilder, SourcePosition};
use wire::NameBuf;
use zonefile::{NoIncludes, Record, Source};

mod digest;
mod hostile;
mod signed;
mod signer;
mod unsigned;

/// Reads the text of a zone; what is out of the zone is left out, as a loader does.
fn contents(apex: &str, text: &str) -> Contents {
    let apex = NameBuf::from_text(apex).unwrap();
    let mut builder = ContentsBuilder::new(&apex);
    let mut sink = |record: &Record<'_>| {
        let position = SourcePosition { file: record.position.file, line: record.position.line };
        let _ =
            builder.push(record.owner, record.same_owner, record.rtype, record.ttl, record.rdata, position);
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
        if let Some(position) = finding.position {
            line += &format!(" :{}", position.line);
        }
        line += &finding.detail.to_string();
        lines.push(line);
    });
    let counted: u64 = Check::all().map(|check| summary.count(check)).sum();
    assert_eq!(counted, lines.len() as u64, "every finding is counted once");
    check_quick(contents, options);
    lines
}

/// What a server looks at whenever it loads a zone has all errors that can be seen without cryptography, and makes nothing up.
fn check_quick(contents: &Contents, options: &Options) {
    let at = |level| {
        let (mut errors, mut all) = (Vec::new(), Vec::new());
        super::check(contents, &Options { level, ..*options }, &mut |finding: Finding| {
            all.push(finding.to_string());
            if finding.severity >= Severity::Error {
                errors.push(finding.to_string());
            }
        });
        all.sort();
        errors.sort();
        (errors, all)
    };
    let ((quick, some), (semantic, all)) = (at(Level::Quick), at(Level::Semantic));
    assert_eq!(quick, semantic);
    assert!(some.iter().all(|finding| all.contains(finding)), "{some:#?} {all:#?}");
}

/// Checks that exactly these are found, in any order: the order of passes is no promise.
#[track_caller]
fn assert_found(mut found: Vec<String>, expected: &[&str]) {
    found.sort();
    let mut expected: Vec<_> = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
}

/// Warnings of a kind, however many, leave room for its errors, in one run and from several threads.
#[test]
fn warnings_hide_no_errors() {
    let contents = contents("example.", "@ 60 NS a\n");
    let mut passed = Vec::new();
    let mut sink = |finding: Finding| passed.push(finding.severity);
    let mut reporter = Reporter { per_check_max: 2, summary: Summary::default(), sink: &mut sink };
    let at = At::node(contents.node(0));
    for _ in 0..5 {
        reporter.add_as(Check::RrsigBad, Severity::Warning, at, nothing);
    }
    reporter.add(Check::RrsigBad, at, nothing);
    let (mut part, mut found) = (Summary::default(), Vec::new());
    for severity in [Severity::Warning, Severity::Error, Severity::Error] {
        part.add(Check::RrsigBad, severity);
        found.push(Finding {
            check: Check::RrsigBad,
            severity,
            owner: contents.apex().to_owned(),
            rtype: None,
            position: None,
            detail: Detail::None,
        });
    }
    reporter.join(&part, found);
    let summary = reporter.summary;
    assert_eq!(summary.count_as(Check::RrsigBad, Severity::Warning), 6);
    assert_eq!((summary.count_of(Severity::Error), summary.worst()), (3, Some(Severity::Error)));
    assert_eq!(passed, [Severity::Warning, Severity::Warning, Severity::Error, Severity::Error]);
}

/// What no pack can hold is found, with its position.
#[test]
fn fits_a_pack() {
    let head = "$TTL 60\n@ SOA a b 1 2 3 4 5\n@ NS a.example.org.\n";
    let fits = |more: &str| {
        let mut lines = Vec::new();
        let contents = contents("example.", &format!("{head}{more}"));
        let summary = fit(&contents, &mut |finding: Finding| {
            lines.push(format!(
                "{} {finding} {:?}",
                finding.severity,
                finding.position.map(|position| position.line)
            ));
        });
        assert_eq!(summary.count_of(Severity::Fatal), lines.len() as u64);
        lines
    };
    assert!(fits("a A 192.0.2.1\n").is_empty());
    let text: String = (0..300).map(|n| format!("a TXT {n} {}\n", "x".repeat(250))).collect();
    assert_eq!(
        fits(&text),
        [
            "fatal a.example. TXT: more than 65535 octets with its signatures, fits no message [rrset-too-large] Some(4)"
        ]
    );
    let text: String = (1000..3000).map(|n| format!("b TYPE{n} \\# 0\n")).collect();
    assert_eq!(fits(&text), ["fatal b.example.: too many types at one name [types-too-many] None"]);
    let parameters = "@ NSEC3PARAM 1 0 65535 -\n";
    let signature = "@ RRSIG SOA 13 1 60 20380101000000 20260101000000 1 example. AAAA\n";
    assert_eq!(
        fits(&format!("{parameters}{signature}")),
        [
            "fatal example. NSEC3PARAM: NSEC3PARAM record of unknown algorithm or of too many iterations [nsec3-parameters] Some(4)"
        ]
    );
    assert!(fits(parameters).is_empty(), "nobody wants a proof of a zone that is not signed");
}
