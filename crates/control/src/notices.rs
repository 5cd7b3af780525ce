//! Telling others that zones have changed (NOTIFY): the thread, the sockets and the clock of [`transfer::notify`].
//!
//! ```text
//! whoever publishes a zone --list, unpark--> thread: what is due -> SOA record from the catalog -> datagram
//!                                                    socket -> response -> told, refused, given up -> log, `zonda ctl zones`
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant, SystemTime};

use sync::Mutex;
use sync::random::Unguessable;
use transfer::notify::{Due, Ended, Notices, Remote, RemoteName, State, request};
use wire::iana::{rcode, rtype};
use wire::tsig::{BADSIG, Fault};
use wire::{Name, NameBuf, SortKey};
use zone::catalog::CatalogReader;

use crate::command::{Count, NoticeLine};
use crate::controller::Controller;
use crate::repeated::Repeated;
use crate::text::{Span, count};

/// How often sockets are looked at while responses are waited for: a zone that is told of late by this is none too late.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// How long nothing may be under way before the sockets are closed, and their ports given up.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// Datagrams that are taken from a socket at a time.
const DATAGRAMS_A_LOOK: usize = 256;
/// Longest response: the question, OPT and a signature.
const RESPONSE_OCTETS_MAX: usize = 1500;

/// What is to be told, and to whom.
pub(crate) struct Telling {
    state: Mutex<Telled>,
    thread: OnceLock<Thread>,
    started: Instant,
}

#[derive(Default)]
struct Telled {
    notices: Notices,
    remotes: Arc<HashMap<RemoteName, Remote>>,
    /// What ended otherwise than it should, for the log.
    problem: Option<(Ended, String)>,
    said: Repeated,
}

impl Telling {
    pub(crate) fn new() -> Telling {
        Telling {
            state: Mutex::named("notices", Telled::default()),
            thread: OnceLock::new(),
            started: Instant::now(),
        }
    }

    /// Takes over where remotes are.
    pub(crate) fn set_remotes(&self, remotes: HashMap<RemoteName, Remote>) {
        self.state.lock().remotes = Arc::new(remotes);
    }

    /// A zone is published with this serial, which is not the one before: these remotes are told, soon.
    pub(crate) fn publish(&self, zone: &Name, serial: u32, remotes: &[Box<str>]) {
        if remotes.is_empty() {
            return;
        }
        let now = self.started.elapsed();
        let remotes = remotes.iter().map(|remote| Arc::from(&**remote));
        self.state.lock().notices.publish(zone, serial, remotes, now);
        self.thread.get().into_iter().for_each(Thread::unpark);
    }

    /// A zone is gone: nobody is told of it.
    pub(crate) fn forget(&self, zone: &Name) {
        self.state.lock().notices.forget(zone);
    }

    /// How it stands with the remotes of a zone.
    pub(crate) fn of(&self, zone: &Name) -> Vec<NoticeLine> {
        let (told, now) = (self.state.lock().notices.of(zone), self.started.elapsed());
        let line = |told: transfer::notify::Told| NoticeLine {
            remote: told.remote.to_string(),
            serial: told.serial,
            state: words(told.state),
            seconds: now.saturating_sub(told.since).as_secs(),
        };
        told.into_iter().map(line).collect()
    }

    /// What is counted in all.
    pub(crate) fn counts(&self) -> [Count; 5] {
        let counts = self.state.lock().notices.counts();
        let line = |name: &str, help: &str, count| Count { name: name.into(), count, help: help.into() };
        [
            line(
                "notify-out",
                "Messages that tell others of a new serial (NOTIFY), repeated ones too.",
                counts.sent,
            ),
            line("notify-out-told", "Times that another server said that it heard of one.", counts.told),
            line("notify-out-refused", "Times that it said something else.", counts.refused),
            line("notify-out-given-up", "Times that it said nothing.", counts.given_up),
            line(
                "notify-out-left-out",
                "Times that nobody was told, as too many others were to be.",
                counts.left_out,
            ),
        ]
    }

