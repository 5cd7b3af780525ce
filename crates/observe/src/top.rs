//! Who asks most and for what, kept while somebody looks.
//!
//! ```text
//! observer -> Top: a sample -> names, parents of names that do not exist, names that got SERVFAIL, clients, zones (a sketch each), and how long its answer took
//!                                ^
//! whoever looks -> Lookout ------'   nobody for LOOK_PATIENCE: it ends
//! ```
//!
//! What it costs workers is bounded by the second, not by the query: [`sampling`] has of few queries all and of many few.

mod sampling;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sync::Mutex;
use sync::tap::Wants;
use wire::Address;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::rcode;
use wire::name::NameRoom;

use self::sampling::Sampling;
use crate::Zones;
use crate::observer::Consumer;
use crate::seen::{Question, Seen};
use crate::sketch::{NameKey, SKETCH_ENTRIES, Sketch};
use crate::times::{Times, Took};
use crate::told::{Outcome, Told};

/// How long it goes on without a look: less would have whoever looks every few seconds begin with nothing each time, more would cost workers for nobody.
pub const LOOK_PATIENCE: Duration = Duration::from_secs(5);

/// A header, the longest name, type and class: EDNS is not looked at.
const QUERY_OCTETS: u16 = HEADER_OCTETS as u16 + 255 + 4;

/// Octets of memory while somebody looks, roughly: entries of the five sketches, each with its key in the list and in the table.
const OCTETS: usize = 5 * SKETCH_ENTRIES * (2 * size_of::<NameKey>() + 4 * size_of::<u64>());

/// A client: an address of IPv4, or the /64 of one of IPv6, in which each host has as many as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Client(IpAddr);

impl Client {
    fn of(address: &Address) -> Client {
        Client(match address.ip().to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
            ip => ip,
        })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(ip) => ip.fmt(f),
            IpAddr::V6(ip) => write!(f, "{ip}/64"),
        }
    }
}

/// What is kept.
struct Kept {
    names: Sketch<NameKey>,
    missing: Sketch<NameKey>,
    failed: Sketch<NameKey>,
    clients: Sketch<Client>,
    zones: Sketch<NameKey>,
    took: Times,
    samples: u64,
    one_in: u32,
    began: Instant,
    /// When somebody looked last.
    looked: Instant,
}

/// What is seen of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// For how long it has been counted.
    pub counted_for: Duration,
    /// Queries that were taken, since then.
    pub samples: u64,
    /// One in so many is taken now.
    pub one_in: u32,
    /// What was asked for.
    pub names: Most,
    /// Names right above those that do not exist.
    pub missing: Most,
    /// Names of which it was said that something could not be found out, or is not to be believed (SERVFAIL).
    pub failed: Most,
    /// Who asked.
    pub clients: Most,
    /// Zones of this server that the names are in.
    pub zones: Most,
    /// How long answers took that waited for nobody, from when their batch was taken off its socket until it was rendered.
    pub took: Took,
}

/// The most frequent of a kind. Counts fade by half in [`crate::sketch::HALF_LIFE`].
#[derive(Clone, Debug, PartialEq)]
pub struct Most {
    /// All that was counted of the kind.
    pub sum: f64,
    /// Those with the greatest counts first.
    pub each: Vec<Counted>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Who, or what, as text without anything but letters, digits and signs.
    pub key: String,
    /// Queries; never less than there were.
    pub count: f64,
    /// By how much that may be more than there were.
    pub error: f64,
}

impl Kept {
    fn new(now: Instant) -> Kept {
        Kept {
            names: Sketch::new(now),
            missing: Sketch::new(now),
            failed: Sketch::new(now),
            clients: Sketch::new(now),
            zones: Sketch::new(now),
            took: Times::new(now),
            samples: 0,
            one_in: sampling::ONE_IN_FIRST,
            began: now,
            looked: now,
        }
    }

    /// Begins anew, for whoever looks already.
    fn forget(&mut self, now: Instant) {
        *self = Kept { looked: self.looked, ..Kept::new(now) };
    }

    fn looked(&self, count: usize, now: Instant) -> Looked {
        Looked {
            counted_for: now.saturating_duration_since(self.began),
            samples: self.samples,
            one_in: self.one_in,
            names: most(&self.names, count, now),
            missing: most(&self.missing, count, now),
            failed: most(&self.failed, count, now),
            clients: most(&self.clients, count, now),
            zones: most(&self.zones, count, now),
            took: self.took.took(now),
        }
    }
}

fn most<K: Clone + Eq + std::hash::Hash + fmt::Display>(
    sketch: &Sketch<K>,
    count: usize,
    now: Instant,
) -> Most {
    let most = sketch.most(count, now).into_iter();
    let each = most.map(|one| Counted { key: one.key.to_string(), count: one.count, error: one.error });
    Most { sum: sketch.sum(now), each: each.collect() }
}

/// Where people look from.
pub struct Lookout {
    /// None while nobody looks.
    kept: Arc<Mutex<Option<Kept>>>,
}

