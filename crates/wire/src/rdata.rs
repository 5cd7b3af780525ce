//! Where the parts of RDATA lie on the wire: one table for all types.
//!
//! [`layout`] says which fields a type has; [`Names`] finds the names among them, in a message as well as in RDATA that stands
//! alone. What becomes of a name is said with it ([`NameUse`]): whether it may arrive compressed, may leave compressed, and
//! is folded in canonical form. Most records are of types without names: they leave at one test, [`has_names`].
//!
//! How a field looks in a master file is said in `zonefile`, which fails to build when its table and this one differ.

mod names;

pub use names::{BadRdata, NameField, Names};

use crate::iana::rtype::*;

/// A part of RDATA on the wire. Numbers, addresses, times and the like are octets here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// So many octets. Fields of fixed width that follow each other are one.
    Octets(u8),
    /// Any octets, to the end.
    Rest,
    /// A length octet and so many octets: character-strings (RFC 1035 3.3), salts, hashes, tags.
    CharacterString,
    /// The same, or nothing, at the end (ISDN).
    CharacterStringOptional,
    /// One character-string or more, to the end.
    CharacterStrings,
    /// A length of two octets and so many octets (TSIG, TKEY).
    Sized16,
    /// A domain name.
    Name(NameUse),
    /// Domain names to the end, or none (HIP).
    Names(NameUse),
    /// A type bitmap, to the end (RFC 4034 4.1.2).
    Bitmap,
    /// Address prefixes, to the end (RFC 3123 4).
    Prefixes,
    /// Service parameters, to the end (RFC 9460 2.2).
    Parameters,
    /// Prefix length, the octets of the address that it leaves, and a name unless it is 0 (RFC 2874 3.1).
    A6,
    /// The gateway of IPSECKEY, of which the second octet of the RDATA says whether it is a name (RFC 4025 2.3).
    Gateway,
    /// Discovery bit and type, then the relay of AMTRELAY, which may be a name (RFC 8777 4.2).
    Relay,
    /// Tag length, algorithm, key length, tag and key of HIP (RFC 8005 5).
    Host,
}

/// What is done with a name in RDATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// It may arrive compressed: types of RFC 1035 and those that others send so (RFC 3597 4). A pointer in any other name is
    /// malformed.
    pub expand: bool,
    /// It may leave compressed: types of RFC 1035 only (RFC 3597 4).
    pub compress: bool,
    /// Its letters are lower case in canonical form (RFC 4034 6.2, RFC 6840 5.1).
    pub fold: bool,
}

impl NameUse {
    /// Types of RFC 1035.
    const CLASSIC: NameUse = NameUse { expand: true, compress: true, fold: true };
    /// Types between RFC 1035 and RFC 3597, which some have sent compressed.
    const FORMER: NameUse = NameUse { expand: true, compress: false, fold: true };
    /// Types that were never compressed, folded all the same.
    const FOLDED: NameUse = NameUse { expand: false, compress: false, fold: true };
    /// Meta types: never in canonical form.
    const META: NameUse = NameUse { expand: true, compress: false, fold: false };
    /// All others: left as they are.
    const PLAIN: NameUse = NameUse { expand: false, compress: false, fold: false };
}

use Field::{
    Bitmap, CharacterString, CharacterStringOptional, CharacterStrings, Gateway, Host, Name, Octets,
    Parameters, Prefixes, Relay, Rest, Sized16,
};

const CLASSIC_NAME: Field = Name(NameUse::CLASSIC);
const FORMER_NAME: Field = Name(NameUse::FORMER);
const PLAIN_NAME: Field = Name(NameUse::PLAIN);

