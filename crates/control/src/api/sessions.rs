//! Who has signed in at the page: with a key, or with a code that `zonda ctl page` printed.
//!
//! ```text
//! key  --.            secret: 64 random octets, told once
//!         >- sign in -> hash, key, times -> each ask: whose, what of the key's verbs only reads
//! code --'            ends: idle, total, out, key gone, another in its place
//! ```
//!
//! Of secrets and codes there are the hashes, each of its purpose. Times are by the monotonic clock, but for a key's expiry. A session is there as long as its key is, with
//! the same settings. Of the one thread of the API. Design: `docs/design/page.md` 4.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::frame::{
    Ask, Asked, Ending, Item, Piece, Run, SESSION_NAME_OCTETS_MAX, SESSION_OCTETS, Secret, Session, Until,
    Who,
};
use api::letters;
use sha2::{Digest, Sha256};

use super::judge::No;
use super::keys::HASH_OCTETS;
use super::reading::frame;
use super::{Key, Keys};
use crate::settings::Settings;

/// What hashes are of, before what is secret: none is a hash of anything else.
const PURPOSE_OF_SESSIONS: &[u8] = b"zonda page session\0";
const PURPOSE_OF_CODES: &[u8] = b"zonda page code\0";

/// Sessions of keys: more than people who look at one server.
const SESSIONS_MAX: usize = 64;
/// Of these, of one key: who shares one, with some browsers each.
const SESSIONS_A_KEY: usize = 8;
/// Sessions of codes, beside those: customers push no operator out.
const SESSIONS_OF_CODES: usize = 8;
/// Codes that nobody has given yet.
const CODES_MAX: usize = 16;
/// Random octets of a code, 43 letters: nobody guesses one in its time.
const CODE_OCTETS: usize = 32;
/// How long a code is good: from one window to another one, with a tunnel between.
pub(crate) const CODE_TIME: Duration = Duration::from_secs(120);
/// Times in a minute that a key, or all codes, may sign in: a program that signs in for each ask pushes out who looks.
const SIGN_INS_A_MINUTE: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Asks of one session at once: what two windows ask for when one view follows another; a browser has six connections.
pub(super) const ASKS_AT_ONCE: usize = 12;
/// From one ask of a session to the next, and how far ahead of that it may be: a view takes six asks, polls one in two seconds, and nobody who looks
/// goes through ten views in a second.
const TURN: Duration = Duration::from_millis(125);
const AHEAD: Duration = Duration::from_secs(8);

type Hash = [u8; HASH_OCTETS];

/// What time it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// In seconds since 1970, by which keys expire.
    pub(super) wall: u64,
    /// By a clock that is never set.
    pub(super) at: Instant,
}

/// A code that was printed.
pub(crate) struct Code {
    hash: Hash,
    until: Instant,
}

