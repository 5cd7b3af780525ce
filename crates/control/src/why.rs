//! Why the server answers as it does, from its zones: the response that it would send, and the way to it in words.
//!
//! ```text
//! question -> octets of a query -> auth::Responder, the workers' `Server` with nothing kept, all let in -> response
//!                                                                                                            | names of its aliases
//! steps <- walk: the same lookups in the same versions of the same zones, name by name <---------------------'
//!              and whether what it finds and the response agree
//! ```
//!
//! What no zone here has, and goes to a resolver, [`learned`] says: what its cache has, and whom it would ask.
//!
//! Nothing is counted where others see it, charged to a limit, or marked as used, and no worker has anything to do with it. The response is what clients get who may ask; whether one
//! at an address may, [`admitted`] says where somebody wants to know. Limits of rates and cookies are not looked at. At the first name whose zone the asker may not see the steps end, in the same words whether there is a zone or not.

mod admitted;
mod learned;
mod printed;
mod verified;
mod walk;

use std::net::IpAddr;

use auth::access::Access;
use auth::{Answered, Client, Responder, Server, Style};
use wire::iana::{class, rcode, rtype};
use wire::{Address, Name, NameBuf, Transport};
use zone::CatalogView;

use crate::answer::rcode_name;
use crate::command::{Step, Why};
use crate::controller::Controller;
use crate::expiry::now;
use printed::Printed;
use walk::{End, Walked};

/// What clients say that they have room for, as most do (DNS flag day 2020).
const PAYLOAD_OCTETS: u16 = 1232;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) name: NameBuf,
    pub(crate) rtype: u16,
    pub(crate) is_tcp: bool,
    pub(crate) dnssec_ok: bool,
    /// Whether a client there may ask is said, too.
    pub(crate) from: Option<IpAddr>,
}

/// What a resolver has of a name that no zone here has, in steps.
type Resolver<'r> = &'r dyn Fn(&Name) -> Vec<Step>;

/// What is said where zones are for others: whether there are any is not.
const OUTSIDE: &str = "goes on outside of the zones that you may see";
/// How often it is looked again where zones change meanwhile.
const ATTEMPTS_MAX: usize = 4;
/// Steps that are told: proofs and signatures of a long response may be thousands.
const STEPS_MAX: usize = 128;

impl Controller {
    /// The way to the answer of a question, for who may see some zones, and what others ask or not.
    pub(crate) fn why(&self, question: &Question, may_see: impl Fn(&Name) -> bool, may_observe: bool) -> Why {
        let server = (*self.identity.current()).clone();
        let resolver = |name: &Name| match &self.recursion {
            None => Vec::new(),
            Some(recursion) if may_observe => learned::steps(recursion, name, question.rtype),
            Some(_) => {
                let words =
                    "what the resolver has of it is for keys with `observe`: it is what others have asked";
                vec![step("resolver", words.to_owned())]
            }
        };
        self.catalog.reader().with(|view| why(view, server, question, may_see, &resolver))
    }
}

/// The same from a catalog, whose zones may change meanwhile: the response is taken where the zones of all of its names were the same before and behind it.
fn why(
    view: &CatalogView<'_>,
    server: Server,
    question: &Question,
    may_see: impl Fn(&Name) -> bool,
    resolver: Resolver<'_>,
) -> Why {
    let how = if question.is_tcp { "TCP" } else { "UDP" };
    let with_dnssec = if question.dnssec_ok { ", DO" } else { "" };
    let room = if question.is_tcp { String::new() } else { format!(", room for {PAYLOAD_OCTETS} octets") };
    let asked = format!("{} {}", question.name, rtype::Text(question.rtype));
    let from = question.from.map_or_else(String::new, |from| format!(" from {from}"));
    let unseen = match question.from {
        Some(_) => "limits and cookies are not looked at",
        None => "who may ask is not looked at: access lists, limits and cookies",
    };
    let mut steps = vec![
        step("question", format!("{asked} over {how}{with_dnssec}{room}{from}")),
        step("question", unseen.to_owned()),
    ];
    let is_within_zone = server.style.ends_within_zone();
    let own = server.access.clone();
    let server = Server {
        access: Access::default().mirroring(true),
        cookies: None,
        demands_cookies: false,
        style: server.style.and(Style::ANEW),
        ..server
    };
    let mut responder = Responder::new();
    let mut respond = || respond(&mut responder, view, &server, question);
    let mut first = respond();
    for _ in 0..ATTEMPTS_MAX {
        let printed = Printed::of(&first.0);
        let names = printed.as_ref().map_or_else(Vec::new, |printed| printed.names(question));
        let before = walk::versions(view, &names, question.rtype);
        let walked = walk::walk(view, question, (&names, printed.as_ref()), is_within_zone, &may_see);
        let again = respond();
        if again == first && walk::versions(view, &names, question.rtype) == before {
            steps.extend(admitted::steps(view, &own, question, &names, first.1));
            return told(view, steps, walked, printed, (first.1.then_some(resolver), question));
        }
        first = again;
    }
    steps.push(step("zone", "its zones change faster than they are looked at: ask again".to_owned()));
    Why { steps, response: None }
}

