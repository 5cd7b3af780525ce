//! The reader as a whole.

use super::*;

/// Reads `text` at `example.` and compares what comes out, printed, with `lines`.
#[track_caller]
fn check(text: &str, lines: &[&str]) {
    let origin = NameBuf::from_text("example").unwrap();
    let records = records(text, &origin).unwrap_or_else(|report| panic!("{report}"));
    let printed: Vec<String> = records.iter().map(printed).collect();
    assert_eq!(printed, lines);
}

fn printed(record: &RecordBuf) -> String {
    let mut line = Vec::new();
    print::line(&record.owner, record.ttl, record.rtype, &record.rdata, &mut line);
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

/// Reads `text` at `example.` and compares the problems found with `lines`.
#[track_caller]
fn check_bad(text: &str, lines: &[&str]) {
    let origin = NameBuf::from_text("example").unwrap();
    let report = records(text, &origin).expect_err("the text is wrong");
    let found: Vec<String> = report.diagnostics.iter().map(Diagnostic::to_string).collect();
    assert_eq!(found, lines);
}

#[test]
fn owners() {
    check(
        "a 60 A 192.0.2.1\n  60 A 192.0.2.2\n\tIN 60 A 192.0.2.3\n@ 60 A 192.0.2.4\nb.other. 60 A 192.0.2.5\n",
        &[
            "a.example. 60 IN A 192.0.2.1",
            "a.example. 60 IN A 192.0.2.2",
            "a.example. 60 IN A 192.0.2.3",
            "example. 60 IN A 192.0.2.4",
            "b.other. 60 IN A 192.0.2.5",
        ],
    );
    check_bad(" 60 A 192.0.2.1\n", &["text:1:2: expected an owner name: no record before this one has any"]);
}

#[test]
fn ttls() {
    // Of `$TTL`, the record before and the SOA minimum, the first that there is.
    check(
        "a 1h IN A 192.0.2.1\na A 192.0.2.2\n$TTL 2d\na A 192.0.2.3\na IN 60 A 192.0.2.4\na CLASS1 A 192.0.2.5\n",
        &[
            "a.example. 3600 IN A 192.0.2.1",
            "a.example. 3600 IN A 192.0.2.2",
            "a.example. 172800 IN A 192.0.2.3",
            "a.example. 60 IN A 192.0.2.4",
            "a.example. 172800 IN A 192.0.2.5",
        ],
    );
    check(
        "@ SOA a b 1 2 3 4 5\na A 192.0.2.1\n",
        &["example. 5 IN SOA a.example. b.example. 1 2 3 4 5", "a.example. 5 IN A 192.0.2.1"],
    );
    check_bad(
        "a A 192.0.2.1\n",
        &["text:1:1: expected a TTL: neither $TTL nor a record before this one gives any"],
    );
    check_bad(
        "$TTL 2147483648\na 1x A 192.0.2.1\n",
        &[
            "text:1:6: expected a TTL: seconds up to 2147483647, or with units as in 1h30m, found \"2147483648\"",
            "text:2:3: expected a TTL: seconds up to 2147483647, or with units as in 1h30m, found \"1x\"",
        ],
    );
}

#[test]
fn parentheses_quotes_comments_escapes() {
    check(
        "; head\n@ 60 IN SOA ns ( host\\.master ; who\n 1 ; serial\n2 3 4 5 ) ; done\n\n\
         ;b\n 60 TXT \"a;b (c)\" d\\\"e \"f\\\"\" \"\\065\"\"g\"h\nx\\.y 60 A ( 192.0.2.1 )\n",
        &[
            "example. 60 IN SOA ns.example. host\\.master.example. 1 2 3 4 5",
            "example. 60 IN TXT \"a;b (c)\" \"d\\\"e\" \"f\\\"\" \"A\" \"g\" \"h\"",
            "x\\.y.example. 60 IN A 192.0.2.1",
        ],
    );
}

#[test]
fn line_ends() {
    check(
        "a 60 A 192.0.2.1\r\n\r\na 60 TXT \"b\"\r\n",
        &["a.example. 60 IN A 192.0.2.1", "a.example. 60 IN TXT \"b\""],
    );
    check("a 60 A 192.0.2.1", &["a.example. 60 IN A 192.0.2.1"]);
    check("\u{feff}a 60 A 192.0.2.1", &["a.example. 60 IN A 192.0.2.1"]);
    check("a 60 TXT b ; no newline", &["a.example. 60 IN TXT \"b\""]);
}
