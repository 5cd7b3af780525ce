//! The end that has several hosts work as one.

use std::{
    fmt,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    ALIVE_EACH, LOOK_EACH, Live, Problem, SILENCE_MAX,
    channel::{Channel, Kind, Role},
    job,
    trial::{decode_counts, decode_outcome, encode_trial},
};
use crate::{
    Error,
    load::{Outcome, Trial, expect::Expected, progress::Counts},
    query::QuerySet,
};

/// Pings before a trial; the fastest tells how far away an agent is.
const PINGS: usize = 8;
/// From the last ping to the start, besides the way there: time for all agents to wake up.
const START_DELAY: Duration = Duration::from_millis(200);
/// How often it is looked whether an agent has come.
const ACCEPT_EACH: Duration = Duration::from_millis(20);

/// All agents of a job.
pub struct Coordinator {
    agents: Vec<Member>,
    /// Agents that are lost, and why.
    lost: Vec<Lost>,
    /// Somebody wants the work to end.
    stop: Arc<AtomicBool>,
    live: Live,
}

/// An agent as the coordinator knows it.
struct Member {
    name: String,
    channel: Channel,
}

/// An agent that is no longer part of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its number and address.
    pub name: String,
    /// Why.
    pub problem: Problem,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.problem)
    }
}

impl Coordinator {
    /// Waits for so many agents that know the secret; whoever does not is told of with `tell` and left outside. Once
    /// `stop` is set, now or later, the work ends.
    pub fn gather(
        listener: &TcpListener,
        secret: &[u8],
        count: usize,
        wait: Duration,
        stop: Arc<AtomicBool>,
        mut tell: impl FnMut(&str),
    ) -> Result<Coordinator, Error> {
        let fault = |cause| Error::System { action: "wait for agents on the address of --coordinate", cause };
        listener.set_nonblocking(true).map_err(fault)?;
        let until = Instant::now() + wait;
        let mut agents: Vec<Member> = Vec::new();
        while agents.len() < count {
            if stop.load(Ordering::Relaxed) {
                return Err(dismiss(agents, Error::Interrupted));
            }
            let (stream, address) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if Instant::now() >= until {
                        let problem = Problem::Missing(agents.len(), count);
                        return Err(dismiss(agents, Error::Join { end: "joining".to_owned(), problem }));
                    }
                    std::thread::sleep(ACCEPT_EACH);
                    continue;
                }
                Err(cause) => return Err(fault(cause)),
            };
            stream.set_nonblocking(false).map_err(fault)?;
            let name = format!("agent {} at {address}", agents.len() + 1);
            match Channel::open(stream, Role::Coordinator, secret) {
                Ok(channel) => {
                    tell(&format!("{name} has joined"));
                    agents.push(Member { name, channel });
                }
                Err(problem) => tell(&format!("{address} {problem}")),
            }
        }
        Ok(Coordinator { agents, lost: Vec::new(), stop, live: Live::default() })
    }

    /// Hands out options, queries and what answers are to be, and waits until all agents are ready. Any that is not is
    /// an error, of which the others hear.
    pub fn hand_out(
        &mut self,
        words: &[String],
        queries: &QuerySet,
        expected: Option<&Expected>,
    ) -> Result<(), Error> {
        let result = self.hand_out_job(words, queries, expected);
        result.map_err(|error| dismiss(std::mem::take(&mut self.agents), error))
    }

    fn hand_out_job(
        &mut self,
        words: &[String],
        queries: &QuerySet,
        expected: Option<&Expected>,
    ) -> Result<(), Error> {
        let fault = |problem| Error::Join { end: "joining".to_owned(), problem };
        let parts = job::queries_parts(queries).map_err(fault)?;
        let expected = expected.map_or(Ok(Vec::new()), job::expected_parts).map_err(fault)?;
        let count = self.agents.len();
        let results = self.each(|index, agent| {
            let job = json!({ "words": words, "index": index, "count": count });
            agent.channel.send(Kind::Job, job.to_string().as_bytes())?;
            parts.iter().try_for_each(|part| agent.channel.send(Kind::Queries, part))?;
            expected.iter().try_for_each(|part| agent.channel.send(Kind::Expected, part))?;
            agent.channel.send(Kind::Ready, &[])?;
            agent.channel.expect(Kind::Ready, SILENCE_MAX).map(|_| ())
        });
        for (agent, result) in self.agents.iter().zip(results) {
            result.map_err(|problem| Error::Join { end: agent.name.clone(), problem })?;
        }
        Ok(())
    }

    /// Runs one trial on all agents and adds up what they bring. An agent that fails is lost from then on; an error
    /// where none is left. Where somebody wants the work to end, agents bring what they have.
    pub fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        if self.is_stopped() {
            return Err(Error::Interrupted);
        }
        // The shares of those that are lost would be missing: less than the trial asks for.
        if let Some(lost) = self.lost.first() {
            return Err(Error::Join { end: lost.name.clone(), problem: lost.problem.clone() });
        }
        let ways = self.each(|_, agent| agent.round_trip());
        let longest = ways.iter().flatten().max().copied().unwrap_or_default();
        let start = Instant::now() + START_DELAY + longest;
        self.live.begin(self.agents.len(), start);
        let (stop, live) = (Arc::clone(&self.stop), self.live.clone());
        let results = self.each(|index, agent| {
            let way = ways[index].clone()? / 2;
            let left = start.saturating_duration_since(Instant::now()).saturating_sub(way);
            agent.channel.send(Kind::Trial, &encode_trial(&trial, left.as_micros() as u64))?;
            let result = agent.outcome(&stop, |counts| live.report(index, counts, Instant::now()));
            live.end(index, result.as_ref().ok().map(|outcome| (outcome.sent, outcome.received)));
            result
        });
        let (mut merged, mut kept) = (None::<Outcome>, Vec::new());
        for (agent, result) in std::mem::take(&mut self.agents).into_iter().zip(results) {
            match result {
                Ok(outcome) => {
                    match &mut merged {
                        Some(merged) => merged.merge(&outcome),
                        None => merged = Some(outcome),
                    }
                    kept.push(agent);
                }
                Err(problem) => self.lost.push(Lost { name: agent.name, problem }),
            }
        }
        self.agents = kept;
        merged.ok_or_else(|| {
            let last = self.lost.last().cloned();
            let lost = last.unwrap_or(Lost { name: "joining".to_owned(), problem: Problem::Missing(0, 0) });
            Error::Join { end: lost.name, problem: lost.problem }
        })
    }

    /// How a trial goes, for another thread to look at; all zero unless the agents' options have them say it.
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Whether somebody wants the work to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Agents that were lost on the way: what came of the work is then only a part.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Lets the agents go.
    pub fn end(mut self) -> Vec<Lost> {
        for agent in &mut self.agents {
            // One that is gone by now has done its work.
            let _ = agent.channel.send(Kind::End, &[]);
        }
        self.lost
    }

    /// Does something with all agents at once, each on a thread.
    fn each<T: Send>(
        &mut self,
        work: impl Fn(usize, &mut Member) -> Result<T, Problem> + Sync,
    ) -> Vec<Result<T, Problem>> {
        let work = &work;
        std::thread::scope(|scope| {
            let spawn = |(index, agent)| scope.spawn(move || work(index, agent));
            let threads: Vec<_> = self.agents.iter_mut().enumerate().map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic with an agent")).collect()
        })
    }
}

