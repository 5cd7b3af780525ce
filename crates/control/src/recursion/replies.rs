//! Who waits for the resolver, and what goes back to them.

use std::collections::HashMap;
use std::net::IpAddr;

use cache::{Cache, Moment};
use net::{Driver, Ticket};
use recursive::policy::Policy;
use recursive::{Replied, Responder, Waiting};
use resolve::{Outcome, Time, Waiter};

use super::recursor::{Later, Message};

/// Longest that an answer is of use to a client that has not shown that it is where it says. Held back longer, answers could be let loose on a victim at a
/// moment of an attacker's choice (DNSBomb, CVE-2024-33655).
const AGE_MAX_MS: u64 = 2_000;

/// What became of clients.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Clients that did not get a place to wait.
    pub turned_away: u64,
    /// Answers that came too late to be sent.
    pub late: u64,
}

/// A client that waits.
struct Row {
    ticket: Ticket,
    waiting: Waiting,
    since: Moment,
    client: u64,
    is_proved: bool,
}

/// See the module.
pub(super) struct Replies {
    pub answers: Responder,
    rows: HashMap<Waiter, Row>,
    next: u64,
    /// Questions for when the event is over.
    pub later: Vec<Later>,
    /// Replies that the event had no room for.
    left: Vec<(Ticket, Vec<u8>)>,
    scratch: Vec<u8>,
    pub counters: Counters,
}

/// The number that work for clients of a prefix is counted under.
pub(super) fn client_number(prefix: IpAddr) -> u64 {
    match prefix {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

impl Replies {
    pub(super) fn new(random: u64) -> Replies {
        Replies {
            answers: Responder::new(random),
            rows: HashMap::new(),
            next: 0,
            later: Vec::new(),
            left: Vec::new(),
            scratch: vec![0; usize::from(u16::MAX)],
            counters: Counters::default(),
        }
    }

    /// A number for who waits next.
    pub(super) fn next_waiter(&mut self) -> Waiter {
        self.next += 1;
        Waiter(self.next)
    }

    /// Has the client of the query that was just served wait.
    pub(super) fn wait(&mut self, ticket: Ticket, waiter: Waiter, client: u64, time: Time) {
        let (waiting, is_proved) = (self.answers.waiting(), self.answers.is_proved());
        let row = Row { ticket, waiting, since: time.now, client, is_proved };
        self.later.push(Later::of(&self.answers.ask(client), Some(waiter)));
        self.rows.insert(waiter, row);
    }

    /// A client is gone.
    pub(super) fn gone(&mut self, waiter: Waiter) {
        self.rows.remove(&waiter);
    }

    /// A question came to this.
    pub(super) fn done(
        &mut self,
        waiter: Waiter,
        outcome: &Outcome,
        known: (&Policy, &Cache),
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        let Some(mut row) = self.rows.remove(&waiter) else { return };
        if !row.is_proved && time.now.ms_since(row.since) > AGE_MAX_MS {
            self.counters.late += 1;
            return driver.discard(row.ticket);
        }
        let room = row.ticket.room().min(self.scratch.len());
        match self.answers.reply(&mut row.waiting, outcome, known, time, &mut self.scratch[..room]) {
            Replied::Octets(octets) => self.send(row.ticket, octets, driver),
            Replied::Ask => {
                self.later.push(Later::of(&self.answers.ask(row.client), Some(waiter)));
                self.rows.insert(waiter, row);
            }
        }
    }

    /// A question is not taken.
    pub(super) fn give_up(
        &mut self,
        waiter: Waiter,
        policy: &Policy,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        let Some(row) = self.rows.remove(&waiter) else { return };
        let room = row.ticket.room().min(self.scratch.len());
        let octets = self.answers.give_up(&row.waiting, policy, time.now, &mut self.scratch[..room]);
        self.send(row.ticket, octets, driver);
    }

    /// Sends what is in the scratch.
    fn send(&mut self, ticket: Ticket, octets: usize, driver: &mut Driver<'_, Message>) {
        let reply = &self.scratch[..octets];
        let write = |room: &mut [u8]| {
            room[..reply.len()].copy_from_slice(reply);
            reply.len()
        };
        if let Err(ticket) = driver.reply(ticket, write) {
            self.left.push((ticket, reply.to_vec()));
            driver.again();
        }
    }

    /// Sends what an event before had no room for, as much as this has.
    pub(super) fn send_left(&mut self, driver: &mut Driver<'_, Message>) {
        while let Some((ticket, reply)) = self.left.pop() {
            let write = |room: &mut [u8]| {
                room[..reply.len()].copy_from_slice(&reply);
                reply.len()
            };
            if let Err(ticket) = driver.reply(ticket, write) {
                self.left.push((ticket, reply));
                return driver.again();
            }
        }
    }
}
