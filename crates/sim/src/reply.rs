//! Messages of the model, taken apart: queries as a server sees them, responses as records that can be changed and put together
//! again, whatever comes of it. Also one line that says what is in a message, for people.

use auth::inspect::{self, Record};
use wire::builder::{Case, Suffixes};
use wire::edns::DO;
use wire::header::{self, HEADER_OCTETS, u16_at};
use wire::iana::{edns_option, rcode, rtype};
use wire::name::NAME_OCTETS_MAX;
use wire::question::Question;
use wire::render::Section;
use wire::{Builder, NameBuf, Places};

/// A question as it stands in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Name, in the case it was asked in.
    pub qname: NameBuf,
    /// Type.
    pub qtype: u16,
    /// Class.
    pub qclass: u16,
}

/// An OPT record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opt {
    /// What its sender takes over UDP.
    pub payload_octets: u16,
    /// DO.
    pub dnssec_ok: bool,
    /// Version of EDNS.
    pub version: u8,
    /// Options as they stand.
    pub options: Vec<u8>,
}

impl Opt {
    /// The data of the first option with this code.
    pub fn option(&self, code: u16) -> Option<&[u8]> {
        let mut rest = &self.options[..];
        while let Some((head, after)) = rest.split_first_chunk::<4>() {
            let (data, next) = after.split_at_checked(usize::from(u16_at(head, 2)))?;
            if u16_at(head, 0) == code {
                return Some(data);
            }
            rest = next;
        }
        None
    }

    /// Adds an option.
    pub fn push(&mut self, code: u16, data: &[u8]) {
        self.options.extend(code.to_be_bytes());
        self.options.extend((data.len() as u16).to_be_bytes());
        self.options.extend(data);
    }
}

/// A message, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its ID.
    pub id: u16,
    /// Flags without the RCODE.
    pub flags: u16,
    /// RCODE, with its upper bits.
    pub rcode: u16,
    /// The question, if there is one.
    pub question: Option<Asked>,
    /// Answer, authority, additional section, OPT excluded.
    pub sections: [Vec<Record>; 3],
    /// OPT.
    pub opt: Option<Opt>,
}

impl Reply {
    /// Reads a query or a response; the error is what a strict reader finds.
    pub fn read(octets: &[u8]) -> Result<Reply, String> {
        let read = inspect::read(octets)?;
        let question = match read.question {
            None => None,
            Some(_) => Some(question(octets).ok_or("question")?),
        };
        let opt = read.opt.map(|(payload_octets, dnssec_ok, options)| Opt {
            payload_octets,
            dnssec_ok,
            version: 0,
            options,
        });
        Ok(Reply {
            id: u16_at(octets, 0),
            flags: read.flags & !15,
            rcode: read.rcode,
            question,
            sections: read.sections,
            opt,
        })
    }

    /// A response to `query` with this RCODE and nothing in it; OPT if the query has one.
    pub fn to(query: &Reply, rcode: u16) -> Reply {
        let kept = query.flags & (header::OPCODE_MASK | header::RD);
        Reply {
            id: query.id,
            flags: header::QR | kept,
            rcode,
            question: query.question.clone(),
            sections: Default::default(),
            opt: query.opt.as_ref().map(|opt| Opt {
                options: Vec::new(),
                payload_octets: 1232,
                ..opt.clone()
            }),
        }
    }

    /// The octets. What does not fit into 65,535 is left out from the end of its section on.
    pub fn octets(&self) -> Vec<u8> {
        let mut octets = vec![0; usize::from(u16::MAX)];
        let mut suffixes = Suffixes::new(0);
        let opt_octets = self.opt.as_ref().map_or(0, |opt| 11 + opt.options.len());
        let limits = (octets.len(), opt_octets);
        let mut builder = Builder::new(&mut octets, limits, &mut suffixes, Case::Exact, self.id)
            .expect("room for a header");
        if let Some(asked) = &self.question {
            builder.question(&asked.qname, asked.qtype, asked.qclass).expect("room for a question");
        }
        let sections = [Section::Answer, Section::Authority, Section::Additional];
        for (section, records) in sections.into_iter().zip(&self.sections) {
            builder.begin_section(section);
            for Record { owner, rtype, class, ttl, rdata } in records {
                if builder.record(owner, (*rtype, *class, *ttl), rdata).is_err() {
                    break;
                }
            }
        }
        let mut out = builder.release();
        if let Some(opt) = &self.opt {
            let record = opt_record(opt, self.rcode);
            out.append(record.len(), 1).expect("the reserve").copy_from_slice(&record);
        }
        let length = out.finish(self.flags | self.rcode & 15, u16::from(self.question.is_some()));
        octets.truncate(length);
        octets
    }

