//! What servers see of questions: a server that looks at the first one.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use zonda_tests::response::Response;

use super::super::internet::{dig, in_internet};
use super::peers::{UNBOUND, await_peer, unbound};

/// Where a server of `seen.example` is that only looks.
const LOOKING: &str = "127.0.0.99:53";
const ASKED_OF_IT: &str = "a.b.c.seen.example";

/// What a server sees of the first question: from where, the name, and the payload that is offered.
#[derive(Debug)]
struct Seen {
    from: SocketAddr,
    name: String,
    payload_octets: Option<u16>,
}

/// Has a resolver ask the server that looks.
fn seen(looking: &UdpSocket, ask: impl FnOnce() -> String + Send) -> Seen {
    std::thread::scope(|scope| {
        let asking = scope.spawn(ask);
        let mut octets = [0; 4096];
        let mut first = None;
        // Those of the search for the zone cut or the keys come later.
        while let Ok((length, from)) = looking.recv_from(&mut octets) {
            let query = Response::parse(&octets[..length]).expect("a query");
            let name = query.questions[0].0.to_string();
            let payload_octets = query.edns.as_ref().map(|edns| edns.payload_octets);
            first.get_or_insert(Seen { from, name, payload_octets });
            // NXDOMAIN with AA, and nothing beside the question.
            let end = 12 + query.questions[0].0.wire().len() + 4;
            let mut answer = octets[..end].to_vec();
            answer[2] = 0x84;
            answer[3] = 3;
            answer[6..12].fill(0);
            let _ = looking.send_to(&answer, from);
            if asking.is_finished() {
                break;
            }
        }
        let said = asking.join().expect("dig");
        first.unwrap_or_else(|| panic!("nobody asked: {said}"))
    })
}

/// What servers see of questions, by options of Unbound and settings here.
#[test]
fn what_servers_see() {
    type Row = (&'static str, &'static str, &'static str, fn(&Seen) -> bool);
    let is_plain = |seen: &Seen| seen.name.bytes().all(|octet| !octet.is_ascii_uppercase());
    let _: fn(&Seen) -> bool = is_plain;
    let rows: [Row; 7] = [
        ("edns-buffer-size", "", "", |seen| seen.payload_octets == Some(1232)),
        (
            "outgoing-interface",
            "outgoing-interface: 127.0.0.8",
            "source-addresses = [\"127.0.0.8\"]",
            |seen| seen.from.ip().to_string() == "127.0.0.8",
        ),
        (
            "outgoing-port-permit",
            "outgoing-port-avoid: 0-65535\noutgoing-port-permit: 20000-24999",
            "source-ports = \"20000-24999\"",
            |seen| (20_000..25_000).contains(&seen.from.port()),
        ),
        ("use-caps-for-id: yes", "use-caps-for-id: yes", "", |seen| {
            seen.name.bytes().any(|octet| octet.is_ascii_uppercase())
        }),
        ("use-caps-for-id: no", "", "randomise-case = false", is_plain),
        ("qname-minimisation: yes", "", "", |seen| seen.name.eq_ignore_ascii_case("c.seen.example.")),
        ("qname-minimisation: no", "qname-minimisation: no", "qname-minimisation = \"off\"", |seen| {
            seen.name.eq_ignore_ascii_case("a.b.c.seen.example.")
        }),
    ];
    in_internet(|internet| {
        let looking = UdpSocket::bind(LOOKING).expect("an address of loopback");
        looking.set_read_timeout(Some(Duration::from_secs(2))).expect("a limit");
        for (what, theirs, ours, is_so) in rows {
            let stub = "stub-zone:\n name: seen.example\n stub-addr: 127.0.0.99\n";
            let unbound = unbound(internet, &format!("{theirs}\ndomain-insecure: seen.example\n{stub}"));
            await_peer(UNBOUND, &unbound);
            let by_unbound = seen(&looking, || dig(&format!("@{UNBOUND}"), &[ASKED_OF_IT, "A"]));
            assert!(is_so(&by_unbound), "{what}: unbound {by_unbound:?}");
            let stub = "[[stub]]\nname = \"seen.example\"\naddresses = [\"127.0.0.99\"]\n";
            let zonda = internet.resolver(&format!("{ours}\n{stub}"));
            let by_zonda = seen(&looking, || zonda.dig(&[ASKED_OF_IT, "A"]));
            assert!(is_so(&by_zonda), "{what}: zonda {by_zonda:?}");
        }
    });
}
