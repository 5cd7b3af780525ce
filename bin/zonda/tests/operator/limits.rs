//! Limits of rates through the program: a flood from many addresses beside a client with cookies, what is said of it, and that it can be changed while
//! the server runs.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::server::{Server, one_zone};

const LIMITS: &str =
    "[rate-limit]\nenabled = true\nresponses-per-second = 16\nnetwork-per-second = 64\nwide-multiple = 4\n";

/// A query for the address of www.a.example, with EDNS and these octets as COOKIE if there are any.
fn query(id: u16, cookie: &[u8]) -> Vec<u8> {
    let mut query =
        [&id.to_be_bytes()[..], b"\0\0\0\x01\0\0\0\0\0\x01\x03www\x01a\x07example\0\0\x01\0\x01"].concat();
    let options = if cookie.is_empty() { 0 } else { cookie.len() + 4 };
    query.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, options as u8]);
    if options > 0 {
        query.extend([0, 10, 0, cookie.len() as u8]);
        query.extend(cookie);
    }
    query
}

/// What came of a query.
#[derive(Debug, PartialEq)]
enum Outcome {
    Answered,
    Truncated,
    BadCookie,
}

fn outcome(answer: &[u8]) -> Outcome {
    match answer {
        [_, _, flags, ..] if flags & 2 != 0 => Outcome::Truncated,
        [_, _, _, rcode, _, _, _, 1, ..] if rcode & 15 == 0 => Outcome::Answered,
        // 23: the upper bits of the code stand in OPT.
        [_, _, _, rcode, ..] if rcode & 15 == 7 => Outcome::BadCookie,
        _ => panic!("{answer:?}"),
    }
}

/// A client at an address of this machine.
struct Client(UdpSocket);

impl Client {
    fn new(server: &Server, address: [u8; 4]) -> Client {
        let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::from(address), 0))).unwrap();
        socket.connect(server.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client(socket)
    }

    /// Asks with a cookie; what came, and the data of its COOKIE option, which ends it.
    fn ask(&self, cookie: &[u8]) -> (Outcome, Vec<u8>) {
        let mut answer = [0; 1500];
        self.0.send(&query(1, cookie)).unwrap();
        let octets = self.0.recv(&mut answer).unwrap();
        (outcome(&answer[..octets]), answer[octets - 24..octets].to_vec())
    }
}

