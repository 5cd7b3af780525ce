//! Sends prepared packets at a rate.

use std::{
    io,
    net::{SocketAddr, SocketAddrV4},
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with, sockopt};

use super::{
    Sources, in_own_namespace,
    packet::{HEADS_OCTETS, heads},
};
use crate::{
    mmsg::{BATCH_MAX, Batch},
    query::QUERY_OCTETS_MAX,
    random::Random,
};

/// Packets that are prepared at least: with fewer a server would see the same ports and addresses again and again.
const PACKETS_MIN: u32 = 16_384;
/// How long a sender that is not behind rests: so few packets a burst that queues of the kernel (1,000 packets) hold it.
const REST: Duration = Duration::from_micros(250);
/// Packets that have to be due for a call.
const DUE_MIN: u64 = 32;
/// What a stop of the machine left beyond this is not made up for: it would come as a burst that no flood has.
const BEHIND_MAX: u64 = 4096;
/// Octets of packets that may be under way to the server: its core takes them later, where it is busy.
const SEND_OCTETS: usize = 8 << 20;
/// Ports below are not those of clients.
const PORT_MIN: usize = 1024;

/// What a flood is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who is asked.
    pub server: SocketAddrV4,
    /// Who seems to ask.
    pub sources: Sources,
    /// What is asked, messages in wire form, each as often as any other; an ID is put into each.
    pub messages: Vec<Vec<u8>>,
    /// Of addresses, ports and the order.
    pub seed: u64,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// Packets that were due.
    pub planned: u64,
    /// Packets that left.
    pub packets: u64,
    /// Octets of their messages.
    pub octets: u64,
    /// For how long.
    pub seconds: f64,
}

/// Packets with made-up sources, ready to leave.
pub struct Flood {
    socket: OwnedFd,
    batches: Vec<Batch>,
}

impl Flood {
    /// Prepares a flood in the network namespace of this thread, which must have been entered; needs root there. Errors: another
    /// namespace, no messages or too long ones, more networks than there are, no right to a raw socket.
    pub fn new(settings: &Settings) -> io::Result<Flood> {
        in_own_namespace()?;
        let is_sound = |message: &Vec<u8>| (12..=QUERY_OCTETS_MAX).contains(&message.len());
        if !settings.sources.is_possible()
            || settings.messages.is_empty()
            || !settings.messages.iter().all(is_sound)
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Protocol 255: whoever sends writes the head of IP (raw(7)).
        let socket =
            socket_with(AddressFamily::INET, SocketType::RAW, SocketFlags::CLOEXEC, Some(ipproto::RAW))?;
        sockopt::set_socket_send_buffer_size_force(&socket, SEND_OCTETS)?;
        connect(&socket, &SocketAddr::from(settings.server))?;
        Ok(Flood { socket, batches: batches(settings) })
    }

    /// Sends at a rate, packets a second, for so long or until `stop`.
    pub fn send(&mut self, rate: f64, length: Duration, stop: &AtomicBool) -> io::Result<Sent> {
        let (began, mut sent, mut skipped) = (Instant::now(), Sent::default(), 0);
        let (mut batch, mut slot) = (0, 0);
        loop {
            let passed = began.elapsed();
            sent.seconds = passed.as_secs_f64();
            sent.planned = (sent.seconds * rate) as u64;
            if passed >= length || stop.load(Ordering::Relaxed) {
                return Ok(sent);
            }
            let due = sent.planned.saturating_sub(sent.packets + skipped);
            skipped += due.saturating_sub(BEHIND_MAX);
            if due < DUE_MIN {
                thread::sleep(REST);
                continue;
            }
            let packets = &mut self.batches[batch];
            let to = packets.count().min(slot + due as usize);
            match packets.send(&self.socket, slot, to) {
                Ok(count) => {
                    sent.packets += count as u64;
                    sent.octets +=
                        (slot..slot + count).map(|slot| message_octets(packets, slot)).sum::<u64>();
                    slot += count;
                }
                // The server's core has not taken what is under way.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => thread::yield_now(),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => thread::yield_now(),
                Err(error) => return Err(error),
            }
            if slot == self.batches[batch].count() {
                (batch, slot) = ((batch + 1) % self.batches.len(), 0);
            }
        }
    }
}

/// Octets of the message in a slot.
fn message_octets(batch: &Batch, slot: usize) -> u64 {
    (batch.length(slot) - HEADS_OCTETS) as u64
}

/// All packets, one of each network in turn, in random order.
fn batches(settings: &Settings) -> Vec<Batch> {
    let mut random = Random::new(settings.seed);
    let mut numbers: Vec<u32> = (0..settings.sources.networks.max(PACKETS_MIN)).collect();
    random.shuffle(&mut numbers);
    let longest = settings.messages.iter().map(Vec::len).max().unwrap_or(0);
    let batch = |numbers: &[u32]| {
        let mut batch = Batch::new(numbers.len(), HEADS_OCTETS + longest);
        for (slot, &number) in numbers.iter().enumerate() {
            let message = &settings.messages[random.index(settings.messages.len())];
            let port = PORT_MIN + random.index(usize::from(u16::MAX) + 1 - PORT_MIN);
            let source = SocketAddrV4::new(settings.sources.address(number, &mut random), port as u16);
            let (room, id) = (batch.slot_mut(slot), random.next_u64().to_be_bytes());
            room[..HEADS_OCTETS].copy_from_slice(&heads(source, settings.server, message.len()));
            room[HEADS_OCTETS..][..message.len()].copy_from_slice(message);
            room[HEADS_OCTETS..][..2].copy_from_slice(&id[..2]);
            batch.set_length(slot, HEADS_OCTETS + message.len());
        }
        batch
    };
    numbers.chunks(BATCH_MAX).map(batch).collect()
}
