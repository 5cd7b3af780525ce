//! The reader as a whole.

use super::*;

mod bounds;
mod include;

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
        "$TTL 4294967296\na 1x A 192.0.2.1\n",
        &[
            "text:1:6: expected a TTL: seconds up to 4294967295, or with units as in 1h30m, found \"4294967296\"",
            "text:2:3: expected a TTL: seconds up to 4294967295, or with units as in 1h30m, found \"1x\"",
        ],
    );
    // What is above 2^31 - 1 is handed over as it is: RFC 2181 8 gives it a meaning.
    check(
        "$TTL 2147483648\na A 192.0.2.1\na 4294967295 A 192.0.2.2\n",
        &["a.example. 2147483648 IN A 192.0.2.1", "a.example. 4294967295 IN A 192.0.2.2"],
    );
    check(
        "@ SOA a b 1 2 3 4 4294967295\n",
        &["example. 4294967295 IN SOA a.example. b.example. 1 2 3 4 4294967295"],
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

#[test]
fn stray_carriage_returns() {
    check_bad(
        "$TTL 1\na A 192.0.2.1\r\rb A 192.0.2.2\r\nc A ( \r 192.0.2.3 )\nd A 192.0.2.4\n\re A 192.0.2.5\n; \r fine\n",
        &[
            "text:2:14: carriage return inside a line: expected it before a newline only",
            "text:3:7: carriage return inside a line: expected it before a newline only",
            "text:5:1: carriage return inside a line: expected it before a newline only",
        ],
    );
}

#[test]
fn quotes_after_equals() {
    check(
        "$TTL 1\na TXT k=\"v w\"\nsvcb TXT a=\"b\"\nb HTTPS 1 . alpn=\"h2\" key9999=\"a b\"\n IN 60 TYPE64 1 . port=\"53\"\n",
        &[
            "a.example. 1 IN TXT \"k=\" \"v w\"",
            "svcb.example. 1 IN TXT \"a=\" \"b\"",
            "b.example. 1 IN HTTPS 1 . alpn=\"h2\" key9999=\"a b\"",
            "b.example. 60 IN SVCB 1 . port=53",
        ],
    );
    check_bad(
        "$TTL 1\na SVCB 1 . key9999=\"a\"b\n$ORIGIN \"sub\"\n",
        &[
            "text:2:12: expected a value that ends with its closing quote, found \"key9999=\"a\"b\"",
            "text:3:10: expected a domain name without quotes, found \"sub\"",
        ],
    );
}

#[test]
fn origins() {
    check(
        "$TTL 60\n$ORIGIN b\na A 192.0.2.1\n$ORIGIN c.\na A 192.0.2.2\n@ A 192.0.2.3\n$ORIGIN .\na A 192.0.2.4\n. A 192.0.2.5\n",
        &[
            "a.b.example. 60 IN A 192.0.2.1",
            "a.c. 60 IN A 192.0.2.2",
            "c. 60 IN A 192.0.2.3",
            "a. 60 IN A 192.0.2.4",
            ". 60 IN A 192.0.2.5",
        ],
    );
    check_bad(
        "$ORIGIN\n$ORIGIN a..b\n$ORIGIN a b\n$origin \"\"\n$FOO\n",
        &[
            "text:1:8: expected a domain name, found the end of the entry",
            "text:2:9: expected a domain name (empty label), found \"a..b\"",
            "text:3:11: expected the end of the entry, found \"b\"",
            "text:4:10: expected a domain name (empty label), found \"\"",
            "text:5:1: expected $ORIGIN, $TTL, $INCLUDE or $GENERATE, found \"$FOO\"",
        ],
    );
}

/// The same text gives another name after `$ORIGIN`, and the same name may be written in two ways.
#[test]
fn same_owner() {
    let text = "$TTL 1\na A 192.0.2.1\na A 192.0.2.2\n A 192.0.2.3\na.example. A 192.0.2.4\nA A 192.0.2.5\n\
                $ORIGIN b.\na A 192.0.2.6\na A 192.0.2.7\n";
    let mut same = Vec::new();
    let mut sink = |record: &Record<'_>| {
        same.push(record.same_owner);
        Ok(())
    };
    let source = Source { name: "text".to_owned(), input: Box::new(text.as_bytes()) };
    let options = Options::new(&NameBuf::from_text("example").unwrap());
    read(source, &options, &mut NoIncludes, &mut sink).unwrap();
    assert_eq!(same, [false, true, true, true, false, false, true]);
}

