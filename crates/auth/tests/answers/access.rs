//! Access lists through the responder: what is refused and how, zones with rules of their own, and that kept answers reach nobody else.
use crate::kit::{AA, Kit, rcode};
use auth::access::{Access, GroupRules, Kind, List, ListSource, Prefix, Rule};
use auth::inspect::{self, Response};
use auth::{Client, Responder, Server, Transport};
use std::net::{IpAddr, SocketAddr};
use wire::cookie::Secrets;
use wire::header::TC;
use wire::iana::{class, rtype};
use wire::{Address, NameBuf};
use zone::catalog::Group;

const ZONES: [(&str, &str); 4] = [
    (
        "open.test.",
        "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nwww 60 A 192.0.2.2\nto-own 60 CNAME www.own.test.\n\
         d 60 DNAME own.test.\nmail 60 MX 1 www.own.open.test.\nown 60 NS www.own\nwww.own 60 A 192.0.2.9\n",
    ),
    (
        "own.test.",
        "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nwww 60 A 192.0.2.3\nto-open 60 CNAME www.open.test.\nown 60 NS ns\n",
    ),
    ("own.open.test.", "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS www\nwww 60 A 192.0.2.9\n"),
    ("own.own.test.", "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS www\nwww 60 A 192.0.2.9\n"),
];
/// Inside the only list, and outside.
const IN: &str = "10.0.0.1";
const OUT: &str = "192.0.2.7";
const CLIENT: &[u8; 8] = b"client--";
/// Prohibited, as an option of OPT.
const PROHIBITED: &[u8] = &[0, 15, 0, 2, 0, 18];

fn at(address: &str) -> Address {
    SocketAddr::from((address.parse::<IpAddr>().unwrap(), 5353)).into()
}

fn list(must_be_proved: bool) -> List {
    let prefixes = vec![(Prefix::new("10.0.0.0".parse().unwrap(), 8).unwrap(), false)];
    List::new(&ListSource { prefixes, must_be_proved, ..ListSource::default() }).unwrap()
}

fn rule() -> Rule {
    Rule::Lists([0].into())
}

/// Rules with this default for queries; zones of group 1 have `own`.
fn access(list: List, default: Rule, own: Option<Rule>) -> Access {
    let defaults = [default, Rule::Nobody, Rule::Nobody, Rule::Nobody, Rule::Nobody];
    let groups: Vec<GroupRules> = own.map(|own| [Some(own), None, None, None, None]).into_iter().collect();
    Access::new(vec![list], defaults, groups).unwrap()
}

fn kit(access: Access) -> Kit {
    let server = Server { cookies: Secrets::new(&[[5; 16]]), access, ..Server::default() };
    Kit { server, ..Kit::new(&ZONES) }
}

/// Has a zone be of group `number`, whose answers are for some.
fn set_group(kit: &Kit, zone: &str, number: usize) {
    let name: NameBuf = zone.parse().unwrap();
    let slot = kit.catalog.reader().with(|view| view.slot_named(&name)).unwrap();
    kit.catalog.set_group(slot, Group::new(number, number > 0));
}

/// What asks again and again, as a worker does.
struct Worker<'k> {
    kit: &'k Kit,
    responder: Responder,
}

impl Worker<'_> {
    fn new(kit: &Kit) -> Worker<'_> {
        Worker { kit, responder: Responder::new() }
    }

    fn raw(&mut self, query: &[u8], transport: Transport, address: &str) -> Response {
        let is_proved = transport.is_stream();
        let address = at(address);
        let client = Client { transport, address: &address, is_proved, now: 1_800_000_000 };
        let mut buffer = vec![0; 65535];
        let octets = self
            .kit
            .catalog
            .reader()
            .with(|view| self.responder.answer(query, view, &self.kit.server, &client, &mut buffer));
        inspect::read(&buffer[..octets]).unwrap()
    }

    /// Asks for addresses of `name` over UDP.
    fn ask(&mut self, name: &str, address: &str) -> Response {
        self.raw(&query(name, rtype::A, None), Transport::Udp, address)
    }

    fn rcode(&mut self, name: &str, address: &str) -> u16 {
        self.ask(name, address).rcode
    }
}

/// A query with EDNS, and with a COOKIE option that holds `cookie` if there is one.
fn query(name: &str, qtype: u16, cookie: Option<&[u8]>) -> Vec<u8> {
    let mut query = inspect::query(0, &name.parse::<NameBuf>().unwrap(), qtype, Some((1232, false)));
    if let Some(data) = cookie {
        let length = query.len();
        query[length - 1] = data.len() as u8 + 4;
        query.extend([0, 10, 0, data.len() as u8]);
        query.extend(data);
    }
    query
}

