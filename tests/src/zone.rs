//! Zones that tests serve, and their records as a server tells them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::exchange::{read_framed, tcp_stream, write_framed};
use crate::message::Query;
use crate::name::Name;
use crate::response::{Record, Response};
use crate::rtype;

/// A zone file to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneFile {
    /// Apex, absolute, in presentation form.
    pub origin: String,
    /// The text.
    pub path: PathBuf,
}

impl ZoneFile {
    /// A zone file at a path.
    pub fn new(origin: &str, path: impl Into<PathBuf>) -> ZoneFile {
        ZoneFile { origin: origin.to_owned(), path: path.into() }
    }
}

/// The folder `tests/data` of the sources.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// The repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository").to_owned()
}

/// Unpacks a Zstandard file.
pub fn unpack(path: &Path) -> Vec<u8> {
    let packed = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).expect("a Zstandard frame");
    let mut octets = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut octets).expect("an intact Zstandard file");
    octets
}

/// Fetches all records of a zone by AXFR (RFC 5936), the SOA once.
pub fn transfer(server: SocketAddr, origin: &str) -> Vec<Record> {
    let mut stream = tcp_stream(server).expect("connection for a transfer");
    write_framed(&mut stream, &Query::new(origin, rtype::AXFR).octets()).expect("transfer query");
    let mut records: Vec<Record> = Vec::new();
    loop {
        let message = read_framed(&mut stream).unwrap_or_else(|error| panic!("AXFR of {origin}: {error}"));
        let response = Response::parse(&message).unwrap_or_else(|fault| panic!("AXFR of {origin}: {fault}"));
        assert_eq!(response.rcode(), 0, "AXFR of {origin} refused");
        for record in response.answer {
            if record.rtype == rtype::SOA && !records.is_empty() {
                return records;
            }
            records.push(record);
        }
    }
}

/// Reads records in presentation form with an independent reader: one a line, absolute names, TTL and class given.
///
/// Panics with the line on text that is wrong or of a type that the reader does not know (write it as RFC 3597
/// has it, `TYPEnnn \# length digits`).
pub fn records_of(text: &str) -> Vec<Record> {
    use domain::base::ToName;
    use domain::base::iana::Class;
    use domain::base::rdata::ComposeRecordData;
    use domain::zonefile::inplace::{Entry, Zonefile};

    let mut file = Zonefile::from(format!("{}\n", text.trim_end()).as_str());
    file.set_default_class(Class::IN);
    file.set_origin(domain::base::Name::root_bytes());
    let mut records = Vec::new();
    loop {
        let entry = file.next_entry().unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let Some(entry) = entry else { return records };
        let Entry::Record(record) = entry else { panic!("a directive in\n{text}") };
        let mut rdata = Vec::new();
        record.data().compose_rdata(&mut rdata).expect("a vector grows");
        records.push(Record {
            owner: Name::from_wire(record.owner().to_vec().as_slice().to_vec()),
            rtype: record.rtype().to_int(),
            class: record.class().to_int(),
            ttl: record.ttl().as_secs(),
            rdata,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::records_of;
    use crate::name::Name;
    use crate::rtype;

    #[test]
    fn presentation_form_is_read() {
        let records = records_of("a.b. 5 IN MX 7 c.\n*.b. 6 IN TXT \"x y\"\nb. 7 IN TYPE999 \\# 2 abcd");
        assert_eq!(records[0].owner, Name::parse("a.b."));
        assert_eq!(records[0].rdata, b"\0\x07\x01c\0");
        assert_eq!((records[1].rtype, records[1].ttl), (rtype::TXT, 6));
        assert_eq!(records[1].rdata, b"\x03x y");
        assert_eq!(records[2].rdata, [0xab, 0xcd]);
    }
}
