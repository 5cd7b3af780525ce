//! One thing that is being found out: a name and type, the chain of aliases from there included.
//!
//! ```text
//! begin (for a client, for nobody, for another task) -> mesh: every task, each in one state (state), by zone and by client (lists)
//!   budget: what the question of a client may cost     payers: who pays now     deserted: nobody waits any more
//! -> finish: who waits is told                         spare: its memory, for the next     ebb: tables, after a flood
//! ```

pub(crate) mod begin;
pub(crate) mod budget;
mod deserted;
mod ebb;
mod finish;
pub(crate) mod lists;
pub(crate) mod mesh;
mod payers;
pub(crate) mod spare;
pub(crate) mod state;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use cache::{Moment, Security};
use wire::Name;
use wire::name::NameRoom;
use wire::rrset::RrsetListBuf;

use crate::ask::exchange::ExchangeId;
use crate::ask::inquiry::InquiryId;
use crate::ask::minimise::Minimiser;
use crate::ask::target::Candidates;
use crate::explain::Story;
use crate::limits::OPEN_MAX;
use crate::outcome::{Outcome, Waiter};
use crate::proving::Proof;
use crate::task::budget::BudgetId;
use crate::task::mesh::TaskId;
use crate::task::state::State;

/// Why a task was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A client asked.
    Question,
    /// Something is about to expire, or was given stale.
    Prefetch,
    /// The address of a name server.
    Address,
    /// DNSKEY or DS for a proof.
    Trust,
    /// DNSKEY that a proof will need.
    Ahead,
    /// The root's servers.
    Priming,
}

/// Who says what is asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Servers of a zone cut that was learned.
    Cut,
    /// The root hints.
    Hints,
    /// Servers that settings name for a zone, by number: they are authoritative.
    Stub(u16),
    /// The same: they resolve for us.
    Forward(u16),
    /// A copy of the zone in this process.
    Mirror,
}

/// Where a task is: the zone whose servers it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its apex; the root while nothing is known.
    pub zone: NameRoom,
    /// When the delegation ends: what is delegated below ends then at the latest.
    pub end: Moment,
    /// Who are its servers.
    pub source: Source,
}

/// A client who waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub waiter: Waiter,
    /// Under what the work for it is counted.
    pub client: u64,
    /// What it may cost.
    pub budget: BudgetId,
}

/// A name and type that are being found out, the aliases on the way included. With all that it owns at most 4 KiB, but for long chains of signed aliases and responses that are being validated.
pub(crate) struct Task {
    /// What is found out.
    pub name: NameRoom,
    pub rtype: u16,
    /// Nothing is validated (CD).
    pub is_unchecked: bool,
    /// Whoever waited has what he gets, and it goes on for those who ask later.
    pub is_for_cache: bool,
    /// Somebody was given what is stale, and who joins gets that too.
    pub has_given_stale: bool,
    /// Nobody wants it, and it waits for late answers alone.
    pub is_lingering: bool,
    /// Something it needs was not fetched, as nobody waited any more.
    pub is_cut_short: bool,
    /// What the cache has of it is passed over: it is to be learned anew.
    pub is_refresh: bool,
    pub purpose: Purpose,
    /// Of keys that were asked for ahead: the task whose proof will need them.
    pub ahead_of: Option<TaskId>,
    /// Who pays now: one of those who wait.
    pub budget: BudgetId,
    /// How many tasks wait for it one below the other.
    pub depth: u8,
    pub begun: Moment,
    /// When who waits gets what is stale.
    pub stale_at: Option<Moment>,
    /// When to look again though nothing happened.
    pub again_at: Option<Moment>,
    /// The busy server that it stands in line for.
    pub queued_at: Option<SocketAddr>,
    pub waiters: Vec<Waiting>,
    pub parents: Vec<TaskId>,
    pub children: Vec<TaskId>,

    pub state: State,
    /// The name of now: the last of the chain of aliases.
    pub qname: NameRoom,
    pub place: Place,
    pub candidates: Candidates,
    /// What is asked of these servers, with labels left out or not.
    pub minimiser: Minimiser,
    /// Questions without a response yet, the newest last.
    pub open: [Option<ExchangeId>; OPEN_MAX],
    /// Wrong answers from the right places.
    pub near_misses: u8,
    /// How often anybody had been heard at its begin.
    pub heard_before: u64,
    /// How often somebody had kept silent by then.
    pub silent_before: u64,
    /// Why everything goes over streams at this place.
    pub over_stream: Option<OverStream>,
    /// The case of letters is not looked at: a server changes it and does not answer over TCP.
    pub is_case_plain: bool,
    /// The question that this task asks for all who have the same.
    pub leads: Option<InquiryId>,
    pub aliases: u8,
    pub referrals: u8,
    pub steps: u16,
    /// Questions since the last step ahead.
    pub questions: u8,
    /// Responses of this zone's servers that validation rejected.
    pub bogus: u8,
    /// A server gave what it had from others, and was passed over; such an answer is taken now.
    pub second_hand: (bool, bool),
    /// What a proof will need of this place was asked for, or is there.
    pub has_asked_keys: bool,
    /// The root's servers were sought once.
    pub is_primed: bool,
    /// The aliases so far.
    pub chain: RrsetListBuf,
    pub chain_octets: usize,
    /// The least of what they are.
    pub chain_security: Option<Security>,
    /// NSEC and NSEC3 that belong to them.
    pub chain_proofs: RrsetListBuf,
    /// Why a part of it counts as not signed though it is, as an extended error.
    pub unsigned_ede: Option<u16>,
    /// What failed last, as an extended error.
    pub ede: Option<u16>,
    pub proof: Option<Box<Proof>>,
    /// Who gave what it came to, where that was a server.
    pub said_by: Option<SocketAddr>,
    /// Servers that gave what was bogus: others are asked first. [`MIRROR`] stands for mirrors, which are not asked at all then.
    pub avoided: Vec<SocketAddr>,
    /// The forward zone that failed and is not used for the name of now.
    pub passed_over: Option<u16>,
    /// When the forwarders of now were asked first, where others stand beside them (*forward-first*).
    pub forwarded_at: Option<Moment>,
    /// The cache was looked through just now, and has nothing of the name.
    pub is_missed: bool,
    /// Room for what it comes to.
    pub outcome: Option<Box<Outcome>>,
    /// What happens is written down for people: what the cache has is passed over.
    pub story: Option<Box<Story>>,
}

