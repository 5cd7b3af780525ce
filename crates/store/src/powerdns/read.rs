//! The list of zones, and a zone as a whole, from whatever runs the statements.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wire::Name;
use zonefile::Buffers;

use super::client::{Client, FIND, Value, recognise};
use super::fault::Fault;
use super::list::{Listed, number, text_of};
use super::mark::{Mark, Marker};
use super::refusal::Refusal;
use super::sqlite::Sqlite;
use super::translate::{Row, Rules, Translator};
use super::zone::Zone;

/// Zones of a page, and rows of a part of one: what is done with them meanwhile is little.
pub const PAGE_MAX: usize = 10_000;

/// Before the first zone of the list. Numbers of zones have 32 bits in PostgreSQL, which takes no other ones to compare them with.
pub const BEFORE_ALL: i64 = i32::MIN as i64;

/// How often a zone is read twice until both are the same. A script that changes rows one by one is over by then, or will be at the next look.
const TWICE_MAX: usize = 3;

/// Between two readings of a zone in which somebody is at work, where all are read.
const AGAIN: Duration = Duration::from_millis(500);

/// A database with PowerDNS's tables.
pub struct Tables<C> {
    client: C,
    /// Which ones these are of all that were opened: a stamp of others means nothing here.
    number: u64,
    buffers: Buffers,
}

/// Numbers of tables that were opened, one after the other.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// The same as long as nobody else has changed something: which tables these are, and a number of the database's.
pub type Stamp = (u64, i64);

/// Takes a zone: its row of the list, and what came of its rows.
pub type EachZone<'e> = &'e mut dyn FnMut(&Listed, Result<Zone, Refusal>);

/// Whether there may be more after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Beyond the zone with this number.
    More(i64),
    /// All have been read.
    Last,
}

impl<C: Client> Tables<C> {
    /// Those of a database, if they are PowerDNS's.
    pub fn of(mut client: C) -> Result<Tables<C>, Fault> {
        recognise(&mut client)?;
        Ok(Tables { client, number: OPENED.fetch_add(1, Ordering::Relaxed), buffers: Buffers::new() })
    }

    #[cfg(test)]
    pub(super) fn client(&self) -> &C {
        &self.client
    }

    /// What is another one whenever others have changed something, or the database was opened anew, where there is such a thing.
    pub fn stamp(&mut self) -> Result<Option<Stamp>, Fault> {
        Ok(self.client.stamp()?.map(|stamp| (self.number, stamp)))
    }

    /// Hands over a page of the list: zones whose number is greater than `after` ([`BEFORE_ALL`]), in the order of numbers.
    pub fn list(&mut self, after: i64, each: &mut dyn FnMut(Listed)) -> Result<Page, Fault> {
        let mut pace = Pace::of(self.client.held_max(), PAGE_MAX);
        let mut page = Page::Last;
        self.client.rows(C::LIST, &[Value::Number(after)], &mut |columns| {
            // A number that is none was never given by PowerDNS, and nothing can be asked beyond it.
            let Some(listed) = Listed::of(columns) else { return ControlFlow::Continue(()) };
            let id = listed.id;
            each(listed);
            pace.step().map_break(|()| page = Page::More(id))
        })?;
        Ok(page)
    }

    /// The zone of this name.
    pub fn find(&mut self, name: &Name) -> Result<Listed, Fault> {
        let text = text_of(name);
        let mut id = None;
        self.client.few(FIND, &[Value::Text(&text)], &mut |columns| {
            id = columns.first().and_then(|column| number(*column));
            ControlFlow::Break(())
        })?;
        row(&mut self.client, id.ok_or(Fault::NoZone)?)
    }

