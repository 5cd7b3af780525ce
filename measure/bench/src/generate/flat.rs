//! A zone of many hosts with one address each, and nothing below them.

use std::io::{self, Write};

use super::text::{Counts, Style, ZoneText, ipv4};
use crate::{labels::Labels, random::Random};

/// Writes SOA, two name servers and one A for each label, in the order of the labels.
///
/// `origin`: absolute, lower case, with final dot.
pub fn write<W: Write>(
    output: W,
    origin: &str,
    style: Style,
    labels: &Labels,
    seed: u64,
) -> io::Result<Counts> {
    let mut zone = ZoneText::begin(output, style, origin, 3600)?;
    let mut random = Random::part(seed, 5);
    zone.soa("ns1.nameserver.example.", "hostmaster.example.", 1)?;
    zone.ns(b"@", b"ns1.nameserver.example.")?;
    zone.ns(b"@", b"ns2.nameserver.example.")?;
    for index in 0..labels.count() {
        zone.a(labels.label(index), ipv4(&mut random))?;
    }
    zone.end()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_address_a_label() {
        let labels = crate::labels::make(100, None, 1).unwrap();
        let mut text = Vec::new();
        let counts = write(&mut text, "flat.example.", Style::Relative, &labels, 1).unwrap();
        assert_eq!(counts, Counts { records: 103, ns: 2, a: 100, ..Counts::default() });
        assert_eq!(String::from_utf8(text).unwrap().lines().count(), 105);
    }
}
