#![allow(clippy::unwrap_used)]

use std::{
    collections::HashSet,
    io,
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use super::{address::to_sockaddr, *};

/// Sends through a batch what the standard socket receives, and the other way round.
fn check(address: &str) {
    let options = SocketOptions { reuse_port: true, receive_octets: 1 << 16, send_octets: 1 << 16 };
    let ours = bind(address.parse().unwrap(), options).unwrap();
    let other = UdpSocket::bind(any_like(ours.local_addr().unwrap())).unwrap();
    other.connect(ours.local_addr().unwrap()).unwrap();
    let datagrams: Vec<Vec<u8>> = (0..10u8).map(|index| vec![index; usize::from(index) * 7]).collect();
    for datagram in &datagrams {
        other.send(datagram).unwrap();
    }
    let mut batch = Batch::new(64, 32);
    let count = batch.receive(&ours, true, true).unwrap();
    assert_eq!(count, datagrams.len());
    for (slot, datagram) in datagrams.iter().enumerate() {
        assert_eq!(batch.length(slot), datagram.len());
        assert_eq!(batch.datagram(slot), &datagram[..datagram.len().min(32)]);
        batch.set_length(slot, slot * 2);
    }
    assert_eq!(batch.send(&ours, 0, count).unwrap(), count);
    let mut room = [0; 100];
    for (slot, datagram) in datagrams.iter().enumerate() {
        let received = other.recv(&mut room).unwrap();
        assert_eq!(received, slot * 2);
        assert!(room[..received].iter().zip(datagram).all(|(one, two)| one == two));
    }
    let nothing = batch.receive(&ours, true, false).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn batches_agree_with_single_calls() {
    check("127.0.0.1:0");
    check("[::1]:0");
}

#[test]
fn who_asks_for_any_port_shares_it_with_nobody_but_who_asks_for_that_one() {
    let options = SocketOptions { reuse_port: true, ..SocketOptions::default() };
    // Of so many that the system chose among shared ports too, some six pairs would have one in common.
    let sockets: Vec<_> = (0..600).map(|_| bind("127.0.0.1:0".parse().unwrap(), options).unwrap()).collect();
    let ports: HashSet<u16> = sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect();
    assert_eq!(ports.len(), sockets.len());

    let sharing = [bind(sockets[0].local_addr().unwrap(), options).unwrap(), sockets[0].try_clone().unwrap()];
    let clients: Vec<_> = (0..64).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for client in &clients {
        client.send_to(b"x", sockets[0].local_addr().unwrap()).unwrap();
    }
    let received = sharing.map(|socket| {
        socket.set_nonblocking(true).unwrap();
        (0..clients.len()).take_while(|_| socket.recv(&mut [0]).is_ok()).count()
    });
    assert!(received.iter().all(|&count| count > 0), "{received:?}");
    assert_eq!(received.iter().sum::<usize>(), clients.len());
}

#[test]
fn times_of_datagrams() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(server.local_addr().unwrap()).unwrap();
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut batch = Batch::with_controls(4, 32);
    assert_eq!(batch.time(0), None, "nothing received");
    client.send(b"unasked").unwrap();
    assert_eq!(batch.receive(&server, false, true).unwrap(), 1);
    assert_eq!(batch.time(0), None);
    stamp(&server).unwrap();
    let before = now();
    for _ in 0..3 {
        client.send(b"x").unwrap();
    }
    let count = batch.receive(&server, false, true).unwrap();
    let after = now();
    assert!((1..=3).contains(&count));
    for slot in 0..count {
        let time = batch.time(slot).unwrap();
        // The clock of the kernel may be read a little coarser, and be set meanwhile by a moment.
        let slack = Duration::from_millis(50);
        assert!(before <= time + slack && time <= after + slack, "{before:?} {time:?} {after:?}");
    }
    let mut plain = Batch::new(4, 32);
    client.send(b"y").unwrap();
    assert_eq!((plain.receive(&server, false, true).unwrap(), plain.time(0)), (1, None));
}

/// Two connected sockets.
fn pair() -> (UdpSocket, UdpSocket) {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let [server, client] = sockets;
    client.connect(server.local_addr().unwrap()).unwrap();
    server.connect(client.local_addr().unwrap()).unwrap();
    (server, client)
}

/// A batch that holds one train of `octets`.
fn train(octets: &[u8], segment_octets: u16) -> Batch {
    let mut batch = Batch::with_controls(1, TRAIN_OCTETS_MAX);
    batch.slot_mut(0)[..octets.len()].copy_from_slice(octets);
    batch.set_length(0, octets.len());
    batch.set_segment(0, segment_octets);
    batch
}

#[test]
fn trains_arrive_as_single_datagrams() {
    let (server, client) = pair();
    let octets: Vec<u8> = (0..TRAIN_MAX as u8).flat_map(|index| [index; 30]).collect();
    assert_eq!(train(&octets, 30).send(&client, 0, 1).unwrap(), 1);
    let mut room = [0; 100];
    for expected in octets.chunks(30) {
        let length = server.recv(&mut room).unwrap();
        assert_eq!(&room[..length], expected);
    }
}

#[test]
fn trains_arrive_whole_where_they_are_taken() {
    let (server, client) = pair();
    take_trains(&server).unwrap();
    stamp(&server).unwrap();
    // The last is shorter.
    let octets: Vec<u8> = (0..50).flat_map(|index| [index; 40]).chain([7; 9]).collect();
    assert_eq!(train(&octets, 40).send(&client, 0, 1).unwrap(), 1);
    for single in [&b"one"[..], b"", b"another"] {
        client.send(single).unwrap();
    }
    let mut batch = Batch::with_controls(8, 65_535);
    let mut came: Vec<Vec<u8>> = Vec::new();
    let mut slots = 0;
    while came.len() < 54 {
        let count = batch.receive(&server, false, true).unwrap();
        slots += count;
        for slot in 0..count {
            assert!(batch.time(slot).is_some());
            came.extend(batch.datagrams(slot).map(<[u8]>::to_vec));
        }
    }
    let expected: Vec<&[u8]> = octets.chunks(40).chain([&b"one"[..], b"", b"another"]).collect();
    assert_eq!(came, expected);
    assert_eq!(slots, 4, "one train, three datagrams");
    // Sent on as received, it is a train again.
    let octets = [3; 60];
    train(&octets, 20).send(&client, 0, 1).unwrap();
    assert_eq!(batch.receive(&server, true, true).unwrap(), 1);
    assert_eq!(batch.send(&server, 0, 1).unwrap(), 1);
    let mut room = [0; 100];
    assert_eq!([(); 3].map(|()| client.recv(&mut room).unwrap()), [20; 3]);
}

#[test]
fn epoll_reports_what_is_ready() {
    let socket = bind("127.0.0.1:0".parse().unwrap(), SocketOptions::default()).unwrap();
    let mut epoll = Epoll::new(4).unwrap();
    epoll.add(&socket, 42).unwrap();
    assert_eq!(epoll.wait(0).unwrap(), 0);
    socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
    assert_eq!(epoll.wait(1000).unwrap(), 1);
    assert_eq!(epoll.token(0), 42);
}

#[test]
fn select_reports_what_is_ready() {
    let sockets = [(); 2].map(|()| bind("127.0.0.1:0".parse().unwrap(), SocketOptions::default()).unwrap());
    let [first, second] = &sockets;
    let mut ready = [true; 2];
    select(&[first, second], &mut ready, 0).unwrap();
    assert_eq!(ready, [false, false]);
    second.send_to(b"x", second.local_addr().unwrap()).unwrap();
    select(&[first, second], &mut ready, 1000).unwrap();
    assert_eq!(ready, [false, true]);
}

#[test]
fn names_and_addresses_agree() {
    for address in ["192.0.2.7:53", "[2001:db8::7]:5353", "[fe80::1%3]:1"] {
        let address: SocketAddr = address.parse().unwrap();
        assert_eq!(from_sockaddr(&to_sockaddr(address).0), Some(address));
        let mut batch = Batch::new(1, 32);
        assert_eq!(batch.peer(0), None);
        batch.set_peer(0, address);
        assert_eq!(batch.peer(0), Some(address));
    }
    let (mut name, _) = to_sockaddr("192.0.2.7:53".parse().unwrap());
    name.ss_family = libc::AF_UNIX as u16;
    assert_eq!(from_sockaddr(&name), None);
}

#[test]
fn impossible_core_and_address() {
    assert!(pin(1 << 20).is_err());
    assert!(bind("192.0.2.1:0".parse().unwrap(), SocketOptions::default()).is_err());
}