    /// Reads a zone as a whole, twice, until both times are the same. `pause` is called in between: whoever raises the serial first has so long for the rows.
    pub fn zone(
        &mut self,
        id: i64,
        rules: Rules,
        pause: &mut dyn FnMut(),
    ) -> Result<Result<Zone, Refusal>, Fault> {
        for _ in 0..TWICE_MAX {
            let listed = row(&mut self.client, id)?;
            let mut translator = match Translator::new(&listed, rules, &mut self.buffers) {
                Ok(translator) => translator,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let mark = rows(&mut self.client, &listed, &mut |row| translator.row(row))?;
            pause();
            let again = row(&mut self.client, id)?;
            if rows(&mut self.client, &again, &mut |_| {})? == mark {
                let translated = translator.finish();
                return Ok(translated.map(|(contents, left_out)| Zone { contents, mark, left_out }));
            }
        }
        Err(Fault::Moving)
    }

    /// Hands over all zones, one after the other.
    pub fn zones(&mut self, rules: Rules, each: EachZone<'_>) -> Result<(), Fault> {
        let (mut after, mut page) = (BEFORE_ALL, Vec::new());
        loop {
            let next = self.list(after, &mut |listed| page.push(listed))?;
            for listed in page.drain(..) {
                let mut zone = self.zone(listed.id, rules, &mut || ());
                if matches!(zone, Err(Fault::Moving)) {
                    zone = self.zone(listed.id, rules, &mut || std::thread::sleep(AGAIN));
                }
                match zone {
                    Ok(zone) => each(&listed, zone),
                    Err(Fault::Moving) => each(&listed, Err(Refusal::Moving)),
                    // It was deleted since.
                    Err(Fault::NoZone) => {}
                    Err(fault) => return Err(fault),
                }
            }
            match next {
                Page::More(id) => after = id,
                Page::Last => return Ok(()),
            }
        }
    }

    /// The mark of the rows of a zone as they are: that of [`Zone`] as long as none has changed.
    pub fn mark(&mut self, id: i64) -> Result<Mark, Fault> {
        let listed = row(&mut self.client, id)?;
        rows(&mut self.client, &listed, &mut |_| {})
    }
}

/// The row of the list of the zone with this number.
fn row<C: Client>(client: &mut C, id: i64) -> Result<Listed, Fault> {
    let mut found = None;
    client.few(C::LISTED, &[Value::Number(id)], &mut |columns| {
        found = Listed::of(columns);
        ControlFlow::Break(())
    })?;
    found.ok_or(Fault::NoZone)
}

/// Hands over all rows of a zone, in parts that hold up nobody for long, and returns the mark of it all.
fn rows<C: Client>(client: &mut C, listed: &Listed, each: &mut dyn FnMut(&Row<'_>)) -> Result<Mark, Fault> {
    let mut marker = Marker::default();
    listed.note(&mut marker);
    let mut last = Key::default();
    let held = client.held_max();
    // Where readers hold up nobody all of a zone is one part: it would be sorted anew for each.
    let steps = held.map_or(usize::MAX, |_| PAGE_MAX);
    loop {
        let mut pace = Pace::of(held, steps);
        let (mut is_over, mut is_in_order) = (true, true);
        let from = last.clone();
        let values = [
            Value::Number(listed.id),
            Value::Text(&from.name),
            Value::Text(&from.rtype),
            Value::Number(from.id),
        ];
        client.rows(C::ROWS, &values, &mut |columns| {
            let &[name, rtype, id, content, ttl, prio, disabled] = columns else {
                return ControlFlow::Break(());
            };
            for column in [name, rtype, content, ttl, prio, disabled] {
                marker.column(column);
            }
            let is_disabled = disabled != Some(b"0");
            each(&Row { name, rtype, content, ttl, prio, is_disabled });
            let step = pace.step();
            if step.is_break() {
                last.set(name, rtype, id);
                (is_over, is_in_order) = (false, last > from);
            }
            step
        })?;
        if is_over {
            return Ok(marker.mark());
        }
        // Else the same rows would come once more. Text has the order of its octets where parts are asked for.
        if !is_in_order {
            return Err(Fault::Said("rows of `records` whose `name` or `type` is no text".into()));
        }
    }
}

/// By what rows of a zone are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: Vec<u8>,
    rtype: Vec<u8>,
    id: i64,
}

impl Key {
    fn set(&mut self, name: Option<&[u8]>, rtype: Option<&[u8]>, id: Option<&[u8]>) {
        *self = Key {
            name: name.unwrap_or_default().to_vec(),
            rtype: rtype.unwrap_or_default().to_vec(),
            id: number(id).unwrap_or(0),
        };
    }
}

/// Says when a statement has gone on for long enough.
///
/// The time begins with the first row: where a database has to sort for it, a part that is over then would have next to none, and as many sorts would be made.
struct Pace {
    held: Option<Duration>,
    until: Option<Instant>,
    steps: usize,
}

/// After so many rows the clock is looked at: they take less than a tenth of a millisecond from memory.
const STEPS: usize = 32;

impl Pace {
    fn of(held: Option<Duration>, steps: usize) -> Pace {
        Pace { held, until: None, steps }
    }

    fn step(&mut self) -> ControlFlow<()> {
        self.steps = self.steps.saturating_sub(1);
        let is_late = self.held.is_some_and(|held| {
            let until = *self.until.get_or_insert_with(|| Instant::now() + held);
            self.steps.is_multiple_of(STEPS) && Instant::now() >= until
        });
        if self.steps == 0 || is_late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Hands over all zones of a file: [`Tables::zones`].
pub fn zones(path: &Path, rules: Rules, each: EachZone<'_>) -> Result<(), Fault> {
    Tables::of(Sqlite::open(path)?)?.zones(rules, each)
}
