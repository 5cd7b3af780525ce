//! Queries to servers, to the octet.
//!
//! ```text
//! ID | flags: RD, CD | 1 0 0 OPT | QNAME QTYPE IN | OPT: payload size, DO | COOKIE: ours, theirs | PADDING
//! ```
//!
//! Names stand in full: a query has one. RD is for forwarders alone; CD says that we validate ourselves and want whatever there is
//! (RFC 6840 5.9). Letters are mixed by random bits that a forger has to guess beside ID and port (the *0x20* of
//! draft-vixie-dnsext-dns0x20); names are compared ignoring case, so that servers answer the same.

use wire::Name;
use wire::edns::{DO, OPTION_HEAD_OCTETS, VERSION};
use wire::header::{CD, RD};
use wire::iana::{class, edns_option, rtype};
use wire::name::NAME_OCTETS_MAX;

/// UDP payload that we take: what passes any path without fragments (DNS flag day 2020).
pub const UDP_PAYLOAD_OCTETS: u16 = 1232;
/// Padded queries are a multiple of this (RFC 8467 4.1).
pub const PADDING_BLOCK_OCTETS: usize = 128;

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'q> {
    /// The name asked for, in the case in which it is to be sent: see [`CaseBits`].
    pub name: &'q Name,
    /// The type asked for; the class is IN.
    pub rtype: u16,
    /// ID.
    pub id: u16,
    /// RD: for forwarders.
    pub is_recursion_desired: bool,
    /// CD: where we validate.
    pub is_checking_disabled: bool,
    /// EDNS, for servers that know it.
    pub edns: Option<QueryEdns<'q>>,
}

/// The OPT record of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryEdns<'q> {
    /// DO: DNSSEC records are wanted (RFC 3225).
    pub is_dnssec_ok: bool,
    /// Our cookie, and that of the server, empty where it is not known (RFC 7873).
    pub cookie: Option<([u8; 8], &'q [u8])>,
    /// Whether the length is hidden: over TLS (RFC 7830).
    pub is_padded: bool,
}

/// Writes `query` in the place of whatever `to` has.
pub fn write(query: &Query<'_>, to: &mut Vec<u8>) {
    let mut flags = 0;
    flags |= if query.is_recursion_desired { RD } else { 0 };
    flags |= if query.is_checking_disabled { CD } else { 0 };
    to.clear();
    for word in [query.id, flags, 1, 0, 0, u16::from(query.edns.is_some())] {
        to.extend(word.to_be_bytes());
    }
    to.extend(query.name.octets());
    to.extend(query.rtype.to_be_bytes());
    to.extend(class::IN.to_be_bytes());
    if let Some(edns) = &query.edns {
        write_opt(edns, to);
    }
}

/// Appends the OPT record, the last of the message.
fn write_opt(edns: &QueryEdns<'_>, to: &mut Vec<u8>) {
    let flags = if edns.is_dnssec_ok { DO } else { 0 };
    to.push(0);
    to.extend(rtype::OPT.to_be_bytes());
    to.extend(UDP_PAYLOAD_OCTETS.to_be_bytes());
    to.extend([0, VERSION]);
    to.extend(flags.to_be_bytes());
    to.extend([0, 0]);
    let options_at = to.len();
    if let Some((client, server)) = edns.cookie {
        write_option_head(edns_option::COOKIE, client.len() + server.len(), to);
        to.extend(client);
        to.extend(server);
    }
    if edns.is_padded {
        let octets = to.len() + OPTION_HEAD_OCTETS;
        let padding = octets.next_multiple_of(PADDING_BLOCK_OCTETS) - octets;
        write_option_head(edns_option::PADDING, padding, to);
        to.resize(to.len() + padding, 0);
    }
    let length = (to.len() - options_at) as u16;
    to[options_at - 2..options_at].copy_from_slice(&length.to_be_bytes());
}

fn write_option_head(code: u16, octets: usize, to: &mut Vec<u8>) {
    to.extend(code.to_be_bytes());
    to.extend((octets as u16).to_be_bytes());
}

/// Whether each letter of a name is sent in upper case: a random bit an octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseBits(pub [u64; 4]);

impl CaseBits {
    /// As many random bits as a name needs, from 64 at a time.
    pub fn draw(name: &Name, mut random: impl FnMut() -> u64) -> CaseBits {
        let octets = name.octets().len();
        CaseBits(std::array::from_fn(|at| if 64 * at < octets { random() } else { 0 }))
    }