/// The options of a response.
fn options(response: &Response) -> &[u8] {
    &response.opt.as_ref().unwrap().2
}

#[track_caller]
fn assert_refused(response: &Response) {
    assert_eq!((response.rcode, response.flags & (AA | TC)), (rcode::REFUSED, 0), "{response:#?}");
    assert!(response.sections.iter().all(Vec::is_empty));
    assert!(options(response).ends_with(PROHIBITED), "{response:#?}");
}

#[test]
fn who_is_in_no_list_is_refused() {
    let kit = kit(access(list(false), rule(), None));
    let worker = &mut Worker::new(&kit);
    for transport in [Transport::Udp, Transport::Tcp] {
        let refused = worker.raw(&query("www.open.test", rtype::A, None), transport, OUT);
        assert_refused(&refused);
        assert!(refused.question.is_some());
        let answered = worker.raw(&query("www.open.test", rtype::A, None), transport, IN);
        assert_eq!((answered.rcode, answered.sections[0].len()), (rcode::NOERROR, 1));
        assert_eq!(
            worker.raw(&query("www.open.test", rtype::A, None), transport, "::ffff:10.1.1.1").rcode,
            rcode::NOERROR
        );
    }
    assert_eq!(worker.responder.counters().refused_by_access_lists, 2);
    // Who is refused gets a cookie all the same, and the number of the version is for nobody else either.
    let refused = worker.raw(&query("www.open.test", rtype::A, Some(CLIENT)), Transport::Udp, OUT);
    assert_eq!(options(&refused)[..12], [&[0, 10, 0, 24][..], CLIENT].concat());
    assert_refused(&refused);
    let mut chaos = query("version.bind", rtype::TXT, None);
    let end = 12 + b"\x07version\x04bind\0".len();
    chaos[end + 2..end + 4].copy_from_slice(&class::CH.to_be_bytes());
    assert_refused(&worker.raw(&chaos, Transport::Udp, OUT));
    // What is wrong with a message is said to everybody.
    let mut update = query("www.open.test", rtype::A, None);
    update[2] = 5 << 3;
    assert_eq!(worker.raw(&update, Transport::Udp, OUT).rcode, rcode::NOTIMP);
}

/// A worker keeps what it gives often: nobody gets that who may not ask.
#[test]
fn kept_answers_are_given_to_those_who_may_ask() {
    let kit = kit(access(list(false), rule(), None));
    let worker = &mut Worker::new(&kit);
    for name in ["www.open.test", "no.open.test", "to-own.open.test"] {
        let mut before = worker.responder.repeated();
        for _ in 0..4 {
            assert_ne!(worker.rcode(name, IN), rcode::REFUSED);
        }
        assert!(worker.responder.repeated() > before, "{name} is not kept");
        before = worker.responder.repeated();
        assert_refused(&worker.ask(name, OUT));
        assert_eq!(worker.responder.repeated(), before);
        assert_ne!(worker.rcode(name, IN), rcode::REFUSED);
        assert_eq!(worker.responder.repeated(), before + 1);
    }
}

#[test]
fn a_zone_with_a_rule_of_its_own() {
    let kit = kit(access(list(false), Rule::All, Some(rule())));
    set_group(&kit, "own.test", 1);
    let worker = &mut Worker::new(&kit);
    for _ in 0..4 {
        assert_eq!(worker.rcode("www.own.test", IN), rcode::NOERROR);
        assert_eq!(worker.rcode("no.own.test", IN), rcode::NXDOMAIN);
        assert_refused(&worker.ask("www.own.test", OUT));
        assert_refused(&worker.ask("no.own.test", OUT));
    }
    assert_eq!(worker.responder.repeated(), 0, "nothing of such a zone is kept");
    for _ in 0..4 {
        assert_eq!(worker.rcode("www.open.test", OUT), rcode::NOERROR);
    }
    assert!(worker.responder.repeated() > 0);
}

/// The nearest zone decides, also for more than the default lets in.
#[test]
fn a_zone_that_is_open_on_a_closed_server() {
    let kit = kit(access(list(false), Rule::Nobody, Some(Rule::All)));
    set_group(&kit, "open.test", 1);
    let worker = &mut Worker::new(&kit);
    for _ in 0..3 {
        assert_eq!(worker.rcode("www.open.test", OUT), rcode::NOERROR);
        assert_refused(&worker.ask("www.own.test", OUT));
        assert_refused(&worker.ask("www.own.open.test", OUT));
        assert_refused(&worker.ask("nowhere", OUT));
    }
}

