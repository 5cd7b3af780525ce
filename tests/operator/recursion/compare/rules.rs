//! The differences that are explained: `explained.toml`.

use std::process::Command;

use serde::Deserialize;
use zonda_tests::message::flag;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;

use super::looks::Look;
use super::question::Question;
use super::said::{OtherTtl, SECONDS_APART, SERVFAIL, Said};

/// An explained difference: all that it says must be so.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub name: String,
    part: String,
    peers: Vec<String>,
    /// Types asked for; none: any.
    #[serde(default)]
    types: Vec<String>,
    /// Flags of the query.
    cd: Option<bool>,
    rd: Option<bool>,
    dnssec: Option<bool>,
    /// QCLASS; none: any.
    class: Option<u16>,
    /// Zonda's answer has a CNAME.
    alias: Option<bool>,
    /// The other peer says what Zonda says, in this part.
    agreed: Option<bool>,
    /// Zonda's RCODE, and the peer's: one of these; none: any.
    rcode: Option<u16>,
    #[serde(default)]
    peer_rcodes: Vec<u16>,
    /// Zonda says AD.
    ad: Option<bool>,
    /// Zonda says AD, with the same answer, when it is asked without CD.
    secure: Option<bool>,
    /// Zonda says AD, or does when it is asked so that it tells, with the same answer.
    authentic: Option<bool>,
    /// Zonda says SERVFAIL when it is asked without CD.
    bogus: Option<bool>,
    /// The peer says what Zonda says, response code and answer, when it is asked the other way about CD: what it failed of is validation, or that there was none.
    turned: Option<bool>,
    /// Zonda says AD when it is asked without CD.
    proved: Option<bool>,
    /// Zonda's answer to ANY is HINFO of RFC 8482, or the set that the peer gives, too, when it is asked for that type.
    given: Option<bool>,
    /// Zonda's answer is that HINFO.
    hinfo: Option<bool>,
    /// Zonda's answer has signatures.
    signed: Option<bool>,
    /// QNAME's first label is an asterisk.
    wildcard: Option<bool>,
    /// Zonda's answer section is empty.
    empty: Option<bool>,
    /// A TTL that differs: of a set of this type; Zonda's and the peer's between these when they were fresh; Zonda's longer or shorter.
    ttl_of: Option<String>,
    ttl: Option<[u32; 2]>,
    peer_ttl: Option<[u32; 2]>,
    longer: Option<bool>,
    /// The peer's TTL of an SOA record that was asked for is at most the last field of it, which is that of denials.
    peer_ttl_of_denial: Option<bool>,
    /// Without CD Zonda gives the peer's TTLs, or finds it bogus.
    checked_ttl: Option<bool>,
    /// The peer has more types of the authority section, all of which are proofs, and says no AD.
    more_proofs: Option<bool>,
    /// The peer has fewer types of it, and those are proofs.
    fewer_proofs: Option<bool>,
    /// Zonda's answer was made of a wildcard, as its signatures say.
    expanded: Option<bool>,
    /// Of Unbound with this version alone.
    unbound: Option<String>,
    #[serde(rename = "reason")]
    _reason: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
struct Rules {
    rule: Vec<Rule>,
}

/// One difference: between what Zonda and a peer said, beside what the other peer did.
#[derive(Clone, Copy)]
pub struct Difference<'a> {
    pub question: &'a Question,
    pub part: &'static str,
    pub peer_name: &'a str,
    pub zonda: &'a Said,
    pub peer: &'a Said,
    pub other: &'a Said,
    pub looks: Look<'a>,
    pub seconds: u32,
    /// Of TTLs: the set that it is about. Each needs a rule.
    pub ttl: Option<OtherTtl<'a>>,
}

impl Difference<'_> {
    /// Whether the other peer says what Zonda says.
    fn is_agreed(&self) -> bool {
        match self.ttl {
            Some((set, ttl, _)) => self.other.has_ttl(set, ttl, self.seconds),
            None => self.zonda.agrees(self.other, self.part, self.seconds),
        }
    }

    /// Whether the peer says the other way about CD what Zonda says.
    fn is_turned(&self) -> bool {
        let is_same = |one: &Said| one.rcode == self.zonda.rcode && one.answer == self.zonda.answer;
        self.looks.turned.is_some_and(is_same)
    }

    /// Whether Zonda gave for ANY what is there, or nothing of it.
    fn is_given(&self) -> bool {
        let is_theirs = |one: &Said| one.answer == self.zonda.answer;
        self.zonda.is_hinfo() || self.looks.of_type.is_some_and(is_theirs)
    }

    /// For people.
    pub fn words(&self) -> String {
        let Difference { question, part, peer_name, zonda, peer, looks, .. } = self;
        let others = if zonda.agrees(self.other, part, self.seconds) { "" } else { ", and than the other's" };
        let mut words = format!(
            "{}: {part} is another than {peer_name}'s{others}\n  zonda {zonda:?}\n  {peer_name} {peer:?}",
            question.words()
        );
        let beside = [
            ("zonda with AD, without CD", looks.checked),
            ("of that type", looks.of_type),
            ("with CD turned round", looks.turned),
            ("zonda again", looks.again),
        ];
        for (how, said) in beside.into_iter().filter_map(|(how, said)| Some((how, said?))) {
            words += &format!("\n  {how}: {said:?}");
        }
        words
    }
}

