//! Who gets answers: access, proofs of addresses, cookies, paces.

use super::A;
use crate::Served;
use crate::kit::{Kit, query};
use crate::networks::Networks;
use crate::policy::{Clients, Decision};
use cache::Security::Insecure;
use std::sync::Arc;
use wire::Transport;
use wire::cookie::Secrets;
use wire::header::{RA, RD};
use wire::iana::{ede, rcode, rtype};

#[test]
fn recursion_is_for_some() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Insecure);
    let with = query("www.x", rtype::A, RD, Some((1232, false)), b"");
    let without = query("www.x", rtype::A, 0, Some((1232, false)), b"");
    assert_eq!(kit.serve(&without).0, Served::Refused);
    kit.policy.answers_without_rd = true;
    assert_eq!(kit.serve(&without).1.unwrap().words(), "NOERROR | www.x. 60 A 192.0.2.1");
    let said = kit.serve(&query("y.x", rtype::A, 0, Some((1232, false)), b"")).1.unwrap();
    let refused = (rcode::REFUSED, RA, &[ede::NOT_AUTHORITATIVE][..]);
    assert_eq!((said.rcode, said.flags & RA, &said.edes[..]), refused);
    for (clients, address, expected) in [
        (Clients::loopback(), "192.0.2.1:5", false),
        (Clients::loopback(), "127.0.0.9:5", true),
        (Clients::loopback(), "[::1]:5", true),
        (Clients::loopback(), "[::ffff:127.0.0.1]:5", true),
        (Clients::Of(Networks::new(&[("192.0.2.0".parse().unwrap(), 24)])), "192.0.2.1:5", true),
        (Clients::By(Arc::new(|_| Decision::Denied)), "127.0.0.1:5", false),
    ] {
        (kit.policy.clients, kit.address) = (clients, address);
        let (served, _) = kit.serve(&with);
        assert_eq!(matches!(served, Served::Octets(_)), expected, "{address}");
        if !expected {
            assert_eq!(served, Served::Refused);
            let octets = kit.responder.refuse(&kit.policy, kit.now, &mut kit.room);
            let said = crate::kit::read(&kit.room[..octets]);
            assert_eq!(
                (said.rcode, said.flags & RA, &said.edes[..]),
                (rcode::REFUSED, 0, &[ede::PROHIBITED][..])
            );
        }
    }
}

/// Each response is counted by its code once, whichever way it was made; nothing is for what got none.
#[test]
fn responses_by_code() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Insecure);
    let ask = |name: &str, rd: u16| query(name, rtype::A, rd, Some((1232, false)), b"");
    let of = |kit: &Kit, code: u16| kit.responder.counters().rcodes[usize::from(code)];
    for count in 1..=4 {
        assert!(matches!(kit.serve(&ask("www.x", RD)).0, Served::Octets(_)));
        assert_eq!(of(&kit, rcode::NOERROR), count);
    }
    assert!(kit.responder.counters().rendered > 0, "and some of them as octets");
    assert_eq!(kit.serve(&ask("y.x", RD)).0, Served::Miss);
    let waiting = kit.responder.waiting();
    kit.responder.fail(&waiting, ede::OTHER, &kit.policy, kit.now, &mut kit.room);
    assert_eq!(kit.serve(&ask("www.x", 0)).0, Served::Refused);
    kit.responder.refuse(&kit.policy, kit.now, &mut kit.room);
    assert_eq!(kit.serve(b"no message").0, Served::Drop);
    assert_eq!(kit.responder.asked().0, 0);
    let counted = [rcode::NOERROR, rcode::SERVFAIL, rcode::REFUSED].map(|code| of(&kit, code));
    assert_eq!((counted, kit.responder.counters().rcodes.iter().sum::<u64>()), ([4, 1, 1], 6));
}

/// Clients that must show where they are: by a cookie, or by TCP.
#[test]
fn proofs_of_addresses() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Insecure);
    kit.policy.cookies = Secrets::new(&[[7; 16]]);
    let prove = |asker: &crate::policy::Asker| match asker.is_proved {
        true => Decision::Allowed,
        false => Decision::Unproved,
    };
    kit.policy.clients = Clients::By(Arc::new(prove));
    let with = |options: &[u8]| query("www.x", rtype::A, RD, Some((1232, false)), options);
    assert_eq!(kit.serve(&with(b"")).1.unwrap().words(), "NOERROR tc");
    let said = kit.serve(&with(b"\0\x0a\0\x08client--")).1.unwrap();
    assert_eq!(said.words(), "BADCOOKIE");
    let cookie = &said.octets[said.octets.len() - 24..];
    let said = kit.serve(&with(&[b"\0\x0a\0\x18", cookie].concat())).1.unwrap();
    assert_eq!(said.words(), "NOERROR | www.x. 60 A 192.0.2.1");
    assert!(kit.responder.is_proved());
    assert_eq!(kit.serve(&with(b"\0\x0a\0\x03abc")).1.unwrap().words(), "FORMERR");
    kit.policy.clients = Clients::All;
    kit.policy.demands_cookies = true;
    assert_eq!(kit.serve(&with(b"\0\x0a\0\x08client--")).1.unwrap().words(), "BADCOOKIE");
    assert!(kit.serve(&with(b"")).1.unwrap().words().starts_with("NOERROR |"));
    kit.transport = Transport::Tcp;
    assert!(kit.serve(&with(b"\0\x0a\0\x08client--")).1.unwrap().words().starts_with("NOERROR |"));
    kit.policy.nsid = Some(b"me".to_vec().into());
    let said = kit.serve(&with(b"\0\x03\0\0")).1.unwrap();
    assert!(said.octets.ends_with(b"\0\x03\0\x02me"));
}

/// A query without question is about the cookie alone (RFC 7873 5.4).
#[test]
fn cookies_alone() {
    let mut kit = Kit::new();
    kit.policy.cookies = Secrets::new(&[[7; 16]]);
    let mut octets = b"id\x01\0\0\0\0\0\0\0\0\x01".to_vec();
    octets.extend(b"\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08client--");
    let said = kit.serve(&octets).1.unwrap();
    assert_eq!(
        (said.words(), &said.octets[4..6], said.octets.len()),
        ("NOERROR".into(), &b"\0\0"[..], 12 + 11 + 28)
    );
}

/// Who asks for too much that is not known gets what is, and is told to come by TCP; there, that it failed.
#[test]
fn too_many_questions() {
    let mut kit = Kit::new();
    kit.policy.misses_per_second = 3;
    kit.data("www.x", rtype::A, 60, A, Insecure);
    for (transport, beyond) in [(Transport::Udp, "NOERROR tc"), (Transport::Tcp, "SERVFAIL 0")] {
        kit.transport = transport;
        let said: Vec<_> = (0..5).map(|number| kit.ask(&format!("{number}.y"), rtype::A, 0, false)).collect();
        assert_eq!(said, ["Miss", "Miss", "Miss", beyond, beyond]);
        assert!(kit.ask("www.x", rtype::A, 0, false).starts_with("NOERROR |"));
    }
    assert_eq!((kit.responder.counters().misses, kit.responder.counters().paced), (6, 4));
}
