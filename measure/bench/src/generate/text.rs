//! Writes records as master file lines (RFC 1035 5.1), one RR a line with its owner in each.

use std::io::{self, Write};

use crate::random::Random;

/// How names and defaults are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `$ORIGIN` and `$TTL` first; names in the zone relative: `example NS ns1.example`.
    Relative,
    /// As the root zone is published: every name absolute, TTL and class in every line, tabs between.
    Absolute,
}

/// How many records of each kind were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records in all.
    pub records: u64,
    /// Name server records, apex included.
    pub ns: u64,
    /// IPv4 addresses.
    pub a: u64,
    /// IPv6 addresses.
    pub aaaa: u64,
    /// Records of other types, the SOA left out.
    pub other: u64,
}

impl Counts {
    /// Adds what another zone holds.
    pub fn add(&mut self, more: &Counts) {
        self.records += more.records;
        self.ns += more.ns;
        self.a += more.a;
        self.aaaa += more.aaaa;
        self.other += more.other;
    }
}

/// Octets of the output buffer: large enough that system calls cost nothing.
pub const OUTPUT_OCTETS: usize = 1 << 20;

/// Writer of one zone. Names handed in are relative to the origin when they have no final dot.
pub struct ZoneText<W: Write> {
    output: W,
    style: Style,
    /// With final dot.
    origin: String,
    /// TTL of the next records, and the one that `$TTL` says.
    ttl: u32,
    default_ttl: u32,
    line: Vec<u8>,
    /// What was written so far.
    pub counts: Counts,
}

impl<W: Write> ZoneText<W> {
    /// Begins a zone: `origin` absolute with final dot, `ttl` for every record until another is set.
    pub fn begin(mut output: W, style: Style, origin: &str, ttl: u32) -> io::Result<ZoneText<W>> {
        if style == Style::Relative {
            write!(output, "$ORIGIN {origin}\n$TTL {ttl}\n")?;
        }
        let origin = origin.to_owned();
        let line = Vec::with_capacity(512);
        Ok(ZoneText { output, style, origin, ttl, default_ttl: ttl, line, counts: Counts::default() })
    }

    /// Sets the TTL of the records that follow.
    pub fn set_ttl(&mut self, ttl: u32) {
        self.ttl = ttl;
    }

    /// The SOA record. `mname` and `rname` are absolute.
    pub fn soa(&mut self, mname: &str, rname: &str, serial: u32) -> io::Result<()> {
        self.open(b"@", "SOA");
        // Timers as large registries publish them; negative answers live a day at most (RFC 2308 5).
        let rdata = format!("{mname} {rname} {serial} 1800 900 604800 86400");
        self.line.extend_from_slice(rdata.as_bytes());
        self.close()
    }

    /// A name server of `owner`.
    pub fn ns(&mut self, owner: &[u8], host: &[u8]) -> io::Result<()> {
        self.open(owner, "NS");
        self.name(host);
        self.counts.ns += 1;
        self.close()
    }

    /// An IPv4 address of `owner`.
    pub fn a(&mut self, owner: &[u8], address: [u8; 4]) -> io::Result<()> {
        self.open(owner, "A");
        for (index, octet) in address.into_iter().enumerate() {
            if index > 0 {
                self.line.push(b'.');
            }
            decimal(&mut self.line, octet.into());
        }
        self.counts.a += 1;
        self.close()
    }

    /// An IPv6 address of `owner`.
    pub fn aaaa(&mut self, owner: &[u8], address: std::net::Ipv6Addr) -> io::Result<()> {
        self.open(owner, "AAAA");
        write!(self.line, "{address}")?;
        self.counts.aaaa += 1;
        self.close()
    }

    /// A DS record of `owner` (RFC 4034 5) for an imagined key: tag and digest are random.
    pub fn ds(&mut self, owner: &[u8], algorithm: u8, random: &mut Random) -> io::Result<()> {
        self.open(owner, "DS");
        write!(self.line, "{} {algorithm} 2 ", random.next_u64() as u16)?;
        // Digest type 2 is SHA-256: 32 octets.
        for _ in 0..4 {
            write!(self.line, "{:016X}", random.next_u64())?;
        }
        self.counts.other += 1;
        self.close()
    }

    /// A record of a type that has no function of its own, its RDATA as text.
    pub fn other(&mut self, owner: &[u8], rtype: &str, rdata: &str) -> io::Result<()> {
        self.open(owner, rtype);
        self.line.extend_from_slice(rdata.as_bytes());
        self.counts.other += 1;
        self.close()
    }

