//! PowerDNS's tables as what is followed: read alone, and looked at now and then, as nothing says what is new.
//!
//! ```text
//! list of zones (SOA records, kinds, keys) -- others than before ---------------------------.
//! rows of all zones, one after the other -- others than they were, for SUSPECT -------------+-> due -> read twice -> version: its serial, a mark of its rows
//! ```
//!
//! Of a zone whose serial is not greater it is said that it went back, and it stays as it is served: nobody gives it another serial here.

mod file;
mod moment;
mod network;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::powerdns::{Audit, Client, Fault, Look as List, Mark, Rules, Seen, Tables, Unknown, mark};
use store::source::{self, Found, Moment, Pauses, Raise, Source};
use store::sqlite::snapshot::Head;
use store::{NotCommitted, Write, Wrote};
use wire::NameBuf;

use crate::reach::Beat;
use feed::schema;

pub(crate) use file::File;
use moment::ZoneMoment;
pub(crate) use network::Server;

/// From look to look at least. A file in rollback mode keeps writers out while it is looked at.
const PAUSE: Duration = Duration::from_secs(1);
/// Of the time so much, one part of these, is the list's, and so much the rows'.
const LIST_SHARE: u32 = 20;
const ROWS_SHARE: u32 = 50;
/// After so long the list, and the rows, go on at the next look: what the server says is heard in between. These are their shares of a second.
const LOOK_MAX: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(20));
/// Rows that are others while the serial is the same are looked at as such after so long: who changes rows first and the serial then is done by then.
const SUSPECT: Duration = Duration::from_secs(5);
/// Zones of which rows are others, and that wait for that: more of them are somebody's mistake, and are found in the next round.
const SUSPECTS_MAX: usize = 10_000;

/// Records of a zone: more have no room in the memory of this process, and would end it again and again. A million takes some 300 MiB of 512.
const RECORDS_MAX: u64 = 1_000_000;
/// Faults that pass by themselves, as somebody opens or closes the file at that moment, are said after so long.
const PASSING: Duration = Duration::from_secs(5);

/// Opens a database, and says whether it is still that.
pub(crate) trait Opener {
    /// What runs the statements.
    type Client: Client;

    /// 32 hexadecimal digits by which it is known.
    fn identity(&self, client: &mut Self::Client) -> Result<String, store::Fault>;

    /// Opens it. `beat` is called while statements are at work.
    fn open(&mut self, beat: &SharedBeat) -> Result<Self::Client, store::Fault>;

    /// Whether it may not have heard yet of zones that others have.
    fn is_replica(&self, client: &Self::Client) -> bool;

    /// Whether it is not the one any more that was opened.
    fn is_another(&mut self) -> bool;
}

/// [`Beat`], of who runs statements, and of who reads one zone after the other.
#[derive(Clone)]
pub(crate) struct SharedBeat(Arc<Mutex<Beat>>);

impl SharedBeat {
    /// Whether to go on.
    pub(crate) fn beat(&self) -> bool {
        let mut beat = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (*beat)()
    }
}

/// See the module.
pub(crate) struct PowerDns<O: Opener> {
    opener: O,
    /// `None`: somebody has opened a file that was read without locks, so that it is to be opened anew.
    tables: Option<Tables<O::Client>>,
    identity: String,
    is_replica: bool,
    rules: Rules,
    /// These in words: what is served by other ones is another version.
    ruled: String,
    beat: SharedBeat,
    list: List,
    audit: Audit,
    /// Zones whose rows are others than they were, with the serial that they had, and since when.
    suspects: HashMap<NameBuf, (u32, Instant)>,
    /// Zones that were found to be others, and are to be handed over.
    found: Vec<NameBuf>,
    /// Why zones are not served, as far as the list says it: until that has another row of them.
    hindered: HashMap<NameBuf, String>,
    /// Zones that have changed each time that they were read, since when.
    moving: HashMap<NameBuf, Instant>,
    /// Zones of which it was said that some rows of them are not served.
    without: HashSet<String>,
    /// When it was looked last, and how long nothing is looked at.
    looked: Instant,
    pause: Duration,
    /// The same of the rows of all zones.
    audited: Instant,
    audit_pause: Duration,
    /// Since when it could not be looked at, for what may pass by itself.
    failing: Option<Instant>,
}

