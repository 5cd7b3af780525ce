//! TSIG keys as text: `key` statements of settings files, and `NAME:ALGORITHM:BASE64`.

use wire::NameBuf;
use wire::tsig::{Algorithm, Key};

use crate::{Error, error, error::KeyProblem};

/// Most octets of a key file: a key has some hundreds.
const FILE_OCTETS_MAX: u64 = 65_536;

/// The key of an option's value: a file with a key in one of the two forms, or `NAME:ALGORITHM:BASE64` itself.
pub fn key_of_option(option: &'static str, value: &str) -> Result<Key, Error> {
    let path = std::path::Path::new(value);
    if value.split(':').count() == 3 && !path.exists() {
        return key(value).map_err(|problem| Error::Key { place: option.to_owned(), problem });
    }
    let mut text = String::new();
    let mut file = std::fs::File::open(path).map_err(error::file(path, "open"))?;
    std::io::Read::read_to_string(&mut std::io::Read::take(&mut file, FILE_OCTETS_MAX), &mut text)
        .map_err(error::file(path, "read"))?;
    key(&text).map_err(|problem| Error::Key { place: value.to_owned(), problem })
}

/// The key of `key "NAME" { algorithm ALGORITHM; secret "BASE64"; };` as `tsig-keygen` writes it, or of
/// `NAME:ALGORITHM:BASE64`. What follows the first key is ignored.
pub fn key(text: &str) -> Result<Key, KeyProblem> {
    let [name, algorithm, secret] = parts(text)?;
    let algorithm = Algorithm::from_text(&algorithm).ok_or(KeyProblem::Algorithm)?;
    let secret = base64(&secret).filter(|secret| !secret.is_empty()).ok_or(KeyProblem::Secret)?;
    let name = NameBuf::from_text(&name).map_err(KeyProblem::Name)?;
    Ok(Key::new(&name, algorithm, &secret))
}

/// Name, algorithm and secret of the first key of a text in one of the two forms.
fn parts(text: &str) -> Result<[String; 3], KeyProblem> {
    let tokens = tokens(text);
    let mut words = tokens.iter().map(String::as_str);
    match words.next().ok_or(KeyProblem::Form)? {
        "key" => statement(&mut words),
        word => {
            let parts: Vec<_> = word.split(':').map(str::to_owned).collect();
            parts.try_into().map_err(|_| KeyProblem::Form)
        }
    }
}

/// Name, algorithm and secret of a `key` statement, after the word itself.
fn statement<'t>(words: &mut impl Iterator<Item = &'t str>) -> Result<[String; 3], KeyProblem> {
    let name = words.next().ok_or(KeyProblem::Form)?.to_owned();
    if words.next() != Some("{") {
        return Err(KeyProblem::Form);
    }
    let (mut algorithm, mut secret) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "algorithm" => algorithm = words.next().map(str::to_owned),
            "secret" => secret = words.next().map(str::to_owned),
            "}" => break,
            ";" => {}
            _ => return Err(KeyProblem::Form),
        }
    }
    match (algorithm, secret) {
        (Some(algorithm), Some(secret)) => Ok([name, algorithm, secret]),
        _ => Err(KeyProblem::Form),
    }
}

/// Words of a settings file: braces and semicolons stand alone, quotes hold a word together, comments (`#`, `//`,
/// `/* */`) are left away.
fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut word, mut rest) = (Vec::new(), String::new(), text);
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let skipped = match first {
            '#' => after.find('\n').map_or("", |end| &after[end..]),
            '/' if word.is_empty() && after.starts_with('/') => {
                after.find('\n').map_or("", |end| &after[end..])
            }
            '/' if word.is_empty() && after.starts_with('*') => {
                after.find("*/").map_or("", |end| &after[end + 2..])
            }
            '"' => {
                let end = after.find('"').unwrap_or(after.len());
                word.push_str(&after[..end]);
                after.get(end + 1..).unwrap_or("")
            }
            '{' | '}' | ';' => {
                end_word(&mut tokens, &mut word);
                tokens.push(first.to_string());
                rest = after;
                continue;
            }
            _ if first.is_whitespace() => after,
            _ => {
                word.push(first);
                rest = after;
                continue;
            }
        };
        end_word(&mut tokens, &mut word);
        rest = skipped;
    }
    end_word(&mut tokens, &mut word);
    tokens
}

fn end_word(tokens: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        tokens.push(std::mem::take(word));
    }
}

/// Octets of base64 (RFC 4648 4), white space ignored; `None` where it is none.
fn base64(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text.bytes().filter(|octet| !octet.is_ascii_whitespace()).collect();
    let padding = symbols.iter().rev().take_while(|&&symbol| symbol == b'=').count();
    if !symbols.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let value = |symbol: &u8| match symbol {
        b'A'..=b'Z' => Some(symbol - b'A'),
        b'a'..=b'z' => Some(symbol - b'a' + 26),
        b'0'..=b'9' => Some(symbol - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut octets = Vec::new();
    for group in symbols[..symbols.len() - padding].chunks(4) {
        let mut bits = 0u32;
        for symbol in group {
            bits = bits << 6 | u32::from(value(symbol)?);
        }
        bits <<= 6 * (4 - group.len());
        octets.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(octets)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    /// What a key makes of an empty update.
    fn signed(key: &Key) -> Vec<u8> {
        let mut message = b"\0\x07\x28\0\0\0\0\0\0\0\0\0".to_vec();
        message.resize(12 + key.octets(), 0);
        let (octets, _) = key.sign(&mut message, 12, 1_700_000_000).unwrap();
        message.truncate(octets);
        message
    }

    #[test]
    fn forms_of_keys() {
        let name = NameBuf::from_text("update.key").unwrap();
        let expected = signed(&Key::new(&name, Algorithm::HmacSha256, b"0123456789abcdef0123456789abcdef"));
        for text in [
            format!("Update.Key:HMAC-SHA256:{SECRET}"),
            format!("update.key.:hmac-sha256.:{SECRET}\n"),
            format!("key \"update.key\" {{\n\talgorithm hmac-sha256;\n\tsecret \"{SECRET}\";\n}};\n"),
            format!(
                "// one\nkey update.key {{ # two\n/* three; */ secret {SECRET}; algorithm \"hmac-sha256\"; }};"
            ),
        ] {
            assert!(signed(&key(&text).unwrap()) == expected, "{text}");
        }
    }

    #[test]
    fn bad_keys() {
        for (text, problem) in [
            ("", KeyProblem::Form),
            ("a:b", KeyProblem::Form),
            ("key a { algorithm hmac-sha256; };", KeyProblem::Form),
            ("key a algorithm hmac-sha256;", KeyProblem::Form),
            ("a:hmac-sha3:AAAA", KeyProblem::Algorithm),
            ("a:hmac-sha256:AAA", KeyProblem::Secret),
            ("a:hmac-sha256:AA!A", KeyProblem::Secret),
            ("a:hmac-sha256:", KeyProblem::Secret),
            ("a..b:hmac-sha256:AAAA", KeyProblem::Name(wire::name::NameError::EmptyLabel)),
        ] {
            assert_eq!(key(text).unwrap_err(), problem, "{text}");
        }
    }

    #[test]
    fn octets_of_base64() {
        for (text, octets) in
            [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("Zm 9v\nYg==", b"foob")]
        {
            assert_eq!(base64(text).unwrap(), octets);
        }
        for text in ["Z", "Zg=", "Z===", "====", "Zg==Zg=="] {
            assert_eq!(base64(text), None, "{text}");
        }
    }
}
