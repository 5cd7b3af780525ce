//! Slices: a zone and the queries for it, cut by the first letter of the label below the apex (ISC-TN-2008-1: halves
//! and thirds of `com`, so that a server's memory holds its part).
//!
//! A slice is a zone of its own: it has the apex, the names in its range and all below them, and the addresses of name
//! servers that its delegations need from other slices. Signatures and the chains of NSEC and NSEC3 are left out, as
//! they are true for the whole zone only. Digits and other octets below `a` belong to the slice that has `a`, octets
//! above `z` to the one that has `z`.

use std::{collections::HashMap, io::Write, path::Path};

use wire::{Name, iana::rtype};

use super::zone_file::{ZoneFile, name_hash};
use crate::{Error, query};

/// First octets of labels, lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: u8,
    last: u8,
}

/// Most slices at once.
pub const RANGES_MAX: usize = 32;
/// Types that say something about the zone as a whole.
const WHOLE_ZONE_TYPES: [u16; 6] =
    [rtype::RRSIG, rtype::NSEC, rtype::NSEC3, rtype::NSEC3PARAM, rtype::DNSKEY, rtype::ZONEMD];

impl Range {
    /// Reads `a-f`, or one letter or digit alone.
    pub fn from_text(text: &str) -> Option<Range> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let octet = |text: &str| match text.as_bytes() {
            [octet] if octet.is_ascii_alphanumeric() => Some(octet.to_ascii_lowercase()),
            _ => None,
        };
        let range = Range { first: octet(first)?, last: octet(last)? };
        (range.first <= range.last).then_some(range)
    }

    /// Cuts the alphabet: `a-m`, `n-z`.
    pub fn halves() -> Vec<Range> {
        vec![Range { first: b'a', last: b'm' }, Range { first: b'n', last: b'z' }]
    }

    /// The thirds of the report: `a-f`, `g-n`, `o-z`.
    pub fn thirds() -> Vec<Range> {
        [(b'a', b'f'), (b'g', b'n'), (b'o', b'z')].map(|(first, last)| Range { first, last }).into()
    }

    fn has(self, octet: u8) -> bool {
        (self.first..=self.last).contains(&octet)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.first as char)?;
        if self.last != self.first {
            write!(f, "-{}", self.last as char)?;
        }
        Ok(())
    }
}

/// Where a name belongs.
enum Part {
    /// The apex.
    All,
    One(usize),
    /// Another zone, or no range has its letter.
    None,
}

fn part_of(name: &Name, apex: &Name, ranges: &[Range]) -> Part {
    if !name.is_at_or_below(apex) {
        return Part::None;
    }
    let Some(at) = name.label_count().checked_sub(apex.label_count() + 1) else { return Part::All };
    let octet = name.labels().nth(at).and_then(|label| label.first()).unwrap_or(&b'a').to_ascii_lowercase();
    let of = |octet: u8| ranges.iter().position(|range| range.has(octet));
    match of(octet).or_else(|| of(octet.clamp(b'a', b'z'))) {
        Some(part) => Part::One(part),
        None => Part::None,
    }
}

/// Cuts a zone; one output for each range. Returns how many records each got.
pub fn zone<W: Write>(
    path: &Path,
    origin: Option<&Name>,
    ranges: &[Range],
    outputs: &mut [W],
) -> Result<Vec<u64>, Error> {
    assert!(ranges.len() == outputs.len() && ranges.len() <= RANGES_MAX, "one output for each range");
    let zone = ZoneFile::open(path, origin)?;
    let servers = servers(&zone, ranges)?;
    let mut counts = vec![0; ranges.len()];
    let mut line = Vec::new();
    let mut result = Ok(());
    zone.each_record(|record| {
        if WHOLE_ZONE_TYPES.contains(&record.rtype) {
            return;
        }
        let mut parts: u32 = match part_of(record.owner, &zone.apex, ranges) {
            Part::All => !0,
            Part::One(part) => 1 << part,
            Part::None => 0,
        };
        if record.rtype == rtype::A || record.rtype == rtype::AAAA {
            parts |= servers.get(&name_hash(record.owner)).copied().unwrap_or_default();
        }
        line.clear();
        zonefile::print::line(record.owner, record.ttl, record.rtype, record.rdata, &mut line);
        for (part, output) in outputs.iter_mut().enumerate().filter(|(part, _)| parts >> part & 1 == 1) {
            counts[part] += 1;
            if result.is_ok() {
                result = output.write_all(&line);
            }
        }
    })?;
    result
        .and_then(|()| outputs.iter_mut().try_for_each(Write::flush))
        .map_err(|cause| Error::System { action: "write a slice", cause })?;
    Ok(counts)
}

