//! How large the answer to each query is: recorded from a real server, replayed by the echo server.
//!
//! Text form, a line for each query: hash of the query in 16 hexadecimal digits, a blank, octets of the answer.
//! The hash covers everything but the ID.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use crate::{Error, error, error::LineProblem};

/// Largest answer the echo server sends; no server sends more over UDP.
pub const ANSWER_OCTETS_MAX: usize = 4096;

/// Hash of a query without its ID: eight octets at a time, folded after a multiplication.
pub fn query_hash(query: &[u8]) -> u64 {
    let octets = query.get(2..).unwrap_or_default();
    let mut chunks = octets.chunks_exact(8);
    let mut state = octets.len() as u64;
    for chunk in &mut chunks {
        state = fold(state, chunk);
    }
    fold(state, chunks.remainder())
}

fn fold(state: u64, octets: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..octets.len()].copy_from_slice(octets);
    let product = u128::from(state ^ u64::from_le_bytes(word)) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64 ^ 0xd1b5_4a32_d192_ed03
}

/// Answer sizes by query.
pub struct Sizes {
    /// Open addressing, at most half full: upper half of the hash and the size; a size of 0 is an empty place.
    places: Box<[(u32, u16)]>,
    /// The sizes in the order of the file, for replay without a look at the query.
    in_order: Vec<u16>,
}

impl Sizes {
    /// A table of the given pairs of hash and size; the first of equal hashes counts.
    pub fn new(pairs: &[(u64, u16)]) -> Sizes {
        let mut sizes = Sizes {
            places: vec![(0, 0); (pairs.len() * 2 + 1).next_power_of_two()].into(),
            in_order: pairs.iter().map(|&(_, size)| size).collect(),
        };
        for &(hash, size) in pairs {
            let place = sizes.place(hash);
            if sizes.places[place].1 == 0 {
                sizes.places[place] = ((hash >> 32) as u32, size.max(1));
            }
        }
        sizes
    }

    /// Reads a table from its text form.
    pub fn read(path: &Path) -> Result<Sizes, Error> {
        let reader = BufReader::new(File::open(path).map_err(error::file(path, "open"))?);
        let mut pairs = Vec::new();
        for (number, line) in reader.lines().enumerate() {
            let line = line.map_err(error::file(path, "read"))?;
            let problem = |problem| Error::Line { path: path.to_owned(), line: number + 1, problem };
            let (hash, size) = line.split_once(' ').ok_or(problem(LineProblem::MissingField))?;
            let hash = u64::from_str_radix(hash, 16).map_err(|_| problem(LineProblem::BadNumber))?;
            let size: u16 = size.trim().parse().map_err(|_| problem(LineProblem::BadNumber))?;
            if size == 0 || usize::from(size) > ANSWER_OCTETS_MAX {
                return Err(problem(LineProblem::BadNumber));
            }
            pairs.push((hash, size));
        }
        if pairs.is_empty() {
            return Err(Error::Empty { path: path.to_owned(), wanted: "sizes" });
        }
        Ok(Sizes::new(&pairs))
    }

    /// Writes the text form of such pairs.
    pub fn write(path: &Path, pairs: &[(u64, u16)]) -> Result<(), Error> {
        let mut output = BufWriter::new(File::create(path).map_err(error::file(path, "create"))?);
        let mut lines = pairs.iter().try_for_each(|(hash, size)| writeln!(output, "{hash:016x} {size}"));
        lines = lines.and_then(|()| output.flush());
        lines.map_err(error::file(path, "write"))
    }

    /// The size for a query, if it was recorded.
    pub fn size(&self, query: &[u8]) -> Option<usize> {
        let (_, size) = self.places[self.place(query_hash(query))];
        (size > 0).then_some(size.into())
    }

    /// All sizes in the order of the recording; never empty when read from a file.
    pub fn in_order(&self) -> &[u16] {
        &self.in_order
    }

    /// Where a hash is or would be. Ends, as half of the places at least are empty.
    fn place(&self, hash: u64) -> usize {
        let (mask, tag) = (self.places.len() - 1, (hash >> 32) as u32);
        let mut place = hash as usize & mask;
        while self.places[place].1 != 0 && self.places[place].0 != tag {
            place = (place + 1) & mask;
        }
        place
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn query(number: u32) -> Vec<u8> {
        let mut query = vec![0xab, 0xcd, 0, 0];
        query.extend_from_slice(format!("name{number}").as_bytes());
        query
    }

    #[test]
    fn found_by_query_whatever_the_id() {
        let pairs: Vec<_> = (0..10_000).map(|n| (query_hash(&query(n)), (n % 4000 + 12) as u16)).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        Sizes::write(file.path(), &pairs).unwrap();
        let sizes = Sizes::read(file.path()).unwrap();
        for number in 0..10_000 {
            let mut asked = query(number);
            asked[0] = number as u8;
            assert_eq!(sizes.size(&asked), Some((number % 4000 + 12) as usize));
        }
        assert_eq!(sizes.size(&query(10_001)), None);
        assert_eq!(sizes.size(b""), None);
        assert_eq!(sizes.in_order().len(), 10_000);
    }

    #[test]
    fn bad_tables() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["", "xyz 5\n", "00 0\n", "00 5000\n", "0\n"] {
            std::fs::write(file.path(), text).unwrap();
            assert!(Sizes::read(file.path()).is_err(), "{text}");
        }
    }
}
