//! Transfers out: what was sent of each zone and to whom, for operators; counted by whoever sends, said by a thread of control.

mod spread;

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use net::{Messages, Pull, Render, Rendered};
use sync::Mutex;
use transfer::outgoing::{Broken, Form, History, Next, Sent, Transfer};
use wire::{Name, NameBuf};

use spread::Spread;

use crate::command::{Count, TransferLine, TransfersOut};
use crate::repeated::Repeated;
use crate::text::{Span, count, grouped, octets};

/// Transfers of one zone at a time: a zone that many ask for must not take all places from others.
pub(crate) const TRANSFERS_PER_ZONE_MAX: usize = 256;
/// Octets of packs and deltas that transfers keep and that are served no more, beside those that the youngest of them keeps: some former versions of the largest zones. What is mapped costs
/// its place on the disk, what is in no file memory; with less slow secondaries of a zone that is merged again and again would never have it whole.
pub(crate) const PINNED_OCTETS_MAX: u64 = 4 << 30;
/// Zones of which it is known what was sent. A million secondaries' zones; what comes after is counted in all only.
const ZONES_MAX: usize = 1 << 20;
/// Transfers that are over and not said yet: ten thousand zones that are asked for within a second, and as many again.
const UNSAID_MAX: usize = 20_000;
/// Lines of transfers that are written each time: beyond, one line says how many there were. A log of ten thousand lines a second helps nobody.
const LINES_MAX: usize = 1000;

/// All transfers of the server.
pub(crate) struct Transfers {
    state: Mutex<State>,
    /// What changed in zones.
    pub(crate) history: Arc<dyn History>,
}

#[derive(Default)]
struct State {
    zones: Spread<ZoneOut>,
    totals: Totals,
    /// Those that are over, the oldest first, and how many more there were.
    unsaid: VecDeque<Over>,
    unsaid_more: u64,
    refused: Repeated,
    refusal: Option<Refusal>,
}

/// What was sent of one zone.
#[derive(Clone, Debug, Default)]
struct ZoneOut {
    now: usize,
    totals: Totals,
    last: Option<Over>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    begun: u64,
    completed: u64,
    broken: u64,
    refused: u64,
    octets: u64,
    records: u64,
}

/// A transfer that is over.
#[derive(Clone, Debug)]
struct Over {
    zone: NameBuf,
    client: IpAddr,
    key: Option<NameBuf>,
    sent: Sent,
    /// Why it was broken off, where it is known; without, the client went or was too slow.
    broken: Option<Broken>,
    took: std::time::Duration,
    at: SystemTime,
}

/// One that was not begun.
#[derive(Clone, Debug)]
struct Refusal {
    zone: NameBuf,
    client: IpAddr,
    why: &'static str,
}

impl Transfers {
    pub(crate) fn new(history: Arc<dyn History>) -> Transfers {
        Transfers { state: Mutex::named("transfers", State::default()), history }
    }

    /// Begins one, unless the zone has as many as it may.
    pub(crate) fn begin(
        self: &Arc<Transfers>,
        transfer: Transfer,
        zone: &Name,
        client: IpAddr,
        key: Option<&Name>,
    ) -> Option<Tracked> {
        let zone = zone.to_lowercase();
        {
            let mut state = self.state.lock();
            let is_full = state.zones.len() >= ZONES_MAX;
            match state.zones.get_mut(&zone) {
                Some(out) if out.now >= TRANSFERS_PER_ZONE_MAX => return None,
                Some(out) => out.begin(),
                None if is_full => {}
                None => state.zones.or_default(&zone).begin(),
            }
            state.totals.begun += 1;
        }
        let key = key.map(Name::to_owned);
        let track =
            Track { transfers: Arc::clone(self), zone, client, key, started: Instant::now(), broken: None };
        Some(Tracked { transfer, track })
    }

    /// Counts one that is not begun. `is_ours`: whether the zone is one of the server, which others' are not counted by.
    pub(crate) fn refuse(&self, zone: &Name, client: IpAddr, why: &'static str, is_ours: bool) {
        let zone = zone.to_lowercase();
        let mut state = self.state.lock();
        state.totals.refused += 1;
        if is_ours {
            let is_full = state.zones.len() >= ZONES_MAX;
            match state.zones.get_mut(&zone) {
                Some(out) => out.totals.refused += 1,
                None if is_full => {}
                None => state.zones.or_default(&zone).totals.refused += 1,
            }
        }
        state.refusal = Some(Refusal { zone, client, why });
    }