    /// A line that says nothing to servers.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.output, "; {text}")
    }

    /// Ends the zone; returns the counts.
    pub fn end(mut self) -> io::Result<Counts> {
        self.output.flush()?;
        Ok(self.counts)
    }

    fn open(&mut self, owner: &[u8], rtype: &str) {
        self.line.clear();
        self.name(owner);
        match self.style {
            Style::Relative => {
                self.line.push(b' ');
                if self.ttl != self.default_ttl {
                    decimal(&mut self.line, self.ttl);
                    self.line.push(b' ');
                }
            }
            Style::Absolute => {
                self.line.push(b'\t');
                decimal(&mut self.line, self.ttl);
                self.line.extend_from_slice(b"\tIN\t");
            }
        }
        self.line.extend_from_slice(rtype.as_bytes());
        self.line.push(if self.style == Style::Relative { b' ' } else { b'\t' });
    }

    fn name(&mut self, name: &[u8]) {
        self.line.extend_from_slice(if name == b"@" && self.style == Style::Absolute { b"" } else { name });
        if self.style == Style::Absolute && name.last() != Some(&b'.') {
            if name != b"@" && self.origin != "." {
                self.line.push(b'.');
            }
            self.line.extend_from_slice(self.origin.as_bytes());
        }
    }

    fn close(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.counts.records += 1;
        self.output.write_all(&self.line)
    }
}

fn decimal(line: &mut Vec<u8>, value: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[at..]);
}

/// An IPv4 address a host could have: unicast, neither `0/8`, `10/8` nor `127/8`.
pub fn ipv4(random: &mut Random) -> [u8; 4] {
    loop {
        let address = (random.next_u64() as u32).to_be_bytes();
        if !matches!(address[0], 0 | 10 | 127 | 224..) {
            return address;
        }
    }
}

/// An IPv6 address in the range for documentation (RFC 3849).
pub fn ipv6(random: &mut Random) -> std::net::Ipv6Addr {
    let subnet = random.next_u64();
    std::net::Ipv6Addr::new(
        0x2001,
        0xdb8,
        (subnet >> 16) as u16,
        subnet as u16,
        0,
        0,
        0,
        (subnet >> 48) as u16 | 1,
    )
}

/// Writes the name `host.label` or, where `zone` is not empty, `host.label.zone`.
pub fn join(name: &mut Vec<u8>, host: &str, label: &[u8], zone: &str) {
    name.clear();
    name.extend_from_slice(host.as_bytes());
    name.push(b'.');
    name.extend_from_slice(label);
    if !zone.is_empty() {
        name.push(b'.');
        name.extend_from_slice(zone.as_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(style: Style, origin: &str, expected: &str) {
        let mut text = Vec::new();
        let mut zone = ZoneText::begin(&mut text, style, origin, 3600).unwrap();
        zone.ns(b"@", b"a.example.").unwrap();
        zone.a(b"host", [192, 0, 2, 255]).unwrap();
        let counts = zone.end().unwrap();
        assert_eq!(counts, Counts { records: 2, ns: 1, a: 1, ..Counts::default() });
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn styles() {
        check(Style::Relative, "net.", "$ORIGIN net.\n$TTL 3600\n@ NS a.example.\nhost A 192.0.2.255\n");
        check(
            Style::Absolute,
            "net.",
            "net.\t3600\tIN\tNS\ta.example.\nhost.net.\t3600\tIN\tA\t192.0.2.255\n",
        );
        check(Style::Absolute, ".", ".\t3600\tIN\tNS\ta.example.\nhost.\t3600\tIN\tA\t192.0.2.255\n");
    }

    #[test]
    fn other_ttls_and_types() {
        let mut text = Vec::new();
        let mut zone = ZoneText::begin(&mut text, Style::Relative, "net.", 3600).unwrap();
        zone.set_ttl(1);
        zone.other(b"host", "TXT", "\"text\"").unwrap();
        zone.set_ttl(3600);
        zone.ds(b"host", 13, &mut Random::new(1)).unwrap();
        assert_eq!(zone.end().unwrap(), Counts { records: 2, other: 2, ..Counts::default() });
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\nhost 1 TXT \"text\"\nhost DS "), "{text}");
        assert_eq!(text.lines().last().unwrap().split(' ').next_back().unwrap().len(), 64);
    }

    #[test]
    fn addresses_are_unicast() {
        let mut random = Random::new(1);
        for _ in 0..10_000 {
            let address = std::net::Ipv4Addr::from(ipv4(&mut random));
            assert!(!address.is_loopback() && !address.is_multicast() && !address.is_broadcast());
            assert!(ipv6(&mut random).to_string().starts_with("2001:db8:"));
        }
    }
}
