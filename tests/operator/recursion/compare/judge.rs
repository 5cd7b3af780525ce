//! What three resolvers said to the same questions, compared; what is different needs a rule.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use zonda_tests::rtype;

use super::RESOLVERS;
use super::looks::Looks;
use super::question::Question;
use super::rules::{Difference, Rule, rules};
use super::said::{SERVFAIL, Said};

/// Who ask at once: each of the resolvers has work then, and none is overrun.
const CLIENTS: usize = 16;

/// A failure says nothing of the name, and is kept for a second by BIND: whoever failed alone is asked again after that (RFC 9520 3.2).
const FAILURE_WAIT: Duration = Duration::from_millis(1_200);
/// How often, and by how much some wait longer than others: another client's question may have failed meanwhile.
const FAILURES: usize = 4;
const APART_MS: u64 = 3_000;
/// Differences that are shown of each rule.
const SAMPLES: usize = 20;

/// What three said, after how many seconds; what they say to questions beside it, where they differ.
struct Heard {
    said: [Said; 3],
    looks: Looks,
    seconds: u32,
    /// Peers that failed where Zonda did not, and were asked again.
    repeated: usize,
}

/// What came of many questions.
#[derive(Default)]
pub struct Findings {
    pub questions: usize,
    /// How long asking took.
    seconds: u32,
    /// By Zonda's RCODE, of signed zones and others; by how they were asked; those with AD in the answer.
    counts: BTreeMap<String, usize>,
    /// How many differences each rule explained.
    explained: BTreeMap<String, usize>,
    /// What no rule explains.
    pub unexplained: Vec<String>,
    /// Some of what each rule explained, to be looked at.
    pub samples: BTreeMap<String, Vec<String>>,
}

impl Findings {
    /// With those of another run.
    pub fn add(&mut self, other: Findings) {
        self.questions += other.questions;
        self.seconds += other.seconds;
        other.counts.into_iter().for_each(|(what, count)| *self.counts.entry(what).or_default() += count);
        other
            .explained
            .into_iter()
            .for_each(|(rule, count)| *self.explained.entry(rule).or_default() += count);
        self.unexplained.extend(other.unexplained);
        for (rule, samples) in other.samples {
            let all = self.samples.entry(rule).or_default();
            all.extend(samples);
            all.truncate(SAMPLES);
        }
    }

    /// For people: what was asked and explained, and the rules that explained nothing.
    pub fn report(&self) -> String {
        let stale: Vec<String> = rules()
            .into_iter()
            .map(|rule| rule.name)
            .filter(|name| !self.explained.contains_key(name))
            .collect();
        format!(
            "{} questions in {} s: {:?}\nexplained: {:?}\nrules that explained nothing: {stale:?}\nunexplained: {}",
            self.questions,
            self.seconds,
            self.counts,
            self.explained,
            self.unexplained.len()
        )
    }

    fn count(&mut self, what: String) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// Whether each zone is signed, bogus or not.
pub type Zones = BTreeMap<String, bool>;

/// Asks all and compares.
pub fn judge(questions: &str, most: usize, zones: &Zones) -> Findings {
    let questions: Vec<Question> = questions
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, qtype)| Some((name, rtype::number(qtype)?)))
        .take(most)
        .enumerate()
        .map(|(number, (name, qtype))| Question::of(name, qtype, number))
        .collect();
    let heard = ask_all(&questions);
    let rules = rules();
    let seconds = heard.iter().map(|heard| heard.seconds).max().unwrap_or(0);
    let mut findings = Findings { questions: questions.len(), seconds, ..Findings::default() };
    for (question, heard) in questions.iter().zip(&heard) {
        findings.note(question, heard, zones);
        findings.compare(question, heard, &rules);
    }
    findings
}

/// Asks each question of all three, a share of them after the other by each client.
fn ask_all(questions: &[Question]) -> Vec<Heard> {
    let begun = Instant::now();
    let share = questions.len().div_ceil(CLIENTS).max(1);
    let ask = |question: &Question| {
        let mut said = RESOLVERS.map(|(_, address)| Said::of(question.ask(address).as_ref()));
        let is_zondas = said[0].rcode == SERVFAIL;
        let mut repeated = 0;
        for (said, (_, address)) in said.iter_mut().zip(RESOLVERS).skip(1) {
            if said.rcode == SERVFAIL && !is_zondas {
                let again = patiently(question, address);
                (*said, repeated) = (again.0, repeated + again.1);
            }
        }
        let seconds = begun.elapsed().as_secs() as u32;
        let looks = Looks::of(question, &said, seconds);
        Heard { said, looks, seconds, repeated }
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = questions
            .chunks(share)
            .map(|questions| scope.spawn(|| questions.iter().map(ask).collect::<Vec<_>>()))
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    })
}

