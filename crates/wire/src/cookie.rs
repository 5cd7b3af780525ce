//! DNS cookies (RFC 7873): what a client sends, and the server's half that proves its address (RFC 9018).
//!
//! ```text
//! option data:   client cookie 8 | server cookie 0 or 8 to 32
//! server cookie: version 1 | reserved 3 | time u32, seconds | hash u64
//! hash: SipHash-2-4 with a secret over client cookie | version | reserved | time | client address 4 or 16
//! ```
//!
//! Servers with the same secrets take each other's cookies. Time and secrets are arguments.

use crate::iana::edns_option;
use std::fmt;
use std::net::IpAddr;

mod sip;

/// Octets of a client cookie (RFC 7873 4.1).
pub const CLIENT_OCTETS: usize = 8;
/// Octets of a server cookie as we make them (RFC 9018 4).
pub const SERVER_OCTETS: usize = 16;
/// Octets of the option's data in our responses.
pub const COOKIE_OCTETS: usize = CLIENT_OCTETS + SERVER_OCTETS;
/// Octets of a secret: a key of SipHash.
pub const SECRET_OCTETS: usize = 16;
/// Most secrets at a time: the one that makes cookies, the one before it and the one to come (RFC 9018 5).
pub const SECRETS_MAX: usize = 3;
/// The one version there is (RFC 9018 4.1).
const VERSION: u8 = 1;
/// Octets of a server cookie of others (RFC 7873 4.2).
const SERVER_OCTETS_ALLOWED: std::ops::RangeInclusive<usize> = 8..=32;
/// Cookies older than this are not good (RFC 9018 4.3).
const AGE_SECONDS_MAX: i32 = 3600;
/// Cookies from further ahead are not good (RFC 9018 4.3): clocks of servers that share a secret differ.
const AHEAD_SECONDS_MAX: i32 = 300;
/// Cookies older than this are made anew (RFC 9018 4.3).
const RENEWED_SECONDS: i32 = 1800;
/// Octets that are hashed before the address: client cookie, version, reserved octets, time.
const HEAD_OCTETS: usize = CLIENT_OCTETS + 8;

/// A COOKIE option whose length is none that it may have: FORMERR (RFC 7873 5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The COOKIE option of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'q> {
    /// What the client made up.
    pub client: [u8; CLIENT_OCTETS],
    /// What it got from us, or from others, before.
    pub server: Option<&'q [u8]>,
}

impl<'q> Cookie<'q> {
    /// The option that this reads.
    pub const CODE: u16 = edns_option::COOKIE;

    /// Reads an option's data.
    #[inline]
    pub fn read(data: &'q [u8]) -> Result<Cookie<'q>, Malformed> {
        let (&client, server) = data.split_first_chunk().ok_or(Malformed)?;
        match server.len() {
            0 => Ok(Cookie { client, server: None }),
            length if SERVER_OCTETS_ALLOWED.contains(&length) => Ok(Cookie { client, server: Some(server) }),
            _ => Err(Malformed),
        }
    }
}

/// Data of a response's COOKIE option: the client's cookie and ours.
pub type Reply = [u8; COOKIE_OCTETS];

/// The secrets of a server, or of several that answer at one address. The first makes cookies, all of them verify.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secrets {
    keys: [[u64; 2]; SECRETS_MAX],
    count: usize,
}

/// Leaves the secrets away.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.count)
    }
}

impl Secrets {
    /// From one to [`SECRETS_MAX`] secrets; `None` for other numbers of them.
    pub fn new(secrets: &[[u8; SECRET_OCTETS]]) -> Option<Secrets> {
        if secrets.is_empty() || secrets.len() > SECRETS_MAX {
            return None;
        }
        let mut keys = [[0; 2]; SECRETS_MAX];
        for (key, secret) in keys.iter_mut().zip(secrets) {
            *key = sip::key(secret);
        }
        Some(Secrets { keys, count: secrets.len() })
    }

