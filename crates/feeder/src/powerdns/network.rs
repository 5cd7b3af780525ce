//! A database of PostgreSQL with PowerDNS's tables.

use feed::address::Network;
use store::postgres::Target;
use store::postgres::powerdns::PowerDns;
use store::powerdns::mark;

use super::{Opener, SharedBeat};

/// See the module.
pub(crate) struct Server {
    network: Network,
    target: Target,
}

impl Server {
    /// The one at this address. `roots`: certificates that are believed, in PEM.
    pub(crate) fn of(network: &Network, roots: &[u8]) -> Server {
        Server { network: network.clone(), target: Target::of(network, roots) }
    }
}

impl Opener for Server {
    type Client = PowerDns;

    /// A copy, or one that was moved to another cluster, is another one.
    fn identity(&self, client: &mut PowerDns) -> Result<String, store::Fault> {
        Ok(mark::text(&mark::of_words(&["PowerDNS in PostgreSQL", client.cluster()])))
    }

    fn open(&mut self, beat: &SharedBeat) -> Result<PowerDns, store::Fault> {
        let beat = beat.clone();
        PowerDns::open(&self.target, self.network.statement_timeout, Box::new(move || beat.beat()))
    }

    fn is_replica(&self, client: &PowerDns) -> bool {
        client.is_replica()
    }

    /// Whether another one answers is seen at each look.
    fn is_another(&mut self) -> bool {
        false
    }
}
