//! What clients get, by subject.
#![allow(clippy::unwrap_used)]

mod cached;
mod clients;
mod dns64;
mod local_names;
mod message;
mod outcomes;

use crate::Waiting;
use crate::dns64::{Dns64, Prefix};
use crate::kit::{Kit, name, sets};
use crate::local::{self, Kind, Local, Record, Zone};
use crate::networks::Networks;
use crate::policy::Clients;
use cache::Security::{self, Secure};
use resolve::Outcome;
use wire::iana::rcode;

const A: &[&str] = &["192.0.2.1"];

fn local(zones: &[(&str, Kind)], records: &[(&str, u16, &str)]) -> Local {
    let record = |&(owner, rtype, text): &(&str, u16, &str)| Record {
        owner: name(owner),
        rtype,
        ttl: 60,
        rdata: crate::kit::rdata(rtype, text).into(),
    };
    Local::new(&local::Source {
        zones: zones
            .iter()
            .map(|(zone, kind)| Zone { is_told: true, ..Zone::new(name(zone), *kind) })
            .collect(),
        records: records.iter().map(record).collect(),
        has_dns64: true,
        ..local::Source::default()
    })
}

fn outcome(
    answer: &[(&str, u16, u32, &[&str])],
    authority: &[(&str, u16, u32, &[&str])],
    security: Security,
) -> Outcome {
    let signed = security == Secure;
    Outcome {
        rcode: rcode::NOERROR,
        is_fact: true,
        security: Some(security),
        answer: sets(answer, signed),
        authority: sets(authority, signed),
        ..Outcome::default()
    }
}

fn waiting(kit: &mut Kit, text: &str, qtype: u16, flags: u16, dnssec_ok: bool) -> Waiting {
    assert_eq!(kit.ask(text, qtype, flags, dnssec_ok), "Miss");
    kit.responder.waiting()
}

fn with_dns64() -> Kit {
    let mut kit = Kit::new();
    let prefix = Prefix::new("64:ff9b::".parse().unwrap(), 96).unwrap();
    kit.policy.dns64 = Dns64::new(&[prefix], &[], Networks::default(), Clients::All);
    kit.policy.local = local(&[], &[]);
    kit
}
