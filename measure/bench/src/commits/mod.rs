//! Changes over HTTP, as the API of PowerDNS has them: a closed loop over connections that are kept.
//!
//! ```text
//! request: PATCH of one record -> connection: one in flight -> reply: status and length -> outcome
//! ```
//!
//! One thread, asleep until a reply comes or a request is given up. A client is a connection with one request in flight and a
//! record of its own; it sends the next one when the reply is there. Where a server closes connections they are made anew, and
//! the time that takes is the request's.

mod connection;
mod outcome;
mod reply;
mod request;

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use connection::{Connection, Received};
pub use outcome::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{Error, error, error::LineProblem, query};

/// Most connections: more than any server of this API has places for, and `poll` looks at each whenever it returns.
pub const CONNECTIONS_MAX: usize = 1024;
/// How long a server may take to be there: one that has just been started.
const START_MAX: Duration = Duration::from_secs(10);
/// How often it is tried meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(20);
/// Longest sleep, so that requests without a reply are given up in time.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// What stays the same.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the API is.
    pub server: SocketAddr,
    /// The key.
    pub key: String,
    /// Zones that are changed in turn, with final dot: at least one.
    pub zones: Vec<String>,
    /// From 1 to [`CONNECTIONS_MAX`], each with a request in flight.
    pub connections: usize,
    /// Requests without a reply for so long are lost.
    pub timeout: Duration,
}

/// For how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// After so many seconds no request is begun.
    pub seconds: f64,
    /// Requests at most.
    pub requests_max: u64,
}

/// Names of zones in a file, one a line; empty lines and those that begin with `#` are ignored.
pub fn zones(path: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(path).map_err(error::file(path, "read"))?;
    let mut zones = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |problem| Error::Line { path: path.to_owned(), line: number, problem };
        // It stands in a path and in JSON as it is here.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if !line.chars().all(is_plain) || query::name_from_text(line).is_none() {
            return Err(fault(LineProblem::NotPlain));
        }
        zones.push(format!("{}.", line.trim_end_matches('.')));
    }
    match zones.is_empty() {
        true => Err(Error::Empty { path: path.to_owned(), wanted: "names" }),
        false => Ok(zones),
    }
}

/// Sends requests until the plan ends, and waits for the last replies.
pub fn run(settings: &Settings, plan: Plan) -> Result<Outcome, Error> {
    await_server(settings.server)?;
    let client = |_| Client {
        connection: Connection::new(settings.server),
        made: 0,
        request: Vec::new(),
        began: None,
    };
    let mut running = Running {
        settings,
        plan,
        start: Instant::now(),
        clients: (0..settings.connections).map(client).collect(),
        outcome: Outcome { connections: settings.connections, ..Outcome::default() },
    };
    running.run()?;
    Ok(running.outcome)
}

/// Waits until somebody listens.
fn await_server(server: SocketAddr) -> Result<(), Error> {
    let until = Instant::now() + START_MAX;
    while TcpStream::connect_timeout(&server, START_MAX).is_err() {
        if Instant::now() > until {
            return Err(Error::Refused { address: server });
        }
        thread::sleep(TRY_EVERY);
    }
    Ok(())
}

struct Client {
    connection: Connection,
    /// Requests so far.
    made: u64,
    /// The last one.
    request: Vec<u8>,
    /// When it was begun, while it is in flight.
    began: Option<Instant>,
}

struct Running<'s> {
    settings: &'s Settings,
    plan: Plan,
    start: Instant,
    clients: Vec<Client>,
    outcome: Outcome,
}

impl Running<'_> {
    fn run(&mut self) -> Result<(), Error> {
        for client in 0..self.clients.len() {
            self.send_next(client)?;
        }
        while self.clients.iter().any(|client| client.began.is_some()) {
            for client in self.ready()? {
                self.receive(client)?;
            }
            self.give_up()?;
        }
        self.outcome.seconds = self.start.elapsed().as_secs_f64();
        self.outcome.planned_seconds = self.outcome.seconds.min(self.plan.seconds);
        self.outcome.opened = self.clients.iter().map(|client| client.connection.opened).sum();
        Ok(())
    }

    /// Begins the next request of a client, unless it was the last.
    fn send_next(&mut self, client: usize) -> Result<(), Error> {
        let is_over = self.outcome.sent >= self.plan.requests_max
            || self.start.elapsed().as_secs_f64() >= self.plan.seconds;
        let one = &mut self.clients[client];
        one.began = None;
        if is_over {
            return Ok(());
        }
        request::write(self.settings, client, one.made, &mut one.request);
        one.made += 1;
        self.outcome.sent += 1;
        one.began = Some(Instant::now());
        self.send(client)
    }

    fn send(&mut self, client: usize) -> Result<(), Error> {
        let address = self.settings.server;
        let Client { connection, request, .. } = &mut self.clients[client];
        connection.send(request).map_err(|cause| Error::Socket {
            address,
            action: "send a request to",
            cause,
        })
    }

    /// Clients to whom something has come, or whose connection is there or has ended, after a sleep of [`SLEEP_MAX`] at most.
    fn ready(&self) -> Result<Vec<usize>, Error> {
        let is_waiting = |(_, client): &(usize, &Client)| client.began.is_some();
        let waiting = self.clients.iter().enumerate().filter(is_waiting);
        let waiting: Vec<(usize, &TcpStream, PollFlags)> = waiting
            .filter_map(|(at, client)| client.connection.waiting().map(|(stream, flags)| (at, stream, flags)))
            .collect();
        let mut fds: Vec<PollFd<'_>> =
            waiting.iter().map(|&(_, stream, flags)| PollFd::new(stream, flags)).collect();
        let sleep = Timespec { tv_sec: 0, tv_nsec: SLEEP_MAX.subsec_nanos().into() };
        match poll(&mut fds, Some(&sleep)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => {
                return Err(Error::System { action: "wait for replies", cause: errno.into() });
            }
        }
        let come = waiting.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(come.map(|((at, ..), _)| *at).collect())
    }

    fn receive(&mut self, client: usize) -> Result<(), Error> {
        let address = self.settings.server;
        let Client { connection, request, .. } = &mut self.clients[client];
        let fault = |cause| Error::Socket { address, action: "connect to", cause };
        match connection.go_on(request).map_err(fault)? {
            Received::Part => return Ok(()),
            Received::Reply(status) => {
                *self.outcome.statuses.entry(status).or_default() += 1;
                let is_in_time = self.start.elapsed().as_secs_f64() <= self.plan.seconds;
                self.outcome.in_time += u64::from(is_in_time && outcome::is_done(status));
                let took = self.clients[client].began.map_or(Duration::ZERO, |began| began.elapsed());
                self.outcome.latency.saturating_record(took.as_nanos() as u64);
            }
            // Closed between two requests: what it had not read it has not done. A record that is set twice is the same.
            Received::End { is_kept: true } => {
                self.outcome.again += 1;
                return self.send(client);
            }
            Received::End { is_kept: false } => self.outcome.lost += 1,
            Received::NoReply => self.outcome.unreadable += 1,
        }
        self.send_next(client)
    }

    /// Counts as lost what has waited for too long, each on a connection that is not used any more.
    fn give_up(&mut self) -> Result<(), Error> {
        let timeout = self.settings.timeout;
        for client in 0..self.clients.len() {
            let one = &mut self.clients[client];
            if one.began.is_some_and(|began| began.elapsed() > timeout) {
                one.connection.close();
                self.outcome.lost += 1;
                self.send_next(client)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
