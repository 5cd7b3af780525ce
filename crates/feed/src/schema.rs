//! Whose tables a store has. Unless something else is said they are our own.

use crate::frame::Rest;

/// How tables of PowerDNS are read.
///
/// ```text
/// flags u8: 1 rows of types that are no records are left out, 2 those of keys are taken | TTL of rows without one, u32
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerDns {
    /// Whether a zone is served without the rows whose types are no records; else it is refused.
    pub skips_unknown: bool,
    /// TTL of rows that have none.
    pub default_ttl: u32,
    /// Whether DNSKEY, CDS and CDNSKEY are taken from rows.
    pub direct_dnskey: bool,
}

const SKIPS_UNKNOWN: u8 = 1;
const DIRECT_DNSKEY: u8 = 2;

impl PowerDns {
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        out.push(flag(self.skips_unknown, SKIPS_UNKNOWN) | flag(self.direct_dnskey, DIRECT_DNSKEY));
        out.extend(self.default_ttl.to_be_bytes());
    }

    pub(crate) fn read(rest: &mut Rest<'_>) -> Option<PowerDns> {
        let [flags] = rest.octets()?;
        if flags & !(SKIPS_UNKNOWN | DIRECT_DNSKEY) != 0 {
            return None;
        }
        let default_ttl = rest.number()?;
        let (skips_unknown, direct_dnskey) = (flags & SKIPS_UNKNOWN != 0, flags & DIRECT_DNSKEY != 0);
        Some(PowerDns { skips_unknown, default_ttl, direct_dnskey })
    }
}
