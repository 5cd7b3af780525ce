//! Signing updates and checking signed replies (TSIG, RFC 8945).
//!
//! Messages come from [`super::script`] as octets that are never taken apart again, so the record is appended to them
//! and the digest is computed over them as they are.

use std::fmt;

use ring::hmac;
use wire::{
    Name, NameBuf,
    header::{HEADER_OCTETS, u16_at},
    iana::{class, rcode, rtype},
    record::{RecordView, skip_name},
};

use super::key_text::{base64, parts};
use crate::{Error, error, error::KeyProblem};

/// TSIG error of a digest that is not right; as an RCODE the number is BADVERS (RFC 8945 3).
pub const BADSIG: u16 = 16;
/// How far clocks may be apart (RFC 8945 10).
const FUDGE_SECONDS: u16 = 300;
/// Most octets of a key file: a key has some hundreds.
const FILE_OCTETS_MAX: u64 = 65_536;
/// Pointers followed in a name: more than a name of 127 labels needs.
const POINTERS_MAX: usize = 127;

/// Algorithms with their names (RFC 8945 6).
const ALGORITHMS: [(&str, hmac::Algorithm); 4] = [
    ("hmac-sha256", hmac::HMAC_SHA256),
    ("hmac-sha384", hmac::HMAC_SHA384),
    ("hmac-sha512", hmac::HMAC_SHA512),
    ("hmac-sha1", hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
];

/// A key that two ends share.
#[derive(Clone)]
pub struct TsigKey {
    /// Its name, in lower case as the digest has it (RFC 8945 4.3.3).
    name: NameBuf,
    /// Name of its algorithm.
    algorithm: NameBuf,
    key: hmac::Key,
}

/// The digest of a request, which its reply's digest includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mac(Vec<u8>);

/// Why a reply is not what the server with the key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// No signature.
    Unsigned,
    /// Another key or algorithm.
    OtherKey,
    /// The digest is not that of the reply.
    Digest,
    /// Signed at another time.
    Time,
    /// A signature that cannot be read.
    Malformed,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Unsigned => "not signed",
            Fault::OtherKey => "signed with another key",
            Fault::Digest => "with a wrong signature",
            Fault::Time => "signed at another time: compare the clocks",
            Fault::Malformed => "with a signature that cannot be read",
        })
    }
}

/// Leaves the secret away.
impl fmt::Debug for TsigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TsigKey({})", self.name)
    }
}

impl TsigKey {
    /// From the value of an option: a file with a key in one of the two forms, or `NAME:ALGORITHM:BASE64` itself.
    pub fn from_option(option: &'static str, value: &str) -> Result<TsigKey, Error> {
        let path = std::path::Path::new(value);
        if value.split(':').count() == 3 && !path.exists() {
            let problem = |problem| Error::Key { place: option.to_owned(), problem };
            return TsigKey::from_text(value).map_err(problem);
        }
        let mut text = String::new();
        let mut file = std::fs::File::open(path).map_err(error::file(path, "open"))?;
        std::io::Read::read_to_string(&mut std::io::Read::take(&mut file, FILE_OCTETS_MAX), &mut text)
            .map_err(error::file(path, "read"))?;
        TsigKey::from_text(&text).map_err(|problem| Error::Key { place: value.to_owned(), problem })
    }

    /// From `key "NAME" { algorithm ALGORITHM; secret "BASE64"; };` as `tsig-keygen` writes it, or from
    /// `NAME:ALGORITHM:BASE64`. What follows the first key is ignored.
    pub fn from_text(text: &str) -> Result<TsigKey, KeyProblem> {
        TsigKey::new(parts(text)?)
    }

    fn new([name, algorithm, secret]: [String; 3]) -> Result<TsigKey, KeyProblem> {
        let plain = algorithm.to_ascii_lowercase();
        let plain = plain.trim_end_matches('.');
        let known = ALGORITHMS.into_iter().find(|&(name, _)| name == plain);
        let (algorithm, kind) = known.ok_or(KeyProblem::Algorithm)?;
        let secret = base64(&secret).filter(|secret| !secret.is_empty()).ok_or(KeyProblem::Secret)?;
        Ok(TsigKey {
            name: NameBuf::from_text(&name).map_err(KeyProblem::Name)?.to_lowercase(),
            algorithm: NameBuf::from_text(algorithm).map_err(|_| KeyProblem::Algorithm)?,
            key: hmac::Key::new(kind, &secret),
        })
    }

