//! A zone that is put in place of what is there: what came of it, and its records as rows.

use wire::Name;
use wire::iana::rtype;
use zone::Contents;
use zone::change::soa_serial;
use zone::contents::served_ttl;

use crate::fault::Fault;
use crate::row::{Reader, Row};
use crate::version::{Kind, Version};

/// What came of putting a zone in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is another than before, or was not there: this version.
    Made(Version),
    /// It is as it was: nothing came of it.
    Same,
    /// Its rows are as they are to be, but the zone is not enabled, and has no version while that is so.
    Disabled,
}

/// How many records may come or go where a zone is put in: for more of them the version is *whole*. Each is noted
/// first and then a row of the history, which takes a minute for a million, and whoever follows has the zone sooner than such a difference.
pub(crate) const CHANGED_MAX: i64 = 250_000;

/// Refuses a zone that is at another version than the one of this mark.
pub(crate) fn expect_mark(newest: Option<Version>, zone: &str, expected: &str) -> Result<(), Fault> {
    match newest {
        Some(newest) if newest.mark == expected => Ok(()),
        newest => {
            let newest = newest.filter(|newest| newest.kind != Kind::Removed);
            let serial = newest.as_ref().map(|newest| newest.serial);
            Err(Fault::Moved { zone: zone.to_owned(), serial, who: newest.and_then(|newest| newest.who) })
        }
    }
}

/// The SOA record that a zone has.
pub(crate) struct OwnSoa {
    /// It.
    pub(crate) row: Row,
    rdata: Vec<u8>,
}

impl OwnSoa {
    /// `None`: it is none that can be read.
    pub(crate) fn of(row: Row, apex: &Name) -> Option<OwnSoa> {
        Reader::of(apex).read(&row).ok().map(|record| OwnSoa { row, rdata: record.rdata })
    }

    /// Whether another one has nothing that this one has not, but for a serial that is not greater.
    pub(crate) fn says_all_of(&self, other: &Row, apex: &Name) -> bool {
        if other.rtype != self.row.rtype {
            return false;
        }
        let Ok(record) = Reader::of(apex).read(other) else { return false };
        let (Some(own), Some(new)) = (soa_serial(&self.rdata), soa_serial(&record.rdata)) else {
            return false;
        };
        let mut rdata = record.rdata;
        set_serial(&mut rdata, own);
        rdata == self.rdata && other.ttl == self.row.ttl && !change::serial::is_greater(new, own)
    }
}

/// Hands over each record of a zone as a row.
pub(crate) fn each_row(
    contents: &Contents,
    mut take: impl FnMut(Row) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for node in contents.nodes() {
        let owner = node.name().to_string();
        for set in node.rrsets() {
            debug_assert!(!rtype::is_meta(set.rtype()), "no zone has such");
            for record in set.records() {
                take(Row::of(&owner, set.rtype(), served_ttl(record.ttl), record.rdata))?;
            }
        }
    }
    Ok(())
}

/// Five numbers are the end of the RDATA, the serial is the first of them.
pub(crate) fn set_serial(rdata: &mut [u8], serial: u32) {
    let Some(at) = rdata.len().checked_sub(20) else { return };
    rdata[at..at + 4].copy_from_slice(&serial.to_be_bytes());
}
