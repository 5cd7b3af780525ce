//! A service for tests that does everything a service can, as the first word of a query says.

use std::collections::HashMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{framed, receive};
use net::{
    Arrival, Arrivals, Closed, Driver, Item, Messages, Need, PathId, Protocol, Pull, Queries, Running,
    Server, Service, StreamId, StreamWaker, Ticket, Waker,
};

/// The timer that panics.
const FUSE: u64 = 666;

/// What the tests and the services of all workers share.
pub struct Shared {
    /// Tickets for other threads, with their queries.
    tickets: Sender<(Ticket, Vec<u8>)>,
    pub gone: Mutex<Vec<u64>>,
    pub wakers: Mutex<Vec<StreamWaker>>,
    pub service_waker: Mutex<Option<Waker>>,
    pub heard: Mutex<Vec<String>>,
    /// Who holds it holds up the worker at `block`.
    pub gate: Mutex<()>,
    /// Workers whose services have started, each time.
    pub started: Mutex<Vec<usize>>,
}

/// Where the tickets for other threads arrive.
pub type Tickets = Receiver<(Ticket, Vec<u8>)>;

/// Starts toys as `listen` says.
pub fn serve(listen: &net::Listen) -> (Running, Arc<Shared>, Tickets) {
    let (tickets, received) = channel();
    let shared = Arc::new(Shared {
        tickets,
        gone: Mutex::default(),
        wakers: Mutex::default(),
        service_waker: Mutex::default(),
        heard: Mutex::default(),
        gate: Mutex::default(),
        started: Mutex::default(),
    });
    let given = Arc::clone(&shared);
    let running = Server::bind(listen).unwrap().start(move |_| Toy::new(Arc::clone(&given))).unwrap();
    (running, shared, received)
}

/// One worker's.
pub struct Toy {
    shared: Arc<Shared>,
    next_key: u64,
    /// Waiting for their timers, with their queries.
    timed: HashMap<u64, (Ticket, Vec<u8>)>,
    /// Kept until `release`.
    held: Vec<Ticket>,
    /// All that `release` has to reply to.
    released: Vec<Ticket>,
    /// By where they left.
    upstream: HashMap<(PathId, Vec<u8>), Ticket>,
    /// Those who wait for a stream to another server.
    streams: HashMap<StreamId, Ticket>,
}

impl Toy {
    fn new(shared: Arc<Shared>) -> Self {
        let (timed, upstream, streams) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { shared, next_key: 0, timed, held: Vec::new(), released: Vec::new(), upstream, streams }
    }

    fn answer(&mut self, mut item: Item<'_>, driver: &mut Driver<'_, String>) {
        let query = item.query;
        let text = String::from_utf8_lossy(query).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let word = words.first().copied().unwrap_or("");
        const LATER: [&str; 9] =
            ["later", "thread", "drop", "discard", "hold", "upstream", "server", "swift", "become"];
        if !LATER.contains(&word) {
            return self.answer_now(item, word, &words, driver);
        }
        self.next_key += 1;
        let key = if word == "hold" { number(1) } else { self.next_key };
        let ticket = match item.later(driver, key, false) {
            Ok(ticket) => ticket,
            Err(refused) => return say(item, &format!("refused {refused:?}")),
        };
        match word {
            "later" => {
                let after = Duration::from_millis(number(1));
                driver.set_timer_in(after, key).unwrap();
                self.timed.insert(key, (ticket, query.to_vec()));
            }
            "thread" => self.shared.tickets.send((ticket, query.to_vec())).unwrap(),
            "drop" => drop(ticket),
            "discard" => driver.discard(ticket),
            "swift" => driver.reply(ticket, |room| copy(query, room)).unwrap(),
            "become" => driver.stream(ticket, Box::new(Count::of(1, 100))).map_err(|_| ()).unwrap(),
            "hold" => self.held.push(ticket),
            "server" => {
                let stream = driver.upstream().connect(words[1].parse().unwrap(), &Protocol::Tcp).unwrap();
                driver.send(stream, query).unwrap();
                self.streams.insert(stream, ticket);
            }
            _ => {
                let remote: SocketAddr = words[1].parse().unwrap();
                let path = driver.ask(remote, query, Need::Any).unwrap();
                self.upstream.insert((path, query.to_vec()), ticket);
            }
        }
    }

