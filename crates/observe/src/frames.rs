//! Frame Streams: frames behind their lengths, between control frames that say what they are.
//!
//! ```text
//! data frame     length (4, not 0), octets                                    numbers in network order
//! control frame  0 (4), length (4), kind (4), fields: kind (4), length (4), octets
//!
//! socket   READY -> <- ACCEPT   START -> data ->   STOP -> <- FINISH          file   START data STOP
//! ```
//!
//! Source: the protocol as `fstrm/control.h` of its first implementation has it; there is no RFC.

/// What the frames of dnstap are.
pub(crate) const CONTENT_TYPE: &[u8] = b"protobuf:dnstap.Dnstap";

/// Longest control frame that is read, its kind and fields: the first implementation takes no longer ones.
pub(crate) const CONTROL_OCTETS_MAX: usize = 512;

/// Before a control frame, where a data frame has its length.
pub(crate) const ESCAPE: [u8; 4] = [0; 4];

/// The only field: a content type.
const FIELD_CONTENT_TYPE: u32 = 1;

/// Kinds of control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Accept = 1,
    Start = 2,
    Stop = 3,
    Ready = 4,
    Finish = 5,
}

impl Control {
    /// The control frame, with the content type where it has one.
    pub(crate) fn frame(self) -> Vec<u8> {
        let mut body = (self as u32).to_be_bytes().to_vec();
        if matches!(self, Control::Accept | Control::Start | Control::Ready) {
            body.extend(FIELD_CONTENT_TYPE.to_be_bytes());
            body.extend((CONTENT_TYPE.len() as u32).to_be_bytes());
            body.extend(CONTENT_TYPE);
        }
        [&ESCAPE, &(body.len() as u32).to_be_bytes(), &body[..]].concat()
    }

    /// Whether `body`, which follows the length of a control frame, is of this kind and, where it names content types, has ours among them.
    pub(crate) fn is(self, body: &[u8]) -> bool {
        let Some((kind, mut fields)) = number(body) else { return false };
        let (mut named, mut ours) = (false, false);
        while !fields.is_empty() {
            let Some((field, rest)) = number(fields) else { return false };
            let Some((octets, rest)) = number(rest) else { return false };
            let Some((value, rest)) = rest.split_at_checked(octets as usize) else { return false };
            named |= field == FIELD_CONTENT_TYPE;
            ours |= field == FIELD_CONTENT_TYPE && value == CONTENT_TYPE;
            fields = rest;
        }
        kind == self as u32 && (ours || !named)
    }
}

fn number(octets: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = octets.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn control_frames() {
        assert_eq!(Control::Stop.frame(), b"\0\0\0\0\0\0\0\x04\0\0\0\x03");
        assert_eq!(
            Control::Start.frame(),
            b"\0\0\0\0\0\0\0\x22\0\0\0\x02\0\0\0\x01\0\0\0\x16protobuf:dnstap.Dnstap"
        );
    }

    #[test]
    fn answers_of_collectors() {
        let field = |value: &[u8]| [&[0, 0, 0, 1], &(value.len() as u32).to_be_bytes(), value].concat();
        let accept = |fields: &[&[u8]]| [&[0, 0, 0, 1][..], &fields.concat()].concat();
        let (ours, other) = (field(CONTENT_TYPE), field(b"other"));
        assert!(Control::Accept.is(&accept(&[&ours])));
        assert!(Control::Accept.is(&accept(&[&other, &ours])), "several may be named");
        assert!(Control::Accept.is(&accept(&[])), "or none");
        assert!(!Control::Accept.is(&accept(&[&other])), "not ours");
        assert!(!Control::Finish.is(&accept(&[&ours])), "another kind");
        for cut in 0..accept(&[&ours]).len() {
            let whole = cut == 4;
            assert_eq!(Control::Accept.is(&accept(&[&ours])[..cut]), whole, "cut off at {cut}");
        }
    }
}
