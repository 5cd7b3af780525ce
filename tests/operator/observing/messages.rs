//! Messages of dnstap as a file has them, read without what wrote them: fields by number.

use std::collections::HashMap;
use std::path::Path;

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    Number(u64),
    Octets(Vec<u8>),
}

/// The fields of a message, by number; each comes once.
pub type Fields = HashMap<u64, Field>;

/// Of `Message` in `dnstap.proto`.
pub mod field {
    pub const TYPE: u64 = 1;
    pub const QUERY_ADDRESS: u64 = 4;
    pub const RESPONSE_ADDRESS: u64 = 5;
    pub const QUERY_PORT: u64 = 6;
    pub const RESPONSE_PORT: u64 = 7;
    pub const QUERY_TIME_SEC: u64 = 8;
    pub const QUERY_MESSAGE: u64 = 10;
    pub const QUERY_ZONE: u64 = 11;
    pub const RESPONSE_MESSAGE: u64 = 14;
}

/// The data frames of a file, which is whole up to where it is cut off, if it is.
pub fn frames(file: &Path) -> Vec<Vec<u8>> {
    let octets = std::fs::read(file).unwrap_or_default();
    let (mut frames, mut rest) = (Vec::new(), &octets[..]);
    while let Some((length, behind)) = number(rest) {
        let (is_control, length, behind) = match (length, number(behind)) {
            (0, Some((length, behind))) => (true, length, behind),
            _ => (false, length, behind),
        };
        let (frame, behind) = behind.split_at_checked(length as usize).expect("a whole frame");
        if !is_control {
            frames.push(frame.to_vec());
        }
        rest = behind;
    }
    assert!(rest.is_empty(), "whole frames, and {rest:?}");
    frames
}

fn number(octets: &[u8]) -> Option<(u32, &[u8])> {
    octets.split_first_chunk::<4>().map(|(number, rest)| (u32::from_be_bytes(*number), rest))
}

/// `Message` of each frame of a file.
pub fn messages(file: &Path) -> Vec<Fields> {
    let of = |frame: Vec<u8>| match fields(&frame).remove(&14) {
        Some(Field::Octets(message)) => fields(&message),
        other => panic!("no message: {other:?}"),
    };
    frames(file).into_iter().map(of).collect()
}

fn fields(mut octets: &[u8]) -> Fields {
    let mut fields = Fields::new();
    while !octets.is_empty() {
        let tag = varint(&mut octets);
        let value = match tag & 7 {
            0 => Field::Number(varint(&mut octets)),
            2 => {
                let length = varint(&mut octets) as usize;
                Field::Octets(octets.split_off(..length).expect("all of it").to_vec())
            }
            5 => {
                let number = octets.split_off(..4).expect("four octets");
                Field::Number(u32::from_le_bytes(number.try_into().expect("four octets")).into())
            }
            other => panic!("a field of kind {other}"),
        };
        assert_eq!(fields.insert(tag >> 3, value), None, "field {} twice", tag >> 3);
    }
    fields
}

fn varint(octets: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let octet = *octets.split_off_first().expect("an octet");
        value |= u64::from(octet & 0x7f) << shift;
        if octet < 0x80 {
            break;
        }
    }
    value
}

/// Octets of a field.
pub fn octets(fields: &Fields, field: u64) -> &[u8] {
    match fields.get(&field) {
        Some(Field::Octets(octets)) => octets,
        other => panic!("field {field} is {other:?}"),
    }
}

/// The number of a field.
pub fn value(fields: &Fields, field: u64) -> u64 {
    match fields.get(&field) {
        Some(Field::Number(number)) => *number,
        other => panic!("field {field} is {other:?}"),
    }
}
