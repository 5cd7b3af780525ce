//! TSIG as both ends use it: every algorithm, every fault, streams.
#![allow(clippy::unwrap_used)]

use wire::header::u16_at;
use wire::iana::rcode;
use wire::tsig::{Algorithm, BADSIG, Fault, Incoming, Key, Mac, NoKeys, Progress, Signature, verify};
use wire::{Name, NameBuf};

const NOW: u64 = 1_700_000_000;
const REQUEST: &[u8] = b"\x12\x34\x28\0\0\x01\0\0\0\0\0\0\x07Example\0\0\x06\0\x01";
const RESPONSE: &[u8] =
    b"\x12\x34\xa8\0\0\x01\0\x01\0\0\0\0\x07Example\0\0\x06\0\x01\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04abcd";

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn key_of(algorithm: Algorithm) -> Key {
    Key::new(Name::from_wire(name("Some.KEY").octets()).unwrap(), algorithm, b"secret of both")
}

fn key() -> Key {
    key_of(Algorithm::HmacSha256)
}

/// A message signed by a client, and its MAC.
fn signed(key: &Key, message: &[u8], now: u64) -> (Vec<u8>, Mac) {
    let mut buffer = [message, &[0; 300]].concat();
    let (octets, mac) = key.sign(&mut buffer, message.len(), now).unwrap();
    assert!(octets <= message.len() + key.octets());
    buffer.truncate(octets);
    (buffer, mac)
}

/// A response, with what a closure appends to it.
fn answered(message: &[u8], append: impl FnOnce(&mut [u8], usize) -> Option<usize>) -> Vec<u8> {
    let mut buffer = [message, &[0; 300]].concat();
    let octets = append(&mut buffer, message.len()).unwrap();
    buffer.truncate(octets);
    buffer
}

fn fault_of(message: &[u8], key: &Key, now: u64) -> Fault {
    verify(message, key, now).unwrap_err().fault
}

#[test]
fn both_ends_agree() {
    for algorithm in Algorithm::ALL {
        let key = key_of(algorithm);
        let (request, mac) = signed(&key, REQUEST, NOW);
        assert_eq!(mac.octets().len(), algorithm.mac_octets());
        let verified = verify(&request, &key, NOW + 300).unwrap();
        assert_eq!((verified.octets, verified.key.algorithm()), (REQUEST.len(), algorithm));
        let response = answered(RESPONSE, |to, octets| verified.reply.append(to, octets, NOW + 1));
        let checked = key.check(&response, &mac, NOW).unwrap();
        assert_eq!((checked.octets, checked.error), (RESPONSE.len(), 0));
        // The ID on the way is of no matter, any other octet is.
        for at in 0..request.len() {
            let mut changed = request.clone();
            changed[at] ^= 1;
            assert_eq!(verify(&changed, &key, NOW).is_ok(), at < 2, "{algorithm:?} {at}");
        }
        for at in 0..response.len() {
            let mut changed = response.clone();
            changed[at] ^= 1;
            assert_eq!(key.check(&changed, &mac, NOW).is_ok(), at < 2, "{algorithm:?} {at}");
        }
        for end in 0..request.len() {
            assert!(verify(&request[..end], &key, NOW).is_err());
        }
        let other = signed(&key, REQUEST, NOW + 1).1;
        assert_eq!(key.check(&response, &other, NOW), Err(Fault::Mac));
        assert_eq!(key.check(&response, &mac, NOW + 302), Err(Fault::Time));
        assert_eq!(key.check(RESPONSE, &mac, NOW), Err(Fault::Unsigned));
    }
}

