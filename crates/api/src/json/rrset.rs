//! RRsets of bodies: each read as a whole, then put where all of them are put together.

use std::collections::HashSet;

use serde::de::{Error, MapAccess, SeqAccess};
use wire::iana::rtype;
use wire::{Name, NameBuf, rdata};

use super::object::{AsList, AsObject, Field, Object, ReadItem, Reading, SaysNothing, Text, begin, once};
use crate::frame::{RECORDS_MAX, RRSETS_MAX, SetsBuf, TTL_MAX, What};
use crate::path::{id, is_of_data};

/// RRsets of a zone, as a list of a body has them.
pub(super) struct RRsets<'r> {
    pub(super) reading: &'r mut Reading,
    pub(super) sets: &'r mut SetsBuf,
    /// Owners and types so far: each is there once.
    pub(super) seen: &'r mut HashSet<(NameBuf, u16)>,
    /// RRsets of other zones of the body.
    pub(super) sets_before: usize,
    /// Octets of those.
    pub(super) octets_before: usize,
    /// Whether they are all of a zone that is made, where `changetype` says nothing.
    pub(super) is_made: bool,
}

impl<'d> ReadItem<'d> for &mut RRsets<'_> {
    fn next<A: SeqAccess<'d>>(&mut self, number: usize, list: &mut A) -> Result<bool, A::Error> {
        self.reading.enter_set(Some(number));
        let mut rrset = RRset::new(self.reading);
        let is_there = list.next_element_seed(AsObject(&mut rrset))?.is_some();
        if is_there {
            let given = rrset.given();
            if self.sets_before + number == RRSETS_MAX {
                return Err(self.reading.stop(413, "too many RRsets for one request"));
            }
            self.take::<A::Error>(given)?;
        }
        if !is_there {
            self.reading.enter_set(None);
        }
        Ok(is_there)
    }
}

impl RRsets<'_> {
    /// Puts one to the others, or notes what is wrong with it.
    fn take<E: Error>(&mut self, given: Given<'_>) -> Result<(), E> {
        let name = given.name.as_ref().and_then(|Text(name)| id::absolute(name.as_bytes()));
        let known = given.rtype.as_ref().and_then(|Text(text)| rtype::from_text(text.as_bytes()));
        let rtype = known.filter(|rtype| is_of_data(*rtype));
        let (Some(name), Some(rtype)) = (&name, rtype) else {
            let why = match (&name, known) {
                (None, _) => "expected `name`: an absolute name, with a dot at its end",
                (_, None) => {
                    "expected `type`: a type of records (those of PowerDNS alone, as ALIAS and LUA, are none)"
                }
                _ => "expected a type of zone data, this one exists in messages only",
            };
            self.reading.fault(name.as_deref(), rtype, why);
            return Ok(());
        };
        if let Err(why) = self.put(name, rtype, &given) {
            self.sets.give_up();
            self.reading.fault(Some(name), Some(rtype), why);
        }
        if self.octets_before + self.sets.octets() > self.reading.octets_max {
            return Err(self.reading.stop(413, "too many records for one request"));
        }
        Ok(())
    }

    fn put(&mut self, name: &Name, rtype: u16, given: &Given<'_>) -> Result<(), String> {
        if !self.seen.insert((name.to_lowercase(), rtype)) {
            return Err("given twice".to_owned());
        }
        if given.has_comments {
            return Err("`comments` are not kept here".to_owned());
        }
        let what = given.what(self.is_made)?;
        if what == What::Delete {
            self.sets.begin(name, rtype, what, 0);
            self.sets.end();
            return Ok(());
        }
        let ttl = given.ttl.filter(|ttl| *ttl <= TTL_MAX);
        let ttl = match what {
            // Which records go is said by what they are.
            What::Prune => 0,
            _ => ttl.ok_or_else(|| format!("expected `ttl`: a number up to {TTL_MAX}"))?,
        };
        self.sets.begin(name, rtype, what, ttl);
        let (mut seen, mut octets) = (HashSet::new(), Vec::new());
        for record in given.records.iter().flatten() {
            let content = record.rdata(rtype, self.reading, &mut octets)?;
            let mut folded = content.to_vec();
            rdata::fold(rtype, &mut folded);
            // A repeat is no mistake: some clients add to what they were told.
            if seen.insert(folded) {
                self.sets.record(content);
            }
            if self.octets_before + self.sets.octets() > self.reading.octets_max {
                break;
            }
        }
        self.sets.end();
        Ok(())
    }
}

/// What a client says of an RRset.
struct Given<'d> {
    name: Option<Text<'d>>,
    rtype: Option<Text<'d>>,
    changetype: Option<Text<'d>>,
    ttl: Option<u32>,
    has_comments: bool,
    records: Option<Vec<Content<'d>>>,
}

