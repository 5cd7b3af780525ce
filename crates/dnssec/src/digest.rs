//! Digests of keys (DS, RFC 4034 5.1.4) and of whole zones (ZONEMD, RFC 8976).

use ring::digest::{self, Algorithm, Context};
use wire::Name;
use wire::iana::class;

use crate::canonical::CanonicalSet;

/// A digest type or algorithm that is not computed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedDigest;

/// Digest types of DS and CDS records that can be computed (RFC 4034 A.2, RFC 4509, RFC 6605).
fn ds_algorithm(digest_type: u8) -> Option<&'static Algorithm> {
    match digest_type {
        1 => Some(&digest::SHA1_FOR_LEGACY_USE_ONLY),
        2 => Some(&digest::SHA256),
        4 => Some(&digest::SHA384),
        _ => None,
    }
}

/// Octets of a digest of this type; `None` for types that are not known here.
pub fn ds_digest_octets(digest_type: u8) -> Option<usize> {
    ds_algorithm(digest_type).map(Algorithm::output_len)
}

/// Whether a DS record's digest is that of the DNSKEY record with this owner and RDATA.
pub fn is_ds_digest(
    digest_type: u8,
    digest: &[u8],
    owner: &Name,
    dnskey: &[u8],
) -> Result<bool, UnsupportedDigest> {
    let mut context = Context::new(ds_algorithm(digest_type).ok_or(UnsupportedDigest)?);
    context.update(&owner.octets().to_ascii_lowercase());
    context.update(dnskey);
    Ok(context.finish().as_ref() == digest)
}

/// SHA-256 of parts, each after its length, so that no octet can pass from one to the next.
pub(crate) fn digest_of_parts(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut octets = [0; 32];
    octets.copy_from_slice(context.finish().as_ref());
    octets
}

/// The fields of a ZONEMD record (RFC 8976 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zonemd<'a> {
    /// Serial of the zone that was digested; the record counts only when the SOA has the same.
    pub serial: u32,
    /// How the zone is turned into octets; 1 is SIMPLE.
    pub scheme: u8,
    /// 1: SHA-384, 2: SHA-512.
    pub algorithm: u8,
    /// The digest, at least [`ZONEMD_DIGEST_OCTETS_MIN`].
    pub digest: &'a [u8],
}

/// Shortest digest of any algorithm (RFC 8976 2.2.4).
pub const ZONEMD_DIGEST_OCTETS_MIN: usize = 12;

/// The only scheme assigned (RFC 8976 5.2).
pub const SCHEME_SIMPLE: u8 = 1;

impl<'a> Zonemd<'a> {
    /// Reads RDATA; `None` when it does not have the shape of a ZONEMD record.
    pub fn parse(rdata: &'a [u8]) -> Option<Zonemd<'a>> {
        let &[a, b, c, d, scheme, algorithm, ref digest @ ..] = rdata else { return None };
        let serial = u32::from_be_bytes([a, b, c, d]);
        let right_length = match zone_algorithm(algorithm) {
            Some(known) if scheme == SCHEME_SIMPLE => digest.len() == known.output_len(),
            _ => digest.len() >= ZONEMD_DIGEST_OCTETS_MIN,
        };
        right_length.then_some(Zonemd { serial, scheme, algorithm, digest })
    }
}

fn zone_algorithm(algorithm: u8) -> Option<&'static Algorithm> {
    match algorithm {
        1 => Some(&digest::SHA384),
        2 => Some(&digest::SHA512),
        _ => None,
    }
}

/// Digest of a zone by the scheme SIMPLE (RFC 8976 3.3), fed with the RRsets of the zone in canonical order:
/// by owner, then by number of the type.
///
/// The caller leaves out the ZONEMD RRset of the apex, its signatures, and records outside the zone;
/// everything else counts, occluded names and glue too.
pub struct ZoneDigest {
    context: Context,
    /// Owner to class of the set being added, then its records: one update of the digest each.
    buffer: Vec<u8>,
}

impl ZoneDigest {
    /// Starts a digest with a ZONEMD record's scheme and algorithm.
    pub fn new(scheme: u8, algorithm: u8) -> Result<ZoneDigest, UnsupportedDigest> {
        match (scheme, zone_algorithm(algorithm)) {
            (SCHEME_SIMPLE, Some(algorithm)) => {
                Ok(ZoneDigest { context: Context::new(algorithm), buffer: Vec::new() })
            }
            _ => Err(UnsupportedDigest),
        }
    }

    /// Adds an RRset. `ttl` of a record by its place in what `set` was filled from: signatures at one name
    /// differ in their TTLs, each has that of the set it covers.
    pub fn add(&mut self, owner: &Name, rtype: u16, ttl: impl Fn(usize) -> u32, set: &CanonicalSet) {
        for (source, rdata) in set.records() {
            self.buffer.clear();
            write_record(owner, rtype, ttl(source), rdata, &mut self.buffer);
            self.context.update(&self.buffer);
        }
    }

    /// Whether `digest` is the digest of what was added.
    pub fn is(self, digest: &[u8]) -> bool {
        self.context.finish().as_ref() == digest
    }
}

/// Appends a record in canonical form (RFC 4034 6.2); `rdata` is in that form already.
pub(crate) fn write_record(owner: &Name, rtype: u16, ttl: u32, rdata: &[u8], to: &mut Vec<u8>) {
    let at = to.len();
    to.extend_from_slice(owner.octets());
    to[at..].make_ascii_lowercase();
    to.extend_from_slice(&rtype.to_be_bytes());
    to.extend_from_slice(&class::IN.to_be_bytes());
    to.extend_from_slice(&ttl.to_be_bytes());
    to.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
    to.extend_from_slice(rdata);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zonemd_records() {
        let mut rdata = vec![0, 0, 0, 7, 1, 1];
        rdata.extend([9; 48]);
        let record = Zonemd { serial: 7, scheme: 1, algorithm: 1, digest: &[9; 48] };
        assert_eq!(Zonemd::parse(&rdata), Some(record));
        assert_eq!(Zonemd::parse(&rdata[..53]), None, "SHA-384 of 47 octets");
        let private = [&[0, 0, 0, 7, 241, 1], &[9; 20][..]].concat(); // as in RFC 8976 A.3
        assert_eq!(Zonemd::parse(&private).map(|record| record.scheme), Some(241));
        assert_eq!(Zonemd::parse(&[0; 17]), None, "11 octets are too few for any algorithm");
        assert!(Zonemd::parse(&[0; 18]).is_some());
        assert_eq!(Zonemd::parse(&[0; 5]), None);
        assert!(ZoneDigest::new(2, 1).is_err() && ZoneDigest::new(1, 3).is_err());
    }

    #[test]
    fn ds_types() {
        assert_eq!([1, 2, 3, 4, 5].map(ds_digest_octets), [Some(20), Some(32), None, Some(48), None]);
        assert_eq!(is_ds_digest(3, &[], Name::root(), &[]), Err(UnsupportedDigest));
        assert_eq!(is_ds_digest(2, &[0; 32], Name::root(), &[]), Ok(false));
    }
}
