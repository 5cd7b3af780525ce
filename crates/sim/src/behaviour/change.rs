//! What actions do to answers.

use super::{Action, NoEdns, Part};
use crate::Random;
use crate::records::record_of_line;
use crate::reply::{Opt, Reply};
use auth::inspect::Record;
use std::net::IpAddr;
use wire::header;
use wire::iana::{class, edns_option, rcode, rtype};
use wire::render::Section;
use wire::{Name, NameBuf, Transport};

/// What stands in the place of the zones' answer.
pub(crate) enum InPlace {
    /// The zones answer, a query that may be another than the one that came.
    Zones,
    /// Nothing is answered.
    Nothing,
    /// This is.
    Reply(Reply),
}

/// TTL of records that behaviours make.
const MADE_TTL: u32 = 300;

/// What an action puts in the place of the answer to `query`. `apex`: the deepest zone of the server at or above the name; `count`: for how
/// many queries the action has applied; `own`: the server's address.
pub(crate) fn in_place(
    action: &Action,
    query: &mut Reply,
    transport: Transport,
    apex: &Name,
    (count, own): (u32, IpAddr),
    random: &mut Random,
) -> InPlace {
    let Some(asked) = query.question.clone() else { return InPlace::Zones };
    let mut reply = Reply::to(query, rcode::NOERROR);
    let depth = apex.label_count();
    match action {
        Action::Drop => return InPlace::Nothing,
        Action::Rcode(code) => {
            reply.rcode = *code;
            // Servers that deny names think that these are theirs.
            if *code == rcode::NXDOMAIN {
                reply.flags |= header::AA;
            }
        }
        Action::Upward => {
            for letter in "ab".chars() {
                let server = name(&format!("{letter}.root-servers.net."));
                reply.sections[1].push(record(Name::root(), rtype::NS, server.octets()));
            }
        }
        Action::Refer(zone, servers) => {
            for (server, address) in servers {
                reply.sections[1].push(record(zone, rtype::NS, server.octets()));
                reply.sections[2].extend(address.map(|address| address_record(server, address)));
            }
        }
        Action::NoEdns(way) if query.opt.is_some() => match way {
            NoEdns::Drop => return InPlace::Nothing,
            NoEdns::Rcode(code) => {
                reply.opt = None;
                reply.rcode = *code;
            }
            NoEdns::Badvers => reply.rcode = rcode::BADVERS,
            NoEdns::Ignore => {
                query.opt = None;
                return InPlace::Zones;
            }
            NoEdns::Echo => return InPlace::Zones,
        },
        Action::Truncate if !transport.is_stream() => reply.flags |= header::TC,
        Action::Instead(records) => {
            reply.flags |= header::AA;
            reply.sections[0].extend(records.iter().filter_map(|text| record_for(text, &asked.qname)));
        }
        Action::AliasChain | Action::AliasLoop if !has_label(&asked.qname, b"ns") => {
            reply.flags |= header::AA;
            let next = match (number_of_label(&asked.qname), action) {
                (Some(number), Action::AliasLoop) => (number + 1) % 2,
                (Some(number), _) => number + 1,
                (None, _) => 0,
            };
            let parent = asked.qname.parent().filter(|parent| parent.is_at_or_below(apex)).unwrap_or(apex);
            let target = below(&format!("c{next}"), parent);
            reply.sections[0].push(record(&asked.qname, rtype::CNAME, target.octets()));
        }
        Action::AliasMaze(labels) if !has_label(&asked.qname, b"ns") => {
            reply.flags |= header::AA;
            let mut target = apex.to_owned();
            for number in 0..*labels {
                target = below(&format!("m{number}-{:08x}", random.next_u64() as u32), &target);
            }
            reply.sections[0].push(record(&asked.qname, rtype::CNAME, target.octets()));
        }
        Action::Referrals if asked.qname.label_count() > depth => {
            let wanted = (depth + count as usize).clamp(depth + 1, asked.qname.label_count());
            let cut = ancestor(&asked.qname, wanted);
            let server = below("ns", &cut);
            reply.sections[1].push(record(&cut, rtype::NS, server.octets()));
            reply.sections[2].push(address_record(&server, own));
        }
        Action::NameServers(servers, victim) if asked.qname.label_count() > depth => {
            let cut = ancestor(&asked.qname, depth + 1);
            for number in 0..*servers {
                let server = below(&format!("n{number}-{:08x}", random.next_u64() as u32), victim);
                reply.sections[1].push(record(&cut, rtype::NS, server.octets()));
            }
        }
        Action::Records(records) => {
            reply.flags |= header::AA;
            let rdatas = (0..*records).map(|number| rdata_of(asked.qtype, number));
            reply.sections[0].extend(rdatas.map(|rdata| record(&asked.qname, asked.qtype, &rdata)));
        }
        _ => return InPlace::Zones,
    }
    InPlace::Reply(reply)
}

