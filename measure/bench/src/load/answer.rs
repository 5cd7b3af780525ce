//! Answers, normalised so that those of two servers can be compared, and as text.
//!
//! *Normalised* is an answer whose records are sorted, with compressed names written out and all owner names, and the
//! names in RDATA that canonical form folds (RFC 4034 6.2), in lower case. TTLs count. The additional section, and with it
//! OPT, does not.

use std::fmt;

use wire::{
    Places,
    header::{HEADER_OCTETS, u16_at},
    iana::rcode,
    name::NAME_OCTETS_MAX,
    rdata::Names,
    record::RecordView,
};

use crate::error::LineProblem;

/// A normalised answer, or what it is to be: `None` is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The four bits of the header.
    pub rcode: Option<u8>,
    /// Records of answer and authority sections, and what they hash to.
    pub sections: [Section; 2],
}

/// A section of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// How many records.
    pub records: Option<u16>,
    /// The hash of all of them.
    pub hash: Option<u64>,
}

impl Answer {
    /// Normalises a reply; `None` where it is damaged.
    pub fn of_reply(reply: &[u8]) -> Option<Answer> {
        if reply.len() < HEADER_OCTETS {
            return None;
        }
        let rcode = Some(reply[3] & 15);
        let is_truncated = reply[2] & 2 != 0;
        if is_truncated {
            return Some(Answer { rcode, sections: [Section::default(); 2] });
        }
        let mut at = HEADER_OCTETS;
        for _ in 0..u16_at(reply, 4) {
            at = wire::record::skip_name(reply, at)? + 4;
        }
        let mut sections = [Section::default(); 2];
        for (section, count_at) in sections.iter_mut().zip([6, 8]) {
            let count = u16_at(reply, count_at);
            // No more records than octets, whatever the header says: each is read before the next.
            let mut records = Vec::new();
            for _ in 0..count {
                let record = RecordView::read(reply, at)?;
                records.push(normal_record(reply, &record)?);
                at = record.end();
            }
            records.sort_unstable();
            *section = Section { records: Some(count), hash: Some(hash(records.iter().flatten().copied())) };
        }
        Some(Answer { rcode, sections })
    }

    /// Whether an answer is this one, as far as both tell.
    pub fn agrees(&self, other: &Answer) -> bool {
        fn same<T: PartialEq>(one: Option<T>, two: Option<T>) -> bool {
            one.is_none() || two.is_none() || one == two
        }
        let pairs = self.sections.iter().zip(&other.sections);
        same(self.rcode, other.rcode)
            && pairs.into_iter().all(|(one, two)| same(one.records, two.records) && same(one.hash, two.hash))
    }

    /// Reads the fields after the colon.
    pub(super) fn from_text(text: &str) -> Result<Answer, LineProblem> {
        let mut fields = text.split_ascii_whitespace().map(|field| Some(field).filter(|&field| field != "-"));
        let mut next = || fields.next().flatten();
        let rcode = next().map(|field| code_from_text(field).ok_or(LineProblem::BadCode)).transpose()?;
        let mut section = || {
            let records = next().map(str::parse).transpose().map_err(|_| LineProblem::BadNumber)?;
            let hash = next().map(|field| u64::from_str_radix(field, 16)).transpose();
            Ok::<_, LineProblem>(Section { records, hash: hash.map_err(|_| LineProblem::BadNumber)? })
        };
        let sections = [section()?, section()?];
        if fields.next().is_some() {
            return Err(LineProblem::TooManyFields);
        }
        Ok(Answer { rcode, sections })
    }
}

/// As in a file.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rcode.map(|code| (code, rcode::mnemonic(code.into()))) {
            Some((_, Some(name))) => f.write_str(name)?,
            Some((code, None)) => write!(f, "RCODE{code}")?,
            None => f.write_str("-")?,
        }
        for section in self.sections {
            match section.records {
                Some(records) => write!(f, " {records}")?,
                None => f.write_str(" -")?,
            }
            match section.hash {
                Some(hash) => write!(f, " {hash:016x}")?,
                None => f.write_str(" -")?,
            }
        }
        Ok(())
    }
}