    fn answer_now(
        &mut self,
        mut item: Item<'_>,
        word: &str,
        words: &[&str],
        driver: &mut Driver<'_, String>,
    ) {
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        match word {
            "panic" => panic!("asked to"),
            "block" => {
                drop(self.shared.gate.lock().unwrap());
                say(item, "let through");
            }
            "fuse" => {
                driver.set_timer_in(Duration::from_millis(number(1)), FUSE).unwrap();
                say(item, "lit");
            }
            "release" => {
                self.released.append(&mut self.held);
                self.reply_released(driver);
                say(item, "released");
            }
            "forget" => {
                self.held.clear();
                say(item, "forgotten");
            }
            "stream" => {
                let messages = Count::of(number(1), number(2) as usize);
                if let Err((refused, _)) = item.stream(driver, Box::new(messages)) {
                    say(item, &format!("refused {refused:?}"));
                }
            }
            "waiting" | "abort" | "explode" => {
                let end = if word == "waiting" { Pull::End } else { Pull::Abort };
                let shared = (word != "abort").then(|| Arc::clone(&self.shared));
                let messages = Count { left: number(1), octets: 100, wait: word == "waiting", shared, end };
                if let Err((refused, _)) = item.stream(driver, Box::new(messages)) {
                    say(item, &format!("refused {refused:?}"));
                }
            }
            "tell" => {
                let told = driver.tell(number(1) as usize, format!("{} from {}", words[2], driver.worker()));
                say(item, if told.is_ok() { "told" } else { "not told" });
            }
            "waker" => {
                *self.shared.service_waker.lock().unwrap() = Some(driver.waker());
                say(item, "given away");
            }
            "timers" => {
                // Set out of order; of five one is cancelled.
                for key in [1030, 1010, 1050, 1020] {
                    driver.set_timer_in(Duration::from_millis(key - 1000), key).unwrap();
                }
                let doomed = driver.set_timer_in(Duration::from_millis(15), 1015).unwrap();
                assert_eq!((driver.cancel(doomed), driver.cancel(doomed)), (Some(1015), None));
                say(item, "set");
            }
            _ => {
                let octets = item.query.len();
                item.room[..octets].copy_from_slice(item.query);
                item.answer(octets);
            }
        }
    }

    fn reply_released(&mut self, driver: &mut Driver<'_, String>) {
        while let Some(ticket) = self.released.pop() {
            let reply = driver.reply(ticket, |room| {
                room[..12].copy_from_slice(b"held for you");
                12
            });
            if let Err(ticket) = reply {
                self.released.push(ticket);
                return driver.again();
            }
        }
    }

    fn hear(&self, what: String) {
        self.shared.heard.lock().unwrap().push(what);
    }
}

fn copy(octets: &[u8], room: &mut [u8]) -> usize {
    room[..octets.len()].copy_from_slice(octets);
    octets.len()
}

fn say(item: Item<'_>, text: &str) {
    item.room[..text.len()].copy_from_slice(text.as_bytes());
    item.answer(text.len());
}

impl Service for Toy {
    type Message = String;

