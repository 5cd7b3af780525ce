//! Service parameters of SVCB and HTTPS (RFC 9460 2.1 and 2.2, appendix A).

use crate::error::{Cause, Fault};
use crate::fields::{Field, Fields};
use crate::octets::{Full, Octets};
use crate::text::{address, base64, number, string};

/// Keys by number (RFC 9460 14.3.2, RFC 9461, RFC 9540, and later registrations).
const KEYS: &[(u16, &str)] = &[
    (MANDATORY, "mandatory"),
    (ALPN, "alpn"),
    (NO_DEFAULT_ALPN, "no-default-alpn"),
    (PORT, "port"),
    (IPV4HINT, "ipv4hint"),
    (ECH, "ech"),
    (IPV6HINT, "ipv6hint"),
    (DOHPATH, "dohpath"),
    (OHTTP, "ohttp"),
    (TLS_SUPPORTED_GROUPS, "tls-supported-groups"),
    (DOCPATH, "docpath"),
];
const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4HINT: u16 = 4;
const ECH: u16 = 5;
const IPV6HINT: u16 = 6;
const DOHPATH: u16 = 7;
const OHTTP: u16 = 8;
const TLS_SUPPORTED_GROUPS: u16 = 9;
const DOCPATH: u16 = 10;
/// Never a valid key (RFC 9460 14.3.2).
const INVALID: u16 = 65535;

/// Most parameters of one record: each takes at least four octets of RDATA.
const PARAMS_MAX: usize = u16::MAX as usize / 4;

