//! The TSIG record: found and read, digested, written (RFC 8945 4.2, 4.3).

use super::mac::Context;
use super::{Fault, Key, Mac};
use crate::header::{HEADER_OCTETS, u16_at};
use crate::iana::{class, rtype};
use crate::name::NAME_OCTETS_MAX;
use crate::record::{Placed, RecordView, Records};
use crate::{Name, Places};

/// Octets of the fields of a record beside its names, MAC and other data: type to RDLENGTH, time to the MAC's length, original ID
/// to the other data's length.
pub(super) const FIELDS_OCTETS: usize = 10 + 10 + 6;
/// Octets of other data that we write: the time of BADTIME (RFC 8945 5.2.3).
pub(super) const OTHER_OCTETS_MAX: usize = 6;
/// Most octets of a record that we write.
pub const RECORD_OCTETS_MAX: usize =
    2 * NAME_OCTETS_MAX + FIELDS_OCTETS + super::mac::MAC_OCTETS_MAX + OTHER_OCTETS_MAX;

/// The TSIG record of a message, read but not judged.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'m> {
    message: &'m [u8],
    /// Offset of the record: the octets before it are what is signed.
    pub at: usize,
    /// Offset of the algorithm's name.
    algorithm_at: usize,
    /// When it was signed, 48 bits.
    pub time: u64,
    /// How many seconds clocks may be apart.
    pub fudge: u16,
    /// The MAC.
    pub mac: &'m [u8],
    /// The ID of the message as it was signed.
    pub original_id: u16,
    /// The error that it says.
    pub error: u16,
    /// Other data: the server's time with BADTIME.
    pub other: &'m [u8],
}

impl<'m> Signature<'m> {
    /// The TSIG record of a message. `Unsigned` where there is none, `Sig0` where there is one of SIG(0), `Malformed` where the
    /// message cannot be read or has a TSIG record anywhere else than at its end.
    pub fn find(message: &'m [u8]) -> Result<Signature<'m>, Fault> {
        let mut has_sig0 = false;
        for placed in Records::of(message).ok_or(Fault::Malformed)? {
            let Placed { record, is_additional, is_last } = placed.ok_or(Fault::Malformed)?;
            match record.rtype {
                rtype::TSIG if is_last && !has_sig0 => {
                    return Signature::read(message, &record).ok_or(Fault::Malformed);
                }
                rtype::TSIG => return Err(Fault::Malformed),
                _ => has_sig0 |= is_additional && record.is_sig0(),
            }
        }
        Err(if has_sig0 { Fault::Sig0 } else { Fault::Unsigned })
    }

    /// Reads the TSIG record that ends a message; `None` where it is not of the form of RFC 8945 4.2 or octets follow it.
    pub fn read(message: &'m [u8], record: &RecordView<'m>) -> Option<Signature<'m>> {
        if record.class != class::ANY || record.ttl != 0 || record.end() != message.len() {
            return None;
        }
        let mut places = Places::new();
        places.follow(message, record.owner).ok()?;
        let algorithm_end = places.follow(message, record.rdata_at).ok()?;
        let rest = message.get(algorithm_end..record.end())?;
        let (&[a, b, c, d, e, f, fudge_a, fudge_b], rest) = rest.split_first_chunk()?;
        let (&length, rest) = rest.split_first_chunk()?;
        let (mac, rest) = rest.split_at_checked(u16::from_be_bytes(length).into())?;
        let (&[id_a, id_b, error_a, error_b, length_a, length_b], other) = rest.split_first_chunk()?;
        (other.len() == usize::from(u16::from_be_bytes([length_a, length_b]))).then_some(Signature {
            message,
            at: record.owner,
            algorithm_at: record.rdata_at,
            time: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
            fudge: u16::from_be_bytes([fudge_a, fudge_b]),
            mac,
            original_id: u16::from_be_bytes([id_a, id_b]),
            error: u16::from_be_bytes([error_a, error_b]),
            other,
        })
    }

