//! What asking other servers costs: a worker that asks one server again and again, so many questions at a time.
//!
//! ```text
//! cargo run --release -p net --example ask -- echo 127.0.0.1:5399 &
//! cargo run --release -p net --example ask -- run 127.0.0.1:5399 1000000 256 1000
//! strace -c -f target/release/examples/ask run 127.0.0.1:5399 100000 256 0      # system calls a question
//! ```
//!
//! `run SERVER QUESTIONS WINDOW FRESH`: FRESH sockets a second are opened for one question each. It prints the processor time of the worker's thread.

#![allow(clippy::unwrap_used)] // A tool for whoever works on this crate.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use net::{Arrivals, Driver, Listen, Need, PathId, Queries, Server, Service, UpstreamSettings};
use rustix::time::{ClockId, clock_gettime};

struct Asker {
    server: SocketAddr,
    window: usize,
    fresh: u32,
    left: usize,
    open: usize,
    began: Duration,
    done: Sender<String>,
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl Asker {
    fn ask(&mut self, driver: &mut Driver<'_, ()>) {
        let mut question = [0; 40];
        while self.left > 0 && self.open < self.window {
            question[..8].copy_from_slice(&driver.random().to_ne_bytes());
            self.left -= 1;
            match driver.ask(self.server, &question, Need::Fresh) {
                Ok(_) => self.open += 1,
                Err(unsent) => println!("not sent: {unsent:?}"),
            }
        }
        if self.left == 0 && self.open == 0 {
            let _ = self.done.send(format!("{:?} of processor time", thread_time() - self.began));
        }
    }

    fn answered(&mut self, path: PathId, driver: &mut Driver<'_, ()>) {
        driver.upstream().settle(path);
        self.open -= 1;
    }
}

impl Service for Asker {
    type Message = ();

    /// Any query is the word to begin.
    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, ()>) {
        while queries.next().is_some() {}
        let settings = UpstreamSettings { fresh_per_second: self.fresh, ..UpstreamSettings::default() };
        driver.upstream().configure(Arc::new(settings));
        self.began = thread_time();
        self.ask(driver);
    }

    fn arrivals(&mut self, arrivals: &Arrivals, driver: &mut Driver<'_, ()>) {
        for arrival in arrivals.iter() {
            self.answered(arrival.path, driver);
        }
        self.ask(driver);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let server: SocketAddr = arguments[2].parse().unwrap();
    if arguments[1] == "echo" {
        let (socket, mut room) = (UdpSocket::bind(server).unwrap(), [0; 4_096]);
        loop {
            let (octets, asker) = socket.recv_from(&mut room).unwrap();
            let _ = socket.send_to(&room[..octets], asker);
        }
    }
    let number = |index: usize| arguments[index].parse::<usize>().unwrap();
    let (questions, window, fresh) = (number(3), number(4), number(5) as u32);
    let (done, told) = channel();
    let listen = Listen { addresses: vec!["127.0.0.1:0".parse().unwrap()], workers: 1, ..Listen::default() };
    let running = Server::bind(&listen)
        .unwrap()
        .start(move |_| Asker {
            server,
            window,
            fresh,
            left: questions,
            open: 0,
            began: Duration::ZERO,
            done: done.clone(),
        })
        .unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.send_to(b"go", running.listeners()[0].address).unwrap();
    println!(
        "{}",
        told.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| "answers were lost".into())
    );
    println!("{:?}", running.counters()[0]);
}
