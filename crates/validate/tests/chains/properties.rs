//! What holds whatever is answered: nothing changed is secure, and nothing is proved that is not so.
use std::collections::BTreeMap;

use crate::kit::{Cache, Reply, World, name};
use proptest::prelude::*;
use sim::signer::{Denial, Signing};
use validate::{Ending, Security, Verifier};
use wire::iana::{rcode, rtype};
use wire::rrset::RdataListBuf;
use wire::{Name, NameBuf};

const LABELS: [&str; 6] = ["a", "b", "c", "*", "w", "z"];

/// A zone as a naive model: names with their types. Its apex is `example.`.
#[derive(Clone, Debug)]
struct Model {
    names: BTreeMap<String, Vec<u16>>,
}

/// What there is at a name.
#[derive(Debug, PartialEq, Eq)]
enum Truth {
    Data,
    NoData,
    NameError,
    /// Below or at a zone cut, or an alias: other rules.
    Other,
}

impl Model {
    fn text(&self) -> String {
        let line = |(name, types): (&String, &Vec<u16>)| {
            types.iter().map(|&rtype| format!("{name} 300 {}\n", fields(rtype))).collect::<String>()
        };
        self.names.iter().map(line).collect()
    }

    fn exists(&self, relative: &str) -> bool {
        relative.is_empty()
            || relative == "ns"
            || self.names.keys().any(|known| {
                known == relative || known.strip_suffix(relative).is_some_and(|rest| rest.ends_with('.'))
            })
    }

    fn types(&self, relative: &str) -> Option<&Vec<u16>> {
        self.names.get(relative)
    }

    /// By RFC 1034 4.3.2 and RFC 4592.
    fn truth(&self, relative: &str, qtype: u16) -> Truth {
        let mut above = relative;
        loop {
            if self.types(above).is_some_and(|types| types.contains(&rtype::NS)) {
                return Truth::Other;
            }
            match above.split_once('.') {
                Some((_, rest)) => above = rest,
                None => break,
            }
        }
        let answers = |types: Option<&Vec<u16>>| match types {
            Some(types) if types.contains(&rtype::CNAME) => Truth::Other,
            Some(types) if types.contains(&qtype) => Truth::Data,
            _ => Truth::NoData,
        };
        if relative == "ns" {
            return if qtype == rtype::A { Truth::Data } else { Truth::NoData };
        }
        if self.exists(relative) {
            return answers(self.types(relative));
        }
        let mut encloser = relative;
        loop {
            encloser = encloser.split_once('.').map_or("", |(_, rest)| rest);
            if self.exists(encloser) {
                break;
            }
        }
        let wildcard = if encloser.is_empty() { "*".to_owned() } else { format!("*.{encloser}") };
        if self.exists(&wildcard) { answers(self.types(&wildcard)) } else { Truth::NameError }
    }
}

fn fields(rtype: u16) -> &'static str {
    match rtype {
        rtype::A => "A 192.0.2.7",
        rtype::TXT => "TXT words",
        rtype::NS => "NS ns.elsewhere.",
        _ => "CNAME www.elsewhere.",
    }
}

fn relative() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&LABELS[..]), 1..4).prop_map(|labels| labels.join("."))
}

fn model() -> impl Strategy<Value = Model> {
    let types = prop_oneof![
        3 => Just(vec![rtype::A]),
        2 => Just(vec![rtype::A, rtype::TXT]),
        1 => Just(vec![rtype::CNAME]),
        1 => Just(vec![rtype::NS]),
    ];
    prop::collection::btree_map(relative(), types, 0..8).prop_map(|mut names| {
        // Delegations at wildcards have no meaning, and nothing is authoritative below one.
        names.retain(|name, types: &mut Vec<u16>| !name.contains('*') || !types.contains(&rtype::NS));
        let cuts: Vec<String> = names
            .iter()
            .filter(|(_, types)| types.contains(&rtype::NS))
            .map(|(name, _)| format!(".{name}"))
            .collect();
        names.retain(|name, _| !cuts.iter().any(|cut| name.ends_with(cut)));
        Model { names }
    })
}

