//! Telling others that a zone has changed (RFC 1996): whom, when, how often. What is sent and received is octets; the time is an argument.
//!
//! ```text
//!             publish                                      a response
//!  told <-----------------> due --next--> waiting -----------------------------> told, or refused
//!                            ^               |  |
//!                            `-- 2, 4 .. s --'  `-- after SENDINGS_MAX: given up
//! ```
//!
//! One entry a zone and remote: a newer serial takes the place of the one before, wherever that is.

mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use wire::tsig::{Fault, Key, Mac};
use wire::{Name, NameBuf};

pub use message::request;

/// How often one is sent: five times in a minute. Who is down longer asks when it comes up (RFC 1996 3.6 has five, and as many minutes).
pub const SENDINGS_MAX: u8 = 5;
/// How long the first one waits for a response; each further one waits twice as long.
pub const FIRST_WAIT: Duration = Duration::from_secs(2);
/// Most that are sent a second: 10,000 zones are told of in ten seconds, and the others' answers and requests are no flood. BIND sends 20.
pub const PER_SECOND: u32 = 1000;
/// Most that are sent at once after a pause.
const BURST: f64 = 100.0;
/// Most entries that are due or waiting, a million zones with one remote each: what comes beyond is not told, and counted. And most that have ended and are
/// remembered beside them.
pub const ENTRIES_MAX: usize = 1 << 20;
/// How often another ID is tried where one is in use for the address.
const IDS_TRIED: usize = 8;
/// How long one waits for which none was found: some of those that have them end meanwhile.
const ID_WAIT: Duration = Duration::from_secs(1);

/// The name of a remote in the settings.
pub type RemoteName = Arc<str>;

/// Another server.
#[derive(Clone, Debug, Default)]
pub struct Remote {
    /// Where it is; of several the next one is tried each time.
    pub addresses: Vec<SocketAddr>,
    /// What signs messages to it.
    pub key: Option<Arc<Key>>,
    /// Where they come from, with any port; `None`: what the system takes.
    pub source: Option<std::net::IpAddr>,
}

/// How it stands with telling one remote of one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// To be sent.
    Due,
    /// Sent, and no response yet.
    Waiting,
    /// It said that it heard.
    Told,
    /// It said something else, this response code or error of TSIG.
    Refused(u16),
    /// It said nothing that counts: nothing at all, or what may be anybody's, as it was not signed as it should be.
    GivenUp(Option<Fault>),
}

/// The same with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The remote.
    pub remote: RemoteName,
    /// The serial.
    pub serial: u32,
    /// How it stands.
    pub state: State,
    /// Since when.
    pub since: Duration,
}

/// What is to be sent now.
#[derive(Clone, Debug)]
pub struct Due {
    /// The zone.
    pub zone: NameBuf,
    /// The remote.
    pub remote: RemoteName,
    /// How often it was sent before: which of the remote's addresses is its turn.
    pub sendings: u8,
    /// It is this as long as nothing is published meanwhile.
    turn: (Duration, u64),
}

/// What came of looking at a message that was received, or at the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The zone.
    pub zone: NameBuf,
    /// What it is now: told, refused or given up.
    pub told: Told,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages sent.
    pub sent: u64,
    /// Remotes told of a serial.
    pub told: u64,
    /// Those that said something else.
    pub refused: u64,
    /// Those that said nothing.
    pub given_up: u64,
    /// What nobody was told of, as there are too many.
    pub left_out: u64,
}

struct Entry {
    remote: RemoteName,
    serial: u32,
    sendings: u8,
    state: State,
    since: Duration,
    /// When it is next looked at, and which of those of that moment it is.
    turn: Option<(Duration, u64)>,
    /// What a response is known by.
    sent: Option<Sent>,
    /// What was wrong with the signature of the last response, since it is to be told.
    unsure: Option<Fault>,
}

#[derive(Clone)]
struct Sent {
    to: SocketAddr,
    id: u16,
    signed: Option<(Arc<Key>, Mac)>,
}

/// All that is to be told.
pub struct Notices {
    /// Of each zone, in lower case, one a remote.
    zones: HashMap<NameBuf, Vec<Entry>>,
    entries: usize,
    /// How many may be under way; and so many that have ended are remembered.
    entries_max: usize,
    /// Those that are due or waiting, by time; the number tells those of one moment apart.
    turns: BTreeMap<(Duration, u64), (NameBuf, RemoteName)>,
    turn: u64,
    ids: HashMap<(SocketAddr, u16), (NameBuf, RemoteName)>,
    /// What may be sent, and as of when.
    tokens: f64,
    refilled: Duration,
    counts: Counts,
}

impl Default for Notices {
    fn default() -> Notices {
        Notices::bounded(ENTRIES_MAX)
    }
}

