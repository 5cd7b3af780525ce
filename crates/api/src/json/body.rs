//! What is around RRsets in bodies: fields of zones, and several zones.

use std::collections::HashSet;

use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use wire::NameBuf;

use super::object::{AsList, AsObject, Field, Object, ReadItem, Reading, SaysNothing, Text, begin, once};
use super::rrset::RRsets;
use crate::frame::{ACCOUNT_OCTETS_MAX, Fields, Kind, SetsBuf, ZONES_MAX, ZonesBuf};
use crate::path::id;
use crate::tag::Condition;

/// [`Fields`] with texts of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldsBuf {
    /// Its kind.
    pub kind: Option<Kind>,
    /// How its serial goes on.
    pub soa_edit_api: Option<String>,
    /// Kept.
    pub soa_edit: Option<String>,
    /// Whose it is.
    pub account: Option<String>,
    /// Kept.
    pub api_rectify: Option<bool>,
    /// Where its serial begins.
    pub serial: Option<u32>,
}

impl FieldsBuf {
    /// As an ask has them.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        Fields {
            kind: self.kind,
            soa_edit_api: self.soa_edit_api.as_deref(),
            soa_edit: self.soa_edit.as_deref(),
            account: self.account.as_deref(),
            api_rectify: self.api_rectify,
            serial: self.serial,
        }
    }
}

/// What the body has besides fields of the zone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// RRsets that change: all else passes, as some clients send the zone as they were told it.
    Change,
    /// A zone that is made.
    Make,
    /// Fields of a zone that become others.
    Set,
}

/// Fields of PowerDNS's zones that have no counterpart here: nothing in them is lost in silence.
const ABSENT: [(&str, &str); 10] = [
    ("catalog", "set by `catalog` of the template"),
    ("dnssec", "nothing is signed here"),
    ("nsec3narrow", "nothing is signed here"),
    ("nsec3param", "nothing is signed here"),
    ("presigned", "nothing is signed here: signed zones come by transfer or UPDATE"),
    ("master_tsig_key_ids", "set by [[zone]] of the settings"),
    ("masters", "set by [[zone]] of the settings"),
    ("slave_tsig_key_ids", "set by [[zone]] of the settings"),
    ("records", "expected `rrsets`"),
    ("comments", "`comments` are not kept here"),
];

/// A zone as a client says it.
pub(super) struct ZoneBody<'d, 'r> {
    pub(super) reading: &'r mut Reading,
    around: Around,
    pub(super) name: Field<Text<'d>>,
    kind: Field<Text<'d>>,
    soa_edit_api: Field<Text<'d>>,
    soa_edit: Field<Text<'d>>,
    account: Field<Text<'d>>,
    api_rectify: Field<bool>,
    serial: Field<u32>,
    absent: [Field<SaysNothing>; ABSENT.len()],
    pub(super) nameservers: Field<Vec<Text<'d>>>,
    pub(super) zone: Field<Text<'d>>,
    pub(super) rrsets: Field<SetsBuf>,
}

impl<'d, 'r> ZoneBody<'d, 'r> {
    pub(super) fn new(reading: &'r mut Reading, around: Around) -> ZoneBody<'d, 'r> {
        ZoneBody {
            reading,
            around,
            name: None,
            kind: None,
            soa_edit_api: None,
            soa_edit: None,
            account: None,
            api_rectify: None,
            serial: None,
            absent: [None; ABSENT.len()],
            nameservers: None,
            zone: None,
            rrsets: None,
        }
    }

