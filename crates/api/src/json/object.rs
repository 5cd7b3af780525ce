//! Objects of JSON, field by field: each once, as its type, without a tree in between.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use wire::Name;
use wire::iana::rtype;

use super::content::Reader;
use super::{FAULTS_MAX, Refusal};
use crate::path::id;

/// Objects and lists within each other: no body of a client has five.
pub(super) const DEPTH_MAX: usize = 8;

/// A text of a client, borrowed from the body where it has no escapes.
#[derive(Deserialize)]
pub(super) struct Text<'d>(#[serde(borrow)] pub(super) Cow<'d, str>);

/// A field: whether it was given, and whether as something else than `null`, which is *not given*.
pub(super) type Field<T> = Option<Option<T>>;

/// The reading of a body: where it is, and what is wrong with it.
pub(super) struct Reading {
    /// Whether fields that nobody knows are wrong.
    pub(super) is_strict: bool,
    /// Octets of RDATA and what is around them that all RRsets may have.
    pub(super) octets_max: usize,
    /// Reads contents.
    pub(super) contents: Reader,
    /// The zone and the RRset that is read, from 0 on.
    zone: Option<usize>,
    set: Option<usize>,
    /// The field that was begun last.
    field: &'static str,
    /// Why reading ends.
    stop: Option<(u16, Cow<'static, str>)>,
    faults: Vec<String>,
}

impl Reading {
    pub(super) fn new(is_strict: bool, octets_max: usize) -> Reading {
        let contents = Reader::new();
        let (zone, set, stop) = (None, None, None);
        Reading { is_strict, octets_max, contents, zone, set, field: "", stop, faults: Vec::new() }
    }

    /// Goes on with the RRset of this number, or with what is around them.
    pub(super) fn enter_set(&mut self, number: Option<usize>) {
        (self.set, self.field) = (number, "");
    }

    /// Goes on with the zone of this number, or with what is around them.
    pub(super) fn enter_zone(&mut self, number: Option<usize>) {
        (self.zone, self.field) = (number, "");
    }

    /// Ends the reading.
    pub(super) fn stop<E: Error>(&mut self, status: u16, words: impl Into<Cow<'static, str>>) -> E {
        self.stop.get_or_insert((status, words.into()));
        E::custom("")
    }

    /// Notes what is wrong with the RRset that is read; the others are looked at too.
    pub(super) fn fault(&mut self, name: Option<&Name>, rtype: Option<u16>, why: impl fmt::Display) {
        if self.faults.len() == FAULTS_MAX {
            return;
        }
        let set = match (name, rtype) {
            (Some(name), Some(rtype)) => {
                let mut text = Vec::new();
                id::put_name(name, &mut text);
                format!("{} {}", String::from_utf8_lossy(&text), rtype::Text(rtype))
            }
            _ => self.place(),
        };
        self.faults.push(format!("{set}: {why}"));
    }

