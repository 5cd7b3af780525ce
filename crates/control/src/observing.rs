//! What others are told of queries: dnstap and the query log, as the settings and operators want them, and who asks most, while somebody looks.
//!
//! Each has a sink while it is on: where the settings have an `output`, and no operator has put it off. One whose settings change is replaced; the new one is there
//! before the old one ends, so that nothing is missed.

mod wanted;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::Running;
use observe::observer::Consumer;
use observe::top::Looked;
use observe::{Dnstap, Lookout, Observer, QueryLog, Sink, Slot, Zones};
use sync::Mutex;
use wire::iana::rtype;
use wire::name::NameRoom;
use wire::{Name, SortKey};
use zone::CatalogReader;

pub(crate) use self::wanted::problems;
use self::wanted::{Terms, Wanted, dnstap_wanted, query_log_wanted};
use crate::command::{Count, Switch};
use crate::controller::Controller;
use crate::settings::Settings;
use crate::system;

/// For how long the end of the server, or of a sink, waits for collectors and disks: what they have not taken by then is lost.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// What is said of octets that a sink has not written yet.
pub(crate) const QUEUED: &str = "Octets that wait to be written now.";

/// What was counted of all that is told of queries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) tap: observe::observer::Counts,
    pub(crate) sinks: [OfSink; 2],
}

/// What was counted of one sink, and of those in its place before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfSink {
    /// Its section.
    pub(crate) name: &'static str,
    pub(crate) counts: observe::queue::Counts,
    pub(crate) queued_octets: u64,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Dnstap,
    QueryLog,
}

impl Channel {
    /// Its section.
    fn name(self) -> &'static str {
        match self {
            Channel::Dnstap => "dnstap",
            Channel::QueryLog => "query-log",
        }
    }

    fn slot(self) -> Slot {
        match self {
            Channel::Dnstap => Slot::Dnstap,
            Channel::QueryLog => Slot::QueryLog,
        }
    }
}

/// Both, and the observer that tells them.
pub(crate) struct Observing {
    observer: Observer,
    sides: Mutex<[Side; 2]>,
    /// From where people look; held by who begins to.
    lookout: Mutex<Lookout>,
    mended: Mutex<Mended>,
}

/// Faults of the observer that were seen, and when it was started again.
#[derive(Default)]
struct Mended {
    faults: u64,
    at: Option<Instant>,
}

/// After a fault it is not started again sooner: the query that it met may come again, and each start is a new file of dnstap.
const MEND_PAUSE: Duration = Duration::from_secs(60);

/// One of them.
struct Side {
    channel: Channel,
    /// What the settings want; `None`: nothing.
    wanted: Option<Wanted>,
    /// Whether an operator has put it off.
    is_off: bool,
    sink: Option<Arc<Sink>>,
    /// Those of before that write what waits.
    leaving: Vec<Arc<Sink>>,
    /// What sinks have counted that have ended.
    past: observe::queue::Counts,
}

impl Side {
    /// What all its sinks have counted.
    fn counts(&self) -> observe::queue::Counts {
        let sinks = self.sink.iter().chain(&self.leaving);
        sinks.fold(self.past, |sum, sink| sum.sum(sink.counts()))
    }

    fn queued_octets(&self) -> usize {
        self.sink.iter().chain(&self.leaving).map(|sink| sink.queued_octets()).sum()
    }
}

impl Observing {
    pub(crate) fn new() -> Observing {
        let side = |channel| Side {
            channel,
            wanted: None,
            is_off: false,
            sink: None,
            leaving: Vec::new(),
            past: Default::default(),
        };
        Observing {
            observer: Observer::new(system::give_way),
            sides: Mutex::named("observing", [side(Channel::Dnstap), side(Channel::QueryLog)]),
            lookout: Mutex::named("lookout", Lookout::default()),
            mended: Mutex::named("mended", Mended::default()),
        }
    }

    /// Reads what workers tell, from now on.
    pub(crate) fn begin(&self, running: &Running, settings: &Settings) -> io::Result<()> {
        self.observer.begin(running.taps(), settings.dnstap.ring_octets)
    }

