//! A zone as a list of records: what texts are read into, what is signed, changed and served.

use auth::inspect;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::ContentsBuilder;
use zone::contents::SourcePosition;
use zonefile::RecordBuf;

/// The records of a zone in any order, names in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The name of the zone.
    pub apex: NameBuf,
    /// All that it has, occluded names and glue too.
    pub list: Vec<RecordBuf>,
}

impl Records {
    /// Reads a master file, which may be empty; the error says what is wrong in which line.
    pub fn from_text(apex: &str, text: &str) -> Result<Records, String> {
        let apex: NameBuf = apex.parse().map_err(|error| format!("{apex}: {error}"))?;
        let list = match text.trim() {
            "" => Vec::new(),
            _ => zonefile::records(text, &apex).map_err(|report| report.to_string())?,
        };
        Ok(Records { apex, list })
    }

    /// Adds the record of a line such as `www 300 A 192.0.2.1`, names relative to the apex.
    pub fn push_line(&mut self, line: &str) -> Result<(), String> {
        let read = zonefile::records(line, &self.apex).map_err(|report| report.to_string())?;
        self.list.extend(read);
        Ok(())
    }

    /// Adds a record.
    pub fn push(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) {
        self.list.push(RecordBuf { owner: owner.to_owned(), rtype, ttl, rdata: rdata.to_vec() });
    }

    /// The records of one owner and type.
    pub fn of<'r>(&'r self, owner: &'r Name, rtype: u16) -> impl Iterator<Item = &'r RecordBuf> {
        self.list.iter().filter(move |record| record.rtype == rtype && record.owner.eq_ignore_case(owner))
    }

    /// Whether it has been signed: whether it has keys at the apex.
    pub fn is_signed(&self) -> bool {
        self.of(&self.apex, rtype::DNSKEY).next().is_some()
    }

    /// A master file, one record a line.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        for record in &self.list {
            zonefile::print::line(&record.owner, record.ttl, record.rtype, &record.rdata, &mut lines);
        }
        String::from_utf8_lossy(&lines).into_owned()
    }

    /// What packs are built from. Records that are not at or below the apex are an error.
    pub fn contents(&self) -> Result<zone::Contents, String> {
        let mut builder = ContentsBuilder::new(&self.apex);
        for RecordBuf { owner, rtype, ttl, rdata } in &self.list {
            builder
                .push(owner, false, *rtype, *ttl, rdata, SourcePosition::default())
                .map_err(|refusal| format!("{owner} {}: {refusal:?}", rtype::Text(*rtype)))?;
        }
        Ok(builder.finish())
    }
}

/// The address in the RDATA of an A or AAAA record.
pub fn address_of(rtype: u16, rdata: &[u8]) -> Option<IpAddr> {
    match rtype {
        rtype::A => Some(Ipv4Addr::from(<[u8; 4]>::try_from(rdata).ok()?).into()),
        rtype::AAAA => Some(Ipv6Addr::from(<[u8; 16]>::try_from(rdata).ok()?).into()),
        _ => None,
    }
}

/// A record as `inspect` has it, of a line with absolute names such as `www.example. 300 IN A 192.0.2.1`.
pub fn record_of_line(line: &str) -> Result<inspect::Record, String> {
    let read = zonefile::records(line, Name::root()).map_err(|report| report.to_string())?;
    let [RecordBuf { owner, rtype, ttl, rdata }] = <[RecordBuf; 1]>::try_from(read)
        .map_err(|several| format!("{} records where one was expected", several.len()))?;
    Ok(inspect::Record { owner, rtype, class: wire::iana::class::IN, ttl, rdata })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let text = "@ 60 SOA ns host 1 2 3 4 5\nwww 300 A 192.0.2.1\n";
        let mut records = Records::from_text("Example.", text).unwrap();
        records.push_line("*.w 5 TXT x").unwrap();
        assert_eq!(Records::from_text("Example.", &records.text()), Ok(records.clone()));
        assert!(records.text().contains("www.Example. 300 IN A 192.0.2.1\n"));
        assert_eq!(records.contents().unwrap().record_count(), 3);
        assert!(Records::from_text("example.", "www 300 A 192.0.2").is_err());
        records.push(Name::root(), rtype::A, 1, &[1; 4]);
        assert!(records.contents().is_err(), "out of the zone");
        assert_eq!(record_of_line("a.b. 1 A 192.0.2.7").unwrap().rdata, [192, 0, 2, 7]);
    }
}