/// What a server that has failed says, and how often it was asked for that.
pub fn patiently(question: &Question, address: &str) -> (Said, usize) {
    // Others who wait for the same must not keep each other's failures alive: longer each time, and at no common pace.
    let ask = |turn: usize| {
        let apart = u64::from(question.query.id) * 613 * turn as u64 % APART_MS;
        std::thread::sleep(FAILURE_WAIT * turn as u32 + Duration::from_millis(apart));
        Said::of(question.ask(address).as_ref())
    };
    let mut all: Vec<Said> = Vec::new();
    for said in (1..=FAILURES).map(ask) {
        let has_failed = said.rcode == SERVFAIL;
        all.push(said);
        if !has_failed {
            break;
        }
    }
    let count = all.len();
    (all.pop().expect("one answer at least"), count)
}

impl Findings {
    /// Finds a rule for the first part in which each peer says something else.
    fn compare(&mut self, question: &Question, heard: &Heard, rules: &[Rule]) {
        let [zonda, peers @ ..] = &heard.said;
        for (at, (peer, (peer_name, _))) in peers.iter().zip(&RESOLVERS[1..]).enumerate() {
            let seconds = heard.seconds;
            let Some(part) = zonda.difference(peer, seconds) else { continue };
            let (other, looks) = (&peers[1 - at], heard.looks.at(at));
            let difference =
                Difference { question, part, peer_name, zonda, peer, other, looks, seconds, ttl: None };
            let words = difference.words();
            // Several sets may have other TTLs, each for a reason of its own.
            let ttls = zonda.other_ttls(peer, seconds).filter(|_| part == "ttl").map(Some);
            let parts: Vec<_> = if part == "ttl" { ttls.collect() } else { vec![None] };
            let rule_of = |ttl| {
                let of_set = Difference { ttl, ..difference };
                rules.iter().find(|rule| rule.explains(&of_set))
            };
            match parts.into_iter().map(rule_of).collect::<Option<Vec<&Rule>>>() {
                Some(found) => found.into_iter().for_each(|rule| self.explain(rule, &words)),
                None => self.unexplained.push(words),
            }
        }
    }

    fn explain(&mut self, rule: &Rule, words: &str) {
        *self.explained.entry(rule.name.clone()).or_default() += 1;
        let samples = self.samples.entry(rule.name.clone()).or_default();
        if samples.len() < SAMPLES {
            samples.push(words.to_owned());
        }
    }

    /// Puts what Zonda's log says of a failure beside each difference in which it failed.
    pub fn explain_failures(&mut self, log: &str) {
        for words in &mut self.unexplained {
            let mut asked = words.split(' ');
            let (Some(name), Some(qtype)) = (asked.next(), asked.next().map(|one| one.trim_end_matches(':')))
            else {
                continue;
            };
            let begin = format!("SERVFAIL for {name} {qtype}");
            let is_of_it = |line: &&str| {
                line.split_once(&begin)
                    .is_some_and(|(_, why)| why.is_empty() || why.starts_with([',', ':', ' ']))
            };
            let lines: Vec<String> =
                log.lines().filter(is_of_it).map(|line| format!("\n  log: {line}")).collect();
            *words += &lines.concat();
        }
    }

    fn note(&mut self, question: &Question, heard: &Heard, zones: &Zones) {
        let zonda = &heard.said[0];
        let zone = if is_of_signed(question, zones) { "signed" } else { "unsigned" };
        self.count(format!("{zone}, rcode {}", zonda.rcode));
        question.marks().into_iter().for_each(|mark| self.count(format!("asked:{mark}")));
        if zonda.ad {
            self.count("with AD".to_owned());
        }
        if heard.repeated > 0 {
            *self.counts.entry("asked again of peers that failed".to_owned()).or_default() += heard.repeated;
        }
    }
}

/// Whether the deepest zone that the name is in is signed. DS is of the one above.
fn is_of_signed(question: &Question, zones: &Zones) -> bool {
    let name = question.query.name.to_string().to_lowercase();
    let mut name = name.as_str();
    if question.query.qtype == rtype::DS {
        name = above(name).unwrap_or(name);
    }
    loop {
        if let Some(is_signed) = zones.get(name) {
            return *is_signed;
        }
        let Some(next) = above(name) else { return false };
        name = next;
    }
}

/// The name one label up, as text.
fn above(name: &str) -> Option<&str> {
    match name.split_once('.')? {
        (_, "") => (name != ".").then_some("."),
        (_, rest) => Some(rest),
    }
}
