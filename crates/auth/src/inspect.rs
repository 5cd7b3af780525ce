//! A strict reader of responses and a maker of catalogs from text, for tests, the fuzzer and examples; no part of serving.

use std::collections::HashSet;
use std::sync::Arc;
use wire::header::{HEADER_OCTETS, u16_at};
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::rdata::{BadRdata, Names};
use wire::record::{RecordView, skip_name};
use wire::{Name, NameBuf, Places};
use zone::catalog::ViewSource;
use zone::contents::SourcePosition;
use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp, ZoneView};

/// A record of a response, names in it written out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Owner, in the case it stands in.
    pub owner: NameBuf,
    /// Type.
    pub rtype: u16,
    /// Class.
    pub class: u16,
    /// TTL.
    pub ttl: u32,
    /// RDATA, uncompressed.
    pub rdata: Vec<u8>,
}

impl std::fmt::Display for Record {
    /// As a line of a master file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut line = Vec::new();
        zonefile::print::line(&self.owner, self.ttl, self.rtype, &self.rdata, &mut line);
        f.write_str(String::from_utf8_lossy(&line).trim_end())
    }
}

/// A response, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Octets of the message.
    pub octets: usize,
    /// Flags of the header.
    pub flags: u16,
    /// Response code, upper bits from OPT included.
    pub rcode: u16,
    /// Name, type and class, as one text.
    pub question: Option<String>,
    /// Answer, authority and additional section, OPT and TSIG excluded.
    pub sections: [Vec<Record>; 3],
    /// OPT: payload octets, DO bit, options.
    pub opt: Option<(u16, bool, Vec<u8>)>,
    /// Whether a TSIG record ends it.
    pub has_tsig: bool,
}

impl Response {
    /// The lines of a section without signatures: owner, TTL, class, type, RDATA.
    pub fn lines(&self, section: usize) -> Vec<String> {
        self.sections[section]
            .iter()
            .filter(|record| record.rtype != rtype::RRSIG)
            .map(ToString::to_string)
            .collect()
    }

    /// Types of a section in their order, those of signatures as `RRSIG(TYPE)`.
    pub fn types(&self, section: usize) -> String {
        let text = |record: &Record| match record.rtype {
            rtype::RRSIG => format!("RRSIG({})", rtype::Text(u16_at(&record.rdata, 0))),
            other => rtype::Text(other).to_string(),
        };
        self.sections[section].iter().map(text).collect::<Vec<_>>().join(" ")
    }
}

/// Reads a response; says what is wrong with the first thing that is. Wrong is, beside what no reader could read: octets
/// after the last record, records that stand twice, RRsets in pieces or of several TTLs, names compressed in types where
/// that is forbidden (RFC 3597 4), OPT elsewhere than after the data.
pub fn read(message: &[u8]) -> Result<Response, String> {
    if message.len() < HEADER_OCTETS {
        return Err("shorter than a header".into());
    }
    let flags = u16_at(message, 2);
    let mut response = Response { octets: message.len(), flags, rcode: flags & 15, ..Response::default() };
    let mut at = HEADER_OCTETS;
    match u16_at(message, 4) {
        0 => {}
        1 => {
            let name = name_at(message, at)?;
            at = skip_name(message, at).ok_or("question")?;
            if at + 4 > message.len() {
                return Err("question cut off".into());
            }
            let [qtype, qclass] = [u16_at(message, at), u16_at(message, at + 2)];
            response.question = Some(format!("{name} {} {qclass}", rtype::Text(qtype)));
            at += 4;
        }
        count => return Err(format!("{count} questions")),
    }
    for section in 0..3 {
        let count = u16_at(message, 6 + 2 * section);
        for _ in 0..count {
            let record = RecordView::read(message, at).ok_or_else(|| format!("record at {at}"))?;
            at = record.end();
            match record.rtype {
                rtype::OPT if section == 2 && response.opt.is_none() && message[record.owner] == 0 => {
                    let has_do = record.ttl & 0x8000 != 0;
                    response.opt = Some((record.class, has_do, record.rdata.to_vec()));
                    response.rcode |= (record.ttl >> 20) as u16 & 0xff0;
                }
                rtype::TSIG if section == 2 => response.has_tsig = true,
                rtype::OPT => return Err("OPT in the wrong place".into()),
                _ if response.opt.is_some() || response.has_tsig => return Err("records after OPT".into()),
                _ => response.sections[section].push(data(message, &record)?),
            }
        }
    }
    if at != message.len() {
        return Err(format!("{} octets after the last record", message.len() - at));
    }
    response.sections.iter().try_for_each(|section| check_section(section))?;
    Ok(response)
}