    /// Octets that signing adds to a message.
    pub fn octets(&self) -> usize {
        let names = self.name.octets().len() + self.algorithm.octets().len();
        names + 10 + 16 + self.key.algorithm().digest_algorithm().output_len()
    }

    /// Signs a request at `time`, in seconds since 1970: appends the record and counts it.
    ///
    /// `message`: a whole message with its ID and fewer than 65,535 additional records.
    pub fn sign(&self, message: &mut Vec<u8>, time: u64) -> Mac {
        let id = u16_at(message, 0);
        let stamp = Stamp { time, fudge: FUDGE_SECONDS, error: 0, other: &[] };
        let mac = self.digest(&[message], &stamp);
        let record = self.record(&stamp, &mac, id);
        message.extend_from_slice(&record);
        let additional = u16_at(message, 10).saturating_add(1);
        message[10..12].copy_from_slice(&additional.to_be_bytes());
        Mac(mac)
    }

    /// Checks that `reply` is signed for the request with this digest and says the error in its TSIG record: 0, BADTIME
    /// and so on. Unsigned by nature are BADKEY and BADSIG: the server has nothing to sign with (RFC 8945 5.3.2).
    pub fn check(&self, reply: &[u8], request: &Mac, now: u64) -> Result<u16, Fault> {
        let signature = Signature::find(reply)?;
        let error = signature.error;
        if signature.mac.is_empty() && matches!(error, BADSIG | rcode::BADKEY) {
            return Ok(error);
        }
        if signature.key != self.name || signature.algorithm != self.algorithm {
            return Err(Fault::OtherKey);
        }
        let mut head = reply[..HEADER_OCTETS].to_vec();
        head[..2].copy_from_slice(&signature.original_id.to_be_bytes());
        head[10..12].copy_from_slice(&(u16_at(reply, 10) - 1).to_be_bytes());
        let length = (request.0.len() as u16).to_be_bytes();
        let stamp = Stamp {
            time: signature.time,
            fudge: signature.fudge,
            error: signature.error,
            other: signature.other,
        };
        let rest = &reply[HEADER_OCTETS..signature.at];
        let data = [&length[..], &request.0, &head, rest, &self.variables(&stamp)].concat();
        hmac::verify(&self.key, &data, signature.mac).map_err(|_| Fault::Digest)?;
        // A server whose clock differs says so with its own time in the other data (RFC 8945 5.2.3).
        if error != rcode::BADTIME && now.abs_diff(signature.time) > signature.fudge.into() {
            return Err(Fault::Time);
        }
        Ok(error)
    }

    fn digest(&self, parts: &[&[u8]], stamp: &Stamp<'_>) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&self.key);
        parts.iter().for_each(|part| context.update(part));
        context.update(&self.variables(stamp));
        context.sign().as_ref().to_vec()
    }

    /// What is digested of the record itself (RFC 8945 4.3.3).
    fn variables(&self, stamp: &Stamp<'_>) -> Vec<u8> {
        let mut octets = self.name.octets().to_vec();
        octets.extend_from_slice(&class::ANY.to_be_bytes());
        octets.extend_from_slice(&[0; 4]);
        octets.extend_from_slice(self.algorithm.octets());
        octets.extend_from_slice(&stamp.time.to_be_bytes()[2..]);
        for field in [stamp.fudge, stamp.error, stamp.other.len() as u16] {
            octets.extend_from_slice(&field.to_be_bytes());
        }
        octets.extend_from_slice(stamp.other);
        octets
    }

    fn record(&self, stamp: &Stamp<'_>, mac: &[u8], id: u16) -> Vec<u8> {
        let mut rdata = self.algorithm.octets().to_vec();
        rdata.extend_from_slice(&stamp.time.to_be_bytes()[2..]);
        rdata.extend_from_slice(&stamp.fudge.to_be_bytes());
        rdata.extend_from_slice(&(mac.len() as u16).to_be_bytes());
        rdata.extend_from_slice(mac);
        for field in [id, stamp.error, stamp.other.len() as u16] {
            rdata.extend_from_slice(&field.to_be_bytes());
        }
        let mut record = self.name.octets().to_vec();
        record.extend_from_slice(&rtype::TSIG.to_be_bytes());
        record.extend_from_slice(&class::ANY.to_be_bytes());
        record.extend_from_slice(&[0; 4]);
        record.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
        record.extend_from_slice(&rdata);
        record
    }
}

