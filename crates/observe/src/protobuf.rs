//! Protocol buffers, as far as dnstap needs them written: numbers, octets and messages in fields.
//!
//! Ours rather than a library's: a message is written straight behind the frames before it, without a copy of query and response in structures of their
//! own, and all of it is less than what would have to be said to a library. Source: the encoding as <https://protobuf.dev/programming-guides/encoding> has it.

const VARINT: u32 = 0;
const OCTETS: u32 = 2;
const FIXED_32: u32 = 5;

/// Seven bits an octet, the lowest first; the upper bit says that more follow.
pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn tag(field: u32, kind: u32, out: &mut Vec<u8>) {
    varint(u64::from(field << 3 | kind), out);
}

/// A field with a number or a choice.
pub(crate) fn number(field: u32, value: u64, out: &mut Vec<u8>) {
    tag(field, VARINT, out);
    varint(value, out);
}

/// A field with a number of four octets.
pub(crate) fn fixed_32(field: u32, value: u32, out: &mut Vec<u8>) {
    tag(field, FIXED_32, out);
    out.extend(value.to_le_bytes());
}

/// A field with octets, text, or a message.
pub(crate) fn octets(field: u32, value: &[u8], out: &mut Vec<u8>) {
    tag(field, OCTETS, out);
    varint(value.len() as u64, out);
    out.extend(value);
}