#[test]
fn classes_and_types() {
    check(
        "a in 60 a 192.0.2.1\na 60 in TYPE1 192.0.2.2\na 60 class1 ns b\na 60 TYPE65280 \\# 1 ff\n",
        &[
            "a.example. 60 IN A 192.0.2.1",
            "a.example. 60 IN A 192.0.2.2",
            "a.example. 60 IN NS b.example.",
            "a.example. 60 IN TYPE65280 \\# 1 FF",
        ],
    );
    check_bad(
        "a 60 CH A 192.0.2.1\na 60 IN IN A 192.0.2.1\na 60 60 A 192.0.2.1\na 60 IN FOO x\na FOO\na 60 ANY x\na 60 NXNAME\n\
         a 60 NULL x\na 60\na\na 60 TYPE65280 x\n",
        &[
            "text:1:6: expected class IN, found \"CH\"",
            "text:2:9: expected a record type, found \"IN\"",
            "text:3:6: expected a class or record type, found \"60\"",
            "text:4:9: expected a record type, found \"FOO\"",
            "text:5:3: expected a TTL, class or record type, found \"FOO\"",
            "text:6:6: expected a type of zone data, this one exists in messages only, found \"ANY\"",
            "text:7:6: expected a type of zone data, this one exists in messages only, found \"NXNAME\"",
            "text:8:11: type has no presentation format: expected `\\#`, found \"x\"",
            "text:9:5: expected a TTL, class or record type, found the end of the entry",
            "text:10:2: expected a TTL, class or record type, found the end of the entry",
            "text:11:16: type has no presentation format: expected `\\#`, found \"x\"",
        ],
    );
}

#[test]
fn bad_rdata() {
    check_bad(
        "$TTL 1\na A 1.2.3\na A\na A 192.0.2.1 x\na MX x y\na MX 65536 y\na AAAA ::g\na NS a..b\na NS \\300\n\
         a TXT \\1\na DS 1 2 3 abc\na DNSKEY 1 3 5 ab!=\na RRSIG A FOO 2 60 1 1 1 . AAAA\na NSEC b FOO\n\
         a SOA b c 1 2 3 4\na NSEC3 1 0 0 - 0\na A \\# 3 010203\na A \\# 4 0102\na A \\# x\na CAA 0 is-sue x\n\
         a DS 1 8 2 ABCD\na SSHFP 1 1 ABCD\na TYPE0 \\# 0\n\
         a LOC 1 N 1 E 0m 90000000.00m 90000000.01m\na LOC 1 N 1 E 0m 1m 1m 99999999.99m\na NSEC3 1 0 0 - 2t7b4g4v A\n\
         a NSEC3 1 0 0 - 2t7b4g4vsa5smi47k61mv5bv1a22bojr==== A\na DNSKEY 1 3 5 AQ==AQ==\na DNSKEY 1 3 5 AQ== AQ==\n\
         a DNSKEY 1 3 5 AQI=AQID\n$GENERATE 5-1 b$ A 192.0.2.1\n$GENERATE 5-1/2 b$ A 192.0.2.1\n$GENERATE 1-5/0 b$ A 192.0.2.1\n",
        &[
            "text:2:5: expected an IPv4 address, found \"1.2.3\"",
            "text:3:4: expected an IPv4 address, found the end of the entry",
            "text:4:15: expected the end of the entry, found \"x\"",
            "text:5:6: expected a number from 0 to 65535, found \"x\"",
            "text:6:6: expected a number from 0 to 65535, found \"65536\"",
            "text:7:8: expected an IPv6 address, found \"::g\"",
            "text:8:6: expected a domain name (empty label), found \"a..b\"",
            "text:9:6: expected a domain name (bad escape: `\\` needs an octet or three digits up to 255), found \"\\300\"",
            "text:10:7: expected `\\` before an octet or three digits up to 255, found \"\\1\"",
            "text:11:12: expected pairs of hexadecimal digits, found \"abc\"",
            "text:12:16: expected base64, found \"ab!=\"",
            "text:13:11: expected a DNSSEC algorithm number or mnemonic, found \"FOO\"",
            "text:14:10: expected a record type, found \"FOO\"",
            "text:15:18: expected a time in seconds, found the end of the entry",
            "text:16:17: expected base32 (extended hex alphabet, no padding), found \"0\"",
            "text:17:8: expected RDATA of the type's form: RDATA ends too early",
            "text:18:8: expected RDATA of the 4 octets it announces, found 2 octets",
            "text:19:8: expected a number from 0 to 65535, found \"x\"",
            "text:20:9: expected a property tag of letters and digits, found \"is-sue\"",
            "text:21:16: expected a digest as long as its digest type wants, found 2 octets",
            "text:22:17: expected a digest as long as its digest type wants, found 2 octets",
            "text:23:3: expected a type of zone data, this one exists in messages only, found \"TYPE0\"",
            "text:24:31: expected a length from 0 to 90000000.00 metres, found \"90000000.01m\"",
            "text:25:24: expected a length from 0 to 90000000.00 metres, found \"99999999.99m\"",
            "text:26:17: expected a hash of 32 characters, the 20 octets of SHA-1, found \"2t7b4g4v\"",
            "text:27:17: expected base32 (extended hex alphabet, no padding), found \"2t7b4g4vsa5smi47k61mv5bv1a22bojr====\"",
            "text:28:16: expected base64, found \"AQ==AQ==\"",
            "text:29:21: expected base64, found \"AQ==\"",
            "text:30:16: expected base64, found \"AQI=AQID\"",
            "text:31:11: expected a range that does not end before it begins, found \"5-1\"",
            "text:32:11: expected a range that does not end before it begins, found \"5-1/2\"",
            "text:33:11: expected a range `start-stop` or `start-stop/step`, found \"1-5/0\"",
        ],
    );
}

