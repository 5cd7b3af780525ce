//! What is said of changes that a server asks for.

use wire::NameBuf;

use super::{Rest, Version, put, words};

/// Octets of the records of one write: what a request of the API may read and change.
pub const WRITE_OCTETS_MAX: usize = 4 << 20;
/// Octets of the records of all writes that are on their way: with all answers that a server may have for its feeder they are taken in in the midst of a statement (`pair`).
pub const WRITES_OCTETS_MAX: usize = 8 << 20;

/// By what a request that may be made again is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once {
    /// Of who makes it, and of the name that he gave it.
    pub name: [u8; 16],
    /// Of what is asked for.
    pub request: [u8; 16],
}

/// A change of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// By which what came of it is told.
    pub number: u32,
    /// The zone.
    pub zone: NameBuf,
    /// The version that it is over: of another one nothing is changed.
    pub over: Version,
    /// If it may be asked for again.
    pub once: Option<Once>,
    /// It is begun before this time, in milliseconds since 1970, or not at all: nobody waits for it any more then.
    pub until: u64,
    /// Who asks for it.
    pub who: String,
}

/// A change that is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The zone.
    pub zone: NameBuf,
    /// The number of its write.
    pub number: u32,
    /// The serial that it is over.
    pub before: u32,
    /// The serial of the version that it is in.
    pub after: u32,
}

/// Why one is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// The zone has another version than it is over; that is on its way.
    Moved,
    /// Another request was made under its name.
    OtherRequest,
    /// The database refuses it as it is.
    Refused,
    /// What somebody has changed in the zone is no version, and has to be mended first.
    Unfit,
    /// The database refuses all that is written, as rights are missing.
    Denied,
    /// Somebody holds the zone, or the database is away.
    NotNow,
    /// It may be in the store: nobody has said.
    Unknown,
}

impl Unwritten {
    const ALL: [(Unwritten, u8); 7] = [
        (Unwritten::Moved, b'm'),
        (Unwritten::OtherRequest, b'o'),
        (Unwritten::Refused, b'r'),
        (Unwritten::Unfit, b'f'),
        (Unwritten::Denied, b'd'),
        (Unwritten::NotNow, b'n'),
        (Unwritten::Unknown, b'u'),
    ];

    pub(super) fn octet(self) -> u8 {
        Unwritten::ALL.iter().find(|(own, _)| *own == self).map_or(b'u', |(_, octet)| *octet)
    }

    pub(super) fn of(octet: u8) -> Option<Unwritten> {
        Unwritten::ALL.iter().find(|(_, own)| *own == octet).map(|(why, _)| *why)
    }
}

impl Write {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.zone.octets());
        out.extend_from_slice(&self.number.to_be_bytes());
        put(out, self.over);
        out.extend_from_slice(&self.until.to_be_bytes());
        out.push(u8::from(self.once.is_some()));
        if let Some(Once { name, request }) = &self.once {
            out.extend_from_slice(name);
            out.extend_from_slice(request);
        }
        words(out, &self.who);
    }

    pub(super) fn read(rest: &mut Rest<'_>) -> Option<Write> {
        let (zone, number, over) = (rest.zone()?, rest.number()?, rest.version()?);
        let until = u64::from_be_bytes(rest.octets()?);
        let once = match rest.octets::<1>()?[0] {
            0 => None,
            _ => Some(Once { name: rest.octets()?, request: rest.octets()? }),
        };
        Some(Write { number, zone, over, once, until, who: rest.words()? })
    }
}

impl Written {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.zone.octets());
        for number in [self.number, self.before, self.after] {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    pub(super) fn read(rest: &mut Rest<'_>) -> Option<Written> {
        Some(Written {
            zone: rest.zone()?,
            number: rest.number()?,
            before: rest.number()?,
            after: rest.number()?,
        })
    }
}