impl Member {
    /// The shortest of several ways there and back.
    fn round_trip(&mut self) -> Result<Duration, Problem> {
        let mut shortest = Duration::MAX;
        for number in 0..PINGS {
            let before = Instant::now();
            let payload = (number as u64).to_be_bytes();
            self.channel.send(Kind::Ping, &payload)?;
            if self.channel.expect(Kind::Ping, SILENCE_MAX)? != payload {
                return Err(Problem::Frame);
            }
            shortest = shortest.min(before.elapsed());
        }
        Ok(shortest)
    }

    /// Waits for what the trial brings, hears how it goes, and has the agent end it early once `stop` is set.
    fn outcome(&mut self, stop: &AtomicBool, report: impl Fn(Counts)) -> Result<Outcome, Problem> {
        let (mut heard, mut told, mut is_stopped) = (Instant::now(), Instant::now(), false);
        loop {
            if self.channel.is_ready(LOOK_EACH)? {
                match self.channel.receive(SILENCE_MAX)? {
                    (Kind::Alive, payload) => report(decode_counts(&payload)?),
                    (Kind::Outcome, payload) => return decode_outcome(&payload),
                    _ => return Err(Problem::Frame),
                }
                heard = Instant::now();
            } else if heard.elapsed() > SILENCE_MAX {
                return Err(Problem::Silent);
            }
            if !is_stopped && stop.load(Ordering::Relaxed) {
                self.channel.send(Kind::Stop, &[])?;
                is_stopped = true;
            }
            if told.elapsed() >= ALIVE_EACH {
                self.channel.send(Kind::Alive, &[])?;
                told = Instant::now();
            }
        }
    }
}

/// Tells agents for which there will be no work why; returns the same error.
fn dismiss(agents: Vec<Member>, error: Error) -> Error {
    for mut agent in agents {
        // One that is gone by now need not know.
        let _ = agent.channel.send(Kind::Fault, error.to_string().as_bytes());
    }
    error
}

/// Where agents connect to; `address` may have port 0 for any.
pub fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).map_err(|cause| Error::Socket {
        address,
        action: "listen for agents on",
        cause,
    })
}
