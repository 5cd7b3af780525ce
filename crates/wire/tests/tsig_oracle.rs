//! TSIG beside an implementation by others (`domain`): each checks what the other signs, requests, responses and streams.
#![allow(clippy::unwrap_used)]

use std::str::FromStr;

use domain::base::message_builder::AdditionalBuilder;
use domain::base::{Message, MessageBuilder, Name, Rtype};
use domain::rdata::tsig::Time48;
use domain::tsig::{
    self, ClientSequence, ClientTransaction, KeyName, ServerSequence, ServerTransaction, ValidationError,
};
use hmac::{Hmac, KeyInit, Mac as _};
use wire::header::u16_at;
use wire::iana::rcode;
use wire::tsig::{Algorithm, Fault, Incoming, Key, Mac, Progress, Signature, verify};

const NOW: u64 = 1_700_000_000;
const SECRET: &[u8] = b"secret of both";
const KEY: &str = "Some.Key.example.";

/// The same key twice, for each algorithm that both have.
fn keys() -> Vec<(Key, tsig::Key)> {
    [
        (Algorithm::HmacSha1, tsig::Algorithm::Sha1),
        (Algorithm::HmacSha256, tsig::Algorithm::Sha256),
        (Algorithm::HmacSha384, tsig::Algorithm::Sha384),
        (Algorithm::HmacSha512, tsig::Algorithm::Sha512),
    ]
    .into_iter()
    .map(|(ours, theirs)| pair(ours, theirs, None))
    .collect()
}

/// The same key twice; theirs signs with so many octets.
fn pair(ours: Algorithm, theirs: tsig::Algorithm, octets: Option<usize>) -> (Key, tsig::Key) {
    let ours = Key::new(&wire::NameBuf::from_text(KEY).unwrap().to_lowercase(), ours, SECRET);
    let ours = match octets {
        Some(octets) => ours.with_mac_octets_min(octets).unwrap(),
        None => ours,
    };
    (ours, tsig::Key::new(theirs, SECRET, KeyName::from_str(KEY).unwrap(), octets, octets).unwrap())
}

fn now() -> Time48 {
    Time48::from_u64(NOW)
}

/// A message with a question, to which others may add.
fn builder(id: u16, is_response: bool) -> AdditionalBuilder<Vec<u8>> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(id);
    builder.header_mut().set_qr(is_response);
    let mut builder = builder.question();
    builder.push((Name::<Vec<u8>>::from_str("zone.example").unwrap(), Rtype::AXFR)).unwrap();
    builder.additional()
}

/// The same as octets.
fn message(id: u16, is_response: bool) -> Vec<u8> {
    builder(id, is_response).finish()
}

/// A message with room after it, put through a closure that appends to it.
fn grown(message: &[u8], append: impl FnOnce(&mut [u8], usize) -> Option<usize>) -> Vec<u8> {
    let mut buffer = [message, &[0; 300]].concat();
    let octets = append(&mut buffer, message.len()).unwrap();
    buffer.truncate(octets);
    buffer
}

fn signed(key: &Key, message: &[u8]) -> (Vec<u8>, Mac) {
    let mut mac = Mac::NONE;
    let octets = grown(message, |to, octets| {
        let (octets, found) = key.sign(to, octets, NOW)?;
        mac = found;
        Some(octets)
    });
    (octets, mac)
}

fn read(octets: &[u8]) -> Message<Vec<u8>> {
    Message::from_octets(octets.to_vec()).unwrap()
}

#[test]
fn we_ask_and_they_answer() {
    for (ours, theirs) in keys() {
        let (request, mac) = signed(&ours, &message(7, false));
        let server = ServerTransaction::request(&theirs, &mut read(&request), now()).unwrap().unwrap();
        let mut response = builder(7, true);
        server.answer(&mut response, now()).unwrap();
        let checked = ours.check(&response.finish(), &mac, NOW).unwrap();
        assert_eq!(checked.error, 0);
    }
}

#[test]
fn they_ask_and_we_answer() {
    let cut = pair(Algorithm::HmacSha256, tsig::Algorithm::Sha256, Some(20));
    for (ours, theirs) in keys().into_iter().chain([cut]) {
        let mut request = builder(7, false);
        let client = ClientTransaction::request(&theirs, &mut request, now()).unwrap();
        let request = request.finish();
        let verified = verify(&request, &ours, NOW).unwrap();
        let response = grown(&message(7, true), |to, octets| verified.reply.append(to, octets, NOW));
        client.answer(&mut read(&response), now()).unwrap();
        let wrong = grown(&message(8, true), |to, octets| verified.reply.append(to, octets, NOW + 1000));
        assert!(client.answer(&mut read(&wrong), now()).is_err());
    }
}

