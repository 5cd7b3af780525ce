//! Compares the responses of the servers to one query, aspect by aspect, and keeps what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use zonda_tests::message::flag;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::Kind;

use crate::queries::Case;
use crate::rules::{Rule, Rules};

/// Examples kept of each class.
const EXAMPLES: usize = 3;

/// Parts of a response that are one value.
const SCALARS: [&str; 10] = ["form", "rcode", "aa", "tc", "rd", "ra", "ad", "cd", "question", "edns"];

/// Parts of a response that are a set of records.
const SECTIONS: [&str; 3] = ["answer", "authority", "additional"];

/// What was found so far.
pub struct Findings {
    rules: Rules,
    used: Vec<usize>,
    compared: usize,
    differing: usize,
    classes: BTreeMap<String, (usize, Vec<String>)>,
}

/// Responses to one query by server.
type Responses = BTreeMap<Kind, Result<Response, String>>;

impl Findings {
    /// Nothing found yet.
    pub fn new(rules: Rules) -> Findings {
        let used = vec![0; rules.rules.len()];
        Findings { rules, used, compared: 0, differing: 0, classes: BTreeMap::new() }
    }

    /// Compares the answers to one query.
    pub fn compare(&mut self, case: &Case, answers: &BTreeMap<Kind, Option<&[u8]>>) {
        let responses: Responses = answers
            .iter()
            .map(|(kind, answer)| (*kind, answer.ok_or("no answer".to_owned()).and_then(Response::parse)))
            .collect();
        self.compared += 1;
        let mut differs = false;
        for aspect in SCALARS {
            differs |= self.compare_scalar(aspect, case, &responses);
        }
        for (at, aspect) in SECTIONS.into_iter().enumerate() {
            differs |= self.compare_section(at, aspect, case, &responses);
        }
        self.differing += usize::from(differs);
    }

    /// Compares one value. Whether it differs anywhere.
    fn compare_scalar(&mut self, aspect: &str, case: &Case, responses: &Responses) -> bool {
        let raw: BTreeMap<Kind, String> = responses
            .iter()
            .filter_map(|(kind, response)| Some((*kind, scalar(aspect, case, response)?)))
            .collect();
        if all_equal(raw.values()) {
            return false;
        }
        let largest = largest(responses);
        let mut left = raw.clone();
        for (kind, response) in responses {
            let Ok(response) = response else { continue };
            if let Some(at) =
                self.rules.rules.iter().position(|rule| rule.applies(aspect, *kind, case, response, largest))
            {
                self.used[at] += 1;
                left.remove(kind);
            }
        }
        if !all_equal(left.values()) || is_alone(&raw, left.contains_key(&Kind::Zonda)) {
            let text: Vec<String> =
                raw.iter().map(|(kind, value)| format!("{}={value}", kind.label())).collect();
            self.note(format!("{aspect}: {}", text.join(" ")), case, responses);
        }
        true
    }

    /// Compares one section. Whether it differs anywhere.
    fn compare_section(&mut self, section: usize, aspect: &str, case: &Case, responses: &Responses) -> bool {
        let whole: BTreeMap<Kind, &Response> = responses
            .iter()
            .filter_map(|(kind, response)| Some((*kind, response.as_ref().ok()?)))
            .filter(|(_, response)| !response.has(flag::TC))
            .collect();
        let raw: BTreeMap<Kind, BTreeSet<Record>> =
            whole.iter().map(|(kind, response)| (*kind, records(response, section))).collect();
        if all_equal(raw.values()) {
            return false;
        }
        let largest = largest(responses);
        let mut masks: BTreeMap<Kind, Vec<usize>> = raw.keys().map(|kind| (*kind, Vec::new())).collect();
        for (kind, response) in &whole {
            for (at, rule) in self.rules.rules.iter().enumerate() {
                if rule.applies(aspect, *kind, case, response, largest) {
                    self.used[at] += 1;
                    masks.entry(*kind).or_default().push(at);
                }
            }
        }
        let alone = section < 2 && is_alone(&raw, masks.get(&Kind::Zonda).is_some_and(Vec::is_empty));
        if alone || !self.all_agree(&raw, &masks) {
            let class = section_class(aspect, &raw, &whole);
            self.note(class, case, responses);
        }
        true
    }

    /// Whether every two servers have the same records but for those that a rule about one of the two leaves out.
    fn all_agree(&self, raw: &BTreeMap<Kind, BTreeSet<Record>>, masks: &BTreeMap<Kind, Vec<usize>>) -> bool {
        raw.iter().all(|(one, left)| {
            raw.range(..one).all(|(other, right)| {
                let rules: Vec<&Rule> =
                    masks[one].iter().chain(&masks[other]).map(|at| &self.rules.rules[*at]).collect();
                let compared = |record: &&Record| !rules.iter().any(|rule| rule.covers(record));
                left.iter().filter(compared).eq(right.iter().filter(compared))
            })
        })
    }

