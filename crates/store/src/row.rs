//! A record as a row, which has one text only: else two rows were one record, and removing one of them removed it.
//!
//! Owner absolute and in lower case; type by name or `TYPE65280`; RDATA as [`zonefile::print`] writes its canonical form (RFC 4034 6.2: the names
//! in it that are compared without case are in lower case).

use std::fmt;

use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::contents::TTL_MAX;
use zonefile::{Buffers, NoIncludes, Options, RecordBuf, Source};

/// A record in the columns of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Owner name.
    pub owner: String,
    /// Type.
    pub rtype: String,
    /// TTL.
    pub ttl: u32,
    /// RDATA.
    pub rdata: String,
}

impl fmt::Display for Row {
    /// As a line of a zone file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { owner, rtype, ttl, rdata } = self;
        write!(f, "{owner} {ttl} IN {rtype} {rdata}")
    }
}

impl Row {
    /// The row of a record. `owner`: in lower case.
    pub(crate) fn of(owner: &str, rtype: u16, ttl: u32, rdata: &[u8]) -> Row {
        Row { owner: owner.to_owned(), rtype: rtype::Text(rtype).to_string(), ttl, rdata: text(rtype, rdata) }
    }
}

/// The one text of RDATA.
fn text(rtype: u16, rdata: &[u8]) -> String {
    let mut canonical = rdata.to_vec();
    wire::rdata::fold(rtype, &mut canonical);
    zonefile::print::rdata(rtype, &canonical)
}

/// Why a row is no record, or not in its one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The owner is no name, or not one of the zone.
    Owner,
    /// No type of records that zones have.
    Type,
    /// RDATA that is none of its type: what the reader of zone files says.
    Rdata(String),
    /// A record, but in other words than these: of this column, its right text.
    Text(&'static str, String),
    /// A TTL beyond what one can be (RFC 2181 8).
    Ttl,
    /// An SOA record below the apex.
    SoaBelowApex,
    /// A second SOA record.
    SoaTwice,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Owner => f.write_str("owner: expected a name at or below that of the zone"),
            Unfit::Type => f.write_str("type: expected the type of a record"),
            Unfit::Rdata(said) => write!(f, "rdata: {said}"),
            Unfit::Text(column, right) => write!(f, "{column}: there is one text for it: {right}"),
            Unfit::Ttl => f.write_str("ttl: expected at most 2147483647"),
            Unfit::SoaBelowApex => f.write_str("an SOA record below the apex"),
            Unfit::SoaTwice => f.write_str("expected one SOA record, found a second one"),
        }
    }
}

/// A row that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The row.
    pub row: Row,
    /// Why.
    pub why: Unfit,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More of a row than this hides what is said of it.
        const RDATA_SHOWN_MAX: usize = 100;
        let Row { owner, rtype, rdata, .. } = &self.row;
        let end = rdata.floor_char_boundary(RDATA_SHOWN_MAX);
        let more = if end < rdata.len() { "…" } else { "" };
        write!(f, "{owner} {rtype} {:?}{more}: {}", &rdata[..end], self.why)
    }
}

/// Makes records of the rows of one zone.
pub(crate) struct Reader {
    buffers: Buffers,
    options: Options,
    line: String,
}

impl Reader {
    /// One for rows of the zone `apex`.
    pub(crate) fn of(apex: &Name) -> Reader {
        Reader { buffers: Buffers::new(), options: Options::new(apex), line: String::new() }
    }

    /// Goes on with rows of another zone, in the room that there is: making it costs more than reading some rows.
    pub(crate) fn turn_to(&mut self, apex: &Name) {
        self.options = Options::new(apex);
    }

    /// The record of a row in its one form.
    pub(crate) fn read(&mut self, row: &Row) -> Result<RecordBuf, Unfit> {
        let owner = NameBuf::from_text(&row.owner).map_err(|_| Unfit::Owner)?.to_lowercase();
        if !owner.is_at_or_below(&self.options.origin) {
            return Err(Unfit::Owner);
        }
        expect("owner", &row.owner, owner.to_string())?;
        if row.ttl > TTL_MAX {
            return Err(Unfit::Ttl);
        }
        let rtype = rtype::from_text(row.rtype.as_bytes()).ok_or(Unfit::Type)?;
        expect("type", &row.rtype, rtype::Text(rtype).to_string())?;
        let mut record = self.parse(row)?;
        wire::rdata::fold(rtype, &mut record.rdata);
        expect("rdata", &row.rdata, zonefile::print::rdata(rtype, &record.rdata))?;
        Ok(record)
    }

    /// The record of a row by the reader of zone files. Owner and type are right by now, so that no directive can begin here.
    fn parse(&mut self, row: &Row) -> Result<RecordBuf, Unfit> {
        use fmt::Write;
        if row.rdata.contains('\n') {
            return Err(Unfit::Rdata("expected one line".into()));
        }
        self.line.clear();
        // Writing to a String cannot fail.
        let _ = writeln!(self.line, "{row}");
        let source = Source { name: "row".into(), input: Box::new(self.line.as_bytes()) };
        let mut found: Option<RecordBuf> = None;
        let mut take = |record: &zonefile::Record<'_>| {
            found = Some(RecordBuf::from(record));
            Ok(())
        };
        let read = zonefile::read_with(&mut self.buffers, source, &self.options, &mut NoIncludes, &mut take);
        match (read, found) {
            (Ok(_), Some(record)) => Ok(record),
            (Err(report), _) => Err(Unfit::Rdata(said(&report))),
            (Ok(_), None) => Err(Unfit::Rdata("expected a record".into())),
        }
    }
}

