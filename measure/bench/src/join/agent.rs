//! The end that does the work.

use std::{
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    AGENTS_MAX, LOOK_EACH, Problem, REPORT_EACH, SILENCE_MAX,
    channel::{Channel, Kind, Role},
    job,
    trial::{decode_trial, encode_counts, encode_outcome},
};
use crate::{
    Error,
    load::{Generator, Joined, Outcome, Settings, Trial, expect::Expected, progress::Progress},
    query::QuerySet,
};

/// How long an agent looks for its coordinator: operators start the two in any order.
const CONNECT_MAX: Duration = Duration::from_secs(60);
/// Between two attempts.
const CONNECT_EACH: Duration = Duration::from_millis(200);
/// How long an agent waits for its next trial: a search may wait for its turn.
const IDLE_MAX: Duration = Duration::from_secs(86_400);
/// Longest time until a start that is believed.
const START_MAX_US: u64 = 60_000_000;
/// For a look whether something has come: hardly any time, but zero stands for no limit.
const LOOK_MAX: Duration = Duration::from_millis(1);

/// An agent that its coordinator knows.
pub struct Agent {
    address: SocketAddr,
    channel: Channel,
}

/// What an agent is to do, as far as the options say.
pub struct Work {
    /// What the generator is made with.
    pub settings: Settings,
    /// Queries, where the options make them; without, those of the coordinator.
    pub queries: Option<QuerySet>,
    /// The times of the coordinator's queries count.
    pub timed: bool,
}

impl Agent {
    /// Connects to the coordinator and proves to know the secret.
    pub fn connect(address: SocketAddr, secret: &[u8]) -> Result<Agent, Error> {
        let until = Instant::now() + CONNECT_MAX;
        let stream = loop {
            match TcpStream::connect_timeout(&address, CONNECT_MAX) {
                Ok(stream) => break stream,
                Err(_) if Instant::now() < until => std::thread::sleep(CONNECT_EACH),
                Err(cause) => return Err(Error::Socket { address, action: "connect to", cause }),
            }
        };
        let channel =
            Channel::open(stream, Role::Agent, secret).map_err(|problem| fault(address, problem))?;
        Ok(Agent { address, channel })
    }

    /// Takes the job, whose options `read` turns into work, and runs trials until there are no more. Returns how many.
    pub fn serve(mut self, read: impl FnOnce(Vec<String>) -> Result<Work, Error>) -> Result<u64, Error> {
        let address = self.address;
        let result = self.job(read).and_then(|(settings, queries)| {
            let mut generator = Generator::new(settings, &queries)?;
            self.send(Kind::Ready, &[])?;
            self.trials(&mut generator)
        });
        // The coordinator is told, unless it is the one who is gone.
        if let Err(error) = &result
            && !matches!(error, Error::Join { .. })
        {
            let _ = self.channel.send(Kind::Fault, error.to_string().as_bytes());
        }
        result.map_err(|error| match error {
            Error::Join { problem, .. } => fault(address, problem),
            other => other,
        })
    }

    fn job(
        &mut self,
        read: impl FnOnce(Vec<String>) -> Result<Work, Error>,
    ) -> Result<(Settings, QuerySet), Error> {
        let payload = self.channel.expect(Kind::Job, SILENCE_MAX).map_err(|it| fault(self.address, it))?;
        let (words, joined) = job_from(&payload).ok_or(fault(self.address, Problem::Frame))?;
        let Work { mut settings, queries, timed } = read(words)?;
        settings.joined = joined;
        let (mut sent, mut expected) = (QuerySet::default(), Expected::default());
        loop {
            match self.channel.receive(SILENCE_MAX).map_err(|it| fault(self.address, it))? {
                (Kind::Queries, part) => {
                    job::add_queries(&mut sent, &part, timed).map_err(|it| fault(self.address, it))?;
                }
                (Kind::Expected, part) => {
                    job::add_expected(&mut expected, &part).map_err(|it| fault(self.address, it))?;
                }
                (Kind::Ready, _) => break,
                _ => return Err(fault(self.address, Problem::Frame)),
            }
        }
        settings.expected = (!expected.is_empty()).then(|| Arc::new(expected));
        match queries {
            Some(queries) => Ok((settings, queries)),
            None if sent.kept() > 0 => Ok((settings, sent)),
            None => Err(fault(self.address, Problem::Frame)),
        }
    }

