//! One zone after the other as it is in the tables when it is asked for.

use std::time::{Duration, Instant};

use store::powerdns::{Fault, Zone};
use store::source::{BeginWhole, Each, EachChange, Moment, Next};
use store::{Kind, Version};
use wire::NameBuf;

use super::{Opener, PowerDns, is_passing};

/// Between the two times that a zone is read: who raises the serial first changes the rows in that time. Where many zones are read, as at first, there is none.
const PAUSE: Duration = Duration::from_millis(100);
/// So many zones at a time are few.
const FEW_MAX: usize = 4;

/// After so long it is said of a zone that has changed each time that it was read.
const MOVING_MAX: Duration = Duration::from_secs(30);
/// A moment is over after so long, so that the list is looked at, and the server heard, between zones that are read.
const MOMENT_MAX: Duration = Duration::from_millis(200);
/// What PostgreSQL says of values that are none.
const DATA_EXCEPTION: &str = "22";

/// See the module.
pub(super) struct ZoneMoment<'s, O: Opener> {
    source: &'s mut PowerDns<O>,
    is_few: bool,
    began: Instant,
    /// The zone that was asked for last.
    read: Option<(String, Box<Zone>)>,
    /// Whether it has changed each time that it was read, or could not be read for somebody who was at work.
    is_moving: bool,
}

impl<O: Opener> ZoneMoment<'_, O> {
    pub(super) fn of(source: &mut PowerDns<O>) -> ZoneMoment<'_, O> {
        ZoneMoment { source, is_few: true, began: Instant::now(), read: None, is_moving: false }
    }

    /// Reads a zone; `None`: there is none.
    fn read(&mut self, zone: &str) -> Result<Option<Version>, store::Fault> {
        (self.read, self.is_moving) = (None, false);
        let Ok(name) = NameBuf::from_text(zone).map(|name| name.to_lowercase()) else { return Ok(None) };
        let Some(known) = self.source.list.known(&name) else { return Ok(None) };
        self.source.beat()?;
        if let Some(words) = self.source.hindered.get(&name) {
            return Err(refused(zone, words.clone()));
        }
        let (rules, pause) = (self.source.rules, if self.is_few { PAUSE } else { Duration::ZERO });
        let read =
            self.source.with(|tables, _, _| tables.zone(known.id, rules, &mut || std::thread::sleep(pause)));
        match read {
            Ok(Ok(read)) => {
                self.source.list.note_rows(&name, Some(read.mark));
                self.source.moving.remove(&name);
                let newest =
                    version(zone, read.serial().unwrap_or(known.serial), self.source.mark(&read.mark));
                self.read = Some((zone.to_owned(), Box::new(read)));
                Ok(Some(newest))
            }
            Ok(Err(refusal)) => {
                if refusal.is_of_list() {
                    self.source.hindered.insert(name, refusal.to_string());
                }
                Err(refused(zone, refusal.to_string()))
            }
            Err(fault) if is_of_rows(&fault) => Err(refused(zone, fault.to_string())),
            // Somebody is at work in it, or in the file, or it is gone, or was made anew: the next look says which.
            Err(fault) if is_passing(&fault) || is_of_work(&fault) => {
                self.is_moving = true;
                self.source.list.again(&name);
                let since = *self.source.moving.entry(name).or_insert_with(Instant::now);
                match since.elapsed() >= MOVING_MAX {
                    true => {
                        Err(refused(zone, format!("it is another one each time that it is read: {fault}")))
                    }
                    false => Ok(Some(version(zone, known.serial, String::new()))),
                }
            }
            Err(fault) => Err(fault),
        }
    }
}

fn refused(zone: &str, words: String) -> store::Fault {
    store::Fault::Refused { zone: zone.to_owned(), words }
}

fn is_of_work(fault: &store::Fault) -> bool {
    matches!(fault, store::Fault::PowerDns(Fault::NoZone | Fault::Moving))
}

/// Whether a fault is of what the rows of a zone have, so that other zones go on. Where it is of the database, the list cannot be read either.
fn is_of_rows(fault: &store::Fault) -> bool {
    match fault {
        store::Fault::PowerDns(Fault::Said(_)) => true,
        store::Fault::Postgres { code, .. } => code.starts_with(DATA_EXCEPTION),
        _ => false,
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

    /// Of no version it is known what led from it: the server, which has the one before, compares.
    fn since(&mut self, zone: &str, _mark: &str) -> Result<Option<Vec<Version>>, store::Fault> {
        let read = self.read.as_ref().filter(|(name, _)| name == zone);
        let newest = |read: &Zone| version(zone, read.serial().unwrap_or(0), self.source.mark(&read.mark));
        Ok(read.map(|(_, read)| vec![newest(read)]))
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
        if begin(&version(zone, serial, self.source.mark(&read.mark))).is_continue() {
            read.records(each);
        }
        Ok(())
    }

    fn may_lag(&self) -> bool {
        self.source.is_replica
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= MOMENT_MAX
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
