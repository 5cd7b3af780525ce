//! Runs a scenario with a resolver.

use super::check::check;
use super::{Comparison, Network, Plan, Quantity, Scenario, Step, What};
use crate::reply::Reply;
use crate::tested::{Make, Outside, Setup, Tested, Ticket};
use crate::time::{Micros, SECOND};
use crate::world::{Question, Stuck, World};
use std::rc::Rc;

/// How long an answer is waited for: longer than any resolver may take.
const PATIENCE: Micros = 30 * SECOND;
/// How small the steps are in which an answer is looked for.
const STEP: Micros = 1_000;

/// Why a scenario did not pass.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Line of the step.
    pub line: usize,
    /// What is wrong.
    pub words: String,
    /// What happened until then.
    pub story: String,
}

/// Runs all steps; fails at the first that is not as expected.
pub fn run(scenario: &Scenario, make: &Make<'_>) -> Result<(), Failure> {
    story_of(scenario, make).map(drop)
}

/// The same, and what happened in any case.
pub fn story_of(scenario: &Scenario, make: &Make<'_>) -> Result<String, Failure> {
    let begin = |words| Failure { line: 0, words, story: String::new() };
    let internet = scenario.plan.internet().map_err(begin)?;
    let hints = internet.hints();
    let mut world = World::new(internet, scenario.seed);
    let setup = Setup {
        hints,
        anchors: scenario.plan.anchors(),
        settings: scenario.settings.clone(),
        stored: None,
        time: world.time(),
    };
    scenario.without_rules.iter().for_each(|rule| world.rules.leave_out(rule));
    let mut run = Run {
        world,
        tested: make(&setup).map_err(begin)?,
        setup,
        plan: scenario.plan.clone(),
        counted: Counted::default(),
        last: None,
        make,
    };
    for step in &scenario.steps {
        let done = run.step(step).and_then(|()| match run.world.rules.broken.first() {
            Some(words) => Err(format!("broken rule: {words}")),
            None => Ok(()),
        });
        done.map_err(|words| Failure { line: step.line, words, story: run.world.transcript.text() })?;
    }
    Ok(run.world.transcript.text())
}

struct Run<'m> {
    world: World,
    tested: Box<dyn Tested>,
    setup: Setup,
    plan: Plan,
    counted: Counted,
    /// The last question.
    last: Option<Ticket>,
    make: &'m Make<'m>,
}