/// Reads the parameters to the end of the entry; on the wire they ascend by key.
pub(crate) fn parse(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let begin = out.len();
    let mut params: Vec<(u16, usize, usize, Field<'_>)> = Vec::new(); // key, extent in `out`
    while let Some(field) = fields.take_any() {
        let start = out.len();
        let key = parse_one(&field, out)?;
        if params.len() == PARAMS_MAX {
            return Err(field.fault(Cause::RdataTooLong));
        }
        params.push((key, start, out.len(), field));
    }
    if !params.is_sorted_by_key(|param| param.0) {
        let written = out.as_slice().to_vec();
        params.sort_unstable_by_key(|param| (param.0, param.1));
        out.truncate(begin);
        for (_, start, end, _) in &params {
            out.push(&written[*start..*end]).expect("as long as before");
        }
    }
    if let Some(pair) = params.array_windows().find(|[before, param]| before.0 == param.0) {
        return Err(pair[1].3.fault(Cause::Field("each parameter key only once")));
    }
    if is_valid(&out.as_slice()[begin..]) {
        return Ok(());
    }
    Err(Fault::saying(
        fields.end_at(),
        Cause::Field("mandatory keys that are present, and alpn beside no-default-alpn"),
        crate::error::Found::EndOfEntry,
    ))
}

/// Reads `key`, `key=value` or `key="value"`; returns the key.
fn parse_one(field: &Field<'_>, out: &mut Octets) -> Result<u16, Fault> {
    let full = |_| field.fault(Cause::RdataTooLong);
    let (name, value) = match field.text.iter().position(|&octet| octet == b'=') {
        Some(at) => (&field.text[..at], Some(&field.text[at + 1..])),
        None => (field.text, None),
    };
    let key = key_of(name).ok_or_else(|| field.fault(Cause::Field("a service parameter")))?;
    let value = match value {
        Some([b'"', quoted @ ..]) => Some(
            up_to_quote(quoted)
                .ok_or_else(|| field.fault(Cause::Field("a value that ends with its closing quote")))?,
        ),
        value => value,
    };
    out.push_u16(key).and_then(|()| out.push_u16(0)).map_err(full)?;
    let begin = out.len();
    parse_value(key, value, out).map_err(|problem| match problem {
        Problem::Full => field.fault(Cause::RdataTooLong),
        Problem::Expected(what) => field.fault(Cause::Field(what)),
    })?;
    let length = u16::try_from(out.len() - begin).map_err(|_| field.fault(Cause::RdataTooLong))?;
    out.as_mut_slice()[begin - 2..begin].copy_from_slice(&length.to_be_bytes());
    Ok(key)
}

/// What stands before the closing quote; `None` where more follows it.
fn up_to_quote(quoted: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    while let Some(&octet) = quoted.get(at) {
        match octet {
            b'"' => return (at + 1 == quoted.len()).then(|| &quoted[..at]),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

enum Problem {
    Full,
    Expected(&'static str),
}

impl From<Full> for Problem {
    fn from(_: Full) -> Problem {
        Problem::Full
    }
}

fn parse_value(key: u16, value: Option<&[u8]>, out: &mut Octets) -> Result<(), Problem> {
    let bad = |what| Problem::Expected(what);
    if matches!(key, NO_DEFAULT_ALPN | OHTTP) {
        return if value.is_none_or(<[u8]>::is_empty) { Ok(()) } else { Err(bad("a key without value")) };
    }
    let text = value.unwrap_or(b"");
    match key {
        MANDATORY => {
            let what = "keys with commas between, each once, `mandatory` not among them";
            let keys: Option<Vec<u16>> = split(text).map(key_of).collect();
            let mut keys = keys.ok_or(bad(what))?;
            keys.sort_unstable();
            for key in keys {
                out.push_u16(key)?;
            }
        }
        ALPN | DOCPATH => {
            let begin = out.len();
            unescape(text, out)?;
            let list = out.as_slice()[begin..].to_vec();
            out.truncate(begin);
            let what = "text pieces of 1 to 255 octets with commas between";
            if key == DOCPATH && list.is_empty() {
                return Ok(());
            }
            for piece in value_list(&list).ok_or(bad(what))? {
                let length = u8::try_from(piece.len()).ok().filter(|&length| length > 0).ok_or(bad(what))?;
                out.push_u8(length)?;
                out.push(&piece)?;
            }
        }
        PORT => out.push_u16(number::decimal(text, 65535).ok_or(bad("a port number"))? as u16)?,
        IPV4HINT => {
            for piece in split(text) {
                out.push(&address::ipv4(piece).ok_or(bad("IPv4 addresses with commas between"))?)?;
            }
        }
        IPV6HINT => {
            for piece in split(text) {
                out.push(&address::ipv6(piece).ok_or(bad("IPv6 addresses with commas between"))?)?;
            }
        }
        ECH => {
            let mut decoder = base64::Decoder::default();
            decoder.push(text, out).map_err(|error| match error {
                base64::Error::NotBase64 => bad("base64"),
                base64::Error::Full => Problem::Full,
            })?;
            if text.is_empty() || !decoder.is_whole() {
                return Err(bad("base64"));
            }
        }
        TLS_SUPPORTED_GROUPS => {
            for piece in split(text) {
                let what = "numbers of groups with commas between";
                out.push_u16(number::decimal(piece, 65535).ok_or(bad(what))? as u16)?;
            }
        }
        _ => {
            let begin = out.len();
            unescape(text, out)?;
            if key == DOHPATH && !is_dohpath(&out.as_slice()[begin..]) {
                return Err(bad("a relative URI template with the variable dns"));
            }
        }
    }
    Ok(())
}

fn unescape(text: &[u8], out: &mut Octets) -> Result<(), Problem> {
    string::unescape(text, out).map_err(|error| match error {
        string::Error::Escape => Problem::Expected("`\\` before an octet or three digits up to 255"),
        string::Error::Full => Problem::Full,
    })
}

fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&octet| octet == b',')
}

/// Splits a comma-separated list in which `\,` and `\\` stand for a comma and a backslash
/// (RFC 9460 A.1); the escapes of the zone file are already gone.
fn value_list(list: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut pieces = vec![Vec::new()];
    let mut octets = list.iter();
    while let Some(&octet) = octets.next() {
        match octet {
            b',' => pieces.push(Vec::new()),
            b'\\' => match octets.next() {
                Some(&escaped @ (b',' | b'\\')) => pieces.last_mut()?.push(escaped),
                _ => return None,
            },
            _ => pieces.last_mut()?.push(octet),
        }
    }
    Some(pieces)
}

/// A key by its name or as `keyNNNNN` without leading zeros; names are lower case (RFC 9460 2.1).
fn key_of(name: &[u8]) -> Option<u16> {
    if let Some(entry) = KEYS.iter().find(|entry| entry.1.as_bytes() == name) {
        return Some(entry.0);
    }
    let digits = name.strip_prefix(b"key")?;
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    number::decimal(digits, INVALID as u64 - 1).map(|key| key as u16)
}

/// Whether parameters in wire form are well-formed: keys ascend, each value has its key's form, mandatory
/// keys are there (RFC 9460 2.2, 7, 8). One pass: mandatory keys ascend as the parameters do, so both are walked
/// together.
pub(crate) fn is_valid(params: &[u8]) -> bool {
    let mut key_before = None;
    let mut mandatory: &[[u8; 2]] = &[];
    let mut at = 0;
    while at < params.len() {
        let Some((key, value)) = param(&params[at..]) else { return false };
        let ascends = key_before.is_none_or(|before| before < key);
        if !ascends || key == INVALID || !is_value(key, value) {
            return false;
        }
        if key == MANDATORY {
            mandatory = value.as_chunks().0;
        } else if let [first, rest @ ..] = mandatory
            && u16::from_be_bytes(*first) == key
        {
            mandatory = rest;
        }
        // No key stands between the two.
        if key == NO_DEFAULT_ALPN && key_before != Some(ALPN) {
            return false;
        }
        key_before = Some(key);
        at += 4 + value.len();
    }
    mandatory.is_empty()
}

/// The parameter at the start: its key and value.
fn param(params: &[u8]) -> Option<(u16, &[u8])> {
    let [key_upper, key_lower, length_upper, length_lower, rest @ ..] = params else { return None };
    let length = u16::from_be_bytes([*length_upper, *length_lower]) as usize;
    Some((u16::from_be_bytes([*key_upper, *key_lower]), rest.get(..length)?))
}

/// The parameters of a valid list.
pub(crate) fn iterate(mut params: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (key, value) = param(params)?;
        params = &params[4 + value.len()..];
        Some((key, value))
    })
}

fn is_value(key: u16, value: &[u8]) -> bool {
    let groups_of = |length: usize| !value.is_empty() && value.len().is_multiple_of(length);
    match key {
        MANDATORY => {
            let keys = || value.as_chunks::<2>().0.iter().map(|&octets| u16::from_be_bytes(octets));
            let ascends = keys().zip(keys().skip(1)).all(|(a, b)| a < b);
            groups_of(2) && ascends && keys().all(|key| key != MANDATORY)
        }
        ALPN => !value.is_empty() && pieces(value).is_some(),
        DOCPATH => pieces(value).is_some(),
        NO_DEFAULT_ALPN => value.is_empty(),
        PORT => value.len() == 2,
        IPV4HINT => groups_of(4),
        ECH => !value.is_empty(),
        IPV6HINT => groups_of(16),
        DOHPATH => is_dohpath(value),
        OHTTP => value.is_empty(),
        TLS_SUPPORTED_GROUPS => {
            let mut groups = value.as_chunks::<2>().0.to_vec();
            groups.sort_unstable();
            groups_of(2) && groups.array_windows().all(|[a, b]| a != b)
        }
        _ => true,
    }
}

/// A relative template that uses the variable `dns` (RFC 9461 5).
fn is_dohpath(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or("");
    let variables = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(inside, _)| inside);
    let names_dns = |inside: &str| {
        inside.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(',').any(|name| name == "dns")
    };
    text.starts_with('/') && variables.into_iter().any(names_dns)
}