    /// Writes what to say to a cookie from an address at a time, the lower 32 bits of the seconds since 1970. Returns whether it had a good
    /// server cookie, so that its sender is at the address that it came from.
    ///
    /// A good server cookie comes back as it is, unless it is half an hour old or made with a secret that is not the first.
    /// Costs one hash, or as many as there are secrets and one more.
    #[inline(always)]
    pub fn reply(&self, cookie: &Cookie<'_>, client: IpAddr, now: u32, reply: &mut Reply) -> bool {
        let mut is_good = false;
        if let Some(&server) = cookie.server.and_then(|server| <&[u8; SERVER_OCTETS]>::try_from(server).ok())
            && let Some(age) = age(&server, now)
            && let Some(which) = self.verify(&cookie.client, &server, client)
        {
            if age <= RENEWED_SECONDS && which == 0 {
                reply[..CLIENT_OCTETS].copy_from_slice(&cookie.client);
                reply[CLIENT_OCTETS..].copy_from_slice(&server);
                return true;
            }
            is_good = true;
        }
        self.write(&cookie.client, client, now, reply);
        is_good
    }

    /// A new cookie, after the client's.
    pub fn make(&self, cookie: &[u8; CLIENT_OCTETS], client: IpAddr, now: u32) -> Reply {
        let mut reply = [0; COOKIE_OCTETS];
        self.write(cookie, client, now, &mut reply);
        reply
    }

    #[inline(always)]
    fn write(&self, cookie: &[u8; CLIENT_OCTETS], client: IpAddr, now: u32, reply: &mut Reply) {
        let [a, b, c, d] = now.to_be_bytes();
        let head = [VERSION, 0, 0, 0, a, b, c, d];
        let hash = hash(self.keys[0], cookie, head, client).to_le_bytes();
        reply[..8].copy_from_slice(cookie);
        reply[8..16].copy_from_slice(&head);
        reply[16..].copy_from_slice(&hash);
    }

    /// Which secret made a server cookie.
    #[inline]
    fn verify(
        &self,
        cookie: &[u8; CLIENT_OCTETS],
        server: &[u8; SERVER_OCTETS],
        client: IpAddr,
    ) -> Option<usize> {
        let (&head, &found) = (server.first_chunk()?, server.last_chunk()?);
        let found = u64::from_le_bytes(found);
        // Words are compared as a whole: the time tells nothing of where they differ.
        self.keys[..self.count].iter().position(|&key| hash(key, cookie, head, client) == found)
    }
}

/// How old a cookie of this version is, negative for those from ahead; `None` if it is too old, from too far ahead or of another
/// version. Times are compared as serial numbers (RFC 1982), so that they may wrap.
#[inline]
fn age(server: &[u8; SERVER_OCTETS], now: u32) -> Option<i32> {
    let &[version, _, _, _, a, b, c, d, ..] = server;
    let age = now.wrapping_sub(u32::from_be_bytes([a, b, c, d])) as i32;
    (version == VERSION && (-AHEAD_SECONDS_MAX..=AGE_SECONDS_MAX).contains(&age)).then_some(age)
}

