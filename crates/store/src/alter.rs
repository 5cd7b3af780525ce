//! What is to be changed in a zone, over a version that somebody has seen: records that go and come, as rows.
//!
//! ```text
//! Write: zone, over a mark --- the newest version has it? -- rows go and come -> a version of who asked
//!                               `-- another: nothing of it      `-- not the rows of that version: refused
//! ```
//!
//! A request that may be made again has a [`Once`], which its version keeps in its words: whoever asks again hears of that version, on whichever host.

use wire::NameBuf;
use zone::change::{Record, Records};

use crate::fault::Fault;
use crate::row::Row;
use crate::version::Version;

/// Versions of a zone in which a request is looked for: some megabytes are read, and a client asks again within minutes.
pub(crate) const VERSIONS_LOOKED_MAX: i64 = 16_384;
/// How long a request is known, in seconds: as long as the server knows those of other zones.
pub(crate) const AGE_MAX: u64 = 24 * 3_600;

/// By what a request that may be made again is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once {
    /// Of who makes it, and of the name that he gave it.
    pub name: [u8; 16],
    /// Of what is asked for.
    pub request: [u8; 16],
}

/// Records that go from a zone and come into it.
#[derive(Clone, Debug)]
pub struct Write {
    /// The zone.
    pub zone: NameBuf,
    /// Serial and mark of the version that it is over.
    pub over: (u32, String),
    /// Records that go, as that version has them; of TTLs nothing is expected.
    pub removed: Records,
    /// Records that come.
    pub added: Records,
    /// Who asks for it.
    pub who: String,
    /// How it is known if it is asked for again.
    pub once: Option<Once>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// This version, once all is committed.
    Made(Version),
    /// Nothing: the rows are as they were.
    Same,
    /// The zone has another version than that which it is over, or is not there.
    Moved,
    /// It was done before: serials before and after it.
    Before(u32, u32),
    /// Another request was made by that name.
    OtherRequest,
}

/// Why nothing of some writes is known to be there.
#[derive(Debug)]
pub enum NotCommitted {
    /// Nothing of them is.
    Nothing(Fault),
    /// All of them may be, as nobody has said what became of the commit.
    Unknown(Fault),
}

impl From<Fault> for NotCommitted {
    fn from(fault: Fault) -> NotCommitted {
        NotCommitted::Nothing(fault)
    }
}

impl NotCommitted {
    /// Why.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        match self {
            NotCommitted::Nothing(fault) | NotCommitted::Unknown(fault) => fault,
        }
    }
}

impl Once {
    /// How the words of its version begin.
    pub(crate) fn begin(&self) -> String {
        format!("once {} ", hex(self.name))
    }

    /// The words of its version, which is over this serial.
    pub(crate) fn why(&self, over: u32) -> String {
        format!("{}{} over {over}", self.begin(), hex(self.request))
    }

    /// What is known of it by a version's serial and words, which begin as its own do.
    pub(crate) fn known(&self, serial: u32, why: &str) -> Wrote {
        let words = why.strip_prefix(&self.begin()).and_then(|rest| rest.split_once(" over "));
        match words.and_then(|(request, over)| Some((request, over.parse().ok()?))) {
            Some((request, over)) if request == hex(self.request) => Wrote::Before(over, serial),
            _ => Wrote::OtherRequest,
        }
    }
}

impl Write {
    /// Its zone, as the tables name it.
    pub(crate) fn name(&self) -> String {
        self.zone.to_lowercase().to_string()
    }

    /// The words of its version.
    pub(crate) fn why(&self) -> Option<String> {
        self.once.map(|once| once.why(self.over.0))
    }

    /// Octets of its records.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.removed.octets().len() + self.added.octets().len()
    }
}

/// Records as rows.
pub(crate) fn rows(records: &Records) -> impl Iterator<Item = Row> + '_ {
    let row = |record: Record<'_>| {
        Row::of(&record.owner.to_lowercase().to_string(), record.rtype, record.ttl, record.rdata)
    };
    records.iter().map(row)
}

fn hex(octets: [u8; 16]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_known_by_the_words_of_its_version() {
        let once = Once { name: [1; 16], request: [0xab; 16] };
        let why = once.why(7);
        assert_eq!(why, format!("once {} {} over 7", "01".repeat(16), "ab".repeat(16)));
        assert_eq!(once.known(9, &why), Wrote::Before(7, 9));
        assert_eq!(Once { request: [0; 16], ..once }.known(9, &why), Wrote::OtherRequest);
        // What somebody wrote by hand.
        assert_eq!(once.known(9, &once.begin()), Wrote::OtherRequest);
    }
}