    /// Keeps an unexplained difference with a few examples.
    fn note(&mut self, class: String, case: &Case, responses: &Responses) {
        let (count, examples) = self.classes.entry(class).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            let mut text = format!("{case}\n");
            for (kind, response) in responses {
                writeln!(text, "      {}: {}", kind.label(), brief(response)).expect("a string grows");
            }
            examples.push(text);
        }
    }

    /// One paragraph: how much was compared, which rules explained how much.
    pub fn summary(&self) -> String {
        let mut text = format!("{} queries, {} with a difference\n", self.compared, self.differing);
        for (rule, used) in self.rules.rules.iter().zip(&self.used) {
            writeln!(text, "{used:8} {} ({}: {})", rule.name, rule.servers.join(" "), rule.reason)
                .expect("a string grows");
        }
        text
    }

    /// Unexplained classes, the most frequent first.
    pub fn unexplained(&self, shown: usize) -> String {
        let mut classes: Vec<_> = self.classes.iter().collect();
        classes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let mut text = String::new();
        for (class, (count, examples)) in classes.iter().take(shown) {
            writeln!(text, "{count:6} {class}\n    {}", examples.join("    ")).expect("a string grows");
        }
        if classes.len() > shown {
            writeln!(text, "and {} classes more", classes.len() - shown).expect("a string grows");
        }
        text
    }

    /// Rules that explained nothing; of a sample, those that should have.
    pub fn stale_rules(&self, full: bool) -> Vec<&str> {
        let rules = self.rules.rules.iter().zip(&self.used);
        let stale = rules.filter(|(rule, used)| **used == 0 && !rule.long && (full || !rule.rare));
        stale.map(|(rule, _)| rule.name.as_str()).collect()
    }
}

/// Size of the largest response that is not truncated.
fn largest(responses: &Responses) -> usize {
    let whole = responses.values().flatten().filter(|response| !response.has(flag::TC));
    whole.map(|response| response.octets).max().unwrap_or(0)
}

fn all_equal<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let Some(first) = values.next() else { return true };
    values.all(|value| value == first)
}

/// Whether Zonda is asked, no rule speaks of it here, and no peer answers as it does (of two at least: where the others
/// truncate, one that has a rule of its own is no majority).
fn is_alone<T: PartialEq>(raw: &BTreeMap<Kind, T>, unexplained: bool) -> bool {
    let Some(own) = raw.get(&Kind::Zonda).filter(|_| unexplained) else { return false };
    raw.len() > 2 && !raw.iter().any(|(kind, value)| *kind != Kind::Zonda && value == own)
}

/// A value of a response; `None` where it has none to compare.
fn scalar(aspect: &str, case: &Case, response: &Result<Response, String>) -> Option<String> {
    let response = match (aspect, response) {
        ("form", Ok(_)) => return Some("well-formed".into()),
        ("form", Err(fault)) => return Some(fault.clone()),
        (_, Err(_)) => return None,
        (_, Ok(response)) => response,
    };
    let bit = |flag| Some(u8::from(response.has(flag)).to_string());
    match aspect {
        "rcode" => Some(response.rcode().to_string()),
        "aa" => bit(flag::AA),
        "tc" => bit(flag::TC),
        "rd" => bit(flag::RD),
        "ra" => bit(flag::RA),
        "ad" => bit(flag::AD),
        "cd" => bit(flag::CD),
        "question" => {
            let asked = (case.query.name.clone(), case.query.qtype, case.query.qclass);
            Some(if response.questions == [asked] {
                "echoed".into()
            } else {
                format!("{:?}", response.questions)
            })
        }
        _ => Some(match &response.edns {
            None => "absent".into(),
            Some(edns) => {
                // An extended error (15) is a free extra (RFC 8914 2): what Zonda adds is tested elsewhere.
                let codes: Vec<u16> =
                    edns.options.iter().map(|(code, _)| *code).filter(|code| *code != 15).collect();
                format!("v{} flags={:04x} options={codes:?}", edns.version, edns.flags)
            }
        }),
    }
}

/// The records of a section, to compare.
fn records(response: &Response, section: usize) -> BTreeSet<Record> {
    let sections = [&response.answer, &response.authority, &response.additional];
    sections[section].iter().map(Record::folded).collect()
}

/// Names the class of a difference: who deviates from the most frequent content, and by which types.
fn section_class(
    aspect: &str,
    left: &BTreeMap<Kind, BTreeSet<Record>>,
    whole: &BTreeMap<Kind, &Response>,
) -> String {
    let votes = |content: &BTreeSet<Record>| left.values().filter(|other| *other == content).count();
    let Some(usual) = left.values().max_by_key(|content| votes(content)) else { return aspect.to_owned() };
    let mut text = aspect.to_owned();
    for (kind, content) in left.iter().filter(|(_, content)| *content != usual) {
        let types = |from: &BTreeSet<Record>, without: &BTreeSet<Record>| {
            let types: BTreeSet<String> = from.difference(without).map(type_text).collect();
            types.into_iter().collect::<Vec<_>>().join(" ")
        };
        let (extra, missing) = (types(content, usual), types(usual, content));
        write!(text, "; {} [{}]: +({extra}) -({missing})", kind.label(), whole[kind].kind())
            .expect("a string grows");
    }
    text
}

/// The type of a record, with the type covered for a signature.
fn type_text(record: &Record) -> String {
    match record.covered() {
        Some(covered) => format!("RRSIG({})", rtype::name(covered)),
        None => rtype::name(record.rtype),
    }
}

/// A response in a line or a few.
fn brief(response: &Result<Response, String>) -> String {
    let response = match response {
        Ok(response) => response,
        Err(fault) => return fault.clone(),
    };
    let mut text =
        format!("flags={:04x} rcode={} {} octets", response.flags, response.rcode(), response.octets);
    let sections = [("an", &response.answer), ("au", &response.authority), ("ad", &response.additional)];
    for (name, records) in sections {
        for record in records.iter().take(12) {
            write!(text, "\n        {name} {record:?}").expect("a string grows");
        }
        if records.len() > 12 {
            write!(text, "\n        {name} and {} more", records.len() - 12).expect("a string grows");
        }
    }
    text
}