/// For each name server in the zone: which slices delegate to it, as bits.
fn servers(zone: &ZoneFile, ranges: &[Range]) -> Result<HashMap<u64, u32>, Error> {
    let mut servers = HashMap::new();
    zone.each_record(|record| {
        if record.rtype != rtype::NS {
            return;
        }
        let parts: u32 = match part_of(record.owner, &zone.apex, ranges) {
            Part::All => !0,
            Part::One(part) => 1 << part,
            Part::None => return,
        };
        if let Ok(server) = Name::from_wire(record.rdata)
            && server.is_at_or_below(&zone.apex)
        {
            *servers.entry(name_hash(server)).or_default() |= parts;
        }
    })?;
    Ok(servers)
}

/// Cuts a query file; those for the apex go to all slices, those for other zones to none. Returns how many each got.
pub fn queries<W: Write>(
    path: &Path,
    apex: &Name,
    ranges: &[Range],
    outputs: &mut [W],
) -> Result<Vec<u64>, Error> {
    assert!(ranges.len() == outputs.len(), "one output for each range");
    let mut counts = vec![0; ranges.len()];
    let mut result = Ok(());
    query::each_query(path, |query| {
        let wanted = match part_of(&query.name, apex, ranges) {
            Part::All => 0..ranges.len(),
            Part::One(part) => part..part + 1,
            Part::None => 0..0,
        };
        for part in wanted {
            counts[part] += 1;
            if result.is_ok() {
                result = writeln!(outputs[part], "{query}");
            }
        }
        result.is_ok()
    })?;
    result
        .and_then(|()| outputs.iter_mut().try_for_each(Write::flush))
        .map_err(|cause| Error::System { action: "write a slice", cause })?;
    Ok(counts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use wire::NameBuf;

    use super::*;
    use crate::generate::{registry, tests::check_zone};

    #[test]
    fn ranges() {
        for (text, shown) in [("a-f", Some("a-f")), ("Q", Some("q")), ("0-9", Some("0-9")), ("f-a", None)] {
            assert_eq!(Range::from_text(text).map(|range| range.to_string()).as_deref(), shown, "{text}");
        }
        for text in ["", "a-", "ab", "a-b-c", "-", "ä"] {
            assert_eq!(Range::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn slices_are_zones_and_together_the_whole() {
        let shape = registry::Shape::net(4_000, 1);
        let labels = crate::labels::make(shape.delegations, None, 1).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let whole = registry::write(file.reopen().unwrap(), &shape, &labels).unwrap();
        for ranges in [Range::halves(), Range::thirds()] {
            let mut texts = vec![Vec::new(); ranges.len()];
            let counts = zone(file.path(), None, &ranges, &mut texts).unwrap();
            let mut delegations = 0;
            for (text, count) in texts.iter().zip(&counts) {
                let text = std::str::from_utf8(text).unwrap();
                check_zone(text, "net.", *count as usize);
                delegations += text.matches(" IN NS ").count() - 13;
            }
            assert_eq!(delegations as u64, whole.ns - 13);
            assert!(counts.iter().all(|&count| count < whole.records * 4 / 5), "{counts:?}");
        }
    }

    #[test]
    fn queries_go_with_their_zone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "www.Alpha.com. A do\n9to5.com. A\ncom. NS\n_dmarc.com. TXT\nzulu.com. A\nalpha.org. A\nmike.com. A\n",
        )
        .unwrap();
        let mut texts = vec![Vec::new(); 2];
        let apex = NameBuf::from_text("com").unwrap();
        let counts = queries(file.path(), &apex, &Range::halves(), &mut texts).unwrap();
        assert_eq!(counts, [5, 2]);
        assert_eq!(String::from_utf8_lossy(&texts[1]), "com. NS\nzulu.com. A\n");
        assert!(String::from_utf8_lossy(&texts[0]).starts_with("www.Alpha.com. A do\n9to5.com. A\n"));
        let some = [Range::from_text("m").unwrap()];
        assert_eq!(queries(file.path(), &apex, &some, &mut texts[..1]).unwrap(), [2]);
    }
}
