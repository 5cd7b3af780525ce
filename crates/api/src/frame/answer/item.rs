//! Items of answers, to the octet, as the table of [`super`] has them.

use wire::Name;

use super::super::ask::{ACCOUNT_OCTETS_MAX, put_tag, tag};
use super::super::octets::{Item, Rest, put_short_text, put_text};
use super::super::set::Set;
use super::{
    Detail, Fault, Number, Outcome, Row, RowKind, Rule, Standing, Stands, Verbs, Verdict, Version,
    WORDS_OCTETS_MAX,
};

/// Octets of a name of a number, and of its label.
const NUMBER_OCTETS_MAX: usize = u8::MAX as usize;

impl<'a> Item<'a> for Verbs {
    fn split_from(octets: &'a [u8]) -> Option<(Verbs, &'a [u8])> {
        let mut rest = Rest(octets);
        Some((Verbs(rest.u16()?), rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }
}

/// Bits of a row.
const SIGNED: u8 = 1;
const RECTIFY: u8 = 1 << 1;
const TAGGED: u8 = 1 << 2;
/// Of how it stands, above these.
const STANDS: u8 = 3;

impl<'a> Item<'a> for Row<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Row<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (name, serial, notified) = (rest.name()?, rest.u32()?, rest.u32()?);
        let kinds = [RowKind::Native, RowKind::Master, RowKind::Slave];
        let kind = *kinds.get(usize::from(rest.u8()?))?;
        let bits = rest.u8()?;
        let stands = *Stands::ALL.get(usize::from(bits >> STANDS))?;
        let row = Row {
            name,
            serial,
            notified,
            kind,
            stands,
            is_signed: bits & SIGNED != 0,
            api_rectify: bits & RECTIFY != 0,
            account: rest.short_text(ACCOUNT_OCTETS_MAX)?,
            soa_edit_api: rest.short_text(ACCOUNT_OCTETS_MAX)?,
            soa_edit: rest.short_text(ACCOUNT_OCTETS_MAX)?,
            tag: if bits & TAGGED != 0 { Some(tag(&mut rest)?) } else { None },
        };
        Some((row, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.name.write(out);
        out.extend_from_slice(&self.serial.to_be_bytes());
        out.extend_from_slice(&self.notified.to_be_bytes());
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let bits =
            bit(self.is_signed, SIGNED) | bit(self.api_rectify, RECTIFY) | bit(self.tag.is_some(), TAGGED);
        out.extend_from_slice(&[self.kind as u8, bits | (self.stands as u8) << STANDS]);
        for text in [self.account, self.soa_edit_api, self.soa_edit] {
            put_short_text(out, text, ACCOUNT_OCTETS_MAX);
        }
        self.tag.iter().for_each(|tag| put_tag(out, *tag));
    }
}

impl<'a> Item<'a> for Detail<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Detail<'a>, &'a [u8])> {
        let (zone, rest) = Name::split_from(octets).ok()?;
        let (set, rest) = Set::split_from(rest)?;
        Some((Detail { zone, set }, rest))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.zone.write(out);
        self.set.write(out);
    }
}

impl<'a> Item<'a> for Number<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Number<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (name, label) = (rest.short_text(NUMBER_OCTETS_MAX)?, rest.short_text(NUMBER_OCTETS_MAX)?);
        Some((Number { name, label, value: rest.u64()? }, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_short_text(out, self.name, NUMBER_OCTETS_MAX);
        put_short_text(out, self.label, NUMBER_OCTETS_MAX);
        out.extend_from_slice(&self.value.to_be_bytes());
    }
}

impl<'a> Item<'a> for Version {
    fn split_from(octets: &'a [u8]) -> Option<(Version, &'a [u8])> {
        let mut rest = Rest(octets);
        let (before, after) = (rest.u32()?, rest.u32()?);
        Some((Version { before, after, seconds: rest.u64()?, octets: rest.u64()? }, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before.to_be_bytes());
        out.extend_from_slice(&self.after.to_be_bytes());
        out.extend_from_slice(&self.seconds.to_be_bytes());
        out.extend_from_slice(&self.octets.to_be_bytes());
    }
}

/// Bits of an outcome.
const DONE: u8 = 1;
const WITH_TAG: u8 = 1 << 1;

impl<'a> Item<'a> for Outcome<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Outcome<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (zone, bits) = (rest.name()?, rest.u8().filter(|bits| bits & !(DONE | WITH_TAG) == 0)?);
        let outcome = Outcome {
            zone,
            is_done: bits & DONE != 0,
            status: rest.u16().filter(|status| (200..600).contains(status))?,
            before: rest.u32()?,
            after: rest.u32()?,
            tag: if bits & WITH_TAG != 0 { Some(tag(&mut rest)?) } else { None },
            words: rest.text(WORDS_OCTETS_MAX)?,
        };
        Some((outcome, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.zone.write(out);
        out.push(u8::from(self.is_done) | u8::from(self.tag.is_some()) << 1);
        out.extend_from_slice(&self.status.to_be_bytes());
        out.extend_from_slice(&self.before.to_be_bytes());
        out.extend_from_slice(&self.after.to_be_bytes());
        self.tag.iter().for_each(|tag| put_tag(out, *tag));
        put_text(out, self.words, WORDS_OCTETS_MAX);
    }
}

impl<'a> Item<'a> for Fault<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Fault<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let fault = Fault { zone: rest.u16()?, set: rest.u32()?, words: rest.text(WORDS_OCTETS_MAX)? };
        Some((fault, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.zone.to_be_bytes());
        out.extend_from_slice(&self.set.to_be_bytes());
        put_text(out, self.words, WORDS_OCTETS_MAX);
    }
}

impl<'a> Item<'a> for Standing<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Standing<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (zone, status) = (rest.name()?, rest.u16().filter(|status| (200..600).contains(status))?);
        Some((Standing { zone, status, words: rest.text(WORDS_OCTETS_MAX)? }, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.zone.write(out);
        out.extend_from_slice(&self.status.to_be_bytes());
        put_text(out, self.words, WORDS_OCTETS_MAX);
    }
}

/// All of these, in the order of their octets.
const VERDICTS: [Verdict; 5] =
    [Verdict::Grants, Verdict::Denies, Verdict::OtherSenders, Verdict::OtherNames, Verdict::OtherTypes];

impl<'a> Item<'a> for Rule<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Rule<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (zone, set) = (rest.u16()?, rest.u32()?);
        let (is_granted, is_of_zone, rule) = (rest.flag()?, rest.flag()?, rest.u16()?);
        let verdict = *VERDICTS.get(usize::from(rest.u8()?))?;
        let words = rest.text(WORDS_OCTETS_MAX)?;
        Some((Rule { zone, set, is_granted, is_of_zone, rule, verdict, words }, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.zone.to_be_bytes());
        out.extend_from_slice(&self.set.to_be_bytes());
        out.extend_from_slice(&[u8::from(self.is_granted), u8::from(self.is_of_zone)]);
        out.extend_from_slice(&self.rule.to_be_bytes());
        out.push(self.verdict as u8);
        put_text(out, self.words, WORDS_OCTETS_MAX);
    }
}
