//! What frames of the job carry: queries, and what answers are to be.

use super::Problem;
use crate::{
    load::expect::{Answer, Expected, Key, Section},
    query::QuerySet,
};

/// Most octets of queries passed on: four million of them, in a second over a fast network.
const QUERIES_OCTETS_MAX: usize = 256 << 20;
/// Most answers passed on, of queries and of questions: 256 MiB as they travel, twice as much in an agent's memory.
const EXPECTED_MAX: usize = 8 << 20;
/// Octets of one of them.
const EXPECTED_OCTETS: usize = 32;
/// Octets of queries or answers in a frame, about.
const PART_OCTETS: usize = 1 << 20;

/// Queries as payloads of frames: each query is length (2), time in nanoseconds (8), packet.
pub fn queries_parts(queries: &QuerySet) -> Result<Vec<Vec<u8>>, Problem> {
    let (mut parts, mut part, mut total) = (Vec::new(), Vec::new(), 0);
    for index in 0..queries.kept() {
        let packet = queries.packet(index);
        let time_ns = queries.times_ns().get(index).copied().unwrap_or(0);
        part.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        part.extend_from_slice(&time_ns.to_be_bytes());
        part.extend_from_slice(packet);
        if part.len() >= PART_OCTETS || index + 1 == queries.kept() {
            total += part.len();
            parts.push(std::mem::take(&mut part));
        }
        if total > QUERIES_OCTETS_MAX {
            return Err(Problem::TooManyQueries);
        }
    }
    Ok(parts)
}

/// Adds the queries of a payload to a set; `timed`: their times count.
pub fn add_queries(set: &mut QuerySet, mut part: &[u8], timed: bool) -> Result<(), Problem> {
    while !part.is_empty() {
        let (length, rest) = part.split_first_chunk().ok_or(Problem::Frame)?;
        let (time_ns, rest) = rest.split_first_chunk().ok_or(Problem::Frame)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (packet, rest) = rest.split_at_checked(length).ok_or(Problem::Frame)?;
        let time_ns = timed.then(|| u64::from_be_bytes(*time_ns));
        if set.is_full() || !set.push_packet(packet, time_ns) {
            return Err(Problem::Frame);
        }
        part = rest;
    }
    Ok(())
}

/// What answers are to be as payloads of frames: each is what it is for (1; 0 a query, 1 a question), key (8), response
/// code (1; 255 for any), and of both sections what is said (1; bit 0 for records, bit 1 for the hash), records (2) and
/// hash (8).
pub fn expected_parts(expected: &Expected) -> Result<Vec<Vec<u8>>, Problem> {
    if expected.len() > EXPECTED_MAX {
        return Err(Problem::TooManyAnswers);
    }
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    for (key, answer) in expected.iter() {
        let (what, key) = match key {
            Key::Query(key) => (0, key),
            Key::Question(key) => (1, key),
        };
        part.push(what);
        part.extend_from_slice(&key.to_be_bytes());
        part.push(answer.rcode.unwrap_or(u8::MAX));
        for Section { records, hash } in answer.sections {
            part.push(u8::from(records.is_some()) | u8::from(hash.is_some()) << 1);
            part.extend_from_slice(&records.unwrap_or(0).to_be_bytes());
            part.extend_from_slice(&hash.unwrap_or(0).to_be_bytes());
        }
        if part.len() >= PART_OCTETS {
            parts.push(std::mem::take(&mut part));
        }
    }
    parts.extend((!part.is_empty()).then_some(part));
    Ok(parts)
}

/// Adds the answers of a payload to what is expected.
pub fn add_expected(expected: &mut Expected, part: &[u8]) -> Result<(), Problem> {
    if !part.len().is_multiple_of(EXPECTED_OCTETS)
        || expected.len() + part.len() / EXPECTED_OCTETS > EXPECTED_MAX
    {
        return Err(Problem::Frame);
    }
    for entry in part.chunks_exact(EXPECTED_OCTETS) {
        let (key, answer) = expected_from(entry).ok_or(Problem::Frame)?;
        expected.add(key, answer);
    }
    Ok(())
}

fn expected_from(entry: &[u8]) -> Option<(Key, Answer)> {
    let (&[what], rest) = entry.split_first_chunk()?;
    let (key, rest) = rest.split_first_chunk()?;
    let (&[rcode], sections) = rest.split_first_chunk()?;
    let key = u64::from_be_bytes(*key);
    let key = match what {
        0 => Key::Query(key),
        1 => Key::Question(key),
        _ => return None,
    };
    let section = |octets: &[u8]| {
        let (&[said], rest) = octets.split_first_chunk()?;
        let (records, hash) = rest.split_first_chunk()?;
        Some(Section {
            records: (said & 1 != 0).then_some(u16::from_be_bytes(*records)),
            hash: (said & 2 != 0).then_some(u64::from_be_bytes(*hash.first_chunk()?)),
        })
    };
    let (first, second) = sections.split_at_checked(sections.len() / 2)?;
    let rcode = (rcode != u8::MAX).then_some(rcode);
    Some((key, Answer { rcode, sections: [section(first)?, section(second)?] }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn expectations() {
        let mut expected = Expected::default();
        let any = Section::default();
        for (key, rcode, first) in [
            (Key::Query(7), Some(3), Section { records: Some(0), hash: None }),
            (Key::Query(u64::MAX), None, Section { records: None, hash: Some(9) }),
            (Key::Question(7), Some(0), Section { records: Some(65_535), hash: Some(u64::MAX) }),
        ] {
            expected.add(key, Answer { rcode, sections: [first, any] });
        }
        let parts = expected_parts(&expected).unwrap();
        assert_eq!((parts.len(), parts[0].len()), (1, 3 * EXPECTED_OCTETS));
        let mut read = Expected::default();
        add_expected(&mut read, &parts[0]).unwrap();
        assert_eq!(read, expected);
        for (at, octet) in [(0, 2u8), (EXPECTED_OCTETS, 9)] {
            let mut damaged = parts[0].clone();
            damaged[at] = octet;
            assert_eq!(add_expected(&mut read, &damaged), Err(Problem::Frame));
        }
        assert_eq!(add_expected(&mut read, &parts[0][1..]), Err(Problem::Frame));
    }

    #[test]
    fn expectations_of_many_parts() {
        let mut expected = Expected::default();
        let count = PART_OCTETS / EXPECTED_OCTETS + 1;
        for key in 0..count as u64 {
            expected.add(Key::Query(key), Answer { rcode: Some(0), sections: [Section::default(); 2] });
        }
        let parts = expected_parts(&expected).unwrap();
        assert_eq!(parts.len(), 2);
        let mut read = Expected::default();
        parts.iter().for_each(|part| add_expected(&mut read, part).unwrap());
        assert!(read == expected);
    }
}
