//! Bodies of clients: to RRsets in wire form, and fields of zones.
//!
//! | body | of | unknown fields |
//! |---|---|---|
//! | `{"rrsets": [...]}` | PATCH of a zone: [`patch`] | pass |
//! | `{"name": ..., "rrsets": [...]}`, or with `zone`, a text | POST of a zone: [`post`] | pass |
//! | `{"kind": ..., "account": ...}` | PUT of a zone: [`put`] | pass |
//! | `{"dry-run": ..., "zones": [{"name", "if-match", "rrsets"}]}` | POST of `changes`: [`changes`]; of `explain`, without `dry-run`: [`explain`] | are wrong |
//!
//! What a client sends is read once and straight to the octets of an ask: at a time there is one RRset of it in memory as it was written. Whether owners are in the
//! zone, and whether anything may be done, is the server's to know.

use serde::de::DeserializeSeed;
use wire::iana::rtype;
use wire::{Name, NameBuf};

pub use super::body::FieldsBuf;
use super::body::{Around, ChangesBody, ZoneBody};
use super::object::{AsObject, Object, Reading, Text};
use super::{Refusal, text};
use crate::frame::{RRSETS_MAX, SetsBuf, What, ZonesBuf};
use crate::path::id;

/// TTL of NS records of which a client says the names alone: as PowerDNS has it.
const NAMESERVERS_TTL: u32 = 3_600;

/// A zone that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name, in lower case.
    pub zone: NameBuf,
    /// Its fields.
    pub fields: FieldsBuf,
    /// Its records. Those of a text are of sets that extend each other; SOA and NS may be missing.
    pub sets: SetsBuf,
}

/// Changes of several zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Whether only to try.
    pub is_dry: bool,
    /// What changes.
    pub zones: ZonesBuf,
}

/// RRsets of one zone that are to change. They have `octets_max` octets at most in wire form.
pub fn patch(body: &[u8], octets_max: usize) -> Result<SetsBuf, Refusal> {
    let mut sets = None;
    Reading::new(false, octets_max).read(body, |reading| {
        let mut zone = ZoneBody::new(reading, Around::Change);
        object(body, &mut zone)?;
        sets = zone.rrsets.take().flatten();
        Ok(())
    })?;
    sets.ok_or_else(|| refused("expected `rrsets`".to_owned()))
}

/// A zone that is to be made.
pub fn post(body: &[u8], octets_max: usize) -> Result<Made, Refusal> {
    let mut made = None;
    Reading::new(false, octets_max).read(body, |reading| {
        let mut zone = ZoneBody::new(reading, Around::Make);
        object(body, &mut zone)?;
        made = Some(of_body(&mut zone, octets_max));
        Ok(())
    })?;
    made.unwrap_or_else(|| Err(refused("expected a zone".to_owned())))
}

/// Fields of a zone that are to be others.
pub fn put(body: &[u8]) -> Result<FieldsBuf, Refusal> {
    let mut fields = None;
    Reading::new(false, 0).read(body, |reading| {
        let mut zone = ZoneBody::new(reading, Around::Set);
        object(body, &mut zone)?;
        let is_list = matches!(zone.rrsets, Some(Some(_))) || matches!(zone.nameservers, Some(Some(_)));
        let is_more = is_list || matches!(zone.zone, Some(Some(_)));
        fields = Some(match is_more {
            true => Err("expected fields of the zone alone: RRsets are changed by PATCH".to_owned()),
            false => zone.fields(),
        });
        Ok(())
    })?;
    fields.unwrap_or_else(|| Err("expected fields of a zone".to_owned())).map_err(refused)
}

/// Changes of several zones.
pub fn changes(body: &[u8], octets_max: usize) -> Result<Changes, Refusal> {
    let (is_dry, zones) = several(body, octets_max)?;
    Ok(Changes { is_dry: is_dry.unwrap_or(false), zones })
}

/// What rules are asked about: RRsets of several zones.
pub fn explain(body: &[u8], octets_max: usize) -> Result<ZonesBuf, Refusal> {
    match several(body, octets_max)? {
        (None, zones) => Ok(zones),
        (Some(_), _) => Err(refused("`dry-run`: nothing is done here".to_owned())),
    }
}

fn several(body: &[u8], octets_max: usize) -> Result<(Option<bool>, ZonesBuf), Refusal> {
    let mut read = (None, None);
    Reading::new(true, octets_max).read(body, |reading| {
        let mut all = ChangesBody { reading, dry_run: None, zones: None };
        object(body, &mut all)?;
        read = (all.dry_run.flatten(), all.zones.flatten());
        Ok(())
    })?;
    let zones = read.1.filter(|zones| !zones.zones().is_empty());
    Ok((read.0, zones.ok_or_else(|| refused("expected `zones`: one at least".to_owned()))?))
}

/// Reads all of a body as one object.
fn object<'d>(body: &'d [u8], object: &mut impl Object<'d>) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    AsObject(object).deserialize(&mut deserializer)?;
    deserializer.end()
}

fn refused(words: String) -> Refusal {
    Refusal { status: 422, words, faults: Vec::new() }
}

fn of_body(body: &mut ZoneBody<'_, '_>, octets_max: usize) -> Result<Made, Refusal> {
    let fields = body.fields().map_err(refused)?;
    let name = body.name.as_ref().and_then(Option::as_ref);
    let zone = name.and_then(|Text(name)| id::absolute(name.as_bytes())).map(|name| name.to_lowercase());
    let zone =
        zone.ok_or_else(|| refused("`name`: expected an absolute name, with a dot at its end".to_owned()))?;
    let sets = body.rrsets.take().flatten();
    let text = body.zone.take().flatten().map(|Text(text)| text).filter(|text| !text.is_empty());
    let mut sets = match (sets, text) {
        (Some(sets), Some(_)) if sets.count() > 0 => {
            return Err(refused("`zone`: expected no `rrsets` beside it".to_owned()));
        }
        (_, Some(text)) => text::read(&zone, &text, octets_max)?,
        (sets, None) => sets.unwrap_or_default(),
    };
    let names = body.nameservers.take().flatten().unwrap_or_default();
    nameservers(&zone, &names, &mut sets).map_err(refused)?;
    if sets.count() > RRSETS_MAX || sets.octets() > octets_max {
        let words = "too many records for one request".to_owned();
        return Err(Refusal { status: 413, words, faults: Vec::new() });
    }
    Ok(Made { zone, fields, sets })
}

/// Name servers of which a client says the names alone, as an RRset.
fn nameservers(zone: &Name, names: &[Text<'_>], sets: &mut SetsBuf) -> Result<(), String> {
    if names.is_empty() {
        return Ok(());
    }
    let is_given = |set: crate::frame::Set<'_>| set.rtype == rtype::NS && set.owner.eq_ignore_case(zone);
    if sets.sets().iter().any(is_given) {
        return Err("`nameservers`: expected no NS records of the zone beside them".to_owned());
    }
    let mut written: Vec<NameBuf> = Vec::new();
    for Text(name) in names {
        let name = id::absolute(name.as_bytes());
        let name = name.ok_or("`nameservers`: expected absolute names, with a dot at their end")?;
        if !written.iter().any(|other| other.eq_ignore_case(&name)) {
            written.push(name);
        }
    }
    sets.begin(zone, rtype::NS, What::Replace, NAMESERVERS_TTL);
    written.iter().for_each(|name| {
        sets.record(name.octets());
    });
    sets.end();
    Ok(())
}
