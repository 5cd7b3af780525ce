//! Forms of single fields, from text: numbers, times, addresses, encodings, character-strings.
//!
//! Each reads one field without allocation and says no more than that it failed; what was expected there
//! is for the caller to say.

pub(crate) mod address;
pub(crate) mod base32;
pub(crate) mod base64;
pub(crate) mod hex;
pub(crate) mod number;
pub(crate) mod string;
pub(crate) mod time;

/// Entry of a decoding table for an octet outside the alphabet; every alphabet has values below.
const NONE: u8 = 0xff;

/// The table from octets to digits of an alphabet, in both cases where `fold` says so.
const fn digits(alphabet: &[u8], fold: bool) -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut at = 0;
    while at < alphabet.len() {
        table[alphabet[at] as usize] = at as u8;
        if fold {
            table[alphabet[at].to_ascii_lowercase() as usize] = at as u8;
        }
        at += 1;
    }
    table
}
