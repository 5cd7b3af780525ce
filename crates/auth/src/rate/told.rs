//! What a worker shows of whom it limits: counts, and the accounts that refuse, for others to read at any time.
//!
//! Rule: only the worker writes. A row is written under a sequence number, odd while it is; a reader that finds it odd or changed takes nothing
//! of it. Nobody waits.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

sync::counters! {
    /// The counts of one worker for others to read.
    pub live LiveLimited;
    /// Answers beyond a limit, by what they would have been; with `log-only` they were given all the same.
    pub values Limited;

    /// Data beyond a limit.
    limited_answers,
    /// Data of wildcards beyond a limit.
    limited_wildcards,
    /// Referrals beyond a limit.
    limited_referrals,
    /// Answers without data beyond a limit.
    limited_no_data,
    /// Name errors beyond a limit.
    limited_name_errors,
    /// Errors and others beyond a limit.
    limited_others,
    /// Of these answered without records: come again over TCP, or with this cookie.
    limited_slipped,
}

impl Limited {
    /// All answers beyond a limit.
    #[must_use]
    pub fn all(&self) -> u64 {
        let data = self.limited_answers + self.limited_wildcards + self.limited_referrals;
        data + self.limited_no_data + self.limited_name_errors + self.limited_others
    }
}

/// What an answer is to the limits. The order is that of the settings' manual and of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Data, aliases.
    Answer,
    /// Data that a wildcard gave.
    Wildcard,
    /// Referrals.
    Referral,
    /// The name has no such data.
    NoData,
    /// The name does not exist.
    NameError,
    /// Errors, answers about the server, cookies alone.
    Other,
}

impl Kind {
    /// All of them, by number.
    pub const ALL: [Kind; 6] =
        [Kind::Answer, Kind::Wildcard, Kind::Referral, Kind::NoData, Kind::NameError, Kind::Other];

    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Kind::Answer => "answers",
            Kind::Wildcard => "wildcards",
            Kind::Referral => "referrals",
            Kind::NoData => "no data",
            Kind::NameError => "name errors",
            Kind::Other => "errors",
        }
    }
}

impl Limited {
    pub(super) fn kind(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Answer => &mut self.limited_answers,
            Kind::Wildcard => &mut self.limited_wildcards,
            Kind::Referral => &mut self.limited_referrals,
            Kind::NoData => &mut self.limited_no_data,
            Kind::NameError => &mut self.limited_name_errors,
            Kind::Other => &mut self.limited_others,
        }
    }
}

/// Which limit an account is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The same answer to a network.
    Same,
    /// Answers to a network.
    Network,
    /// Answers to a wider one.
    Wide,
    /// Answers to all unproved clients.
    All,
}

impl Level {
    const ALL: [Level; 4] = [Level::Same, Level::Network, Level::Wide, Level::All];
}

/// An account that refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account {
    /// The first 64 bits of its network's address, those beyond the prefix zero; an IPv4 one in the upper half. 0 for all clients.
    pub network: u64,
    /// Whether that is an IPv4 one.
    pub is_v4: bool,
    /// Its limit.
    pub level: Level,
    /// The kind of answer that was refused first, or for which it is.
    pub kind: Kind,
}

impl Account {
    fn pack(&self) -> u64 {
        u64::from(self.is_v4) << 16 | (self.level as u64) << 8 | self.kind as u64
    }

    fn unpack(network: u64, rest: u64) -> Option<Account> {
        let level = *Level::ALL.get((rest >> 8 & 0xff) as usize)?;
        let kind = *Kind::ALL.get((rest & 0xff) as usize)?;
        Some(Account { network, is_v4: rest >> 16 & 1 == 1, level, kind })
    }
}

/// Accounts that are shown: operators read ten, and wider accounts come first where very many refuse.
pub const ROWS: usize = 64;

/// What one worker shows.
#[derive(Debug)]
pub struct Told {
    /// What it has counted.
    pub counts: LiveLimited,
    rows: [Row; ROWS],
}

#[derive(Debug, Default)]
struct Row {
    /// Odd while the row is written.
    sequence: AtomicU32,
    network: AtomicU64,
    rest: AtomicU64,
    /// Answers refused since the account has this row; 0: nobody has.
    refused: AtomicU64,
}

impl Default for Told {
    fn default() -> Told {
        Told { counts: LiveLimited::default(), rows: std::array::from_fn(|_| Row::default()) }
    }
}

impl Told {
    /// By row: the account that has it, and how many answers it refused since then. A row that is being written counts as empty.
    pub fn rows(&self) -> impl Iterator<Item = Option<(Account, u64)>> {
        self.rows.iter().map(|row| {
            let before = row.sequence.load(Ordering::Acquire);
            let [network, rest, refused] =
                [&row.network, &row.rest, &row.refused].map(|field| field.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            let is_whole = before % 2 == 0 && row.sequence.load(Ordering::Relaxed) == before;
            Some((Account::unpack(network, rest).filter(|_| is_whole && refused > 0)?, refused))
        })
    }

    /// Writes a row; the worker only.
    fn write(&self, at: usize, account: &Account, refused: u64) {
        let Some(row) = self.rows.get(at) else { return };
        let sequence = row.sequence.load(Ordering::Relaxed);
        row.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        row.network.store(account.network, Ordering::Relaxed);
        row.rest.store(account.pack(), Ordering::Relaxed);
        row.refused.store(refused, Ordering::Relaxed);
        row.sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }
}

/// A worker's own side of the rows.
pub(super) struct Rows([Option<Owned>; ROWS]);

#[derive(Clone, Copy)]
struct Owned {
    account: Account,
    refused: u64,
    last: u32,
}

impl Rows {
    pub(super) fn new() -> Rows {
        Rows([None; ROWS])
    }

    /// An answer was refused: counts it in the account's row, if it has one or gets one. That of another it gets when that has refused nothing for `idle`.
    pub(super) fn note(&mut self, told: &Told, (hash, account): (u64, Account), now: u32, idle: u32) {
        let at = (hash >> 40) as usize % ROWS;
        let Some(own) = self.0.get_mut(at) else { return };
        let refused = match own {
            Some(own) if own.account == account => own.refused + 1,
            Some(own) if now.wrapping_sub(own.last) < idle => return,
            _ => 1,
        };
        *own = Some(Owned { account, refused, last: now });
        told.write(at, &account, refused);
    }
}