    fn end(&self, over: Over) {
        let mut state = self.state.lock();
        // One that no message was asked of was not begun: the connection or the worker has as many streams as it may.
        if over.sent.messages == 0 && over.broken.is_none() {
            state.totals.begun -= 1;
            if let Some(out) = state.zones.get_mut(&over.zone) {
                (out.now, out.totals.begun) = (out.now.saturating_sub(1), out.totals.begun.saturating_sub(1));
            }
            return;
        }
        let add = |totals: &mut Totals| {
            let sent = over.sent;
            totals.completed += u64::from(sent.is_complete);
            totals.broken += u64::from(!sent.is_complete);
            (totals.octets, totals.records) = (totals.octets + sent.octets, totals.records + sent.records);
        };
        add(&mut state.totals);
        if let Some(out) = state.zones.get_mut(&over.zone) {
            add(&mut out.totals);
            out.now = out.now.saturating_sub(1);
            out.last = Some(over.clone());
        }
        match state.unsaid.len() < UNSAID_MAX {
            true => state.unsaid.push_back(over),
            false => state.unsaid_more += 1,
        }
    }

    /// A zone is gone: what was sent of it is not told any more.
    pub(crate) fn forget(&self, zone: &Name) {
        let mut state = self.state.lock();
        if !state.zones.is_empty() {
            state.zones.remove(&zone.to_lowercase());
        }
    }

    /// Writes lines of what is over since the last time. To be called by no worker.
    pub(crate) fn say(&self, now: Instant) {
        let (unsaid, more, refused) = {
            let mut state = self.state.lock();
            let total = state.totals.refused;
            let due = state.refused.look(total, now).and_then(|due| Some((due, state.refusal.clone()?)));
            (std::mem::take(&mut state.unsaid), std::mem::take(&mut state.unsaid_more), due)
        };
        let left = more + unsaid.len().saturating_sub(LINES_MAX) as u64;
        unsaid.iter().take(LINES_MAX).for_each(Over::say);
        if left > 0 {
            tracing::info!(transfers = left, "{} transfers more", grouped(left));
        }
        if let Some((due, Refusal { zone, client, why })) = refused {
            let (often, time) =
                (grouped(due.count), due.since.map(|since| format!(" in the last {}", Span(since))));
            tracing::warn!(
                kind = "transfers-refused",
                count = due.count,
                %zone,
                %client,
                "transfers refused: {often}{}; the last: zone {zone} to {client}, {why}",
                time.unwrap_or_default()
            );
        }
    }

    /// Whether anybody has asked for a zone.
    pub(crate) fn is_known(&self, zone: &Name) -> bool {
        let state = self.state.lock();
        !state.zones.is_empty() && state.zones.get(&zone.to_lowercase()).is_some()
    }

    /// What is known of a zone; `None` where nobody ever asked.
    pub(crate) fn of(&self, zone: &Name) -> Option<TransfersOut> {
        let out = self.state.lock().zones.get(&zone.to_lowercase()).cloned()?;
        let Totals { begun, completed, broken, refused, octets, .. } = out.totals;
        let seconds =
            |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let last = out.last.map(|over| TransferLine {
            client: over.client.to_string(),
            key: over.key.as_ref().map(ToString::to_string),
            what: over.sent.form.words().into(),
            serial: over.sent.serial,
            records: over.sent.records,
            octets: over.sent.octets,
            at: seconds(over.at),
            problem: over.problem(),
        });
        Some(TransfersOut { now: out.now, begun, completed, broken, refused, octets, last })
    }

    /// What is counted in all.
    pub(crate) fn counts(&self) -> [Count; 6] {
        let Totals { begun, completed, broken, refused, octets, records } = self.state.lock().totals;
        let count = |name: &str, help: &str, count| Count { name: name.into(), count, help: help.into() };
        [
            count(
                "transfers-out",
                "Transfers of zones that were begun (AXFR, IXFR), those of one message included.",
                begun,
            ),
            count("transfers-out-completed", "Those that were sent to their end.", completed),
            count(
                "transfers-out-broken",
                "Those that were not: the client went or was too slow, or the zone could not be read.",
                broken,
            ),
            count("transfers-out-refused", "Requests for a transfer that got none.", refused),
            count("transfers-out-records", "Records in transfers.", records),
            count("transfers-out-octets", "Octets of transfers.", octets),
        ]
    }
}

