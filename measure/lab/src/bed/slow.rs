//! A name server that takes its time: it says of every name that it does not exist, and holds each answer back.
//!
//! ```text
//! question -> count -> queue: (when it is due, answer, whom to) -> sent once due, first in first out
//! ```

use std::{
    collections::VecDeque,
    io,
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use wire::{Name, header::HEADER_OCTETS, iana::rtype};

use crate::{Error, place::Place};

/// Answers held back at most: seconds of all that a resolver asks. What is beyond is not answered.
const HELD_MAX: usize = 1 << 18;
/// How long is waited for a question before answers that are due are sent.
const LOOK: Duration = Duration::from_millis(2);
/// Questions taken before answers that are due are sent.
const BURST: usize = 64;
/// Largest question.
const QUESTION_OCTETS_MAX: usize = 4096;
/// Labels of a zone's apex: those above are its names.
const APEX_LABELS: usize = 2;
/// How long a denial may be kept.
const TTL_SECONDS: u32 = 60;

/// The server, while it runs; dropping it ends it.
pub struct Slow {
    ends: Arc<AtomicBool>,
    arrived: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Slow {
    /// Starts it in a place.
    pub fn start(place: &Place, address: SocketAddr, delay: Duration) -> Result<Slow, Error> {
        let socket = place.enter(|| {
            let socket = UdpSocket::bind(address)?;
            socket.set_read_timeout(Some(LOOK))?;
            Ok(socket)
        })?;
        let (ends, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (end, count, place) = (Arc::clone(&ends), Arc::clone(&arrived), place.clone());
        let serve = move || {
            let _ = place.enter(|| serve(&socket, delay, &end, &count));
        };
        Ok(Slow { ends, arrived, thread: Some(thread::spawn(serve)) })
    }

    /// Questions so far.
    pub fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Relaxed)
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, delay: Duration, end: &AtomicBool, count: &AtomicU64) -> io::Result<()> {
    let mut held: VecDeque<(Instant, Vec<u8>, SocketAddr)> = VecDeque::new();
    let mut room = [0; QUESTION_OCTETS_MAX];
    while !end.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            // Nothing came, or a host said that nobody waits there any more.
            let Ok((octets, peer)) = socket.recv_from(&mut room) else { break };
            count.fetch_add(1, Ordering::Relaxed);
            if held.len() < HELD_MAX
                && let Some(reply) = denial(&room[..octets])
            {
                held.push_back((Instant::now() + delay, reply, peer));
            }
        }
        let now = Instant::now();
        while held.front().is_some_and(|&(due, ..)| due <= now) {
            let Some((_, reply, peer)) = held.pop_front() else { break };
            let _ = socket.send_to(&reply, peer);
        }
    }
    Ok(())
}

/// The answer that denies a name, or at the apex of its zone what is asked of it; `None` to what is no question.
fn denial(query: &[u8]) -> Option<Vec<u8>> {
    let header = query.first_chunk::<HEADER_OCTETS>().filter(|header| header[2] & 0x80 == 0)?;
    let (name, rest) = Name::split_from(&query[HEADER_OCTETS..]).ok()?;
    let end = query.len() - rest.len() + 4;
    let question = query.get(HEADER_OCTETS..end)?;
    let labels = name.labels().filter(|label| !label.is_empty()).count();
    let apex: usize =
        name.labels().take(labels.saturating_sub(APEX_LABELS)).map(|label| label.len() + 1).sum();
    let code = if labels > APEX_LABELS { 3 } else { 0 };
    let mut reply = vec![header[0], header[1], 0x84 | header[2] & 1, code, 0, 1, 0, 0, 0, 1, 0, 0];
    reply.extend_from_slice(question);
    let pointer = (0xc000 | (HEADER_OCTETS + apex) as u16).to_be_bytes();
    reply.extend_from_slice(&pointer);
    reply.extend_from_slice(&rtype::SOA.to_be_bytes());
    reply.extend_from_slice(&1_u16.to_be_bytes());
    reply.extend_from_slice(&TTL_SECONDS.to_be_bytes());
    // Names of the server and of who answers for it, and five numbers.
    reply.extend_from_slice(&24_u16.to_be_bytes());
    [pointer, pointer].iter().for_each(|pointer| reply.extend_from_slice(pointer));
    [1, 1800, 900, 604_800, TTL_SECONDS]
        .iter()
        .for_each(|number: &u32| reply.extend_from_slice(&number.to_be_bytes()));
    Some(reply)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bench::{load::expect::Answer, query::Query};

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let mut packet = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
        let reply = denial(&packet).unwrap();
        assert_eq!(reply[..2], packet[..2]);
        let answer = Answer::of_reply(&reply).unwrap();
        let records = answer.sections.map(|section| section.records.unwrap());
        assert_eq!(format!("{} {records:?}", answer.rcode.unwrap()), expected);
        assert!(denial(&reply).is_none(), "an answer is no question");
    }

    #[test]
    fn names_are_denied_and_apexes_are_not() {
        check("a.b.w0.example. A", "3 [0, 1]");
        check("w0.example. NS edns", "0 [0, 1]");
        check(". A", "0 [0, 1]");
    }

    #[test]
    fn answers_come_late_and_are_counted() {
        let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = probe.local_addr().unwrap();
        drop(probe);
        let slow = Slow::start(&Place::default(), address, Duration::from_millis(60)).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut packet = Vec::new();
        Query::from_line(b"x.w0.example. A").unwrap().unwrap().write(&mut packet);
        let asked = Instant::now();
        client.send_to(&packet, address).unwrap();
        let octets = client.recv(&mut [0; 512]).unwrap();
        assert!(asked.elapsed() >= Duration::from_millis(60) && octets > packet.len());
        assert_eq!(slow.arrived(), 1);
    }
}
