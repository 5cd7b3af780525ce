//! Heads of IP and UDP, and addresses that nobody here has.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::random::Random;

/// Octets of the head of an IPv4 packet without options.
const IP_OCTETS: usize = 20;
/// Octets of the head of UDP.
const UDP_OCTETS: usize = 8;
/// Octets of both.
pub const HEADS_OCTETS: usize = IP_OCTETS + UDP_OCTETS;
/// Version 4, and five words of head.
const VERSION: u8 = 0x45;
/// Hops: one is enough, 64 is what systems begin with.
const HOPS: u8 = 64;
/// UDP as IP has it.
const UDP: u8 = 17;
/// First octets that sources do not begin with: this network, the servers and clients of beds (10, 198), the loopback interface.
const NOT_FIRST: [u8; 4] = [0, 10, 127, 198];
/// First octets from here on are for groups and experiments.
const FIRST_END: u8 = 224;
/// Networks of 24 bits that have the same first octet.
const OF_FIRST: u32 = 1 << 16;

/// Networks of 24 bits that made-up addresses are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// How many networks, from 1.
    pub networks: u32,
    /// How far one is from the next: 1 for neighbours, 256 for one in each network of 16 bits.
    pub apart: u32,
}

impl Sources {
    /// Most networks there are, apart ones with those between them.
    pub const NETWORKS_MAX: u32 = (FIRST_END as u32 - NOT_FIRST.len() as u32) * OF_FIRST;

    /// Whether there are so many.
    pub fn is_possible(self) -> bool {
        let all = u64::from(self.networks) * u64::from(self.apart);
        (1..=u64::from(Self::NETWORKS_MAX)).contains(&all)
    }

    /// An address in the network of that number, modulo how many there are.
    pub fn address(self, number: u32, random: &mut Random) -> Ipv4Addr {
        let network = number % self.networks * self.apart;
        let mut firsts = (0..FIRST_END).filter(|first| !NOT_FIRST.contains(first));
        // There are as many as `is_possible` counts with.
        let first = firsts.nth((network / OF_FIRST) as usize).unwrap_or(1);
        let [_, _, second, third] = network.to_be_bytes();
        Ipv4Addr::new(first, second, third, random.index(254) as u8 + 1)
    }
}

/// The heads of IP and UDP before a message of so many octets. The kernel fills in the length of the packet and its checksum; that of UDP is 0, which is none (RFC 768).
pub fn heads(source: SocketAddrV4, server: SocketAddrV4, octets: usize) -> [u8; HEADS_OCTETS] {
    let mut heads = [0; HEADS_OCTETS];
    (heads[0], heads[8], heads[9]) = (VERSION, HOPS, UDP);
    heads[12..16].copy_from_slice(&source.ip().octets());
    heads[16..20].copy_from_slice(&server.ip().octets());
    heads[20..22].copy_from_slice(&source.port().to_be_bytes());
    heads[22..24].copy_from_slice(&server.port().to_be_bytes());
    let length = u16::try_from(UDP_OCTETS + octets).unwrap_or(u16::MAX);
    heads[24..26].copy_from_slice(&length.to_be_bytes());
    heads
}