/// Whether a fault may pass by itself, so that what was read stays known.
fn is_passing(fault: &store::Fault) -> bool {
    let store::Fault::PowerDns(fault) = fault else { return false };
    matches!(fault, Fault::Busy | Fault::Beside | Fault::Unfinished | Fault::Woken)
}

impl<O: Opener> PowerDns<O> {
    /// Opens a database.
    pub(crate) fn open(
        mut opener: O,
        tables: schema::PowerDns,
        beat: Beat,
    ) -> Result<PowerDns<O>, store::Fault> {
        let beat = SharedBeat(Arc::new(Mutex::new(beat)));
        let mut client = opener.open(&beat)?;
        let identity = opener.identity(&mut client)?;
        let unknown = if tables.skips_unknown { Unknown::Skip } else { Unknown::Refuse };
        let (default_ttl, direct_dnskey) = (tables.default_ttl, tables.direct_dnskey);
        let rules = Rules { unknown, default_ttl, direct_dnskey, records_max: RECORDS_MAX };
        let is_replica = opener.is_replica(&client);
        Ok(PowerDns {
            opener,
            tables: Some(Tables::of(client)?),
            identity,
            is_replica,
            rules,
            ruled: format!("{rules:?}"),
            beat,
            list: List::new(),
            audit: Audit::new(),
            suspects: HashMap::new(),
            found: Vec::new(),
            hindered: HashMap::new(),
            moving: HashMap::new(),
            without: HashSet::new(),
            looked: Instant::now(),
            pause: Duration::ZERO,
            audited: Instant::now(),
            audit_pause: Duration::ZERO,
            failing: None,
        })
    }

    /// Does something with the tables; once more where they have to be opened anew for it.
    fn with<T>(
        &mut self,
        mut act: impl FnMut(&mut Tables<O::Client>, &mut List, &mut Audit) -> Result<T, Fault>,
    ) -> Result<T, store::Fault> {
        let mut is_again = false;
        loop {
            let tables = match &mut self.tables {
                Some(tables) => tables,
                none => {
                    let mut client = self.opener.open(&self.beat)?;
                    if self.opener.identity(&mut client)? != self.identity {
                        return Err(store::Fault::Away("another database answers".into()));
                    }
                    self.is_replica = self.opener.is_replica(&client);
                    none.insert(Tables::of(client)?)
                }
            };
            match act(tables, &mut self.list, &mut self.audit) {
                // The old one is closed first: else its end would be the end of the locks of the new one (POSIX).
                Err(Fault::Woken) if !std::mem::replace(&mut is_again, true) => self.tables = None,
                done => return Ok(done?),
            }
        }
    }

    /// The error: there is nobody who wants it.
    fn beat(&self) -> Result<(), store::Fault> {
        match self.beat.beat() {
            true => Ok(()),
            false => Err(store::Fault::Away("nobody waits for it any more".into())),
        }
    }

    /// Goes on with the list. What is found is kept until it is handed over, whatever becomes of the rest.
    fn look_on(&mut self) -> Result<(), store::Fault> {
        let (began, mut seen) = (Instant::now(), Vec::new());
        let looked = self.look_until(&mut seen, &mut || began.elapsed() >= LOOK_MAX.0);
        self.pause = PAUSE.max(LIST_SHARE * began.elapsed());
        self.looked = Instant::now();
        self.found.extend(seen);
        looked.map(drop)
    }

    /// Looks at pages of the list, and says whether that was all; zones that are others are put into `seen`.
    fn look_until(
        &mut self,
        seen: &mut Vec<NameBuf>,
        is_late: &mut dyn FnMut() -> bool,
    ) -> Result<bool, store::Fault> {
        let first = seen.len();
        let looked = self.with(|tables, list, _| {
            list.look(tables, is_late, &mut |zone| match zone {
                Seen::Other(listed) => seen.extend(listed.name()),
                Seen::Gone(name) => seen.push(name.clone()),
            })
        });
        for zone in &seen[first..] {
            self.hindered.remove(zone);
            self.moving.remove(zone);
        }
        looked
    }