/// What a signature says of itself.
struct Stamp<'s> {
    /// Seconds since 1970, 48 bits.
    time: u64,
    fudge: u16,
    error: u16,
    other: &'s [u8],
}

/// The TSIG record of a reply.
struct Signature<'m> {
    /// Offset of the record.
    at: usize,
    key: NameBuf,
    algorithm: NameBuf,
    time: u64,
    fudge: u16,
    mac: &'m [u8],
    original_id: u16,
    error: u16,
    other: &'m [u8],
}

impl<'m> Signature<'m> {
    /// The last record, which must be TSIG; one anywhere else is not looked for.
    fn find(message: &'m [u8]) -> Result<Signature<'m>, Fault> {
        let record = last_record(message).ok_or(Fault::Malformed)?;
        match record.filter(|record| record.rtype == rtype::TSIG) {
            Some(record) if record.class == class::ANY && record.ttl == 0 => {
                Signature::read(message, &record).ok_or(Fault::Malformed)
            }
            Some(_) => Err(Fault::Malformed),
            None => Err(Fault::Unsigned),
        }
    }

    fn read(message: &'m [u8], record: &RecordView<'m>) -> Option<Signature<'m>> {
        let (algorithm, rest) = Name::split_from(record.rdata).ok()?;
        let (time, rest) = rest.split_first_chunk::<6>()?;
        let (fudge, rest) = number(rest)?;
        let (length, rest) = number(rest)?;
        let (mac, rest) = rest.split_at_checked(length.into())?;
        let (original_id, rest) = number(rest)?;
        let (error, rest) = number(rest)?;
        let (length, other) = number(rest)?;
        let mut wide = [0; 8];
        wide[2..].copy_from_slice(time);
        (other.len() == usize::from(length)).then_some(Signature {
            at: record.owner,
            key: expand(message, record.owner)?.to_lowercase(),
            algorithm: algorithm.to_owned().to_lowercase(),
            time: u64::from_be_bytes(wide),
            fudge,
            mac,
            original_id,
            error,
            other,
        })
    }
}

fn number(octets: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = octets.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), rest))
}

/// The last record of a message; `None` where the message is damaged, `Some(None)` where its additional section is
/// empty.
fn last_record(message: &[u8]) -> Option<Option<RecordView<'_>>> {
    if message.len() < HEADER_OCTETS {
        return None;
    }
    let [questions, answers, authorities, additional] = [4, 6, 8, 10].map(|at| u16_at(message, at));
    let mut at = HEADER_OCTETS;
    for _ in 0..questions {
        at = skip_name(message, at)? + 4;
    }
    let mut last = None;
    for _ in 0..u32::from(answers) + u32::from(authorities) + u32::from(additional) {
        let record = RecordView::read(message, at)?;
        at = record.end();
        last = Some(record);
    }
    Some(last.filter(|_| additional > 0))
}

/// The name at `at`, pointers followed.
fn expand(message: &[u8], mut at: usize) -> Option<NameBuf> {
    let mut octets = Vec::new();
    for _ in 0..=POINTERS_MAX {
        let end = skip_name(message, at)?;
        let own = &message[at..end];
        match own {
            [labels @ .., high, low] if is_pointer(own) => {
                octets.extend_from_slice(labels);
                at = usize::from(u16::from_be_bytes([high & 0x3f, *low]));
            }
            _ => {
                octets.extend_from_slice(own);
                return Name::from_wire(&octets).ok().map(Name::to_owned);
            }
        }
    }
    None
}