    fn started(&mut self, driver: &mut Driver<'_, String>) {
        self.shared.started.lock().unwrap().push(driver.worker());
        *self.shared.service_waker.lock().unwrap() = Some(driver.waker());
    }

    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, String>) {
        while let Some(item) = queries.next() {
            self.answer(item, driver);
        }
    }

    fn arrivals(&mut self, arrivals: &Arrivals, driver: &mut Driver<'_, String>) {
        for Arrival { path, octets, .. } in arrivals.iter() {
            let Some(ticket) = self.upstream.remove(&(path, octets.to_vec())) else { continue };
            driver.upstream().settle(path);
            driver.reply(ticket, |room| copy(octets, room)).unwrap();
        }
    }

    fn connected(&mut self, _: StreamId, _: &mut Driver<'_, String>) {
        self.hear("connected".into());
    }

    fn message(&mut self, stream: StreamId, octets: &[u8], driver: &mut Driver<'_, String>) {
        assert!(!octets.ends_with(b"explode"), "asked to");
        driver.upstream().close(stream);
        let Some(ticket) = self.streams.remove(&stream) else { return };
        driver.reply(ticket, |room| copy(octets, room)).unwrap();
    }

    fn closed(&mut self, stream: StreamId, why: Closed, _: &mut Driver<'_, String>) {
        self.streams.remove(&stream);
        self.hear(format!("{why:?}"));
    }

    fn timer(&mut self, key: u64, driver: &mut Driver<'_, String>) {
        assert!(key != FUSE, "asked to");
        let Some((ticket, query)) = self.timed.remove(&key) else { return self.hear(format!("timer {key}")) };
        driver.reply(ticket, |room| copy(&query, room)).unwrap();
    }

    fn gone(&mut self, keys: &[u64], _: &mut Driver<'_, String>) {
        self.shared.gone.lock().unwrap().extend(keys);
    }

    fn messages(&mut self, messages: &mut Vec<String>, driver: &mut Driver<'_, String>) {
        for message in messages.drain(..) {
            self.hear(format!("{message} to {}", driver.worker()));
        }
    }

    fn woken(&mut self, _: &mut Driver<'_, String>) {
        self.hear("woken".into());
    }

    fn again(&mut self, driver: &mut Driver<'_, String>) {
        self.hear("again".into());
        self.reply_released(driver);
    }

    fn stopping(&mut self, deadline: Instant, _: &mut Driver<'_, String>) {
        assert!(deadline >= Instant::now() - Duration::from_secs(1));
        self.hear("stopping".into());
    }
}

/// Messages that count down, each filled with its number.
struct Count {
    left: u64,
    octets: usize,
    /// Whether to wait before each message.
    wait: bool,
    /// Where to put the waker; for one that does not wait: panic at the end.
    shared: Option<Arc<Shared>>,
    end: Pull,
}

impl Count {
    /// So many that are there at once.
    fn of(left: u64, octets: usize) -> Self {
        Self { left, octets, wait: false, shared: None, end: Pull::End }
    }
}

impl Messages for Count {
    fn start(&mut self, waker: StreamWaker) {
        if let Some(shared) = &self.shared {
            shared.wakers.lock().unwrap().push(waker);
        }
    }

    fn next(&mut self, room: &mut [u8]) -> Pull {
        if self.left == 0 {
            assert!(self.end == Pull::End || self.shared.is_none(), "asked to");
            return self.end;
        }
        if self.wait && self.shared.is_some() {
            self.wait = false;
            return Pull::Wait;
        }
        self.wait = self.shared.is_some() && self.end == Pull::End;
        room[..self.octets].fill(self.left as u8);
        self.left -= 1;
        Pull::Message(self.octets)
    }
}

/// Answers the first message of each connection twice.
pub fn tcp_server(connections: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(connections).flatten() {
            let message = framed(&receive(&mut stream));
            stream.write_all(&[&message[..], &message].concat()).unwrap();
        }
    });
    at
}

/// Echoes so many datagrams.
pub fn udp_server(datagrams: usize) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        for _ in 0..datagrams {
            let (octets, sender) = socket.recv_from(&mut buffer).unwrap();
            socket.send_to(&buffer[..octets], sender).unwrap();
        }
    });
    at
}