/// The hash of RFC 9018 4.4. `head`: version, reserved octets as they came, time. A mapped IPv4 address counts as the IPv4 address.
#[inline]
fn hash(key: [u64; 2], cookie: &[u8; CLIENT_OCTETS], head: [u8; 8], client: IpAddr) -> u64 {
    let (cookie, head) = (u64::from_le_bytes(*cookie), u64::from_le_bytes(head));
    match client.to_canonical() {
        IpAddr::V4(address) => {
            let address = u64::from(u32::from_le_bytes(address.octets()));
            sip::hash(key, [cookie, head, sip::last(address, HEAD_OCTETS + 4)])
        }
        IpAddr::V6(address) => {
            let address = u128::from_le_bytes(address.octets());
            let words = [address as u64, (address >> 64) as u64];
            sip::hash(key, [cookie, head, words[0], words[1], sip::last(0, HEAD_OCTETS + 16)])
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn octets<const N: usize>(hex: &str) -> [u8; N] {
        std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
    }

    const SECRET: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";
    const NEXT: &str = "445536bcd2513298075a5d379663c962";
    const OLD: &str = "dd3bdf9344b678b185a6f5cb60fca715";

    fn secrets(hex: &[&str]) -> Secrets {
        Secrets::new(&hex.iter().map(|hex| octets(hex)).collect::<Vec<_>>()).unwrap()
    }

    /// Whether a cookie is good, and what is said to it.
    fn reply(secrets: &Secrets, cookie: &[u8], client: IpAddr, now: u32) -> (bool, Reply) {
        let mut reply = [0; COOKIE_OCTETS];
        (secrets.reply(&Cookie::read(cookie).unwrap(), client, now, &mut reply), reply)
    }

    /// What is said to a cookie in hexadecimal digits.
    #[track_caller]
    fn check(with: &[&str], cookie: &str, address: &str, now: u32, expected: &str, is_good: bool) {
        let data: Vec<u8> = (0..cookie.len() / 2).map(|at| octets::<1>(&cookie[2 * at..])[0]).collect();
        let reply = reply(&secrets(with), &data, address.parse().unwrap(), now);
        assert_eq!(reply, (is_good, octets(expected)));
    }

    /// RFC 9018 A.1 to A.4.
    #[test]
    fn vectors() {
        const V4: &str = "198.51.100.100";
        let first = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
        check(&[SECRET], "2464c4abcf10c957", V4, 1_559_731_985, first, false);
        let renewed = "2464c4abcf10c957010000005cf7a871d4a564a1442aca77";
        check(&[SECRET], first, V4, 1_559_734_385, renewed, true);
        // Reserved octets that are not zero.
        check(
            &[SECRET],
            "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
            "203.0.113.203",
            1_559_734_700,
            "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e",
            // An hour and a half old.
            false,
        );
        check(
            &[SECRET],
            "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
            "203.0.113.203",
            0x5cf7_8f71 + 60,
            "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
            true,
        );
        // IPv6, and a secret that is rolled.
        check(
            &[NEXT, OLD],
            "22681ab97d52c298010000005cf7c57926556bd0934c72f8",
            "2001:db8:220:1:59de:d0f4:8769:82b8",
            1_559_741_961,
            "22681ab97d52c298010000005cf7c609a6bb79d16625507a",
            true,
        );
    }

    #[test]
    fn mapped_addresses() {
        let secrets = secrets(&[SECRET]);
        let made = ["192.0.2.1", "::ffff:192.0.2.1", "::192.0.2.1"]
            .map(|address| secrets.make(b"cookie--", address.parse().unwrap(), 7));
        assert!(made[0] == made[1] && made[0] != made[2]);
    }

    /// Ages around the limits, and a clock that wraps; what is wrong in any octet is not good.
    #[test]
    fn ages_and_forgeries() {
        let secrets = secrets(&[SECRET]);
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        for then in [1_559_731_985, 1000, u32::MAX - 1000] {
            let octets = secrets.make(b"cookie--", address, then);
            let reply_after = |octets: &[u8], after: i64| {
                let now = (i64::from(then) + after) as u32;
                reply(&secrets, octets, address, now)
            };
            for (after, is_good, is_same) in [
                (0, true, true),
                (1800, true, true),
                (1801, true, false),
                (3600, true, false),
                (3601, false, false),
                (-300, true, true),
                (-301, false, false),
                (1 << 31, false, false),
            ] {
                let (found, reply) = reply_after(&octets, after);
                assert_eq!((found, reply == octets), (is_good, is_same), "{then} {after}");
            }
            for at in 0..COOKIE_OCTETS {
                for bit in 0..8 {
                    let mut octets = octets;
                    octets[at] ^= 1 << bit;
                    assert!(!reply_after(&octets, 0).0, "{at} {bit}");
                }
            }
            assert!(!reply(&secrets, &octets, "::1".parse().unwrap(), then).0);
        }
    }

    /// The three steps of RFC 9018 5 between two instances.
    #[test]
    fn rolled_secrets() {
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let steps = [[SECRET, NEXT], [NEXT, SECRET], [NEXT, NEXT]].map(|with| secrets(&with));
        for (one, other, is_same) in
            [(0, 1, false), (1, 0, false), (1, 2, true), (2, 1, true), (0, 2, false), (2, 0, false)]
        {
            let octets = steps[one].make(b"cookie--", address, 5);
            let (is_good, reply) = reply(&steps[other], &octets, address, 6);
            // Only who never had the first step's secret refuses it.
            assert_eq!((is_good, reply == octets), ((one, other) != (0, 2), is_same));
        }
        assert!(Secrets::new(&[]).is_none() && Secrets::new(&[[0; 16]; 4]).is_none());
    }

    #[test]
    fn lengths() {
        for length in 0..=50 {
            let is_whole = matches!(length, 8 | 16..=40);
            assert_eq!(Cookie::read(&[1; 50][..length]).is_ok(), is_whole, "{length}");
        }
        // Of another length than ours: no good, and no more.
        check(
            &[SECRET],
            "2464c4abcf10c957010000005cf79f111f8130c3eee2948000",
            "198.51.100.100",
            1_559_731_985,
            "2464c4abcf10c957010000005cf79f111f8130c3eee29480",
            false,
        );
    }
}
