//! From the first answer until a server is at rest: it has looked at all its zones, and does nothing more.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    Error,
    contender::Server,
    experiment::{Lab, Values, validity::Conditions},
    known::Known,
};

/// How often its processor time is looked at, in ticks of 10 ms: with a finer look one tick would be work. Finer counts leave out threads that have ended, as those do
/// that load.
const LOOK: Duration = Duration::from_millis(200);
/// Share of a core's time below which it rests.
const BUSY_SHARE: f64 = 0.1;
/// For how long it must do so little: there are pauses between the parts of a load.
const QUIET: Duration = Duration::from_millis(1000);
/// How long its memory may change after that.
const SETTLE_SECONDS: f64 = 10.0;

/// A start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Started {
    /// Seconds from exec to the first answer, and processor time until then.
    pub first: f64,
    pub first_cpu: f64,
    /// The same until it was at rest.
    pub rest: f64,
    pub rest_cpu: f64,
    /// Proportional set size at rest, octets.
    pub pss: f64,
    /// The most that its processes had in memory, shared pages in full, octets.
    pub peak: f64,
    /// Proportional set size after each RRset was asked for, where it was.
    pub touched: Option<f64>,
}

/// Follows a server that has just answered for the first time.
pub fn follow(lab: &Lab, server: &Server, answered: Instant) -> Result<Started, Error> {
    let first_cpu = used(server);
    let (mut looked, mut busy_until, mut cpu) = (Instant::now(), answered, first_cpu);
    let mut rest_cpu = first_cpu;
    while busy_until.elapsed() < QUIET && server.began.elapsed().as_secs_f64() < lab.effort.load_seconds {
        lab.go_on()?;
        thread::sleep(LOOK);
        let (now, now_cpu) = (Instant::now(), used(server));
        if now_cpu - cpu > BUSY_SHARE * (now - looked).as_secs_f64() {
            (busy_until, rest_cpu) = (now, now_cpu);
        }
        (looked, cpu) = (now, now_cpu);
    }
    server.process.settle(SETTLE_SECONDS);
    Ok(Started {
        first: (answered - server.began).as_secs_f64(),
        first_cpu,
        rest: (busy_until - server.began).as_secs_f64(),
        rest_cpu,
        pss: server.process.pss() as f64,
        peak: server.process.peak_resident() as f64,
        touched: None,
    })
}

/// Processor time of all its processes and threads so far, in seconds.
fn used(server: &Server) -> f64 {
    let cpu = server.process.cpu();
    cpu.user + cpu.system
}

/// What starts took, by metric.
#[derive(Default)]
pub struct Found {
    pub first: Values,
    pub first_cpu: Values,
    pub rest: Values,
    pub rest_cpu: Values,
    pub pss: Values,
    pub peak: Values,
    pub touched: Values,
}

impl Found {
    /// Puts servers into this order; they came in that of the first round.
    pub fn arrange(&mut self, labels: &[String]) {
        let Found { first, first_cpu, rest, rest_cpu, pss, peak, touched } = self;
        [first, first_cpu, rest, rest_cpu, pss, peak, touched]
            .into_iter()
            .for_each(|values| values.arrange(labels));
    }

    /// Adds a start.
    pub fn push(&mut self, who: &str, at: &str, started: &Started, round: usize, conditions: &Conditions) {
        let Started { first, first_cpu, rest, rest_cpu, pss, peak, touched } = *started;
        for (values, value) in [
            (&mut self.first, first),
            (&mut self.first_cpu, first_cpu),
            (&mut self.rest, rest),
            (&mut self.rest_cpu, rest_cpu),
            (&mut self.pss, pss),
            (&mut self.peak, peak),
        ] {
            values.push_marked(who, at, value, super::Mark::of(round, conditions));
        }
        if let Some(touched) = touched {
            // A query that was lost may have touched nothing.
            let mark = super::Mark::of(round, conditions).known(Known::at_least_if(conditions.has_losses()));
            self.touched.push_marked(who, at, touched, mark);
        }
    }
}