    fn trials(&mut self, generator: &mut Generator<'_>) -> Result<u64, Error> {
        let mut count = 0;
        loop {
            match self.channel.receive(IDLE_MAX).map_err(|it| fault(self.address, it))? {
                (Kind::Ping, payload) => self.send(Kind::Ping, &payload)?,
                (Kind::Trial, payload) => {
                    let received = Instant::now();
                    let (trial, start_in_us) =
                        decode_trial(&payload).map_err(|it| fault(self.address, it))?;
                    let start = received + Duration::from_micros(start_in_us.min(START_MAX_US));
                    let outcome = self.trial(generator, trial, start)?;
                    self.send(Kind::Outcome, &encode_outcome(&outcome))?;
                    count += 1;
                }
                // Said while the trial was just ending.
                (Kind::Alive | Kind::Stop, _) => {}
                (Kind::End, _) => return Ok(count),
                _ => return Err(fault(self.address, Problem::Frame)),
            }
        }
    }

    /// Runs a trial on a thread of its own and says meanwhile how it goes. If the coordinator goes, so does the load.
    fn trial(
        &mut self,
        generator: &mut Generator<'_>,
        trial: Trial,
        start: Instant,
    ) -> Result<Outcome, Error> {
        let stop: Arc<AtomicBool> = generator.stop_flag();
        let mut talk = Talk { progress: generator.progress(), heard: Instant::now(), told: Instant::now() };
        let (done, result) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(start.saturating_duration_since(Instant::now()));
                // The other end of this channel waits below.
                let _ = done.send(generator.run(trial));
            });
            loop {
                match result.recv_timeout(LOOK_EACH) {
                    Ok(outcome) => return outcome,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        let turn = talk.turn(&mut self.channel, &stop);
                        if let Err(problem) = turn {
                            stop.store(true, Ordering::Relaxed);
                            return Err(fault(self.address, problem));
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        unreachable!("a trial ends with a result or a panic, which the scope passes on")
                    }
                }
            }
        })
    }

    fn send(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        self.channel.send(kind, payload).map_err(|problem| fault(self.address, problem))
    }
}

/// What is said while a trial runs.
struct Talk {
    progress: Progress,
    /// When the coordinator was heard last.
    heard: Instant,
    /// When it was told last how it goes.
    told: Instant,
}

impl Talk {
    /// Hears what the coordinator says, and tells it how it goes if it is time to.
    fn turn(&mut self, channel: &mut Channel, stop: &AtomicBool) -> Result<(), Problem> {
        while channel.is_ready(LOOK_MAX)? {
            match channel.receive(SILENCE_MAX)? {
                (Kind::Alive, _) => {}
                (Kind::Stop, _) => stop.store(true, Ordering::Relaxed),
                _ => return Err(Problem::Frame),
            }
            self.heard = Instant::now();
        }
        if self.heard.elapsed() > SILENCE_MAX {
            return Err(Problem::Silent);
        }
        if self.told.elapsed() >= REPORT_EACH {
            self.told = Instant::now();
            channel.send(Kind::Alive, &encode_counts(&self.progress.counts()))?;
        }
        Ok(())
    }
}

fn fault(address: SocketAddr, problem: Problem) -> Error {
    Error::Join { end: format!("the coordinator at {address}"), problem }
}

/// Options and place of an agent in the payload of a job.
fn job_from(payload: &[u8]) -> Option<(Vec<String>, Joined)> {
    let value: Value = serde_json::from_slice(payload).ok()?;
    let words = value["words"].as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
    let number = |name: &str| value[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (index, count) = (number("index")?, number("count")?);
    (index < count && count <= AGENTS_MAX).then_some((words.collect::<Option<_>>()?, Joined { index, count }))
}