    /// Goes on with the rows of all zones.
    fn audit_on(&mut self) -> Result<(), store::Fault> {
        let (began, mut others) = (Instant::now(), Vec::new());
        let audited = self.with(|tables, list, audit| {
            let mut is_late = || began.elapsed() >= LOOK_MAX.1;
            audit.go_on(tables, list, &mut is_late, &mut |zone| others.push(zone.clone()))
        });
        self.audit_pause = PAUSE.max(ROWS_SHARE * began.elapsed());
        self.audited = Instant::now();
        self.suspect(others);
        audited
    }

    /// What is due by now.
    fn look_or_audit(&mut self) -> Result<(), store::Fault> {
        if self.looked.elapsed() >= self.pause {
            self.look_on()?;
        }
        if self.audited.elapsed() >= self.audit_pause {
            self.audit_on()?;
        }
        Ok(())
    }

    /// The mark of a version: of its rows, and of how they are read.
    fn mark(&self, rows: &Mark) -> String {
        mark::text(&mark::of_words(&[&mark::text(rows), &self.ruled]))
    }

    /// Notes zones whose rows are others though their serial is the same.
    fn suspect(&mut self, others: Vec<NameBuf>) {
        for zone in others {
            if let Some(known) = self.list.known(&zone).filter(|_| self.suspects.len() < SUSPECTS_MAX) {
                self.suspects.entry(zone).or_insert((known.serial, Instant::now()));
            }
        }
    }

    /// Those of them that have been so for long enough; their rows are not known any more.
    fn others(&mut self) -> Vec<NameBuf> {
        let list = &self.list;
        // What has another serial by now is looked at anyway.
        self.suspects
            .retain(|zone, (serial, _)| list.known(zone).is_some_and(|known| known.serial == *serial));
        let others = self.suspects.extract_if(|_, (_, since)| since.elapsed() >= SUSPECT);
        let others: Vec<NameBuf> = others.map(|(zone, _)| zone).collect();
        others.iter().for_each(|zone| self.list.note_rows(zone, None));
        others
    }
}

impl<O: Opener> Source for PowerDns<O> {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn pauses(&self) -> Pauses {
        let left = self.pause.saturating_sub(self.looked.elapsed());
        (left, left)
    }

    fn is_another(&mut self) -> Result<bool, store::Fault> {
        Ok(self.opener.is_another())
    }

    fn look(&mut self, _at: u64) -> Result<source::Look, store::Fault> {
        let mut waits = None;
        match self.look_or_audit() {
            Ok(()) => self.failing = None,
            Err(fault) if is_passing(&fault) => {
                (self.looked, self.pause) = (Instant::now(), self.pause.max(PAUSE));
                let since = *self.failing.get_or_insert_with(Instant::now);
                // Who writes was waited for already.
                let is_busy = matches!(fault, store::Fault::PowerDns(Fault::Busy));
                waits = (is_busy || since.elapsed() >= PASSING).then_some(fault);
            }
            Err(fault) => return Err(fault),
        }
        let others = self.others();
        self.found.extend(others);
        let zones: Vec<String> = std::mem::take(&mut self.found).iter().map(ToString::to_string).collect();
        let found = if zones.is_empty() { Found::Nothing } else { Found::Zones(zones) };
        Ok(source::Look { found, unfit: None, waits })
    }

    fn list(&mut self, each: &mut dyn FnMut(&Head<'_>)) -> Result<(), store::Fault> {
        // Page by page.
        while !self.look_until(&mut Vec::new(), &mut || true)? {
            self.beat()?;
        }
        for (zone, known) in self.list.zones() {
            let (zone, mark) =
                (zone.to_string(), known.rows.map(|rows| self.mark(&rows)).unwrap_or_default());
            each(&Head { zone: &zone, serial: known.serial, mark: &mark, is_removed: false });
        }
        Ok(())
    }

    fn moment(&mut self) -> Result<Box<dyn Moment + '_>, store::Fault> {
        Ok(Box::new(ZoneMoment::of(self)))
    }

    fn raise(&mut self, _raises: &[Raise], _at: u64) -> Result<(), store::Fault> {
        Err(store::Fault::Theirs)
    }

    fn write(&mut self, _writes: &[Write], _at: u64) -> Result<Vec<Wrote>, NotCommitted> {
        Err(store::Fault::Theirs.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
