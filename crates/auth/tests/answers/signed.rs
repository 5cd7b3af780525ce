//! Signed queries (RFC 8945): answered as others, signed, within the room; what is wrong with a signature; keys in access lists.
use crate::kit;
use crate::kit::{Kit, rcode};
use auth::access::{GroupRules, List, ListSource, Rule};
use auth::{Access, Answered, Client, Keys, Responder, Server, Transport, inspect};
use wire::iana::rtype;
use wire::tsig::{Algorithm, FUDGE_SECONDS, Fault, Key, Mac};
use wire::{Address, NameBuf};

const NOW: u64 = 1_800_000_000;
const SECRET: &[u8] = b"0123456789abcdef";

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn key(text: &str, algorithm: Algorithm) -> Key {
    Key::new(&name(text), algorithm, SECRET)
}

/// Signs a question and asks it; `None` without a response.
fn ask(
    kit: &Kit,
    key: &Key,
    question: (&str, u16),
    edns: Option<(u16, bool)>,
    transport: Transport,
    at: u64,
) -> (Vec<u8>, Mac) {
    let mut query = inspect::query(0x0100, &name(question.0), question.1, edns);
    let octets = query.len();
    query.resize(octets + key.octets(), 0);
    let (octets, mac) = key.sign(&mut query, octets, at).unwrap();
    let mut room = vec![0xee; 65_535];
    let address = Address::v4([192, 0, 2, 1], 5353);
    let client = Client { transport, address: &address, is_proved: false, now: NOW };
    let mut reader = kit.catalog.reader();
    let octets =
        reader.with(|view| Responder::new().answer(&query[..octets], view, &kit.server, &client, &mut room));
    room.truncate(octets);
    (room, mac)
}

fn kit(keys: &[(&str, Algorithm)]) -> Kit {
    let text = "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS a.\nwww 60 A 192.0.2.1\n\
                many 60 TXT aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\
                many 60 TXT baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\
                many 60 TXT caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
    let names: Vec<NameBuf> = keys.iter().map(|(text, _)| name(text)).collect();
    let keys = names.iter().zip(keys).map(|(name, (_, algorithm))| (&**name, *algorithm, SECRET.into()));
    Kit {
        server: Server { keys: Keys::new(keys).unwrap(), ..Server::default() },
        ..Kit::new(&[("example", text)])
    }
}

#[test]
fn answers_are_signed_with_the_key_of_the_query() {
    for algorithm in Algorithm::ALL {
        let kit = kit(&[("k.example", algorithm), ("other", Algorithm::HmacSha256)]);
        let key = key("K.example", algorithm);
        for (transport, edns) in [
            (Transport::Udp, None),
            (Transport::Udp, Some((1232, true))),
            (Transport::Tcp, Some((1232, false))),
        ] {
            let (response, mac) = ask(&kit, &key, ("www.example", rtype::A), edns, transport, NOW - 7);
            let checked = key.check(&response, &mac, NOW).unwrap();
            assert_eq!(checked.error, 0);
            let read = inspect::read(&response).unwrap();
            assert_eq!(
                (read.rcode, read.lines(0)),
                (rcode::NOERROR, vec!["www.example. 60 IN A 192.0.2.1".to_owned()])
            );
            assert_eq!(read.opt.is_some(), edns.is_some());
        }
    }
}

/// Whatever the key, what is too long with its signature is truncated, and signed.
#[test]
fn truncated_within_the_room() {
    let long = "k.0123456789012345678901234567890123456789.0123456789012345678901234567890123456789";
    let kit = kit(&[(long, Algorithm::HmacSha512)]);
    let key = key(long, Algorithm::HmacSha512);
    let (response, mac) = ask(&kit, &key, ("many.example", rtype::TXT), None, Transport::Udp, NOW);
    assert!(response.len() <= 512, "{}", response.len());
    key.check(&response, &mac, NOW).unwrap();
    let read = inspect::read(&response).unwrap();
    assert!(read.flags & wire::header::TC != 0 && read.sections[0].is_empty());
    let (response, mac) = ask(&kit, &key, ("many.example", rtype::TXT), None, Transport::Tcp, NOW);
    key.check(&response, &mac, NOW).unwrap();
    assert_eq!(inspect::read(&response).unwrap().sections[0].len(), 3);
}