    /// The key's name in lower case.
    pub fn key<'b>(&self, buffer: &'b mut [u8; NAME_OCTETS_MAX]) -> &'b Name {
        self.name(self.at, buffer)
    }

    /// The algorithm's name in lower case.
    pub fn algorithm<'b>(&self, buffer: &'b mut [u8; NAME_OCTETS_MAX]) -> &'b Name {
        self.name(self.algorithm_at, buffer)
    }

    fn name<'b>(&self, at: usize, buffer: &'b mut [u8; NAME_OCTETS_MAX]) -> &'b Name {
        let mut places = Places::new();
        // It was followed when the record was read.
        let length = match places.follow(self.message, at) {
            Ok(_) => places.copy_ancestor(self.message, places.label_count(), buffer).octets().len(),
            Err(_) => return Name::root(),
        };
        buffer[..length].make_ascii_lowercase();
        Name::trusted(&buffer[..length])
    }

    /// Goes on with the message as it was signed: with its ID of then, and without this record.
    pub(super) fn digest_message(&self, context: &mut Context) {
        if let Some((&header, rest)) = self.message[..self.at].split_first_chunk::<HEADER_OCTETS>() {
            let mut header = header;
            header[..2].copy_from_slice(&self.original_id.to_be_bytes());
            let count = u16_at(&header, 10).saturating_sub(1);
            header[10..].copy_from_slice(&count.to_be_bytes());
            context.update(&header);
            context.update(rest);
        }
    }

    /// What this record says of itself.
    pub(super) fn stamp(&self) -> Stamp<'m> {
        Stamp { time: self.time, fudge: self.fudge, error: self.error, other: self.other }
    }

    /// Whether it was signed within its fudge of `now`.
    pub(super) fn is_timely(&self, now: u64) -> bool {
        self.time.abs_diff(now) <= self.fudge.into()
    }

    /// The record without MAC that says an error to whom sent this one (RFC 8945 5.3.2), for a response with this ID.
    pub fn refusal<'b>(&self, id: u16, error: u16, to: &'b mut [u8; RECORD_OCTETS_MAX]) -> &'b [u8] {
        let (mut key, mut algorithm) = ([0; NAME_OCTETS_MAX], [0; NAME_OCTETS_MAX]);
        let names = [self.key(&mut key), self.algorithm(&mut algorithm)];
        let stamp = Stamp { error, other: &[], ..self.stamp() };
        let octets = write(to, names, &stamp, &Mac::NONE, id).unwrap_or(0);
        &to[..octets]
    }
}

/// What a signature says of itself.
#[derive(Clone, Copy)]
pub(super) struct Stamp<'s> {
    /// Seconds since 1970, 48 bits.
    pub time: u64,
    pub fudge: u16,
    pub error: u16,
    pub other: &'s [u8],
}

impl Stamp<'_> {
    /// Time signed and fudge as they stand in the record.
    fn timers(&self) -> [u8; 8] {
        let [_, _, a, b, c, d, e, f] = self.time.to_be_bytes();
        let [g, h] = self.fudge.to_be_bytes();
        [a, b, c, d, e, f, g, h]
    }

    /// Goes on with all that is digested of the record (RFC 8945 4.3.3).
    pub(super) fn digest_variables(&self, key: &Key, context: &mut Context) {
        let [c, l] = class::ANY.to_be_bytes();
        let [e, f] = self.error.to_be_bytes();
        let [o, p] = (self.other.len() as u16).to_be_bytes();
        context.update(key.name().octets());
        context.update(&[c, l, 0, 0, 0, 0]);
        context.update(key.algorithm().name().octets());
        context.update(&self.timers());
        context.update(&[e, f, o, p]);
        context.update(self.other);
    }

    /// Goes on with what is digested of the second and later records of a stream (RFC 8945 5.3.1).
    pub(super) fn digest_timers(&self, context: &mut Context) {
        context.update(&self.timers());
    }
}

/// Goes on with a MAC and its length (RFC 8945 4.3.1).
pub(super) fn digest_mac(mac: &Mac, context: &mut Context) {
    context.update(&(mac.octets().len() as u16).to_be_bytes());
    context.update(mac.octets());
}

/// Writes a record at the start of `to`; `None` where it does not fit. `names`: of key and algorithm. Returns its octets.
pub(super) fn write(
    to: &mut [u8],
    names: [&Name; 2],
    stamp: &Stamp<'_>,
    mac: &Mac,
    original_id: u16,
) -> Option<usize> {
    let [key, algorithm] = names.map(Name::octets);
    let rdata_octets = algorithm.len() + FIELDS_OCTETS - 10 + mac.octets().len() + stamp.other.len();
    let [t, y] = rtype::TSIG.to_be_bytes();
    let [c, l] = class::ANY.to_be_bytes();
    let [r, d] = u16::try_from(rdata_octets).ok()?.to_be_bytes();
    let [m, n] = (mac.octets().len() as u16).to_be_bytes();
    let [i, j] = original_id.to_be_bytes();
    let [e, f] = stamp.error.to_be_bytes();
    let [o, p] = (stamp.other.len() as u16).to_be_bytes();
    let octets = key.len() + 10 + rdata_octets;
    let mut rest = to.get_mut(..octets)?;
    for part in [
        key,
        &[t, y, c, l, 0, 0, 0, 0, r, d],
        algorithm,
        &stamp.timers(),
        &[m, n],
        mac.octets(),
        &[i, j, e, f, o, p],
        stamp.other,
    ] {
        rest.split_off_mut(..part.len())?.copy_from_slice(part);
    }
    Some(octets)
}

/// Appends a record to the message in `buffer[..octets]` and counts it. Returns the octets of the message; `None` where the record
/// does not fit, or cannot be counted.
pub(super) fn append(
    buffer: &mut [u8],
    octets: usize,
    key: &Key,
    stamp: &Stamp<'_>,
    mac: &Mac,
) -> Option<usize> {
    let count = u16_at(buffer, 10).checked_add(1)?;
    let id = u16_at(buffer, 0);
    let names = [key.name(), key.algorithm().name()];
    let length = write(buffer.get_mut(octets..)?, names, stamp, mac, id)?;
    buffer.get_mut(10..12)?.copy_from_slice(&count.to_be_bytes());
    Some(octets + length)
}
