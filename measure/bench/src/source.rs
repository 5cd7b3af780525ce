//! Where the queries of a load come from: query files, captures, zones, names made on the fly.

use std::{fs::File, io::Read, net::SocketAddr, path::Path};

use crate::{
    Error, error,
    error::CaptureProblem,
    generate::queries::{self, Mix},
    query::{self, Edns, Query, QuerySet},
    trace::{DNS_PORT, Reader, Source, message::Parts},
};

/// What all queries shall be, whatever their source says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// OPT with this payload size.
    pub payload_octets: Option<u16>,
    /// OPT with DO.
    pub dnssec_ok: bool,
    /// OPT with a client cookie.
    pub has_cookie: bool,
    /// No OPT; goes before the three above.
    pub no_edns: bool,
    /// RD set.
    pub rd: bool,
}

impl Overrides {
    /// Changes a query.
    pub fn apply(&self, query: &mut Query) {
        query.rd |= self.rd;
        let wanted = self.payload_octets.is_some() || self.dnssec_ok || self.has_cookie;
        let own = query.edns.or_else(|| wanted.then_some(Edns::default()));
        query.edns = own.filter(|_| !self.no_edns).map(|own| Edns {
            payload_octets: self.payload_octets.unwrap_or(own.payload_octets),
            dnssec_ok: own.dnssec_ok || self.dnssec_ok,
            has_cookie: own.has_cookie || self.has_cookie,
        });
    }
}

/// First octets of pcap, in both byte orders with microseconds and nanoseconds, and of pcapng.
const CAPTURE_MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x0a, 0x0d, 0x0d, 0x0a],
];
/// First octets of what xz, zstd and gzip write: no text begins with them.
const PACKED_MAGICS: [[u8; 2]; 3] = [[0xfd, b'7'], [0x28, 0xb5], [0x1f, 0x8b]];

/// Reads a query file or a capture, whichever the first octets say it is.
pub fn read(path: &Path, overrides: &Overrides) -> Result<QuerySet, Error> {
    let mut head = [0; 4];
    // A pipe can be read once only, so it is taken for a query file.
    if path.metadata().is_ok_and(|file| file.is_file()) {
        let file = File::open(path).map_err(error::file(path, "open"))?;
        file.take(4).read(&mut head).map_err(error::file(path, "read"))?;
    }
    if PACKED_MAGICS.iter().any(|magic| head.starts_with(magic)) {
        return Err(Error::Capture {
            path: path.to_owned(),
            offset: 0,
            problem: CaptureProblem::NotACapture,
        });
    }
    let mut set = QuerySet::default();
    if CAPTURE_MAGICS.contains(&head) {
        read_capture(path, overrides, &mut set)?;
    } else {
        query::each_query(path, |mut query| {
            overrides.apply(&mut query);
            set.push(&query);
            !set.is_full()
        })?;
    }
    match set.count() {
        0 => Err(Error::Empty { path: path.to_owned(), wanted: "queries" }),
        _ => Ok(set),
    }
}

/// Draws queries for the names of a zone file or folder of them, `count` of them in the usual mix.
pub fn draw(zone: &Path, count: usize, seed: u64, overrides: &Overrides) -> Result<QuerySet, Error> {
    let mut set = QuerySet::default();
    let mix = Mix { count: count.min(query::QUERIES_MAX), seed, ..Mix::default() };
    queries::from_zone(zone, None, &mix, |mut query| {
        overrides.apply(&mut query);
        if !set.is_full() {
            set.push(&query);
        }
    })?;
    Ok(set)
}

/// The ordinary queries of a capture, over UDP and TCP, with their times; where it has replies only, their questions.
fn read_capture(path: &Path, overrides: &Overrides, set: &mut QuerySet) -> Result<(), Error> {
    let requests =
        |parts: &Parts<'_>, to: SocketAddr| if to.port() == DNS_PORT { parts.query() } else { None };
    let replies = |parts: &Parts<'_>, _: SocketAddr| parts.rebuilt_query();
    take_queries(path, overrides, set, requests)?;
    if set.count() == 0 {
        take_queries(path, overrides, set, replies)?;
    }
    Ok(())
}

