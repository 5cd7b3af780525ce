//! Limits of rates through the responder: who gets what beyond them, kept answers or not.
use crate::kit::{Kit, rcode};
use auth::access::{Access, Kind, List, ListSource, Prefix, Rule};
use auth::inspect::{self, Response};
use auth::rate::Limits;
use auth::{Client, Counters, Responder, Server, Transport};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use wire::NameBuf;
use wire::cookie::Secrets;
use wire::header::TC;
use wire::iana::rtype;

const ZONE: &str = "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nwww 60 A 192.0.2.2\nmail 60 A 192.0.2.3\n\
    cut 60 NS ns.cut\nns.cut 60 A 192.0.2.4\nfar.cut2 60 NS ns\n*.wild 60 A 192.0.2.5\nd 60 DNAME www\n";
const NOW: u64 = 1_800_000_000;
const CLIENT: &[u8; 8] = b"client--";
const VICTIM: &str = "198.51.100.7";
/// Divides a second of the limits' clock.
const LIMIT: usize = 16;

fn limits() -> Limits {
    Limits {
        responses_per_second: LIMIT as u32,
        network_per_second: 0,
        wide_per_second: 0,
        slip: 0,
        ..Limits::default()
    }
}

/// A worker and its zones.
struct Worker {
    kit: Kit,
    responder: Responder,
    told: Arc<auth::rate::Told>,
}

impl Worker {
    fn new(limits: Limits) -> Worker {
        let prefix = |text: &str| (Prefix::new(text.parse().unwrap(), 24).unwrap(), false);
        let source = ListSource { prefixes: vec![prefix("203.0.113.0")], ..ListSource::default() };
        let mut defaults = [const { Rule::Nobody }; Kind::COUNT];
        defaults[Kind::Query as usize] = Rule::All;
        let access = Access::new(vec![List::new(&source).unwrap()], defaults, Vec::new()).unwrap();
        let cookies = Secrets::new(&[[5; 16]]);
        let server = Server { cookies, access: access.limited(Some(limits)), ..Server::default() };
        let told = Arc::default();
        let mut responder =
            Responder::counting_from(Counters::default(), Arc::default(), 1, Arc::clone(&told));
        responder.set_time(Duration::from_secs(100));
        Worker { kit: Kit { server, ..Kit::new(&[("example.", ZONE), ("other.", ZONE)]) }, responder, told }
    }

    fn ask(&mut self, query: &[u8], transport: Transport, address: &str) -> Option<Response> {
        let address = SocketAddr::from((address.parse::<IpAddr>().unwrap(), 5353)).into();
        let client = Client { transport, address: &address, is_proved: transport.is_stream(), now: NOW };
        let mut buffer = vec![0; 4096];
        let (responder, server) = (&mut self.responder, &self.kit.server);
        let octets = self
            .kit
            .catalog
            .reader()
            .with(|view| responder.answer_limited(query, view, server, &client, &mut buffer));
        (octets > 0).then(|| inspect::read(&buffer[..octets]).unwrap())
    }

    /// How many of a hundred queries that the victim seems to send are answered with all there is.
    fn answered(&mut self, query: impl Fn(usize) -> Vec<u8>) -> usize {
        (0..100).filter(|number| self.ask(&query(*number), Transport::Udp, VICTIM).is_some()).count()
    }
}

fn plain(name: &str, qtype: u16) -> Vec<u8> {
    inspect::query(0x55, &name.parse::<NameBuf>().unwrap(), qtype, Some((1232, false)))
}

/// The same with a COOKIE option.
fn with_cookie(name: &str, data: &[u8]) -> Vec<u8> {
    let mut query = plain(name, rtype::A);
    let length = query.len();
    query[length - 1] = data.len() as u8 + 4;
    query.extend([0, 10, 0, data.len() as u8]);
    query.extend(data);
    query
}

