//! `wire::tsig` beside BIND: what it signs named checks and answers, and what `dig -y` and `nsupdate -y` sign it checks and answers.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpStream, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use common::{Named, peer};
use wire::iana::rcode;
use wire::tsig::{Algorithm, Fault, Incoming, Key, Mac, Progress, verify};

/// What BIND has of the algorithms; `hmac-sha256-128` and the like are to it hmac-sha256 cut to so many bits.
const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::HmacMd5,
    Algorithm::HmacSha1,
    Algorithm::HmacSha224,
    Algorithm::HmacSha256,
    Algorithm::HmacSha384,
    Algorithm::HmacSha512,
];

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const SECRET_OCTETS: &[u8] = b"0123456789abcdef0123456789abcdef";
const ZONE: &[u8] = b"\x07dynamic\x07example\0";

fn key(algorithm: Algorithm) -> Key {
    let name = wire::NameBuf::from_text(&format!("{}.key", algorithm.mnemonic())).unwrap();
    Key::new(&name, algorithm, SECRET_OCTETS)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A query for the zone, signed.
fn query(key: &Key, qtype: u8, time: u64) -> (Vec<u8>, Mac) {
    let mut message = [b"\x12\x34\0\0\0\x01\0\0\0\0\0\0", ZONE, &[0, qtype, 0, 1]].concat();
    let octets = message.len();
    message.resize(octets + key.octets(), 0);
    let (octets, mac) = key.sign(&mut message, octets, time).unwrap();
    message.truncate(octets);
    (message, mac)
}

#[test]
fn named_answers() {
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("zone");
    let hosts: String = (0..3000).map(|number| format!("host{number} A 192.0.2.1\n")).collect();
    fs::write(&zone, format!("$TTL 60\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n{hosts}")).unwrap();
    let statement = |algorithm: Algorithm| {
        let name = algorithm.mnemonic();
        format!("key \"{name}.key\" {{ algorithm {name}; secret \"{SECRET}\"; }};\n")
    };
    let keys = ALGORITHMS.map(statement).concat();
    let zone = zone.to_str().unwrap();
    let Some(named) = Named::start(folder.path(), "dynamic.example.", zone, &keys, "none; ") else { return };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", named.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let ask = |message: &[u8]| {
        socket.send(message).unwrap();
        let mut room = vec![0; 4096];
        let octets = socket.recv(&mut room).unwrap();
        room.truncate(octets);
        room
    };
    for algorithm in ALGORITHMS {
        let key = key(algorithm);
        let (message, mac) = query(&key, 6, now());
        let response = ask(&message);
        assert_eq!((response[3] & 15, response[7]), (0, 1), "{algorithm:?}");
        assert_eq!(key.check(&response, &mac, now()).unwrap().error, 0);
        let other = query(&key, 6, now() + 1).1;
        assert_eq!(key.check(&response, &other, now()), Err(Fault::Mac));

        // A clock that is wrong: signed, with both times.
        let (message, mac) = query(&key, 6, now() - 1000);
        let response = ask(&message);
        assert_eq!(u16::from(response[3] & 15), rcode::NOTAUTH);
        assert_eq!(key.check(&response, &mac, now() - 1000).unwrap().error, rcode::BADTIME);

        // Unsigned: another secret, an unknown key.
        let stranger = Key::new(&wire::NameBuf::from_text("x.").unwrap(), algorithm, SECRET_OCTETS);
        let liar = Key::new(key.name(), algorithm, b"another");
        for (key, error) in [(liar, wire::tsig::BADSIG), (stranger, rcode::BADKEY)] {
            let (message, mac) = query(&key, 6, now());
            assert_eq!(key.check(&ask(&message), &mac, now()), Err(Fault::Refused(error)));
        }
        assert!(transfer(&key, named.port) > 1);
    }
}

/// Takes the zone from named, every message checked; returns how many there were.
fn transfer(key: &Key, port: u16) -> usize {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (message, mac) = query(key, 252, now());
    stream.write_all(&[&(message.len() as u16).to_be_bytes()[..], &message].concat()).unwrap();
    let mut incoming = Incoming::new(key, &mac);
    let (mut records, mut messages) = (0, 0);
    // 3,000 hosts, NS and its address, SOA twice.
    while records < 3004 {
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut message = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut message).unwrap();
        assert!(matches!(incoming.check(&message, now()).unwrap(), Progress::Confirmed { .. }));
        records += u16::from_be_bytes([message[6], message[7]]);
        messages += 1;
    }
    incoming.end().unwrap();
    messages
}