/// What a report has to say, without the place in a line that nobody wrote.
fn said(report: &zonefile::Report) -> String {
    let Some(first) = report.diagnostics.first() else { return "expected a record".into() };
    let whole = first.to_string();
    let place = format!("{}:{}:{}: ", first.file, first.line, first.column);
    whole.strip_prefix(&place).unwrap_or(&whole).to_owned()
}

fn expect(column: &'static str, found: &str, right: String) -> Result<(), Unfit> {
    if found == right { Ok(()) } else { Err(Unfit::Text(column, right)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(owner: &str, rtype: &str, rdata: &str) -> Result<(), Unfit> {
        let row = Row { owner: owner.into(), rtype: rtype.into(), ttl: 60, rdata: rdata.into() };
        Reader::of(&NameBuf::from_text("example.").unwrap()).read(&row).map(drop)
    }

    #[track_caller]
    fn has_right_text(owner: &str, rtype: &str, rdata: &str, column: &str, right: &str) {
        match read(owner, rtype, rdata) {
            Err(Unfit::Text(found, text)) => assert_eq!((found, &*text), (column, right)),
            other => panic!("{other:?}"),
        }
        // And that one is taken.
        let texts = match column {
            "owner" => (right, rtype, rdata),
            "type" => (owner, right, rdata),
            _ => (owner, rtype, right),
        };
        assert_eq!(read(texts.0, texts.1, texts.2), Ok(()));
    }

    #[test]
    fn rows_of_another_zone() {
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let row = |zone: &str| Row {
            owner: format!("www.{zone}"),
            rtype: "A".into(),
            ttl: 60,
            rdata: "192.0.2.1".into(),
        };
        let mut reader = Reader::of(&name("a.test."));
        for (own, other) in [("a.test.", "b.test."), ("b.test.", "a.test.")] {
            reader.turn_to(&name(own));
            assert_eq!(reader.read(&row(own)).map(drop), Ok(()));
            assert_eq!(reader.read(&row(other)).map(drop), Err(Unfit::Owner));
        }
    }

    #[test]
    fn one_text_for_one_record() {
        has_right_text("a.example.", "AAAA", "2001:DB8::1", "rdata", "2001:db8::1");
        has_right_text("a.example.", "AAAA", "2001:db8:0::1", "rdata", "2001:db8::1");
        has_right_text("A.example.", "A", "192.0.2.1", "owner", "a.example.");
        has_right_text("a.example", "A", "192.0.2.1", "owner", "a.example.");
        has_right_text("a.example.", "TYPE1", "192.0.2.1", "type", "A");
        has_right_text("a.example.", "A", "192.0.2.1 ; a comment", "rdata", "192.0.2.1");
        has_right_text("a.example.", "A", "( 192.0.2.1 )", "rdata", "192.0.2.1");
        has_right_text("a.example.", "NS", "ns", "rdata", "ns.example.");
        has_right_text("a.example.", "NS", "NS.Other.", "rdata", "ns.other.");
        has_right_text("a.example.", "TXT", "word", "rdata", "\"word\"");
        has_right_text("a.example.", "MX", "010 a.", "rdata", "10 a.");
        has_right_text("a.example.", "TYPE65280", "\\# 2 ab12", "rdata", "\\# 2 AB12");
    }

    /// Names in newer types are not folded (RFC 3597 7), so that two of them are two records.
    #[test]
    fn what_is_compared_with_case_keeps_it() {
        assert_eq!(read("a.example.", "HTTPS", "1 Host.example."), Ok(()));
        assert_eq!(read("a.example.", "HTTPS", "1 host.example."), Ok(()));
    }

    #[test]
    fn what_is_no_record() {
        for (owner, rtype, rdata) in [
            ("a.example.", "A", "192.0.2"),
            ("a.example.", "A", "192.0.2.1\nb.example. 60 IN A 192.0.2.2"),
            ("a.example.", "A", "192.0.2.1\n$GENERATE 1-9999999 $ A 192.0.2.2"),
            ("a.example.", "A", "( 192.0.2.1"),
            ("a.example.", "A", ""),
            ("a.example.", "TXT", "\"open"),
        ] {
            assert!(matches!(read(owner, rtype, rdata), Err(Unfit::Rdata(_))), "{owner} {rtype} {rdata:?}");
        }
        for owner in ["a.org.", "a..example.", "", "\\300.example.", "aexample."] {
            assert_eq!(read(owner, "A", "192.0.2.1"), Err(Unfit::Owner), "{owner:?}");
        }
        for owner in ["$INCLUDE", "a.example. 5 IN A 1.2.3.4 ; .example.", "@"] {
            assert!(read(owner, "A", "192.0.2.1").is_err(), "{owner:?}");
        }
        assert_eq!(read("a.example.", "NOSUCH", ""), Err(Unfit::Type));
        assert!(read("a.example.", "ANY", "x").is_err());
    }
}
