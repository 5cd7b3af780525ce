//! Who is limited: a look at what workers show each second, and what is said of it.
//!
//! ```text
//! workers' rows --once a second--> Watch: accounts, what each refused --> log: begins, has ended
//!                                                                    `--> `ctl rate-limit`
//! ```
//!
//! Workers are never waited for and never wait. What all of them together show is bounded, and so is this.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use auth::access::Prefix;
use auth::rate::{Account, Level, Limits, Told};

use crate::command::{LimitedAccount, RateLimit};
use crate::controller::Controller;
use crate::text::{Span, grouped};

/// How often it is looked.
const INTERVAL: Duration = Duration::from_secs(1);
/// Without a refusal for so long an account is limited no more. Shorter ones would have a flood that comes and goes said again and again.
const ENDED_AFTER: Duration = Duration::from_secs(10);
/// Lines of the log at each look; what is more is one line.
const LINES_MAX: usize = 8;
/// Accounts that `ctl rate-limit` shows.
const SHOWN_MAX: usize = 100;

/// What is known of those who are limited.
#[derive(Default)]
pub(crate) struct Watch {
    /// The rows of each worker as they were seen last.
    seen: Vec<Vec<Option<(Account, u64)>>>,
    accounts: HashMap<Account, State>,
}

#[derive(Clone, Copy)]
struct State {
    since: Instant,
    last: Instant,
    refused: u64,
    /// At the last look.
    now: u64,
}

/// What a look has found.
#[derive(Default)]
struct Found {
    began: Vec<Account>,
    ended: Vec<(Account, State)>,
}

impl Watch {
    /// Takes in what workers show.
    fn look<'t>(&mut self, told: impl Iterator<Item = &'t Told>, now: Instant) -> Found {
        self.accounts.values_mut().for_each(|state| state.now = 0);
        let mut found = Found::default();
        for (worker, told) in told.enumerate() {
            if self.seen.len() == worker {
                self.seen.push(vec![None; auth::rate::ROWS]);
            }
            for (before, row) in self.seen[worker].iter_mut().zip(told.rows()) {
                let Some((account, refused)) = row else { continue };
                let new = match before.replace((account, refused)) {
                    Some((same, before)) if same == account && before <= refused => refused - before,
                    _ => refused,
                };
                if new == 0 {
                    continue;
                }
                let state = self.accounts.entry(account).or_insert_with(|| {
                    found.began.push(account);
                    State { since: now, last: now, refused: 0, now: 0 }
                });
                state.last = now;
                state.now += new;
                state.refused += new;
            }
        }
        let is_over = |state: &State| now.saturating_duration_since(state.last) >= ENDED_AFTER;
        found.ended.extend(self.accounts.extract_if(|_, state| is_over(state)));
        found.began.sort_unstable();
        found.ended.sort_unstable_by_key(|(account, _)| *account);
        found
    }

    /// Those who are limited, most refused first.
    fn list(&self, limits: &Limits, now: Instant) -> Vec<LimitedAccount> {
        let mut accounts: Vec<_> = self.accounts.iter().collect();
        accounts.sort_unstable_by_key(|(account, state)| {
            (u64::MAX - state.now, u64::MAX - state.refused, **account)
        });
        let line = |(account, state): (&Account, &State)| LimitedAccount {
            clients: clients(account, limits),
            answers: answers(account).into(),
            limit: setting(account.level).into(),
            seconds: now.saturating_duration_since(state.since).as_secs(),
            refused_per_second: state.now,
            refused: state.refused,
        };
        accounts.into_iter().take(SHOWN_MAX).map(line).collect()
    }
}

/// Whose an account is, as a prefix of the length that limits have now.
fn clients(account: &Account, limits: &Limits) -> String {
    let lengths = match account.level {
        Level::Same | Level::Network => limits.prefixes,
        Level::Wide => limits.wide_prefixes,
        Level::All => return "all".into(),
    };
    let address = match account.is_v4 {
        true => IpAddr::V4(Ipv4Addr::from_bits((account.network >> 32) as u32)),
        false => IpAddr::V6(Ipv6Addr::from_bits(u128::from(account.network) << 64)),
    };
    let length = lengths[usize::from(!account.is_v4)];
    // Just after a change of the lengths an account of before may have more bits.
    Prefix::new(address, length).map_or_else(|_| address.to_string(), |prefix| prefix.to_string())
}

fn answers(account: &Account) -> &'static str {
    match account.level {
        Level::Same | Level::All => account.kind.text(),
        Level::Network | Level::Wide => "all",
    }
}

/// The setting that a limit comes from.
fn setting(level: Level) -> &'static str {
    match level {
        Level::Same => "responses-per-second",
        Level::Network => "network-per-second",
        Level::Wide => "wide-multiple",
        Level::All => "total-per-second",
    }
}

/// What `ctl rate-limit` shows.
pub(crate) fn current(controller: &Controller) -> RateLimit {
    let server = controller.identity.current();
    let Some(limits) = server.access.limits() else {
        return RateLimit { state: "off".into(), accounts: Vec::new() };
    };
    let state = if limits.log_only { "log-only" } else { "on" };
    RateLimit { state: state.into(), accounts: controller.limited.lock().list(limits, Instant::now()) }
}

/// Looks once, and says what is new.
fn look(controller: &Controller) {
    let server = controller.identity.current();
    let mut watch = controller.limited.lock();
    let Some(limits) = server.access.limits() else {
        watch.accounts.clear();
        return;
    };
    let told: Vec<Arc<Told>> = controller.shown.read().iter().map(|shown| Arc::clone(&shown.told)).collect();
    let found = watch.look(told.iter().map(|told| &**told), Instant::now());
    drop(watch);
    say(&found, limits);
}

fn say(found: &Found, limits: &Limits) {
    let how = if limits.log_only { "would be limited" } else { "is limited" };
    for account in found.began.iter().take(LINES_MAX) {
        let (clients, answers) = (clients(account, limits), answers(account));
        tracing::warn!(
            clients,
            answers,
            "rate limit: {clients} {how}, {answers} ({})",
            setting(account.level)
        );
    }
    for (account, state) in found.ended.iter().take(LINES_MAX) {
        let (clients, answers, refused) = (clients(account, limits), answers(account), state.refused);
        let span = Span(state.last.saturating_duration_since(state.since));
        tracing::info!(
            clients,
            answers,
            refused,
            "rate limit: {clients} is limited no longer, {answers}: {} refused in {span}",
            grouped(refused)
        );
    }
    for (what, more) in [("begin", found.began.len()), ("end", found.ended.len())] {
        if let Some(more) = more.checked_sub(LINES_MAX).filter(|more| *more > 0) {
            tracing::warn!("rate limit: {what} of {more} more; `zonda ctl rate-limit` shows who is limited");
        }
    }
}

/// Looks each second on a thread of its own, as long as there is a server.
pub(crate) fn watch(controller: &Arc<Controller>) -> std::io::Result<()> {
    let controller: Weak<Controller> = Arc::downgrade(controller);
    let watch = move || {
        loop {
            std::thread::sleep(INTERVAL);
            let Some(controller) = controller.upgrade() else { return };
            look(&controller);
        }
    };
    std::thread::Builder::new().name("limited".into()).spawn(watch).map(drop)
}
