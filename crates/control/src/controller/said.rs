//! What is said of the zones of one change: each by name as long as they are few, and how many more there are.
//!
//! Noted while locks are held, and said once they are not: a log that takes no more holds up the change alone.

use tracing::Level;
use wire::{Name, NameBuf};
use zone::catalog::{CatalogView, SlotNumber, View};

use super::Controller;
use super::arrange::ZONES_A_BATCH;
use crate::text::grouped;

/// Zones of a change that are named at the level that operators read, and zones of it of which it is said there why they could not be loaded:
/// more than a page of each is read by nobody, and a start with a million zones would write 100 MB. The others are named at level *debug*.
pub(super) const ZONES_LOGGED_MAX: usize = 100;

/// What a change came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// The start of the server.
    #[default]
    Start,
    /// `zonda ctl reload` or `reconfigure`, or SIGHUP.
    Reload,
    /// `zonda ctl add-zone` or `remove-zone`.
    Command,
    /// A pack that was damaged while it was served.
    Damage,
    /// A transfer from a primary.
    Transfer,
    /// A catalog zone, or its confirmation.
    Catalog,
    /// A store, or its confirmation.
    Store,
    /// The HTTP API.
    Api,
}

impl By {
    fn text(self) -> &'static str {
        match self {
            By::Start => "start",
            By::Reload => "reload",
            By::Command => "command",
            By::Damage => "damage",
            By::Transfer => "transfer",
            By::Catalog => "catalog",
            By::Store => "store",
            By::Api => "api",
        }
    }
}

/// What became of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    /// It had no data before.
    Loaded,
    /// It has other data, or the same once more.
    Changed,
    /// It is served no longer.
    Removed,
}

/// What is to be said of a zone.
#[derive(Debug)]
struct Line {
    became: Became,
    zone: NameBuf,
    serial: Option<u32>,
    old_serial: Option<u32>,
    source: Option<String>,
    is_stored: bool,
    level: Level,
}

/// Counts what is said of one change.
#[derive(Debug, Default)]
pub(crate) struct Said {
    by: By,
    zones: usize,
    failures: usize,
    /// At most [`ZONES_LOGGED_MAX`], or, where debug messages are written, as many as zones are taken at a time.
    waiting: Vec<Line>,
}

impl Said {
    pub(super) fn new(by: By) -> Said {
        Said { by, ..Said::default() }
    }

    /// Whether nobody would hear of one zone more.
    pub(super) fn is_full(&self) -> bool {
        self.zones >= ZONES_LOGGED_MAX && !tracing::enabled!(Level::DEBUG)
    }

    /// Notes what became of a zone. `serials`: the present one, which a zone that goes had until now, and the one before. `is_stored`: its data are
    /// from a pack in place of its source; `source`: what that is.
    pub(super) fn zone(
        &mut self,
        became: Became,
        zone: &Name,
        serials: (Option<u32>, Option<u32>),
        is_stored: bool,
        source: impl FnOnce() -> Option<String>,
    ) {
        let (is_full, (serial, old_serial)) = (self.is_full(), serials);
        let level = if self.zones < ZONES_LOGGED_MAX { Level::INFO } else { Level::DEBUG };
        self.zones += 1;
        if !is_full {
            let (zone, source) = (zone.to_owned(), source());
            self.waiting.push(Line { became, zone, serial, old_serial, source, is_stored, level });
        }
    }

    /// Notes that so many zones are served, whether or not they were noted by name.
    pub(super) fn all(&mut self, zones: usize) {
        self.zones = zones;
    }

    /// Notes that a zone could not be loaded; says at which level its lines are to be.
    pub(super) fn failure(&mut self) -> Level {
        self.failures += 1;
        if self.failures <= ZONES_LOGGED_MAX { Level::ERROR } else { Level::DEBUG }
    }

    /// Says what was noted. To be called without locks.
    pub(super) fn tell(&mut self) {
        let by = self.by;
        self.waiting.drain(..).for_each(|line| line.tell(by));
    }