/// All rules that hold for the versions at hand.
pub fn rules() -> Vec<Rule> {
    let mut rules: Rules = toml::from_str(include_str!("../explained.toml")).expect("the rules");
    let said = Command::new(require("unbound", "unbound")).arg("-V").output().expect("the program unbound");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let is_at_hand = |version: &String| said.starts_with(&format!("Version {version}."));
    rules.rule.retain(|rule| rule.unbound.as_ref().is_none_or(is_at_hand));
    rules.rule
}

/// Whether something is as a rule wants it.
fn is_so(wanted: Option<bool>, is: impl FnOnce() -> bool) -> bool {
    wanted.is_none_or(|wanted| wanted == is())
}

impl Rule {
    /// Whether this difference is the one that is explained.
    pub fn explains(&self, of: &Difference<'_>) -> bool {
        let Difference { question, zonda, peer, .. } = of;
        let edns = question.query.edns.as_ref();
        let is_secure =
            || of.looks.checked.is_some_and(|checked| checked.ad && checked.answer == zonda.answer);
        self.part == of.part
            && self.peers.iter().any(|one| one == of.peer_name)
            && (self.types.is_empty() || self.types.contains(&rtype::name(question.query.qtype)))
            && is_so(self.cd, || question.has(flag::CD))
            && is_so(self.rd, || question.has(flag::RD))
            && is_so(self.dnssec, || edns.is_some_and(|edns| edns.flags != 0))
            && self.class.is_none_or(|class| class == question.query.qclass)
            && is_so(self.alias, || zonda.has("CNAME"))
            && is_so(self.agreed, || of.is_agreed())
            && self.rcode.is_none_or(|rcode| rcode == zonda.rcode)
            && (self.peer_rcodes.is_empty() || self.peer_rcodes.contains(&peer.rcode))
            && is_so(self.ad, || zonda.ad)
            && is_so(self.secure, is_secure)
            && is_so(self.authentic, || zonda.ad || is_secure())
            && is_so(self.bogus, || of.looks.checked.is_some_and(|checked| checked.rcode == SERVFAIL))
            && is_so(self.turned, || of.is_turned())
            && is_so(self.proved, || of.looks.checked.is_some_and(|checked| checked.ad))
            && is_so(self.given, || of.is_given())
            && is_so(self.hinfo, || zonda.is_hinfo())
            && is_so(self.signed, || zonda.is_signed())
            && is_so(self.wildcard, || question.query.name.to_string().starts_with("*."))
            && is_so(self.more_proofs, || !peer.ad && zonda.lacks_proofs_alone(peer))
            && is_so(self.fewer_proofs, || zonda.has_proofs_alone(peer))
            && is_so(self.expanded, || zonda.is_made_of_a_wildcard())
            && is_so(self.empty, || zonda.answer.is_empty())
            && self.explains_ttl(of)
    }

    /// Whether the TTL that differs does so as it says.
    fn explains_ttl(&self, of: &Difference<'_>) -> bool {
        let Some((set, ttl, theirs)) = of.ttl else { return true };
        // What was fetched since the first question is no older than that.
        let was = |ttl: u32, range: Option<[u32; 2]>| {
            range.is_none_or(|[least, most]| ttl <= most && ttl + of.seconds + SECONDS_APART >= least)
        };
        let is_of_denial = || of.zonda.denial_ttl().is_some_and(|most| theirs <= most);
        let is_as_checked = || {
            let is_theirs = |one: &Said| one.rcode == SERVFAIL || one.has_ttl(set, theirs, of.seconds);
            of.looks.checked.is_some_and(is_theirs)
        };
        self.ttl_of.as_ref().is_none_or(|one| *one == rtype::name(set.1))
            && was(ttl, self.ttl)
            && was(theirs, self.peer_ttl)
            && is_so(self.longer, || ttl > theirs)
            && is_so(self.peer_ttl_of_denial, is_of_denial)
            && is_so(self.checked_ttl, is_as_checked)
    }
}
