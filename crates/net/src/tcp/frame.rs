//! Messages in a byte stream: two octets of length, then the message (RFC 1035 4.2.2, RFC 7766 8).

/// Octets of length before each message.
pub(crate) const LENGTH_OCTETS: usize = 2;

/// Longest message: what two octets can count.
pub(crate) const MESSAGE_OCTETS_MAX: usize = 0xFFFF;

/// A message has at least a header (RFC 1035 4.1.1). A shorter one shows that the client's idea of where messages
/// begin differs from ours, or that it speaks another protocol, and nothing after it can be trusted.
const MESSAGE_OCTETS_MIN: usize = 12;

/// What the front of a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front<'a> {
    /// A whole message; it takes `LENGTH_OCTETS` more than its length.
    Message(&'a [u8]),
    /// The beginning of one, or nothing.
    Incomplete,
    /// A length that no message has.
    Malformed,
}

/// Looks at the front of `octets`. Reads at most the two octets of length.
pub(crate) fn front(octets: &[u8]) -> Front<'_> {
    let Some((length, rest)) = octets.split_first_chunk::<LENGTH_OCTETS>() else { return Front::Incomplete };
    let length = usize::from(u16::from_be_bytes(*length));
    if length < MESSAGE_OCTETS_MIN {
        return Front::Malformed;
    }
    match rest.get(..length) {
        Some(message) => Front::Message(message),
        None => Front::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts() {
        assert_eq!(front(&[]), Front::Incomplete);
        assert_eq!(front(&[0]), Front::Incomplete);
        assert_eq!(front(&[0, 0]), Front::Malformed);
        assert_eq!(front(&[0, 11]), Front::Malformed);
        assert_eq!(front(&[0, 12, 1]), Front::Incomplete);
        let mut stream = vec![0, 12];
        stream.extend([7; 12]);
        assert_eq!(front(&stream), Front::Message(&[7; 12]));
        stream.extend([0, 12, 9]);
        assert_eq!(front(&stream), Front::Message(&[7; 12]));
        assert_eq!(front(&stream[14..]), Front::Incomplete);
    }

    #[test]
    fn the_longest_message() {
        let mut stream = vec![0xFF; LENGTH_OCTETS + MESSAGE_OCTETS_MAX];
        assert_eq!(front(&stream), Front::Message(&[0xFF; MESSAGE_OCTETS_MAX]));
        stream.pop();
        assert_eq!(front(&stream), Front::Incomplete);
    }
}
