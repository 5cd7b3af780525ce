//! `$INCLUDE` and `$GENERATE`.

use std::collections::HashMap;

use super::super::*;
use super::printed;

/// Files by name.
struct Files(HashMap<&'static str, String>);

impl Opener for Files {
    fn open(&mut self, path: &str, _includer: &str) -> io::Result<Source<'static>> {
        let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?.clone();
        Ok(Source { name: path.to_owned(), input: Box::new(io::Cursor::new(text)) })
    }
}

/// Reads the file `main` at `example.`: the records, or the problems.
fn read_files(files: &[(&'static str, &str)]) -> Result<Vec<String>, String> {
    let mut files = Files(files.iter().map(|&(name, text)| (name, text.to_owned())).collect());
    let source = files.open("main", "").unwrap();
    let mut lines = Vec::new();
    let mut sink = |record: &Record<'_>| {
        let line = printed(&RecordBuf::from(record));
        lines.push(format!("{}:{} {line}", record.position.file, record.position.line));
        Ok(())
    };
    let options = Options::new(&NameBuf::from_text("example").unwrap());
    read(source, &options, &mut files, &mut sink).map(|_| lines).map_err(|report| report.to_string())
}

#[test]
fn includes() {
    let main =
        "$TTL 60\na A 192.0.2.1\n$INCLUDE one\n A 192.0.2.4\n$INCLUDE \"two\" sub ; comment\nb A 192.0.2.6\n";
    let one = "$ORIGIN other.\n$TTL 30\nc A 192.0.2.2\n$INCLUDE two\nd A 192.0.2.3";
    let two = "e A 192.0.2.5\n";
    assert_eq!(
        read_files(&[("main", main), ("one", one), ("two", two)]).unwrap(),
        [
            "0:2 a.example. 60 IN A 192.0.2.1",
            "1:3 c.other. 30 IN A 192.0.2.2",
            "2:1 e.other. 30 IN A 192.0.2.5",
            "1:5 d.other. 30 IN A 192.0.2.3",
            "0:4 a.example. 30 IN A 192.0.2.4",
            "3:1 e.sub.example. 30 IN A 192.0.2.5",
            "0:6 b.example. 30 IN A 192.0.2.6",
        ]
    );
}

/// RFC 1035 5.1 gives back the origin; the owner is the includer's again, as named has it, and TTLs go on.
#[test]
fn inheritance_across_files() {
    let main = "a 60 A 192.0.2.1\n$INCLUDE one sub\n A 192.0.2.3\nb A 192.0.2.4\n$GENERATE 1-2 g$ A 192.0.2.$\n TXT x\n";
    assert_eq!(
        read_files(&[("main", main), ("one", " 30 TXT first\nc TXT second\n$TTL 5\n")]).unwrap(),
        [
            "0:1 a.example. 60 IN A 192.0.2.1",
            "1:1 a.example. 30 IN TXT \"first\"",
            "1:2 c.sub.example. 30 IN TXT \"second\"",
            "0:3 a.example. 5 IN A 192.0.2.3",
            "0:4 b.example. 5 IN A 192.0.2.4",
            "0:5 g1.example. 5 IN A 192.0.2.1",
            "0:5 g2.example. 5 IN A 192.0.2.2",
            "0:6 b.example. 5 IN TXT \"x\"",
        ]
    );
}

#[test]
fn bad_includes() {
    let error = |main| {
        read_files(&[("main", main), ("self", "$INCLUDE main\n"), ("blank", " 1 A 192.0.2.1\n")]).unwrap_err()
    };
    assert_eq!(error("$INCLUDE main\n"), "main:1:10: file includes itself, found \"main\"");
    assert_eq!(error("$INCLUDE self\n"), "self:1:10: file includes itself, found \"main\"");
    assert_eq!(error("$INCLUDE none\n"), "main:1:10: cannot open included file: none: entity not found");
    assert_eq!(error("$INCLUDE\n"), "main:1:9: expected a file name, found the end of the entry");
    assert_eq!(error("$INCLUDE \"\"\n"), "main:1:11: expected a file name between the quotes");
    assert_eq!(
        error("$INCLUDE blank\na 1 A 192.0.2.1\n"),
        "blank:1:2: expected an owner name: no record before this one has any"
    );
}

/// Every level opens another file, so only the bound on depth ends it.
#[test]
fn deep_includes() {
    struct Endless(usize);
    impl Opener for Endless {
        fn open(&mut self, _: &str, _: &str) -> io::Result<Source<'static>> {
            self.0 += 1;
            Ok(Source { name: format!("file{}", self.0), input: Box::new(&b"$INCLUDE x\n$INCLUDE x\n"[..]) })
        }
    }
    let mut opener = Endless(0);
    let source = opener.open("", "").unwrap();
    let report =
        read(source, &Options::new(Name::root()), &mut opener, &mut |_: &Record<'_>| Ok(())).unwrap_err();
    assert!(
        report.to_string().starts_with("file21:1:10: expected at most 20 levels of $INCLUDE, found \"x\"")
    );
    assert_eq!(report.diagnostics.len(), limits::DIAGNOSTICS_MAX);
}

#[test]
fn unreadable_file() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::IsADirectory.into())
        }
    }
    let source =
        Source { name: "main".to_owned(), input: Box::new((&b"a 1 A 192.0.2.1\nb"[..]).chain(Broken)) };
    let report =
        read(source, &Options::new(Name::root()), &mut NoIncludes, &mut |_: &Record<'_>| Ok(())).unwrap_err();
    assert_eq!(report.to_string(), "main:1:1: cannot read: is a directory");
    // In the middle of an entry, long after the start.
    let text = "a 1 A (\n192.0.2.1 )\n".repeat(limits::WINDOW_OCTETS / 10) + "a 1 A (\n";
    let source = Source { name: "main".to_owned(), input: Box::new(text.as_bytes().chain(Broken)) };
    let report =
        read(source, &Options::new(Name::root()), &mut NoIncludes, &mut |_: &Record<'_>| Ok(())).unwrap_err();
    assert_eq!(report.diagnostics.len(), 1);
    assert!(report.to_string().ends_with(":1: cannot read: is a directory"));
}

#[test]
fn generates() {
    let text = "$TTL 60\n$GENERATE 1-3 h$ A 192.0.2.$\n\
                $GENERATE 0-4/2 \\$$.x 30 IN CNAME ${10,4,d}.y\n\
                $GENERATE 9-11 ${0,3,x}$$ TXT \"$ ${-9}\" ${1,5,N}\n\
                $GENERATE 31-31 ${0,0,n} PTR ${0,0,o}.${0,0,X}.\n";
    let lines = read_files(&[("main", text)]).unwrap();
    assert_eq!(
        lines,
        [
            "0:2 h1.example. 60 IN A 192.0.2.1",
            "0:2 h2.example. 60 IN A 192.0.2.2",
            "0:2 h3.example. 60 IN A 192.0.2.3",
            "0:3 \\$0.x.example. 30 IN CNAME 0010.y.example.",
            "0:3 \\$2.x.example. 30 IN CNAME 0012.y.example.",
            "0:3 \\$4.x.example. 30 IN CNAME 0014.y.example.",
            "0:4 009\\$.example. 60 IN TXT \"9 0\" \"A.0.0\"",
            "0:4 00a\\$.example. 60 IN TXT \"10 1\" \"B.0.0\"",
            "0:4 00b\\$.example. 60 IN TXT \"11 2\" \"C.0.0\"",
            "0:5 f.1.example. 60 IN PTR 37.1F.",
        ]
    );
}

#[test]
fn generates_as_named() {
    let text = "$TTL 60\n$GENERATE 1-1 q$ IN 30 MX \"1$ mail$\"\n$GENERATE 1-1 t$ TXT \"\\\"a $\\\" b\"\n\
                $GENERATE 0-1 h${-1} A 192.0.2.1\n$GENERATE 0-0 h${-1,3} TXT x\n\
                $GENERATE 1-1 s$ HTTPS 1 . alpn=\"h2\" port=$\n";
    assert_eq!(
        read_files(&[("main", text)]).unwrap(),
        [
            "0:2 q1.example. 30 IN MX 11 mail1.example.",
            "0:3 t1.example. 60 IN TXT \"a 1\" \"b\"",
            "0:4 h-1.example. 60 IN A 192.0.2.1",
            "0:4 h0.example. 60 IN A 192.0.2.1",
            "0:5 h-01.example. 60 IN TXT \"x\"",
            "0:6 s1.example. 60 IN HTTPS 1 . alpn=\"h2\" port=1",
        ]
    );
}

#[test]
fn bad_generates() {
    for (text, expected) in [
        (
            "$GENERATE",
            "main:1:10: expected a range `start-stop` or `start-stop/step`, found the end of the entry",
        ),
        (
            "$GENERATE 3-1 a A 192.0.2.1",
            "main:1:11: expected a range that does not end before it begins, found \"3-1\"",
        ),
        (
            "$GENERATE 1-3/0 a A 192.0.2.1",
            "main:1:11: expected a range `start-stop` or `start-stop/step`, found \"1-3/0\"",
        ),
        ("$GENERATE 1-3", "main:1:14: expected an owner name, found the end of the entry"),
        ("$GENERATE 1-3 a$ 1 A 192.0.2.1$", ""),
        ("$GENERATE 250-300 a$ 1 A 192.0.2.$", "main:1:26: expected an IPv4 address, found \"192.0.2.256\""),
        (
            "$GENERATE 1-3 a${0,0,q} 1 A 192.0.2.1",
            "main:1:16: expected `${offset}`, `${offset,width}` or `${offset,width,base}` with base d, o, x, X, n or N, found \"${0,0,q}\"",
        ),
        (
            "$GENERATE 1-3 a${-2,0,x} 1 A 192.0.2.1",
            "main:1:16: $GENERATE value plus offset is below zero, which only decimals can be, found \"$\"",
        ),
    ] {
        let result = read_files(&[("main", &format!("{text}\n"))]);
        assert_eq!(result.err().unwrap_or_default(), expected, "{text}");
    }
}

#[test]
fn generates_too_many() {
    let text = "$TTL 60\n$GENERATE 0-2147483647 a NULL \\# 0\n";
    let options = Options::new(Name::root());
    let source = Source { name: "main".to_owned(), input: Box::new(text.as_bytes()) };
    let mut count = 0;
    // All of them would take seconds; the receiver counts for itself and stops early.
    let mut sink = |_: &Record<'_>| {
        count += 1;
        if count == 1000 { Err(Refusal::Stop) } else { Ok(()) }
    };
    let report = read(source, &options, &mut NoIncludes, &mut sink).unwrap_err();
    assert!(report.diagnostics.is_empty() && !report.is_complete);
    assert_eq!(count, 1000);
}
