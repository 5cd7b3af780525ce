//! Any octets as a message of somebody else, read to the end, built again and read again; what must hold is said in `wire::fuzz`.
//!
//! The first octets choose what is done to the message that follows before it is read: a pointer or a length is put where a name or
//! a field begins, so that damage is found behind sound headers and records.

use wire::fuzz::{CHANGE_OCTETS, change, check_message};

pub fn run(data: &[u8]) {
    let Some((changes, message)) = data.split_first_chunk::<CHANGE_OCTETS>() else { return };
    let mut message = message.to_vec();
    change(&mut message, changes);
    check_message(&message);
}
