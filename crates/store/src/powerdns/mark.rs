//! By what two readings of a zone are compared, and a reading with one of yesterday.

use sha2::{Digest, Sha256};

/// Octets of a mark: as many as those of versions in our own schema have.
pub const MARK_OCTETS: usize = 16;

/// The same for the same rows, and another one for others.
pub type Mark = [u8; MARK_OCTETS];

/// A mark of words that are no rows: what is known by them is the same wherever it is asked.
#[must_use]
pub fn of_words(words: &[&str]) -> Mark {
    let mut marker = Marker::default();
    words.iter().for_each(|word| marker.column(Some(word.as_bytes())));
    marker.mark()
}

/// A mark in 32 hexadecimal digits.
#[must_use]
pub fn text(mark: &Mark) -> String {
    mark.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Makes a mark of columns, one after the other.
///
/// The first half of SHA-256. The rows are customers' of whoever runs PowerDNS: whoever can find two zones with one mark has a change that nobody sees, which a hash
/// without a key and made for speed lets them, and one with a key of the process would be another one after each start. Processors have instructions for it.
#[derive(Default)]
pub(super) struct Marker(Sha256);

impl Marker {
    /// Adds a column: its length plus one, or zero for NULL, and its octets, so that no two rows of columns look alike.
    pub(super) fn column(&mut self, column: Option<&[u8]>) {
        let length = column.map_or(0, |octets| octets.len() as u64 + 1);
        self.0.update(length.to_le_bytes());
        self.0.update(column.unwrap_or_default());
    }

    /// The mark of all that was added.
    pub(super) fn mark(self) -> Mark {
        let mut mark = Mark::default();
        mark.copy_from_slice(&self.0.finalize()[..MARK_OCTETS]);
        mark
    }
}
