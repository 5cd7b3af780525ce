//! A database of PostgreSQL as what is followed.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use feed::address::Network;
use store::postgres::look::{HEADS_MAX, News, Seen};
use store::postgres::notices::Notices;
use store::postgres::{Beat, Store, Target};
use store::source::{BeginWhole, Each, EachChange, Found, Look, Moment, Next, Pauses, Raise, Source};
use store::sqlite::snapshot::Head;
use store::{Fault, NotCommitted, Version, Write, Wrote};

use crate::ended::Ended;
use crate::page::{Page, ROWS_MAX};
use crate::push::CHANGED_MAX;

/// From look to look where nothing has come for a while, unless it is looked less often anyway.
const QUIET_PAUSE: Duration = Duration::from_millis(100);
/// From look to look where the database says that something is new: a flood of that is one look in so long.
const NOTICED_PAUSE: Duration = Duration::from_millis(5);
/// How often it is asked who answers while nothing is looked at.
const ASKED_PAUSE: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Postgres {
    store: Store,
    is_writable: bool,
    poll: Duration,
    /// What the last look saw.
    seen: Seen,
    /// Whether it was looked for news: before, the whole list is to be read.
    has_looked: bool,
    /// When it was asked last.
    asked: Instant,
    /// How long the last look took.
    took: Duration,
    /// Who hears what the database says, where it says that something is new.
    notices: Option<Notices>,
}

impl Postgres {
    /// Connects to it. `roots`: certificates that are believed, in PEM; `beat` is called while statements are at work, and says whether they are to go on.
    pub(crate) fn open(network: &Network, roots: &[u8], beat: Beat) -> Result<Postgres, Fault> {
        let target = Target::of(network, roots);
        let (store, is_writable) = Store::follow(&target, network.statement_timeout, beat)?;
        // What cannot be read at all is found before anybody is told.
        let (seen, _) = store.look(None)?;
        let (asked, took) = (Instant::now(), Duration::ZERO);
        let (poll, has_looked, notices) = (network.poll, false, None);
        Ok(Postgres { store, is_writable, poll, seen, has_looked, asked, took, notices })
    }

    /// From look to look. At most half of the time is the database's: of a transaction that changes a million zones each look passes all of it by, until it ends.
    fn pause(&self) -> Duration {
        let is_noticed = self.notices.as_ref().is_some_and(Notices::is_new);
        let pause = if is_noticed { NOTICED_PAUSE.min(self.poll) } else { self.poll };
        pause.max(self.took)
    }

    /// Hears notices where there are any, and makes sure that they arrive.
    fn tend_notices(&mut self) -> Result<(), Fault> {
        let backend = self.seen.server.backend;
        match &self.notices {
            _ if !self.seen.has_notices => self.notices = None,
            None => self.notices = Some(self.store.notices(backend)),
            Some(notices) => self.store.prove(notices, backend)?,
        }
        Ok(())
    }
}

impl Source for Postgres {
    fn identity(&self) -> &str {
        self.store.identity()
    }

    fn is_writable(&self) -> bool {
        self.is_writable
    }

    fn pauses(&self) -> Pauses {
        // What is left of it, as what the server says comes in between.
        let left = |pause: Duration| pause.saturating_sub(self.asked.elapsed());
        let is_noticed = self.notices.as_ref().is_some_and(Notices::is_new);
        let quiet = if is_noticed { Duration::ZERO } else { QUIET_PAUSE };
        (left(self.pause()), left(self.pause().max(quiet)))
    }

    fn is_another(&mut self) -> Result<bool, Fault> {
        // Each look says it too, and is not to wait for this.
        if self.has_looked || self.asked.elapsed() < ASKED_PAUSE {
            return Ok(false);
        }
        let (now, _) = self.store.look(None)?;
        self.asked = Instant::now();
        Ok(now.server != self.seen.server)
    }

    fn look(&mut self, _at: u64) -> Result<Look, Fault> {
        let found = |found| Ok(Look { found, unfit: None, waits: None });
        if self.has_looked && self.asked.elapsed() < self.pause() {
            return found(Found::Nothing);
        }
        let began = Instant::now();
        // What is said from here on may be of what this look does not see.
        self.notices.iter().for_each(Notices::take);
        let (now, news) = self.store.look(Some(&self.seen))?;
        (self.seen, self.asked, self.took) = (now, Instant::now(), began.elapsed());
        self.tend_notices()?;
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        found(match news {
            News::Another => Found::Another,
            News::List => Found::List,
            _ if is_first => Found::List,
            News::Zones(zones) if zones.is_empty() => Found::Nothing,
            News::Zones(zones) => Found::Zones(zones),
        })
    }

    fn notices(&self) -> Option<Result<(), String>> {
        self.notices.as_ref()?.are_heard()
    }

    fn await_news(&mut self, other: BorrowedFd<'_>, wait: Duration) -> bool {
        match &self.notices {
            Some(notices) if !notices.is_new() => self.store.await_notice(notices, other, wait),
            _ => false,
        }
    }

