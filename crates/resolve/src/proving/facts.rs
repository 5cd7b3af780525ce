//! What a validation is told: what was fetched for it, what the cache has, what was found out about zones before.
//!
//! ```text
//! standing: kept by this worker (Standings), or a proved DNSKEY RRset in the cache
//! fetched:  by sub-tasks for this very proof, or in the cache, proved or not
//! ```

use std::collections::HashMap;
use std::net::SocketAddr;

use cache::{Cache, Copied, Entry, Key, Kind, Moment, Secret, Security, Subject};
use sync::area::Work;
use validate::{Facts, Fetched, Insecurity, Response, Standing};
use wire::iana::{rcode, rtype};
use wire::rrset::{RdataListBuf, RrsetListBuf};
use wire::{Name, NameBuf};

use crate::known::lookup::{Found, Kept, Lookup};
use crate::limits::{CUT_LABELS_MAX, STANDINGS_MAX};
use crate::outcome::Outcome;
use crate::task::Task;
use crate::task::mesh::TaskId;
use crate::world::Time;

/// What a sub-task found for a proof.
pub(crate) struct Fact {
    pub name: NameBuf,
    pub rtype: u16,
    /// `None`: nobody gave an answer.
    pub found: Option<Answered>,
    /// The server that gave it, where one did just now.
    pub from: Option<SocketAddr>,
}

/// A response that was fetched.
pub(crate) struct Answered {
    pub rcode: u16,
    pub answer: RrsetListBuf,
    pub authority: RrsetListBuf,
}

impl Fact {
    /// What a task found.
    pub(crate) fn of(task: &Task, outcome: &Outcome) -> Fact {
        let found = (outcome.rcode != rcode::SERVFAIL).then(|| Answered {
            rcode: outcome.rcode,
            answer: outcome.answer.clone(),
            authority: outcome.authority.clone(),
        });
        Fact { name: Name::to_owned(&task.name), rtype: task.rtype, found, from: task.said_by }
    }

    /// Octets of what was found.
    pub(crate) fn octets(&self) -> usize {
        let lists = |found: &Answered| found.answer.room_octets() + found.authority.room_octets();
        self.name.octets().len() + self.found.as_ref().map_or(0, lists)
    }
}

/// What this worker found out about zones. Lossy: what is forgotten is proved again, mostly from what the cache has.
#[derive(Default)]
pub(crate) struct Standings {
    zones: HashMap<NameBuf, Known, Secret>,
}

struct Known {
    /// Seconds since 1970.
    until: u64,
    /// Where that is over at once, as of keys with TTL 0: the task that it was found out for, which goes by it to its end (RFC 1035 3.2.1).
    of: Option<TaskId>,
    standing: Held,
}

enum Held {
    Secure(RdataListBuf),
    Insecure(Insecurity),
}

impl Standings {
    /// Forgets everything: anchors have changed, or something was flushed.
    pub(crate) fn clear(&mut self) {
        self.zones.clear();
    }

    /// Forgets what is known of a zone.
    pub(crate) fn forget(&mut self, zone: &Name) {
        self.zones.remove(zone);
    }

    /// Whether it is known how a zone stands. `zone`: in lower case.
    pub(crate) fn has(&self, zone: &Name, wall: u64) -> bool {
        self.zones.get(zone).is_some_and(|known| known.until > wall)
    }

    fn keep(&mut self, zone: &Name, known: Known, now: u64) {
        if self.zones.len() >= STANDINGS_MAX {
            self.zones.retain(|_, known| known.until > now);
        }
        if self.zones.len() >= STANDINGS_MAX {
            self.zones.clear();
        }
        self.zones.insert(zone.to_lowercase(), known);
    }
}

/// The facts of one proof.
pub(crate) struct CacheFacts<'a> {
    pub cache: &'a Cache,
    pub time: Time,
    pub standings: &'a mut Standings,
    pub facts: &'a [Fact],
    pub copied: &'a mut Copied,
    pub kept: &'a mut Kept,
    /// For names in lower case.
    pub work: &'a Work,
    /// When the oldest of what is asked for now was.
    pub asked: Moment,
    /// Which task this is for.
    pub task: Option<TaskId>,
    /// What was found out about zones is passed over, so that all links are looked at.
    pub is_explained: bool,
}