    /// Takes over what the settings want. What cannot be started is in the log: nobody is to be without answers for it.
    pub(crate) fn note(&self, controller: &Controller, settings: &Settings) {
        let wanted = [dnstap_wanted(settings), query_log_wanted(settings)];
        self.turn_some(controller, |side| {
            let wanted = &wanted[side.channel as usize];
            let is_new = side.wanted != *wanted;
            if is_new {
                side.wanted.clone_from(wanted);
                side.is_off = false;
            }
            is_new
        });
    }

    /// Starts anew what has ended with the observer's thread, by a fault of its own.
    pub(crate) fn mend(&self, controller: &Controller, now: Instant) {
        let faults = self.observer.faults();
        {
            let mut mended = self.mended.lock();
            let is_early = mended.at.is_some_and(|at| now.saturating_duration_since(at) < MEND_PAUSE);
            if faults == mended.faults || is_early {
                return;
            }
            *mended = Mended { faults, at: Some(now) };
        }
        self.turn_some(controller, |side| side.sink.is_some());
    }

    /// Has those sides be as they are to be of which this is so.
    fn turn_some(&self, controller: &Controller, mut is_meant: impl FnMut(&mut Side) -> bool) {
        for channel in [Channel::Dnstap, Channel::QueryLog] {
            let mut sides = self.sides.lock();
            let side = &mut sides[channel as usize];
            if !is_meant(side) {
                continue;
            }
            let (turned, before) = self.turn(side, controller);
            drop(sides);
            if let Err(error) = turned {
                let name = channel.name();
                tracing::error!(sink = name, %error, "{name}: cannot be started: {error}");
            }
            self.end(channel, before);
        }
    }

    /// What an operator wants of one of them.
    pub(crate) fn command(
        &self,
        controller: &Controller,
        channel: Channel,
        switch: Switch,
    ) -> Result<String, String> {
        let mut sides = self.sides.lock();
        let side = &mut sides[channel as usize];
        let name = channel.name();
        let Some(wanted) = &side.wanted else {
            return Err(format!("{name}: `output` in [{name}] is empty"));
        };
        let output = wanted.sink.output.to_string();
        let said = match switch {
            Switch::On if side.sink.is_some() => return Ok(format!("{name} is on already, to {output}")),
            Switch::On => format!("{name} is on, to {output}"),
            Switch::Off => format!("{name} is off"),
            Switch::Reopen => {
                let Some(sink) = &side.sink else { return Err(format!("{name} is off")) };
                sink.reopen();
                return Ok(format!("{name} is opened again: {output}"));
            }
        };
        side.is_off = switch == Switch::Off;
        let (turned, before) = self.turn(side, controller);
        drop(sides);
        self.end(channel, before);
        turned.map_err(|error| format!("{name}: cannot be started: {error}"))?;
        Ok(said)
    }

    /// Who asks most and for what, at most so many of each: of nothing yet where nobody has looked for a while, and from then on for as long as somebody does.
    pub(crate) fn look(&self, controller: &Controller, count: usize) -> Result<Looked, String> {
        let (lookout, now) = (self.lookout.lock(), Instant::now());
        if let Some(looked) = lookout.look(count, now) {
            return Ok(looked);
        }
        let consumer = lookout.begin(of_catalog(controller), now);
        if let Err(error) = self.observer.set(Slot::Top, Some(Box::new(consumer))) {
            // The next look tries again. Others that have gone with it are started again (`mend`).
            let _ = self.observer.set(Slot::Top, None);
            return Err(format!("queries cannot be looked at: {error}"));
        }
        lookout.look(count, now).ok_or_else(|| "queries cannot be looked at: the server ends".into())
    }

    /// Has a side be as it is to be: a new sink, or none. The one before is to be ended, without the lock: collectors and disks may take their time, and others
    /// want to know what was counted.
    fn turn(&self, side: &mut Side, controller: &Controller) -> (io::Result<()>, Option<Arc<Sink>>) {
        let wanted = side.wanted.as_ref().filter(|_| !side.is_off);
        let (sink, consumer) = match wanted.map(|wanted| start(wanted, controller)).transpose() {
            Ok(started) => started.unzip(),
            Err(error) => return (Err(error), None),
        };
        let before = std::mem::replace(&mut side.sink, sink.map(Arc::new));
        side.leaving.extend(before.clone());
        (self.observer.set(side.channel.slot(), consumer), before)
    }

