//! Parts of asks, to the octet, as the drawing of [`super`] has them.

use super::super::octets::{Item, Rest, Run, put_any, put_short_text};
use super::{
    ACCOUNT_OCTETS_MAX, Fields, Kind, Part, REPEAT_OCTETS_MAX, RRSETS_MAX, View, ZONES_MAX, Zone, Zones,
};
use crate::tag::{Condition, Tag, Tags};

impl<'a> Item<'a> for Zone<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Zone<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (name, condition) = (rest.name()?, condition(&mut rest)?);
        let length = rest.u32()? as usize;
        let sets = Run::of(rest.take(length)?, RRSETS_MAX)?;
        Some((Zone { name, condition, sets }, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.name.write(out);
        put_condition(out, &self.condition);
        out.extend_from_slice(&(self.sets.octets().len() as u32).to_be_bytes());
        out.extend_from_slice(self.sets.octets());
    }
}

/// All that is left, if it has no more zones and RRsets than a commit may have.
pub(super) fn zones<'a>(rest: &mut Rest<'a>) -> Option<Zones<'a>> {
    let zones: Zones<'a> = Run::of(std::mem::take(&mut rest.0), ZONES_MAX)?;
    let sets = zones.iter().flat_map(|zone| zone.sets.iter()).take(RRSETS_MAX + 1).count();
    (sets <= RRSETS_MAX).then_some(zones)
}

/// One of the values that an octet stands for.
pub(super) fn one_of<T: Copy, const N: usize>(rest: &mut Rest<'_>, values: [T; N]) -> Option<T> {
    values.get(usize::from(rest.u8()?)).copied()
}

pub(super) fn part<'a>(rest: &mut Rest<'a>) -> Option<Part<'a>> {
    Some(match rest.u8()? {
        0 => Part::All,
        1 => Part::Row,
        2 => Part::Owner(rest.name()?, rest.any(Rest::u16)?),
        3 => Part::Page(rest.any(Rest::name)?, rest.u32()?),
        _ => return None,
    })
}

pub(super) fn put_part(out: &mut Vec<u8>, part: &Part<'_>) {
    match part {
        Part::All => out.push(0),
        Part::Row => out.push(1),
        Part::Owner(owner, rtype) => {
            out.push(2);
            owner.write(out);
            put_any(out, *rtype, |out, rtype| out.extend_from_slice(&rtype.to_be_bytes()));
        }
        Part::Page(after, limit) => {
            out.push(3);
            put_any(out, *after, |out, after| after.write(out));
            out.extend_from_slice(&limit.to_be_bytes());
        }
    }
}

pub(super) fn view<'a>(rest: &mut Rest<'a>) -> Option<View<'a>> {
    Some(match rest.u8()? {
        0 => View::Now { said: rest.u64()? },
        1 => View::Hour,
        2 => View::Asked,
        3 => View::Locks,
        4 => View::Journals,
        5 => View::Resolver(rest.any(Rest::name)?),
        6 => View::Zone(rest.name()?),
        7 => View::Why {
            name: rest.name()?,
            rtype: rest.u16()?,
            is_tcp: rest.flag()?,
            dnssec_ok: rest.flag()?,
        },
        _ => return None,
    })
}

pub(super) fn put_view(out: &mut Vec<u8>, view: &View<'_>) {
    match view {
        View::Now { said } => {
            out.push(0);
            out.extend_from_slice(&said.to_be_bytes());
        }
        View::Hour => out.push(1),
        View::Asked => out.push(2),
        View::Locks => out.push(3),
        View::Journals => out.push(4),
        View::Resolver(name) => {
            out.push(5);
            put_any(out, *name, |out, name| name.write(out));
        }
        View::Zone(zone) => {
            out.push(6);
            zone.write(out);
        }
        View::Why { name, rtype, is_tcp, dnssec_ok } => {
            out.push(7);
            name.write(out);
            out.extend_from_slice(&rtype.to_be_bytes());
            out.extend_from_slice(&[u8::from(*is_tcp), u8::from(*dnssec_ok)]);
        }
    }
}