/// Changes an answer, whoever gave it.
pub(crate) fn change(action: &Action, query: &Reply, reply: &mut Reply) {
    let all = |reply: &mut Reply, act: &dyn Fn(&mut Record)| {
        reply.sections.iter_mut().flatten().for_each(act);
    };
    match action {
        Action::NoEdns(NoEdns::Ignore) => reply.opt = None,
        Action::NoEdns(NoEdns::Echo) => {
            let options = query.opt.as_ref().map(|opt| opt.options.clone());
            reply.opt.get_or_insert_with(Opt::default).options = options.unwrap_or_default();
        }
        Action::Wrong(Part::Id) => reply.id ^= 0x0100,
        Action::Wrong(Part::Name) => {
            if let Some(asked) = &mut reply.question {
                asked.qname = below("other", &asked.qname);
            }
        }
        Action::Wrong(Part::Type) => {
            if let Some(asked) = &mut reply.question {
                asked.qtype ^= 1;
            }
        }
        Action::Wrong(Part::Qr) => reply.flags &= !header::QR,
        Action::NoQuestion => reply.question = None,
        Action::LowerCase => {
            if let Some(asked) = &mut reply.question {
                asked.qname = asked.qname.to_lowercase();
            }
            all(reply, &|record| record.owner = record.owner.to_lowercase());
        }
        Action::Add(section, text) => {
            let Some(asked) = &query.question else { return };
            let number = match section {
                Section::Answer => 0,
                Section::Authority => 1,
                Section::Additional => 2,
            };
            reply.sections[number].extend(record_for(text, &asked.qname));
        }
        Action::Strip(left_out) => {
            reply.sections.iter_mut().for_each(|section| section.retain(|one| one.rtype != *left_out));
        }
        Action::Tamper(changed) => all(reply, &|record| {
            if let Some(octet) = record.rdata.last_mut().filter(|_| record.rtype == *changed) {
                *octet ^= 1;
            }
        }),
        Action::Ttl(seconds) => all(reply, &|record| record.ttl = *seconds),
        Action::Set(flags) => reply.flags |= flags,
        Action::Clear(flags) => reply.flags &= !flags,
        Action::Signatures(count) => {
            for section in &mut reply.sections {
                *section = section.drain(..).flat_map(|one| copies(one, *count)).collect();
            }
        }
        _ => {}
    }
}

/// A signature as so many records, of which the last is the right one; other records as they are.
fn copies(record: Record, count: u32) -> Vec<Record> {
    let wanted = if record.rtype == rtype::RRSIG { count } else { 1 };
    let copy = |number: u32| {
        let mut copy = record.clone();
        let at = copy.rdata.len().saturating_sub(4);
        for (octet, change) in copy.rdata[at..].iter_mut().zip(number.to_be_bytes()) {
            *octet ^= change;
        }
        copy
    };
    (0..wanted).rev().map(copy).collect()
}

/// The record of a line in which `QNAME` is the name asked for.
pub(crate) fn record_for(text: &str, qname: &Name) -> Option<Record> {
    record_of_line(&text.replace("QNAME", &qname.to_string())).ok()
}

fn record(owner: &Name, rtype: u16, rdata: &[u8]) -> Record {
    Record { owner: owner.to_owned(), rtype, class: class::IN, ttl: MADE_TTL, rdata: rdata.to_vec() }
}

pub(crate) fn address_record(owner: &Name, address: IpAddr) -> Record {
    match address {
        IpAddr::V4(v4) => record(owner, rtype::A, &v4.octets()),
        IpAddr::V6(v6) => record(owner, rtype::AAAA, &v6.octets()),
    }
}

/// RDATA number `number` of a type.
fn rdata_of(qtype: u16, number: u32) -> Vec<u8> {
    let [_, b, c, d] = number.to_be_bytes();
    match qtype {
        rtype::A => vec![10, b, c, d],
        rtype::AAAA => [&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &[b, c, d]].concat(),
        rtype::NS | rtype::CNAME | rtype::PTR => name(&format!("n{number}.example.")).octets().to_vec(),
        _ => [&[7_u8][..], format!("{number:07}").as_bytes()].concat(),
    }
}

fn name(text: &str) -> NameBuf {
    text.parse().expect("a name of the model")
}

/// `label` before `parent`; `parent` where that would be too long.
fn below(label: &str, parent: &Name) -> NameBuf {
    let mut octets = vec![label.len() as u8];
    octets.extend(label.as_bytes());
    octets.extend(parent.octets());
    Name::from_wire(&octets).map_or_else(|_| parent.to_owned(), Name::to_owned)
}

/// The ancestor with so many labels.
fn ancestor(name: &Name, labels: usize) -> NameBuf {
    let above = name.label_count().saturating_sub(labels);
    (0..above).fold(name, |name, _| name.parent().unwrap_or(Name::root())).to_owned()
}

/// The number of a first label such as `c12`.
fn number_of_label(name: &Name) -> Option<u32> {
    let label = std::str::from_utf8(name.labels().next()?).ok()?.to_ascii_lowercase();
    label.strip_prefix('c')?.parse().ok()
}

fn has_label(name: &Name, label: &[u8]) -> bool {
    name.labels().next().is_some_and(|first| first.eq_ignore_ascii_case(label))
}

/// The cookie option of a query: the client's part, and whether all of it is what this server makes.
pub(crate) fn cookie_of(query: &Reply) -> Option<(Vec<u8>, bool)> {
    let data = query.opt.as_ref()?.option(edns_option::COOKIE)?;
    let client = data.get(..8)?.to_vec();
    Some((client.clone(), data == made_cookie(&client)))
}

/// Client and server cookie, for any client: nobody but the model makes them, so that the client's part is enough.
pub(crate) fn made_cookie(client: &[u8]) -> Vec<u8> {
    client.iter().copied().chain(client.iter().map(|octet| octet ^ 0xa5)).collect()
}
