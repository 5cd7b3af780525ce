//! A zone as the list of them has it: a row of `domains`, and what hinders it from being served.

use wire::{Name, NameBuf};

use super::mark::{Mark, Marker};
use super::refusal::Refusal;
use super::soa;

/// What PowerDNS is for a zone: `domains.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `NATIVE`: the database brings it to other servers. So is any word that PowerDNS does not know.
    Native,
    /// `MASTER`, `PRIMARY`.
    Primary,
    /// `SLAVE`, `SECONDARY`.
    Secondary,
    /// `PRODUCER`: a catalog that PowerDNS makes when it is asked.
    Producer,
    /// `CONSUMER`: a catalog of a primary.
    Consumer,
}

impl Kind {
    /// The kind that a word says.
    #[must_use]
    pub fn of(word: &[u8]) -> Kind {
        match word.to_ascii_uppercase().as_slice() {
            b"MASTER" | b"PRIMARY" => Kind::Primary,
            b"SLAVE" | b"SECONDARY" => Kind::Secondary,
            b"PRODUCER" => Kind::Producer,
            b"CONSUMER" => Kind::Consumer,
            _ => Kind::Native,
        }
    }
}

/// A zone of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number: `domains.id`.
    pub id: i64,
    /// Its name as it is in the table.
    pub text: Vec<u8>,
    /// What PowerDNS is for it.
    pub kind: Kind,
    /// Content of its SOA record; `None`: PowerDNS finds none.
    pub soa: Option<Vec<u8>>,
    /// How many of its keys are active.
    pub keys: u64,
    /// Whether it is signed by somebody else: `PRESIGNED`.
    pub is_presigned: bool,
    /// Whether it has parameters of NSEC3: `NSEC3PARAM`.
    pub has_nsec3: bool,
    /// Whether PowerDNS answers with another serial than the table has: `SOA-EDIT`.
    pub is_soa_edited: bool,
}

impl Listed {
    /// Reads a row of [`super::Client::LIST`]; `None`: its number is none.
    pub(super) fn of(columns: &[Option<&[u8]>]) -> Option<Listed> {
        let &[id, name, kind, soa, keys, presigned, nsec3, edited] = columns else { return None };
        let count = |column: Option<&[u8]>| number(column).unwrap_or(0).unsigned_abs();
        Some(Listed {
            id: number(id)?,
            text: name.unwrap_or_default().to_vec(),
            kind: Kind::of(kind.unwrap_or_default()),
            soa: soa.map(<[u8]>::to_vec),
            keys: count(keys),
            is_presigned: count(presigned) > 0,
            has_nsec3: count(nsec3) > 0,
            is_soa_edited: count(edited) > 0,
        })
    }

    /// Its name, in lower case; `None` also where its text is another one than PowerDNS looks for.
    #[must_use]
    pub fn name(&self) -> Option<NameBuf> {
        absolute(&self.text).filter(|name| text_of(name).eq_ignore_ascii_case(&self.text))
    }

    /// The serial that its SOA record has.
    #[must_use]
    pub fn serial(&self) -> Option<u32> {
        soa::serial(self.soa.as_deref()?)
    }

    /// The same as long as nothing of this has changed.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let mut marker = Marker::default();
        self.note(&mut marker);
        marker.mark()
    }

    /// Adds all of this to a mark.
    pub(super) fn note(&self, marker: &mut Marker) {
        let flags = [self.is_presigned, self.has_nsec3, self.is_soa_edited].map(u8::from);
        marker.column(Some(&[self.kind as u8]));
        marker.column(Some(&self.id.to_le_bytes()));
        marker.column(Some(&self.text));
        marker.column(self.soa.as_deref());
        marker.column(Some(&self.keys.to_le_bytes()));
        marker.column(Some(&flags));
    }

    /// Why it is not served, whatever records it has.
    pub(super) fn hindered(&self) -> Result<NameBuf, Refusal> {
        if !matches!(self.kind, Kind::Native | Kind::Primary) {
            return Err(Refusal::LeftOut(self.kind));
        }
        let name = self.name().ok_or(Refusal::Name)?;
        match self {
            Listed { is_presigned: true, .. } => Err(Refusal::Presigned),
            Listed { keys: 1.., .. } => Err(Refusal::Keys(self.keys)),
            Listed { has_nsec3: true, .. } => Err(Refusal::Nsec3),
            Listed { is_soa_edited: true, .. } => Err(Refusal::SoaEdit),
            _ => Ok(name),
        }
    }
}

/// The name of a column, in lower case: with or without its last dot, never relative.
pub(super) fn absolute(text: &[u8]) -> Option<NameBuf> {
    // `@` is a label to PowerDNS, and no name of ours; an empty one is the name of nothing.
    if text.is_empty() || text == b"@" {
        return None;
    }
    NameBuf::from_text_at(text, Some(Name::root())).ok().map(|name| name.to_lowercase())
}

/// A name as PowerDNS writes it where it looks for one: without the last dot, and escaped is only what would be something else.
pub(super) fn text_of(name: &Name) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.octets().len());
    for label in name.labels().filter(|label| !label.is_empty()) {
        if !text.is_empty() {
            text.push(b'.');
        }
        for &octet in label {
            match octet {
                b'.' | b'\\' => text.extend_from_slice(&[b'\\', octet]),
                b'!'..=b'~' => text.push(octet.to_ascii_lowercase()),
                _ => text.extend_from_slice(format!("\\{octet:03}").as_bytes()),
            }
        }
    }
    // That of the root is the dot alone.
    if text.is_empty() { b".".to_vec() } else { text }
}

/// The number of a column.
pub(super) fn number(column: Option<&[u8]>) -> Option<i64> {
    std::str::from_utf8(column?).ok()?.trim().parse().ok()
}