/// What is the same answer, for answers that are kept (the same name each time) and such that are not (another name each time).
#[test]
fn what_is_the_same_answer() {
    let check = |what: &str, query: &dyn Fn(usize) -> Vec<u8>, expected: usize| {
        let mut worker = Worker::new(limits());
        assert_eq!(worker.answered(query), expected, "{what}");
        worker.responder.show_limited();
        let counts = worker.told.counts.read();
        let counted: u64 = counts.each().map(|(_, _, count)| count).sum();
        assert_eq!(counted as usize, 100 - expected, "{what}");
        let counters = worker.responder.counters();
        let given = counters.answers + counters.referrals + counters.no_data + counters.name_errors;
        assert_eq!((given as usize, counters.dropped as usize), (expected, 100 - expected), "{what}: given");
    };
    check("one name", &|_| plain("www.example", rtype::A), LIMIT);
    check(
        "in any case",
        &|at| plain(if at % 2 == 0 { "www.example" } else { "WWW.eXample" }, rtype::A),
        LIMIT,
    );
    check("two names", &|at| plain(["www.example", "mail.example"][at % 2], rtype::A), 2 * LIMIT);
    check("two types", &|at| plain("www.example", [rtype::A, rtype::ANY][at % 2]), 2 * LIMIT);
    check(
        "with and without DO",
        &|at| inspect::query(1, &"www.example".parse::<NameBuf>().unwrap(), 1, Some((1232, at % 2 == 0))),
        LIMIT,
    );
    check(
        "no data at several names",
        &|at| plain(["www.example", "mail.example", "ns.example"][at % 3], rtype::MX),
        LIMIT,
    );
    check("names that do not exist", &|at| plain(&format!("no{at}.example"), rtype::A), LIMIT);
    check("deep ones", &|at| plain(&format!("a.no{at}.www.example"), rtype::A), LIMIT);
    check(
        "of two zones",
        &|at| plain(&format!("no{at}.{}", ["example", "other"][at % 2]), rtype::A),
        2 * LIMIT,
    );
    check("names below a cut", &|at| plain(&format!("x{at}.cut.example"), rtype::A), LIMIT);
    check("the same name below a cut", &|_| plain("x.cut.example", rtype::A), LIMIT);
    check("names below a deep cut", &|at| plain(&format!("x{at}.far.cut2.example"), rtype::A), LIMIT);
    check(
        "two cuts",
        &|at| plain(&format!("x{at}.{}.example", ["cut", "far.cut2"][at % 2]), rtype::A),
        2 * LIMIT,
    );
    check("names of a wildcard", &|at| plain(&format!("x{at}.wild.example"), rtype::A), LIMIT);
    check("one of them", &|_| plain("x.wild.example", rtype::A), LIMIT);
}

/// Errors have one account a network, whatever they are about; so have answers about the server.
#[test]
fn errors_are_limited_together() {
    let mut worker = Worker::new(limits());
    let query = |at: usize| match at % 4 {
        0 => plain("www.elsewhere", rtype::A),
        1 => plain("www.example", rtype::MAILA),
        2 => {
            let mut two = plain("www.example", rtype::A);
            two[5] = 2;
            two
        }
        _ => {
            let mut chaos = plain("version.bind", rtype::TXT);
            let class = chaos.len() - 11 - 1;
            chaos[class] = 3;
            chaos
        }
    };
    assert_eq!(worker.answered(query), LIMIT);
    assert_eq!(worker.answered(|_| plain("www.example", rtype::A)), LIMIT);
}

#[test]
fn who_is_never_limited() {
    let mut worker = Worker::new(Limits { exempt: Rule::Lists([0].into()), ..limits() });
    assert_eq!(worker.answered(|_| plain("www.example", rtype::A)), LIMIT);
    let first = worker.ask(&with_cookie("www.example", CLIENT), Transport::Udp, "192.0.2.77").unwrap();
    let good = first.opt.unwrap().2[4..].to_vec();
    for number in 0..100 {
        let over_tcp = worker.ask(&plain("www.example", rtype::A), Transport::Tcp, VICTIM);
        assert_eq!(over_tcp.unwrap().sections[0].len(), 1);
        let exempt = worker.ask(&plain("www.example", rtype::A), Transport::Udp, "203.0.113.9");
        assert_eq!(exempt.unwrap().sections[0].len(), 1);
        for name in ["www.example".into(), format!("x{number}.wild.example")] {
            let proved = worker.ask(&with_cookie(&name, &good), Transport::Udp, "192.0.2.77").unwrap();
            assert_eq!(proved.sections[0].len(), 1);
        }
        // A cookie is good at its own address only, and the next client is judged for itself.
        assert_eq!(worker.ask(&plain("www.example", rtype::A), Transport::Udp, VICTIM), None);
    }
    assert!(
        (0..100)
            .any(|_| worker.ask(&with_cookie("www.example", &good), Transport::Udp, "192.0.2.78").is_none())
    );
}