/// The pieces of a value of length-prefixed pieces, none of them empty.
fn pieces(value: &[u8]) -> Option<Vec<&[u8]>> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let [length, after @ ..] = rest
        && *length > 0
    {
        let (piece, after) = after.split_at_checked(*length as usize)?;
        pieces.push(piece);
        rest = after;
    }
    rest.is_empty().then_some(pieces)
}

/// Appends valid parameters as text, each after a blank.
pub(crate) fn print(params: &[u8], out: &mut Vec<u8>) {
    for (key, value) in iterate(params) {
        out.push(b' ');
        print_key(key, out);
        if value.is_empty() {
            continue;
        }
        out.push(b'=');
        print_value(key, value, out);
    }
}

fn print_key(key: u16, out: &mut Vec<u8>) {
    match KEYS.iter().find(|entry| entry.0 == key) {
        Some(entry) => out.extend_from_slice(entry.1.as_bytes()),
        None => out.extend_from_slice(format!("key{key}").as_bytes()),
    }
}

fn print_value(key: u16, value: &[u8], out: &mut Vec<u8>) {
    let pair = |octets: &[u8; 2]| u16::from_be_bytes(*octets);
    match key {
        MANDATORY => join(value.as_chunks().0, out, |key, out| print_key(pair(key), out)),
        PORT | TLS_SUPPORTED_GROUPS => {
            join(value.as_chunks().0, out, |number, out| {
                out.extend_from_slice(pair(number).to_string().as_bytes())
            });
        }
        IPV4HINT => join(value.as_chunks::<4>().0, out, |octets, out| {
            out.extend_from_slice(std::net::Ipv4Addr::from(*octets).to_string().as_bytes());
        }),
        IPV6HINT => join(value.as_chunks::<16>().0, out, |octets, out| {
            out.extend_from_slice(std::net::Ipv6Addr::from(*octets).to_string().as_bytes());
        }),
        ECH => base64::encode(value, out),
        ALPN | DOCPATH => {
            let mut list = Vec::new();
            for piece in pieces(value).unwrap_or_default() {
                if !list.is_empty() {
                    list.push(b',');
                }
                for &octet in piece {
                    if matches!(octet, b',' | b'\\') {
                        list.push(b'\\');
                    }
                    list.push(octet);
                }
            }
            string::quote(&list, out);
        }
        _ => string::quote(value, out),
    }
}