    /// The fields, if they can be had here; else why not.
    pub(super) fn fields(&self) -> Result<FieldsBuf, String> {
        for ((name, why), field) in ABSENT.iter().zip(&self.absent) {
            if field.flatten().is_some_and(|SaysNothing(nothing)| !nothing) {
                return Err(format!("`{name}`: {why}"));
            }
        }
        let text = |name: &str, field: &Field<Text<'_>>| match field.as_ref().and_then(Option::as_ref) {
            Some(Text(text)) if text.len() > ACCOUNT_OCTETS_MAX || text.chars().any(char::is_control) => {
                Err(format!("`{name}`: expected at most {ACCOUNT_OCTETS_MAX} octets of text"))
            }
            text => Ok(text.map(|Text(text)| text.to_string())),
        };
        Ok(FieldsBuf {
            kind: self.kind()?,
            soa_edit_api: text("soa_edit_api", &self.soa_edit_api)?,
            soa_edit: text("soa_edit", &self.soa_edit)?,
            account: text("account", &self.account)?,
            api_rectify: self.api_rectify.flatten(),
            serial: self.serial.flatten().filter(|serial| *serial != 0),
        })
    }

    /// None where it is empty: it stays as it is, or is what is usual.
    fn kind(&self) -> Result<Option<Kind>, String> {
        let Some(Text(text)) = self.kind.as_ref().and_then(Option::as_ref) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "" => Ok(None),
            "native" => Ok(Some(Kind::Native)),
            "master" | "primary" => Ok(Some(Kind::Master)),
            "slave" | "secondary" => {
                Err("`kind`: secondary zones are set by [[zone]] of the settings".to_owned())
            }
            "consumer" => Err("`kind`: catalogs are set by [[catalog]] of the settings".to_owned()),
            "producer" => Err("`kind`: catalogs are set by `catalog` of the template".to_owned()),
            _ => Err("`kind`: expected Native or Master".to_owned()),
        }
    }

    fn list<A: MapAccess<'d>>(&mut self, map: &mut A) -> Result<bool, A::Error> {
        begin::<_, A::Error>(&self.rrsets, "rrsets", self.reading)?;
        if self.around == Around::Set {
            // Whatever they are, they are not taken.
            let is_given = map.next_value::<Option<IgnoredAny>>()?.is_some();
            self.rrsets = Some(is_given.then(SetsBuf::default));
            return Ok(true);
        }
        let mut sets = SetsBuf::default();
        let mut rrsets = RRsets {
            reading: self.reading,
            sets: &mut sets,
            seen: &mut HashSet::new(),
            sets_before: 0,
            octets_before: 0,
            is_made: self.around == Around::Make,
        };
        let is_given = map.next_value_seed(AsList::new(&mut rrsets))?.is_some();
        self.rrsets = Some(is_given.then_some(sets));
        Ok(true)
    }
}

impl<'d> Object<'d> for ZoneBody<'d, '_> {
    fn field<A: MapAccess<'d>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        if name == "rrsets" {
            return self.list(map);
        }
        // Where several zones change both stand in the body: who writes them here too must not have it done without.
        match name {
            "dry-run" => return Err(self.reading.stop(422, "`dry-run` is a parameter of the query here")),
            "if-match" => return Err(self.reading.stop(422, "`if-match` is a header here")),
            _ if self.around == Around::Change => return Ok(false),
            _ => {}
        }
        if let Some(at) = ABSENT.iter().position(|(absent, _)| *absent == name) {
            return once(&mut self.absent[at], ABSENT[at].0, self.reading, map);
        }
        match name {
            "kind" => once(&mut self.kind, "kind", self.reading, map),
            "soa_edit_api" => once(&mut self.soa_edit_api, "soa_edit_api", self.reading, map),
            "soa_edit" => once(&mut self.soa_edit, "soa_edit", self.reading, map),
            "account" => once(&mut self.account, "account", self.reading, map),
            "api_rectify" => once(&mut self.api_rectify, "api_rectify", self.reading, map),
            "nameservers" => {
                begin::<_, A::Error>(&self.nameservers, "nameservers", self.reading)?;
                let mut names = Names { reading: self.reading, names: Vec::new() };
                let is_given = map.next_value_seed(AsList::new(&mut names))?.is_some();
                self.nameservers = Some(is_given.then_some(names.names));
                Ok(true)
            }
            // Of a zone that there is, its path says the name, and its data the serial.
            "serial" if self.around == Around::Make => once(&mut self.serial, "serial", self.reading, map),
            "name" if self.around == Around::Make => once(&mut self.name, "name", self.reading, map),
            "zone" => once(&mut self.zone, "zone", self.reading, map),
            _ => Ok(false),
        }
    }

    fn reading(&mut self) -> &mut Reading {
        self.reading
    }
}

/// Name servers of a zone: more than can be told in a referral.
const NAMESERVERS_MAX: usize = 64;

/// Names of name servers.
struct Names<'d, 'r> {
    reading: &'r mut Reading,
    names: Vec<Text<'d>>,
}

