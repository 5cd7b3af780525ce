//! Something found out anew from the root on, with all that is said on the way written down: for people (`zonda ctl explain`).
//!
//! ```text
//! explain -> task with a Story: zones entered | who said what | time-outs | links of the chain of trust
//!   its sub-tasks (addresses, DS, DNSKEY) have stories too, which become a part of it, indented, when they end
//! the end -> Told: number of who wanted it, lines, outcome
//! ```
//!
//! What the cache has of data, cuts and zones that were proved is passed over; DS and DNSKEY RRsets that it has are taken, and verified again.

use std::net::SocketAddr;

use cache::{Copied, Security};
use validate::verdict::{Break, Finding};
use validate::{Facts, Fault, Fetched, Verdict};
use wire::iana::{ede, rcode, rtype};
use wire::rrset::{RdataList, Rrset};
use wire::{Name, NameBuf};

use crate::ask::exchange::Exchange;
use crate::known::lookup::Kept;
use crate::limits::{EXPLAINED_MAX, STORY_LINES_MAX};
use crate::outcome::{Ask, Outcome};
use crate::proving::Proof;
use crate::proving::facts::{CacheFacts, Standings};
use crate::resolver::{Refused, Resolver};
use crate::response::{Kind, Lame, Mismatch, Reply};
use crate::task::state::State;
use crate::task::{MIRROR, Purpose, Source, Task};
use crate::world::World;

/// What was written down.
#[derive(Clone, Debug)]
pub struct Told {
    /// The number that it was wanted under.
    pub number: u64,
    /// In the order in which it happened; what belongs to a sub-task is indented.
    pub lines: Vec<String>,
    /// What it came to.
    pub outcome: Outcome,
}

/// What is written down of a task.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// Who wants it; none for sub-tasks.
    number: Option<u64>,
    lines: Vec<String>,
}

impl Resolver {
    /// Finds something out anew, for [`Resolver::told`]. `number`: by which the caller knows it again.
    pub fn explain(&mut self, ask: &Ask<'_>, number: u64, world: &mut dyn World) -> Result<(), Refused> {
        self.turn(world);
        if rtype::is_meta(ask.rtype) {
            return Err(Refused::Meta);
        }
        if self.explained >= EXPLAINED_MAX {
            return Err(Refused::Crowded);
        }
        self.make_room(world)?;
        let now = self.time.now;
        let budget = self.budgets.begin(now);
        let mut task = Box::new(Task::new(ask.name, ask.rtype, Purpose::Question, budget, now));
        task.is_unchecked = ask.checking_disabled && self.settings.is_validating;
        task.is_refresh = true;
        task.story = Some(Box::new(Story { number: Some(number), lines: Vec::new() }));
        self.explained += 1;
        self.insert(task);
        self.run(world);
        Ok(())
    }

    /// One that has come to its end, once.
    pub fn told(&mut self) -> Option<Told> {
        self.stories.pop()
    }

    /// The end of a task that was written down.
    pub(crate) fn end_story(&mut self, task: &mut Task, outcome: &Outcome) {
        let Some(number) = task.story.as_ref().and_then(|story| story.number) else { return };
        let Some(story) = task.story.take() else { return };
        self.explained -= 1;
        self.stories.push(Told { number, lines: story.lines, outcome: outcome.clone() });
    }

    /// A time-out.
    pub(crate) fn note_silence(&self, task: &mut Task) {
        if task.story.is_none() {
            return;
        }
        let (State::Asking { exchange, .. } | State::Streaming { exchange, .. }) = task.state else { return };
        let Some(Exchange { server, name, rtype, .. }) = self.exchanges.get(exchange) else { return };
        let line =
            format!("{server} does not answer about {} {} in time", name.to_lowercase(), rtype::Text(*rtype));
        task.note(|| line);
    }

