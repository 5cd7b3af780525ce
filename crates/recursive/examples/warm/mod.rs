//! What a worker has that knows the answers: a warm cache, questions for what is in it, and who asks.
#![allow(clippy::unwrap_used)] // tools

use cache::store::Settings;
use cache::{Cache, Entry, Key, Moment};
use recursive::policy::Clients;
use recursive::{Client, Policy};
use wire::iana::rtype;
use wire::rrset::RdataListBuf;
use wire::{Address, NameBuf, Transport};

/// Since when the answers are known.
pub const NOW: Moment = Moment(1_000_000);
/// Names that are asked for in turn, mostly.
pub const NAMES: usize = 64;
/// Octets of the cache: room for hundreds of thousands.
const OCTETS: usize = 256 << 20;

/// Two addresses of each name.
pub struct Warm {
    pub cache: Cache,
    pub policy: Policy,
    pub queries: Vec<Vec<u8>>,
    pub address: Address,
}

impl Warm {
    /// So many names. `has_edns`: queries have OPT and DO.
    pub fn new(names: usize, has_edns: bool) -> Warm {
        let cache = Cache::with(&Settings { octets: OCTETS, ..Settings::default() }, [1, 2, 3]);
        let rdatas: RdataListBuf = [&b"abcd"[..], b"efgh"].into_iter().collect();
        let entry = Entry { zone_labels: 2, ..Entry::data(rdatas.list(), NOW, 3600) };
        let queries = (0..names).map(|number| {
            let name = NameBuf::from_text(&format!("www{number}.example.com")).unwrap();
            assert!(cache.put(&Key::rrset(&name, rtype::A), &entry, NOW, NOW));
            query(&name, has_edns)
        });
        let queries = queries.collect();
        let policy = Policy { clients: Clients::loopback(), ..Policy::default() };
        Warm { cache, policy, queries, address: Address::v4([127, 0, 0, 1], 53) }
    }

    /// Who asks.
    pub fn client(&self) -> Client<'_> {
        Client {
            transport: Transport::Udp,
            address: &self.address,
            is_proved: false,
            is_of_ours: false,
            ours: None,
            ahead: None,
        }
    }
}

fn query(name: &NameBuf, has_edns: bool) -> Vec<u8> {
    let mut octets = b"id\x01\0\0\x01\0\0\0\0\0\0".to_vec();
    octets.extend(name.octets());
    octets.extend([0, 1, 0, 1]);
    if has_edns {
        octets[11] = 1;
        octets.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
    }
    octets
}