impl Model {
    /// Opt-out leaves out empty non-terminals that only delegations without DS are below (RFC 5155 7.1, erratum 3441): then nobody can prove that a
    /// wildcard above does not reach there.
    fn for_opt_out(mut self) -> Model {
        self.names.retain(|name, types| !name.contains('.') || !types.contains(&rtype::NS));
        self
    }
}

fn denial() -> impl Strategy<Value = Denial> {
    let nsec3 = |opt_out| Denial::Nsec3 { iterations: 0, salt: vec![], opt_out };
    prop_oneof![Just(Denial::Nsec), Just(nsec3(false)), Just(nsec3(true))]
}

/// Signatures are verified once: there are thousands of responses.
fn world(text: &str, denial: Denial) -> World {
    let signing = Signing { has_single_key: true, denial, ..Signing::new(1) };
    let mut world = World::new(&[("example.", text, Some(signing))]);
    world.verifier = Verifier::new(1024).into();
    world
}

fn absolute(relative: &str) -> String {
    format!("{relative}.example.")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What a sound server says is believed, and is what the model says.
    #[test]
    fn sound_answers_are_believed(model in model(), denial in denial(), questions in prop::collection::vec(relative(), 12)) {
        let is_opt_out = matches!(denial, Denial::Nsec3 { opt_out: true, .. });
        let model = if is_opt_out { model.for_opt_out() } else { model };
        let world = world(&model.text(), denial);
        let mut cache = Cache::default();
        for relative in questions {
            for qtype in [rtype::A, rtype::TXT] {
                let truth = model.truth(&relative, qtype);
                let ending = match truth {
                    Truth::Data => Ending::Answer,
                    Truth::NoData => Ending::NoData,
                    Truth::NameError => Ending::NameError,
                    Truth::Other => continue,
                };
                let outcome = world.validate_with(&world.ask(&absolute(&relative), qtype), &mut cache);
                prop_assert_eq!(outcome.verdict.ending, ending);
                let is_enough = outcome.verdict.security == Security::Secure
                    || is_opt_out && outcome.verdict.security == Security::Insecure;
                prop_assert!(is_enough, "{relative} {qtype} {:?}\n{}", outcome, model.text());
            }
        }
    }

    /// The records that deny one name are given for another, with any RCODE: what comes out secure is so.
    #[test]
    fn nothing_is_proved_that_is_not_so(model in model(), denial in denial(), names in prop::collection::vec(relative(), 6)) {
        let world = world(&model.text(), denial);
        let mut cache = Cache::default();
        let proofs: Vec<Reply> = names.iter().map(|relative| world.ask(&absolute(relative), rtype::TXT)).collect();
        for relative in &names {
            for (proof, other) in proofs.iter().flat_map(|proof| proofs.iter().map(move |other| (proof, other))) {
                for (claim, qtype) in [(rcode::NXDOMAIN, rtype::A), (rcode::NOERROR, rtype::A), (rcode::NOERROR, rtype::DS)] {
                    let mut authority = proof.authority.clone();
                    authority.extend(other.authority.iter().cloned());
                    let reply = Reply { qname: name(&absolute(relative)), qtype, rcode: claim, answer: vec![], authority };
                    let verdict = world.validate_with(&reply, &mut cache).verdict;
                    if verdict.security != Security::Secure {
                        continue;
                    }
                    let truth = model.truth(relative, qtype);
                    let is_so = match truth {
                        Truth::NoData => verdict.ending == Ending::NoData,
                        Truth::NameError => verdict.ending == Ending::NameError,
                        Truth::Data => false,
                        // At a cut itself there is no DS.
                        Truth::Other => qtype == rtype::DS && model.types(relative).is_some_and(|types| types.contains(&rtype::NS)),
                    };
                    prop_assert!(is_so, "{relative} {qtype}: {truth:?} {:?}\n{}", verdict, model.text());
                }
            }
        }
    }
}