/// What each makes of the other's unsigned errors. Not of BADTIME: `domain` 0.12 digests eight octets of time where the record has six;
/// there named is the judge.
#[test]
fn errors() {
    let (ours, theirs) = keys().swap_remove(1);
    let stranger =
        tsig::Key::new(tsig::Algorithm::Sha256, SECRET, KeyName::from_str("x.").unwrap(), None, None);
    let (request, mac) = signed(&ours, &message(7, false));
    let error = ServerTransaction::request(&stranger.unwrap(), &mut read(&request), now()).unwrap_err();
    let response = error.build_message(&read(&request), MessageBuilder::new_vec()).unwrap().finish();
    assert_eq!(ours.check(&response, &mac, NOW), Err(Fault::Refused(rcode::BADKEY)));

    let mut request = builder(7, false);
    let client = ClientTransaction::request(&theirs, &mut request, now()).unwrap();
    let request = request.finish();
    let mut refused = message(7, true);
    refused[3] = 9;
    for (rejected, expected) in [
        (
            verify(&request, &Key::new(ours.name(), ours.algorithm(), b"x"), NOW),
            ValidationError::ServerBadSig,
        ),
        (verify(&request, &wire::tsig::NoKeys, NOW), ValidationError::ServerBadKey),
    ] {
        let rejected = rejected.unwrap_err();
        let response = grown(&refused, |to, octets| rejected.append(to, octets, NOW));
        let error = client.answer(&mut read(&response), now()).unwrap_err();
        assert_eq!(error.to_string(), expected.to_string());
    }
}

#[test]
fn streams() {
    for (ours, theirs) in keys() {
        let (request, mac) = signed(&ours, &message(7, false));
        let mut server = ServerSequence::request(&theirs, &mut read(&request), now()).unwrap().unwrap();
        let mut incoming = Incoming::new(&ours, &mac);
        for _ in 0..5 {
            let mut response = builder(7, true);
            server.answer(&mut response, now()).unwrap();
            let progress = incoming.check(&response.finish(), NOW).unwrap();
            assert!(matches!(progress, Progress::Confirmed { .. }));
        }
        incoming.end().unwrap();

        let mut request = builder(7, false);
        let mut client = ClientSequence::request(&theirs, &mut request, now()).unwrap();
        let request = request.finish();
        let mut outgoing = verify(&request, &ours, NOW).unwrap().reply.stream();
        for _ in 0..5 {
            let response = grown(&message(7, true), |to, octets| outgoing.append(to, octets, NOW));
            client.answer(&mut read(&response), now()).unwrap();
        }
        client.done().unwrap();
    }
}

/// A stream whose server signs each third message: the digest is put together here, part by part, and both clients take it.
#[test]
fn streams_with_unsigned_messages() {
    let (ours, theirs) = keys().swap_remove(1);
    let mut request = builder(7, false);
    let mut client = ClientSequence::request(&theirs, &mut request, now()).unwrap();
    let request = request.finish();
    let mut outgoing = verify(&request, &ours, NOW).unwrap().reply.stream();
    let mut incoming = Incoming::new(&ours, &mac_of(&request));
    let first = grown(&message(7, true), |to, octets| outgoing.append(to, octets, NOW));
    let unsigned = message(7, true);

    let mut context = Hmac::<sha2::Sha256>::new_from_slice(SECRET).unwrap();
    let before = Signature::find(&first).unwrap().mac;
    context.update(&(before.len() as u16).to_be_bytes());
    context.update(before);
    for _ in 0..3 {
        context.update(&unsigned);
    }
    context.update(&NOW.to_be_bytes()[2..]);
    context.update(&300u16.to_be_bytes());
    let mac = context.finalize().into_bytes();
    // The first's record with another MAC: time, fudge and ID are the same.
    let mut last = first.clone();
    let at = first.len() - 6 - 32;
    last[at..at + 32].copy_from_slice(&mac);
    assert_eq!(u16_at(&last, at - 2), 32);

    for (message, is_signed) in [(&first, true), (&unsigned, false), (&unsigned, false), (&last, true)] {
        client.answer(&mut read(message), now()).unwrap();
        let progress = incoming.check(message, NOW).unwrap();
        assert_eq!(progress == Progress::Unconfirmed, !is_signed);
        assert_eq!(incoming.end().is_ok(), is_signed);
    }
    client.done().unwrap();
}

/// The MAC of a signed message, as its sender kept it.
fn mac_of(message: &[u8]) -> Mac {
    // Signed again it gives the same.
    let signature = Signature::find(message).unwrap();
    let (ours, _) = keys().swap_remove(1);
    let mut plain = message[..signature.at].to_vec();
    plain[11] -= 1;
    let (_, mac) = signed(&ours, &plain);
    assert_eq!(mac.octets(), signature.mac);
    mac
}
