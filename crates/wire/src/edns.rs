//! EDNS (RFC 6891): the OPT record of a query and that of a response.
//!
//! ```text
//! root owner 0 | type 41 | payload size u16 | upper RCODE u8 | version u8 | DO bit, 15 zero bits | RDLENGTH | options
//! option: code u16 | length u16 | data
//! ```

mod options;

pub use options::Options;

use crate::cookie::COOKIE_OCTETS;
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
    /// Its options.
    pub options: Options,
}

impl Edns {
    /// Reads an OPT record and the heads of its options, and whether none of these is cut off (RFC 6891 6.1.2); if one is, no
    /// option counts. `message`: the one that the record stands in.
    pub fn read(message: &[u8], record: &RecordView<'_>) -> (Edns, bool) {
        let options = Options::read(message, record.rdata_at, record.rdata.len());
        let edns = Edns {
            udp_payload_octets: record.class,
            version: (record.ttl >> 16) as u8,
            dnssec_ok: record.ttl as u16 & DO != 0,
            options: options.unwrap_or_default(),
        };
        (edns, options.is_some())
    }

    /// Whether the sender asks who we are (RFC 5001). NSID of a query should be empty (RFC 5001 2.1); others ignore what it
    /// carries, and so does this.
    #[inline(always)]
    pub fn wants_nsid(&self) -> bool {
        self.options.has(edns_option::NSID)
    }
}

/// Most octets of the words of an extended error: a line.
pub const WORDS_OCTETS_MAX: usize = 200;

/// The OPT record of a response.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseOpt<'o> {
    /// The largest UDP payload we take.
    pub udp_payload_octets: u16,
    /// The whole response code, of which the upper eight bits stand here.
    pub rcode: u16,
    /// The DO bit, copied from the query (RFC 3225 3).
    pub dnssec_ok: bool,
    /// Client and server cookie (RFC 7873 4.2), when a cookie was sent.
    pub cookie: Option<&'o [u8; COOKIE_OCTETS]>,
    /// An extended error (RFC 8914).
    pub ede: Option<u16>,
    /// Another one, beside the first.
    pub ede_beside: Option<u16>,
    /// Our name (RFC 5001), when it was asked for.
    pub nsid: Option<&'o [u8]>,
}