#[test]
fn what_a_server_says_to_faults() {
    let (key, other) = (key(), key_of(Algorithm::HmacSha512));
    let (request, mac) = signed(&key, REQUEST, NOW);
    let say = |rejected: wire::tsig::Rejected<'_, '_>, now| {
        let rcode = rejected.fault.rcode();
        let mut message = RESPONSE.to_vec();
        message[3] |= rcode as u8;
        (rcode, answered(&message, |to, octets| rejected.append(to, octets, now)))
    };
    // An unknown key, one of another algorithm, another secret: unsigned.
    for (rejected, error) in [
        (verify(&request, &NoKeys, NOW), rcode::BADKEY),
        (verify(&request, &other, NOW), rcode::BADKEY),
        (verify(&request, &Key::new(key.name(), key.algorithm(), b"wrong"), NOW), BADSIG),
    ] {
        let (code, response) = say(rejected.unwrap_err(), NOW);
        assert_eq!(code, rcode::NOTAUTH);
        assert_eq!(key.check(&response, &mac, NOW), Err(Fault::Refused(error)));
        let signature = Signature::find(&response).unwrap();
        assert_eq!((signature.mac, signature.original_id, signature.at), (&b""[..], 0x1234, RESPONSE.len()));
    }
    // Another time: signed, with the client's time and ours.
    let late = NOW + 301;
    let (code, response) = say(verify(&request, &key, late).unwrap_err(), late);
    assert_eq!((code, key.check(&response, &mac, NOW).unwrap().error), (rcode::NOTAUTH, rcode::BADTIME));
    let signature = Signature::find(&response).unwrap();
    assert_eq!((signature.time, signature.other), (NOW, &late.to_be_bytes()[2..]));
    // No signature, or one that is no record: nothing to say.
    for (message, expected) in [(REQUEST, Fault::Unsigned), (&request[..request.len() - 1], Fault::Malformed)]
    {
        let rejected = verify(message, &key, NOW).unwrap_err();
        assert_eq!(rejected.fault, expected);
        assert_eq!(say(rejected, NOW).1.len(), RESPONSE.len());
    }
}

/// Cuts the MAC of a signed message, whose record has no other data.
fn cut(message: &[u8], from: usize, to: usize) -> Vec<u8> {
    let signature = Signature::find(message).unwrap();
    let mac_at = message.len() - 6 - from;
    let rdlength_at = signature.at + name("Some.KEY").octets().len() + 8;
    let mut cut = message.to_vec();
    let mac: Vec<u8> = signature.mac.iter().copied().chain([0; 200]).take(to).collect();
    cut.splice(mac_at - 2..mac_at + from, [&(to as u16).to_be_bytes()[..], &mac].concat());
    let rdlength = u16_at(message, rdlength_at) - from as u16 + to as u16;
    cut[rdlength_at..rdlength_at + 2].copy_from_slice(&rdlength.to_be_bytes());
    cut
}

#[test]
fn truncated_macs() {
    for algorithm in Algorithm::ALL {
        let (least, whole) = (algorithm.mac_octets_min(), algorithm.mac_octets());
        let strict = key_of(algorithm);
        let lenient = key_of(algorithm).with_mac_octets_min(least).unwrap();
        assert!(key_of(algorithm).with_mac_octets_min(least - 1).is_none());
        assert!(key_of(algorithm).with_mac_octets_min(whole + 1).is_none());
        let (request, mac) = signed(&strict, REQUEST, NOW);
        for octets in 0..=whole + 1 {
            let request = cut(&request, whole, octets);
            let verified = verify(&request, &lenient, NOW);
            match octets {
                octets if octets < least || octets > whole => {
                    assert_eq!(verified.unwrap_err().fault, Fault::Malformed, "{algorithm:?} {octets}");
                    continue;
                }
                _ => {}
            }
            // The response's MAC is as long, and covers the request's as it was received.
            let verified = verified.unwrap();
            let response = answered(RESPONSE, |to, octets| verified.reply.append(to, octets, NOW));
            assert_eq!(Signature::find(&response).unwrap().mac.len(), octets);
            assert_eq!(lenient.check(&response, &mac, NOW).is_ok(), octets == whole);
            let strict = verify(&request, &strict, NOW);
            if octets == whole {
                assert!(strict.is_ok());
                continue;
            }
            let rejected = strict.unwrap_err();
            assert_eq!((rejected.fault, rejected.fault.rcode()), (Fault::Truncated, rcode::NOTAUTH));
            let response = answered(RESPONSE, |to, octets| rejected.append(to, octets, NOW));
            let signature = Signature::find(&response).unwrap();
            assert_eq!((signature.error, signature.mac.len()), (rcode::BADTRUNC, octets));
        }
    }
}