#[test]
fn what_is_wrong_with_a_signature() {
    let kit = kit(&[("k.example", Algorithm::HmacSha256)]);
    let good = key("k.example", Algorithm::HmacSha256);
    let question = ("www.example", rtype::A);
    let check = |key: &Key, at, expected: Result<u16, Fault>| {
        let (response, mac) = ask(&kit, key, question, None, Transport::Udp, at);
        assert_eq!(inspect::read(&response).unwrap().rcode, rcode::NOTAUTH);
        assert!(inspect::read(&response).unwrap().sections[0].is_empty());
        assert_eq!(key.check(&response, &mac, NOW).map(|checked| checked.error), expected);
    };
    check(&key("l.example", Algorithm::HmacSha256), NOW, Err(Fault::Refused(rcode::BADKEY)));
    check(&key("k.example", Algorithm::HmacSha1), NOW, Err(Fault::Refused(rcode::BADKEY)));
    let other = Key::new(&name("k.example"), Algorithm::HmacSha256, b"another");
    check(&other, NOW, Err(Fault::Refused(wire::tsig::BADSIG)));
    check(&good, NOW - u64::from(FUDGE_SECONDS) - 1, Ok(rcode::BADTIME));
}

/// Who has the key gets the zone, who has another or none does not.
#[test]
fn keys_in_access_lists() {
    let mut kit = kit(&[("k.example", Algorithm::HmacSha256), ("other", Algorithm::HmacSha256)]);
    let list = List::new(&ListSource { keys: vec![name("K.EXAMPLE")], ..ListSource::default() }).unwrap();
    use Rule::Nobody;
    let rules = [Rule::Lists([0].into()), Nobody, Nobody, Nobody, Nobody];
    let groups: Vec<GroupRules> = Vec::new();
    kit.server.access = Access::new(vec![list], rules, groups).unwrap();
    let of = |text| {
        let key = key(text, Algorithm::HmacSha256);
        let (response, mac) = ask(&kit, &key, ("www.example", rtype::A), None, Transport::Udp, NOW);
        key.check(&response, &mac, NOW).unwrap();
        inspect::read(&response).unwrap().rcode
    };
    assert_eq!((of("k.example"), of("other")), (rcode::NOERROR, rcode::REFUSED));
    assert_eq!(kit.ask("www.example A", kit::How::Plain).rcode, rcode::REFUSED);
}

/// Requests are read once and verified; what is wrong with them is answered.
#[test]
fn requests() {
    let kit = kit(&[("k.example", Algorithm::HmacSha256)]);
    let key = key("k.example", Algorithm::HmacSha256);
    let mut query = inspect::query(0, &name("Example"), rtype::AXFR, Some((1232, false)));
    let plain = query.clone();
    let octets = query.len();
    query.resize(octets + key.octets(), 0);
    let (octets, mac) = key.sign(&mut query, octets, NOW).unwrap();
    query.truncate(octets);
    let address = Address::v4([192, 0, 2, 1], 5353);
    let client = Client { transport: Transport::Tcp, address: &address, is_proved: true, now: NOW };
    let mut responder = Responder::new();
    let mut room = vec![0; 65_535];
    let mut reader = kit.catalog.reader();
    for message in [&query, &plain] {
        let answered = reader.with(|view| responder.serve(message, view, &kit.server, &client, &mut room));
        assert_eq!(answered, Answered::Request);
        let request = responder.request(message, &kit.server, &client, &mut room).map_err(drop).unwrap();
        assert_eq!((request.qtype, request.name()), (rtype::AXFR, &*name("Example")));
        assert_eq!(request.octets, plain.len());
        let is_signed = *message == query;
        assert_eq!(request.key.map(|key| key.name().to_string()), is_signed.then(|| "k.example.".to_owned()));
        let octets = request.envelope.write(&mut room, rcode::REFUSED, Some(18), NOW);
        let read = inspect::read(&room[..octets]).unwrap();
        assert_eq!((read.rcode, read.question.as_deref()), (rcode::REFUSED, Some("Example. AXFR 1")));
        assert!(read.opt.is_some());
        assert_eq!(key.check(&room[..octets], &mac, NOW).is_ok(), is_signed);
    }
    let at = query.len() - 20;
    query[at] ^= 1;
    let octets = responder.request(&query, &kit.server, &client, &mut room).map(drop).unwrap_err();
    assert_eq!(key.check(&room[..octets], &mac, NOW), Err(Fault::Refused(wire::tsig::BADSIG)));
}
