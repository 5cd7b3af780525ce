//! Input that would need memory or time without bound.

use super::super::*;

/// Reads endless input and expects one problem of this text.
fn check_endless(input: impl Read, expected: &str) {
    let source = Source { name: "endless".to_owned(), input: Box::new(input) };
    let mut sink = |_: &Record<'_>| Ok(());
    let report = read(source, &Options::new(Name::root()), &mut NoIncludes, &mut sink).unwrap_err();
    assert_eq!(report.to_string(), expected);
}

#[test]
fn endless_line() {
    let expected = "endless:1:1: expected a line or parenthesised entry of at most 1048576 octets";
    check_endless(io::repeat(b'x'), expected);
    check_endless(io::repeat(b' '), expected);
    check_endless(io::repeat(b';'), expected);
    check_endless(io::repeat(b'"'), expected);
    check_endless(io::repeat(b'\\'), expected);
    check_endless(io::repeat(b'('), expected);
    check_endless(io::repeat(b'(').take(10), "endless:1:1: parenthesis is never closed: expected `)`");
    check_endless(io::repeat(0), "endless:1:1: not a zone file: octet of zero, expected text");
}

/// An entry of the greatest length is read, one octet more is not.
#[test]
fn longest_entry() {
    let text_of =
        |octets: usize| format!("a 1 A ({}\n192.0.2.1)\nb 1 A 192.0.2.2\n", " ".repeat(octets - 19));
    assert_eq!(records(&text_of(limits::ENTRY_OCTETS_MAX), Name::root()).unwrap().len(), 2);
    let report = records(&text_of(limits::ENTRY_OCTETS_MAX + 3), Name::root()).unwrap_err();
    let expected = "text:1:7: expected a line or parenthesised entry of at most 1048576 octets";
    assert_eq!(report.diagnostics[0].to_string(), expected);
    assert_eq!(report.summary.records, 1);
}

#[test]
fn longest_rdata() {
    let text_of = |strings: usize, rest: usize| {
        format!(
            "a 1 TXT ( {}\"{}\" )\n",
            format!("\"{}\"\n", "\\097".repeat(255)).repeat(strings),
            "a".repeat(rest)
        )
    };
    assert_eq!(records(&text_of(255, 254), Name::root()).unwrap()[0].rdata.len(), 65_535);
    let report = records(&text_of(255, 255), Name::root()).unwrap_err();
    assert!(
        report.to_string().ends_with("expected RDATA of at most 65535 octets, found 65536 octets"),
        "{report}"
    );
    let report = records(&text_of(300, 0), Name::root()).unwrap_err();
    assert!(report.to_string().contains("expected RDATA of at most 65535 octets"), "{report}");
    let report = records(&format!("a 1 TXT {}\n", "a".repeat(256)), Name::root()).unwrap_err();
    assert!(report.to_string().starts_with("text:1:9: expected text of at most 255 octets"), "{report}");
}

/// Entries of every length stand across the ends of the window, and nothing is lost.
#[test]
fn across_windows() {
    let mut text = String::new();
    let mut expected = 0;
    while text.len() < 5 * limits::WINDOW_OCTETS {
        let comment = "c".repeat(expected % 301);
        text.push_str(&format!(
            "n{expected} 60 TXT \"{expected}\" ;{comment}\nn{expected} 60 A (\n 192.0.2.1 )\n"
        ));
        text.push_str(&format!("n{expected} 60 A 192.0.2.2\n"));
        expected += 1;
    }
    let records = records(&text, Name::root()).unwrap();
    assert_eq!(records.len(), 3 * expected);
    for (at, three) in records.chunks(3).enumerate() {
        let owner = NameBuf::from_text(&format!("n{at}")).unwrap();
        assert!(three.iter().all(|record| record.owner == owner));
        assert_eq!(three[0].rdata[1..], *at.to_string().as_bytes());
    }
}

#[test]
fn many_fields() {
    for count in 240..270 {
        let text = format!("a 1 TXT {}\n", "x ".repeat(count));
        assert_eq!(records(&text, Name::root()).unwrap()[0].rdata.len(), 2 * count);
    }
}
