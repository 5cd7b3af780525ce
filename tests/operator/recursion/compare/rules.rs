//! The differences that are explained: `explained.toml`.

use std::process::Command;

use serde::Deserialize;
use zonda_tests::message::flag;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;

use super::question::Question;
use super::said::Said;

const SERVFAIL: u16 = 2;

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
    /// Zonda says SERVFAIL when it is asked without CD.
    bogus: Option<bool>,
    /// The answers are the same without records of this type.
    without: Option<String>,
    /// QNAME's first label is an asterisk.
    wildcard: Option<bool>,
    /// Zonda's answer has records of one type.
    single: Option<bool>,
    /// TTLs that differ: all of sets of this type; all Zonda's between these, and longer than the peer's or shorter.
    ttl_of: Option<String>,
    ttl: Option<[u32; 2]>,
    longer: Option<bool>,
    /// The peer has more types of the authority section, all of which are proofs, and says no AD.
    more_proofs: Option<bool>,
    /// Whether Zonda's answer is empty / the peer's is.
    empty: Option<bool>,
    peer_empty: Option<bool>,
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
pub struct Difference<'a> {
    pub question: &'a Question,
    pub part: &'static str,
    pub peer_name: &'a str,
    pub zonda: &'a Said,
    pub peer: &'a Said,
    pub other: &'a Said,
    /// What Zonda says without CD.
    pub checked: Option<&'a Said>,
    pub seconds: u32,
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
        let is_secure = || of.checked.is_some_and(|checked| checked.ad && checked.answer == zonda.answer);
        self.part == of.part
            && self.peers.iter().any(|one| one == of.peer_name)
            && (self.types.is_empty() || self.types.contains(&rtype::name(question.query.qtype)))
            && is_so(self.cd, || question.has(flag::CD))
            && is_so(self.rd, || question.has(flag::RD))
            && is_so(self.dnssec, || edns.is_some_and(|edns| edns.flags != 0))
            && self.class.is_none_or(|class| class == question.query.qclass)
            && is_so(self.alias, || zonda.has("CNAME"))
            && is_so(self.agreed, || zonda.agrees(of.other, of.part, of.seconds))
            && self.rcode.is_none_or(|rcode| rcode == zonda.rcode)
            && (self.peer_rcodes.is_empty() || self.peer_rcodes.contains(&peer.rcode))
            && is_so(self.ad, || zonda.ad)
            && is_so(self.secure, is_secure)
            && is_so(self.bogus, || of.checked.is_some_and(|checked| checked.rcode == SERVFAIL))
            && self.without.as_ref().is_none_or(|one| zonda.without(one) == peer.without(one))
            && is_so(self.wildcard, || question.query.name.to_string().starts_with("*."))
            && is_so(self.single, || zonda.types().len() == 1)
            && is_so(self.more_proofs, || !peer.ad && zonda.lacks_proofs_alone(peer))
            && self.explains_ttls(of)
            && is_so(self.empty, || zonda.answer.is_empty())
            && is_so(self.peer_empty, || peer.answer.is_empty())
    }

    /// Whether the TTLs that differ do so as it says.
    fn explains_ttls(&self, of: &Difference<'_>) -> bool {
        let mut others = of.zonda.other_ttls(of.peer, of.seconds);
        others.all(|(rtype, ttl, theirs)| {
            self.ttl_of.as_ref().is_none_or(|one| *one == rtype::name(rtype))
                && self.ttl.is_none_or(|[least, most]| (least..=most).contains(&ttl))
                && is_so(self.longer, || ttl > theirs)
        })
    }
}
