//! A file of SQLite as what is followed.

use std::path::Path;
use std::time::Duration;

use store::source::{BeginWhole, Each, EachChange, Found, Look, Moment, Pauses, Raise, Source};
use store::sqlite::snapshot::Head;
use store::{Access, Fault, Meta, NotCommitted, Snapshot, Store, Version, Write, Wrote};

use crate::ended::Ended;
use crate::watch::Watch;

/// How long it is waited for others who write: as long as zones are not looked at.
const PATIENCE: Duration = Duration::from_secs(1);
/// From look to look while something comes, and when nothing has come for a while: a look costs some microseconds.
const PAUSES: Pauses = (Duration::from_millis(5), Duration::from_millis(100));

/// See the module.
pub(crate) struct Sqlite {
    store: Store,
    is_writable: bool,
    watch: Watch,
    /// [`Store::data_version`] of the last look; `None`: nothing was looked at yet.
    seen: Option<i64>,
    /// Whether what others changed waited at the last look.
    is_waiting: bool,
    /// Number and mark of the newest version that was seen.
    last: Option<(i64, String)>,
}

impl Sqlite {
    /// Opens a file to write, as changes by plain SQL are to be versions; else to read. `beat` is called while statements are at work, and says whether they are to go on.
    pub(crate) fn open(path: &Path, beat: impl FnMut() -> bool + Send + 'static) -> Result<Sqlite, Fault> {
        let watch = Watch::new(path);
        let (mut store, is_writable) = match Store::open(path, Access::Write) {
            Err(fault) if store::open::is_for_want_of_rights(&fault) => {
                (Store::open(path, Access::Read)?, false)
            }
            opened => (opened?, true),
        };
        store.set_patience(PATIENCE)?;
        store.on_progress(beat)?;
        // What cannot be read at all is found before anybody is told.
        store.snapshot()?.last()?;
        Ok(Sqlite { store, is_writable, watch, seen: None, is_waiting: false, last: None })
    }

    /// Which zones have other versions than at the last look.
    fn changed(&mut self) -> Result<Found, Fault> {
        let snapshot = self.store.snapshot()?;
        let id = match &self.last {
            Some((id, mark)) if snapshot.mark_of(*id)?.as_ref() == Some(mark) => *id,
            // Dropped by `trim`, or never there: of another copy.
            Some(_) => return Ok(Found::Another),
            None => 0,
        };
        let mut zones = Vec::new();
        snapshot.changed_since(id, &mut |zone| zones.push(zone.to_owned()))?;
        self.last = snapshot.last()?;
        Ok(Found::Zones(zones))
    }
}

impl Source for Sqlite {
    fn identity(&self) -> &str {
        self.store.identity()
    }

    fn is_writable(&self) -> bool {
        self.is_writable
    }

    fn pauses(&self) -> Pauses {
        PAUSES
    }

    fn is_another(&mut self) -> Result<bool, Fault> {
        Ok(self.watch.is_another())
    }

    fn look(&mut self, at: u64) -> Result<Look, Fault> {
        let version = self.store.data_version()?;
        if self.seen == Some(version) && !self.is_waiting {
            return Ok(Look { found: Found::Nothing, unfit: None, waits: None });
        }
        let (unfit, waits) = match self.is_writable.then(|| self.store.close_pending(None, at)) {
            None => (None, None),
            Some(Ok(closing)) => (Some(closing.refused), None),
            // Somebody holds it for long. What is there can be read all the same.
            Some(Err(fault @ Fault::Busy)) => (None, Some(fault)),
            Some(Err(fault)) => return Err(fault),
        };
        self.is_waiting = waits.is_some();
        let found = if self.seen.is_none() { Found::List } else { self.changed()? };
        self.seen = Some(version);
        Ok(Look { found, unfit, waits })
    }

    fn list(&mut self, each: &mut dyn FnMut(&Head<'_>)) -> Result<(), Fault> {
        let snapshot = self.store.snapshot()?;
        self.last = snapshot.last()?;
        snapshot.heads(each)
    }

    fn moment(&mut self) -> Result<Box<dyn Moment + '_>, Fault> {
        Ok(Box::new(SnapshotMoment(self.store.snapshot()?)))
    }

    fn raise(&mut self, raises: &[Raise], at: u64) -> Result<(), Fault> {
        let mut writer = self.store.writer()?;
        for (zone, above) in raises {
            let why = format!("above serial {above}, which a server had");
            writer.raise(zone, *above, &Meta { at, who: Some("zonda"), why: Some(&why) })?;
        }
        writer.commit()
    }

    fn write(&mut self, writes: &[Write], at: u64) -> Result<Vec<Wrote>, NotCommitted> {
        self.store.write(writes, at)
    }
}

/// [`Snapshot`], whose methods hand on the errors of who takes records.
struct SnapshotMoment<'s>(Snapshot<'s>);

/// What was read, where it was left at will too.
fn read<T: Default>(read: Result<T, Ended>) -> Result<T, Fault> {
    match read {
        Ok(read) => Ok(read),
        Err(Ended::Enough) => Ok(T::default()),
        Err(Ended::Fault(fault)) => Err(fault),
    }
}

impl Moment for SnapshotMoment<'_> {
    fn newest(&mut self, zone: &str) -> Result<Option<Version>, Fault> {
        self.0.newest(zone)
    }

    fn since(&mut self, zone: &str, mark: &str) -> Result<Option<Vec<Version>>, Fault> {
        self.0.since(zone, mark)
    }

    fn is_pending(&mut self, zone: &str) -> Result<bool, Fault> {
        self.0.is_pending(zone)
    }

    fn changed(&mut self, version: &Version, each: EachChange<'_>) -> Result<u64, Fault> {
        read(self.0.changed(version, &mut |what, record| Ended::of(each(what, record))))
    }

    fn records(&mut self, zone: &str, begin: BeginWhole<'_>, each: Each<'_>) -> Result<(), Fault> {
        let newest = self.0.newest(zone)?.ok_or_else(|| Fault::NoZone(zone.to_owned()))?;
        if begin(&newest).is_break() {
            return Ok(());
        }
        read(self.0.records(zone, &mut |record| Ended::of(each(record))))
    }
}
