//! What others are told of queries: dnstap and the query log, as the settings and operators want them, and who asks most, while somebody looks.
//!
//! Each has a sink while it is on: where the settings have an `output`, and no operator has put it off. One whose settings change is replaced; the new one is there
//! before the old one ends, so that nothing is missed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::Running;
use observe::observer::Consumer;
use observe::query_log::{Filter, Format};
use observe::top::Looked;
use observe::{Dnstap, Lookout, Observer, Output, QueryLog, Sink, Slot, Zones, dnstap, query_log, sink};
use sync::Mutex;
use wire::iana::rtype;
use wire::name::NameRoom;
use wire::{Name, NameBuf, SortKey};
use zone::CatalogReader;

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

/// What is told, and to whom.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    sink: sink::Terms,
    told: Terms,
}

#[derive(Clone, Debug, PartialEq)]
enum Terms {
    Dnstap(dnstap::Terms),
    QueryLog(query_log::Terms),
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
            // The next look tries again. The others are as before, and this can fail no worse.
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

/// An output as the settings name it; a path begins at their folder.
fn output_of(settings: &Settings, text: &str) -> Option<Output> {
    Some(match Output::parse(text)? {
        Output::Unix(path) => Output::Unix(settings.path(&path)),
        Output::File(path) => Output::File(settings.path(&path)),
        tcp => tcp,
    })
}

fn dnstap_wanted(settings: &Settings) -> Option<Wanted> {
    let dnstap = &settings.dnstap;
    let sink = sink::Terms {
        name: Channel::Dnstap.name(),
        output: output_of(settings, &dnstap.output)?,
        queue_octets: dnstap.queue_octets,
        bounds: observe::FileBounds {
            octets_max: dnstap.file_octets_max,
            files_max: dnstap.files_max,
            free_octets_min: dnstap.free_octets_min,
        },
    };
    let told = dnstap::Terms {
        kinds: dnstap::Kinds::named(dnstap.messages.texts().iter().map(|word| &**word)).ok()?,
        identity: dnstap.identity.clone().into_bytes(),
        version: dnstap.version.clone().into_bytes(),
        one_in: dnstap.one_in,
        is_masked: dnstap.mask,
        has_resolver: settings.resolver.enabled,
    };
    Some(Wanted { sink, told: Terms::Dnstap(told) })
}

fn query_log_wanted(settings: &Settings) -> Option<Wanted> {
    let log = &settings.query_log;
    let sink = sink::Terms {
        name: Channel::QueryLog.name(),
        output: output_of(settings, &log.output)?,
        queue_octets: log.queue_octets,
        bounds: observe::FileBounds {
            octets_max: log.file_octets_max,
            files_max: log.files_max,
            free_octets_min: log.free_octets_min,
        },
    };
    let told = query_log::Terms {
        format: if log.format == "json" { Format::Json } else { Format::Text },
        one_in: log.one_in,
        filter: filter_of(settings).ok()?,
    };
    Some(Wanted { sink, told: Terms::QueryLog(told) })
}

/// What picks lines; what is none of it otherwise: a name or a code.
fn filter_of(settings: &Settings) -> Result<Filter, (&'static str, &str)> {
    let log = &settings.query_log;
    let names = log.zones.texts().iter().map(|text| NameBuf::from_text(text).map_err(|_| ("zones", &**text)));
    let names: Vec<NameBuf> = names.collect::<Result<_, _>>()?;
    Filter::new(&names, log.rcodes.texts().iter().map(|word| &**word)).map_err(|word| ("rcodes", word))
}

/// What is wrong with the sections although each value is of its kind: section, key, and what was expected.
pub(crate) fn problems(settings: &Settings) -> Vec<(&'static str, &'static str, String)> {
    let mut problems = Vec::new();
    let (dnstap, log) = (&settings.dnstap, &settings.query_log);
    match (dnstap.output.as_str(), Output::parse(&dnstap.output)) {
        ("", _) => {}
        (text, None) => {
            let text =
                format!("expected \"unix:PATH\", \"file:PATH\" or \"tcp:ADDRESS:PORT\", found {text:?}");
            problems.push(("dnstap", "output", text));
        }
        (_, Some(Output::Tcp(address))) if !dnstap.clear_text && !is_loopback(address) => {
            let text = format!(
                "expected an address of this machine, or `clear-text = true`, found {address}: anybody on the way can read along"
            );
            problems.push(("dnstap", "output", text));
        }
        (_, Some(_)) => {}
    }
    if let Err(word) = dnstap::Kinds::named(dnstap.messages.texts().iter().map(|word| &**word)) {
        let text = format!("expected some of {}, found {word:?}", dnstap::Kinds::WORDS.join(", "));
        problems.push(("dnstap", "messages", text));
    }
    if !log.output.is_empty()
        && !matches!(Output::parse(&log.output), Some(Output::Unix(_) | Output::File(_)))
    {
        let text = format!("expected \"file:PATH\" or \"unix:PATH\", found {:?}", log.output);
        problems.push(("query-log", "output", text));
    }
    match filter_of(settings) {
        Err((key @ "zones", text)) => {
            problems.push(("query-log", key, format!("expected names of zones, found {text:?}")));
        }
        Err((key, text)) => {
            let text =
                format!("expected response codes, \"dropped\", \"stream\" or \"gone\", found {text:?}");
            problems.push(("query-log", key, text));
        }
        Ok(_) => {}
    }
    problems
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::Overrides;
    use zone::Catalog;

    fn controller(settings: &str) -> Controller {
        let settings = Settings::parse(std::path::Path::new("zonda.toml"), settings).unwrap();
        Controller::new(settings, Overrides::default()).unwrap()
    }

    /// A consumer whose fault it is.
    struct Panics;

    impl Consumer for Panics {
        fn wants(&self) -> sync::tap::Wants {
            sync::tap::Wants { one_in: 1, query_octets: 0, response_octets: 0 }
        }

        fn is_urgent(&self) -> bool {
            false
        }

        fn take(&mut self, _: &observe::Told<'_>) {}

        fn hand_over(&mut self, _: Instant) {
            panic!("a fault, on purpose");
        }

        fn flush(&mut self) {}
    }

    /// What was on is on again after a fault, but not again and again at once.
    #[test]
    fn a_fault_is_mended() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let controller = controller(&format!("[query-log]\noutput = \"file:{}\"\n", log.display()));
        let observing = &controller.observing;
        let (writer, tap) = sync::tap::ring(1 << 16);
        observing.observer.begin(&[tap], 1 << 16).unwrap();
        observing.note(&controller, &controller.change().settings);
        let has_reader = || writer.wants().is_some_and(|wants| wants.query_octets == u16::MAX);
        assert!(has_reader());
        let now = Instant::now();
        for (round, at, is_mended) in [(1, 0, true), (2, 59, false), (2, 60, true)] {
            if observing.observer.faults() < round {
                observing.observer.set(Slot::Top, Some(Box::new(Panics))).unwrap();
            }
            let until = Instant::now() + Duration::from_secs(5);
            while observing.observer.faults() < round {
                assert!(Instant::now() < until, "it goes on");
                std::thread::sleep(Duration::from_millis(1));
            }
            observing.mend(&controller, now + Duration::from_secs(at));
            assert_eq!(has_reader(), is_mended, "after {at} s");
        }
        observing.stop();
    }

    /// What was counted is told while a sink before takes its time, and its counts are among those.
    #[test]
    fn counts_are_told_while_a_sink_ends() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("collector");
        // Somebody who says nothing: the sink waits for an answer.
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let controller = controller(&format!("[dnstap]\noutput = \"unix:{}\"\n", socket.display()));
        let observing = &controller.observing;
        observing.note(&controller, &controller.change().settings);
        // It is to have connected.
        std::thread::sleep(Duration::from_millis(200));
        std::thread::scope(|scope| {
            let begun = Instant::now();
            let off = scope.spawn(|| observing.command(&controller, Channel::Dnstap, Switch::Off).unwrap());
            while observing.sides.lock()[0].leaving.is_empty() && begun.elapsed() < END_PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(observing.observed().sinks[0].counts.made, 0);
            assert!(begun.elapsed() < END_PATIENCE / 2, "it waited for {:?}", begun.elapsed());
            assert_eq!(off.join().unwrap(), "dnstap is off");
            assert!(begun.elapsed() >= END_PATIENCE, "the sink did take its time");
        });
        assert!(observing.sides.lock()[0].leaving.is_empty());
    }