    /// An answer.
    pub(crate) fn note_reply(&self, task: &mut Task, exchange: &Exchange, reply: &Reply) {
        let milliseconds = self.time.now.ms_since(exchange.sent);
        task.note(|| {
            let Exchange { server, name, rtype, .. } = exchange;
            let over = if exchange.way_is_stream() { " over a stream" } else { "" };
            let (name, rtype) = (name.to_lowercase(), rtype::Text(*rtype));
            let error = reply.ede.map(|code| format!(", {}", Error(code))).unwrap_or_default();
            if *server == MIRROR {
                return format!("the mirror here says about {name} {rtype}: {}{error}", said(reply));
            }
            format!("{server} says{over} about {name} {rtype}: {}{error} ({milliseconds} ms)", said(reply))
        });
    }

    /// What a response is worth, and all that was looked at to see that.
    pub(crate) fn note_verdict(&self, task: &mut Task, proof: &Proof, verdict: &Verdict, world: &dyn World) {
        if task.story.is_none() {
            return;
        }
        let worth = match verdict.security {
            validate::Security::Secure => "secure",
            validate::Security::Bogus => "bogus",
            _ => "insecure",
        };
        let why = verdict.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line =
            format!("validation of {} {}: {worth}{why}", task.qname, rtype::Text(proof.exchange.rtype));
        task.note(|| line);
        for link in proof.validation.trail() {
            task.note(|| format!("  {link}"));
            if link.rtype == rtype::DS && matches!(link.finding, Finding::Insecure(_)) {
                self.note_denial(task, &link.name, proof, world);
            }
        }
    }

    /// What a forward zone says is bogus, by what signed zones above it say. Where it is private that is as it has to be, and its operator can say so.
    pub(crate) fn note_private(&self, task: &mut Task, broken: &Break, world: &mut dyn World) {
        let Source::Forward(number) = task.place.source else { return };
        let Some(zone) = self.settings.zones.get(usize::from(number)).map(|zone| zone.name.clone()) else {
            return;
        };
        // Of the root, or where a signature is merely wrong, it is no private zone.
        if zone.is_root() || !broken.name.is_at_or_below(&zone) || !is_as_of_a_private_zone(broken.fault) {
            return;
        }
        task.note(|| {
            format!(
                "forward zone {zone} is below a signed zone, which proves that {zone} does not exist or is signed by other keys: if it is private, add `insecure = [\"{zone}\"]` to [resolver]"
            )
        });
        world.unproved(&zone);
    }

    /// What proves that a zone has no DS.
    fn note_denial(&self, task: &mut Task, zone: &Name, proof: &Proof, world: &dyn World) {
        let mut facts = CacheFacts {
            cache: world.cache(),
            time: self.time,
            standings: &mut Standings::default(),
            facts: &proof.facts,
            copied: &mut Copied::new(),
            kept: &mut Kept::default(),
            work: &self.scratch.work,
            asked: task.begun,
            task: None,
            is_explained: true,
        };
        let Fetched::Response(response) = facts.fetched(zone, rtype::DS) else { return };
        let proves = |set: &Rrset<'_>| matches!(set.rtype, rtype::NSEC | rtype::NSEC3);
        for set in response.authority.iter().filter(proves) {
            let signer = set.signatures.iter().next().and_then(|rdata| rdata.get(SIGNER_AT..));
            let signer = signer.and_then(|rdata| Name::split_from(rdata).ok()).map(|(name, _)| name);
            let by = signer.map(|name| format!(", signed by {}", name.to_lowercase())).unwrap_or_default();
            task.note(|| format!("    proved by {} {}{by}", set.owner, rtype::Text(set.rtype)));
        }
    }
}

/// Where the signer's name begins in RRSIG RDATA (RFC 4034 3.1).
const SIGNER_AT: usize = 18;

/// Whether the zones above may know nothing of the zone that says something so wrong: it is not signed, or by keys that nobody above points at.
fn is_as_of_a_private_zone(fault: Fault) -> bool {
    use Fault::{DenialMissing, KeyMissing, NoMatchingKey, SignatureMissing, WrongSigner};
    matches!(fault, SignatureMissing | WrongSigner | KeyMissing | NoMatchingKey | DenialMissing)
}