/// A record with the name of the key, type TSIG and these fields.
fn record(class: u16, ttl: u32, rdata: &[u8]) -> Vec<u8> {
    let mut octets = name("some.key").octets().to_vec();
    octets.extend(250u16.to_be_bytes());
    octets.extend(class.to_be_bytes());
    octets.extend(ttl.to_be_bytes());
    octets.extend((rdata.len() as u16).to_be_bytes());
    octets.extend(rdata);
    octets
}

#[test]
fn malformed_and_misplaced() {
    let key = key();
    let (request, _) = signed(&key, REQUEST, NOW);
    let tsig = request[REQUEST.len()..].to_vec();
    let rdata = &tsig[name("some.key").octets().len() + 10..];
    let message = |counts: [u8; 3], records: &[&[u8]]| {
        let mut message = [REQUEST, &records.concat()].concat();
        [message[7], message[9], message[11]] = counts;
        message
    };
    let a = &b"\0\0\x01\0\x01\0\0\0\0\0\x04abcd"[..];
    let sig0 = &b"\0\0\x18\0\xff\0\0\0\0\0\x13\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..];
    assert!(verify(&message([0, 0, 1], &[&record(255, 0, rdata)]), &key, NOW).is_ok());
    for (message, expected) in [
        (message([0, 0, 1], &[&record(1, 0, rdata)]), Fault::Malformed),
        (message([0, 0, 1], &[&record(255, 1, rdata)]), Fault::Malformed),
        (message([0, 0, 1], &[&record(255, 0, &[rdata, b"x"].concat())]), Fault::Malformed),
        (message([0, 0, 1], &[&record(255, 0, &rdata[..rdata.len() - 1])]), Fault::Malformed),
        (message([0, 0, 1], &[&tsig, b"x"]), Fault::Malformed),
        (message([0, 0, 2], &[&tsig, &tsig]), Fault::Malformed),
        (message([0, 0, 2], &[&tsig, a]), Fault::Malformed),
        (message([1, 0, 0], &[&tsig]), Fault::Malformed),
        (message([0, 1, 1], &[&tsig, a]), Fault::Malformed),
        (message([0, 0, 2], &[&tsig]), Fault::Malformed),
        (message([0, 0, 1], &[sig0]), Fault::Sig0),
        (message([0, 0, 2], &[sig0, &tsig]), Fault::Malformed),
        (message([1, 0, 1], &[a, a]), Fault::Unsigned),
        (b"short".to_vec(), Fault::Malformed),
    ] {
        assert_eq!(fault_of(&message, &key, NOW), expected, "{message:02x?}");
    }
    // The owner compressed is the same name; what is signed ends before the record all the same.
    let mut compressed = REQUEST.to_vec();
    let pointed = [&compressed[..], b"\xc0\x0c", &tsig[name("some.key").octets().len()..]].concat();
    compressed[11] = 1;
    let of_zone = Key::new(&name("example"), Algorithm::HmacSha256, b"secret of both");
    let (plain, _) = signed(&of_zone, REQUEST, NOW);
    let rest = &plain[REQUEST.len() + name("example").octets().len()..];
    assert!(verify(&[&compressed[..], b"\xc0\x0c", rest].concat(), &of_zone, NOW).is_ok());
    assert!(verify(&pointed, &of_zone, NOW).is_err());
}

#[test]
fn names_in_any_case() {
    let lower = Key::new(&name("some.key"), Algorithm::HmacSha256, b"secret of both");
    let (request, _) = signed(&lower, REQUEST, NOW);
    let mut upper = request.clone();
    upper[REQUEST.len()..REQUEST.len() + 30].make_ascii_uppercase();
    assert_ne!(upper, request);
    assert!(verify(&upper, &key(), NOW).is_ok());
}