/// A moment that never comes: the end of what is configured.
pub(crate) const NEVER: Moment = Moment(u64::MAX);

/// The address of no server: it stands for mirrors of this process where servers are told apart.
pub(crate) const MIRROR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Why a question goes over a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverStream {
    /// The response was cut off.
    Truncated,
    /// The letters came back in another case.
    Case,
    /// Wrong answers came.
    Guessed,
    /// The cookie is not liked, or does not come back.
    Cookie,
}

impl Task {
    /// A task at its begin.
    pub(crate) fn new(name: &Name, rtype: u16, purpose: Purpose, budget: BudgetId, begun: Moment) -> Task {
        let rooms = [name.into(), name.into(), NameRoom::new()];
        Task::in_rooms(rooms, rtype, purpose, budget, begun)
    }

    /// The same with its names in these rooms: twice its own, and that of its zone, the root.
    fn in_rooms(
        [name, qname, zone]: [NameRoom; 3],
        rtype: u16,
        purpose: Purpose,
        budget: BudgetId,
        begun: Moment,
    ) -> Task {
        Task {
            name,
            rtype,
            is_unchecked: false,
            is_for_cache: false,
            has_given_stale: false,
            is_lingering: false,
            is_cut_short: false,
            is_refresh: false,
            purpose,
            ahead_of: None,
            budget,
            depth: 0,
            begun,
            stale_at: None,
            again_at: None,
            queued_at: None,
            waiters: Vec::new(),
            parents: Vec::new(),
            children: Vec::new(),
            state: State::Start,
            qname,
            place: Place { zone, end: NEVER, source: Source::Hints },
            candidates: Candidates::default(),
            minimiser: Minimiser::new(),
            open: [None; OPEN_MAX],
            near_misses: 0,
            heard_before: 0,
            silent_before: 0,
            over_stream: None,
            is_case_plain: false,
            leads: None,
            aliases: 0,
            referrals: 0,
            steps: 0,
            questions: 0,
            bogus: 0,
            second_hand: (false, false),
            has_asked_keys: false,
            is_primed: false,
            chain: RrsetListBuf::new(),
            chain_octets: 0,
            chain_security: None,
            chain_proofs: RrsetListBuf::new(),
            unsigned_ede: None,
            ede: None,
            proof: None,
            said_by: None,
            avoided: Vec::new(),
            passed_over: None,
            forwarded_at: None,
            is_missed: false,
            outcome: None,
            story: None,
        }
    }

    /// Whether mirrors are of no use: one gave what was bogus, or nothing that helps.
    pub(crate) fn passes_mirrors(&self) -> bool {
        self.avoided.contains(&MIRROR)
    }

    /// Goes without mirrors from now on.
    pub(crate) fn pass_mirrors(&mut self) {
        if !self.passes_mirrors() {
            self.avoided.push(MIRROR);
        }
    }

    /// Becomes a task at its begin, with the memory of the one that it was.
    pub(crate) fn renew(
        &mut self,
        name: &Name,
        rtype: u16,
        purpose: Purpose,
        budget: BudgetId,
        begun: Moment,
    ) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let waiters = std::mem::take(&mut self.waiters);
        let outcome = self.outcome.take();
        let mut rooms = [self.name.take(), self.qname.take(), self.place.zone.take()];
        rooms.iter_mut().zip([name, name, Name::root()]).for_each(|(room, name)| room.set(name));
        let begun = Task::in_rooms(rooms, rtype, purpose, budget, begun);
        *self = Task { candidates, waiters, outcome, ..begun };
    }

    /// Whether it stands in line for a busy server.
    pub(crate) fn is_in_line(&self, server: &SocketAddr) -> bool {
        self.queued_at == Some(*server) && self.state == State::Choosing
    }

    /// Octets that it takes, with all that it owns.
    #[cfg(test)]
    pub(crate) fn octets(&self) -> usize {
        size_of::<Task>()
            + self.name.room_octets()
            + self.qname.room_octets()
            + self.place.zone.room_octets()
            + self.candidates.octets()
            + self.chain_octets
            + self.waiters.capacity() * size_of::<Waiting>()
            + self.avoided.capacity() * size_of::<SocketAddr>()
            + (self.parents.capacity() + self.children.capacity()) * size_of::<TaskId>()
    }
}