/// As though the zone that the alias leads to were not ours.
#[test]
fn an_alias_ends_where_the_client_is_kept_out() {
    let kit = kit(access(list(false), Rule::All, Some(rule())));
    set_group(&kit, "own.test", 1);
    let worker = &mut Worker::new(&kit);
    for _ in 0..4 {
        for (name, records) in [("to-own.open.test", 1), ("www.d.open.test", 2)] {
            let whole = worker.ask(name, IN);
            assert_eq!((whole.rcode, whole.sections[0].len()), (rcode::NOERROR, records + 1));
            let ended = worker.ask(name, OUT);
            assert_eq!(
                (ended.rcode, ended.flags & AA, ended.sections[0].len()),
                (rcode::NOERROR, AA, records)
            );
            assert!(ended.sections[1..].iter().all(Vec::is_empty));
        }
        // From the zone outwards it is the first that counts, and then the second.
        assert_refused(&worker.ask("to-open.own.test", OUT));
        assert_eq!(worker.ask("to-open.own.test", IN).sections[0].len(), 2);
    }
    assert_eq!(worker.responder.repeated(), 0);
}

/// Neither additional data nor glue comes from a zone that keeps the client out, and the zone above does not answer for it.
#[test]
fn the_zone_above_tells_nothing_of_it() {
    let kit = kit(access(list(false), Rule::All, Some(rule())));
    set_group(&kit, "own.open.test", 1);
    let worker = &mut Worker::new(&kit);
    assert_refused(&worker.ask("www.own.open.test", OUT));
    assert_refused(&worker.ask("x.y.own.open.test", OUT));
    let mail = worker.raw(&query("mail.open.test", rtype::MX, None), Transport::Udp, OUT);
    assert_eq!((mail.sections[0].len(), mail.sections[2].len()), (1, 0), "{mail:#?}");
}

/// DS is asked of the zone above; one that keeps the client out is as none (RFC 4035 3.1.4.1).
#[test]
fn ds_at_the_apex_below_a_closed_zone() {
    let kit = kit(access(list(false), Rule::All, Some(rule())));
    set_group(&kit, "own.test", 1);
    let worker = &mut Worker::new(&kit);
    let mut soa = |address| {
        let response = worker.raw(&query("own.own.test", rtype::DS, None), Transport::Udp, address);
        assert_eq!((response.rcode, response.sections[0].len()), (rcode::NOERROR, 0));
        response.sections[1][0].owner.to_string()
    };
    for _ in 0..3 {
        assert_eq!((soa(IN), soa(OUT)), ("own.test.".into(), "own.own.test.".into()));
    }
}

#[test]
fn a_client_has_to_show_that_its_address_is_its_own() {
    let kit = kit(access(list(true), rule(), None));
    let worker = &mut Worker::new(&kit);
    let plain = query("www.open.test", rtype::A, None);
    let sent_back = worker.raw(&plain, Transport::Udp, IN);
    assert_eq!((sent_back.rcode, sent_back.flags & (TC | AA)), (rcode::NOERROR, TC));
    assert!(sent_back.sections.iter().all(Vec::is_empty));
    assert_eq!(worker.raw(&plain, Transport::Tcp, IN).sections[0].len(), 1);
    let first = worker.raw(&query("www.open.test", rtype::A, Some(CLIENT)), Transport::Udp, IN);
    assert_eq!((first.rcode, first.sections[0].len()), (rcode::BADCOOKIE, 0));
    let cookie = &options(&first)[4..28];
    for _ in 0..4 {
        let second = worker.raw(&query("www.open.test", rtype::A, Some(cookie)), Transport::Udp, IN);
        assert_eq!((second.rcode, second.sections[0].len()), (rcode::NOERROR, 1));
        // The kept answer is for those with a good cookie only.
        assert_eq!(worker.raw(&plain, Transport::Udp, IN).flags & TC, TC);
    }
    assert!(worker.responder.repeated() > 0);
    // Who is in no list is not sent back and forth.
    assert_refused(&worker.raw(&plain, Transport::Udp, OUT));
    assert_refused(&worker.raw(&query("www.open.test", rtype::A, Some(CLIENT)), Transport::Udp, OUT));
    // A cookie can be asked for by itself (RFC 7873 5.4).
    let mut alone = query("www.open.test", rtype::A, Some(CLIENT));
    alone.drain(12..12 + b"\x03www\x04open\x04test\0\0\x01\0\x01".len());
    alone[5] = 0;
    assert_eq!(worker.raw(&alone, Transport::Udp, OUT).rcode, rcode::NOERROR);
    // A stream that came without a handshake cannot be sent anywhere.
    let address = at(IN);
    let client = Client { address: &address, is_proved: false, ..Client::unknown(Transport::Quic) };
    let mut buffer = [0; 512];
    let octets = kit
        .catalog
        .reader()
        .with(|view| worker.responder.answer(&plain, view, &kit.server, &client, &mut buffer));
    assert_refused(&inspect::read(&buffer[..octets]).unwrap());
}