impl ResponseOpt<'_> {
    /// Octets that [`ResponseOpt::write`] takes where there is room.
    #[inline(always)]
    pub fn octets(&self) -> usize {
        let cookie = if self.cookie.is_some() { OPTION_HEAD_OCTETS + COOKIE_OCTETS } else { 0 };
        let nsid = self.nsid.map_or(0, |nsid| OPTION_HEAD_OCTETS + nsid.len());
        let edes = usize::from(self.ede.is_some()) + usize::from(self.ede_beside.is_some());
        OPT_OCTETS + cookie + nsid + EDE_OCTETS * edes
    }

    /// Appends the record and counts it. Options that do not fit are left out: first NSID, then the extended errors, and the
    /// cookie last, as without it a client has to ask again. `Full` where not even the bare record fits.
    #[inline(always)]
    pub fn write(&self, out: &mut Renderer<'_>) -> Result<(), Full> {
        match self.write_all(out) {
            Ok(()) => Ok(()),
            Err(Full) => self.write_less(out),
        }
    }

    /// The same with words behind the extended error, for people (EXTRA-TEXT, RFC 8914 2), and none beside it: all of them, or none where there is no room or
    /// no such error.
    pub fn write_with_words(&self, words: &str, out: &mut Renderer<'_>) -> Result<(), Full> {
        let alone = ResponseOpt { ede_beside: None, ..*self };
        let (octets, words) = (alone.octets(), words.as_bytes());
        if self.ede.is_none() || words.len() > WORDS_OCTETS_MAX {
            return self.write(out);
        }
        let Ok(room) = out.append(octets + words.len(), 1) else { return self.write(out) };
        let (record, text) = room.split_at_mut(octets);
        alone.write_to(record);
        text.copy_from_slice(words);
        // The extended error is the last option: its length, and that of all options.
        let all = octets - OPT_OCTETS + words.len();
        record[OPT_OCTETS - 2..OPT_OCTETS].copy_from_slice(&(all as u16).to_be_bytes());
        let own = octets - EDE_OCTETS + 2;
        let of_it = EDE_OCTETS - OPTION_HEAD_OCTETS + words.len();
        record[own..own + 2].copy_from_slice(&(of_it as u16).to_be_bytes());
        Ok(())
    }

    #[cold]
    fn write_less(mut self, out: &mut Renderer<'_>) -> Result<(), Full> {
        while self.nsid.take().is_some()
            || self.ede_beside.take().is_some()
            || self.ede.take().is_some()
            || self.cookie.take().is_some()
        {
            if self.write_all(out).is_ok() {
                return Ok(());
            }
        }
        Err(Full)
    }

    /// Writes all of the record or nothing.
    #[inline(always)]
    fn write_all(&self, out: &mut Renderer<'_>) -> Result<(), Full> {
        self.write_to(out.append(self.octets(), 1)?);
        Ok(())
    }

    /// Writes the record into `room`, which has its length.
    #[inline(always)]
    pub fn write_to(&self, room: &mut [u8]) {
        let length = room.len();
        debug_assert_eq!(length, self.octets());
        let Some((head, mut options)) = room.split_first_chunk_mut() else { return };
        let [t, y] = rtype::OPT.to_be_bytes();
        let [p, q] = self.udp_payload_octets.to_be_bytes();
        let [d, o] = if self.dnssec_ok { DO.to_be_bytes() } else { [0, 0] };
        let [l, m] = ((length - OPT_OCTETS) as u16).to_be_bytes();
        *head = [0, t, y, p, q, (self.rcode >> 4) as u8, VERSION, d, o, l, m];
        if let Some(cookie) = self.cookie {
            option(&mut options, edns_option::COOKIE, cookie);
        }
        if let Some(nsid) = self.nsid {
            option(&mut options, edns_option::NSID, nsid);
        }
        for code in [self.ede, self.ede_beside].into_iter().flatten() {
            option(&mut options, edns_option::EDE, &code.to_be_bytes());
        }
    }
}