/// Whether a name as it stands ends with a pointer.
fn is_pointer(own: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&length) = own.get(at) {
        match length {
            0 => return false,
            0xc0.. => return true,
            _ => at += 1 + usize::from(length),
        }
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    fn key(name: &str) -> TsigKey {
        TsigKey::from_text(&format!("{name}:hmac-sha256:{SECRET}")).unwrap()
    }

    #[test]
    fn forms_of_keys() {
        let same = [
            format!("Update.Key:HMAC-SHA256:{SECRET}"),
            format!("update.key.:hmac-sha256.:{SECRET}\n"),
            format!("key \"update.key\" {{\n\talgorithm hmac-sha256;\n\tsecret \"{SECRET}\";\n}};\n"),
            format!(
                "// one\nkey update.key {{ # two\n/* three; */ secret {SECRET}; algorithm \"hmac-sha256\"; }};"
            ),
        ];
        let mut expected = b"\0\x07\x28\0\0\0\0\0\0\0\0\0".to_vec();
        key("update.key").sign(&mut expected, 1_700_000_000);
        for text in same {
            let mut message = b"\0\x07\x28\0\0\0\0\0\0\0\0\0".to_vec();
            let key = TsigKey::from_text(&text).unwrap();
            key.sign(&mut message, 1_700_000_000);
            assert!(message == expected, "{text}");
            assert_eq!(message.len(), 12 + key.octets());
        }
    }

    #[test]
    fn bad_keys() {
        for (text, problem) in [
            ("", KeyProblem::Form),
            ("a:b", KeyProblem::Form),
            ("key a { algorithm hmac-sha256; };", KeyProblem::Form),
            ("key a algorithm hmac-sha256;", KeyProblem::Form),
            ("a:hmac-md5:AAAA", KeyProblem::Algorithm),
            ("a:hmac-sha256:AAA", KeyProblem::Secret),
            ("a:hmac-sha256:AA!A", KeyProblem::Secret),
            ("a:hmac-sha256:", KeyProblem::Secret),
            ("a..b:hmac-sha256:AAAA", KeyProblem::Name(wire::name::NameError::EmptyLabel)),
        ] {
            assert_eq!(TsigKey::from_text(text).unwrap_err(), problem, "{text}");
        }
    }

    /// A reply as the server would sign it: the digest covers that of the request first.
    fn reply(key: &TsigKey, request: &Mac, time: u64, error: u16) -> Vec<u8> {
        let mut reply = b"\0\x07\xa8\0\0\x01\0\0\0\0\0\0\x07example\0\0\x06\0\x01".to_vec();
        let stamp = Stamp { time, fudge: 300, error, other: &[] };
        let length = (request.0.len() as u16).to_be_bytes();
        let mac = key.digest(&[&length, &request.0, &reply], &stamp);
        let record = key.record(&stamp, &mac, 7);
        reply.extend_from_slice(&record);
        reply[11] = 1;
        reply
    }

    #[test]
    fn replies() {
        let (key, now) = (key("k"), 1_700_000_000);
        let mut request = b"\0\x07\x28\0\0\0\0\0\0\0\0\0".to_vec();
        let mac = key.sign(&mut request, now);
        let good = reply(&key, &mac, now, 0);
        assert_eq!(key.check(&good, &mac, now), Ok(0));
        assert_eq!(key.check(&good, &mac, now + 301), Err(Fault::Time));
        assert_eq!(key.check(&good, &Mac::default(), now), Err(Fault::Digest));
        assert_eq!(key.check(&reply(&key, &mac, now - 999, rcode::BADTIME), &mac, now), Ok(rcode::BADTIME));
        // The ID on the way is of no matter, everything else is.
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            let result = key.check(&changed, &mac, now);
            assert_eq!(result.is_ok(), at < 2, "{at}: {result:?}");
        }
        for end in 0..good.len() {
            assert!(key.check(&good[..end], &mac, now).is_err());
        }
        assert_eq!(key.check(&good[..25], &mac, now), Err(Fault::Malformed));
        let mut unsigned = good[..25].to_vec();
        unsigned[11] = 0;
        assert_eq!(key.check(&unsigned, &mac, now), Err(Fault::Unsigned));
        assert_eq!(super::tests::key("other").check(&good, &mac, now), Err(Fault::OtherKey));
    }

    #[test]
    fn unsigned_errors() {
        let key = key("k");
        let mut reply = b"\0\x07\xa8\x09\0\0\0\0\0\0\0\x01".to_vec();
        let stamp = Stamp { time: 0, fudge: 0, error: rcode::BADKEY, other: &[] };
        reply.extend(key.record(&stamp, &[], 7));
        assert_eq!(key.check(&reply, &Mac::default(), 5), Ok(rcode::BADKEY));
    }

    #[test]
    fn compressed_names() {
        let message = b"\x07example\0\x01a\xc0\0\xc0\x09\xc0\x0d";
        assert_eq!(expand(message, 9).unwrap().to_string(), "a.example.");
        assert_eq!(expand(message, 13).unwrap().to_string(), "a.example.");
        assert_eq!(expand(b"\xc0\0", 0), None);
    }
}
