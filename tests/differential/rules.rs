//! Rules that explain differences, read from `rules.toml`.

use serde::Deserialize;
use zonda_tests::exchange::Transport;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::Kind;

use crate::queries::Case;

/// All rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// In the order of the file.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// One explained difference: what of which servers is left out of the comparison, and when. Where one explanation holds in several cases,
/// there are several of its name.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name; heading of its paragraph in `EXPLAINED.md`.
    pub name: String,
    /// Servers whose response shows it.
    pub servers: Vec<String>,
    /// Parts of the response: `rcode`, `aa`, ..., `answer`, `authority`, `additional`.
    pub aspects: Vec<String>,
    /// Only records of these types are left out (an RRSIG counts as the type it covers); else the whole part.
    #[serde(default)]
    pub types: Vec<String>,
    /// Kinds of response (`Response::kind`); any if empty.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// QTYPEs; any if empty.
    #[serde(default)]
    pub qtypes: Vec<String>,
    /// `udp` or `tcp`; any if absent.
    pub transport: Option<String>,
    /// DO set or not; any if absent.
    pub dnssec: Option<bool>,
    /// Origins of zones, `*.` for all below one; any if empty.
    #[serde(default)]
    pub zones: Vec<String>,
    /// Runs of labels, one of which QNAME contains: a name without the origin of its zone; any if empty.
    #[serde(default)]
    pub below: Vec<String>,
    /// The RCODE of the server's response; any if absent.
    pub rcode: Option<u16>,
    /// Only where the largest response that is not truncated fills this share of what the client takes, in percent.
    pub filled: Option<usize>,
    /// So rare that a sample may miss it: whether it is stale is judged by full runs only.
    #[serde(default)]
    pub rare: bool,
    /// Met by the long test of generated zones alone, so that no other run tells whether it is stale.
    #[serde(default)]
    pub long: bool,
    /// RFC section; required where a rule speaks of Zonda.
    pub rfc: Option<String>,
    /// Why it is so, in a line.
    pub reason: String,
}

impl Rules {
    /// Reads the file that stands beside this one.
    pub fn read() -> Rules {
        let rules: Rules = toml::from_str(include_str!("rules.toml")).expect("rules.toml");
        for rule in &rules.rules {
            let of_zonda = rule.servers.iter().any(|name| name == "zonda");
            assert!(!of_zonda || rule.rfc.is_some(), "rule {} speaks of zonda and names no RFC", rule.name);
            assert!(!rule.reason.is_empty(), "rule {} gives no reason", rule.name);
            for name in rule.types.iter().chain(&rule.qtypes) {
                assert!(rtype::number(name).is_some(), "rule {}: no type {name}", rule.name);
            }
        }
        rules
    }
}

/// Whether a zone is this one; `*.` before a name stands for all zones below it.
fn is_zone(entry: &str, zone: &str) -> bool {
    entry == zone || entry.strip_prefix('*').is_some_and(|rest| zone.ends_with(rest))
}

impl Rule {
    /// Whether the rule is about this aspect of this server's response to this query; `largest` is the size of the
    /// largest response that is not truncated.
    pub fn applies(
        &self,
        aspect: &str,
        kind: Kind,
        case: &Case,
        response: &Response,
        largest: usize,
    ) -> bool {
        let listed =
            |list: &[String], value: &str| list.is_empty() || list.iter().any(|entry| entry == value);
        let transport = if case.transport == Transport::Udp { "udp" } else { "tcp" };
        self.aspects.iter().any(|name| name == aspect)
            && self.servers.iter().any(|name| name == kind.label())
            && listed(&self.kinds, response.kind())
            && listed(&self.qtypes, &rtype::name(case.query.qtype))
            && (self.zones.is_empty() || self.zones.iter().any(|zone| is_zone(zone, &case.zone)))
            && self.transport.as_ref().is_none_or(|wanted| wanted == transport)
            && self.dnssec.is_none_or(|wanted| wanted == case.dnssec())
            && self.rcode.is_none_or(|wanted| wanted == response.rcode())
            && self.filled.is_none_or(|percent| largest * 100 >= case.limit() * percent)
            && self.is_below(case)
    }

    /// Whether one of the label runs of `below` stands in QNAME.
    fn is_below(&self, case: &Case) -> bool {
        let qname = case.query.name.lower();
        let labels = qname.labels();
        let stands = |run: &String| {
            let run = zonda_tests::name::Name::parse(run);
            labels.windows(run.labels().len()).any(|window| window == run.labels())
        };
        self.below.is_empty() || self.below.iter().any(stands)
    }

    /// Whether the rule leaves this record out.
    pub fn covers(&self, record: &Record) -> bool {
        let rtype = record.covered().unwrap_or(record.rtype);
        self.types.is_empty() || self.types.iter().any(|name| rtype::number(name) == Some(rtype))
    }
}