impl ZoneOut {
    fn begin(&mut self) {
        self.now += 1;
        self.totals.begun += 1;
    }
}

impl Over {
    /// Why it is not complete.
    fn problem(&self) -> Option<String> {
        match self.broken {
            Some(broken) => Some(broken.to_string()),
            None => (!self.sent.is_complete).then(|| "the client went or was too slow".into()),
        }
    }

    fn say(&self) {
        let Over { zone, client, sent, took, .. } = self;
        let Sent { form, serial, messages, records, .. } = *sent;
        let key = self.key.as_ref().map_or_else(String::new, |key| format!(", key {key}"));
        let what = Words(form);
        match self.problem() {
            // To who asks again and again whether there is something new.
            None if form == Form::Current => {
                tracing::debug!(%zone, %client, serial, "zone {zone}: nothing new for {client} ({what}, serial {serial}{key})");
            }
            None => tracing::info!(
                %zone,
                %client,
                serial,
                records,
                octets = sent.octets,
                "zone {zone}: sent to {client} ({what}, serial {serial}, {}, {}, {}, {}{key})",
                count(records as usize, "record"),
                count(messages as usize, "message"),
                octets(sent.octets),
                Span(*took)
            ),
            Some(problem) => tracing::warn!(
                %zone,
                %client,
                serial,
                records,
                error = problem,
                "zone {zone}: transfer to {client} broken off after {}: {problem} ({what}, serial {serial}{key})",
                count(records as usize, "record")
            ),
        }
    }
}

trait FormWords {
    fn words(self) -> &'static str;
}

impl FormWords for Form {
    fn words(self) -> &'static str {
        match self {
            Form::Unknown => "nothing",
            Form::Whole => "AXFR",
            Form::Changes(_) => "IXFR",
            Form::Current => "SOA",
        }
    }
}

/// A form in words.
struct Words(Form);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Form::Changes(from) => write!(f, "IXFR from serial {from}"),
            form => f.write_str(form.words()),
        }
    }
}

/// A transfer that is counted; as messages of a stream, rendered on the worker or ahead.
pub(crate) struct Tracked {
    pub(crate) transfer: Transfer,
    track: Track,
}

/// What is counted when it is over, however that comes.
struct Track {
    transfers: Arc<Transfers>,
    zone: NameBuf,
    client: IpAddr,
    key: Option<NameBuf>,
    started: Instant,
    broken: Option<Broken>,
}

impl Tracked {
    fn next(&mut self, room: &mut [u8]) -> Next {
        let next = self.transfer.next(room, wall());
        if let Next::Broken(broken) = next {
            self.track.broken = Some(broken);
        }
        next
    }

    /// Writes all of it as a datagram; 0 octets where that cannot be.
    pub(crate) fn datagram(&mut self, room: &mut [u8]) -> usize {
        match self.transfer.datagram(room, wall()) {
            Ok(octets) => octets,
            Err(broken) => {
                self.track.broken = Some(broken);
                0
            }
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let Track { transfers, zone, client, key, started, broken } = &mut self.track;
        transfers.end(Over {
            zone: zone.clone(),
            client: *client,
            key: key.take(),
            sent: self.transfer.sent(),
            broken: *broken,
            took: started.elapsed(),
            at: SystemTime::now(),
        });
    }
}

/// Seconds since 1970.
fn wall() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Render for Tracked {
    fn render(&mut self, room: &mut [u8]) -> Rendered {
        match self.next(room) {
            Next::Message(octets) => Rendered::Message(octets),
            Next::End => Rendered::End,
            Next::Broken(_) => Rendered::Abort,
        }
    }
}

/// The same rendered when it is pulled: of a pack in memory, by the worker.
pub(crate) struct Here(pub(crate) Tracked);

impl Messages for Here {
    fn next(&mut self, room: &mut [u8]) -> Pull {
        match self.0.next(room) {
            Next::Message(octets) => Pull::Message(octets),
            Next::End => Pull::End,
            Next::Broken(_) => Pull::Abort,
        }
    }
}
