//! Which rules are looked at for RRsets that somebody would change, and which decides: those of the key, then those of the zone.
//!
//! ```text
//! ask -> judge: key, verb, scope, forms -> look: policies, whether the zones take changes -> session: rules, RRset by RRset, a piece at a time
//! ```
//!
//! Nothing is changed by asking, and of what is in a zone nothing is looked at. However many rules there are, in memory are the names that are asked about and one piece.

use std::sync::Arc;

use api::frame::{Item, Piece, REST_OCTETS_MAX, Rule, Run, Standing, Verdict, WORDS_OCTETS_MAX};
use change::Policy;
use change::policy::{Looked, Misfit, Permission};
use wire::NameBuf;

use super::Key;
use super::reading::frame;

/// Octets of a piece, before the rule that is its last.
const PIECE_OCTETS: usize = 60 << 10;
/// Octets of a rule, around its words.
const RULE_OCTETS: usize = 2 + 4 + 1 + 1 + 2 + 1 + 2;
const _: () = assert!(PIECE_OCTETS + RULE_OCTETS + WORDS_OCTETS_MAX <= REST_OCTETS_MAX);

/// RRsets of a zone that are asked about.
pub(super) struct Question {
    /// The zone, lower-case.
    pub(super) zone: NameBuf,
    /// Keys of their owners ([`wire::SortKey`]), and their types.
    pub(super) sets: Vec<(Box<[u8]>, u16)>,
}

/// What holds for changes of a zone.
pub(super) struct Terms {
    /// Who may change what; `None`: nobody, over the API.
    pub(super) policy: Option<Arc<Policy>>,
    /// The status that a change would have for what the zone is, and why; 200: it takes changes.
    pub(super) status: u16,
    pub(super) words: String,
}

/// An answer, as far as it is told.
pub(super) struct Explaining {
    /// The number of the ask.
    ask: u32,
    key: Arc<Key>,
    zones: Vec<(Question, Terms)>,
    /// The zone that is told, and whether it has begun.
    zone: usize,
    has_begun: bool,
    /// Its RRset that is told, and how many rules of that were.
    set: usize,
    rules: usize,
}

impl Explaining {
    pub(super) fn new(ask: u32, key: Arc<Key>, zones: Vec<(Question, Terms)>) -> Explaining {
        Explaining { ask, key, zones, zone: 0, has_begun: false, set: 0, rules: 0 }
    }

    /// The next frame; `None`: all is told.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let (question, terms) = self.zones.get(self.zone)?;
            let mut octets = Vec::new();
            if !std::mem::replace(&mut self.has_begun, true) {
                Standing { zone: &question.zone, status: terms.status, words: &terms.words }
                    .write(&mut octets);
                return frame(self.ask, Piece::Standings(Run::read(&octets)?));
            }
            self.put_rules(&mut octets);
            if !octets.is_empty() {
                return frame(self.ask, Piece::Rules(Run::read(&octets)?));
            }
            (self.zone, self.has_begun, self.set, self.rules) = (self.zone + 1, false, 0, 0);
        }
    }

    /// Appends rules for RRsets of the zone from where it was left on, a piece at most.
    fn put_rules(&mut self, octets: &mut Vec<u8>) {
        let Some((question, terms)) = self.zones.get(self.zone) else { return };
        let name = self.key.name();
        let of_key = self.key.policy.of_api(name);
        let of_zone = terms.policy.as_ref().map(|policy| policy.of_api(name));
        while octets.len() < PIECE_OCTETS
            && let Some((owner, rtype)) = question.sets.get(self.set)
        {
            let grants = |permission: &Permission<'_>| permission.decide(owner, *rtype).is_granted;
            let is_granted = grants(&of_key) && of_zone.as_ref().is_some_and(grants);
            // Rules of a key are written without whom they are about.
            let own = looked(Some(&of_key), owner, *rtype)
                .map(|(rule, verdict, _)| (false, rule, verdict, self.key.rule(rule)));
            let others = looked(of_zone.as_ref(), owner, *rtype)
                .map(|(rule, verdict, words)| (true, rule, verdict, words));
            let mut rules = own.chain(others).skip(self.rules);
            while octets.len() < PIECE_OCTETS {
                let Some((is_of_zone, rule, verdict, words)) = rules.next() else {
                    (self.set, self.rules) = (self.set + 1, 0);
                    break;
                };
                let (zone, set) = (self.zone as u16, self.set as u32);
                Rule { zone, set, is_granted, is_of_zone, rule, verdict, words }.write(octets);
                self.rules += 1;
            }
        }
    }
}

/// The rules of a policy that are looked at for an RRset, each with its number, what it says and its text; where none fits, one without number and text that denies is the last.
fn looked<'p>(
    permission: Option<&Permission<'p>>,
    owner: &[u8],
    rtype: u16,
) -> impl Iterator<Item = (u16, Verdict, &'p str)> {
    let fits = permission.is_some_and(|permission| permission.decide(owner, rtype).rule.is_some());
    let looked = permission.into_iter().flat_map(move |permission| permission.look(owner, rtype));
    let none = (!fits).then_some((0, Verdict::Denies, ""));
    looked.map(|looked| (looked.number, verdict(&looked), looked.text)).chain(none)
}