/// The fields of a type's RDATA. Of a type that is not known, or has no form, it is [`Field::Rest`] alone (RFC 3597 3).
///
/// The forms are those of class IN; where those of other classes differ (A of CH), they have no names here, so that they
/// pass as they are.
pub const fn layout(rtype: u16) -> &'static [Field] {
    match rtype {
        A => &[Octets(4)],
        NS | MD | MF | CNAME | MB | MG | MR | PTR => &[CLASSIC_NAME],
        SOA => &[CLASSIC_NAME, CLASSIC_NAME, Octets(20)],
        WKS => &[Octets(4), Rest],
        HINFO => &[CharacterString, CharacterString],
        MINFO => &[CLASSIC_NAME, CLASSIC_NAME],
        MX => &[Octets(2), CLASSIC_NAME],
        TXT | SPF | NINFO | AVC | RESINFO | WALLET | CLA => &[CharacterStrings],
        RP => &[FORMER_NAME, FORMER_NAME],
        AFSDB | RT | KX => &[Octets(2), FORMER_NAME],
        X25 => &[CharacterString],
        ISDN => &[CharacterString, CharacterStringOptional],
        NSAP_PTR => &[PLAIN_NAME],
        SIG => &[Octets(18), FORMER_NAME, Rest],
        RRSIG => &[Octets(18), Name(NameUse::FOLDED), Rest],
        KEY | DNSKEY | CDNSKEY | RKEY | DS | CDS | TA | DLV => &[Octets(4), Rest],
        PX => &[Octets(2), FORMER_NAME, FORMER_NAME],
        GPOS => &[CharacterString, CharacterString, CharacterString],
        AAAA => &[Octets(16)],
        LOC => &[Octets(16)],
        NXT => &[FORMER_NAME, Rest],
        SRV => &[Octets(6), FORMER_NAME],
        NAPTR => &[Octets(4), CharacterString, CharacterString, CharacterString, FORMER_NAME],
        CERT => &[Octets(5), Rest],
        A6 => &[Field::A6],
        DNAME => &[Name(NameUse::FOLDED)],
        SINK | TLSA | SMIMEA => &[Octets(3), Rest],
        APL => &[Prefixes],
        SSHFP => &[Octets(2), Rest],
        IPSECKEY => &[Octets(3), Gateway, Rest],
        NSEC => &[PLAIN_NAME, Bitmap],
        NSEC3 => &[Octets(4), CharacterString, CharacterString, Bitmap],
        NSEC3PARAM => &[Octets(4), CharacterString],
        HIP => &[Host, Field::Names(NameUse::PLAIN)],
        TALINK => &[PLAIN_NAME, PLAIN_NAME],
        CSYNC => &[Octets(6), Bitmap],
        ZONEMD => &[Octets(6), Rest],
        SVCB | HTTPS => &[Octets(2), PLAIN_NAME, Parameters],
        DSYNC => &[Octets(5), PLAIN_NAME],
        NID | L64 => &[Octets(10)],
        L32 => &[Octets(6)],
        LP => &[Octets(2), PLAIN_NAME],
        EUI48 => &[Octets(6)],
        EUI64 | IPN => &[Octets(8)],
        URI => &[Octets(4), Rest],
        CAA => &[Octets(1), CharacterString, Rest],
        DOA => &[Octets(9), CharacterString, Rest],
        AMTRELAY => &[Octets(1), Relay],
        // Meta types: in messages only (RFC 6895 3.1). The forms of RFC 8945 4.2 and RFC 2930 2.
        TSIG => &[Name(NameUse::META), Octets(8), Sized16, Octets(4), Sized16],
        TKEY => &[Name(NameUse::META), Octets(12), Sized16, Sized16],
        _ => &[Rest],
    }
}

/// Types of the dense part of the registry, and words of a set of them. Above it only TA and DLV are known, without names.
const DENSE_TYPES: usize = 320;
const SET_WORDS: usize = DENSE_TYPES / 64;

/// The types with names in their RDATA, and those with names that canonical form folds: a bit a type.
static NAMED: [u64; SET_WORDS] = set(false);
static FOLDED: [u64; SET_WORDS] = set(true);

