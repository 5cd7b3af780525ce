//! Authoritative servers that are far away: a relay at their addresses, which holds answers back for a round trip, counts what is asked, and loses
//! what it is told to.
//!
//! ```text
//! resolver -- query --> 198.18.2.7:53 | link: counted, its ID exchanged -- at once --> 127.0.0.1:5303, the server of that way
//!          <- answer --               |       held until a round trip after the query <--
//! ```
//!
//! Delay is made here, not by the kernel's `netem`, which is a module that small machines lack, and which counts packets where we want questions. A resolver sees the same:
//! its packets come from and go to the addresses of servers, at their times. A stream costs a round trip to open, which is added to its first answer;
//! what it carries is passed on message by message.
//!
//! | part | |
//! |---|---|
//! | `datagrams` | one thread for all UDP: sockets of all addresses, a queue of what is held |
//! | `streams` | TCP: a thread for each direction of each connection |
//! | `rules` | names whose servers are dead or slow |
//! | `book` | what was asked, of which way |

mod book;
mod datagrams;
mod rules;
mod streams;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

pub use book::{Asked, BOOK_MAX, Book};
pub use rules::{Fate, Rule};

use super::DNS_PORT;
use crate::{Error, place::Place};

/// How often threads look whether they are to end.
const LOOK: Duration = Duration::from_millis(100);

/// A server, and the addresses at which resolvers find it.
#[derive(Clone, Debug)]
pub struct Way {
    /// Its name in results.
    pub label: String,
    /// What resolvers know.
    pub addresses: Vec<Ipv4Addr>,
    /// Where it is.
    pub server: SocketAddr,
}

/// What all threads share.
struct Shared {
    ways: Vec<Way>,
    round_trip: Duration,
    stop: AtomicBool,
    /// Nothing comes back.
    is_cut: AtomicBool,
    book: Mutex<Book>,
    rules: Mutex<Vec<Rule>>,
}

/// The relay, while it runs; dropping it ends it.
pub struct Link {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Link {
    /// Begins to relay, at port 53 of all addresses of all ways, which `place` must have.
    pub fn start(place: &Place, ways: Vec<Way>, round_trip: Duration) -> Result<Link, Error> {
        let shared = Arc::new(Shared {
            book: Mutex::new(Book::new(ways.len())),
            ways,
            round_trip,
            stop: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            rules: Mutex::default(),
        });
        // What is started from there has its namespace and its cores.
        let threads = place.enter(|| {
            Ok(vec![datagrams::start(Arc::clone(&shared))?, streams::start(Arc::clone(&shared))?])
        })?;
        Ok(Link { shared, threads })
    }

    /// What has been asked so far. Answers that are held back for it have not gone out yet.
    pub fn book(&self) -> Book {
        self.shared.book().clone()
    }

    /// How many questions the book has, without a copy of it.
    pub fn arrived(&self) -> u64 {
        self.shared.book().total()
    }

    /// Begins a new book, which names each question only if `is_whole`.
    pub fn turn_page(&self, is_whole: bool) {
        *self.shared.book() = Book { is_whole, ..Book::new(self.shared.ways.len()) };
    }

    /// What happens to questions from now on: the first rule that fits counts. None of them: all are answered after a round trip.
    pub fn rule(&self, rules: Vec<Rule>) {
        *self.shared.rules.lock().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// Whether nothing comes back any more, or everything does again.
    pub fn cut(&self, is_cut: bool) {
        self.shared.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// The servers.
    pub fn ways(&self) -> &[Way] {
        &self.shared.ways
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Notes a query, and tells how long after it its answer leaves; `None`: never.
    fn take(&self, way: usize, query: &[u8], is_stream: bool) -> Option<Duration> {
        let question = book::question(query);
        self.book().note(way, question, is_stream);
        if self.is_cut.load(Ordering::Relaxed) {
            return None;
        }
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let fate = question.and_then(|(name, _)| rules.iter().find(|rule| rule.fits(name, way)));
        match fate.map(|rule| rule.fate) {
            None => Some(self.round_trip),
            Some(Fate::Late(more)) => Some(self.round_trip + more),
            Some(Fate::Lost) => None,
        }
    }

    /// All addresses with the number of their way.
    fn fronts(&self) -> impl Iterator<Item = (usize, SocketAddr)> {
        let socket = |address: &Ipv4Addr| SocketAddrV4::new(*address, DNS_PORT).into();
        let of_way = move |(number, way): (usize, &Way)| -> Vec<(usize, SocketAddr)> {
            way.addresses.iter().map(|address| (number, socket(address))).collect()
        };
        self.ways.iter().enumerate().flat_map(of_way)
    }
}

/// A thread with a name.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

#[cfg(test)]
mod tests;
