//! Who is limited: a look at what workers show each second, and what is said of it.
//!
//! ```text
//! workers' rows --once a second--> Watch: accounts, what each refused --> Lines: begins, has ended, how much --> log
//!                                                                    `--> `ctl rate-limit`
//! ```
//!
//! Workers are never waited for and never wait. What all of them together show is bounded, and so is this. The thread that looks is that of
//! [`crate::repeated`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::access::Prefix;
use auth::rate::{Account, Level, Limited, Limits, Told};

use crate::command::{LimitedAccount, RateLimit};
use crate::controller::Controller;
use crate::log::milliseconds;
use crate::repeated::{Due, REPEAT_PAUSE, Repeated};
use crate::text::{Span, grouped};

/// Without a refusal for so long an account is limited no more. Shorter ones would have a flood that comes and goes said again and again.
const ENDED_AFTER: Duration = Duration::from_secs(10);
/// Accounts of which the log says that they begin to be limited, and of which it says that they no longer are, in each [`REPEAT_PAUSE`]; how many more
/// there are is one line.
const LINES_MAX: u64 = 8;
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

/// What was said of late.
#[derive(Default)]
pub(crate) struct Lines {
    began: Named,
    ended: Named,
    refused: Repeated,
}

/// Accounts of which something was said by name, or not.
#[derive(Default)]
struct Named {
    /// When naming began, and how many were named since.
    since: Option<Instant>,
    lines: u64,
    /// How many were not, since the start.
    more: u64,
    repeated: Repeated,
}

impl Named {
    /// How many of so many accounts are to be named. The others are counted.
    fn take(&mut self, accounts: usize, now: Instant) -> usize {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= REPEAT_PAUSE) {
            (self.since, self.lines) = (Some(now), 0);
        }
        let named = (LINES_MAX - self.lines).min(accounts as u64);
        self.lines += named;
        self.more += accounts as u64 - named;
        named as usize
    }

    /// Of how many that were not named it is to be said now that there are some.
    fn more(&mut self, now: Instant) -> Option<Due> {
        self.repeated.look(self.more, now)
    }
}

impl Lines {
    /// Looks once, and says what is new.
    pub(crate) fn look(&mut self, controller: &Controller, now: Instant) {
        let server = controller.identity.current();
        let mut watch = controller.limited.lock();
        let Some(limits) = server.access.limits() else {
            watch.accounts.clear();
            return;
        };
        let told: Vec<Arc<Told>> =
            controller.shown.read().iter().map(|shown| Arc::clone(&shown.told)).collect();
        let found = watch.look(told.iter().map(|told| &**told), now);
        drop(watch);
        let counts = told.iter().map(|told| told.counts.read()).reduce(Limited::sum);
        self.say(&found, counts.unwrap_or_default().all(), limits, now);
    }

    fn say(&mut self, found: &Found, refused: u64, limits: &Limits, now: Instant) {
        let how = if limits.log_only { "would be limited" } else { "is limited" };
        for account in &found.began[..self.began.take(found.began.len(), now)] {
            let (clients, answers) = (clients(account, limits), answers(account));
            let limit = setting(account.level);
            tracing::warn!(clients, answers, limit, "rate limit: {clients} {how}, {answers} ({limit})");
        }
        for (account, state) in &found.ended[..self.ended.take(found.ended.len(), now)] {
            let (clients, answers, refused) = (clients(account, limits), answers(account), state.refused);
            let duration = state.last.saturating_duration_since(state.since);
            tracing::info!(
                clients,
                answers,
                refused,
                duration_ms = milliseconds(duration),
                "rate limit: {clients} is limited no longer, {answers}: {} refused in {}",
                grouped(refused),
                Span(duration)
            );
        }
        for (what, named) in [("begin", &mut self.began), ("end", &mut self.ended)] {
            if let Some(Due { count, .. }) = named.more(now) {
                let more = grouped(count);
                tracing::warn!(
                    count,
                    "rate limit: {what} of {more} more; `zonda ctl rate-limit` shows who is limited"
                );
            }
        }
        // While it lasts; that it has begun the lines above say.
        if let Some(Due { count, since }) = self.refused.look_late(refused, now) {
            let (how, often) = (if limits.log_only { "would be refused" } else { "refused" }, grouped(count));
            let time = Span(since.unwrap_or_default());
            tracing::warn!(kind = "limited", count, "rate limit: {often} answers {how} in the last {time}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_from_everywhere_is_a_few_lines_a_minute() {
        let (start, mut named) = (Instant::now(), Named::default());
        let (mut lines, mut others) = (0, Vec::new());
        for seconds in 0..180 {
            let now = start + Duration::from_secs(seconds);
            lines += named.take(100, now);
            others.extend(named.more(now).map(|due| due.count));
        }
        assert_eq!(lines as u64, 3 * LINES_MAX);
        // The first at once, then one each minute.
        assert_eq!(others, [92, 5992, 5992]);
    }
}