    /// Ends a sink that others have the place of.
    fn end(&self, channel: Channel, before: Option<Arc<Sink>>) {
        let Some(before) = before else { return };
        let counts = before.end(Instant::now() + END_PATIENCE);
        let mut sides = self.sides.lock();
        let side = &mut sides[channel as usize];
        side.leaving.retain(|leaving| !Arc::ptr_eq(leaving, &before));
        side.past = side.past.sum(counts);
    }

    /// Ends both, after the workers: what is in their rings is told first.
    pub(crate) fn stop(&self) {
        let until = Instant::now() + END_PATIENCE;
        let mut sides = self.sides.lock();
        self.observer.end(until);
        for side in sides.iter_mut() {
            if let Some(sink) = side.sink.take() {
                side.past = side.past.sum(sink.end(until));
            }
            // Those of before write what waits: whoever put them off counts it, but the process is not to end meanwhile.
            for leaving in &side.leaving {
                leaving.end(until);
            }
        }
    }

    /// Octets of memory: what workers tell, and what waits to be written.
    pub(crate) fn octets(&self) -> usize {
        let sides = self.sides.lock();
        let queued: usize = sides.iter().map(Side::queued_octets).sum();
        self.observer.ring_octets() + queued + self.lookout.lock().octets()
    }

    /// What was counted, of what there is or was.
    pub(crate) fn observed(&self) -> Observed {
        let of_side = |side: &Side| OfSink {
            name: side.channel.name(),
            counts: side.counts(),
            queued_octets: side.queued_octets() as u64,
        };
        Observed { tap: self.observer.counts(), sinks: self.sides.lock().each_ref().map(of_side) }
    }

    /// The same as lines.
    pub(crate) fn counts(&self) -> Vec<Count> {
        let count = |prefix: &str, (name, help, count): (&str, &str, u64)| Count {
            name: format!("{prefix}{}", name.replace('_', "-")),
            count,
            help: help.trim().into(),
        };
        let Observed { tap, sinks } = self.observed();
        let mut counts: Vec<Count> = tap.each().map(|each| count("tap-", each)).collect();
        for OfSink { name, counts: of_sink, queued_octets } in sinks {
            let prefix = format!("{name}-");
            counts.extend(of_sink.each().map(|each| count(&prefix, each)));
            counts.push(count(&prefix, ("queued-octets", QUEUED, queued_octets)));
        }
        // Whoever tells nobody need not read that nobody was told.
        if counts.iter().all(|count| count.count == 0) { Vec::new() } else { counts }
    }
}

fn start(wanted: &Wanted, controller: &Controller) -> io::Result<(Sink, Box<dyn Consumer>)> {
    let zones = of_catalog(controller);
    Ok(match &wanted.told {
        Terms::Dnstap(terms) => {
            let (sink, filler) = Sink::of_frames(&wanted.sink)?;
            (sink, Box::new(Dnstap::new(terms.clone(), filler, zones)))
        }
        Terms::QueryLog(terms) => {
            let (sink, filler) = Sink::of_lines(&wanted.sink)?;
            (sink, Box::new(QueryLog::new(terms.clone(), filler, zones)))
        }
    })
}

fn of_catalog(controller: &Controller) -> Box<dyn Zones> {
    Box::new(OfCatalog { reader: controller.catalog.reader(), key: SortKey::new() })
}

/// The zones that are served, for the observer's thread.
struct OfCatalog {
    reader: CatalogReader,
    key: SortKey,
}

impl Zones for OfCatalog {
    /// A batch for each name: nothing is held while anything else is done.
    fn find(&mut self, name: &Name, qtype: u16, zone: &mut NameRoom) -> bool {
        self.key.set(name);
        let labels = self.key.label_count();
        // DS at an apex is data of the zone above, where that is here (RFC 4035 3.1.4.1).
        let above = (qtype == rtype::DS).then(|| labels.saturating_sub(1));
        self.reader.with(|view| {
            let found = above.and_then(|labels| view.find(&self.key, labels).zone());
            let found = found.or_else(|| view.find(&self.key, labels).zone());
            found.map(|found| zone.set(found.apex())).is_some()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
