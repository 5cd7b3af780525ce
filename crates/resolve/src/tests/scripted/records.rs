//! Records, questions and responses as servers see them.

use wire::iana::{class, rtype};
use wire::{Message, Name, NameBuf, Places};

/// A name from text.
pub fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// A record: owner, type, TTL, RDATA.
#[derive(Clone, Debug)]
pub struct Record(pub NameBuf, pub u16, pub u32, pub Vec<u8>);

impl Record {
    /// From `owner TTL TYPE data`.
    pub fn from_text(line: &str) -> Record {
        let mut words = line.split_whitespace();
        let owner = name(words.next().unwrap());
        let ttl = words.next().unwrap().parse().unwrap();
        let kind = rtype::from_text(words.next().unwrap().as_bytes()).unwrap();
        let rest: Vec<&str> = words.collect();
        let rdata = match kind {
            rtype::A => rest[0].parse::<std::net::Ipv4Addr>().unwrap().octets().to_vec(),
            rtype::AAAA => rest[0].parse::<std::net::Ipv6Addr>().unwrap().octets().to_vec(),
            rtype::NS | rtype::CNAME | rtype::DNAME | rtype::PTR => name(rest[0]).octets().to_vec(),
            rtype::SOA => {
                let numbers = [1u32, 2, 3, 4, 60].map(u32::to_be_bytes).concat();
                [b"\0\0".as_slice(), &numbers].concat()
            }
            rtype::TXT => [&[rest[0].len() as u8], rest[0].as_bytes()].concat(),
            _ => panic!("{line}"),
        };
        Record(owner, kind, ttl, rdata)
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.0.octets());
        to.extend(self.1.to_be_bytes());
        to.extend(class::IN.to_be_bytes());
        to.extend(self.2.to_be_bytes());
        to.extend((self.3.len() as u16).to_be_bytes());
        to.extend(&self.3);
    }
}

/// A question as a server gets it.
#[derive(Clone, Debug)]
pub struct Question {
    pub id: u16,
    pub flags: u16,
    pub name: NameBuf,
    pub rtype: u16,
    pub has_edns: bool,
    pub cookie: Option<Vec<u8>>,
    pub is_stream: bool,
    pub at: u64,
}

impl Question {
    pub fn read(octets: &[u8], is_stream: bool, at: u64) -> Question {
        let message = Message::read(octets).unwrap();
        let question = message.question(&mut Places::new()).unwrap().unwrap();
        let (name, _) = Name::split_from(&octets[12..]).unwrap();
        let opt = octets[question.end..].windows(2).position(|pair| pair == [0, 10]);
        let cookie = opt.map(|at| {
            let length = usize::from(octets[question.end + at + 3]);
            octets[question.end + at + 4..][..length].to_vec()
        });
        Question {
            id: message.id(),
            flags: message.flags(),
            name: name.to_owned(),
            rtype: question.qtype,
            has_edns: message.counts()[2] > 0,
            cookie: cookie.filter(|_| message.counts()[2] > 0),
            is_stream,
            at,
        }
    }
}

/// A response, section by section.
#[derive(Clone, Debug, Default)]
pub struct Response {
    pub rcode: u16,
    pub is_authoritative: bool,
    pub is_truncated: bool,
    pub has_recursion: bool,
    pub sections: [Vec<Record>; 3],
    /// `None`: no OPT record.
    pub edns: Option<()>,
    pub cookie: Option<Vec<u8>>,
    pub wrong_id: bool,
    pub name: Option<NameBuf>,
    /// Milliseconds beyond the usual delay.
    pub later_ms: u64,
}

impl Response {
    pub fn rcode(rcode: u16) -> Response {
        Response { rcode, edns: Some(()), ..Response::default() }
    }

    pub fn octets(&self, question: &Question) -> Vec<u8> {
        let mut flags = 0x8000 | (self.rcode & 15);
        flags |= if self.is_authoritative { 0x0400 } else { 0 };
        flags |= if self.is_truncated { 0x0200 } else { 0 };
        flags |= if self.has_recursion { 0x0080 } else { 0 };
        let counts: Vec<u16> = self.sections.iter().map(|section| section.len() as u16).collect();
        let has_edns = self.edns.is_some() && question.has_edns;
        let id = question.id ^ u16::from(self.wrong_id);
        let mut to = Vec::new();
        for word in [id, flags, 1, counts[0], counts[1], counts[2] + u16::from(has_edns)] {
            to.extend(word.to_be_bytes());
        }
        to.extend(self.name.as_ref().unwrap_or(&question.name).octets());
        to.extend(question.rtype.to_be_bytes());
        to.extend(class::IN.to_be_bytes());
        self.sections.iter().flatten().for_each(|record| record.write(&mut to));
        if has_edns {
            to.extend([0, 0, 41, 4, 208, (self.rcode >> 4) as u8, 0, 0, 0]);
            match &self.cookie {
                Some(cookie) => {
                    to.extend((cookie.len() as u16 + 4).to_be_bytes());
                    to.extend([0, 10]);
                    to.extend((cookie.len() as u16).to_be_bytes());
                    to.extend(cookie);
                }
                None => to.extend([0, 0]),
            }
        }
        to
    }
}
/// A response that somebody makes up who does not know the ID.
pub fn forged(name: &Name, id: u16) -> Vec<u8> {
    let question = Question {
        id,
        flags: 0,
        name: name.to_owned(),
        rtype: rtype::A,
        has_edns: false,
        cookie: None,
        is_stream: false,
        at: 0,
    };
    let record = Record(name.to_owned(), rtype::A, 86_400, vec![6, 6, 6, 6]);
    Response { sections: [vec![record], vec![], vec![]], is_authoritative: true, ..Response::default() }
        .octets(&question)
}