/// What comes instead of answers: as many octets as came, divided by `slip`, none longer than its query but for a new cookie.
#[test]
fn slips() {
    for slip in [1, 2, 3] {
        let mut worker = Worker::new(Limits { slip, ..limits() });
        for (query, is_kept) in [
            (plain("www.example", rtype::A), true),
            (plain("x.cut.example", rtype::A), true),
            (inspect::query(1, &"mail.example".parse::<NameBuf>().unwrap(), 1, None), false),
        ] {
            let (mut slipped, mut answered) = (0, 0);
            for _ in 0..1016 {
                match worker.ask(&query, Transport::Udp, VICTIM) {
                    Some(response) if response.flags & TC != 0 => {
                        assert_eq!((response.rcode, response.octets), (rcode::NOERROR, query.len()));
                        assert!(response.sections.iter().all(Vec::is_empty) && response.question.is_some());
                        assert_eq!(response.opt.is_some(), query[11] == 1);
                        slipped += 1;
                    }
                    Some(_) => answered += 1,
                    None => {}
                }
            }
            assert_eq!(answered, LIMIT, "{is_kept}");
            assert!((1000 / slip - 2..=1000 / slip + 1).contains(&slipped), "{slip}: {slipped}");
        }
    }
    // An error is no reason to come over TCP.
    let mut worker = Worker::new(Limits { slip: 1, ..limits() });
    assert_eq!(worker.answered(|_| plain("www.elsewhere", rtype::A)), LIMIT);
}

/// Who sends a cookie is given a good one, and goes on with it.
#[test]
fn a_slip_with_a_cookie() {
    let mut worker = Worker::new(Limits { slip: 2, ..limits() });
    let query = with_cookie("www.example", CLIENT);
    let (mut came, mut left, mut good) = (0, 0, None);
    for _ in 0..1000 {
        let response = worker.ask(&query, Transport::Udp, VICTIM);
        if response.as_ref().is_none_or(|response| response.rcode == rcode::BADCOOKIE) {
            came += query.len();
        }
        if let Some(response) = response.filter(|response| response.rcode == rcode::BADCOOKIE) {
            assert!(response.sections.iter().all(Vec::is_empty));
            left += response.octets;
            good = Some(response.opt.unwrap().2[4..].to_vec());
        }
    }
    assert!(left * 2 <= came && left * 2 + 200 > came, "{left} of {came}");
    for _ in 0..100 {
        let response =
            worker.ask(&with_cookie("www.example", good.as_ref().unwrap()), Transport::Udp, VICTIM).unwrap();
        assert_eq!((response.rcode, response.sections[0].len()), (rcode::NOERROR, 1));
    }
}

#[test]
fn log_only_answers_and_counts() {
    let mut worker = Worker::new(Limits { log_only: true, ..limits() });
    assert_eq!(worker.answered(|_| plain("www.example", rtype::A)), 100);
    worker.responder.show_limited();
    assert_eq!(worker.told.counts.read().limited_answers as usize, 100 - LIMIT);
    assert_eq!(worker.told.counts.read().limited_slipped, 0);
    let rows: Vec<_> = worker.told.rows().flatten().collect();
    assert!(rows.len() == 1 && rows[0].1 as usize == 100 - LIMIT);
}

/// The wider accounts see what the first let through: a flood for one name does not use up its network's.
#[test]
fn a_flood_for_one_name_leaves_others() {
    let mut worker = Worker::new(Limits { network_per_second: 64, ..limits() });
    for _ in 0..50 {
        worker.answered(|_| plain("www.example", rtype::A));
    }
    assert_eq!(worker.answered(|_| plain("mail.example", rtype::A)), LIMIT);
    // All of its names together are as many as its network may have, and some that came before that was known.
    let mut worker = Worker::new(Limits { responses_per_second: 0, network_per_second: 64, ..limits() });
    let got: usize = (0..20).map(|_| worker.answered(|at| plain(&format!("no{at}.example"), rtype::A))).sum();
    assert!((40..=64 + 150).contains(&got), "{got}");
    assert_eq!(worker.answered(|_| plain("www.other", rtype::A)), 0);
}

/// Limits with lists: who is kept out is told so as often as errors may be told.
#[test]
fn with_access_lists() {
    let mut worker = Worker::new(limits());
    let mut defaults = [const { Rule::Nobody }; Kind::COUNT];
    defaults[Kind::Query as usize] = Rule::Lists([0].into());
    let prefix = (Prefix::new("203.0.113.0".parse().unwrap(), 24).unwrap(), false);
    let list = List::new(&ListSource { prefixes: vec![prefix], ..ListSource::default() }).unwrap();
    worker.kit.server.access = Access::new(vec![list], defaults, Vec::new()).unwrap().limited(Some(limits()));
    assert_eq!(worker.answered(|_| plain("www.example", rtype::A)), LIMIT);
    let query = plain("www.example", rtype::A);
    let inside =
        |_| worker.ask(&query, Transport::Udp, "203.0.113.5").is_some_and(|response| response.rcode == 0);
    assert_eq!((0..100).map(inside).filter(|is_answered| *is_answered).count(), LIMIT);
}