impl Notices {
    /// With so many under way at most.
    fn bounded(entries_max: usize) -> Notices {
        Notices {
            zones: HashMap::new(),
            entries: 0,
            entries_max,
            turns: BTreeMap::new(),
            turn: 0,
            ids: HashMap::new(),
            tokens: 0.0,
            refilled: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    /// A zone has this serial now: all of `remotes` are to be told. `now`: since any moment that stays the same.
    pub fn publish(
        &mut self,
        zone: &Name,
        serial: u32,
        remotes: impl Iterator<Item = RemoteName>,
        now: Duration,
    ) {
        let zone = zone.to_lowercase();
        for remote in remotes {
            let is_under_way = self.entry(&zone, &remote).map(|entry| entry.turn.is_some());
            if is_under_way != Some(true) && self.turns.len() >= self.entries_max {
                self.counts.left_out += 1;
                continue;
            }
            if is_under_way.is_none() {
                self.entries += 1;
                let (remote, state) = (Arc::clone(&remote), State::Due);
                let (turn, sent, unsure) = (None, None, None);
                let entry = Entry { remote, serial, sendings: 0, state, since: now, turn, sent, unsure };
                self.zones.entry(zone.clone()).or_default().push(entry);
            }
            self.unqueue(&zone, &remote);
            if let Some(entry) = self.entry(&zone, &remote) {
                (entry.serial, entry.sendings, entry.state, entry.since) = (serial, 0, State::Due, now);
                entry.unsure = None;
            }
            self.queue(&zone, &remote, now);
        }
    }

    /// A zone is gone: nobody is told anything more of it.
    pub fn forget(&mut self, zone: &Name) {
        if self.zones.is_empty() {
            return;
        }
        let zone = zone.to_lowercase();
        let remotes: Vec<RemoteName> =
            self.zones.get(&zone).into_iter().flatten().map(|entry| Arc::clone(&entry.remote)).collect();
        remotes.iter().for_each(|remote| self.unqueue(&zone, remote));
        self.entries -= remotes.len();
        self.zones.remove(&zone);
    }

    /// The remote of what is due is none any more, or the zone has no data: it is not told, unless it was published again meanwhile.
    pub fn leave(&mut self, due: &Due) {
        if !self.is_latest(due) {
            return;
        }
        self.unqueue(&due.zone, &due.remote);
        self.remove(&due.zone, &due.remote);
    }

    /// As many are under way as there are IDs: it stays due, and comes again a moment later.
    pub fn put_off(&mut self, due: &Due, now: Duration) {
        self.unqueue(&due.zone, &due.remote);
        self.queue(&due.zone, &due.remote, now + ID_WAIT);
    }

    fn remove(&mut self, zone: &NameBuf, remote: &RemoteName) {
        let Some(entries) = self.zones.get_mut(zone) else { return };
        let before = entries.len();
        entries.retain(|entry| entry.remote != *remote);
        self.entries -= before - entries.len();
        if entries.is_empty() {
            self.zones.remove(zone);
        }
    }

    /// What is to be sent next, if anything is and may be: then [`Notices::sent`], [`Notices::leave`] or [`Notices::put_off`] is to be called. What nobody has answered for long enough is
    /// given up on the way, and put into `ended`.
    pub fn next(&mut self, now: Duration, ended: &mut Vec<Ended>) -> Option<Due> {
        let elapsed = now.saturating_sub(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * f64::from(PER_SECOND)).min(BURST);
        self.refilled = now;
        loop {
            let (turn, (zone, remote)) = self.turns.first_key_value()?;
            if turn.0 > now {
                return None;
            }
            let (zone, remote) = (zone.clone(), Arc::clone(remote));
            let turn = *turn;
            let entry = self.entry(&zone, &remote).map(|entry| (entry.sendings, entry.unsure));
            let Some((sendings, unsure)) = entry else {
                self.turns.remove(&turn);
                continue;
            };
            if sendings >= SENDINGS_MAX {
                self.counts.given_up += 1;
                ended.extend(self.end(&zone, &remote, State::GivenUp(unsure), now));
                continue;
            }
            if self.tokens < 1.0 {
                return None;
            }
            return Some(Due { zone, remote, sendings, turn });
        }
    }

    /// An ID for a message to `to` that no other one there has; `None` if there are too many. `random`: gives numbers that nobody can guess.
    pub fn id(&self, to: SocketAddr, mut random: impl FnMut() -> u16) -> Option<u16> {
        (0..IDS_TRIED).map(|_| random()).find(|id| !self.ids.contains_key(&(to, *id)))
    }

    /// It was sent to `to`, or could not be, which is as good as a message that was lost. `signed`: the key and the MAC of the message. Where a newer serial was
    /// published meanwhile that is still due, as the message may not have it.
    pub fn sent(
        &mut self,
        due: &Due,
        to: SocketAddr,
        id: u16,
        signed: Option<(Arc<Key>, Mac)>,
        now: Duration,
    ) {
        let Due { zone, remote, .. } = due;
        self.tokens -= 1.0;
        self.counts.sent += 1;
        if !self.is_latest(due) {
            return;
        }
        self.unqueue(zone, remote);
        let Some(entry) = self.entry(zone, remote) else { return };
        if entry.state == State::Due {
            entry.since = now;
        }
        let wait = FIRST_WAIT * (1 << entry.sendings.min(SENDINGS_MAX));
        (entry.state, entry.sendings) = (State::Waiting, entry.sendings + 1);
        entry.sent = Some(Sent { to, id, signed });
        self.ids.insert((to, id), (zone.clone(), Arc::clone(remote)));
        self.queue(zone, remote, now + wait);
    }

    /// A message came from `from`. What it ends, if it is the response to one that waits: from its address, with its ID and question, signed if that was. Others are
    /// nobody's and nothing; one that is like it but for the signature is remembered, as it says why nothing else comes. `wall`: seconds since 1970.
    pub fn receive(&mut self, from: SocketAddr, message: &[u8], now: Duration, wall: u64) -> Option<Ended> {
        let id = u16::from_be_bytes(*message.first_chunk()?);
        let (zone, remote) = self.ids.get(&(from, id))?.clone();
        let entry = self.entry(&zone, &remote)?;
        let rcode = message::response_to(message, &zone)?;
        let error = match &entry.sent.as_ref()?.signed {
            None => 0,
            Some((key, mac)) => match key.check(message, mac, wall) {
                Ok(checked) => checked.error,
                Err(fault) => {
                    entry.unsure = Some(fault);
                    return None;
                }
            },
        };
        let state = match (rcode, error) {
            (0, _) => State::Told,
            // The code is NOTAUTH then, which says less.
            (_, 1..) => State::Refused(error),
            (rcode, _) => State::Refused(rcode),
        };
        match state {
            State::Told => self.counts.told += 1,
            _ => self.counts.refused += 1,
        }
        self.end(&zone, &remote, state, now)
    }

    /// How long nothing happens by itself; `None`: until something is published.
    pub fn idle(&self, now: Duration) -> Option<Duration> {
        let (turn, _) = self.turns.first_key_value()?;
        let until_token = Duration::from_secs_f64((1.0 - self.tokens).max(0.0) / f64::from(PER_SECOND));
        Some(turn.0.saturating_sub(now).max(until_token))
    }

    /// Whether responses are waited for.
    pub fn is_waiting(&self) -> bool {
        !self.ids.is_empty()
    }

    /// How it stands with the remotes of a zone.
    pub fn of(&self, zone: &Name) -> Vec<Told> {
        self.zones.get(&zone.to_lowercase()).into_iter().flatten().map(Entry::told).collect()
    }

    /// What is counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn entry(&mut self, zone: &NameBuf, remote: &RemoteName) -> Option<&mut Entry> {
        self.zones.get_mut(zone)?.iter_mut().find(|entry| entry.remote == *remote)
    }

    /// Whether nothing was published since this became due.
    fn is_latest(&mut self, due: &Due) -> bool {
        self.entry(&due.zone, &due.remote).is_some_and(|entry| entry.turn == Some(due.turn))
    }

    /// It is looked at again at `at`.
    fn queue(&mut self, zone: &NameBuf, remote: &RemoteName, at: Duration) {
        self.turn += 1;
        let turn = (at, self.turn);
        if let Some(entry) = self.entry(zone, remote) {
            entry.turn = Some(turn);
            self.turns.insert(turn, (zone.clone(), Arc::clone(remote)));
        }
    }

    /// It is not looked at, and no response is waited for.
    fn unqueue(&mut self, zone: &NameBuf, remote: &RemoteName) {
        let Some(entry) = self.entry(zone, remote) else { return };
        let (turn, sent) = (entry.turn.take(), entry.sent.take());
        turn.and_then(|turn| self.turns.remove(&turn));
        sent.and_then(|sent| self.ids.remove(&(sent.to, sent.id)));
    }

    fn end(&mut self, zone: &NameBuf, remote: &RemoteName, state: State, now: Duration) -> Option<Ended> {
        self.unqueue(zone, remote);
        let entry = self.entry(zone, remote)?;
        (entry.state, entry.since) = (state, now);
        let ended = Ended { zone: zone.clone(), told: entry.told() };
        if self.entries > self.entries_max {
            // What became of it is said now and not remembered.
            self.remove(zone, remote);
        }
        Some(ended)
    }
}

impl Entry {
    fn told(&self) -> Told {
        let Entry { remote, serial, state, since, .. } = self;
        Told { remote: Arc::clone(remote), serial: *serial, state: *state, since: *since }
    }
}
