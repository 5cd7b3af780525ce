//! Which servers are where: addresses to servers.

use crate::behaviour::Behaviour;
use crate::records::Records;
use crate::server::ModelServer;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// All servers.
#[derive(Default)]
pub struct Internet {
    servers: Vec<ModelServer>,
    by_address: HashMap<IpAddr, usize>,
    by_name: HashMap<String, usize>,
    /// Address families that are not there: nothing goes out.
    pub has_no_ipv4: bool,
    /// The same of IPv6.
    pub has_no_ipv6: bool,
    /// Nothing is lost by the network, everything by this link: nothing arrives, and nobody says so.
    pub is_cut_off: bool,
}

impl Internet {
    /// No servers.
    pub fn new() -> Internet {
        Internet::default()
    }

    /// Adds a server. Its name and addresses must be new.
    pub fn add(&mut self, server: ModelServer) -> Result<&mut ModelServer, String> {
        let number = self.servers.len();
        if self.by_name.insert(server.name.clone(), number).is_some() {
            return Err(format!("two servers are called {}", server.name));
        }
        for address in &server.addresses {
            if let Some(other) = self.by_address.insert(*address, number) {
                return Err(format!("{address} is {} and {}", self.servers[other].name, server.name));
            }
        }
        self.servers.push(server);
        Ok(self.servers.last_mut().expect("it was pushed"))
    }

    /// All servers.
    pub fn servers(&self) -> &[ModelServer] {
        &self.servers
    }

    /// The server called so.
    pub fn server(&mut self, name: &str) -> Option<&mut ModelServer> {
        let number = *self.by_name.get(name)?;
        self.servers.get_mut(number)
    }

    /// The server at an address.
    pub fn at(&mut self, address: IpAddr) -> Option<&mut ModelServer> {
        let number = *self.by_address.get(&address)?;
        self.servers.get_mut(number)
    }

    /// What a server at an address is called.
    pub fn name_of(&self, address: IpAddr) -> &str {
        self.by_address.get(&address).map_or("nobody", |&number| &self.servers[number].name)
    }

    /// Whether there is a way to an address.
    pub fn is_reachable(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => !self.has_no_ipv4,
            IpAddr::V6(_) => !self.has_no_ipv6,
        }
    }

    /// Adds a behaviour to a server.
    pub fn behave(&mut self, name: &str, behaviour: Behaviour) -> Result<(), String> {
        let server = self.server(name).ok_or_else(|| format!("no server is called {name}"))?;
        server.behaviours.push(behaviour);
        Ok(())
    }

    /// Has all servers that have a zone of that name have this one.
    pub fn replace_zone(&mut self, zone: &Rc<Records>) {
        for server in &mut self.servers {
            if server.zones().iter().any(|one| one.apex.eq_ignore_case(&zone.apex)) {
                server.put_zone(Rc::clone(zone));
            }
        }
    }

    /// Queries that all servers got.
    pub fn query_count(&self) -> u64 {
        self.servers.iter().map(|server| server.counts.queries()).sum()
    }

    /// The hints that a resolver begins with: the root's NS records, and addresses of these.
    pub fn hints(&self) -> Records {
        let mut hints = Records { apex: NameBuf::root(), list: Vec::new() };
        let root = self.servers.iter().flat_map(ModelServer::zones).find(|zone| zone.apex.is_root());
        let Some(root) = root else { return hints };
        for ns in root.of(Name::root(), rtype::NS) {
            hints.list.push(ns.clone());
            let Ok(server) = Name::from_wire(&ns.rdata) else { continue };
            for rtype in [rtype::A, rtype::AAAA] {
                hints.list.extend(root.of(server, rtype).cloned());
            }
        }
        hints
    }
}