    /// Writes a line of who did not hear. To be called by no worker.
    pub(crate) fn say(&self, now: Instant) {
        let due = {
            let mut state = self.state.lock();
            let counts = state.notices.counts();
            let total = counts.refused + counts.given_up + counts.left_out;
            state.said.look(total, now).map(|due| (due, state.problem.clone()))
        };
        let Some((due, problem)) = due else { return };
        let (often, time) = (
            count(due.count as usize, "time"),
            due.since.map(|since| format!(" in the last {}", Span(since))),
        );
        let time = time.unwrap_or_default();
        match problem {
            Some((Ended { zone, told }, why)) => tracing::warn!(
                kind = "notify-out",
                count = due.count,
                %zone,
                remote = &*told.remote,
                "NOTIFY: not heard {often}{time}; the last: serial {} of zone {zone} by {}: {why}",
                told.serial,
                told.remote
            ),
            None => tracing::warn!(
                kind = "notify-out",
                count = due.count,
                "NOTIFY: left out {often}{time}, as too many are to be sent"
            ),
        }
    }
}

fn words(state: State) -> String {
    match state {
        State::Due => "to be told".into(),
        State::Waiting => "told, no response yet".into(),
        State::Told => "heard".into(),
        State::Refused(code) => format!("said {}", code_words(code)),
        State::GivenUp(None) => "no response, given up".into(),
        // Anybody could have sent it; and nothing else came.
        State::GivenUp(Some(Fault::Refused(code))) => {
            format!("said {}, unsigned, given up; compare the key of both ends", code_words(code))
        }
        State::GivenUp(Some(fault)) => format!("responses {fault}, given up"),
    }
}

/// A response code or an error of TSIG.
fn code_words(code: u16) -> String {
    match code {
        // As a response code the number is another's.
        BADSIG => "BADSIG".into(),
        code => rcode::mnemonic(code).map_or_else(|| format!("RCODE{code}"), Into::into),
    }
}

/// Starts the thread, which lives as long as there is a server.
pub(crate) fn watch(controller: &Arc<Controller>) -> io::Result<()> {
    let mut sender = Sender {
        zones: controller.catalog.reader(),
        random: Unguessable::from_system()?,
        sockets: HashMap::new(),
        used: Instant::now(),
    };
    let owner: Weak<Controller> = Arc::downgrade(controller);
    let tell = move || {
        loop {
            let Some(controller) = owner.upgrade() else { return };
            let pause = sender.turn(&controller.telling);
            drop(controller);
            std::thread::park_timeout(pause);
        }
    };
    let thread = std::thread::Builder::new().name("notify".into()).spawn(tell)?;
    let _ = controller.telling.thread.set(thread.thread().clone());
    Ok(())
}

/// What the thread owns.
struct Sender {
    zones: CatalogReader,
    random: Unguessable,
    /// By where they are bound.
    sockets: HashMap<IpAddr, UdpSocket>,
    used: Instant,
}

impl Sender {
    /// Sends what is due and takes what has come. How long it may sleep.
    fn turn(&mut self, telling: &Telling) -> Duration {
        self.receive(telling);
        let mut ended = Vec::new();
        loop {
            let now = telling.started.elapsed();
            let (due, remotes) = {
                let mut state = telling.state.lock();
                (state.notices.next(now, &mut ended), Arc::clone(&state.remotes))
            };
            let Some(due) = due else { break };
            self.send(telling, &due, remotes.get(&due.remote), now);
        }
        let mut state = telling.state.lock();
        for ended in ended {
            let why = words(ended.told.state);
            state.problem = Some((ended, why));
        }
        let (idle, is_waiting) = (state.notices.idle(telling.started.elapsed()), state.notices.is_waiting());
        drop(state);
        match idle {
            // Whoever publishes wakes it.
            None if self.used.elapsed() >= IDLE_MAX => {
                self.sockets.clear();
                Duration::from_secs(60)
            }
            None => IDLE_MAX,
            Some(idle) if is_waiting => idle.min(LOOK_PAUSE),
            Some(idle) => idle,
        }
    }