/// A zone may demand what the server does not.
#[test]
fn a_zone_that_wants_proof() {
    let kit = kit(access(list(true), Rule::All, Some(rule())));
    set_group(&kit, "own.test", 1);
    let worker = &mut Worker::new(&kit);
    assert_eq!(worker.ask("www.open.test", IN).sections[0].len(), 1);
    assert_eq!(worker.ask("www.own.test", IN).flags & TC, TC);
    let first = worker.raw(&query("www.own.test", rtype::A, Some(CLIENT)), Transport::Udp, IN);
    assert_eq!(first.rcode, rcode::BADCOOKIE);
    let cookie = options(&first)[4..28].to_vec();
    assert_eq!(
        worker.raw(&query("www.own.test", rtype::A, Some(&cookie)), Transport::Udp, IN).sections[0].len(),
        1
    );
    assert_refused(&worker.ask("www.own.test", OUT));
}

/// What was kept of a zone is not given any more once it has a rule of its own, even to somebody who sees the lists of before.
#[test]
fn a_change_of_rules_reaches_kept_answers() {
    let open = kit(Access::default());
    let mut worker = Worker::new(&open);
    let names = ["www.own.test", "no.own.test", "to-own.open.test"];
    for name in names {
        (0..4).for_each(|_| drop(worker.ask(name, OUT)));
    }
    let kept = worker.responder.repeated();
    assert!(kept >= names.len() as u64);
    set_group(&open, "own.test", 1);
    for name in names {
        (0..4).for_each(|_| assert_ne!(worker.rcode(name, OUT), rcode::REFUSED));
    }
    assert_eq!(worker.responder.repeated(), kept, "nothing is kept once the group says so");
    let responder = worker.responder;
    let closed = Kit {
        server: Server { access: access(list(false), Rule::All, Some(rule())), ..Server::default() },
        ..open
    };
    let mut worker = Worker { kit: &closed, responder };
    assert_refused(&worker.ask("www.own.test", OUT));
    assert_refused(&worker.ask("no.own.test", OUT));
    assert_eq!(worker.ask("to-own.open.test", OUT).sections[0].len(), 1);
    // And back: what was made meanwhile is not given either.
    set_group(&closed, "own.test", 0);
    assert_eq!(worker.ask("to-own.open.test", OUT).sections[0].len(), 2);
    (0..4).for_each(|_| assert_eq!(worker.rcode("www.own.test", OUT), rcode::NOERROR));
    assert!(worker.responder.repeated() > kept);
}

/// A group that the lists do not know yet lets nobody in.
#[test]
fn an_unknown_group_is_closed() {
    let kit = kit(access(list(false), Rule::All, Some(rule())));
    set_group(&kit, "own.test", 2);
    let worker = &mut Worker::new(&kit);
    assert_refused(&worker.ask("www.own.test", IN));
    assert_eq!(worker.rcode("www.open.test", IN), rcode::NOERROR);
}

/// Rules for other kinds of requests change nothing for queries, whose answers are kept.
#[test]
fn a_group_with_other_rules_is_as_none() {
    let groups = vec![[None, Some(Rule::Nobody), None, None, None]];
    let access = Access::new(Vec::new(), [const { Rule::All }; Kind::COUNT], groups).unwrap();
    assert!(access.is_open());
    let kit = kit(access);
    let name: NameBuf = "own.test".parse().unwrap();
    let slot = kit.catalog.reader().with(|view| view.slot_named(&name)).unwrap();
    kit.catalog.set_group(slot, Group::new(1, false));
    let worker = &mut Worker::new(&kit);
    (0..4).for_each(|_| assert_eq!(worker.rcode("www.own.test", OUT), rcode::NOERROR));
    assert!(worker.responder.repeated() > 0);
}
