//! TSIG over the stream (RFC 8945 5.3.1): nothing unconfirmed is acted on.

use super::super::{Fault, Incoming, Kind, Limits, Outcome, Step, Stop, Times};
use super::kit::*;
use wire::iana::rcode;
use wire::tsig::{self, Algorithm, Key, Outgoing, verify};

const NOW: Times = Times { millis: 0, unix: 1_700_000_000 };

fn key(secret: &[u8]) -> Key {
    Key::new(&name("key"), Algorithm::HmacSha256, secret)
}

/// Runs these rows, one message each, of which the server signs those that `signs` says.
fn run(ours: &Key, theirs: &Key, rows: &[Row], signs: impl Fn(usize) -> bool) -> Result<Step, Stop> {
    let mut buffer = [0; 1024];
    let sent = ixfr(5).write(&mut buffer, Some(ours), NOW.unix).unwrap();
    let mac = sent.mac.unwrap();
    let mut incoming = Incoming::new(ixfr(5), Some((ours, &mac)), Limits::default(), 0);
    // What the server signs with is made of the request as it would verify it.
    let verified = verify(&buffer[..sent.octets], theirs, NOW.unix);
    let mut stream: Option<Outgoing<'_>> = verified.ok().map(|verified| verified.reply.stream());
    let mut step = Step::More;
    for (number, row) in rows.iter().enumerate() {
        let mut message = script(Kind::Ixfr).with(std::slice::from_ref(row));
        let octets = message.len();
        if signs(number) {
            message.resize(octets + 300, 0);
            let signed = stream.as_mut().unwrap().append(&mut message, octets, NOW.unix).unwrap();
            message.truncate(signed);
        }
        step = incoming.message(&message, NOW, &mut List::default())?;
    }
    Ok(step)
}

#[test]
fn every_message_signed() {
    let rows = [soa(9), soa(5), a("a.example", 1), soa(9), a("a.example", 2), soa(9)];
    let step = run(&key(b"secret"), &key(b"secret"), &rows, |_| true).unwrap();
    assert!(
        matches!(step, Step::Done(done) if matches!(&done.outcome, Outcome::Changes(all) if all.len() == 1))
    );
}

/// The changes are there, but the last message is not signed: none of them is given.
#[test]
fn the_last_must_be_signed() {
    let rows = [soa(9), soa(5), soa(9), soa(9)];
    let stop = run(&key(b"secret"), &key(b"secret"), &rows, |number| number < 3).unwrap_err();
    assert_eq!(stop.fault, Fault::Tsig(tsig::Fault::Unsigned, 0));
    let stop = run(&key(b"secret"), &key(b"secret"), &rows, |_| false).unwrap_err();
    assert_eq!((stop.fault, stop.place.message), (Fault::Tsig(tsig::Fault::Unsigned, 0), 1));
}

#[test]
fn refused_without_signature() {
    let key = key(b"secret");
    let mut incoming = Incoming::new(ixfr(5), Some((&key, &tsig::Mac::NONE)), Limits::default(), 0);
    let refused = Script { flags: 0x8405, ..script(Kind::Ixfr) }.with(&[]);
    let stop = incoming.message(&refused, NOW, &mut List::default()).unwrap_err();
    assert_eq!(stop.fault, Fault::Tsig(tsig::Fault::Unsigned, rcode::REFUSED));
    assert_eq!(stop.to_string(), "says REFUSED, in an answer not signed");
}
