//! The question of a message (RFC 1035 4.1.2): name, type, class.

use crate::header::{HEADER_OCTETS, u16_at};
use crate::name::NameError;
use crate::places::Places;

/// Type and class of a question, and where it ends; its name begins at offset 12, its labels are in [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The type asked for.
    pub qtype: u16,
    /// The class.
    pub qclass: u16,
    /// Offset of what follows the question.
    pub end: usize,
}

impl Question {
    /// Reads the first question of `message`. Its name cannot be compressed.
    #[inline(always)]
    pub fn read(message: &[u8], places: &mut Places) -> Result<Question, NameError> {
        let name_end = places.read_plain(message, HEADER_OCTETS)?;
        let end = name_end + 4;
        if end > message.len() {
            return Err(NameError::Truncated);
        }
        Ok(Question { qtype: u16_at(message, name_end), qclass: u16_at(message, name_end + 2), end })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn question() {
        let message = b"............\x01A\0\0\x1c\0\x01";
        let mut places = Places::new();
        let question = Question::read(message, &mut places).unwrap();
        assert_eq!(question, Question { qtype: 28, qclass: 1, end: message.len() });
        for end in 0..message.len() {
            assert_eq!(Question::read(&message[..end], &mut places), Err(NameError::Truncated), "{end}");
        }
    }
}
