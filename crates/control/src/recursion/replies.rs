//! Who waits for the resolver, and what goes back to them.

use std::sync::mpsc::Sender;

use cache::{Cache, Moment};
use net::{Driver, Ticket};
use recursive::policy::Policy;
use recursive::waiting::{Comer, Fate, Gone, Room, Taken, Waiters};
use recursive::{Replied, Responder};
use resolve::{Outcome, Time, Waiter};
use wire::NameBuf;
use wire::iana::{ede, rcode, rtype};
use wire::name::NameRooms;

use super::anchors::Found;
use super::recursor::{Later, Message};
use super::said::Said;

/// Where a client's answer goes.
pub(super) struct Seat {
    pub ticket: Ticket,
    /// Whether the query came to another worker.
    pub is_foreign: bool,
    /// Who pays for work.
    pub client: u64,
}

/// Waiters from here on are none of clients, whose numbers have a place below it in the lower half: looks at keys for control.
const LOOKS: u64 = u64::MAX << 16;

/// How many are told at a time that nothing came: less than an event may reply to, so that answers have room in it too.
const EXPIRED_A_TURN: usize = net::REPLIES_PER_EVENT / 2;

/// A worker's clients that wait, and how they are answered.
pub(super) struct Replies {
    pub answers: Responder,
    pub waiters: Waiters<Seat>,
    /// Questions for when the event is over.
    pub later: Vec<Later>,
    /// For their names.
    pub rooms: NameRooms,
    /// Those who wait no more, of whom the resolver is to be told.
    pub abandoned: Vec<Waiter>,
    /// The look at keys that is taken, and who wants to know.
    look: Option<(Waiter, Sender<Found>)>,
    /// Lines for the log, and whether failures are among them.
    pub said: Said,
    pub logs_failures: bool,
    /// Replies that the event had no room for.
    left: Vec<(Ticket, Vec<u8>)>,
    scratch: Vec<u8>,
}

impl Replies {
    pub(super) fn new(random: u64, places: usize) -> Replies {
        Replies {
            answers: Responder::new(random),
            waiters: Waiters::new(places),
            later: Vec::new(),
            rooms: NameRooms::default(),
            abandoned: Vec::new(),
            look: None,
            said: Said::default(),
            logs_failures: false,
            left: Vec::new(),
            scratch: vec![0; usize::from(u16::MAX)],
        }
    }

    /// Makes room for a client that is to wait. `false`: it waits for the same already.
    pub(super) fn make_room(&mut self, comer: &Comer, driver: &mut Driver<'_, Message>) -> bool {
        match self.waiters.make_room(comer) {
            Room::Joined => return false,
            Room::Free => {}
            Room::Evicted(gone) => self.drop_gone(gone, driver),
        }
        true
    }

    /// Fetches the keys of a zone from its servers. They are not validated: whoever wants them does that. One look at a time; who took one before has given it up.
    pub(super) fn look(&mut self, zone: &NameBuf, number: u64, to: &Sender<Found>) {
        let waiter = Waiter(LOOKS | number & !LOOKS);
        if let Some((before, _)) = self.look.replace((waiter, to.clone())) {
            self.abandoned.push(before);
        }
        self.later.push(Later {
            name: self.rooms.copy(zone),
            rtype: rtype::DNSKEY,
            checking_disabled: true,
            from: resolve::From::Servers,
            client: None,
            waiter: Some(waiter),
        });
    }

    /// Tells who took a look, if this waiter is it.
    fn end_look(&mut self, waiter: Waiter, outcome: Option<&Outcome>) -> bool {
        if waiter.0 < LOOKS {
            return false;
        }
        if let Some((_, to)) = self.look.take_if(|(looking, _)| *looking == waiter) {
            let is_new =
                |outcome: &&Outcome| outcome.is_fact && !outcome.is_stale && outcome.rcode == rcode::NOERROR;
            let _ = to.send(outcome.filter(is_new).map(|outcome| outcome.answer.clone()));
        }
        true
    }

