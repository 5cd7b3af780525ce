//! The root's servers: where they are looked for first, and what they say themselves (RFC 9609).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses of the root's servers as in the root hints of IANA (<https://www.internic.net/domain/named.root>, of 2026-07-31: as in the root zone 2026073102
/// that comes with this project, with which a test compares them). Any of them that still answers is enough.
pub const HINTS: [IpAddr; 26] = [
    v4(198, 41, 0, 4),
    v4(170, 247, 170, 2),
    v4(192, 33, 4, 12),
    v4(199, 7, 91, 13),
    v4(192, 203, 230, 10),
    v4(192, 5, 5, 241),
    v4(192, 112, 36, 4),
    v4(198, 97, 190, 53),
    v4(192, 36, 148, 17),
    v4(192, 58, 128, 30),
    v4(193, 0, 14, 129),
    v4(199, 7, 83, 42),
    v4(202, 12, 27, 33),
    v6([0x2001, 0x503, 0xba3e, 0, 0, 0, 0x2, 0x30]),
    v6([0x2801, 0x1b8, 0x10, 0, 0, 0, 0, 0xb]),
    v6([0x2001, 0x500, 0x2, 0, 0, 0, 0, 0xc]),
    v6([0x2001, 0x500, 0x2d, 0, 0, 0, 0, 0xd]),
    v6([0x2001, 0x500, 0xa8, 0, 0, 0, 0, 0xe]),
    v6([0x2001, 0x500, 0x2f, 0, 0, 0, 0, 0xf]),
    v6([0x2001, 0x500, 0x12, 0, 0, 0, 0, 0xd0d]),
    v6([0x2001, 0x500, 0x1, 0, 0, 0, 0, 0x53]),
    v6([0x2001, 0x7fe, 0, 0, 0, 0, 0, 0x53]),
    v6([0x2001, 0x503, 0xc27, 0, 0, 0, 0x2, 0x30]),
    v6([0x2001, 0x7fd, 0, 0, 0, 0, 0, 0x1]),
    v6([0x2001, 0x500, 0x9f, 0, 0, 0, 0, 0x42]),
    v6([0x2001, 0xdc3, 0, 0, 0, 0, 0, 0x35]),
];

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8]) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h))
}