    fn place(&self) -> String {
        let number = |what: &str, at: Option<usize>| at.map(|at| format!("{what}[{at}]"));
        let parts = [number("zones", self.zone), number("rrsets", self.set)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    }

    /// Reads all of a body by `read`, and says what is wrong with it.
    pub(super) fn read(
        mut self,
        body: &[u8],
        read: impl FnOnce(&mut Reading) -> Result<(), serde_json::Error>,
    ) -> Result<(), Refusal> {
        let refusal = |status, words: String, faults| Err(Refusal { status, words, faults });
        if depth(body) > DEPTH_MAX {
            return refusal(
                400,
                format!("no more than {DEPTH_MAX} objects and lists within each other"),
                Vec::new(),
            );
        }
        let result = read(&mut self);
        match (result, self.stop.take()) {
            (Ok(()), _) if self.faults.is_empty() => Ok(()),
            (Ok(()), _) => refusal(422, "some RRsets are none".to_owned(), self.faults),
            (Err(_), Some((status, words))) => {
                let place = self.place();
                let words = if place.is_empty() { words.into_owned() } else { format!("{place}: {words}") };
                refusal(status, words, self.faults)
            }
            (Err(error), None) if error.is_data() => {
                let place = self.place();
                let dot = if place.is_empty() || self.field.is_empty() { "" } else { "." };
                let what = if place.is_empty() && self.field.is_empty() { "the body" } else { "" };
                refusal(422, format!("{what}{place}{dot}{} is not of its type", self.field), Vec::new())
            }
            (Err(error), None) => {
                let (line, column) = (error.line(), error.column());
                refusal(400, format!("no JSON from line {line}, column {column} on"), Vec::new())
            }
        }
    }
}

/// Objects and lists within each other, at their deepest. Of what is no JSON it is some number.
fn depth(body: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for octet in body {
        match octet {
            _ if is_escaped => {}
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_escaped = is_text && *octet == b'\\' && !is_escaped;
    }
    deepest
}

/// What is read of an object.
pub(super) trait Object<'d> {
    /// Reads the value of the field of this name; `false`: there is no such field, and nothing was read.
    fn field<A: MapAccess<'d>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;

    /// The reading that it is part of.
    fn reading(&mut self) -> &mut Reading;
}

/// Reads the value of a field, which is given once.
pub(super) fn once<'d, T: Deserialize<'d>, A: MapAccess<'d>>(
    field: &mut Field<T>,
    name: &'static str,
    reading: &mut Reading,
    map: &mut A,
) -> Result<bool, A::Error> {
    begin::<T, A::Error>(field, name, reading)?;
    *field = Some(map.next_value()?);
    reading.field = "";
    Ok(true)
}

/// Notes which field is read; an error if it was there before.
pub(super) fn begin<T, E: Error>(
    field: &Field<T>,
    name: &'static str,
    reading: &mut Reading,
) -> Result<(), E> {
    if field.is_some() {
        return Err(reading.stop(422, format!("`{name}` is given twice")));
    }
    reading.field = name;
    Ok(())
}

/// Reads an object.
pub(super) struct AsObject<'o, O>(pub(super) &'o mut O);

impl<'d, O: Object<'d>> DeserializeSeed<'d> for AsObject<'_, O> {
    type Value = ();

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'d, O: Object<'d>> Visitor<'d> for AsObject<'_, O> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            if self.0.field(&name, &mut map)? {
                continue;
            }
            if self.0.reading().is_strict {
                return Err(self.0.reading().stop(422, "a field that is not known here"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Reads a list, item by item: `item` reads one, with its number, or says that there is none. `null` is a list that is not given: `false`.
pub(super) struct AsList<'d, F>(F, PhantomData<&'d ()>);

impl<F> AsList<'_, F> {
    pub(super) fn new(item: F) -> Self {
        AsList(item, PhantomData)
    }
}

/// What reads an item of a list.
pub(super) trait ReadItem<'d> {
    /// Reads the next item; `false`: the list ended.
    fn next<A: SeqAccess<'d>>(&mut self, number: usize, list: &mut A) -> Result<bool, A::Error>;
}

impl<'d, F: ReadItem<'d>> DeserializeSeed<'d> for AsList<'d, F> {
    type Value = Option<()>;

    fn deserialize<D: Deserializer<'d>>(self, deserializer: D) -> Result<Option<()>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'d, F: ReadItem<'d>> Visitor<'d> for AsList<'d, F> {
    type Value = Option<()>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<()>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'d>>(mut self, mut list: A) -> Result<Option<()>, A::Error> {
        let mut number = 0;
        while self.0.next(number, &mut list)? {
            number += 1;
        }
        Ok(Some(()))
    }
}

/// A value of which it is only known whether it says anything: `null`, `""`, `[]`, `{}`, `false` and 0 do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SaysNothing(pub(super) bool);

impl<'d> Deserialize<'d> for SaysNothing {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<SaysNothing, D::Error> {
        deserializer.deserialize_any(SaysNothing(true))
    }
}

impl<'d> Visitor<'d> for SaysNothing {
    type Value = SaysNothing;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: Error>(self) -> Result<SaysNothing, E> {
        Ok(SaysNothing(true))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<SaysNothing, E> {
        Ok(SaysNothing(!value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<SaysNothing, E> {
        Ok(SaysNothing(value == 0))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<SaysNothing, E> {
        Ok(SaysNothing(false))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<SaysNothing, E> {
        Ok(SaysNothing(false))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<SaysNothing, E> {
        Ok(SaysNothing(value.is_empty()))
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut list: A) -> Result<SaysNothing, A::Error> {
        let mut says_nothing = true;
        while list.next_element::<IgnoredAny>()?.is_some() {
            says_nothing = false;
        }
        Ok(SaysNothing(says_nothing))
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<SaysNothing, A::Error> {
        let mut says_nothing = true;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            says_nothing = false;
        }
        Ok(SaysNothing(says_nothing))
    }
}