/// A `$TTL` that is wrong is one mistake, and not one for each record that would have it.
#[test]
fn a_bad_ttl_is_reported_once() {
    for (bad, expected) in [
        (
            "$TTL x",
            "text:1:6: expected a TTL: seconds up to 4294967295, or with units as in 1h30m, found \"x\"",
        ),
        ("$TTL", "text:1:5: expected a TTL, found the end of the entry"),
        ("$TTL 1 2", "text:1:8: expected the end of the entry, found \"2\""),
    ] {
        check_bad(&format!("{bad}\na A 192.0.2.1\nb A 192.0.2.1\n"), &[expected]);
    }
}

/// Words of text without quotes, which are strings of their own.
#[test]
fn bare_words() {
    let text = "a 1 TXT v=spf1 -all\na TXT \"v=spf1 -all\"\na TXT one\na TXT \"a\" \"b\"\na TXT \"a\" b\n\
                a SPF \"a\" b c\na HINFO b c\na TXT \\# 2 01 61\na TXT ( b\n c )\n";
    let mut lines = Vec::new();
    let mut sink = |record: &Record<'_>| {
        lines.extend(record.has_bare_words.then_some(record.position.line));
        Ok(())
    };
    let source = Source { name: "text".to_owned(), input: Box::new(text.as_bytes()) };
    read(source, &Options::new(Name::root()), &mut NoIncludes, &mut sink).unwrap();
    assert_eq!(lines, [1, 6, 9]);
}

/// Places inside an entry of several lines, and reading on after it.
#[test]
fn places_in_parentheses() {
    check_bad(
        "$TTL 1\n@ SOA a b ( 1 ; serial\n  2\n  x ; retry\n  4 5 )\nb A 192.0.2.256\n",
        &[
            "text:4:3: expected a time in seconds: a number from 0 to 4294967295, or with units as in 1h30m, found \"x\"",
            "text:6:5: expected an IPv4 address, found \"192.0.2.256\"",
        ],
    );
    let mut lines = Vec::new();
    let mut sink = |record: &Record<'_>| {
        lines.push(record.position.line);
        Ok(())
    };
    let text = "\n; a\na 1 A ( 192.0.2.1\n)\n\na 1 TXT \"b\"\n";
    let source = Source { name: "text".to_owned(), input: Box::new(text.as_bytes()) };
    read(source, &Options::new(Name::root()), &mut NoIncludes, &mut sink).unwrap();
    assert_eq!(lines, [3, 6]);
}

