//! The servers of a model Internet on real sockets, for resolvers that are programs: what they say is the same, only time is real.
//!
//! ```text
//! a thread a UDP socket, a TCP listener, a connection --(address asked, octets, way back)--> this thread: ModelServer::answer
//!                                                                                            `- after its delay --> the way back
//! a datagram to the control address --------------------------------------------------------> a line a server: queries, name
//! ```
//!
//! Forgers, senders and ports that are not a server's, and faults of streams but refusal are of virtual time alone.

use crate::behaviour::StreamFault;
use crate::internet::Internet;
use crate::server::{DNS_PORT, ModelServer};
use crate::time::Micros;
use crate::{Random, Scenario};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use wire::Transport;

/// Queries that wait for this thread: those beyond wait in their sockets.
const QUEUE: usize = 4_096;
/// Connections at a time: a resolver under test has some hundreds at most.
const STREAMS_MAX: usize = 1_024;
/// How long a connection may be idle.
const STREAM_IDLE: Duration = Duration::from_secs(10);
/// How long this thread sleeps when nothing is due.
const REST: Duration = Duration::from_secs(1);

/// Signs the zones of a scenario for now in place of the begin of virtual time.
pub fn sign_for(scenario: &mut Scenario, now: u32) {
    let shift = |second: u32| second.wrapping_sub(crate::BEGIN_UNIX_SECONDS).wrapping_add(now);
    for signing in scenario.plan.zones.iter_mut().filter_map(|zone| zone.signing.as_mut()) {
        (signing.inception, signing.expiration) = (shift(signing.inception), shift(signing.expiration));
    }
}

/// Where an answer goes.
#[derive(Clone)]
enum Way {
    Datagram(Arc<UdpSocket>, SocketAddr),
    Stream(Arc<TcpStream>),
    /// Somebody wants the counts.
    Control(Arc<UdpSocket>, SocketAddr),
}

struct Query {
    at: SocketAddr,
    octets: Vec<u8>,
    way: Way,
}

/// Serves until the process ends. The error is that of an address that nobody may listen at.
pub fn serve(mut internet: Internet, seed: u64, control: SocketAddr) -> io::Result<()> {
    let (sender, queries) = sync_channel(QUEUE);
    for server in internet.servers() {
        let has_streams = server.stream_fault(0) != Some(StreamFault::Refuse);
        for address in &server.addresses {
            listen(*address, has_streams, &sender)?;
        }
    }
    let socket = Arc::new(UdpSocket::bind(control)?);
    let way = Arc::clone(&socket);
    receive(socket, control, sender, move |from| Way::Control(Arc::clone(&way), from));
    answer_all(&mut internet, &queries, Random::part(seed, 2));
    Ok(())
}

fn listen(address: IpAddr, has_streams: bool, sender: &SyncSender<Query>) -> io::Result<()> {
    let at = SocketAddr::new(address, DNS_PORT);
    let socket = Arc::new(UdpSocket::bind(at)?);
    let way = Arc::clone(&socket);
    receive(socket, at, sender.clone(), move |from| Way::Datagram(Arc::clone(&way), from));
    if has_streams {
        let listener = TcpListener::bind(at)?;
        let sender = sender.clone();
        thread::spawn(move || accept(&listener, at, &sender));
    }
    Ok(())
}

fn receive(
    socket: Arc<UdpSocket>,
    at: SocketAddr,
    sender: SyncSender<Query>,
    way: impl Fn(SocketAddr) -> Way + Send + 'static,
) {
    thread::spawn(move || {
        let mut room = vec![0; usize::from(u16::MAX)];
        loop {
            // Errors are those of answers to who is not there any more.
            let Ok((length, from)) = socket.recv_from(&mut room) else { continue };
            let query = Query { at, octets: room[..length].to_vec(), way: way(from) };
            if sender.send(query).is_err() {
                return;
            }
        }
    });
}

fn accept(listener: &TcpListener, at: SocketAddr, sender: &SyncSender<Query>) {
    let open = Arc::new(());
    for stream in listener.incoming().flatten() {
        if Arc::strong_count(&open) > STREAMS_MAX || stream.set_read_timeout(Some(STREAM_IDLE)).is_err() {
            continue;
        }
        let (stream, sender, place) = (Arc::new(stream), sender.clone(), Arc::clone(&open));
        thread::spawn(move || {
            while let Ok(octets) = read_message(&stream) {
                if sender.send(Query { at, octets, way: Way::Stream(Arc::clone(&stream)) }).is_err() {
                    break;
                }
            }
            drop(place);
        });
    }
}

fn read_message(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut octets = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut octets)?;
    Ok(octets)
}

fn answer_all(internet: &mut Internet, queries: &Receiver<Query>, mut random: Random) {
    let begin = Instant::now();
    let mut due: Vec<(Micros, Vec<u8>, Way)> = Vec::new();
    loop {
        let now = begin.elapsed().as_micros() as Micros;
        due.retain(|(at, octets, way)| *at > now || send(octets, way));
        let next = due.iter().map(|(at, ..)| Duration::from_micros(at - now)).min();
        let query = match queries.recv_timeout(next.unwrap_or(REST)) {
            Ok(query) => query,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let transport = match query.way {
            Way::Datagram(..) => Transport::Udp,
            Way::Stream(_) => Transport::Tcp,
            Way::Control(..) => {
                send(counts(internet.servers()).as_bytes(), &query.way);
                continue;
            }
        };
        let Some(server) = internet.at(query.at.ip()) else { continue };
        for sent in server.answer(&query.octets, transport, query.at, now, &mut random) {
            if sent.from == query.at && !sent.is_forged {
                due.push((now + sent.after, sent.octets, query.way.clone()));
            }
        }
    }
}

/// `false`: it is done with, whether it arrived or not.
fn send(octets: &[u8], way: &Way) -> bool {
    // Who is asked no more does not matter: nothing waits for what could not be sent.
    match way {
        Way::Datagram(socket, to) | Way::Control(socket, to) => _ = socket.send_to(octets, to),
        Way::Stream(stream) => {
            let length = (octets.len() as u16).to_be_bytes();
            _ = (&mut &**stream).write_all(&[&length, octets].concat());
        }
    }
    false
}

fn counts(servers: &[ModelServer]) -> String {
    let mut text = String::new();
    for server in servers {
        let _ = writeln!(text, "{} {}", server.counts.queries(), server.name);
    }
    text
}
