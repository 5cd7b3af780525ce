//! What a resolver should answer, from the zones alone: one server that has all of them, asked without a network.

use crate::Random;
use crate::records::Records;
use crate::reply::{Asked, Opt, Reply};
use crate::server::{DNS_PORT, ModelServer};
use auth::inspect::Record;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use wire::iana::{class, rcode, rtype};
use wire::{Name, Transport};

/// All zones of an Internet on one server.
pub struct Truth {
    server: ModelServer,
    random: Random,
}

impl Truth {
    /// Of these zones.
    pub fn of(zones: &[Rc<Records>]) -> Truth {
        let mut server = ModelServer::new("truth", Vec::new());
        zones.iter().for_each(|zone| server.put_zone(Rc::clone(zone)));
        Truth { server, random: Random::new(0) }
    }

    /// The right answer: RCODE, and the chain of aliases with the data at its end. `None` where it is not in these zones.
    pub fn answer(&mut self, qname: &Name, qtype: u16) -> Option<Reply> {
        let question = Some(Asked { qname: qname.to_owned(), qtype, qclass: class::IN });
        let opt = Some(Opt { payload_octets: u16::MAX, ..Opt::default() });
        let query = Reply { question, opt, ..Reply::default() }.octets();
        let at = SocketAddr::from(([0, 0, 0, 0], DNS_PORT));
        let sent = self.server.answer(&query, Transport::Tcp, at, 0, &mut self.random);
        let reply = Reply::read(&sent.first()?.octets).ok()?;
        (reply.rcode != rcode::REFUSED).then_some(reply)
    }

    /// What is wrong with an answer that a resolver gave: an answer may fail, it may not be wrong. TTLs are not compared, which only go down.
    pub fn fault_of(&mut self, reply: &Reply) -> Option<String> {
        if reply.rcode == rcode::SERVFAIL {
            return None;
        }
        let asked = reply.question.as_ref()?;
        let right = self.answer(&asked.qname, asked.qtype)?;
        if reply.rcode != right.rcode || set_of(&reply.sections[0]) != set_of(&right.sections[0]) {
            return Some(format!("{}\n  where it is {}", reply.line(), right.line()));
        }
        None
    }
}

/// Records as a set without TTLs and signatures, names in lower case.
fn set_of(records: &[Record]) -> BTreeSet<(Vec<u8>, u16, Vec<u8>)> {
    let plain = records.iter().filter(|one| one.rtype != rtype::RRSIG);
    plain
        .map(|one| (one.owner.to_lowercase().octets().to_vec(), one.rtype, one.rdata.to_ascii_lowercase()))
        .collect()
}
