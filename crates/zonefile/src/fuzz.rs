//! The fuzzer's way in: any octets as a zone file.

use std::io;

use wire::NameBuf;

use crate::{NoIncludes, Opener, Options, Record, RecordBuf, Scanner, Source, print, rdata};

/// Most records looked at: a `$GENERATE` may make millions, which would tell nothing new.
const RECORDS_MAX: usize = 2_000;

/// Included files are the text itself under another name, so that nesting is tried as well.
struct Again<'a>(&'a [u8], usize);

impl Opener for Again<'_> {
    fn open(&mut self, path: &str, _includer: &str) -> io::Result<Source<'static>> {
        self.1 += 1;
        if self.1 > 4 {
            return NoIncludes.open(path, "");
        }
        Ok(Source { name: format!("{path}#{}", self.1), input: Box::new(io::Cursor::new(self.0.to_vec())) })
    }
}

/// Reads with one scanner: the records up to the bound, and what was wrong.
fn records_of(text: &[u8], scanner: Scanner, opener: &mut dyn Opener) -> (Vec<RecordBuf>, String) {
    let origin: NameBuf = "example.".parse().expect("a name");
    let options = Options { scanner, ..Options::new(&origin) };
    let mut records = Vec::new();
    let mut owner_before: Option<NameBuf> = None;
    let mut inexact = false;
    let mut collect = |record: &Record<'_>| {
        assert_eq!(rdata::check(record.rtype, record.rdata), Ok(()), "RDATA that the check refuses");
        let is_same = owner_before.as_ref().is_some_and(|before| before.octets() == record.owner.octets());
        inexact |= record.same_owner != is_same;
        assert!(is_same || !record.same_owner, "not the same owner");
        owner_before = Some(record.owner.to_owned());
        records.push(RecordBuf::from(record));
        if records.len() < RECORDS_MAX { Ok(()) } else { Err(crate::Refusal::Stop) }
    };
    let source = Source { name: "fuzz".to_owned(), input: Box::new(text) };
    let problems = match crate::read(source, &options, opener, &mut collect) {
        Ok(_) => String::new(),
        Err(report) => {
            assert!(!report.diagnostics.is_empty() || !report.is_complete, "a refusal without a reason");
            report.to_string()
        }
    };
    assert!(!inexact || !problems.is_empty(), "the same owner, not said");
    (records, problems)
}

/// Reads `data` as a zone file and checks what must hold of every text: both scanners find the same records and
/// the same problems, all RDATA passes its check, and what is printed reads back as the same records.
pub fn fuzz_zonefile(data: &[u8]) {
    let (records, problems) = records_of(data, Scanner::Best, &mut Again(data, 0));
    let reference = records_of(data, Scanner::Scalar, &mut Again(data, 0));
    assert_eq!(reference, (records.clone(), problems), "the scanners differ");
    let mut text = Vec::new();
    for record in &records {
        print::line(&record.owner, record.ttl, record.rtype, &record.rdata, &mut text);
    }
    let (again, problems) = records_of(&text, Scanner::Best, &mut NoIncludes);
    let shown = || String::from_utf8_lossy(&text).into_owned();
    if !records.is_empty() && records.len() < RECORDS_MAX {
        assert_eq!(problems, "", "what was printed is not read: {}", shown());
    }
    assert!(records == again, "what was printed reads as something else: {}", shown());
}
