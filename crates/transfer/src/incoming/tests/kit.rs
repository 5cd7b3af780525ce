//! Records, messages of them, and a run through all of these.

use super::super::{Done, Fault, Incoming, Kind, Limits, Question, Sink, Step, Stop, Times};
use wire::builder::{Builder, Case, Suffixes};
use wire::header::{AA, QR};
use wire::iana::{class, rtype};
use wire::render::Section;
use wire::{Name, NameBuf};

/// Owner, type, TTL, RDATA.
pub type Row = (NameBuf, u16, u32, Vec<u8>);

pub const ID: u16 = 0x4711;

pub fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

pub fn soa(serial: u32) -> Row {
    let mut rdata = [name("ns.example").octets(), name("mail.example").octets()].concat();
    for number in [serial, 3_600, 900, 604_800, 300] {
        rdata.extend(number.to_be_bytes());
    }
    (name("example"), rtype::SOA, 3_600, rdata)
}

pub fn a(owner: &str, last: u8) -> Row {
    (name(owner), rtype::A, 60, vec![192, 0, 2, last])
}

pub fn ns(owner: &str, server: &str) -> Row {
    (name(owner), rtype::NS, 60, name(server).octets().to_vec())
}

pub fn axfr() -> Question {
    Question { zone: name("example"), kind: Kind::Axfr, ours: None, id: ID, has_edns: true, is_udp: false }
}

pub fn ixfr(ours: u32) -> Question {
    Question { kind: Kind::Ixfr, ours: Some(ours), ..axfr() }
}

pub fn probe(ours: u32) -> Question {
    Question { kind: Kind::Soa, is_udp: true, ..ixfr(ours) }
}

/// A message as a good server sends it, to be changed by tests that want another.
pub struct Script {
    pub id: u16,
    pub flags: u16,
    pub question: Option<(NameBuf, u16, u16)>,
    pub class: u16,
    pub section: Section,
    pub expire: Option<u32>,
}

pub fn script(kind: Kind) -> Script {
    Script {
        id: ID,
        flags: QR | AA,
        question: Some((name("example"), kind.qtype(), class::IN)),
        class: class::IN,
        section: Section::Answer,
        expire: None,
    }
}

impl Script {
    pub fn with(&self, rows: &[Row]) -> Vec<u8> {
        let mut octets = vec![0; 65_535];
        let mut suffixes = Suffixes::new(1);
        let mut out = Builder::new(&mut octets, (65_535, 0), &mut suffixes, Case::Exact, self.id).unwrap();
        if let Some((zone, qtype, qclass)) = &self.question {
            out.question(zone, *qtype, *qclass).unwrap();
        }
        out.begin_section(self.section);
        for (owner, rtype, ttl, rdata) in rows {
            out.record(owner, (*rtype, self.class, *ttl), rdata).unwrap();
        }
        if let Some(seconds) = self.expire {
            out.begin_section(Section::Additional);
            let option = [&[0, 9, 0, 4][..], &seconds.to_be_bytes()].concat();
            out.record(Name::root(), (rtype::OPT, 1232, 0), &option).unwrap();
        }
        let octets_of_message = out.finish(self.flags, u16::from(self.question.is_some()));
        octets.truncate(octets_of_message);
        octets
    }
}

/// A sink that keeps what it gets.
#[derive(Default, Debug, PartialEq)]
pub struct List(pub Vec<Row>);

impl Sink for List {
    fn record(
        &mut self,
        owner: &Name,
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Fault> {
        if same_owner {
            assert_eq!(&*self.0.last().unwrap().0, owner);
        }
        self.0.push((owner.to_owned(), rtype, ttl, rdata.to_vec()));
        Ok(())
    }
}

/// Gives all messages; the result of the last, which must not come before.
pub fn run(question: Question, messages: &[Vec<u8>]) -> Result<(Step, List), Stop> {
    run_within(question, Limits::default(), messages)
}

pub fn run_within(question: Question, limits: Limits, messages: &[Vec<u8>]) -> Result<(Step, List), Stop> {
    let mut incoming = Incoming::new(question, None, limits, 0);
    let mut list = List::default();
    let mut step = Step::More;
    for (number, message) in messages.iter().enumerate() {
        assert_eq!(step, Step::More, "before message {number}");
        incoming.received(message.len(), 0)?;
        step = incoming.message(message, Times::default(), &mut list)?;
    }
    Ok((step, list))
}

/// What came of a transfer that ends with these messages.
pub fn done(question: Question, messages: &[Vec<u8>]) -> (Done, List) {
    match run(question, messages) {
        Ok((Step::Done(done), list)) => (done, list),
        other => panic!("{other:?}"),
    }
}

/// The fault that these messages end with.
pub fn fault(question: Question, messages: &[Vec<u8>]) -> Fault {
    run(question, messages).unwrap_err().fault
}