/// All that is told of a way that was walked.
fn told(
    view: &CatalogView<'_>,
    mut steps: Vec<Step>,
    walked: Walked,
    printed: Option<Printed>,
    (resolver, question): (Option<Resolver<'_>>, &Question),
) -> Why {
    steps.extend(walked.steps);
    let Some(end) = walked.end else {
        steps.push(step("scope", OUTSIDE.to_owned()));
        return Why { steps, response: None };
    };
    if let Some(resolver) = resolver {
        let words = "goes to the resolver, for clients that may recurse; others get the response below";
        steps.push(step("resolver", words.to_owned()));
        let names = printed.as_ref().map_or_else(Vec::new, |printed| printed.names(question));
        steps.extend(names.last().into_iter().flat_map(|name| resolver(name)));
    }
    if let Some(response) = &printed {
        steps.extend(response.proofs(end, question.dnssec_ok && walked.is_signed));
        steps.extend(response.signatures(view, now()));
        if response.is_truncated {
            let words = "there is no room for all of it: TC, which has clients ask again over TCP";
            steps.push(step("room", words.to_owned()));
        }
        let more = steps.len().saturating_sub(STEPS_MAX);
        if more > 0 {
            steps.truncate(STEPS_MAX);
            steps.push(step("room", format!("and {more} steps more, of proofs and signatures")));
        }
        if !walked.is_as_sent || !end.fits(response, question) {
            let words = format!(
                "the response says {} and its zones another thing: a fault of this server, please report it",
                rcode_name(usize::from(response.rcode))
            );
            steps.push(step("fault", words));
        }
    }
    Why { steps, response: printed.map(|printed| printed.response) }
}

fn step(about: &'static str, words: String) -> Step {
    Step { about: about.into(), words }
}

/// The response that is sent, made anew; and whether a resolver would go on.
fn respond(
    responder: &mut Responder,
    view: &CatalogView<'_>,
    server: &Server,
    question: &Question,
) -> (Vec<u8>, bool) {
    let transport = if question.is_tcp { Transport::Tcp } else { Transport::Udp };
    let client = Client { transport, address: &Address::NONE, is_proved: true, now: now() };
    let mut response = vec![0; usize::from(u16::MAX)];
    let query = query(question);
    let (octets, is_elsewhere) = match responder.serve(&query, view, server, &client, &mut response) {
        Answered::Octets(octets) => (octets, false),
        Answered::Elsewhere(octets) => (octets, true),
        Answered::Request => (0, false),
    };
    response.truncate(octets);
    (response, is_elsewhere)
}

/// A query as resolvers send them: with RD, as some do, and EDNS.
fn query(question: &Question) -> Vec<u8> {
    // ID; RD; one question, and one record behind it, which is OPT.
    let mut octets = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    octets.extend_from_slice(question.name.octets());
    octets.extend_from_slice(&question.rtype.to_be_bytes());
    octets.extend_from_slice(&class::IN.to_be_bytes());
    octets.push(0);
    octets.extend_from_slice(&rtype::OPT.to_be_bytes());
    octets.extend_from_slice(&PAYLOAD_OCTETS.to_be_bytes());
    octets.extend_from_slice(&[0, 0, if question.dnssec_ok { 0x80 } else { 0 }, 0, 0, 0]);
    octets
}

impl End {
    /// Whether a response says the same. One that was cut off says no more than that it begins so.
    fn fits(self, printed: &Printed, question: &Question) -> bool {
        let expected = match self {
            End::NotOurs => rcode::REFUSED,
            End::NoData | End::Answer | End::Referral | End::Alias => rcode::NOERROR,
            End::NameError => rcode::NXDOMAIN,
            End::TooLong => rcode::YXDOMAIN,
            End::Absent | End::Damaged => rcode::SERVFAIL,
        };
        let has_it = match self {
            End::Answer => printed.has_data(question),
            End::NoData => printed.has_authority(rtype::SOA) && !printed.has_data(question),
            End::NameError => printed.has_authority(rtype::SOA),
            // Behind an alias of this server's it is authoritative all the same.
            End::Referral => {
                printed.has_authority(rtype::NS)
                    && (!printed.is_authoritative || !printed.response.answer.is_empty())
            }
            End::Alias | End::TooLong | End::NotOurs | End::Absent | End::Damaged => true,
        };
        match printed.is_truncated {
            true => printed.rcode == expected || printed.rcode == rcode::NOERROR,
            false => printed.rcode == expected && has_it,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
