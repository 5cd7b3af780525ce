//! Our queries in the formats that generators of others read.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use bench::query::{self, Edns, Query};

use crate::{Error, error};

/// Queries of a file that are written at most: as many as recipes draw. Some generators keep all in memory.
const QUERIES_MAX: usize = 1_000_000;
/// Octets of the buffer that they are written through.
const BUFFER_OCTETS: usize = 1 << 20;
/// The COOKIE option of our queries, as dnsperf takes options.
const COOKIE: &str = "10:7a6f6e64612d6265";

/// How a program reads queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As messages, each behind its length in two octets: the very queries that ours sends.
    Packets,
    /// `NAME TYPE`: what else there is of a query is the same for all.
    Plain,
    /// `NAME TYPEn`, and `E` for EDNS or `D` for DO.
    Lettered,
}

impl Format {
    /// In what these queries are others than ours.
    pub fn differs(self) -> Option<&'static str> {
        match self {
            Format::Packets => None,
            Format::Plain => Some(
                "all or none have EDNS, DO, a cookie, as most have them; none has RD, CD or another payload size",
            ),
            Format::Lettered => Some("none has a cookie, RD, CD or another payload size"),
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Format::Packets => "packets",
            Format::Plain => "plain",
            Format::Lettered => "lettered",
        }
    }
}

/// Queries as a program reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFile {
    /// Where they are.
    pub path: PathBuf,
    /// Where that is not in the file: options of dnsperf for what most of the queries have.
    pub common: Vec<&'static str>,
}

/// How many queries have what.
#[derive(Default)]
struct Tally {
    all: usize,
    edns: usize,
    dnssec_ok: usize,
    cookies: usize,
}

impl QueryFile {
    /// Writes the queries of a file into a folder.
    pub(super) fn write(queries: &Path, folder: &Path, format: Format) -> Result<QueryFile, Error> {
        let stem = queries.file_stem().map_or_else(|| "queries".into(), |stem| stem.to_string_lossy());
        let path = folder.join(format!("{stem}.{}", format.suffix()));
        let file = File::create(&path).map_err(error::file(&path, "create"))?;
        let mut writer = BufWriter::with_capacity(BUFFER_OCTETS, file);
        let (mut tally, mut written) = (Tally::default(), Ok(()));
        query::each_query(queries, |query| {
            tally.add(&query);
            written = write_query(&mut writer, &query, format);
            written.is_ok() && tally.all < QUERIES_MAX
        })?;
        written.and_then(|()| writer.flush()).map_err(error::file(&path, "write"))?;
        let common = if format == Format::Plain { tally.common() } else { Vec::new() };
        Ok(QueryFile { path, common })
    }
}

impl Tally {
    fn add(&mut self, query: &Query) {
        let Edns { dnssec_ok, has_cookie, .. } = query.edns.unwrap_or_default();
        self.all += 1;
        self.edns += usize::from(query.edns.is_some());
        self.dnssec_ok += usize::from(dnssec_ok);
        self.cookies += usize::from(has_cookie);
    }

    fn common(&self) -> Vec<&'static str> {
        let most = |count: usize| 2 * count > self.all;
        let options: [(usize, &[&str]); 3] =
            [(self.edns, &["-e"]), (self.dnssec_ok, &["-D"]), (self.cookies, &["-E", COOKIE])];
        options
            .iter()
            .filter(|(count, _)| most(*count))
            .flat_map(|(_, words)| words.iter().copied())
            .collect()
    }
}

fn write_query(to: &mut impl Write, query: &Query, format: Format) -> io::Result<()> {
    if format == Format::Packets {
        let mut packet = Vec::with_capacity(query::QUERY_OCTETS_MAX);
        query.write(&mut packet);
        // At most `QUERY_OCTETS_MAX`, some three hundred.
        to.write_all(&(packet.len() as u16).to_be_bytes())?;
        return to.write_all(&packet);
    }
    let plain = Query { edns: None, rd: false, cd: false, ..query.clone() }.to_string();
    if format == Format::Plain {
        return writeln!(to, "{plain}");
    }
    // A type by a name that kxdpgun does not know, it takes for a fault of the whole file.
    let name = plain.rsplit_once(' ').map_or(plain.as_str(), |(name, _)| name);
    let letter = query.edns.map_or("", |edns| if edns.dnssec_ok { " D" } else { " E" });
    writeln!(to, "{name} TYPE{}{letter}", query.rtype)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const QUERIES: &str =
        "a.example. A do=4096 cookie rd\n; none\n. NS\nb. TYPE65280 edns=512 cd\n\\#c. AAAA do\n";

    fn written(format: Format) -> (Vec<u8>, Vec<&'static str>) {
        let folder = tempfile::tempdir().unwrap();
        let queries = folder.path().join("root.queries");
        std::fs::write(&queries, QUERIES).unwrap();
        let file = QueryFile::write(&queries, folder.path(), format).unwrap();
        (std::fs::read(&file.path).unwrap(), file.common)
    }

    #[test]
    fn packets_are_the_same() {
        let (octets, common) = written(Format::Packets);
        let (mut rest, mut read) = (&octets[..], String::new());
        while let Some((length, more)) = rest.split_first_chunk::<2>() {
            let (packet, more) = more.split_at(u16::from_be_bytes(*length).into());
            read += &format!("{}\n", Query::of_packet(packet).unwrap());
            rest = more;
        }
        assert_eq!(read, QUERIES.replace("; none\n", ""));
        assert_eq!(common, [""; 0]);
    }

    #[test]
    fn text_has_what_there_is_room_for() {
        let (text, common) = written(Format::Lettered);
        let expected = "a.example. TYPE1 D\n. TYPE2\nb. TYPE65280 E\n\\#c. TYPE28 D\n";
        assert_eq!((String::from_utf8(text).unwrap().as_str(), common.len()), (expected, 0));
        let (text, common) = written(Format::Plain);
        assert_eq!(String::from_utf8(text).unwrap(), "a.example. A\n. NS\nb. TYPE65280\n\\#c. AAAA\n");
        assert_eq!(common, ["-e"], "three of four have EDNS, half have DO");
    }
}