/// Answers what is signed by one of the keys with NOERROR and its question, signed; until `stop`.
fn serve(socket: &UdpSocket, keys: &[Key], stop: &AtomicBool) -> Vec<Result<usize, Fault>> {
    let mut results = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut room = vec![0; 4096];
        let Ok((octets, client)) = socket.recv_from(&mut room) else { continue };
        let query = room[..octets].to_vec();
        // Question or zone section alone.
        let end = wire::record::skip_name(&query, 12).unwrap() + 4;
        room[..12].copy_from_slice(&[query[0], query[1], query[2] | 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        let octets = match verify(&query, keys, now()) {
            Ok(verified) => {
                results.push(Ok(query.len() - verified.octets));
                verified.reply.append(&mut room, end, now())
            }
            Err(rejected) => {
                results.push(Err(rejected.fault));
                room[3] |= rejected.fault.rcode() as u8;
                rejected.append(&mut room, end, now())
            }
        };
        socket.send_to(&room[..octets.unwrap()], client).unwrap();
    }
    results
}

/// Whether dig complains of no signature.
fn is_believed(said: &str) -> bool {
    !["verify", "validated"].iter().any(|word| said.to_lowercase().contains(word))
}

#[test]
fn dig_and_nsupdate_ask() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let mut keys: Vec<Key> = ALGORITHMS.map(key).into();
    let cut = Key::new(&wire::NameBuf::from_text("cut.key").unwrap(), Algorithm::HmacSha256, SECRET_OCTETS);
    keys.push(cut.with_mac_octets_min(20).unwrap());
    let stop = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    let text = format!(
        "server 127.0.0.1 {port}\nzone dynamic.example.\nupdate add a.dynamic.example. 60 A 192.0.2.1\nsend\n"
    );
    fs::write(&script, text).unwrap();
    let results = std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(&socket, &keys, &stop));
        // The server ends whatever the assertions say.
        let asked = std::panic::catch_unwind(|| {
            let dig = |key: &str| {
                let words = ["-y", key, "@127.0.0.1", "-p", &port, "+tries=1", "dynamic.example.", "SOA"];
                peer("dig", &words).map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            };
            for algorithm in ALGORITHMS {
                let name = algorithm.mnemonic();
                let Some(said) = dig(&format!("{name}:{name}.key:{SECRET}")) else { return false };
                assert!(said.contains("TSIG PSEUDOSECTION") && said.contains("NOERROR"), "{said}");
                assert!(is_believed(&said), "{said}");
                let key = format!("{name}:{name}.key:{SECRET}");
                let output = peer("nsupdate", &["-y", &key, script.to_str().unwrap()]).unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            // Cut to 160 bits, which this key takes, and no other; and a secret that is another.
            let said = dig(&format!("hmac-sha256-160:cut.key:{SECRET}")).unwrap();
            assert!(said.contains("NOERROR") && is_believed(&said), "{said}");
            let said = dig(&format!("hmac-sha256-160:hmac-sha256.key:{SECRET}")).unwrap();
            assert!(said.contains("NOTAUTH") && said.contains("BADTRUNC"), "{said}");
            let said = dig("hmac-sha256:hmac-sha256.key:bm90IHRoZSBzZWNyZXQ=").unwrap();
            assert!(said.contains("NOTAUTH") && said.contains("BADSIG"), "{said}");
            let said = dig(&format!("hmac-sha256:unknown.key:{SECRET}")).unwrap();
            assert!(said.contains("NOTAUTH") && said.contains("BADKEY"), "{said}");
            true
        });
        stop.store(true, Ordering::Relaxed);
        let results = server.join().unwrap();
        match asked {
            Ok(was_asked) => was_asked.then_some(results),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let Some(results) = results else { return };
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 2 * ALGORITHMS.len() + 1);
    let faults: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    assert_eq!(faults, [Fault::Truncated, Fault::Mac, Fault::Key]);
}