impl Given<'_> {
    fn what(&self, is_made: bool) -> Result<What, String> {
        let text = self.changetype.as_ref().map(|Text(text)| text.as_ref());
        let is = |name: &str| text.is_some_and(|text| text.eq_ignore_ascii_case(name));
        let records = self.records.as_ref().map(Vec::len);
        let needed = || Err("expected `records`: one at least".to_owned());
        match records {
            _ if is_made && text.is_some() && !is("REPLACE") => {
                Err("expected no `changetype` but REPLACE: the zone is made".to_owned())
            }
            None | Some(0) if is_made => needed(),
            _ if is_made => Ok(What::Replace),
            _ if is("DELETE") => Ok(What::Delete),
            Some(0) if is("REPLACE") => Ok(What::Delete),
            None | Some(0) if is("REPLACE") || is("EXTEND") || is("PRUNE") => needed(),
            _ if is("REPLACE") => Ok(What::Replace),
            _ if is("EXTEND") => Ok(What::Extend),
            _ if is("PRUNE") => Ok(What::Prune),
            _ => Err("expected `changetype`: REPLACE, DELETE, EXTEND or PRUNE".to_owned()),
        }
    }
}

/// Reads an RRset.
struct RRset<'d, 'r> {
    reading: &'r mut Reading,
    name: Field<Text<'d>>,
    rtype: Field<Text<'d>>,
    changetype: Field<Text<'d>>,
    ttl: Field<u32>,
    comments: Field<SaysNothing>,
    records: Field<Vec<Content<'d>>>,
}

impl<'d, 'r> RRset<'d, 'r> {
    fn new(reading: &'r mut Reading) -> RRset<'d, 'r> {
        let (name, rtype, changetype, ttl, comments, records) = (None, None, None, None, None, None);
        RRset { reading, name, rtype, changetype, ttl, comments, records }
    }

    fn given(self) -> Given<'d> {
        Given {
            name: self.name.flatten(),
            rtype: self.rtype.flatten(),
            changetype: self.changetype.flatten(),
            ttl: self.ttl.flatten(),
            has_comments: self.comments.flatten().is_some_and(|SaysNothing(nothing)| !nothing),
            records: self.records.flatten(),
        }
    }
}

impl<'d> Object<'d> for RRset<'d, '_> {
    fn field<A: MapAccess<'d>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "name" => once(&mut self.name, "name", self.reading, map),
            "type" => once(&mut self.rtype, "type", self.reading, map),
            "changetype" => once(&mut self.changetype, "changetype", self.reading, map),
            "ttl" => once(&mut self.ttl, "ttl", self.reading, map),
            "comments" => once(&mut self.comments, "comments", self.reading, map),
            "records" => {
                begin::<_, A::Error>(&self.records, "records", self.reading)?;
                let mut records = Records { reading: self.reading, contents: Vec::new() };
                let is_given = map.next_value_seed(AsList::new(&mut records))?.is_some();
                self.records = Some(is_given.then_some(records.contents));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn reading(&mut self) -> &mut Reading {
        self.reading
    }
}

/// Records of an RRset.
struct Records<'d, 'r> {
    reading: &'r mut Reading,
    contents: Vec<Content<'d>>,
}

impl<'d> ReadItem<'d> for &mut Records<'d, '_> {
    fn next<A: SeqAccess<'d>>(&mut self, number: usize, list: &mut A) -> Result<bool, A::Error> {
        let mut record = AsRecord { reading: self.reading, content: None, disabled: None, set_ptr: None };
        let is_there = list.next_element_seed(AsObject(&mut record))?.is_some();
        if is_there {
            let content = Content {
                text: record.content.flatten(),
                is_disabled: record.disabled.flatten().unwrap_or(false),
                sets_ptr: record.set_ptr.flatten().unwrap_or(false),
            };
            if number == RECORDS_MAX {
                return Err(self.reading.stop(413, "too many records for an RRset"));
            }
            self.contents.push(content);
        }
        Ok(is_there)
    }
}

/// Reads a record.
struct AsRecord<'d, 'r> {
    reading: &'r mut Reading,
    content: Field<Text<'d>>,
    disabled: Field<bool>,
    set_ptr: Field<bool>,
}

impl<'d> Object<'d> for AsRecord<'d, '_> {
    fn field<A: MapAccess<'d>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "content" => once(&mut self.content, "content", self.reading, map),
            "disabled" => once(&mut self.disabled, "disabled", self.reading, map),
            "set-ptr" => once(&mut self.set_ptr, "set-ptr", self.reading, map),
            _ => Ok(false),
        }
    }

    fn reading(&mut self) -> &mut Reading {
        self.reading
    }
}

/// A record as a client says it.
struct Content<'d> {
    text: Option<Text<'d>>,
    is_disabled: bool,
    sets_ptr: bool,
}

impl Content<'_> {
    /// Its RDATA.
    fn rdata<'o>(&self, rtype: u16, reading: &mut Reading, out: &'o mut Vec<u8>) -> Result<&'o [u8], String> {
        if self.is_disabled {
            return Err("records that are `disabled` are not kept here".to_owned());
        }
        if self.sets_ptr {
            return Err("`set-ptr` is not known here: change the zone of the address".to_owned());
        }
        let Some(Text(text)) = &self.text else { return Err("expected `content`".to_owned()) };
        reading.contents.read(rtype, text, out).map_err(|fault| fault.to_string())?;
        Ok(out)
    }
}