impl Facts for CacheFacts<'_> {
    fn standing(&mut self, zone: &Name) -> Option<Standing<'_>> {
        if self.is_explained {
            return None;
        }
        let lower = lower(self.work, zone);
        let wall = self.time.wall;
        let is_good = |known: &&Known| known.until > wall || known.of.is_some() && known.of == self.task;
        if let Some(known) = self.standings.zones.get(lower).filter(is_good) {
            return Some(match &known.standing {
                Held::Secure(keys) => Standing::Secure { keys: keys.list() },
                Held::Insecure(why) => Standing::Insecure(*why),
            });
        }
        let entry = self.cache.get(&Key::rrset(lower, rtype::DNSKEY), self.copied)?;
        let is_proved = entry.kind == Kind::Data && entry.security == Security::Secure;
        (is_proved && entry.ttl_left(self.time.now).is_some())
            .then_some(Standing::Secure { keys: entry.rdatas })
    }

    fn fetched(&mut self, name: &Name, rtype: u16) -> Fetched<'_> {
        let is_it = |fact: &&Fact| fact.rtype == rtype && fact.name.eq_ignore_case(name);
        if let Some(fact) = self.facts.iter().rev().find(is_it) {
            return match &fact.found {
                None => Fetched::Failed,
                Some(found) => Fetched::Response(Response {
                    qname: &fact.name,
                    qtype: rtype,
                    rcode: found.rcode,
                    answer: found.answer.list(),
                    authority: found.authority.list(),
                }),
            };
        }
        self.kept.clear();
        let lower = name.to_lowercase();
        let lookup =
            Lookup { is_unchecked: true, is_for_proof: true, ..Lookup::new(self.cache, self.time.now) };
        let found = lookup.find(&lower, rtype, self.copied, self.kept);
        self.kept.target = Some(lower);
        let rcode = match found {
            Found::Data(_) | Found::NoData(_) | Found::Alias(_) => rcode::NOERROR,
            Found::NameError(_) => rcode::NXDOMAIN,
            Found::TooLong(_) | Found::Nothing => return Fetched::Missing,
        };
        Fetched::Response(Response {
            qname: self.kept.target.as_deref().unwrap_or(Name::root()),
            qtype: rtype,
            rcode,
            answer: self.kept.answer.list(),
            authority: self.kept.authority.list(),
        })
    }

    fn next_cut(&mut self, zone: &Name, towards: &Name) -> Option<usize> {
        let (above, labels) = (zone.label_count(), towards.label_count());
        let mut next = None;
        let mut at: &Name = lower(self.work, towards);
        for count in (above + 1..=labels).rev() {
            if count <= CUT_LABELS_MAX {
                let entry = self.cache.get(&Key::cut(at), self.copied);
                if entry.is_some_and(|entry| entry.ttl_left(self.time.now).is_some()) {
                    next = Some(count);
                }
            }
            at = at.parent()?;
        }
        next
    }

    fn keep(&mut self, zone: &Name, standing: Standing<'_>, until: u64) {
        let wall = self.time.wall;
        let standing = match standing {
            Standing::Secure { keys } => {
                self.share_keys(zone, until.saturating_sub(wall));
                Held::Secure(keys.to_buf())
            }
            Standing::Insecure(why) => Held::Insecure(why),
            Standing::Bogus { .. } => return,
        };
        let of = self.task.filter(|_| until <= wall);
        self.standings.keep(zone, Known { until, of, standing }, wall);
    }
}

/// A copy in lower case, for as long as the event lasts.
pub(crate) fn lower<'w>(work: &'w Work, name: &Name) -> &'w Name {
    let octets = work.copy(name.octets());
    // Length octets are below any letter.
    octets.make_ascii_lowercase();
    Name::trusted(octets)
}

impl CacheFacts<'_> {
    /// Other workers, and clients who ask for them, get the keys as proved ones.
    fn share_keys(&mut self, zone: &Name, seconds: u64) {
        let lower = lower(self.work, zone);
        let key = Key { name: lower, subject: Subject::Unchecked(rtype::DNSKEY) };
        let now = self.time.now;
        let fact = self.facts.iter().rev().find(|fact| fact.rtype == rtype::DNSKEY && *fact.name == *lower);
        let of_fact = fact.and_then(|fact| fact.found.as_ref()).and_then(|found| {
            let set = found.answer.list().iter().find(|set| set.rtype == rtype::DNSKEY)?;
            Some((set.rdatas, set.signatures, set.ttl))
        });
        let mut copied = Copied::new();
        let (rdatas, signatures, ttl) = match of_fact {
            Some(found) => found,
            None => match self.cache.get(&key, &mut copied).filter(|entry| entry.kind == Kind::Data) {
                Some(entry) => (entry.rdatas, entry.signatures, entry.ttl_left(now).unwrap_or(0)),
                None => return,
            },
        };
        let entry = Entry {
            security: Security::Secure,
            zone_labels: zone.label_count() as u8,
            signatures,
            ..Entry::data(rdatas, now, ttl.min(seconds.min(u64::from(u32::MAX)) as u32))
        };
        if entry.ttl > 0 && !rdatas.is_empty() {
            self.cache.put(&Key::rrset(lower, rtype::DNSKEY), &entry, self.asked, now);
        }
    }
}
