//! What the history has, for people.

use std::io;

use wire::{Name, NameBuf};

use super::History;
use super::files::{self, Place, ZoneFiles};

/// A version, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The group of the log that it was in.
    pub group: u64,
    /// The serial before and after.
    pub before: u32,
    /// See `before`.
    pub after: u32,
    /// When it was committed, in seconds since 1970.
    pub time: u64,
    /// Octets of its records.
    pub octets: u64,
}

impl History {
    /// What is wrong with the history of a zone, and where: each entry is read. For people.
    pub fn verify(&self, zone: &Name) -> io::Result<Vec<String>> {
        let _reading = self.files.lock();
        ZoneFiles::load(&*self.disk, &self.folder, zone)?.verify(&*self.disk)
    }

    /// The zones that have files whose heads can be read. For people.
    pub fn zones(&self) -> io::Result<Vec<NameBuf>> {
        let _reading = self.files.lock();
        let mut zones: Vec<NameBuf> = Vec::new();
        for folder in self.folders()? {
            for name in self.disk.names(&folder)? {
                zones.extend(files::zone_of(&*self.disk, &folder.join(name))?);
            }
        }
        zones.sort_unstable_by(|one, other| one.octets().cmp(other.octets()));
        zones.dedup_by(|one, other| one.octets() == other.octets());
        Ok(zones)
    }

    /// The versions that the files of a zone have, oldest first: group, serials before and after, time, octets. For people.
    pub fn list(&self, zone: &Name) -> io::Result<Vec<Listed>> {
        let _reading = self.files.lock();
        let files = ZoneFiles::load(&*self.disk, &self.folder, zone)?;
        let mut places: Vec<Place> = files.backwards(&*self.disk)?.collect::<io::Result<_>>()?;
        places.reverse();
        Ok(places.iter().map(Place::listed).collect())
    }
}
