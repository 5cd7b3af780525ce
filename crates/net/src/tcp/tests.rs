use std::io::Write;
use std::mem::MaybeUninit;
use std::net::TcpListener;

use rustix::event::Timespec;

use super::*;
use crate::TcpLimits;
use crate::host::Simple;

/// Fills the whole room.
fn fill(item: crate::Item<'_>) {
    item.room.fill(1);
    let octets = item.room.len();
    item.answer(octets);
}

/// The connections of a worker without the worker.
struct Rig {
    connections: Connections,
    epoll: OwnedFd,
    counters: Counters,
    address: std::net::SocketAddr,
}

impl Rig {
    fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        epoll::add(&epoll, &socket, Token::Listener(0).data(), EventFlags::IN).unwrap();
        let admission = Arc::new(Admission::new(&TcpLimits::default(), 1));
        let connections = Connections::new(vec![TcpPort { socket, flags: EventFlags::IN }], 0, admission);
        Self { connections, epoll, counters: Counters::default(), address }
    }

    /// Handles what is ready until nothing has been for 20 ms.
    fn run(&mut self) {
        let patience = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        loop {
            let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; 16];
            let (events, _) = epoll::wait(&self.epoll, &mut space, Some(&patience)).unwrap();
            if events.is_empty() {
                return;
            }
            for event in events {
                self.act(Instant::now(), |connections, turn| match Token::from(event.data) {
                    Token::Listener(index) => connections.accept(index, turn),
                    Token::Stream(id) => connections.turn(id, event.flags, turn),
                    other => panic!("{other:?}"),
                });
            }
        }
    }

    fn act(&mut self, now: Instant, action: impl FnOnce(&mut Connections, &mut Turn<'_>)) {
        let (now, serve) = (Now { instant: now, wall: 0 }, &mut Simple::new(fill));
        let mut turn = Turn { now, epoll: &self.epoll, counters: &self.counters, serve };
        action(&mut self.connections, &mut turn);
    }
}

/// A client that asks for far more than the socket buffers hold and reads none of it.
fn greedy(rig: &mut Rig) -> TcpStream {
    let mut client = TcpStream::connect(rig.address).unwrap();
    client.set_nonblocking(true).unwrap();
    let mut query = vec![0, 12];
    query.extend([7; 12]);
    for _ in 0..40 {
        let _ = client.write(&query.repeat(20));
        rig.run();
    }
    client
}

#[test]
fn the_slowest_are_cut_off_when_memory_runs_out() {
    let mut rig = Rig::new();
    // Room for one connection that is blocked with at most 128 KiB, not for two.
    rig.connections.scratch.pool = pool::Pool::new(140_000);
    let mut calm = TcpStream::connect(rig.address).unwrap();
    rig.run();
    // How much of its last write is left to a blocked connection is up to the system: at most 128 KiB, mostly about
    // half of that. So the pool is full after a few of them, not after a known number.
    let mut clients = vec![greedy(&mut rig)];
    assert!(rig.connections.table.iter().any(|(_, channel)| channel.connection.has_unsent()));
    assert_eq!(rig.counters.read().tcp_memory_closed, 0);
    while rig.counters.read().tcp_memory_closed == 0 && clients.len() < 30 {
        clients.push(greedy(&mut rig));
    }
    let counts = rig.counters.read();
    assert!(counts.tcp_memory_closed >= 1, "{counts:?}");
    assert_eq!(counts.tcp_open + counts.tcp_memory_closed, 1 + clients.len() as u64);
    // Whoever holds no memory is not the one to go.
    calm.write_all(&[0, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).unwrap();
    let before = rig.counters.read().tcp_responses;
    rig.run();
    assert_eq!(rig.counters.read().tcp_responses, before + 1);
    drop(clients);
    rig.run();
    assert_eq!(rig.connections.table.count(), 1);
    rig.act(Instant::now(), Connections::close_all);
    assert_eq!(rig.counters.read().tcp_open, 0);
}

#[test]
fn time_outs_are_announced_and_kept() {
    let mut rig = Rig::new();
    assert_eq!(rig.connections.next_deadline(), None);
    let _client = TcpStream::connect(rig.address).unwrap();
    rig.run();
    let deadline = rig.connections.next_deadline().unwrap();
    rig.act(deadline - std::time::Duration::from_millis(1), Connections::expire);
    assert_eq!(rig.connections.table.count(), 1);
    rig.act(deadline, Connections::expire);
    assert_eq!((rig.connections.table.count(), rig.counters.read().tcp_idle_closed), (0, 1));
    assert_eq!(rig.connections.next_deadline(), None);
}

/// What a client did not take, as it had gone, is not sent to the next one.
#[test]
fn responses_that_cannot_be_written_are_nobody_elses() {
    let mut rig = Rig::new();
    let _client = TcpStream::connect(rig.address).unwrap();
    rig.run();
    let (id, _) = rig.connections.table.iter().next().unwrap();
    rig.act(Instant::now(), |connections, turn| {
        connections.act(id, turn, |_, parts| {
            parts.scratch.frame_stream(100);
            Err(Ending::Error)
        });
    });
    assert_eq!((rig.connections.table.count(), rig.counters.read().tcp_errors), (0, 1));
    assert!(rig.connections.scratch.output().is_empty());
}
