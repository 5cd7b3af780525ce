//! Reads a scenario file. Wrong ones panic with file and line.

use std::path::{Path, PathBuf};

use zonda_tests::exchange::Transport;
use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;
use zonda_tests::server::Kind;

/// A scenario file.
pub struct Scenario {
    /// Where it lies.
    pub path: PathBuf,
    /// Zones as (origin, text).
    pub zones: Vec<(String, String)>,
    /// Peers that are known to answer otherwise; the file says why.
    pub other_servers: Vec<Kind>,
    /// Queries with what is expected.
    pub steps: Vec<Step>,
}

/// A query and the expected answer.
pub struct Step {
    /// Line of the query.
    pub line: usize,
    /// The query.
    pub query: Query,
    /// How it is sent.
    pub transport: Transport,
    /// Expected RCODE.
    pub rcode: u16,
    /// Expected AA.
    pub authoritative: bool,
    /// Expected TC.
    pub truncated: bool,
    /// Expected records of each section but RRSIG; a section that is not told is not compared.
    pub sections: [(&'static str, Option<String>); 3],
}

impl Scenario {
    /// Reads a file.
    pub fn read(path: &Path) -> Scenario {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut scenario = Scenario {
            path: path.to_owned(),
            zones: Vec::new(),
            other_servers: Vec::new(),
            steps: Vec::new(),
        };
        // What indented lines belong to: a zone (`None`) or a section of the last step.
        let mut open: Option<usize> = None;
        for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let place = format!("{}:{line}", path.display());
            if let Some(record) = text.strip_prefix("    ") {
                scenario.add_line(open, record, &place);
                continue;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            open = None;
            match words[0] {
                "zone" => scenario.zones.push((words[1].to_owned(), String::new())),
                "other" => scenario.other_servers.extend(words[1..].iter().map(|name| kind(name, &place))),
                "query" => scenario.steps.push(Step::new(line, &words[1..], &place)),
                section => open = Some(scenario.open_section(section, &words[1..], &place)),
            }
        }
        assert!(!scenario.steps.is_empty(), "{}: no query", path.display());
        scenario
    }

    fn add_line(&mut self, open: Option<usize>, record: &str, place: &str) {
        let into = match open {
            Some(section) => {
                self.steps.last_mut().and_then(|step| step.sections.get_mut(section)?.1.as_mut())
            }
            None => self.zones.last_mut().filter(|_| self.steps.is_empty()).map(|(_, text)| text),
        };
        let into = into.unwrap_or_else(|| panic!("{place}: a record that belongs to nothing"));
        into.push_str(record);
        into.push('\n');
    }

    /// Starts a section of the last step, or reads its `expect` line (then nothing is open: section 3 panics later).
    fn open_section(&mut self, name: &str, words: &[&str], place: &str) -> usize {
        let step = self.steps.last_mut().unwrap_or_else(|| panic!("{place}: {name} before any query"));
        if name == "expect" {
            step.expect(words, place);
            return usize::MAX;
        }
        let section = step.sections.iter().position(|(known, _)| *known == name);
        let section = section.unwrap_or_else(|| panic!("{place}: unknown word {name}"));
        step.sections[section].1 = Some(String::new());
        section
    }
}

impl Step {
    /// `query NAME TYPE [tcp] [do] [edns=N] [rd] [cd] [class=N]`
    fn new(line: usize, words: &[&str], place: &str) -> Step {
        let qtype = rtype::number(words[1]).unwrap_or_else(|| panic!("{place}: no type {}", words[1]));
        let mut query = Query::new(words[0], qtype);
        let mut transport = Transport::Udp;
        for word in &words[2..] {
            query = match word.split_once('=') {
                None if *word == "tcp" => {
                    transport = Transport::Tcp;
                    query
                }
                None if *word == "do" => query.dnssec(),
                None if *word == "rd" => query.flags(flag::RD),
                None if *word == "cd" => query.flags(flag::CD),
                Some(("edns", octets)) => query.edns(octets.parse().expect("a number of octets")),
                Some(("class", class)) => query.class(class.parse().expect("a class")),
                _ => panic!("{place}: unknown word {word}"),
            };
        }
        let sections = ["answer", "authority", "additional"].map(|name| (name, None));
        Step { line, query, transport, rcode: 0, authoritative: false, truncated: false, sections }
    }

    /// `expect RCODE [aa] [tc]`
    fn expect(&mut self, words: &[&str], place: &str) {
        const RCODES: [&str; 7] =
            ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN"];
        let rcode = RCODES.iter().position(|name| *name == words[0]);
        self.rcode = rcode.unwrap_or_else(|| panic!("{place}: no RCODE {}", words[0])) as u16;
        for word in &words[1..] {
            match *word {
                "aa" => self.authoritative = true,
                "tc" => self.truncated = true,
                _ => panic!("{place}: unknown word {word}"),
            }
        }
    }
}

fn kind(name: &str, place: &str) -> Kind {
    let found = Kind::PEERS.into_iter().find(|kind| kind.label() == name);
    found.unwrap_or_else(|| panic!("{place}: no server {name}"))
}
