//! EDNS (RFC 6891): the OPT record of a query and that of a response.
//!
//! ```text
//! root owner 0 | type 41 | payload size u16 | upper RCODE u8 | version u8 | DO bit, 15 zero bits | RDLENGTH | options
//! option: code u16 | length u16 | data
//! ```

use crate::header::u16_at;
use crate::iana::{edns_option, rtype};
use crate::record::RecordView;
use crate::render::{Full, Renderer};

/// Octets of an OPT record without options.
pub const OPT_OCTETS: usize = 11;
/// Octets of an option's head.
pub const OPTION_HEAD_OCTETS: usize = 4;
/// Octets of an extended error without text (RFC 8914 2).
pub const EDE_OCTETS: usize = OPTION_HEAD_OCTETS + 2;
/// The DO bit (RFC 3225 3) in the lower half of the TTL field.
pub const DO: u16 = 0x8000;
/// The only version there is.
pub const VERSION: u8 = 0;

/// What a query's OPT record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edns {
    /// The largest UDP payload its sender takes; values below 512 mean 512 (RFC 6891 6.2.3).
    pub udp_payload_octets: u16,
    /// The version asked for.
    pub version: u8,
    /// The sender wants DNSSEC records.
    pub dnssec_ok: bool,
    /// The sender asks who we are (RFC 5001).
    pub wants_nsid: bool,
}

impl Edns {
    /// Reads an OPT record and the heads of its options, and whether none of these is cut off (RFC 6891 6.1.2). NSID of a
    /// query should be empty (RFC 5001 2.1); others ignore what it carries, and so does this.
    pub fn read(record: &RecordView<'_>) -> (Edns, bool) {
        let mut edns = Edns {
            udp_payload_octets: record.class,
            version: (record.ttl >> 16) as u8,
            dnssec_ok: record.ttl as u16 & DO != 0,
            wants_nsid: false,
        };
        let mut rest = record.rdata;
        while !rest.is_empty() {
            let code = u16_at(rest, 0);
            let end = OPTION_HEAD_OCTETS + u16_at(rest, 2) as usize;
            if rest.len() < OPTION_HEAD_OCTETS || rest.len() < end {
                return (edns, false);
            }
            edns.wants_nsid |= code == edns_option::NSID;
            rest = &rest[end..];
        }
        (edns, true)
    }
}

/// The OPT record of a response.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseOpt<'o> {
    /// The largest UDP payload we take.
    pub udp_payload_octets: u16,
    /// The whole response code, of which the upper eight bits stand here.
    pub rcode: u16,
    /// The DO bit, copied from the query (RFC 3225 3).
    pub dnssec_ok: bool,
    /// Our name (RFC 5001), when it was asked for.
    pub nsid: Option<&'o [u8]>,
    /// An extended error (RFC 8914).
    pub ede: Option<u16>,
}

impl ResponseOpt<'_> {
    /// Octets that [`ResponseOpt::write`] takes.
    pub fn octets(&self) -> usize {
        let nsid = self.nsid.map_or(0, |nsid| OPTION_HEAD_OCTETS + nsid.len());
        OPT_OCTETS + nsid + if self.ede.is_some() { EDE_OCTETS } else { 0 }
    }

    /// Appends the record and counts it.
    #[inline(always)]
    pub fn write(&self, out: &mut Renderer<'_>) -> Result<(), Full> {
        let options = (self.octets() - OPT_OCTETS) as u16;
        let [t, y] = rtype::OPT.to_be_bytes();
        let [p, q] = self.udp_payload_octets.to_be_bytes();
        let [d, o] = if self.dnssec_ok { DO.to_be_bytes() } else { [0, 0] };
        let [l, m] = options.to_be_bytes();
        out.octets(&[0, t, y, p, q, (self.rcode >> 4) as u8, VERSION, d, o, l, m])?;
        if let Some(nsid) = self.nsid {
            option(out, edns_option::NSID, nsid)?;
        }
        if let Some(code) = self.ede {
            option(out, edns_option::EDE, &code.to_be_bytes())?;
        }
        out.count_one();
        Ok(())
    }
}

fn option(out: &mut Renderer<'_>, code: u16, data: &[u8]) -> Result<(), Full> {
    out.octets(&code.to_be_bytes())?;
    out.octets(&(data.len() as u16).to_be_bytes())?;
    out.octets(data)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(rdata: &[u8]) -> (Edns, bool) {
        let record =
            RecordView { owner: 0, rtype: rtype::OPT, class: 4096, ttl: 0x0001_8000, rdata_at: 11, rdata };
        Edns::read(&record)
    }

    #[test]
    fn options_of_a_query() {
        let (edns, whole) = read(b"\0\x0a\0\x02ab\0\x03\0\0");
        assert!(whole && edns.wants_nsid && edns.dnssec_ok);
        assert_eq!((edns.version, edns.udp_payload_octets), (1, 4096));
        assert!(read(b"").1 && !read(b"").0.wants_nsid);
        for bad in [&b"\0"[..], b"\0\x03\0", b"\0\x03\0\x01", b"\0\x03\0\0\xff"] {
            assert!(!read(bad).1, "{bad:?}");
        }
    }

    #[test]
    fn opt_of_a_response() {
        let mut octets = [0; 64];
        let mut out = Renderer::new(&mut octets, 64, 0).unwrap();
        let opt = ResponseOpt {
            udp_payload_octets: 1232,
            rcode: 16,
            dnssec_ok: true,
            nsid: Some(b"me"),
            ede: Some(20),
        };
        opt.write(&mut out).unwrap();
        let record = RecordView::read(out.message(), 12).unwrap();
        assert_eq!((record.rtype, record.class, record.ttl), (41, 1232, 0x0100_8000));
        assert_eq!(record.rdata, b"\0\x03\0\x02me\0\x0f\0\x02\0\x14");
        assert_eq!(out.message().len() - 12, opt.octets());
    }
}