fn code_from_text(text: &str) -> Option<u8> {
    (0..16).find(|&code| match rcode::mnemonic(code.into()) {
        Some(name) => name.eq_ignore_ascii_case(text),
        None => format!("RCODE{code}").eq_ignore_ascii_case(text),
    })
}

/// A record with its owner and all names that canonical form folds written out and in lower case.
fn normal_record(message: &[u8], record: &RecordView<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(64);
    let mut places = Places::new();
    write_name(message, record.owner, &mut places, &mut octets)?;
    octets.extend_from_slice(&record.rtype.to_be_bytes());
    octets.extend_from_slice(&record.class.to_be_bytes());
    octets.extend_from_slice(&record.ttl.to_be_bytes());
    let mut at = record.rdata_at;
    for name in Names::in_message(record.rtype, message, at, record.end()) {
        let name = name.ok()?;
        // Other names stay as they are: they are equal only if their letters are.
        if name.uses.fold {
            octets.extend_from_slice(message.get(at..name.at)?);
            write_name(message, name.at, &mut places, &mut octets)?;
            at = name.end;
        }
    }
    octets.extend_from_slice(message.get(at..record.end())?);
    Some(octets)
}

/// Appends the name at `at` without compression and in lower case.
fn write_name(message: &[u8], at: usize, places: &mut Places, to: &mut Vec<u8>) -> Option<()> {
    places.follow(message, at).ok()?;
    let mut buffer = [0; NAME_OCTETS_MAX];
    let name = places.copy_ancestor(message, places.label_count(), &mut buffer);
    to.extend(name.octets().iter().map(u8::to_ascii_lowercase));
    Some(())
}

/// FNV-1a, 64 bits.
pub(super) fn hash(octets: impl Iterator<Item = u8>) -> u64 {
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// A reply to `example. MX` with two records, in one form or another of the same.
    pub fn reply(compressed: bool, turned: bool, ttl: u8) -> Vec<u8> {
        let mut reply = b"\x12\x34\x84\0\0\x01\0\x02\0\0\0\0\x07example\0\0\x0f\0\x01".to_vec();
        let owner: &[u8] = if compressed { b"\xc0\x0c" } else { b"\x07EXAMPLE\0" };
        let target: &[u8] = if compressed { b"\x01m\xc0\x0c" } else { b"\x01m\x07eXample\0" };
        for preference in if turned { [20, 10] } else { [10, 20] } {
            reply.extend_from_slice(owner);
            reply.extend_from_slice(&[0, 15, 0, 1, 0, 0, 0, ttl, 0, target.len() as u8 + 2, 0, preference]);
            reply.extend_from_slice(target);
        }
        reply
    }

    #[test]
    fn answers_are_normalised() {
        let one = Answer::of_reply(&reply(true, false, 60)).unwrap();
        assert_eq!(one.sections[0].records, Some(2));
        assert_eq!(Answer::of_reply(&reply(false, true, 60)), Some(one));
        assert!(!one.agrees(&Answer::of_reply(&reply(true, false, 61)).unwrap()), "TTLs count");
        let mut nxdomain = reply(true, false, 60);
        nxdomain[3] = 3;
        assert!(!one.agrees(&Answer::of_reply(&nxdomain).unwrap()));
        let mut truncated = reply(true, false, 61);
        truncated[2] |= 2;
        assert!(one.agrees(&Answer::of_reply(&truncated).unwrap()));
    }

    #[test]
    fn damaged_replies() {
        let whole = reply(true, false, 60);
        for length in 0..whole.len() {
            assert_eq!(Answer::of_reply(&whole[..length]), None, "{length}");
        }
        let mut loops = whole.clone();
        let at = whole.len() - 2;
        loops[at + 1] = at as u8;
        assert_eq!(Answer::of_reply(&loops), None);
    }
}
