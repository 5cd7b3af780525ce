#![allow(clippy::unwrap_used)]

use std::{
    io::{Read, Write},
    net::{IpAddr, TcpListener, TcpStream, UdpSocket},
    time::Instant,
};

use super::*;

/// A round trip that shows, and is soon over.
const ROUND_TRIP: Duration = Duration::from_millis(60);

/// A server that sends back what it gets, over UDP and TCP.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let socket = UdpSocket::bind(address).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok((octets, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..octets], from);
        }
    });
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                while let Ok(octets @ 1..) = stream.read(&mut buffer) {
                    let _ = stream.write_all(&buffer[..octets]);
                }
            });
        }
    });
    address
}

fn query(id: u16, name: &str) -> Vec<u8> {
    let query = bench::query::Query {
        name: bench::query::name_from_text(name).unwrap(),
        rtype: 1,
        edns: None,
        rd: false,
        cd: false,
    };
    let mut packet = Vec::new();
    query.write(&mut packet);
    packet[..2].copy_from_slice(&id.to_be_bytes());
    packet
}

/// A link to an echo server at an address of the loopback interface; `None` where port 53 is not ours to have.
fn link(number: u8) -> Option<(Link, SocketAddr)> {
    let address = Ipv4Addr::new(127, 0, 53, number);
    let way = Way { label: "echo".to_owned(), addresses: vec![address], server: echo() };
    let link = Link::start(&Place::default(), vec![way], ROUND_TRIP).ok()?;
    Some((link, SocketAddr::new(IpAddr::V4(address), DNS_PORT)))
}

fn client(server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(4 * ROUND_TRIP)).unwrap();
    socket
}

#[test]
fn datagrams_come_back_after_a_round_trip() {
    let Some((link, server)) = link(101) else { return };
    let socket = client(server);
    let began = Instant::now();
    (0..3).for_each(|id| _ = socket.send(&query(id + 700, "a.example.")).unwrap());
    let mut buffer = [0; 512];
    for id in 0..3_u16 {
        let octets = socket.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..octets], query(id + 700, "a.example."), "IDs are those of the asker");
    }
    assert!(began.elapsed() >= ROUND_TRIP && began.elapsed() < 3 * ROUND_TRIP, "{:?}", began.elapsed());
    assert_eq!((link.book().total(), link.book().of_type(1), link.book().streams()), (3, 3, 0));
    link.turn_page(true);
    socket.send(&query(9, "b.example.")).unwrap();
    socket.recv(&mut buffer).unwrap();
    let book = link.book();
    assert_eq!((book.asked.len(), book.asked[0].qname.to_string()), (1, "b.example.".to_owned()));
}

#[test]
fn rules_lose_and_delay() {
    let Some((link, server)) = link(102) else { return };
    let below = |text: &str| bench::query::name_from_text(text).unwrap();
    link.rule(vec![
        Rule { below: below("dead."), way: None, fate: Fate::Lost },
        Rule { below: below("slow."), way: Some(0), fate: Fate::Late(ROUND_TRIP) },
        Rule { below: below("slow."), way: Some(1), fate: Fate::Lost },
    ]);
    let socket = client(server);
    let ask = |name: &str| {
        let began = Instant::now();
        socket.send(&query(1, name)).unwrap();
        socket.recv(&mut [0; 512]).ok().map(|_| began.elapsed())
    };
    assert!(ask("a.dead.").is_none());
    assert!(ask("a.slow.").unwrap() >= 2 * ROUND_TRIP);
    assert!(ask("a.other.").unwrap() < 2 * ROUND_TRIP);
    link.cut(true);
    assert!(ask("a.other.").is_none());
    link.cut(false);
    assert!(ask("a.other.").is_some());
    assert_eq!((link.book().of_way(0), link.arrived()), (5, 5), "what is lost was asked");
}

#[test]
fn streams_cost_a_round_trip_more() {
    let Some((link, server)) = link(103) else { return };
    let mut stream = TcpStream::connect(server).unwrap();
    let message = |id| [vec![0, 27], query(id, "a.example.")].concat();
    assert_eq!(message(0).len(), 29);
    let mut ask = |count: u16| {
        let began = Instant::now();
        (0..count).for_each(|id| stream.write_all(&message(id)).unwrap());
        for id in 0..count {
            let mut answer = [0; 29];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, message(id)[..]);
        }
        began.elapsed()
    };
    assert!(ask(1) >= 2 * ROUND_TRIP);
    let several = ask(3);
    assert!(several >= ROUND_TRIP && several < 2 * ROUND_TRIP, "{several:?}");
    assert_eq!(link.book().streams(), 4);
}