/// What had been counted when counting began anew.
#[derive(Default)]
struct Counted {
    queries: Vec<u64>,
    streams: u64,
    /// Questions of clients since then.
    asked: u64,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Some(at) = step.at {
            self.until(at)?;
        }
        match &step.what {
            What::Query(question, expected) => {
                let ticket = self.ask(question)?;
                let answers = self.world.answers(ticket);
                match answers {
                    [] if expected.rcode.is_none() && !expected.is_any => Ok(()),
                    [] => Err("no answer came".to_owned()),
                    [answer] => check(expected, &Reply::read(&answer.octets)?),
                    _ => Err(format!("{} answers came", answers.len())),
                }
            }
            What::Flood(count, pattern, qtype) => {
                for number in 0..*count {
                    self.world.ask(&Question::new(&pattern.replace('N', &number.to_string()), *qtype));
                }
                self.counted.asked += u64::from(*count);
                Ok(())
            }
            What::Compare(quantity, comparison, wanted) => self.compare(quantity, *comparison, *wanted),
            What::Count => {
                let servers = self.world.internet.servers();
                self.counted.queries = servers.iter().map(|server| server.counts.queries()).collect();
                self.counted.streams = self.world.totals.streams;
                self.counted.asked = 0;
                Ok(())
            }
            What::Zone(apex, text) => {
                let zone = self.plan.zone(apex).ok_or_else(|| format!("there is no zone {apex}"))?;
                zone.text.clone_from(text);
                self.publish()
            }
            What::Withdraw(apex) | What::Delegate(apex) => {
                let zone = self.plan.zone(apex).ok_or_else(|| format!("there is no zone {apex}"))?;
                zone.is_withdrawn = matches!(step.what, What::Withdraw(_));
                self.publish()
            }
            What::Rekey(apex) => {
                let signing = self.plan.zone(apex).and_then(|zone| zone.signing.as_mut());
                signing.ok_or_else(|| format!("{apex} is not signed"))?.seed += 1;
                self.publish()
            }
            What::Behaviour(server, behaviour) => self.world.internet.behave(server, behaviour.clone()),
            What::Behave(server) => {
                let found = self.world.internet.server(server);
                found.ok_or_else(|| format!("there is no server {server}"))?.behaviours.clear();
                Ok(())
            }
            What::Network(network) => {
                let internet = &mut self.world.internet;
                internet.has_no_ipv4 = *network == Network::NoIpv4;
                internet.has_no_ipv6 = *network == Network::NoIpv6;
                internet.is_cut_off = *network == Network::Cut;
                Ok(())
            }
            What::Clock(seconds) => {
                self.world.clock_ahead = *seconds;
                Ok(())
            }
            What::Command(words) => self.world.command(&mut *self.tested, words).map(drop),
            What::Restart => {
                self.setup.time = self.world.time();
                self.setup.stored = self.tested.store(self.setup.time);
                self.tested = (self.make)(&self.setup)?;
                Ok(())
            }
            What::Wait => Ok(()),
        }
    }

    /// Asks, and waits for an answer; then a little longer, as there must be no second one.
    fn ask(&mut self, question: &Question) -> Result<Ticket, String> {
        let ticket = self.world.ask(question);
        self.counted.asked += 1;
        self.last = Some(ticket);
        let end = self.world.now() + PATIENCE;
        while self.world.answers(ticket).is_empty() && self.world.now() < end {
            self.until(self.world.now() + STEP)?;
        }
        Ok(ticket)
    }

    fn until(&mut self, time: Micros) -> Result<(), String> {
        self.world.run_until(&mut *self.tested, time).map_err(|stuck| match stuck {
            Stuck::Circle => "the resolver goes in circles: no time goes by".to_owned(),
            Stuck::TooMany => "too much happens".to_owned(),
        })
    }

    /// Has all servers serve the zones as they are planned now.
    fn publish(&mut self) -> Result<(), String> {
        let zones = self.plan.complete()?;
        zones.iter().for_each(|zone| self.world.internet.replace_zone(&Rc::clone(zone)));
        Ok(())
    }

    fn compare(&mut self, quantity: &Quantity, comparison: Comparison, wanted: u64) -> Result<(), String> {
        let (counted, servers) = (&self.counted, self.world.internet.servers());
        let place = |name: &String| {
            let at = servers.iter().position(|server| server.name == *name);
            at.ok_or_else(|| format!("there is no server {name}"))
        };
        let of = |at: usize| servers[at].counts.queries() - counted.queries.get(at).copied().unwrap_or(0);
        let found = match quantity {
            Quantity::Queries(name) => of(place(name)?),
            Quantity::AllQueries => (0..servers.len()).map(of).sum(),
            Quantity::Each(name) => {
                let queries = match name {
                    Some(name) => of(place(name)?),
                    None => (0..servers.len()).map(of).sum(),
                };
                (queries * 1_000).div_ceil(counted.asked.max(1))
            }
            Quantity::Streams => self.world.totals.streams - counted.streams,
            Quantity::Took => {
                let took = self.last.and_then(|ticket| self.world.took(ticket));
                took.ok_or("nothing was answered")? / 1_000
            }
            Quantity::Counter(name) => {
                self.tested.counter(name).ok_or_else(|| format!("nothing is counted as {name}"))?
            }
            Quantity::Open => self.tested.open_count() as u64,
        };
        let (is_so, sign) = match comparison {
            Comparison::Most => (found <= wanted, "<="),
            Comparison::Least => (found >= wanted, ">="),
            Comparison::Equal => (found == wanted, "="),
        };
        if is_so { Ok(()) } else { Err(format!("{quantity:?} is {found}, expected {sign} {wanted}")) }
    }
}
