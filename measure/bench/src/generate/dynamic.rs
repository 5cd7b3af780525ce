//! A zone for dynamic updates (RFC 2136): the paper's 10,000 records in addition to the mandatory ones.
//!
//! Hosts with an address, a quarter of them with an IPv6 address too, some with text or mail; TTLs are short, as those
//! of zones that change are.

use std::io::{self, Write};

use super::text::{Counts, Style, ZoneText, ipv4, ipv6};
use crate::{labels::Labels, random::Random};

/// TTL of everything: five minutes.
const TTL_SECONDS: u32 = 300;
/// Records in addition to these: SOA, two NS and the addresses of these two.
pub const MANDATORY_RECORDS: usize = 5;

/// Writes a zone of `records` records and the mandatory ones; `labels` holds as many labels as records at least.
pub fn write<W: Write>(
    output: W,
    origin: &str,
    style: Style,
    labels: &Labels,
    records: usize,
    seed: u64,
) -> io::Result<Counts> {
    let mut zone = ZoneText::begin(output, style, origin, TTL_SECONDS)?;
    let mut random = Random::part(seed, 7);
    let inside = |host: &str| if origin == "." { format!("{host}.") } else { format!("{host}.{origin}") };
    zone.soa(&inside("ns1.dynamic-servers"), &inside("hostmaster"), 1)?;
    for host in [&b"ns1.dynamic-servers"[..], b"ns2.dynamic-servers"] {
        zone.ns(b"@", host)?;
        zone.a(host, ipv4(&mut random))?;
    }
    let mut left = records;
    for index in 0..labels.count() {
        let label = labels.label(index);
        let wanted = [true, random.chance(0.25), random.chance(0.05), random.chance(0.03)];
        for (kind, _) in wanted.into_iter().enumerate().filter(|&(_, is_wanted)| is_wanted) {
            if left == 0 {
                return zone.end();
            }
            left -= 1;
            match kind {
                0 => zone.a(label, ipv4(&mut random))?,
                1 => zone.aaaa(label, ipv6(&mut random))?,
                2 => zone.other(label, "TXT", &format!("\"lease={:08x}\"", random.next_u64() as u32))?,
                _ => zone.other(label, "MX", "10 mx.mail-provider.test.")?,
            }
        }
    }
    zone.end()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_records() {
        let labels = crate::labels::make(1000, None, 1).unwrap();
        for (records, style) in [(1, Style::Relative), (999, Style::Absolute), (1000, Style::Relative)] {
            let mut text = Vec::new();
            let counts = write(&mut text, "dynamic.example.", style, &labels, records, 1).unwrap();
            assert_eq!(counts.records as usize, records + MANDATORY_RECORDS);
            let text = String::from_utf8(text).unwrap();
            crate::generate::tests::check_zone(&text, "dynamic.example.", records + MANDATORY_RECORDS);
        }
    }
}