/// What does not fit beside the signature is cut to its question.
#[test]
fn too_long_for_a_signature() {
    let key = key();
    let (request, mac) = signed(&key, REQUEST, NOW);
    let reply = verify(&request, &key, NOW).unwrap().reply;
    let whole = answered(RESPONSE, |to, octets| reply.append(to, octets, NOW)).len();
    for room in 0..=whole {
        let mut buffer = vec![0; room.max(RESPONSE.len())];
        buffer[..RESPONSE.len()].copy_from_slice(RESPONSE);
        let octets = reply.append(&mut buffer[..room.max(RESPONSE.len())], RESPONSE.len(), NOW);
        let Some(octets) = octets else {
            assert!(room < whole - 16);
            continue;
        };
        let checked = key.check(&buffer[..octets], &mac, NOW).unwrap();
        let is_cut = room < whole;
        assert_eq!(u16_at(&buffer, 2) & 0x200 != 0, is_cut);
        assert_eq!(checked.octets, if is_cut { REQUEST.len() } else { RESPONSE.len() });
        assert_eq!(u16_at(&buffer, 6), u16::from(!is_cut));
    }
}

/// Messages of a stream; those whose place is in `unsigned` lose their signature.
fn stream(key: &Key, count: usize) -> (Mac, Vec<Vec<u8>>) {
    let (request, mac) = signed(key, REQUEST, NOW);
    let mut outgoing = verify(&request, key, NOW).unwrap().reply.stream();
    let message = |number: usize| {
        let mut message = RESPONSE.to_vec();
        message[RESPONSE.len() - 1] = number as u8;
        message
    };
    let messages = (0..count).map(|number| {
        answered(&message(number), |to, octets| outgoing.append(to, octets, NOW + number as u64))
    });
    (mac, messages.collect())
}

#[test]
fn streams() {
    for algorithm in Algorithm::ALL {
        let key = key_of(algorithm);
        let (mac, messages) = stream(&key, 4);
        let mut incoming = Incoming::new(&key, &mac);
        assert_eq!(incoming.end(), Err(Fault::Unsigned));
        for message in &messages {
            assert_eq!(incoming.check(message, NOW), Ok(Progress::Confirmed { octets: RESPONSE.len() }));
            assert_eq!(incoming.end(), Ok(()));
        }
        // Left out, twice, in another order, changed: the stream is at its end.
        for order in [&[0, 2][..], &[0, 1, 1], &[0, 2, 1], &[1]] {
            let mut incoming = Incoming::new(&key, &mac);
            let results: Vec<_> = order.iter().map(|&at| incoming.check(&messages[at], NOW)).collect();
            let wrong = results.iter().position(Result::is_err).unwrap();
            assert!(
                results[wrong..].iter().all(|result| *result == Err(Fault::Mac)),
                "{order:?} {results:?}"
            );
            assert_eq!(incoming.end(), Err(Fault::Mac));
        }
        for at in 2..messages[1].len() {
            let mut incoming = Incoming::new(&key, &mac);
            incoming.check(&messages[0], NOW).unwrap();
            let mut changed = messages[1].clone();
            changed[at] ^= 1;
            assert!(!matches!(incoming.check(&changed, NOW), Ok(Progress::Confirmed { .. })), "{at}");
        }
    }
}

/// A key that signs what follows unsigned messages as others do: the digest is computed here, from its parts.
#[test]
fn unsigned_between() {
    let key = key();
    let (mac, messages) = stream(&key, 1);
    let mut incoming = Incoming::new(&key, &mac);
    assert_eq!(incoming.check(RESPONSE, NOW), Err(Fault::Unsigned), "the first is signed");
    let mut incoming = Incoming::new(&key, &mac);
    incoming.check(&messages[0], NOW).unwrap();
    for _ in 0..99 {
        assert_eq!(incoming.check(RESPONSE, NOW), Ok(Progress::Unconfirmed));
        assert_eq!(incoming.end(), Err(Fault::Unsigned), "the last is signed");
    }
    assert_eq!(incoming.clone().check(RESPONSE, NOW), Err(Fault::Unsigned), "each hundredth is signed");
    // A signature that leaves the messages before it out.
    assert_eq!(incoming.check(&stream(&key, 2).1[1], NOW), Err(Fault::Mac));
}