    /// The octets, if they are no more than `limit`; else what is left of them with TC set and the sections empty.
    pub fn octets_within(&self, limit: usize) -> Vec<u8> {
        let octets = self.octets();
        if octets.len() <= limit {
            return octets;
        }
        let flags = self.flags | header::TC;
        Reply { flags, sections: Default::default(), ..self.clone() }.octets()
    }

    /// The code of its extended error, if it has one (RFC 8914).
    pub fn ede(&self) -> Option<u16> {
        let data = self.opt.as_ref()?.option(edns_option::EDE)?;
        Some(u16_at(data, 0))
    }

    /// The question as text.
    pub fn question_text(&self) -> String {
        self.question
            .as_ref()
            .map_or("no question".to_owned(), |asked| format!("{} {}", asked.qname, rtype::Text(asked.qtype)))
    }

    /// All of it in a line.
    pub fn line(&self) -> String {
        let mut line = self.question_text();
        let flags = [
            (header::RD, "rd"),
            (header::CD, "cd"),
            (header::AA, "aa"),
            (header::TC, "tc"),
            (header::RA, "ra"),
            (header::AD, "ad"),
        ];
        for (_, name) in flags.into_iter().filter(|(flag, _)| self.flags & flag != 0) {
            line += &format!(" {name}");
        }
        if self.opt.as_ref().is_some_and(|opt| opt.dnssec_ok) {
            line += " do";
        }
        if self.flags & header::QR == 0 {
            return line;
        }
        line += &format!(": {}", rcode_text(self.rcode));
        if let Some(code) = self.ede() {
            line += &format!(" ede {code}");
        }
        for (records, name) in self.sections.iter().zip(["answer", "authority", "additional"]) {
            let shown: Vec<String> = records.iter().take(RECORDS_SHOWN).map(short).collect();
            if !shown.is_empty() {
                line += &format!(" | {name} {}", shown.join(", "));
            }
            if records.len() > shown.len() {
                line += &format!(", {} more", records.len() - shown.len());
            }
        }
        line
    }
}

/// Records of a section that a line shows.
const RECORDS_SHOWN: usize = 4;
/// Characters of a record that a line shows: an address, most names.
const RECORD_SHOWN: usize = 80;

fn short(record: &Record) -> String {
    if record.rtype == rtype::RRSIG {
        return format!("RRSIG({})", rtype::Text(u16_at(&record.rdata, 0)));
    }
    let text: String = record.to_string().replace(" IN ", " ");
    text.chars().take(RECORD_SHOWN).collect()
}

/// The RCODE's name, or its number.
pub fn rcode_text(code: u16) -> String {
    rcode::mnemonic(code).map_or_else(|| code.to_string(), str::to_owned)
}

fn question(octets: &[u8]) -> Option<Asked> {
    let mut places = Places::new();
    let question = Question::read(octets, &mut places).ok()?;
    let mut buffer = [0; NAME_OCTETS_MAX];
    let qname = places.copy_ancestor(octets, places.label_count(), &mut buffer).to_owned();
    debug_assert!(question.end >= HEADER_OCTETS);
    Some(Asked { qname, qtype: question.qtype, qclass: question.qclass })
}

fn opt_record(opt: &Opt, rcode: u16) -> Vec<u8> {
    let mut record = vec![0];
    record.extend(rtype::OPT.to_be_bytes());
    record.extend(opt.payload_octets.to_be_bytes());
    record.extend([(rcode >> 4) as u8, opt.version]);
    record.extend((if opt.dnssec_ok { DO } else { 0 }).to_be_bytes());
    record.extend((opt.options.len() as u16).to_be_bytes());
    record.extend(&opt.options);
    record
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::records::record_of_line;

    fn reply() -> Reply {
        let mut opt = Opt { payload_octets: 1232, dnssec_ok: true, ..Opt::default() };
        opt.push(edns_option::EDE, &[0, 7]);
        Reply {
            id: 77,
            flags: header::QR | header::AA,
            rcode: rcode::BADCOOKIE,
            question: Some(Asked { qname: "wWw.example.".parse().unwrap(), qtype: 1, qclass: 1 }),
            sections: [
                vec![record_of_line("wWw.example. 300 A 192.0.2.1").unwrap()],
                vec![record_of_line("example. 300 NS ns.example.").unwrap()],
                vec![],
            ],
            opt: Some(opt),
        }
    }

    #[test]
    fn there_and_back() {
        let octets = reply().octets();
        assert_eq!(Reply::read(&octets), Ok(reply()));
        assert_eq!(
            reply().line(),
            "wWw.example. A aa do: BADCOOKIE ede 7 | answer wWw.example. 300 A 192.0.2.1 | authority example. 300 NS ns.example."
        );
        let cut = Reply::read(&reply().octets_within(octets.len() - 1)).unwrap();
        assert_eq!((cut.flags & header::TC, cut.sections.concat().len()), (header::TC, 0));
        assert_eq!(reply().octets_within(octets.len()), octets);
    }
}
