//! What must hold in every world, whatever a scenario expects. Each rule has a name, by which a scenario can leave it out.
//!
//! | rule | |
//! |---|---|
//! | `query-form` | what is sent to a server is a query with one question, without RD, AA, QR |
//! | `one-open` | never more than five equal questions to one server at once, one and its repetitions: each is one more for a forger to guess (the birthday attack) |
//! | `answered-once` | a client gets one answer, and within 6 s |
//! | `no-mark` | no answer has the address of attackers, [`MARK`] |

use crate::reply::Reply;
use crate::tested::Path;
use crate::time::{Micros, SECOND};
use std::collections::HashMap;
use std::net::SocketAddr;
use wire::header;
use wire::iana::rtype;

/// The address that attackers of scenarios put into their records: 203.0.113.66.
pub const MARK: [u8; 4] = [203, 0, 113, 66];

/// The longest that a client waits: the deadline of a question, and the time that a step takes.
const ANSWER_AFTER_MAX: Micros = 6 * SECOND + SECOND / 10;
/// Equal questions that may be open at one server: one, and its repetitions while each may still be answered.
const EQUAL_OPEN_MAX: u32 = 5;
/// Broken rules that are kept: the first is what a failure says.
const BROKEN_MAX: usize = 10;

/// What holds in every world, whatever the scenario, and what was broken of it.
#[derive(Debug, Default)]
pub struct Rules {
    /// What was broken, in words, the first one first.
    pub broken: Vec<String>,
    left_out: Vec<String>,
    open: HashMap<Path, Key>,
    by_key: HashMap<Key, u32>,
    /// The most equal questions that were open at once.
    pub most_equal: u32,
}

type Key = (SocketAddr, Vec<u8>, u16);

impl Rules {
    /// Takes a rule out.
    pub fn leave_out(&mut self, rule: &str) {
        self.left_out.push(rule.to_owned());
    }

    fn check(&mut self, rule: &str, holds: bool, words: impl FnOnce() -> String) {
        if !holds && self.broken.len() < BROKEN_MAX && !self.left_out.iter().any(|out| out == rule) {
            self.broken.push(format!("{rule}: {}", words()));
        }
    }

    pub(super) fn sent(&mut self, path: Path, to: SocketAddr, octets: &[u8]) {
        let Ok(query) = Reply::read(octets) else {
            return self.check("query-form", false, || format!("{octets:02x?} to {to}"));
        };
        let is_query = query.flags & (header::QR | header::RD | header::AA | header::TC) == 0;
        let is_bare = query.sections.iter().all(Vec::is_empty);
        self.check("query-form", is_query && is_bare, || query.line());
        let Some(asked) = &query.question else { return self.check("query-form", false, || query.line()) };
        let key = (to, asked.qname.to_lowercase().octets().to_vec(), asked.qtype);
        let equal = self.by_key.entry(key.clone()).or_insert(0);
        *equal += 1;
        let equal = *equal;
        self.open.insert(path, key);
        self.most_equal = self.most_equal.max(equal);
        self.check("one-open", equal <= EQUAL_OPEN_MAX, || {
            format!("{} is asked {to} while it is", query.line())
        });
    }

    pub(super) fn settled(&mut self, path: Path) {
        let Some(key) = self.open.remove(&path) else { return };
        if let Some(equal) = self.by_key.get_mut(&key) {
            *equal -= 1;
            if *equal == 0 {
                self.by_key.remove(&key);
            }
        }
    }

    /// `before`: how many answers the client had.
    pub(super) fn answered(&mut self, before: usize, took: Micros, octets: &[u8]) {
        self.check("answered-once", before == 0, || "a second answer".to_owned());
        self.check("answered-once", took <= ANSWER_AFTER_MAX, || format!("after {took} us"));
        let Ok(reply) = Reply::read(octets) else {
            return self.check("answered-once", false, || format!("{octets:02x?} cannot be read"));
        };
        let is_marked = reply.sections.iter().flatten().any(|one| one.rtype == rtype::A && one.rdata == MARK);
        self.check("no-mark", !is_marked, || reply.line());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::reply::Asked;

    fn query(name: &str, flags: u16) -> Vec<u8> {
        let question = Some(Asked { qname: name.parse().unwrap(), qtype: 1, qclass: 1 });
        Reply { flags, question, ..Reply::default() }.octets()
    }

    #[test]
    fn rules() {
        let to = SocketAddr::from(([192, 0, 2, 1], 53));
        let mut rules = Rules::default();
        rules.sent(Path(1), to, &query("a.", 0));
        rules.sent(Path(2), to, &query("b.", 0));
        rules.settled(Path(1));
        (10..15).for_each(|path| rules.sent(Path(path), to, &query("A.", 0)));
        assert_eq!(rules.broken, Vec::<String>::new());
        rules.sent(Path(6), to, &query("a.", 0));
        rules.sent(Path(5), to, &query("c.", header::RD));
        rules.answered(1, 0, &query("a.", 0));
        rules.answered(0, 7 * SECOND, &query("a.", 0));
        let names: Vec<_> = rules.broken.iter().map(|words| words.split(':').next().unwrap()).collect();
        assert_eq!(names, ["one-open", "query-form", "answered-once", "answered-once"]);
        assert_eq!(rules.most_equal, 6);
        let mut rules = Rules::default();
        rules.leave_out("one-open");
        (1..9).for_each(|path| rules.sent(Path(path), to, &query("a.", 0)));
        assert!(rules.broken.is_empty());
    }
}