    /// Puts `name` in mixed case into `to`.
    pub fn mix<'t>(&self, name: &Name, to: &'t mut [u8; NAME_OCTETS_MAX]) -> &'t Name {
        let mixed = &mut to[..name.octets().len()];
        for (at, (octet, mixed)) in name.octets().iter().zip(&mut *mixed).enumerate() {
            // Length octets are no letters.
            let is_upper = self.0[at / 64 % 4] >> (at % 64) & 1 != 0;
            *mixed = if is_upper { octet.to_ascii_uppercase() } else { octet.to_ascii_lowercase() };
        }
        Name::trusted(mixed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::edns::OPT_OCTETS;
    use wire::header::HEADER_OCTETS;
    use wire::{NameBuf, Places, query::Query as Read};

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    #[track_caller]
    fn check(query: &Query<'_>, expected: &[u8]) {
        let mut octets = vec![9; 1000];
        write(query, &mut octets);
        assert_eq!(octets, expected);
        let read = Read::read(&octets, &mut Places::new()).unwrap();
        assert_eq!(read.fault, None);
        let (asked, _) = Name::split_from(&octets[HEADER_OCTETS..]).unwrap();
        assert_eq!(asked, query.name);
    }

    #[test]
    fn octets() {
        let www = name("wWw.Example.");
        let plain = Query {
            name: &www,
            rtype: rtype::AAAA,
            id: 0xabcd,
            is_recursion_desired: false,
            is_checking_disabled: false,
            edns: None,
        };
        const QUESTION: &[u8] = b"\x03wWw\x07Example\0\0\x1c\0\x01";
        check(&plain, &[b"\xab\xcd\0\0\0\x01\0\0\0\0\0\0", QUESTION].concat());

        let edns = QueryEdns { is_dnssec_ok: true, cookie: None, is_padded: false };
        let query = Query { is_checking_disabled: true, edns: Some(edns), ..plain };
        const OPT: &[u8] = b"\0\0\x29\x04\xd0\0\0\x80\0\0\0";
        check(&query, &[b"\xab\xcd\0\x10\0\x01\0\0\0\0\0\x01", QUESTION, OPT].concat());

        let edns =
            QueryEdns { is_dnssec_ok: false, cookie: Some((*b"clientco", b"server-c")), is_padded: false };
        let query = Query { is_recursion_desired: true, edns: Some(edns), ..plain };
        const COOKIE: &[u8] = b"\0\0\x29\x04\xd0\0\0\0\0\0\x14\0\x0a\0\x10clientcoserver-c";
        check(&query, &[b"\xab\xcd\x01\0\0\x01\0\0\0\0\0\x01", QUESTION, COOKIE].concat());

        let edns = QueryEdns { is_padded: true, ..edns };
        // 12 + 17 + 11 + 20 are there: a head of four octets, and the rest to 128.
        const PADDED: &[u8] = b"\0\0\x29\x04\xd0\0\0\0\0\0\x58\0\x0a\0\x10clientcoserver-c\0\x0c\0\x40";
        let padded = [b"\xab\xcd\x01\0\0\x01\0\0\0\0\0\x01", QUESTION, PADDED, &[0; 64]].concat();
        assert_eq!(padded.len(), PADDING_BLOCK_OCTETS);
        check(&Query { edns: Some(edns), ..query }, &padded);
    }

    #[test]
    fn longest() {
        let long = name(
            &[&"a".repeat(63), &"b".repeat(63), &"c".repeat(63), &"d".repeat(61)]
                .map(|l| l.as_str())
                .join("."),
        );
        let edns = QueryEdns { is_dnssec_ok: true, cookie: Some(([1; 8], &[2; 32])), is_padded: true };
        let mut octets = Vec::new();
        write(
            &Query {
                name: &long,
                rtype: 1,
                id: 0,
                is_recursion_desired: false,
                is_checking_disabled: false,
                edns: Some(edns),
            },
            &mut octets,
        );
        let longest = (HEADER_OCTETS + 255 + 4 + OPT_OCTETS + 2 * OPTION_HEAD_OCTETS + 40)
            .next_multiple_of(PADDING_BLOCK_OCTETS);
        assert_eq!((long.octets().len(), octets.len()), (255, longest));
    }

    #[test]
    fn case() {
        let long = name(&"Ab1.".repeat(63));
        let mut room = [0; NAME_OCTETS_MAX];
        let mixed = CaseBits([0; 4]).mix(&long, &mut room);
        assert_eq!(mixed.octets(), long.octets().to_ascii_lowercase());
        let mixed = CaseBits([u64::MAX; 4]).mix(&long, &mut room);
        assert_eq!(mixed.octets(), long.octets().to_ascii_uppercase());
        assert!(Name::from_wire(mixed.octets()).is_ok());
        let drawn = |name: &Name| {
            let mut count = 0;
            let bits = CaseBits::draw(name, || {
                count += 1;
                count
            });
            (count, bits.0)
        };
        assert_eq!(drawn(&long), (4, [1, 2, 3, 4]));
        assert_eq!(drawn(&name("www.example.")), (1, [1, 0, 0, 0]));
        // Each letter follows its own bit.
        let mut seen = Vec::new();
        for bit in 0..256 {
            let mut bits = [0; 4];
            bits[bit / 64] = 1 << (bit % 64);
            let mixed = CaseBits(bits).mix(&long, &mut room).octets();
            seen.extend((0..mixed.len()).filter(|at| mixed[*at].is_ascii_uppercase()));
        }
        assert_eq!(seen.len(), long.octets().iter().filter(|octet| octet.is_ascii_alphabetic()).count());
    }
}