    /// Says what was noted, and how many zones more there are: the change is over.
    pub(crate) fn end(&mut self) {
        self.tell();
        let by = self.by.text();
        if let Some(zones) = self.zones.checked_sub(ZONES_LOGGED_MAX).filter(|zones| *zones > 0) {
            let text = grouped(zones as u64);
            tracing::info!(zones, by, "{text} zones more ({by}), which only debug messages name");
        }
        if let Some(zones) = self.failures.checked_sub(ZONES_LOGGED_MAX).filter(|zones| *zones > 0) {
            let text = grouped(zones as u64);
            tracing::error!(zones, by, "{text} zones more not loaded ({by}); `zonda ctl zones` shows them");
        }
        *self = Said::new(self.by);
    }
}

impl Controller {
    /// Says which zones are served as they were stored.
    pub(crate) fn say_what_is_stored(&self) {
        let mut said = Said::default();
        let (mut reader, mut from) = (self.catalog.reader(), zone::catalog::FIRST_SLOT);
        while !said.is_full() {
            let zones = self.zones.read();
            let is_more = reader.with(|view| {
                for slot in view.slots(from, ZONES_A_BATCH as u32)? {
                    if let Some(name) = zones.name(view, slot) {
                        said.zone(Became::Loaded, name, (serial(view, slot), None), true, || None);
                    }
                }
                Some(())
            });
            drop(zones);
            said.tell();
            if is_more.is_none() {
                break;
            }
            from.0 += ZONES_A_BATCH as u32;
        }
        said.all(self.zones.read().loaded());
        said.end();
    }
}

/// The serial of a slot's zone, if it has data.
pub(super) fn serial(view: &CatalogView<'_>, slot: SlotNumber) -> Option<u32> {
    match view.view_of(slot)? {
        View::Zone(zone) => Some(zone.row().serial),
        View::Absent(_) | View::Lost(_) => None,
    }
}

/// An event of a level that is not known before.
macro_rules! event {
    ($level:expr, $($event:tt)+) => {
        match $level {
            tracing::Level::ERROR => tracing::error!($($event)+),
            tracing::Level::INFO => tracing::info!($($event)+),
            _ => tracing::debug!($($event)+),
        }
    };
}
pub(super) use event;

impl Line {
    fn tell(self, by: By) {
        let Line { became, zone, serial, old_serial, source, is_stored, level } = self;
        let act = match became {
            Became::Loaded => "loaded",
            Became::Changed if serial == old_serial => "loaded again",
            Became::Changed => "changed",
            Became::Removed => "removed",
        };
        let by = by.text();
        let mut parts = Vec::new();
        parts.extend(serial.map(|serial| format!("serial {serial}")));
        parts.extend(old_serial.filter(|_| serial != old_serial).map(|old| format!("was {old}")));
        match &source {
            Some(source) if is_stored => parts.push(format!("from the pack of {source}")),
            Some(source) => parts.push(format!("from {source}")),
            None if is_stored => parts.push("as it was stored".into()),
            None => {}
        }
        let colon = if parts.is_empty() { "" } else { ": " };
        let text = parts.join(", ");
        let zone = tracing::field::display(zone);
        event!(level, zone, serial, old_serial, source, by, "zone {zone} {act} ({by}){colon}{text}");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_million_zones_says_a_page() {
        let zone: NameBuf = "a.example".parse().unwrap();
        let mut said = Said::new(By::Reload);
        for _ in 0..1_000_000 {
            said.zone(Became::Loaded, &zone, (Some(1), None), false, || Some("a".into()));
        }
        assert_eq!((said.waiting.len(), said.zones), (ZONES_LOGGED_MAX, 1_000_000));
        let levels: Vec<Level> = (0..200).map(|_| said.failure()).collect();
        assert_eq!(levels.iter().filter(|level| **level == Level::ERROR).count(), ZONES_LOGGED_MAX);
        said.end();
        assert_eq!((said.waiting.len(), said.zones, said.by), (0, 0, By::Reload));
    }
}