fn verdict(looked: &Looked<'_>) -> Verdict {
    match looked.misfit {
        Some(Misfit::Identity) => Verdict::OtherSenders,
        Some(Misfit::Name) => Verdict::OtherNames,
        Some(Misfit::Type) => Verdict::OtherTypes,
        None if looked.is_grant => Verdict::Grants,
        None => Verdict::Denies,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::{Keys, new_api_key};
    use crate::settings::Settings;
    use api::frame::{Answer, Frame};
    use std::path::Path;
    use wire::iana::rtype::{A, NS, TXT};
    use wire::{Name, SortKey};

    fn key(rules: &str) -> Arc<Key> {
        let (section, secret) = new_api_key("acme").unwrap();
        let section = section.replace("zones = []", "zones = [\"*.x.\"]").replace("rules = []", rules);
        let keys = Keys::of(&Settings::parse(Path::new("f"), &section).unwrap(), 1);
        Arc::clone(keys.find(secret.as_bytes(), 0).unwrap())
    }

    fn name(text: &str) -> NameBuf {
        text.parse().unwrap()
    }

    fn question(zone: &str, sets: &[(&Name, u16)]) -> Question {
        let sets = sets.iter().map(|(owner, rtype)| (SortKey::of(owner).octets().into(), *rtype)).collect();
        Question { zone: name(zone), sets }
    }

    fn terms(rules: &[&str]) -> Terms {
        let policy = Some(Arc::new(Policy::new(rules.iter().copied()).unwrap()));
        Terms { policy, status: 200, words: String::new() }
    }

    /// All that is told, a line an item, and how many frames that were.
    fn told(mut explaining: Explaining) -> (Vec<String>, usize) {
        let (mut lines, mut frames) = (Vec::new(), 0);
        while let Some(frame) = explaining.next() {
            frames += 1;
            match Answer::of(&Frame::read(&frame).unwrap().unwrap().0).unwrap() {
                Answer::Piece(Piece::Standings(zones)) => {
                    lines.extend(zones.iter().map(|zone| format!("{} {}", zone.zone, zone.status)));
                }
                Answer::Piece(Piece::Rules(rules)) => lines.extend(rules.iter().map(|rule| {
                    let whose = if rule.is_of_zone { "zone" } else { "key" };
                    let Rule { zone, set, is_granted, rule, verdict, words, .. } = rule;
                    format!("{zone}.{set} {is_granted} {whose} {rule} {verdict:?} {words}")
                        .trim_end()
                        .to_owned()
                })),
                other => panic!("{other:?}"),
            }
        }
        (lines, frames)
    }

    #[test]
    fn rules_of_key_and_zone() {
        let key = key("rules = [\"deny label fixed\", \"grant zonesub A TXT\", \"grant zonesub\"]");
        let (fixed, www) = (name("fixed.a.x."), name("www.a.x."));
        let first = question("a.x.", &[(&fixed, A), (&www, A), (&www, NS)]);
        let policy = ["grant dhcp. zonesub", "grant api:acme zonesub TXT", "grant * name www.a.x. A"];
        let none = Terms { policy: None, status: 422, words: "no policy".into() };
        let zones = vec![(first, terms(&policy)), (question("b.x.", &[(&www, TXT)]), none)];
        let (lines, _) = told(Explaining::new(1, key, zones));
        assert_eq!(
            lines,
            [
                "a.x. 200",
                "0.0 false key 1 Denies deny label fixed",
                "0.0 false zone 1 OtherSenders grant dhcp. zonesub",
                "0.0 false zone 2 OtherTypes grant api:acme zonesub TXT",
                "0.0 false zone 3 OtherNames grant * name www.a.x. A",
                "0.0 false zone 0 Denies",
                "0.1 true key 1 OtherNames deny label fixed",
                "0.1 true key 2 Grants grant zonesub A TXT",
                "0.1 true zone 1 OtherSenders grant dhcp. zonesub",
                "0.1 true zone 2 OtherTypes grant api:acme zonesub TXT",
                "0.1 true zone 3 Grants grant * name www.a.x. A",
                "0.2 false key 1 OtherNames deny label fixed",
                "0.2 false key 2 OtherTypes grant zonesub A TXT",
                "0.2 false key 3 OtherTypes grant zonesub",
                "0.2 false key 0 Denies",
                "0.2 false zone 1 OtherSenders grant dhcp. zonesub",
                "0.2 false zone 2 OtherTypes grant api:acme zonesub TXT",
                "0.2 false zone 3 OtherTypes grant * name www.a.x. A",
                "0.2 false zone 0 Denies",
                "b.x. 422",
                "1.0 false key 1 OtherNames deny label fixed",
                "1.0 false key 2 Grants grant zonesub A TXT",
                "1.0 false zone 0 Denies",
            ]
        );
        let (lines, frames) =
            told(Explaining::new(1, self::key(""), vec![(question("c.x.", &[]), terms(&[]))]));
        assert_eq!((lines, frames), (vec!["c.x. 200".to_owned()], 1));
        assert_eq!(told(Explaining::new(1, self::key(""), Vec::new())).1, 0);
    }

    /// However many rules there are, each is told once, in pieces that are frames.
    #[test]
    fn many_rules_come_in_pieces() {
        let owner = name("www.a.x.");
        let long = format!("grant * name {}a.x. A", "y.".repeat(100));
        let rules = vec![&*long; change::policy::RULES_MAX];
        let sets = [(&*owner, A), (&*owner, TXT)];
        let zones = vec![(question("a.x.", &sets), terms(&rules))];
        let (lines, frames) = told(Explaining::new(1, key(""), zones));
        // Of each RRset one of the key, which has none, and one more of the zone, as none fits.
        assert_eq!(lines.len(), 1 + 2 * (1 + rules.len() + 1));
        assert!(frames > 6 && lines.iter().collect::<std::collections::HashSet<_>>().len() == lines.len());
    }
}