impl Code {
    /// A new one, and its letters. The error: the system has no random numbers.
    pub(crate) fn new(now: Instant) -> std::io::Result<(Code, String)> {
        let mut octets = [0; CODE_OCTETS];
        sync::random::fill_from_system(&mut octets)?;
        let text = letters::from_octets(&octets);
        Ok((Code { hash: hash_of(PURPOSE_OF_CODES, text.as_bytes()), until: now + CODE_TIME }, text))
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Sessions(RefCell<Table>);

#[derive(Default)]
struct Table {
    /// `None`: there is no page.
    page: Option<Page>,
    /// In the order in which they began.
    signed_in: Vec<SignedIn>,
    /// In the order in which they were printed.
    codes: VecDeque<Code>,
    /// Which keys have signed in within a minute, and when.
    lately: Vec<(Hash, Instant)>,
}

/// What settings say of the page.
struct Page {
    name: Box<str>,
    idle: Duration,
    total: Duration,
}

/// A session.
struct SignedIn {
    hash: Hash,
    /// With what of its verbs only reads.
    key: Arc<Key>,
    began: Instant,
    /// When a person did something.
    used: Instant,
    /// When its next ask would be due, were they spread evenly.
    turn: Instant,
}

impl SignedIn {
    /// Takes a turn. False: it has asked too often of late.
    fn take_turn(&mut self, now: Instant) -> bool {
        let turn = self.turn.max(now);
        let is_its = turn.saturating_duration_since(now) < AHEAD;
        if is_its {
            self.turn = turn + TURN;
        }
        is_its
    }

    fn is_over(&self, page: &Page, now: Instant) -> bool {
        now.saturating_duration_since(self.used) >= page.idle
            || now.saturating_duration_since(self.began) >= page.total
    }

    fn until(&self, page: &Page, now: Instant) -> Until {
        let left = |since: Instant, time: Duration| {
            let left = time.saturating_sub(now.saturating_duration_since(since));
            u32::try_from(left.as_secs()).unwrap_or(u32::MAX)
        };
        let total = left(self.began, page.total);
        Until { idle: left(self.used, page.idle).min(total), left: total }
    }
}

impl Sessions {
    /// None yet; of the page that settings have.
    pub(super) fn of(settings: &Settings) -> Sessions {
        let api = &settings.api;
        let page = api.page.then(|| Page {
            name: api.called().into(),
            idle: api.page_idle.0,
            total: api.page_session.0,
        });
        Sessions(RefCell::new(Table { page, ..Table::default() }))
    }

    /// A code was printed: of too many the oldest is none any more.
    pub(super) fn take_code(&self, code: Code) {
        let codes = &mut self.0.borrow_mut().codes;
        if codes.len() >= CODES_MAX {
            codes.pop_front();
        }
        codes.push_back(code);
    }

    /// Ends all sessions, and codes that nobody has given yet; how many sessions they were.
    pub(super) fn end_all(&self, now: Instant) -> usize {
        let table = &mut *self.0.borrow_mut();
        table.tidy(now);
        table.codes.clear();
        std::mem::take(&mut table.signed_in).len()
    }

    /// Keys are others: sessions of those that are none any more, or may do something else, end now, whatever comes later. `wall`: seconds since 1970.
    pub(super) fn look_at_keys(&self, keys: &Keys, wall: u64) {
        self.0.borrow_mut().signed_in.retain(|session| keys.same(&session.key, wall).is_some());
    }

    /// The key of who asks; of a session and of a code with what of its verbs only reads. `None`: it is nobody's.
    pub(super) fn whose(&self, keys: &Keys, who: &Who<'_>, now: Now) -> Option<Arc<Key>> {
        match who {
            Who::Key(secret) => keys.find(secret, now.wall).cloned(),
            Who::Session { secret, is_person } => {
                let table = &mut *self.0.borrow_mut();
                table.tidy(now.at);
                let at = table.place_of(secret)?;
                if table.signed_in[at].key.expires.is_some_and(|expires| expires <= now.wall) {
                    table.signed_in.remove(at);
                    return None;
                }
                let session = &mut table.signed_in[at];
                if *is_person {
                    session.used = now.at;
                }
                Some(Arc::clone(&session.key))
            }
            Who::Code(code) => {
                let table = &mut *self.0.borrow_mut();
                table.tidy(now.at);
                table.code(code)?;
                keys.operator().cloned()
            }
        }
    }

    /// Takes a turn of the session that asks, if one does. The error: it has asked too often of late.
    pub(super) fn take_turn(&self, who: &Who<'_>, now: Instant) -> Result<(), No> {
        let Who::Session { secret, .. } = who else { return Ok(()) };
        let table = &mut *self.0.borrow_mut();
        let session = table.place_of(secret).and_then(|at| table.signed_in.get_mut(at));
        match session.is_none_or(|session| session.take_turn(now)) {
            true => Ok(()),
            false => Err(too_often()),
        }
    }

    /// Begins a session of who asks, whose key is known; its secret. A code is used up by that. The error: why not.
    pub(super) fn sign_in(
        &self,
        keys: &Keys,
        ask: &Ask<'_>,
        key: &Arc<Key>,
        now: Now,
    ) -> Result<Box<Secret>, No> {
        let table = &mut *self.0.borrow_mut();
        table.tidy(now.at);
        if table.page.is_none() {
            return Err(No::new(404, "there is no page here: `page` in [api] of the settings"));
        }
        let mut lately = table.lately.iter().filter(|(hash, _)| *hash == key.hash);
        let first = lately.clone().next().map(|(_, at)| *at);
        if let Some(first) = first.filter(|_| lately.nth(SIGN_INS_A_MINUTE - 1).is_some()) {
            let words =
                format!("signed in {SIGN_INS_A_MINUTE} times within a minute: wait until that is over");
            // In the order in which they came: a place is free when the first is a minute old.
            let left = MINUTE.saturating_sub(now.at.saturating_duration_since(first));
            return Err(No::new(429, words).for_seconds(left.as_secs() as u16 + 1));
        }
        let mut secret = Box::new([0; SESSION_OCTETS]);
        sync::random::fill_from_system(&mut *secret)
            .map_err(|_| No::new(503, "the system has no random numbers"))?;
        if let Who::Code(code) = ask.who {
            let at = table.code(code);
            at.and_then(|at| table.codes.remove(at));
        }
        if let Asked::SignIn { ending: Some(Ending(other)) } = ask.asked {
            table.remove(other);
        }
        table.make_room(key, keys.is_operator(key));
        table.lately.push((key.hash, now.at));
        table.signed_in.push(SignedIn {
            hash: hash_of(PURPOSE_OF_SESSIONS, &*secret),
            key: Arc::new(key.for_session()),
            began: now.at,
            used: now.at,
            turn: now.at,
        });
        Ok(secret)
    }

    /// Ends a session.
    pub(super) fn sign_out(&self, secret: &Secret) {
        self.0.borrow_mut().remove(secret);
    }

    /// A frame that tells what a session is, or a key has. `is_new`: with its secret.
    pub(super) fn frame(
        &self,
        number: u32,
        (keys, key): (&Keys, &Key),
        (secret, is_new): (Option<&Secret>, bool),
        now: Instant,
    ) -> Option<Vec<u8>> {
        let table = self.0.borrow();
        let session = secret.and_then(|secret| table.signed_in.get(table.place_of(secret)?));
        let page = table.page.as_ref();
        let told = Session {
            secret: secret.filter(|_| is_new),
            verbs: session.map_or(key.verbs, |session| session.key.verbs),
            who: (!keys.is_operator(key)).then_some(key.name()),
            server: page.map_or("", |page| &page.name),
            until: page.zip(session).map(|(page, session)| session.until(page, now)),
        };
        let mut octets = Vec::new();
        told.write(&mut octets);
        frame(number, Piece::Sessions(Run::read(&octets)?))
    }
}

impl Table {
    /// Forgets what is over.
    fn tidy(&mut self, now: Instant) {
        self.codes.retain(|code| now < code.until);
        self.lately.retain(|(_, at)| now.saturating_duration_since(*at) < MINUTE);
        match &self.page {
            Some(page) => self.signed_in.retain(|session| !session.is_over(page, now)),
            None => self.signed_in.clear(),
        }
    }

    /// Where a session is. What is looked for is a hash, of which nobody chooses the octets.
    fn place_of(&self, secret: &Secret) -> Option<usize> {
        let hash = hash_of(PURPOSE_OF_SESSIONS, secret);
        self.signed_in.iter().position(|session| session.hash == hash)
    }

    /// Where a code is.
    fn code(&self, code: &[u8]) -> Option<usize> {
        let hash = hash_of(PURPOSE_OF_CODES, code);
        self.codes.iter().position(|known| known.hash == hash)
    }

    fn remove(&mut self, secret: &Secret) {
        if let Some(at) = self.place_of(secret) {
            self.signed_in.remove(at);
        }
    }

    /// Has the oldest session go where there is none left for this key: its own where it has as many as it may, else one of the key that has most.
    fn make_room(&mut self, key: &Key, is_operator: bool) {
        let count = |table: &Table, hash: &Hash| {
            table.signed_in.iter().filter(|session| session.key.hash == *hash).count()
        };
        let own = count(self, &key.hash);
        let own_max = if is_operator { SESSIONS_OF_CODES } else { SESSIONS_A_KEY };
        let mut loser = (own >= own_max).then_some(key.hash);
        if loser.is_none() && !is_operator {
            let operator = super::keys::operator_hash();
            let of_keys = self.signed_in.iter().map(|session| session.key.hash);
            let of_keys: Vec<Hash> = of_keys.filter(|hash| *hash != operator).collect();
            if of_keys.len() >= SESSIONS_MAX {
                // Of several with as many, who has the oldest.
                loser = of_keys.iter().rev().max_by_key(|hash| count(self, hash)).copied();
            }
        }
        let is_its = |session: &SignedIn| Some(session.key.hash) == loser;
        if let Some(oldest) = self.signed_in.iter().position(is_its) {
            self.signed_in.remove(oldest);
        }
    }
}

/// Of a session that asks without end, or for too much at once.
pub(super) fn too_often() -> No {
    No::new(429, "this session asks too often: wait a moment").for_seconds(1)
}

fn hash_of(purpose: &[u8], secret: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(purpose);
    hash.update(secret);
    hash.finalize().into()
}

const _: () = assert!(change::policy::API_NAME_OCTETS_MAX <= SESSION_NAME_OCTETS_MAX);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
