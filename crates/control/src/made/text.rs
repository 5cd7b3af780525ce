//! The first version of a zone that is made: what a client sent, with what it left out, as a text.

use api::frame::{Fields, Set, Sets};
use change::SerialStyle;
use change::serial::is_greater;
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zonefile::print;

/// TTL of SOA and NS records that no client gave: as PowerDNS has it.
const TTL: u32 = 3_600;

/// What an SOA record has that no client gave: refresh, retry, expire and minimum, as PowerDNS has them.
const TIMES: [u32; 4] = [10_800, 3_600, 604_800, 3_600];

/// The label before the zone's name in the mailbox of such a record.
const MAILBOX: &[u8] = b"\x0ahostmaster";

/// Octets of the numbers that an SOA record ends with, the serial first (RFC 1035 3.3.13).
const SOA_NUMBERS_OCTETS: usize = 20;

/// What is put in where a client leaves it out.
pub(crate) struct Usual<'u> {
    /// Name servers.
    pub(crate) default_ns: &'u [NameBuf],
    /// How serials begin.
    pub(crate) style: SerialStyle,
    /// The serial that a zone of this name had before: this one begins above it.
    pub(crate) floor: Option<u32>,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

/// The text of a zone, and its serial. The error: what is missing, in words.
pub(crate) fn text_of(
    zone: &Name,
    fields: &Fields<'_>,
    sets: Sets<'_>,
    usual: &Usual<'_>,
) -> Result<(Vec<u8>, u32), String> {
    let is_of_apex = |set: &Set<'_>, rtype: u16| set.rtype == rtype && set.owner.eq_ignore_case(zone);
    let mut servers: Vec<NameBuf> = Vec::new();
    if !sets.iter().any(|set| is_of_apex(&set, rtype::NS)) {
        servers.extend(usual.default_ns.iter().cloned());
        if servers.is_empty() {
            return Err("expected `nameservers`: `default-ns` of [api] in the settings has none".to_owned());
        }
    }
    let given = sets.iter().find(|set| is_of_apex(set, rtype::SOA));
    let soas: Vec<(u32, Vec<u8>)> = match given {
        Some(set) => set.rdatas.iter().map(|rdata| (set.ttl, rdata.to_vec())).collect(),
        None => {
            let first = sets.iter().find(|set| is_of_apex(set, rtype::NS));
            let first =
                first.and_then(|set| Some(Name::from_wire(set.rdatas.iter().next()?).ok()?.to_owned()));
            let server = first.or_else(|| servers.first().cloned());
            let server = server.ok_or("expected the name of a server in the NS records")?;
            vec![(
                TTL,
                usual_soa(zone, &server)
                    .ok_or("expected an SOA record: the name is too long for one to be made")?,
            )]
        }
    };
    let own = soas.first().and_then(|(_, rdata)| serial_in(rdata)).filter(|serial| *serial != 0);
    let serial = begin(fields.serial.or(own), usual);
    let mut text = format!("; Zone {zone} as it was made over the HTTP API. The server keeps what became of it in its packs and its log.\n").into_bytes();
    for (ttl, mut rdata) in soas {
        put_serial(&mut rdata, serial);
        print::line(zone, ttl, rtype::SOA, &rdata, &mut text);
    }
    for server in &servers {
        print::line(zone, TTL, rtype::NS, server.octets(), &mut text);
    }
    for set in sets.iter().filter(|set| !is_of_apex(set, rtype::SOA)) {
        set.rdatas.iter().for_each(|rdata| print::line(set.owner, set.ttl, set.rtype, rdata, &mut text));
    }
    Ok((text, serial))
}

/// The serial that a zone begins with: as it was asked for, or as its style has it; above that of a zone that had its name, unless it is greater.
fn begin(asked: Option<u32>, usual: &Usual<'_>) -> u32 {
    let serial = asked.unwrap_or_else(|| usual.style.after(0, usual.now));
    match usual.floor {
        Some(floor) if !is_greater(serial, floor) => usual.style.after(floor, usual.now),
        _ => serial,
    }
}