    #[test]
    fn settings_that_are_wrong() {
        let of = |text: &str| {
            let problems =
                Settings::parse(std::path::Path::new("zonda.toml"), text).err().unwrap_or_default();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        for text in [
            "[dnstap]\noutput = \"unix:/run/a.sock\"\nmessages = [\"auth-query\", \"update-response\"]\n",
            "[dnstap]\noutput = \"tcp:127.0.0.1:6000\"\n",
            "[dnstap]\noutput = \"tcp:192.0.2.1:6000\"\nclear-text = true\n",
            "[query-log]\noutput = \"file:log\"\nzones = [\"example\", \".\"]\nrcodes = [\"NXDOMAIN\", \"dropped\"]\n",
        ] {
            assert_eq!(of(text), "", "{text}");
        }
        for (text, words) in [
            ("[dnstap]\noutput = \"udp:1\"\n", "zonda.toml:2:10: output: expected \"unix:PATH\""),
            ("[dnstap]\noutput = \"tcp:192.0.2.1:6000\"\n", "`clear-text = true`"),
            ("[dnstap]\nmessages = \"resolver\"\n", "zonda.toml:2:12: messages: expected some of auth-query"),
            ("[query-log]\noutput = \"tcp:127.0.0.1:6000\"\n", "output: expected \"file:PATH\""),
            ("[query-log]\nzones = \"a..b\"\n", "zones: expected names of zones"),
            ("[query-log]\nrcodes = [\"NXDOMAIN\", \"5\"]\n", "rcodes: expected response codes"),
        ] {
            assert!(of(text).contains(words), "{text}: {}", of(text));
        }
    }

    #[test]
    fn nothing_is_found_where_there_are_no_zones() {
        let catalog = Catalog::new(7);
        let mut zones = OfCatalog { reader: catalog.reader(), key: SortKey::new() };
        let mut zone = NameRoom::new();
        assert!(!zones.find(Name::root(), rtype::DS, &mut zone));
    }
}
