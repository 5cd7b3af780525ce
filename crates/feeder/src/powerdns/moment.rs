//! One zone after the other as it is in the tables when it is asked for.

use std::time::Duration;

use store::powerdns::{Fault, Zone, mark};
use store::source::{BeginWhole, Each, EachChange, Moment, Next};
use store::{Kind, Version};
use wire::NameBuf;

use super::{Opener, PowerDns, is_passing};

/// Between the two times that a zone is read: who raises the serial first changes the rows in that time. Where many zones are read, as at first, there is none.
const PAUSE: Duration = Duration::from_millis(100);
/// So many zones at a time are few.
const FEW_MAX: usize = 4;

/// See the module.
pub(super) struct ZoneMoment<'s, O: Opener> {
    source: &'s mut PowerDns<O>,
    is_few: bool,
    /// The zone that was asked for last.
    read: Option<(String, Box<Zone>)>,
    /// Whether it has changed each time that it was read, or could not be read for somebody who was at work.
    is_moving: bool,
}

impl<O: Opener> ZoneMoment<'_, O> {
    pub(super) fn of(source: &mut PowerDns<O>) -> ZoneMoment<'_, O> {
        ZoneMoment { source, is_few: true, read: None, is_moving: false }
    }

    /// Reads a zone; `None`: there is none.
    fn read(&mut self, zone: &str) -> Result<Option<Version>, store::Fault> {
        (self.read, self.is_moving) = (None, false);
        let Ok(name) = NameBuf::from_text(zone).map(|name| name.to_lowercase()) else { return Ok(None) };
        let Some(known) = self.source.list.known(&name) else { return Ok(None) };
        self.source.beat()?;
        let (rules, pause) = (self.source.rules, if self.is_few { PAUSE } else { Duration::ZERO });
        let read =
            self.source.with(|tables, _, _| tables.zone(known.id, rules, &mut || std::thread::sleep(pause)));
        match read {
            Ok(Ok(read)) => {
                self.source.list.note_rows(&name, Some(read.mark));
                let serial = read.serial().unwrap_or(known.serial);
                let newest = version(zone, serial, mark::text(&read.mark));
                self.read = Some((zone.to_owned(), Box::new(read)));
                Ok(Some(newest))
            }
            Ok(Err(refusal)) => {
                Err(store::Fault::Refused { zone: zone.to_owned(), words: refusal.to_string() })
            }
            // It is gone since it was looked at.
            Err(store::Fault::PowerDns(Fault::NoZone)) => Ok(None),
            // Somebody is at work in it, or in the file: the next look finds it to be another one.
            Err(fault) if is_passing(&fault) || matches!(fault, store::Fault::PowerDns(Fault::Moving)) => {
                self.is_moving = true;
                self.source.list.again(&name);
                Ok(Some(version(zone, known.serial, String::new())))
            }
            Err(fault) => Err(fault),
        }
    }
}

/// All of a zone, as nothing is known of what led there.
fn version(zone: &str, serial: u32, mark: String) -> Version {
    let zone = zone.to_owned();
    Version { id: 0, zone, serial, mark, kind: Kind::Whole, rows: 0, at: 0, who: None, why: None }
}

impl<O: Opener> Moment for ZoneMoment<'_, O> {
    fn prepare(&mut self, next: &[Next]) -> Result<(), store::Fault> {
        self.is_few = next.len() <= FEW_MAX;
        Ok(())
    }

    fn newest(&mut self, zone: &str) -> Result<Option<Version>, store::Fault> {
        self.read(zone)
    }

    /// Of no other version than the one that there is it is known what led from it.
    fn since(&mut self, zone: &str, mark: &str) -> Result<Option<Vec<Version>>, store::Fault> {
        let is_it = |(name, read): &&(String, Box<Zone>)| name == zone && mark::text(&read.mark) == mark;
        Ok(self.read.as_ref().filter(is_it).map(|_| Vec::new()))
    }

    fn is_pending(&mut self, _zone: &str) -> Result<bool, store::Fault> {
        Ok(self.is_moving)
    }

    fn changed(&mut self, _version: &Version, _each: EachChange<'_>) -> Result<u64, store::Fault> {
        Ok(0)
    }

    fn records(&mut self, zone: &str, begin: BeginWhole<'_>, each: Each<'_>) -> Result<(), store::Fault> {
        let gone = || store::Fault::Moved { zone: zone.to_owned(), serial: None, who: None };
        let Some((_, read)) = self.read.take().filter(|(read, _)| read == zone) else { return Err(gone()) };
        let serial = read.serial().ok_or_else(gone)?;
        if begin(&version(zone, serial, mark::text(&read.mark))).is_continue() {
            read.records(each);
        }
        Ok(())
    }

    fn without(&mut self) -> Option<String> {
        let (name, zone) = self.read.as_ref()?;
        let words = zone.left_out.lines().join("; ");
        if words.is_empty() {
            // Where nothing was said before there is nothing to take back.
            return self.source.without.remove(name).then_some(words);
        }
        self.source.without.insert(name.clone());
        Some(words)
    }
}