#[test]
fn unclosed() {
    check_bad(
        "$TTL 1\n@ SOA a b ( 1\n 2 3\nb A 1\nc TXT \"d\ne TXT f\"g\n",
        &[
            "text:2:11: parenthesis is never closed: expected `)`",
            "text:4:5: expected an IPv4 address, found \"1\"",
            "text:5:7: quote is not closed on its line: expected `\"`, found \"\"d\"",
            "text:6:8: quote is not closed on its line: expected `\"`, found \"\"g\"",
        ],
    );
    check_bad("h A )\n", &["text:1:5: closing parenthesis without an opening one, found \")\""]);
    check_bad("a 1 TXT \"b", &["text:1:9: quote is not closed on its line: expected `\"`, found \"\"b\""]);
    check_bad(
        "a 1 TXT b\\",
        &["text:1:9: expected `\\` before an octet or three digits up to 255, found \"b\\\""],
    );
    check_bad(
        "a 1 TXT ( \"b )\nc 1 A 192.0.2.1\n",
        &[
            "text:1:11: quote is not closed on its line: expected `\"`, found \"\"b )\"",
            "text:1:9: parenthesis is never closed: expected `)`",
        ],
    );
    check_bad("a 1 A (", &["text:1:7: parenthesis is never closed: expected `)`"]);
}

#[test]
fn no_zone_file_at_all() {
    check_bad("", &["text:1:1: expected at least one record, found the end of the file"]);
    check_bad(
        "; nothing\n\n$TTL 1\n",
        &["text:1:1: expected at least one record, found the end of the file"],
    );
    check_bad("a 1 A 192.0.2.1\nb\0\u{1}\n\0", &["text:2:2: not a zone file: octet of zero, expected text"]);
    check_bad("a 1 TXT \"\0\"\nb", &["text:1:10: not a zone file: octet of zero, expected text"]);
}

#[test]
fn limit_of_diagnostics() {
    let text = "a A\n".repeat(1000);
    let report = records(&text, Name::root()).unwrap_err();
    assert_eq!(report.diagnostics.len(), limits::DIAGNOSTICS_MAX);
    assert!(!report.is_complete);
    assert!(report.to_string().ends_with("\nreading stopped after 100 problems"));
}

#[test]
fn refusals() {
    let mut count = 0;
    let mut sink = |record: &Record<'_>| {
        count += 1;
        match record.rtype {
            1 => Err(Refusal::Record("not here".to_owned())),
            16 => Err(Refusal::Stop),
            _ => Ok(()),
        }
    };
    let text = "$TTL 1\na A 192.0.2.1\n NS b\n TXT c\n NS d\n";
    let source = Source { name: "text".to_owned(), input: Box::new(text.as_bytes()) };
    let report = read(source, &Options::new(Name::root()), &mut NoIncludes, &mut sink).unwrap_err();
    assert_eq!(report.to_string(), "text:2:1: not here");
    assert_eq!((report.is_complete, report.summary.records, count), (false, 1, 3));
}

/// Whatever was read before with the same room, and however that ended, the next text is read as with room of its own.
#[test]
fn room_is_used_again() {
    let origin = NameBuf::from_text("example").unwrap();
    let read = |buffers: &mut Buffers, text: &str, records_max: usize| {
        let mut lines = Vec::new();
        let source = Source { name: "text".to_owned(), input: Box::new(text.as_bytes()) };
        let mut collect = |record: &Record<'_>| {
            lines.push(printed(&RecordBuf::from(record)));
            if lines.len() < records_max { Ok(()) } else { Err(Refusal::Stop) }
        };
        let result = read_with(buffers, source, &Options::new(&origin), &mut NoIncludes, &mut collect);
        (lines, result.map_err(|report| report.to_string()))
    };
    let long = format!("a 60 TXT ( {} )\n", "\"some text\" ".repeat(2000));
    let longer = format!("a 60 TXT x ; {}\n", "y".repeat(limits::WINDOW_OCTETS));
    let many = "b 60 A 192.0.2.1\n".repeat(20_000);
    let texts = ["a 60 A 192.0.2.1", &long, "a 60 A \"192.0.2.1\"\n", &longer, "a (\n", &many, "", "@ 60 NS"];
    let mut buffers = Buffers::new();
    for text in texts.iter().chain(texts.iter().rev()) {
        for records_max in [usize::MAX, 1] {
            assert_eq!(read(&mut buffers, text, records_max), read(&mut Buffers::new(), text, records_max));
        }
    }
    assert!(buffers.window.capacity() <= limits::WINDOW_OCTETS + scan::PADDING);
}
