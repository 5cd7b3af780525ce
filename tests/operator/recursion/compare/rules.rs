//! The differences that are explained: `explained.toml`.

use serde::Deserialize;
use zonda_tests::message::flag;
use zonda_tests::rtype;

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
    /// Whether Zonda's answer is empty / the peer's is.
    empty: Option<bool>,
    peer_empty: Option<bool>,
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

/// All rules.
pub fn rules() -> Vec<Rule> {
    let rules: Rules = toml::from_str(include_str!("../explained.toml")).expect("the rules");
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