/// Positions of every bit of the RDATA, signatures and owners of a response.
fn bits(reply: &Reply) -> Vec<(usize, usize, usize, usize)> {
    let sets = reply.answer.iter().chain(&reply.authority).enumerate();
    let mut bits = Vec::new();
    for (set_at, set) in sets {
        for (part, list) in [set.rdatas.list(), set.signatures.list()].into_iter().enumerate() {
            for (at, rdata) in list.iter().enumerate() {
                bits.extend((0..8 * rdata.len()).map(|bit| (set_at, part, at, bit)));
            }
        }
        bits.extend((0..8 * set.owner.octets().len()).map(|bit| (set_at, 2, 0, bit)));
    }
    bits
}

fn flip(list: &RdataListBuf, place: usize, bit: usize) -> RdataListBuf {
    let mut rdatas: Vec<Vec<u8>> = list.list().iter().map(<[u8]>::to_vec).collect();
    rdatas[place][bit / 8] ^= 0x80 >> (bit % 8);
    rdatas.iter().map(Vec::as_slice).collect()
}

/// Flips one bit; none where the owner is no name any more, or the same but for the case of a letter.
fn flipped(reply: &Reply, (set_at, part, at, bit): (usize, usize, usize, usize)) -> Option<Reply> {
    let mut flipped = reply.clone();
    let set = flipped.sets_mut().nth(set_at).unwrap();
    match part {
        0 => set.rdatas = flip(&set.rdatas, at, bit),
        1 => set.signatures = flip(&set.signatures, at, bit),
        _ => {
            let mut octets = set.owner.octets().to_vec();
            octets[bit / 8] ^= 0x80 >> (bit % 8);
            let owner: NameBuf = Name::from_wire(&octets).ok()?.to_owned();
            if owner.eq_ignore_case(&set.owner) {
                return None;
            }
            set.owner = owner;
        }
    }
    Some(flipped)
}

/// Every third bit of responses of every kind. What differs in the case of letters that canonical form folds is the same.
#[test]
fn no_flipped_bit_is_secure() {
    let text = "www 300 A 192.0.2.7\nalias 300 CNAME www\n*.wild 300 TXT words\n";
    for denial in [Denial::Nsec, Denial::Nsec3 { iterations: 1, salt: vec![7], opt_out: false }] {
        let world = world(text, denial);
        let mut cache = Cache::default();
        for (qname, qtype) in [
            ("www.example.", rtype::A),
            ("alias.example.", rtype::A),
            ("x.wild.example.", rtype::TXT),
            ("nothing.example.", rtype::A),
            ("www.example.", rtype::TXT),
            ("example.", rtype::DNSKEY),
        ] {
            let reply = world.ask(qname, qtype);
            world.validate_with(&reply, &mut cache).secure();
            for place in bits(&reply).into_iter().step_by(3) {
                let Some(changed) = flipped(&reply, place) else { continue };
                let verdict = world.validate_with(&changed, &mut cache).verdict;
                let set = reply.answer.iter().chain(&reply.authority).nth(place.0).unwrap();
                // An SOA record of another zone is none of the denial.
                let found = verdict.rrsets[place.0].security;
                let is_left_out = place.1 == 2 && set.rtype == rtype::SOA && found == Security::Unchecked;
                // What a wildcard makes is sound at other names too, and then no answer to this question.
                let is_believed =
                    verdict.security == Security::Secure || place.1 < 2 && found == Security::Secure;
                assert!(!is_believed || is_left_out || is_same(set, place), "{qname} {place:?} of {set:?}");
            }
        }
    }
}

/// Whether a flipped bit makes no difference: the case of a letter in a name that canonical form folds.
fn is_same(set: &wire::rrset::RrsetBuf, (_, part, at, bit): (usize, usize, usize, usize)) -> bool {
    let list = if part == 0 { &set.rdatas } else { &set.signatures };
    let rtype = if part == 0 { set.rtype } else { rtype::RRSIG };
    let canonical = |list: &RdataListBuf| {
        let mut octets = Vec::new();
        let rdata = list.list().iter().nth(at).unwrap();
        dnssec::canonical::write_canonical_rdata(rtype, rdata, &mut octets);
        octets
    };
    part < 2 && canonical(list) == canonical(&flip(list, at, bit))
}