fn usual_soa(zone: &Name, server: &Name) -> Option<Vec<u8>> {
    let mailbox = [MAILBOX, zone.octets()].concat();
    Name::from_wire(&mailbox).ok()?;
    let mut rdata = [server.octets(), &mailbox, &[0; 4]].concat();
    TIMES.iter().for_each(|number| rdata.extend_from_slice(&number.to_be_bytes()));
    Some(rdata)
}

fn serial_in(rdata: &[u8]) -> Option<u32> {
    let at = rdata.len().checked_sub(SOA_NUMBERS_OCTETS)?;
    Some(u32::from_be_bytes(*rdata[at..].first_chunk()?))
}

fn put_serial(rdata: &mut [u8], serial: u32) {
    if let Some(at) = rdata.len().checked_sub(SOA_NUMBERS_OCTETS) {
        rdata[at..at + 4].copy_from_slice(&serial.to_be_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::frame::{SetsBuf, What};

    const NOW: u64 = 1_795_305_601;

    fn name(text: &str) -> NameBuf {
        text.parse().unwrap()
    }

    fn sets(records: &[(&str, u16, &[u8])]) -> SetsBuf {
        let mut sets = SetsBuf::default();
        for (owner, rtype, rdata) in records {
            sets.begin(&name(owner), *rtype, What::Replace, 60);
            assert!(sets.record(rdata));
        }
        sets.end();
        sets
    }

    fn text(sets: &SetsBuf, serial: Option<u32>, floor: Option<u32>) -> Result<(String, u32), String> {
        let default_ns = [name("ns1.example.")];
        let usual = Usual { default_ns: &default_ns, style: SerialStyle::Date, floor, now: NOW };
        let fields = Fields { serial, ..Fields::default() };
        let (text, serial) = text_of(&name("x.test."), &fields, sets.sets(), &usual)?;
        Ok((String::from_utf8(text).unwrap(), serial))
    }

    #[test]
    fn what_is_left_out_is_put_in() {
        let (said, serial) = text(&sets(&[("www.x.test.", rtype::A, &[192, 0, 2, 1])]), None, None).unwrap();
        let lines: Vec<&str> = said.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "x.test. 3600 IN SOA ns1.example. hostmaster.x.test. 2026112200 10800 3600 604800 3600",
                "x.test. 3600 IN NS ns1.example.",
                "www.x.test. 60 IN A 192.0.2.1"
            ]
        );
        assert_eq!(serial, 2_026_112_200);
        // What is there stays, in any letters.
        let soa = usual_soa(&name("X.test."), &name("a.")).unwrap();
        let given = sets(&[("X.TEST.", rtype::SOA, &soa), ("X.test.", rtype::NS, name("a.").octets())]);
        let (said, _) = text(&given, Some(7), None).unwrap();
        let lines: Vec<&str> = said.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["x.test. 60 IN SOA a. hostmaster.X.test. 7 10800 3600 604800 3600", "X.test. 60 IN NS a."]
        );
    }

    #[test]
    fn no_servers() {
        let usual = Usual { default_ns: &[], style: SerialStyle::Increment, floor: None, now: NOW };
        let none = SetsBuf::default();
        let why = text_of(&name("x.test."), &Fields::default(), none.sets(), &usual).unwrap_err();
        assert!(why.contains("nameservers"), "{why}");
    }

    /// Whoever had an older zone of the name takes this one.
    #[test]
    fn serials_begin_above_those_of_before() {
        let some = sets(&[("www.x.test.", rtype::A, &[192, 0, 2, 1])]);
        let serial = |asked, floor| text(&some, asked, floor).unwrap().1;
        assert_eq!(serial(Some(5), None), 5);
        assert_eq!(serial(Some(5), Some(4)), 5);
        assert_eq!(serial(Some(5), Some(5)), 2_026_112_200);
        assert_eq!(serial(Some(5), Some(2_026_112_200)), 2_026_112_201);
        assert_eq!(serial(None, Some(2_026_112_200)), 2_026_112_201);
    }
}