impl Task {
    /// Writes a line down where that is wanted.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story
            && story.lines.len() < STORY_LINES_MAX
        {
            story.lines.push(line());
        }
    }

    /// The servers of a zone cut are asked from now on.
    pub(crate) fn note_cut(&mut self, zone: &Name, servers: RdataList<'_>) {
        self.note(|| {
            let names = servers.iter().filter_map(|rdata| Name::from_wire(rdata).ok());
            let names: Vec<String> = names.map(|name| name.to_lowercase().to_string()).collect();
            format!("zone {zone} has the servers {}", names.join(", "))
        });
    }

    /// Something came that does not count as an answer.
    pub(crate) fn note_mismatch(&mut self, server: &SocketAddr, why: Mismatch) {
        self.note(|| {
            let what = match why {
                Mismatch::Malformed => "what is no response that can be read",
                Mismatch::Id => "a response with another ID",
                Mismatch::Question => "a response to another question",
                Mismatch::Case => {
                    "a response with letters in other case than asked; it is asked again over TCP"
                }
                Mismatch::Cookie => "a response without the right cookie; it is asked again over TCP",
            };
            format!("from {server} comes {what}")
        });
    }

    /// What a sub-task has come to.
    pub(crate) fn note_child(&mut self, child: &Task, outcome: &Outcome) {
        self.note(|| {
            let (name, rtype) = (&child.name, rtype::Text(child.rtype));
            let began = if child.story.is_some() { "" } else { ", sought for others already" };
            format!("for that, {name} {rtype}{began}: {}", Outcome::words(outcome))
        });
        let (Some(story), Some(of_child)) = (&mut self.story, &child.story) else { return };
        let room = STORY_LINES_MAX.saturating_sub(story.lines.len());
        story.lines.extend(of_child.lines.iter().take(room).map(|line| format!("  {line}")));
    }
}

impl Outcome {
    /// What it is, in a few words.
    fn words(&self) -> String {
        let rcode = rcode::mnemonic(self.rcode).map_or_else(|| self.rcode.to_string(), str::to_owned);
        let kept =
            if self.rcode == rcode::NOERROR && self.answer.list().is_empty() { ", no data" } else { "" };
        let errors = self.edes.iter().flatten().map(|code| format!(", {}", Error(*code)));
        let of_security = match self.security {
            Some(Security::Bogus) => ", bogus",
            _ => "",
        };
        format!("{rcode}{kept}{of_security}{}", errors.collect::<String>())
    }
}

/// An extended error (RFC 8914) with its number.
struct Error(u16);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EDE {}", self.0)?;
        ede::mnemonic(self.0).map_or(Ok(()), |words| write!(f, " ({words})"))
    }
}

/// What an answer is.
pub(crate) fn said(reply: &Reply) -> String {
    let name = || reply.name().to_lowercase();
    let referred =
        || reply.referral.list().iter().next().map_or_else(NameBuf::root, |set| set.owner.to_owned());
    match reply.kind {
        Kind::Answer => "data".into(),
        Kind::Alias => format!("an alias of {}", name()),
        Kind::NoData => format!("{} has no such data", name()),
        Kind::NameError => format!("there is no {}", name()),
        Kind::Exists => "the name is there".into(),
        Kind::Referral => format!("zone {} is delegated", referred().to_lowercase()),
        Kind::TooLong => "an alias that is too long".into(),
        Kind::Truncated => "more than a datagram holds".into(),
        Kind::Lame(why) => format!("nothing that helps: {}", words(why)),
        _ => rcode::mnemonic(reply.rcode).map_or_else(|| reply.rcode.to_string(), str::to_owned),
    }
}

/// Why a response leads nowhere.
fn words(why: Lame) -> &'static str {
    match why {
        Lame::Malformed => "it cannot be read",
        Lame::Excess => "it has more records than are looked at",
        Lame::Empty => "neither data nor a denial nor a referral",
        Lame::Upward => "a referral to a zone above",
        Lame::Itself => "a referral to the zone itself",
        Lame::Sideways => "a referral to a zone that the name is not in",
        Lame::Other => "data of other names or types",
        Lame::Child => "DS is denied by the zone below, which does not have it",
        Lame::Crowd => "a referral to more servers than any zone has",
    }
}
