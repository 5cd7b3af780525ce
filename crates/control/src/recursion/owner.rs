//! Which worker finds out what about a name, and who pays for it.

use std::hash::BuildHasher;
use std::net::IpAddr;

use wire::Name;

use super::Recursion;

/// Labels of the name that a registry sold, as it is guessed: two, or three where the second from the end is a short one (`co.uk`, `com.au`).
const LABELS: usize = 2;
/// Longest label that is taken for such.
const SHORT_OCTETS_MAX: usize = 3;

impl Recursion {
    /// The worker of a name: one for all names of a zone that was sold, so that a page's questions walk one path, and a flood of names of one victim asks its parent once.
    pub(super) fn owner_of(&self, name: &Name, workers: usize) -> usize {
        if workers <= 1 {
            return 0;
        }
        (self.key.hash_one(registered(name).octets()) % workers as u64) as usize
    }
}

/// What a registry sold of a name, as its labels let one guess.
fn registered(name: &Name) -> &Name {
    let count = name.label_count();
    let second = name.labels().nth(count.wrapping_sub(2)).map_or(0, <[u8]>::len);
    let labels = if count > LABELS && second <= SHORT_OCTETS_MAX { LABELS + 1 } else { LABELS };
    (labels..count).fold(name, |name, _| name.parent().unwrap_or(name))
}

/// The number that work for clients of a prefix is counted under.
pub(super) fn client_number(prefix: IpAddr) -> u64 {
    match prefix {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[test]
    fn what_was_sold() {
        for (name, expected) in [
            (".", "."),
            ("org", "org."),
            ("example.org", "example.org."),
            ("a.b.www.example.org", "example.org."),
            ("www.example.co.uk", "example.co.uk."),
            ("co.uk", "co.uk."),
            ("1.2.3.in-addr.arpa", "in-addr.arpa."),
        ] {
            assert_eq!(registered(&NameBuf::from_text(name).unwrap()).to_string(), expected, "{name}");
        }
    }
}
