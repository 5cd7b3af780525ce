//! Structured messages with OPT and TSIG: nothing panics, what was signed is believed and what was changed is not.
//!
//! ```text
//! octet 0: key | octet 1: how the message ends | octet 2: length of the options | options | pairs of place and octet: changes
//! ```
//!
//! The changes are made to a whole, signed request and to the response to it; with none of them all must be well.

use std::net::{IpAddr, Ipv4Addr};

use wire::cookie::{COOKIE_OCTETS, Cookie, Secrets};
use wire::edns::Options;
use wire::iana::edns_option;
use wire::query::{PlainQuery, Query};
use wire::tsig::{Algorithm, Incoming, Key, Mac, Signature, verify};
use wire::{NameBuf, Places};

const NOW: u64 = 1_700_000_000;
const QUESTION: &[u8] = b"\x03www\x07example\0\0\x01\0\x01";
/// Octets that a message may have.
const ROOM_OCTETS: usize = 2048;

/// Tries a message made as `data` says.
pub fn run(data: &[u8]) {
    let &[which, kind, length, ref rest @ ..] = data else { return };
    let options = &rest[..rest.len().min(length.into())];
    let changes = &rest[options.len()..];
    let algorithm = Algorithm::ALL[usize::from(which) % Algorithm::ALL.len()];
    let name = NameBuf::from_text("key.example").expect("a name");
    let key = Key::new(&name, algorithm, b"secret");
    let key = match which & 0x80 {
        0 => key,
        _ => key.with_mac_octets_min(algorithm.mac_octets_min()).expect("an allowed length"),
    };

    let request = message(0x0100, kind, options);
    read_both_ways(&request);
    let (signed, mac) = sign(&key, &request);
    let mut changed = signed.clone();
    change(&mut changed, changes);
    read_both_ways(&changed);
    look_at(&changed, &key, &mac);
    match verify(&changed, &key, NOW) {
        // Names may have other case, and the ID is restored: what is signed is the rest.
        Ok(verified) => {
            assert_eq!(changed[2..verified.octets], signed[2..request.len()]);
            let mut response = message(0x8500, kind, options);
            let octets = response.len();
            response.resize(ROOM_OCTETS, 0);
            let octets = verified.reply.append(&mut response, octets, NOW).expect("room");
            response.truncate(octets);
            let mac = Signature::find(&changed).map(|signature| signature.mac.len()).expect("it was found");
            if changed == signed {
                assert!(key.check(&response, &self::mac(&key, &request), NOW).is_ok());
                change(&mut response, changes);
                look_at(&response, &key, &self::mac(&key, &request));
            }
            assert!(mac >= key.mac_octets_min());
        }
        Err(rejected) => {
            assert!(changed != signed, "{:?}", rejected.fault);
            let mut response = message(0x8500, kind, options);
            let octets = response.len();
            response.resize(ROOM_OCTETS, 0);
            rejected.append(&mut response, octets, NOW);
        }
    }
    // As it came, too.
    look_at(data, &key, &mac);
    read_both_ways(data);
}

/// A message with a question, perhaps a record and perhaps OPT.
fn message(flags: u16, kind: u8, options: &[u8]) -> Vec<u8> {
    let (has_record, has_opt) = (kind & 1 != 0, kind & 2 == 0);
    let mut octets = vec![0xab, 0xcd];
    octets.extend(flags.to_be_bytes());
    octets.extend([0, 1, 0, u8::from(has_record), 0, 0, 0, u8::from(has_opt)]);
    octets.extend(QUESTION);
    if has_record {
        octets.extend(b"\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04abcd");
    }
    if has_opt {
        octets.extend([0, 0, 41, 4, 208, 0, 0, kind & 0x80, 0]);
        octets.extend((options.len() as u16).to_be_bytes());
        octets.extend(options);
    }
    octets
}

fn sign(key: &Key, message: &[u8]) -> (Vec<u8>, Mac) {
    let mut octets = message.to_vec();
    octets.resize(ROOM_OCTETS, 0);
    let (length, mac) = key.sign(&mut octets, message.len(), NOW).expect("room");
    octets.truncate(length);
    (octets, mac)
}

fn mac(key: &Key, message: &[u8]) -> Mac {
    sign(key, message).1
}

/// Each pair of octets: counted from the end, what is put there; 255 cuts.
fn change(message: &mut Vec<u8>, changes: &[u8]) {
    for pair in changes.chunks_exact(2) {
        let length = message.len();
        match (pair[0], pair[1]) {
            (255, cut) => message.truncate(length.saturating_sub(cut.into())),
            (254, octet) => message.push(octet),
            (back, octet) if usize::from(back) < length => message[length - 1 - usize::from(back)] = octet,
            _ => {}
        }
    }
}

/// The short way reads what the long way reads.
fn read_both_ways(message: &[u8]) {
    let mut places = Places::new();
    let plain = PlainQuery::read(message, &mut places);
    let whole = Query::read(message, &mut Places::new());
    if let (Some(plain), Some(whole)) = (&plain, &whole) {
        assert_eq!((whole.fault, plain.edns), (None, whole.edns));
    }
    assert!(plain.is_none() || whole.is_some());
    if let Some(edns) = whole.and_then(|query| query.edns) {
        look_at_options(message, &edns.options);
    }
}

fn look_at_options(message: &[u8], options: &Options) {
    assert_eq!(options.cookie(message), options.data(message, edns_option::COOKIE));
    for code in 0..=64 {
        let data = options.data(message, code);
        assert!(code > 31 || data.is_some() == options.has(code));
    }
    if let Some(Ok(cookie)) = options.cookie(message).map(Cookie::read) {
        let secrets = Secrets::new(&[[7; 16], [8; 16]]).expect("two secrets");
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (mut made, mut other) = ([0; COOKIE_OCTETS], [0; COOKIE_OCTETS]);
        secrets.reply(&cookie, address, NOW as u32, &mut made);
        let again = Cookie::read(&made).expect("what we make is whole");
        assert!(secrets.reply(&again, address, NOW as u32, &mut other));
    }
}

fn look_at(message: &[u8], key: &Key, mac: &Mac) {
    let _ = key.check(message, mac, NOW);
    let mut incoming = Incoming::new(key, mac);
    for _ in 0..2 {
        let _ = incoming.check(message, NOW);
    }
    let _ = incoming.end();
}