    /// Answers those who have waited for as long as may be, some of them at a time; what is under way for them is awaited and kept. `is_out`: there seems to be no network.
    pub(super) fn expire(
        &mut self,
        is_out: bool,
        known: (&Policy, &Cache),
        now: Moment,
        driver: &mut Driver<'_, Message>,
    ) {
        let why = if is_out { ede::NETWORK_ERROR } else { ede::NO_REACHABLE_AUTHORITY };
        for _ in 0..EXPIRED_A_TURN {
            let Some(waiter) = self.waiters.overdue(now, is_out) else { return };
            let Some(taken) = self.waiters.take(waiter, now) else { return };
            self.abandoned.push(waiter);
            let room = taken.ticket.ticket.room().min(self.scratch.len());
            let room = &mut self.scratch[..room];
            let octets = match taken.fate {
                Fate::Late => self.answers.fail(&taken.waiting, why, known.0, now, room),
                Fate::Truncate => self.answers.truncate(&taken.waiting, known.0, now, room),
                Fate::Reply => self.answers.unanswered(&taken.waiting, why, known, now, room),
            };
            if taken.fate == Fate::Reply {
                self.waiters.replied(&taken, octets, now);
            }
            if self.logs_failures {
                let asked = (taken.waiting.name(), taken.waiting.qtype());
                self.said.failed(asked, &[Some(why)], Some("no answer came in time"), now);
            }
            self.send(taken.ticket, octets, driver);
        }
    }

    fn drop_gone(&mut self, gone: Gone<Seat>, driver: &mut Driver<'_, Message>) {
        self.abandoned.push(gone.waiter);
        self.answers.put_by(gone.waiting);
        driver.discard(gone.ticket.ticket);
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
        if self.end_look(waiter, Some(outcome)) {
            return;
        }
        let Some(mut taken) = self.waiters.take(waiter, time.now) else { return };
        let room = taken.ticket.ticket.room().min(self.scratch.len());
        let room = &mut self.scratch[..room];
        let octets = match taken.fate {
            Fate::Late => return driver.discard(taken.ticket.ticket),
            Fate::Truncate => self.answers.truncate(&taken.waiting, known.0, time.now, room),
            Fate::Reply => match self.answers.reply(&mut taken.waiting, outcome, known, time, room) {
                Replied::Ask => return self.ask_again(taken),
                Replied::Octets(octets) => {
                    self.waiters.replied(&taken, octets, time.now);
                    if self.logs_failures && rcode_of(&self.scratch[..octets]) == rcode::SERVFAIL {
                        let asked = (taken.waiting.name(), taken.waiting.qtype());
                        self.said.failed(asked, &outcome.edes, outcome.reason, time.now);
                    }
                    octets
                }
            },
        };
        self.answers.put_by(taken.waiting);
        self.send(taken.ticket, octets, driver);
    }

    /// What came leads to another question.
    fn ask_again(&mut self, taken: Taken<Seat>) {
        let client = taken.ticket.client;
        let waiter = self.waiters.put_back(taken);
        self.later.push(Later::of(&self.answers.ask(client), Some(waiter), &mut self.rooms));
    }

    /// A question is not taken.
    pub(super) fn give_up(
        &mut self,
        waiter: Waiter,
        policy: &Policy,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        if self.end_look(waiter, None) {
            return;
        }
        let Some(taken) = self.waiters.take(waiter, time.now) else { return };
        let room = taken.ticket.ticket.room().min(self.scratch.len());
        let octets = self.answers.give_up(&taken.waiting, policy, time.now, &mut self.scratch[..room]);
        self.send(taken.ticket, octets, driver);
    }

    /// Sends what is in the scratch.
    fn send(&mut self, seat: Seat, octets: usize, driver: &mut Driver<'_, Message>) {
        let reply = &self.scratch[..octets];
        if seat.is_foreign {
            return seat.ticket.reply_at_once(reply);
        }
        let write = |room: &mut [u8]| {
            room[..reply.len()].copy_from_slice(reply);
            reply.len()
        };
        if let Err(ticket) = driver.reply(seat.ticket, write) {
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

/// The response code in the header.
fn rcode_of(response: &[u8]) -> u16 {
    response.get(3).map_or(0, |octet| u16::from(octet & 15))
}