impl Default for Lookout {
    fn default() -> Lookout {
        Lookout { kept: Arc::new(Mutex::named("top", None)) }
    }
}

impl Lookout {
    /// What there is now, at most so many of each kind. `None`: nothing is kept, [`Lookout::begin`] has it kept from then on.
    pub fn look(&self, count: usize, now: Instant) -> Option<Looked> {
        let mut kept = self.kept.lock();
        let kept = kept.as_mut()?;
        kept.looked = now;
        Some(kept.looked(count, now))
    }

    /// A consumer for the observer, which keeps what is seen from here.
    #[must_use]
    pub fn begin(&self, zones: Box<dyn Zones>, now: Instant) -> Top {
        *self.kept.lock() = Some(Kept::new(now));
        let kept = Arc::clone(&self.kept);
        Top { kept, zones, zone: NameRoom::new(), sampling: Sampling::new(now), now, is_over: false }
    }

    /// Octets of memory that it takes.
    pub fn octets(&self) -> usize {
        if self.kept.lock().is_some() { OCTETS } else { 0 }
    }
}

/// Counts samples, until nobody looks any more.
pub struct Top {
    kept: Arc<Mutex<Option<Kept>>>,
    zones: Box<dyn Zones>,
    zone: NameRoom,
    sampling: Sampling,
    /// When the round before ended: samples are of one round, and a look at the clock for each is dear.
    now: Instant,
    is_over: bool,
}

impl Consumer for Top {
    /// Of the response no more than what became of the query.
    fn wants(&self) -> Wants {
        Wants {
            one_in: self.sampling.one_in(),
            query_octets: QUERY_OCTETS,
            response_octets: HEADER_OCTETS as u16,
            others: false,
        }
    }

    fn is_urgent(&self) -> bool {
        false
    }

    fn take(&mut self, told: &Told<'_>) {
        let question = Seen::of(told.query).map(|seen| seen.question);
        let asks = match question {
            Some(Question::Asks { name, qtype, .. }) => Some((name, qtype)),
            _ => None,
        };
        let is_new = !matches!(told.outcome, Outcome::AnsweredLate | Outcome::Ended(_));
        // Nothing is held while the catalog is read.
        let zone = asks.filter(|(name, qtype)| is_new && self.zones.find(name, *qtype, &mut self.zone));
        let zone = zone.map(|_| NameKey::of(&self.zone));
        let (times, now) = (f64::from(told.one_in), self.now);
        let mut kept = self.kept.lock();
        let Some(kept) = kept.as_mut() else { return };
        if let Some(parent) =
            asks.filter(|_| is_name_error(told.response)).and_then(|(name, _)| name.parent())
        {
            kept.missing.add(&NameKey::of(parent), times, now);
        }
        if let Some((name, _)) = asks.filter(|_| code(told.response) == Some(rcode::SERVFAIL)) {
            kept.failed.add(&NameKey::of(name), times, now);
        }
        // What is told once more was counted when it came.
        if !is_new {
            return;
        }
        self.sampling.taken();
        kept.samples += 1;
        if let Some((name, _)) = asks {
            kept.names.add(&NameKey::of(name), times, now);
        }
        if let Some(asked) = told.asked {
            kept.clients.add(&Client::of(&asked.client), times, now);
            if told.outcome == Outcome::Answered {
                kept.took.add(told.answered.saturating_sub(asked.at), times, now);
            }
        }
        if let Some(zone) = zone {
            kept.zones.add(&zone, times, now);
        }
    }

    fn hand_over(&mut self, now: Instant) {
        self.now = now;
        let before = self.sampling.one_in();
        self.sampling.adapt(now);
        let one_in = self.sampling.one_in();
        let mut place = self.kept.lock();
        let Some(kept) = place.as_mut() else { return };
        // Those taken before anything is known of the rate stand for too many: where little is asked, one of them would be a tenth of what is seen.
        if one_in < before && !self.sampling.is_settled() {
            kept.forget(now);
        }
        kept.one_in = one_in;
        // With the lock: whoever looks after this finds nothing, and begins anew.
        if now.saturating_duration_since(kept.looked) > LOOK_PATIENCE {
            *place = None;
            self.is_over = true;
        }
    }

    fn flush(&mut self) {}

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Drop for Top {
    /// One that goes for another reason is not looked at either. After one that has ended by itself there may be another.
    fn drop(&mut self) {
        if !self.is_over {
            *self.kept.lock() = None;
        }
    }
}

/// Whether this is the head of a response that says that the name asked for does not exist. Where there are answers it is the end of a chain of aliases that does not (RFC 6604 3).
fn is_name_error(response: &[u8]) -> bool {
    code(response) == Some(rcode::NXDOMAIN) && header::u16_at(response, 6) == 0
}

/// The code in the head of a response; `None`: it is none.
fn code(response: &[u8]) -> Option<u16> {
    (response.len() >= HEADER_OCTETS).then(|| header::u16_at(response, 2) & 0xf)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