fn take_queries(
    path: &Path,
    overrides: &Overrides,
    set: &mut QuerySet,
    query: impl Fn(&Parts<'_>, SocketAddr) -> Option<Query>,
) -> Result<(), Error> {
    let mut reader = Reader::new(&[DNS_PORT]);
    let mut first = None;
    let mut take = |message: &crate::trace::Message<'_>| {
        let (Source::Udp { to, .. } | Source::Tcp { to, .. }) = message.source;
        let Some(mut query) = Parts::read(message).and_then(|parts| query(&parts, to)) else { return };
        overrides.apply(&mut query);
        if !set.is_full() {
            let start = *first.get_or_insert(message.time);
            set.push_at(&query, message.time.saturating_sub(start));
        }
    };
    reader.read(path, &mut take)?;
    reader.end(&mut take);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::trace::samples;

    #[track_caller]
    fn check(overrides: Overrides, line: &str, expected: &str) {
        let mut query = Query::from_line(line.as_bytes()).unwrap().unwrap();
        overrides.apply(&mut query);
        assert_eq!(query.to_string(), expected);
    }

    #[test]
    fn what_all_queries_shall_be() {
        check(Overrides::default(), "a. A do=4096 rd", "a. A do=4096 rd");
        check(Overrides { payload_octets: Some(512), ..Overrides::default() }, "a. A", "a. A edns=512");
        check(Overrides { payload_octets: Some(512), ..Overrides::default() }, "a. A do", "a. A do=512");
        check(Overrides { has_cookie: true, ..Overrides::default() }, "a. A do rd", "a. A do cookie rd");
        check(
            Overrides { dnssec_ok: true, rd: true, ..Overrides::default() },
            "a. A edns=4096",
            "a. A do=4096 rd",
        );
        check(Overrides { no_edns: true, dnssec_ok: true, ..Overrides::default() }, "a. A do cd", "a. A cd");
    }

    /// Queries of a capture with their times in milliseconds.
    fn of_capture(frames: &[(u64, Vec<u8>)], overrides: Overrides) -> Vec<(u64, String)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let frames: Vec<_> =
            frames.iter().map(|(time, frame)| (1_000_000_000 + time * 1_000_000, frame.clone())).collect();
        std::fs::write(file.path(), samples::pcapng(&[101], 9, &frames)).unwrap();
        let set = read(file.path(), &overrides).unwrap();
        let text = |index| Query::of_packet(set.packet(index)).unwrap().to_string();
        set.times_ns().iter().enumerate().map(|(index, time)| (time / 1_000_000, text(index))).collect()
    }

    fn packet(line: &str, is_response: bool) -> Vec<u8> {
        let mut packet = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
        packet[2] |= u8::from(is_response) << 7;
        packet
    }

    #[test]
    fn captures_with_udp_and_tcp() {
        let framed = |line| [&[0, packet(line, false).len() as u8][..], &packet(line, false)].concat();
        let frames = [
            (0, samples::tcp(4096, 53, 9, 2, b"")),
            (5, samples::udp(4, 4096, 53, &packet("a. A do=4096 rd", false))),
            (7, samples::udp(6, 53, 4096, &packet("reply. A", true))),
            (9, samples::tcp(4096, 53, 10, 16, &framed("b. NS"))),
            (8, samples::udp(4, 4096, 53, &packet("late. A", false))),
            (20, samples::udp(4, 4096, 53, &packet("c. MX edns=512", false))),
        ];
        let seen = |list: &[(u64, &str)]| {
            list.iter().map(|(time, line)| (*time, (*line).to_owned())).collect::<Vec<_>>()
        };
        let expected = seen(&[(0, "a. A do=4096 rd"), (4, "b. NS"), (4, "late. A"), (15, "c. MX edns=512")]);
        assert_eq!(of_capture(&frames, Overrides::default()), expected);
        let overrides = Overrides { no_edns: true, ..Overrides::default() };
        assert_eq!(of_capture(&frames[5..], overrides), seen(&[(0, "c. MX")]));
        assert_eq!(of_capture(&frames[2..3], Overrides::default()), seen(&[(0, "reply. A")]), "replies only");
    }

    #[test]
    fn kinds_of_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |octets: &[u8]| {
            std::fs::write(file.path(), octets).unwrap();
            read(file.path(), &Overrides::default())
        };
        assert_eq!(read(b"a. A\n").unwrap().count(), 1);
        assert!(matches!(read(b""), Err(Error::Empty { .. })));
        assert!(matches!(read(b"\xfd7zXZ\0"), Err(Error::Capture { .. })));
        assert!(matches!(read(b"\n\r\r\nnonsense"), Err(Error::Capture { .. })));
    }
}
