//! Locations (RFC 1876): latitude, longitude, altitude, size and two precisions.

use super::check::Fault as Malformed;
use crate::error::{Cause, Fault};
use crate::fields::Fields;
use crate::octets::{Full, Octets};
use crate::text::number::decimal;

/// The equator and the prime meridian, in thousandths of a second of arc.
const MIDDLE: u32 = 1 << 31;
/// Centimetres of the reference altitude, 100 km below the spheroid.
const ALTITUDE_BASE: i64 = 10_000_000;
/// Size 1 m, horizontal precision 10 km, vertical precision 10 m (RFC 1876 3).
const DEFAULTS: [u8; 3] = [0x12, 0x16, 0x13];
const OCTETS: usize = 16;

/// Reads `d1 [m1 [s1]] N|S d2 [m2 [s2]] E|W alt[m] [siz[m] [hp[m] [vp[m]]]]`.
pub(crate) fn parse(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let latitude = angle(fields, 90, b'N', b'S')?;
    let longitude = angle(fields, 180, b'E', b'W')?;
    let field = fields.take("an altitude in metres")?;
    let bad_altitude = || field.fault(Cause::Field("an altitude from -100000.00 to 42849672.95 metres"));
    let altitude = centimetres(field.text).map(|value| value + ALTITUDE_BASE).ok_or_else(bad_altitude)?;
    let altitude = u32::try_from(altitude).map_err(|_| bad_altitude())?;
    let mut sizes = DEFAULTS;
    for size in &mut sizes {
        let Some(field) = fields.take_any() else { break };
        let value = centimetres(field.text).and_then(|value| u64::try_from(value).ok()).and_then(scaled);
        *size = value.ok_or_else(|| field.fault(Cause::Field("a length from 0 to 90000000.00 metres")))?;
    }
    let [size, horizontal, vertical] = sizes;
    let mut push = || -> Result<(), Full> {
        out.push(&[0, size, horizontal, vertical])?;
        out.push_u32(latitude)?;
        out.push_u32(longitude)?;
        out.push_u32(altitude)
    };
    push().map_err(|Full| Fault::at(fields.end_at(), fields.end_at(), Cause::RdataTooLong))
}

/// Degrees, minutes, seconds up to the letter of a hemisphere.
fn angle(fields: &mut Fields<'_>, degrees_max: u64, positive: u8, negative: u8) -> Result<u32, Fault> {
    let what = if degrees_max == 90 {
        "a latitude, as in 52 22 23.000 N"
    } else {
        "a longitude, as in 4 53 32.000 E"
    };
    let mut thousandths = 0;
    let units = [(degrees_max, 3_600_000), (59, 60_000), (59, 1_000)];
    for place in 0..=units.len() {
        let field = fields.take(what)?;
        let bad = || field.fault(Cause::Field(what));
        if place > 0
            && let [letter] = field.text
        {
            let north_or_east = letter.eq_ignore_ascii_case(&positive);
            if north_or_east || letter.eq_ignore_ascii_case(&negative) {
                if thousandths > degrees_max * 3_600_000 {
                    return Err(bad());
                }
                let offset = thousandths as u32;
                return Ok(if north_or_east { MIDDLE + offset } else { MIDDLE - offset });
            }
        }
        let Some(&(max, unit)) = units.get(place) else { return Err(bad()) };
        thousandths += if place == 2 {
            fixed_point(field.text, 3).filter(|&value| value < 60_000).ok_or_else(bad)?
        } else {
            decimal(field.text, max).ok_or_else(bad)? * unit
        };
    }
    Err(fields.missing(what))
}

/// A number with at most `places` decimals, in units of the last.
fn fixed_point(text: &[u8], places: usize) -> Option<u64> {
    let point = text.iter().position(|&octet| octet == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or(b""));
    if fraction.len() > places || (fraction.is_empty() && point < text.len()) {
        return None;
    }
    let whole = decimal(whole, 1 << 40)?;
    let padded = fraction.iter().chain(std::iter::repeat(&b'0')).take(places);
    padded
        .into_iter()
        .try_fold(whole, |value, digit| digit.is_ascii_digit().then(|| value * 10 + (digit - b'0') as u64))
}

/// Metres with at most two decimals, an optional sign before and an optional `m` after, in centimetres.
fn centimetres(text: &[u8]) -> Option<i64> {
    let text = text.strip_suffix(b"m").or(text.strip_suffix(b"M")).unwrap_or(text);
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    Some(sign * i64::try_from(fixed_point(text, 2)?).ok()?)
}

/// The largest size or precision: nine and nine zeros (RFC 1876 2), 90,000 km.
const SIZE_CENTIMETRES_MAX: u64 = 9_000_000_000;

/// A digit and a power of ten, in half an octet each; digits beyond the first are dropped.
fn scaled(mut centimetres: u64) -> Option<u8> {
    if centimetres > SIZE_CENTIMETRES_MAX {
        return None;
    }
    let mut exponent = 0;
    while centimetres > 9 {
        centimetres /= 10;
        exponent += 1;
    }
    Some((centimetres as u8) << 4 | exponent)
}

fn word(field: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([field[at], field[at + 1], field[at + 2], field[at + 3]])
}

/// Checks a location in wire form; only version 0 is known.
pub(crate) fn check(field: &[u8]) -> Result<usize, Malformed> {
    if field.len() < OCTETS {
        return Err(Malformed::Truncated);
    }
    let is_size = |octet: u8| octet >> 4 <= 9 && octet & 15 <= 9 && (octet >> 4 > 0 || octet == 0);
    let in_range = |at, degrees: u32| word(field, at).abs_diff(MIDDLE) <= degrees * 3_600_000;
    let valid = field[0] == 0
        && field[1..4].iter().all(|&octet| is_size(octet))
        && in_range(4, 90)
        && in_range(8, 180);
    if valid { Ok(OCTETS) } else { Err(Malformed::Location) }
}

/// Appends a valid location as text.
pub(crate) fn print(field: &[u8], out: &mut Vec<u8>) {
    let angle = |value: u32, positive, negative| {
        let offset = value.abs_diff(MIDDLE);
        let (degrees, minutes, rest) = (offset / 3_600_000, offset / 60_000 % 60, offset % 60_000);
        let letter = if value >= MIDDLE { positive } else { negative };
        format!("{degrees} {minutes} {}.{:03} {letter}", rest / 1000, rest % 1000)
    };
    let metres = |value: i64| {
        let sign = if value < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}m", value.abs() / 100, value.abs() % 100)
    };
    let size = |octet: u8| metres((octet >> 4) as i64 * 10i64.pow((octet & 15) as u32));
    let text = format!(
        "{} {} {} {} {} {}",
        angle(word(field, 4), 'N', 'S'),
        angle(word(field, 8), 'E', 'W'),
        metres(word(field, 12) as i64 - ALTITUDE_BASE),
        size(field[1]),
        size(field[2]),
        size(field[3]),
    );
    out.extend_from_slice(text.as_bytes());
}
