//! Which rules were looked at, and which decides.

use wire::iana::rtype;

use super::{close, flag, item, key, name, number, string};
use crate::frame::{Rule, Set, Standing, Verdict};

/// What rules say of RRsets of zones: each zone, its RRsets, and of each the rules of the key and then those of the zone.
#[derive(Debug, Default)]
pub struct Explained {
    zones: usize,
    /// RRsets of the last zone, and rules of the last RRset.
    sets: usize,
    rules: usize,
}

impl Explained {
    /// Adds a zone.
    pub fn zone(&mut self, standing: &Standing<'_>, out: &mut Vec<u8>) {
        self.end_zone(out);
        item(&mut self.zones, "{\"zones\":[", out);
        out.push(b'{');
        key("name", out);
        name(standing.zone, out);
        number("status", standing.status, out);
        if !standing.words.is_empty() {
            string("error", standing.words, out);
        }
        key("rrsets", out);
    }

    /// Adds an RRset to the last zone. `is_granted`: whether it may change.
    pub fn set(&mut self, set: &Set<'_>, is_granted: bool, out: &mut Vec<u8>) {
        self.end_set(out);
        item(&mut self.sets, "[", out);
        out.push(b'{');
        key("name", out);
        name(set.owner, out);
        string("type", &rtype::Text(set.rtype).to_string(), out);
        flag("granted", is_granted, out);
        key("rules", out);
    }

    /// Adds a rule to the last RRset.
    pub fn rule(&mut self, rule: &Rule<'_>, out: &mut Vec<u8>) {
        item(&mut self.rules, "[", out);
        out.push(b'{');
        string("by", if rule.is_of_zone { "zone" } else { "key" }, out);
        number("number", rule.rule, out);
        string("rule", rule.words, out);
        string("verdict", word(rule.verdict), out);
        out.push(b'}');
    }

    fn end_set(&mut self, out: &mut Vec<u8>) {
        if self.sets > 0 {
            close(std::mem::take(&mut self.rules), "[", "]}", out);
        }
    }

    fn end_zone(&mut self, out: &mut Vec<u8>) {
        if self.zones > 0 {
            self.end_set(out);
            close(std::mem::take(&mut self.sets), "[", "]}", out);
        }
    }

    /// Ends the answer.
    pub fn end(mut self, out: &mut Vec<u8>) {
        self.end_zone(out);
        close(self.zones, "{\"zones\":[", "]}", out);
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Grants => "grants",
        Verdict::Denies => "denies",
        Verdict::OtherSenders => "other-senders",
        Verdict::OtherNames => "other-names",
        Verdict::OtherTypes => "other-types",
    }
}
