//! The two tables of RDATA are joined: the build fails when a type's fields in master files ([`kinds`]) differ from those on the
//! wire ([`wire::rdata::layout`]) in number, width or order.

use wire::iana::rtype::{ALL, is_meta};
use wire::rdata::{Field, NameUse, layout};

use super::table::Kind::{self, *};
use super::table::kinds;

// Every type of the registry has the same form in both tables.
const _: () = {
    let mut at = 0;
    while at < ALL.len() {
        let rtype = ALL[at].0;
        match kinds(rtype) {
            Some(kinds) => assert!(is_same_form(kinds, layout(rtype))),
            None => assert!(is_meta(rtype) || matches!(layout(rtype), [Field::Rest])),
        }
        at += 1;
    }
};

/// Whether fields of a master file are these on the wire, where those of fixed width that follow each other are one.
const fn is_same_form(kinds: &[Kind], fields: &[Field]) -> bool {
    let (mut kind, mut field) = (0, 0);
    loop {
        let mut octets = 0;
        while kind < kinds.len()
            && let Wire::Octets(more) = on_wire(kinds[kind])
        {
            octets += more;
            kind += 1;
        }
        if octets > 0 {
            if field == fields.len() || !matches!(fields[field], Field::Octets(count) if count == octets) {
                return false;
            }
            field += 1;
        }
        if kind == kinds.len() || field == fields.len() {
            return kind == kinds.len() && field == fields.len();
        }
        let is_same = match on_wire(kinds[kind]) {
            Wire::Octets(_) => false,
            Wire::Field(expected) => is_same_kind(expected, fields[field]),
        };
        if !is_same {
            return false;
        }
        kind += 1;
        field += 1;
    }
}

/// What a field of a master file is on the wire.
enum Wire {
    /// So many octets, at least one.
    Octets(u8),
    /// Another field. What becomes of a name is the wire's alone.
    Field(Field),
}

const fn on_wire(kind: Kind) -> Wire {
    const ANY_NAME: NameUse = NameUse { expand: false, compress: false, fold: false };
    Wire::Field(match kind {
        U8 | Algorithm | Scheme => return Wire::Octets(1),
        U16 | Type | Certificate => return Wire::Octets(2),
        U32 | Span | Time | Ipv4 => return Wire::Octets(4),
        Kind::Eui48 => return Wire::Octets(6),
        U64 | Kind::Eui64 | Locator => return Wire::Octets(8),
        Ipv6 | Location => return Wire::Octets(16),
        Name => Field::Name(ANY_NAME),
        Names => Field::Names(ANY_NAME),
        Text | Tag | Digits | Salt | Hash => Field::CharacterString,
        TextOptional => Field::CharacterStringOptional,
        Texts => Field::CharacterStrings,
        TextRest | Base64(_) | Base64OrDash | Hex(_) | Nsap | Atm | Services | OldTypes => Field::Rest,
        Types(_) => Field::Bitmap,
        Params => Field::Parameters,
        Prefixes => Field::Prefixes,
        Gateway => Field::Gateway,
        Relay => Field::Relay,
        Host => Field::Host,
        Chain => Field::A6,
    })
}

const fn is_same_kind(expected: Field, field: Field) -> bool {
    matches!(
        (expected, field),
        (Field::Name(_), Field::Name(_))
            | (Field::Names(_), Field::Names(_))
            | (Field::CharacterString, Field::CharacterString)
            | (Field::CharacterStringOptional, Field::CharacterStringOptional)
            | (Field::CharacterStrings, Field::CharacterStrings)
            | (Field::Rest, Field::Rest)
            | (Field::Bitmap, Field::Bitmap)
            | (Field::Parameters, Field::Parameters)
            | (Field::Prefixes, Field::Prefixes)
            | (Field::Gateway, Field::Gateway)
            | (Field::Relay, Field::Relay)
            | (Field::Host, Field::Host)
            | (Field::A6, Field::A6)
    )
}