    /// Sends one. What cannot be sent counts as sent: it is tried again like what was lost.
    fn send(&mut self, telling: &Telling, due: &Due, remote: Option<&Remote>, now: Duration) {
        let Some((remote, (ttl, soa, serial))) = remote.zip(self.soa(&due.zone)) else {
            // The zone or the remote is gone.
            return telling.state.lock().notices.leave(due);
        };
        let Some(&to) = remote.addresses.get(usize::from(due.sendings) % remote.addresses.len().max(1))
        else {
            return telling.state.lock().notices.leave(due);
        };
        self.used = Instant::now();
        let id = {
            let (mut state, random) = (telling.state.lock(), &mut self.random);
            let id = state.notices.id(to, || random.next_u16());
            // The place of another is not taken, or that would be told in vain.
            let Some(id) = id else { return state.notices.put_off(due, now) };
            id
        };
        let mut message = request(&due.zone, ttl, &soa, id);
        let signed = remote.key.as_ref().and_then(|key| {
            let octets = message.len();
            message.resize(octets + key.octets(), 0);
            let (octets, mac) = key.sign(&mut message, octets, wall())?;
            message.truncate(octets);
            Some((Arc::clone(key), mac))
        });
        if let Err(error) = self.socket(remote.source, to).and_then(|socket| socket.send_to(&message, to)) {
            tracing::debug!(%error, "NOTIFY for zone {} to {to}: {error}", due.zone);
        }
        tracing::debug!(zone = %due.zone, remote = &*due.remote, serial, "NOTIFY for zone {} to {to}: serial {serial}", due.zone);
        telling.state.lock().notices.sent(due, to, id, signed, now);
    }

    /// TTL, RDATA and serial of the SOA record of a zone; `None` where it has no data.
    fn soa(&mut self, zone: &NameBuf) -> Option<(u32, Vec<u8>, u32)> {
        self.zones.with(|view| {
            let hit = view.find(&SortKey::of(zone), zone.label_count());
            let view = hit.zone().filter(|view| view.apex().eq_ignore_case(zone))?;
            let soa = view.apex_node()?.rrset(rtype::SOA)?;
            let rdata = soa.rdata(view.apex(), view.apex())?.into_iter().next()?;
            Some((soa.ttl(), rdata, view.row().serial))
        })
    }

    /// The socket for messages from `source` to an address.
    fn socket(&mut self, source: Option<IpAddr>, to: SocketAddr) -> io::Result<&UdpSocket> {
        let any =
            if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        let own = source.unwrap_or(any);
        Ok(match self.sockets.entry(own) {
            Entry::Occupied(socket) => socket.into_mut(),
            Entry::Vacant(place) => {
                // With a port that the system draws.
                let socket = UdpSocket::bind((own, 0))?;
                socket.set_nonblocking(true)?;
                place.insert(socket)
            }
        })
    }

    fn receive(&mut self, telling: &Telling) {
        let mut octets = [0; RESPONSE_OCTETS_MAX];
        for socket in self.sockets.values() {
            for _ in 0..DATAGRAMS_A_LOOK {
                let (length, from) = match socket.recv_from(&mut octets) {
                    Ok(received) => received,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // What ICMP says of one that was sent: it is tried again.
                    Err(_) => continue,
                };
                let mut state = telling.state.lock();
                let Some(ended) =
                    state.notices.receive(from, &octets[..length], telling.started.elapsed(), wall())
                else {
                    continue;
                };
                let (zone, told) = (&ended.zone, &ended.told);
                match told.state {
                    State::Told => {
                        tracing::debug!(%zone, remote = &*told.remote, "zone {zone}: {} heard of serial {}", told.remote, told.serial);
                    }
                    other => state.problem = Some((ended, words(other))),
                }
            }
        }
    }
}

/// Seconds since 1970.
fn wall() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