impl<'d> ReadItem<'d> for &mut Names<'d, '_> {
    fn next<A: SeqAccess<'d>>(&mut self, number: usize, list: &mut A) -> Result<bool, A::Error> {
        let Some(name) = list.next_element()? else { return Ok(false) };
        if number == NAMESERVERS_MAX {
            return Err(self.reading.stop(422, "`nameservers`: too many"));
        }
        self.names.push(name);
        Ok(true)
    }
}

/// Several zones as a client says them, and whether only to try.
pub(super) struct ChangesBody<'r> {
    pub(super) reading: &'r mut Reading,
    pub(super) dry_run: Field<bool>,
    pub(super) zones: Field<ZonesBuf>,
}

impl<'d> Object<'d> for ChangesBody<'_> {
    fn field<A: MapAccess<'d>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "dry-run" => once(&mut self.dry_run, "dry-run", self.reading, map),
            "zones" => {
                begin::<_, A::Error>(&self.zones, "zones", self.reading)?;
                let mut list = ZonesList {
                    reading: self.reading,
                    zones: ZonesBuf::default(),
                    seen: HashSet::new(),
                    sets: 0,
                    octets: 0,
                };
                let is_given = map.next_value_seed(AsList::new(&mut list))?.is_some();
                self.zones = Some(is_given.then_some(list.zones));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn reading(&mut self) -> &mut Reading {
        self.reading
    }
}

/// Zones of one commit.
struct ZonesList<'r> {
    reading: &'r mut Reading,
    zones: ZonesBuf,
    seen: HashSet<NameBuf>,
    /// RRsets so far, and their octets.
    sets: usize,
    octets: usize,
}

impl<'d> ReadItem<'d> for &mut ZonesList<'_> {
    fn next<A: SeqAccess<'d>>(&mut self, number: usize, list: &mut A) -> Result<bool, A::Error> {
        self.reading.enter_zone(Some(number));
        let (sets_before, octets_before) = (self.sets, self.octets);
        let mut zone = OneOfZones {
            reading: self.reading,
            sets_before,
            octets_before,
            name: None,
            if_match: None,
            rrsets: None,
        };
        if list.next_element_seed(AsObject(&mut zone))?.is_none() {
            self.reading.enter_zone(None);
            return Ok(false);
        }
        let (name, if_match) = (zone.name.flatten(), zone.if_match.flatten());
        let sets = zone.rrsets.flatten();
        if number == ZONES_MAX {
            return Err(self.reading.stop(413, "too many zones for one request"));
        }
        let Some(name) = name.and_then(|Text(name)| id::absolute(name.as_bytes())) else {
            return Err(self.reading.stop(422, "expected `name`: an absolute name, with a dot at its end"));
        };
        if !self.seen.insert(name.to_lowercase()) {
            return Err(self.reading.stop(422, "the zone is given twice"));
        }
        let condition = if_match.map_or(Some(Condition::None), |Text(text)| Condition::from_text(&text));
        let Some(condition) = condition else {
            return Err(self.reading.stop(422, "`if-match`: too many tags"));
        };
        let Some(sets) = sets else {
            return Err(self.reading.stop(422, "expected `rrsets`"));
        };
        self.sets += sets.count();
        self.octets += sets.octets();
        self.zones.push(&name.to_lowercase(), condition, &sets);
        Ok(true)
    }
}

/// One of several zones.
struct OneOfZones<'d, 'r> {
    reading: &'r mut Reading,
    sets_before: usize,
    octets_before: usize,
    name: Field<Text<'d>>,
    if_match: Field<Text<'d>>,
    rrsets: Field<SetsBuf>,
}

impl<'d> Object<'d> for OneOfZones<'d, '_> {
    fn field<A: MapAccess<'d>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "name" => once(&mut self.name, "name", self.reading, map),
            "if-match" => once(&mut self.if_match, "if-match", self.reading, map),
            "rrsets" => {
                begin::<_, A::Error>(&self.rrsets, "rrsets", self.reading)?;
                let mut sets = SetsBuf::default();
                let mut rrsets = RRsets {
                    reading: self.reading,
                    sets: &mut sets,
                    seen: &mut HashSet::new(),
                    sets_before: self.sets_before,
                    octets_before: self.octets_before,
                    is_made: false,
                };
                let is_given = map.next_value_seed(AsList::new(&mut rrsets))?.is_some();
                self.rrsets = Some(is_given.then_some(sets));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn reading(&mut self) -> &mut Reading {
        self.reading
    }
}