/// RRsets must be in one piece, with one TTL, each record once.
fn check_section(records: &[Record]) -> Result<(), String> {
    let set_of = |record: &Record| {
        let covered = if record.rtype == rtype::RRSIG { u16_at(&record.rdata, 0) } else { 0 };
        (record.owner.to_lowercase(), record.rtype, covered)
    };
    let mut seen = HashSet::new();
    for run in records.chunk_by(|a, b| set_of(a) == set_of(b)) {
        if !seen.insert(set_of(&run[0])) {
            return Err(format!("RRset twice or in pieces: {}", run[0]));
        }
        let different: HashSet<&[u8]> = run.iter().map(|record| &record.rdata[..]).collect();
        if different.len() != run.len() {
            return Err(format!("record twice: {}", run[0]));
        }
        if run.iter().any(|record| record.ttl != run[0].ttl) {
            return Err(format!("TTLs differ: {}", run[0]));
        }
    }
    Ok(())
}

fn name_at(message: &[u8], at: usize) -> Result<NameBuf, String> {
    let mut places = Places::new();
    places.follow(message, at).map_err(|error| format!("name at {at}: {error}"))?;
    let mut buffer = [0; NAME_OCTETS_MAX];
    Ok(places.copy_ancestor(message, places.label_count(), &mut buffer).to_owned())
}

fn data(message: &[u8], view: &RecordView<'_>) -> Result<Record, String> {
    let owner = name_at(message, view.owner)?;
    let mut rdata = Vec::with_capacity(view.rdata.len());
    let mut at = view.rdata_at;
    for name in Names::in_message(view.rtype, message, at, view.end()) {
        let name = name.map_err(|BadRdata(at)| format!("RDATA at {at}"))?;
        if name.has_pointer && !name.uses.compress {
            return Err(format!("name of {} at {} is compressed", rtype::Text(view.rtype), name.at));
        }
        rdata.extend_from_slice(&message[at..name.at]);
        rdata.extend_from_slice(name_at(message, name.at)?.octets());
        at = name.end;
    }
    rdata.extend_from_slice(&message[at..view.end()]);
    zonefile::rdata::check(view.rtype, &rdata).map_err(|_| {
        format!("RDATA of {} at {} is not of its form", rtype::Text(view.rtype), view.rdata_at)
    })?;
    Ok(Record { owner, rtype: view.rtype, class: view.class, ttl: view.ttl, rdata })
}

/// A catalog of zones given as origin and text.
pub fn catalog(zones: &[(&str, &str)]) -> Result<Catalog, String> {
    let mut builder = PackBuilder::new(0x7a6f_6e64);
    for (origin, text) in zones {
        let origin: NameBuf = origin.parse().map_err(|error| format!("{origin}: {error}"))?;
        builder
            .add_zone(&contents(&origin, text)?, TextStamp::default())
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    }
    let backing = builder.finish().map_err(|_| "the index is crowded")?;
    let catalog = Catalog::new(1);
    serve(&catalog, Pack::open(backing).map_err(|error| error.to_string())?);
    Ok(catalog)
}

/// Adds the zones of a pack, or has those that are there show them.
pub fn serve(catalog: &Catalog, pack: Pack) {
    let pack = Arc::new(pack);
    let hold = catalog.add_pack(Arc::clone(&pack));
    let zones: Vec<_> = (0..pack.zone_count())
        .filter_map(|zone| Some((ZoneView::new(&pack, zone)?.apex(), ViewSource::Pack(hold.number(), zone))))
        .collect();
    catalog.insert(&zones);
}

/// The records of a zone given as text.
pub fn contents(origin: &Name, text: &str) -> Result<zone::Contents, String> {
    let records = zonefile::records(text, origin).map_err(|report| report.to_string())?;
    let mut builder = ContentsBuilder::new(origin);
    for record in records {
        let taken = builder.push(
            &record.owner,
            false,
            record.rtype,
            record.ttl,
            &record.rdata,
            SourcePosition::default(),
        );
        taken.map_err(|refusal| format!("{} {refusal:?}", record.owner))?;
    }
    Ok(builder.finish())
}

/// Octets of a query: flags, name, type, class 1, and OPT with payload size and DO bit, if given.
pub fn query(flags: u16, name: &Name, qtype: u16, edns: Option<(u16, bool)>) -> Vec<u8> {
    let mut octets = vec![0xab, 0xcd];
    octets.extend(flags.to_be_bytes());
    octets.extend([0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())]);
    octets.extend(name.octets());
    octets.extend(qtype.to_be_bytes());
    octets.extend([0, 1]);
    if let Some((payload_octets, dnssec_ok)) = edns {
        let [p, q] = payload_octets.to_be_bytes();
        octets.extend([0, 0, 41, p, q, 0, 0, if dnssec_ok { 0x80 } else { 0 }, 0, 0, 0]);
    }
    octets
}