/// Whether a text may be a key of repeats: 1 to [`REPEAT_OCTETS_MAX`] visible characters.
#[must_use]
pub fn is_repeat(text: &str) -> bool {
    let is_visible = text.bytes().all(|octet| octet.is_ascii_graphic());
    is_visible && (1..=REPEAT_OCTETS_MAX).contains(&text.len())
}

/// A key of repeats; without octets: none.
pub(super) fn repeat<'a>(rest: &mut Rest<'a>) -> Option<Option<&'a str>> {
    match rest.short_text(REPEAT_OCTETS_MAX)? {
        "" => Some(None),
        text => is_repeat(text).then_some(Some(text)),
    }
}

pub(super) fn put_repeat(out: &mut Vec<u8>, repeat: Option<&str>) {
    put_short_text(out, repeat.unwrap_or_default(), REPEAT_OCTETS_MAX);
}

pub(super) fn condition(rest: &mut Rest<'_>) -> Option<Condition> {
    match rest.u8()? {
        0 => Some(Condition::None),
        1 => Some(Condition::Any),
        2 => {
            let mut tags = Tags::default();
            for _ in 0..rest.u8()? {
                if !tags.push(tag(rest)?) {
                    return None;
                }
            }
            Some(Condition::OneOf(tags))
        }
        _ => None,
    }
}

pub(super) fn put_condition(out: &mut Vec<u8>, condition: &Condition) {
    match condition {
        Condition::None => out.push(0),
        Condition::Any => out.push(1),
        Condition::OneOf(tags) => {
            out.extend_from_slice(&[2, tags.as_slice().len() as u8]);
            tags.as_slice().iter().for_each(|tag| put_tag(out, *tag));
        }
    }
}

pub(in super::super) fn tag(rest: &mut Rest<'_>) -> Option<Tag> {
    Some(Tag { serial: rest.u32()?, mark: rest.u64()? })
}

pub(in super::super) fn put_tag(out: &mut Vec<u8>, tag: Tag) {
    out.extend_from_slice(&tag.serial.to_be_bytes());
    out.extend_from_slice(&tag.mark.to_be_bytes());
}

/// Fields that are there, in their order; a bit each.
const FIELDS: u8 = 6;

pub(super) fn fields<'a>(rest: &mut Rest<'a>) -> Option<Fields<'a>> {
    let bits = rest.u8().filter(|bits| bits >> FIELDS == 0)?;
    let has = |field: u8| bits >> field & 1 != 0;
    let mut text =
        |field| if has(field) { rest.short_text(ACCOUNT_OCTETS_MAX).map(Some) } else { Some(None) };
    let (soa_edit_api, soa_edit, account) = (text(1)?, text(2)?, text(3)?);
    let mut fields = Fields { soa_edit_api, soa_edit, account, ..Fields::default() };
    if has(0) {
        fields.kind = Some(one_of(rest, [Kind::Native, Kind::Master])?);
    }
    if has(4) {
        fields.api_rectify = Some(rest.flag()?);
    }
    if has(5) {
        fields.serial = Some(rest.u32()?);
    }
    Some(fields)
}

pub(super) fn put_fields(out: &mut Vec<u8>, fields: &Fields<'_>) {
    let texts = [fields.soa_edit_api, fields.soa_edit, fields.account];
    let there = [
        fields.kind.is_some(),
        texts[0].is_some(),
        texts[1].is_some(),
        texts[2].is_some(),
        fields.api_rectify.is_some(),
        fields.serial.is_some(),
    ];
    out.push(there.iter().rev().fold(0, |bits, is_there| bits << 1 | u8::from(*is_there)));
    texts.iter().flatten().for_each(|text| put_short_text(out, text, ACCOUNT_OCTETS_MAX));
    out.extend(fields.kind.map(|kind| kind as u8));
    out.extend(fields.api_rectify.map(u8::from));
    fields.serial.iter().for_each(|serial| out.extend_from_slice(&serial.to_be_bytes()));
}