    fn list(&mut self, each: &mut dyn FnMut(&Head<'_>)) -> Result<(), Fault> {
        let mut after = String::new();
        loop {
            let heads = self.store.heads(&after)?;
            for head in &heads {
                let (zone, mark) = (&*head.zone, &*head.mark);
                each(&Head { zone, serial: head.serial, mark, is_removed: head.is_removed });
            }
            match heads.into_iter().nth(HEADS_MAX - 1) {
                Some(last) => after = last.zone,
                None => return Ok(()),
            }
        }
    }

    fn moment(&mut self) -> Result<Box<dyn Moment + '_>, Fault> {
        Ok(Box::new(PageMoment {
            store: &self.store,
            is_replica: self.seen.server.is_replica,
            page: Page::default(),
        }))
    }

    fn raise(&mut self, raises: &[Raise], _at: u64) -> Result<(), Fault> {
        self.store.raise(raises)
    }

    fn write(&mut self, writes: &[Write], _at: u64) -> Result<Vec<Wrote>, NotCommitted> {
        self.store.write(writes)
    }
}

/// Zones as they were read by the page, each page at a moment of its own.
struct PageMoment<'s> {
    store: &'s Store,
    is_replica: bool,
    page: Page,
}

impl PageMoment<'_> {
    /// What is known of a zone, which is read by itself where the page had no room for it.
    fn read(&mut self, zone: &str) -> Result<(), Fault> {
        if self.page.has(zone) {
            return Ok(());
        }
        match self.page.asked(zone) {
            Some(mark) => {
                let asked = [(zone, Some(&*mark))];
                let read =
                    self.page.take_alone(&asked, |each| self.store.changes_of(&asked, CHANGED_MAX, each));
                read.map_err(|fault| of_zone(zone, fault))
            }
            None => {
                self.page.put_newest(zone, self.store.newest(zone)?);
                Ok(())
            }
        }
    }

    fn read_page(&mut self, next: &[Next]) -> Result<(), Fault> {
        let known: Vec<(&str, Option<&str>)> = next
            .iter()
            .filter(|next| next.held.is_some())
            .map(|next| (&*next.zone, next.held.as_deref()))
            .collect();
        if !known.is_empty() {
            self.page.take_changes(&known, |each| self.store.changes_of(&known, CHANGED_MAX, each))?;
        }
        let wholes: Vec<&str> =
            next.iter().map(|next| &*next.zone).filter(|zone| self.page.wants_whole(zone)).collect();
        if !wholes.is_empty() {
            self.page.take_wholes(|each| self.store.wholes_of(&wholes, ROWS_MAX as u64 + 1, each))?;
        }
        Ok(())
    }
}

/// What takes too long of one zone is a fault of that zone, so that others go on.
fn of_zone(zone: &str, fault: Fault) -> Fault {
    match fault.is_late() {
        true => {
            let words =
                format!("zone {zone}: what has changed is not read within `statement-timeout-seconds`");
            Fault::Refused { zone: zone.to_owned(), words }
        }
        false => fault,
    }
}

impl Moment for PageMoment<'_> {
    fn prepare(&mut self, next: &[Next]) -> Result<(), Fault> {
        self.page = Page::of(next);
        match self.read_page(next) {
            // Each by itself, then.
            Err(fault) if fault.is_late() => {
                self.page = Page::of(next);
                Ok(())
            }
            read => read,
        }
    }

    fn has(&self, zone: &str) -> bool {
        self.page.has_all(zone)
    }

    fn newest(&mut self, zone: &str) -> Result<Option<Version>, Fault> {
        self.read(zone)?;
        Ok(self.page.newest(zone))
    }

    fn since(&mut self, zone: &str, mark: &str) -> Result<Option<Vec<Version>>, Fault> {
        self.read(zone)?;
        if self.page.asked(zone).as_deref() == Some(mark) {
            return Ok(self.page.since(zone));
        }
        // All of it is wanted, so that no rows are; but whether it leads on from what is held.
        let (mut page, asked) = (Page::default(), [(zone, Some(mark))]);
        page.take_alone(&asked, |each| self.store.changes_of(&asked, 0, each))?;
        Ok(page.since(zone))
    }

    fn is_pending(&mut self, _zone: &str) -> Result<bool, Fault> {
        Ok(false)
    }

    fn changed(&mut self, version: &Version, each: EachChange<'_>) -> Result<u64, Fault> {
        self.page.changed(version, each)
    }

    fn records(&mut self, zone: &str, begin: BeginWhole<'_>, each: Each<'_>) -> Result<(), Fault> {
        if let Some(done) = self.page.records(zone, begin, each) {
            return done;
        }
        let read = self
            .store
            .records(zone, &mut |version| Ended::of(begin(version)), &mut |record| Ended::of(each(record)));
        match read {
            Ok(()) | Err(Ended::Enough) => Ok(()),
            // Since it was asked which version is the newest.
            Err(Ended::Fault(Fault::NoZone(_))) => {
                Err(Fault::Moved { zone: zone.to_owned(), serial: None, who: None })
            }
            Err(Ended::Fault(fault)) => Err(of_zone(zone, fault)),
        }
    }

    fn may_lag(&self) -> bool {
        self.is_replica
    }
}