const fn set(folded: bool) -> [u64; SET_WORDS] {
    let mut words = [0; SET_WORDS];
    let mut rtype = 0;
    while rtype < DENSE_TYPES {
        if has(layout(rtype as u16), folded) {
            words[rtype / 64] |= 1 << (rtype % 64);
        }
        rtype += 1;
    }
    words
}

/// Whether one of the fields is a name, or one that is folded.
const fn has(fields: &[Field], folded: bool) -> bool {
    let mut at = 0;
    while at < fields.len() {
        let uses = match fields[at] {
            Name(uses) | Field::Names(uses) => Some(uses),
            Field::A6 => Some(NameUse::FOLDED),
            Gateway | Relay => Some(NameUse::PLAIN),
            _ => None,
        };
        if let Some(uses) = uses
            && (uses.fold || !folded)
        {
            return true;
        }
        at += 1;
    }
    false
}

// No name is missed by the sets.
const _: () = {
    let mut at = 0;
    while at < ALL.len() {
        assert!((ALL[at].0 as usize) < DENSE_TYPES || !has(layout(ALL[at].0), false));
        at += 1;
    }
};

#[inline(always)]
fn is_in(set: &[u64; SET_WORDS], rtype: u16) -> bool {
    match set.get(usize::from(rtype / 64)) {
        Some(word) => word >> (rtype % 64) & 1 != 0,
        None => false,
    }
}

/// Whether RDATA of this type can have names: one load and one test.
#[inline(always)]
pub fn has_names(rtype: u16) -> bool {
    is_in(&NAMED, rtype)
}

/// Whether RDATA of this type can have names that canonical form folds.
#[inline(always)]
pub fn has_folded_names(rtype: u16) -> bool {
    is_in(&FOLDED, rtype)
}

/// Names that may leave compressed: all types that have some have them one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressible {
    /// Octets before the first.
    pub before: usize,
    /// How many, 0 to 2.
    pub names: usize,
}

/// Types of RFC 1035 have the numbers 1 to 16.
const CLASSIC_TYPES: usize = 16;

static COMPRESSIBLE: [Compressible; CLASSIC_TYPES] = {
    let mut all = [NONE_COMPRESSIBLE; CLASSIC_TYPES];
    let mut rtype = 0;
    while rtype < CLASSIC_TYPES {
        all[rtype] = compressible_fields(layout(rtype as u16));
        rtype += 1;
    }
    all
};
const NONE_COMPRESSIBLE: Compressible = Compressible { before: 0, names: 0 };

/// Fails to compile where names that may leave compressed do not stand as [`Compressible`] says.
const fn compressible_fields(fields: &[Field]) -> Compressible {
    let mut found = NONE_COMPRESSIBLE;
    let mut at = 0;
    while at < fields.len() {
        match fields[at] {
            Name(NameUse { compress: true, .. }) => found.names += 1,
            Octets(count) if found.names == 0 && at == 0 => found.before = count as usize,
            Name(_) | Field::Names(_) | Field::A6 | Gateway | Relay => assert!(found.names == 0),
            _ => {}
        }
        at += 1;
    }
    if found.names == 0 { NONE_COMPRESSIBLE } else { found }
}

const _: () = {
    let mut at = 0;
    while at < ALL.len() {
        let (rtype, _) = ALL[at];
        assert!((rtype as usize) < CLASSIC_TYPES || compressible_fields(layout(rtype)).names == 0);
        at += 1;
    }
};

/// The names in RDATA of this type that may leave compressed (RFC 3597 4).
#[inline(always)]
pub fn compressible(rtype: u16) -> Compressible {
    match COMPRESSIBLE.get(usize::from(rtype)) {
        Some(found) => *found,
        None => NONE_COMPRESSIBLE,
    }
}

/// Makes uncompressed RDATA canonical (RFC 4034 6.2): letters of certain names become lower case. Octets that do not have the
/// form of the type stay as they are from the point where they leave it.
#[inline]
pub fn fold(rtype: u16, rdata: &mut [u8]) {
    if has_folded_names(rtype) {
        names::fold(rtype, rdata);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