/// Writes an option at the start of `room`, which becomes what is left.
#[inline(always)]
fn option(room: &mut &mut [u8], code: u16, data: &[u8]) {
    let [c, d] = code.to_be_bytes();
    let [l, m] = (data.len() as u16).to_be_bytes();
    if let Some((head, rest)) = std::mem::take(room).split_first_chunk_mut()
        && let Some((to, rest)) = rest.split_at_mut_checked(data.len())
    {
        *head = [c, d, l, m];
        to.copy_from_slice(data);
        *room = rest;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(rdata: &[u8]) -> (Edns, bool) {
        let message = [&[0; 10], &[rdata.len() as u8][..], rdata].concat();
        let record = RecordView {
            owner: 0,
            rtype: rtype::OPT,
            class: 4096,
            ttl: 0x0001_8000,
            rdata_at: 11,
            rdata: &message[11..],
        };
        Edns::read(&message, &record)
    }

    #[test]
    fn options_of_a_query() {
        let (edns, whole) = read(b"\0\x0a\0\x02ab\0\x03\0\0");
        assert!(whole && edns.wants_nsid() && edns.dnssec_ok);
        assert_eq!((edns.version, edns.udp_payload_octets), (1, 4096));
        assert!(read(b"").1 && !read(b"").0.wants_nsid());
        for bad in [&b"\0"[..], b"\0\x03\0", b"\0\x03\0\x01", b"\0\x03\0\0\xff"] {
            let (edns, whole) = read(bad);
            assert!(!whole && edns.options.is_empty(), "{bad:?}");
        }
    }

    const OPT: ResponseOpt<'_> = ResponseOpt {
        udp_payload_octets: 1232,
        rcode: 16,
        dnssec_ok: true,
        cookie: Some(b"client--server----------"),
        ede: Some(20),
        nsid: Some(b"me"),
        ede_beside: None,
    };

    #[test]
    fn opt_of_a_response() {
        let mut octets = [0; 64];
        let mut out = Renderer::new(&mut octets, 64, 0).unwrap();
        OPT.write(&mut out).unwrap();
        let record = RecordView::read(out.message(), 12).unwrap();
        assert_eq!((record.rtype, record.class, record.ttl), (41, 1232, 0x0100_8000));
        assert_eq!(record.rdata, b"\0\x0a\0\x18client--server----------\0\x03\0\x02me\0\x0f\0\x02\0\x14");
        assert_eq!(out.message().len() - 12, OPT.octets());
    }

    #[test]
    fn two_extended_errors() {
        let opt = ResponseOpt { ede: Some(3), ede_beside: Some(22), ..ResponseOpt::default() };
        let written = |room: usize| {
            let mut octets = [0; 64];
            let mut out = Renderer::new(&mut octets, 12 + room, 0).unwrap();
            opt.write(&mut out).unwrap();
            RecordView::read(out.message(), 12).unwrap().rdata.to_vec()
        };
        assert_eq!(written(OPT_OCTETS + 12), b"\0\x0f\0\x02\0\x03\0\x0f\0\x02\0\x16");
        assert_eq!(written(OPT_OCTETS + 11), b"\0\x0f\0\x02\0\x03");
        assert_eq!(written(OPT_OCTETS + 5), b"");
        let mut octets = [0; 64];
        let mut out = Renderer::new(&mut octets, 64, 0).unwrap();
        opt.write_with_words("why", &mut out).unwrap();
        let rdata = RecordView::read(out.message(), 12).unwrap().rdata;
        assert_eq!(rdata, b"\0\x0f\0\x05\0\x03why");
    }

    #[test]
    fn words_of_an_extended_error() {
        let written = |opt: ResponseOpt<'_>, words: &str, room: usize| {
            let mut octets = [0; 512];
            let mut out = Renderer::new(&mut octets, 12 + room, 0).unwrap();
            opt.write_with_words(words, &mut out).unwrap();
            RecordView::read(out.message(), 12).unwrap().rdata.to_vec()
        };
        let whole = b"\0\x0a\0\x18client--server----------\0\x03\0\x02me\0\x0f\0\x06\0\x14cold";
        assert_eq!(written(OPT, "cold", 400), whole);
        // No room, none that they belong to, more than a line, none at all.
        let short = written(OPT, "", 400);
        assert_eq!(short, [&whole[..whole.len() - 10], b"\0\x0f\0\x02\0\x14"].concat());
        assert_eq!(written(OPT, "cold", OPT.octets() + 3), short);
        let none = ResponseOpt { ede: None, ..OPT };
        assert_eq!(written(none, "cold", 400), short[..short.len() - 6]);
        assert_eq!(written(OPT, &"x".repeat(WORDS_OCTETS_MAX + 1), 400), short);
    }

    /// Whatever the room: the options that fit in their order of worth, and the bare record at least.
    #[test]
    fn what_does_not_fit_is_left_out() {
        let bare = ResponseOpt { cookie: None, ede: None, nsid: None, ..OPT };
        let cookie = ResponseOpt { cookie: OPT.cookie, ..bare };
        let steps = [bare, cookie, ResponseOpt { ede: OPT.ede, ..cookie }, OPT];
        for room in 0..64 {
            let mut octets = [0; 128];
            let mut out = Renderer::new(&mut octets, 12 + room, 0).unwrap();
            let expected = steps.iter().rev().find(|opt| opt.octets() <= room);
            assert_eq!(OPT.write(&mut out).is_ok(), expected.is_some());
            let octets = expected.map_or(0, ResponseOpt::octets);
            assert_eq!(out.message().len(), 12 + octets, "{room}");
            assert_eq!(out.counts(), [u16::from(octets > 0), 0, 0]);
            assert!(octets == 0 || RecordView::read(out.message(), 12).unwrap().end() == 12 + octets);
        }
    }
}