/// Sends many queries at once from each of these addresses and counts what comes back, octets both ways.
fn flood(
    server: &Server,
    addresses: impl Iterator<Item = [u8; 4]>,
    each: u16,
) -> (usize, usize, usize, usize) {
    let (mut answered, mut truncated, mut sent, mut received) = (0, 0, 0, 0);
    let mut answer = [0; 1500];
    for address in addresses {
        let client = Client::new(server, address);
        for id in 0..each {
            sent += client.0.send(&query(id, &[])).unwrap();
        }
        client.0.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while let Ok(octets) = client.0.recv(&mut answer) {
            received += octets;
            match outcome(&answer[..octets]) {
                Outcome::Answered => answered += 1,
                Outcome::Truncated => truncated += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    (answered, truncated, sent, received)
}

fn count(server: &Server, name: &str) -> u64 {
    let text = server.ctl(&["stats", "--json"]).1;
    let count = text.split(&format!("\"name\":\"{name}\",\"count\":")).nth(1);
    count.map_or(0, |count| count.split([',', '}']).next().unwrap().parse().unwrap())
}

#[test]
fn a_flood_beside_a_client_with_cookies() {
    let (folder, zone) = one_zone();
    let server = Server::start(folder, &format!("{LIMITS}{zone}"));
    // One client, whose address is one of the flood's, asks all the time with the cookie that it was given first.
    let client = Client::new(&server, [127, 77, 1, 200]);
    let (first, good) = client.ask(b"client--");
    assert!(first == Outcome::Answered && good.starts_with(b"client--"), "{first:?}");
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let asks = std::thread::spawn(move || {
        let mut asked = 0;
        while !over.load(Ordering::Relaxed) {
            assert_eq!(client.ask(&good).0, Outcome::Answered);
            asked += 1;
        }
        asked
    });
    // 200 a network: 16 at once, of each two thirds of the rest nothing.
    let (answered, truncated, sent, received) = flood(&server, (0..4).map(|net| [127, 77, net, 9]), 200);
    // A slow machine takes longer for the flood, which then may have more.
    assert!((4 * 16..=4 * 32).contains(&answered), "{answered}");
    let refused = 4 * 200 - answered;
    assert!(truncated <= refused / 3 + 1 && truncated + 5 >= refused / 3, "{truncated} of {refused}");
    assert!(received * 2 <= sent, "{received} octets for {sent}");
    // From many networks, each below its own limit: nobody is limited.
    let (answered, truncated, ..) = flood(&server, (0..20).map(|net| [127, 78, net, 9]), 10);
    assert_eq!((answered, truncated), (200, 0));
    is_over.store(true, Ordering::Relaxed);
    assert!(asks.join().unwrap() > 20);
    // What is counted and shown.
    server.wait_until(|| server.ctl(&["rate-limit"]).1.contains("127.77.0.0/24"));
    let shown = server.ctl(&["rate-limit"]).1;
    assert!(shown.contains("rate limits are on\n") && shown.contains("responses-per-second"), "{shown}");
    server.wait_until(|| {
        server.log().contains("rate limit: 127.77.0.0/24 is limited, answers (responses-per-second)")
    });
    assert!(count(&server, "limited-answers") as usize >= refused && count(&server, "limited-slipped") > 0);
    let text = server.ctl(&["stats"]).1;
    assert!(text.contains("beyond rate limits\n  limited-answers"), "{text}");
    server.wait_until(|| server.log().contains("rate limit: 127.77.0.0/24 is limited no longer, answers: "));
}

#[test]
fn limits_change_while_the_server_runs() {
    let (folder, zone) = one_zone();
    let server = Server::start(folder, zone);
    let ask = || {
        let (answered, truncated, ..) = flood(&server, [[127, 79, 0, 1]].into_iter(), 100);
        (answered, truncated > 0)
    };
    let reconfigure = |settings: &str| {
        Server::write_settings(server.folder.path(), &format!("{settings}{zone}"));
        let (status, _, errors) = server.ctl(&["reconfigure"]);
        assert_eq!((status, errors.as_str()), (Some(0), ""));
    };
    assert_eq!(ask(), (100, false));
    assert_eq!(server.ctl(&["rate-limit"]).1, "rate limits are off; nobody is limited\n");
    reconfigure(LIMITS);
    let (answered, slips) = ask();
    assert!((16..=40).contains(&answered) && slips, "{answered}");
    reconfigure(&format!("{LIMITS}log-only = true\n"));
    assert_eq!(ask(), (100, false));
    server.wait_until(|| server.log().contains("rate limit: 127.79.0.0/24 would be limited, answers"));
    assert!(server.ctl(&["rate-limit"]).1.starts_with("rate limits are log-only"));
    reconfigure(&format!(
        "{LIMITS}exempt = \"here\"\n[[acl]]\nname = \"here\"\naddresses = \"127.79.0.0/16\"\n"
    ));
    assert_eq!(ask(), (100, false));
    // What was refused a moment ago still counts, so that it may be nothing.
    reconfigure(&format!("{LIMITS}slip = 0\n"));
    let (answered, slips) = ask();
    assert!(answered <= 40 && !slips, "{answered}");
    reconfigure("");
    assert_eq!(ask(), (100, false));
    // What is wrong is said with its place, and changes nothing.
    Server::write_settings(
        server.folder.path(),
        &format!("{LIMITS}exempt = \"her\"\nprefix-v4 = 33\n{zone}"),
    );
    let (status, _, errors) = server.ctl(&["reconfigure"]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("exempt: unknown [[acl]] \"her\""), "{errors}");
    assert!(errors.contains("prefix-v4: expected a number of bits from 1 to 32, found 33"), "{errors}");
    assert_eq!(ask(), (100, false));
}