fn join<T>(items: &[T], out: &mut Vec<u8>, print: impl Fn(&T, &mut Vec<u8>)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        print(item, out);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::records;
    use wire::Name;

    /// As many keys as RDATA has room for, in the worst order and all of them mandatory: no step may look at all
    /// others.
    #[test]
    fn many_keys() {
        let keys: Vec<String> = (100..10_900).rev().map(|key| format!("key{key}")).collect();
        let text = format!("a 1 SVCB 1 . {} mandatory={}\n", keys.join(" "), keys.join(","));
        assert_eq!(records(&text, Name::root()).unwrap()[0].rdata.len(), 3 + 4 + 6 * keys.len());
        let report = records("a 1 SVCB 1 . port=1 key9999 alpn=h2 port=2\n", Name::root()).unwrap_err();
        assert_eq!(report.to_string(), "text:1:37: expected each parameter key only once, found \"port=2\"");
    }

    #[test]
    fn keys_that_need_others() {
        let is_read = |params: &str| records(&format!("a 1 SVCB 1 . {params}\n"), Name::root()).is_ok();
        assert!(is_read("mandatory=port,alpn port=1 alpn=h2") && is_read("alpn=h2 no-default-alpn"));
        assert!(!is_read("mandatory=port,ech port=1") && !is_read("no-default-alpn port=1"));
        assert!(!is_read("mandatory=mandatory") && !is_read("mandatory=port,port port=1"));
        assert!(is_read("tls-supported-groups=2,1") && !is_read("tls-supported-groups=1,2,1"));
    }
}
