//! What has arrived from other servers is told before the timers that say it did not, however much that is.
use crate::common;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, address, local, udp};
use net::{Arrivals, Driver, Need, Queries, Server, Service, UpstreamSettings};

/// More than one turn takes, and than it has events for; less than turns that timers wait for.
const QUESTIONS: usize = 1_500;

/// Asks at the first query; at the second one it is busy until it is told that all answers are there.
struct Asker {
    server: SocketAddr,
    has_asked: bool,
    arrived: usize,
    sent: Receiver<()>,
    at_timer: Sender<usize>,
}

impl Service for Asker {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, ()>) {
        while queries.next().is_some() {
            if !std::mem::replace(&mut self.has_asked, true) {
                // Through the pool alone.
                let settings = UpstreamSettings { fresh_per_second: 0, ..UpstreamSettings::default() };
                driver.upstream().configure(Arc::new(settings));
                for number in 0..QUESTIONS as u32 {
                    driver.ask(self.server, &number.to_be_bytes(), Need::Fresh).unwrap();
                }
            } else {
                driver.set_timer_in(Duration::from_millis(1), 1).unwrap();
                self.sent.recv_timeout(PATIENCE).unwrap();
            }
        }
    }

    fn arrivals(&mut self, arrivals: &Arrivals, _: &mut Driver<'_, ()>) {
        self.arrived += arrivals.count();
    }

    fn timer(&mut self, _: u64, _: &mut Driver<'_, ()>) {
        self.at_timer.send(self.arrived).unwrap();
    }
}

#[test]
fn arrivals_come_before_timers() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&server, 4 << 20).unwrap();
    let (at_server, (tell, sent), (at_timer, told)) = (server.local_addr().unwrap(), channel(), channel());
    let asker = Asker { server: at_server, has_asked: false, arrived: 0, sent, at_timer };
    let asker = Mutex::new(Some(asker));
    let server_of_asker = Server::bind(&local()).unwrap();
    let running = server_of_asker.start(move |_| asker.lock().unwrap().take().unwrap()).unwrap();
    let client = udp(address(&running));
    client.send(b"ask").unwrap();
    let mut room = [0; 16];
    let mut from = Vec::new();
    // The system's buffer may lose some.
    server.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let began = Instant::now();
    while from.len() < QUESTIONS && began.elapsed() < PATIENCE {
        match server.recv_from(&mut room) {
            Ok((_, asker)) => from.push(asker),
            Err(_) if !from.is_empty() => break,
            Err(_) => {}
        }
    }
    assert!(from.len() > 1_200, "{} questions came", from.len());
    client.send(b"wait").unwrap();
    // Until the worker is busy, as otherwise it read them one by one.
    common::await_counts(&running, "the second query", |counts| counts.udp_queries == 2);
    for asker in &from {
        server.send_to(b"here", asker).unwrap();
    }
    tell.send(()).unwrap();
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), from.len());
}
