//! Zones and servers of a scenario, completed: what a file leaves out because it is like anywhere.
//!
//! | left out | becomes |
//! |---|---|
//! | root zone | one with the delegations of the file |
//! | SOA | `ns host 1 3600 600 86400 300`, TTL 3600 |
//! | NS | `ns.ZONE`, with an address of 198.51.100.0/24 |
//! | delegation in the zone above | NS of the child, addresses of those at or below it, DS if it is signed |
//! | servers | one for each NS that has addresses in any zone |

use super::ServerPlan;
use crate::behaviour::Behaviour;
use crate::internet::Internet;
use crate::records::{Records, address_of};
use crate::server::ModelServer;
use crate::signer::{Signing, sign};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// A zone of a file.
#[derive(Clone, Debug)]
pub struct ZonePlan {
    /// Its name.
    pub apex: NameBuf,
    /// Its records, as they are written.
    pub text: String,
    /// Servers that have it in place of those of its NS records.
    pub servers: Vec<String>,
    /// How it is signed.
    pub signing: Option<Signing>,
    /// Whether the zone above has no DS for it.
    pub is_island: bool,
    /// Whether the zone above does not delegate it.
    pub is_withdrawn: bool,
}

impl ZonePlan {
    /// A zone that is not signed.
    pub fn new(apex: &Name, text: &str) -> ZonePlan {
        ZonePlan {
            apex: apex.to_owned(),
            text: text.to_owned(),
            servers: Vec::new(),
            signing: None,
            is_island: false,
            is_withdrawn: false,
        }
    }
}

/// What a scenario file says: zones, servers, settings, steps.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Zones in the order of the file.
    pub zones: Vec<ZonePlan>,
    /// Servers of which more is said than that they have zones.
    pub servers: Vec<ServerPlan>,
    /// What servers do.
    pub behaviours: Vec<(String, Behaviour)>,
}

/// TTL of records that are completed.
const TTL: u32 = 3600;

impl Plan {
    /// The zone called so.
    pub fn zone(&mut self, apex: &Name) -> Option<&mut ZonePlan> {
        self.zones.iter_mut().find(|zone| zone.apex.eq_ignore_case(apex))
    }

    /// Adds the root zone if there is none.
    pub fn add_root(&mut self) {
        if self.zone(Name::root()).is_none() {
            self.zones.insert(0, ZonePlan::new(Name::root(), ""));
        }
    }

    /// RDATA of the DS records of the root; none if it is not signed.
    pub fn anchors(&self) -> Vec<Vec<u8>> {
        let root = self.zones.iter().find(|zone| zone.apex.is_root());
        root.and_then(|root| root.signing.as_ref())
            .map(|signing| signing.ds(Name::root()))
            .unwrap_or_default()
    }

    /// All zones, completed and signed, in the order of the plan.
    pub fn complete(&self) -> Result<Vec<Rc<Records>>, String> {
        let mut zones = Vec::new();
        for (number, zone) in (1..).zip(&self.zones) {
            let mut records = Records::from_text(&zone.apex.to_string(), &zone.text)
                .map_err(|error| format!("zone {}: {error}", zone.apex))?;
            add_apex(&mut records, number)?;
            zones.push(records);
        }
        let places: HashMap<NameBuf, usize> =
            zones.iter().enumerate().map(|(at, zone)| (zone.apex.to_lowercase(), at)).collect();
        for (at, zone) in self.zones.iter().enumerate().filter(|(_, zone)| !zone.is_withdrawn) {
            let name = zone.apex.to_lowercase();
            let mut ancestors = std::iter::successors(name.parent(), |name| name.parent());
            if let Some(&above) = ancestors.find_map(|name| places.get(name)) {
                let child = zones[at].clone();
                delegate(&mut zones[above], &child, zone);
            }
        }
        let signed = zones.into_iter().zip(&self.zones).map(|(records, plan)| match &plan.signing {
            Some(signing) => sign(&records, signing).map(Rc::new),
            None => Ok(Rc::new(records)),
        });
        signed.collect()
    }

    /// All servers with their zones.
    pub fn internet(&self) -> Result<Internet, String> {
        let zones = self.complete()?;
        let addresses = addresses_of_names(&zones);
        let mut internet = Internet::new();
        for plan in &self.servers {
            let known = match plan.addresses.is_empty() {
                true => addresses.get(&plan.name).cloned().unwrap_or_default(),
                false => plan.addresses.clone(),
            };
            let server = internet.add(ModelServer::new(&plan.name, known))?;
            server.round_trip = plan.round_trip.unwrap_or(server.round_trip);
        }
        for (plan, zone) in self.zones.iter().zip(&zones) {
            let mut names = plan.servers.clone();
            if names.is_empty() {
                let targets = zone.of(&zone.apex, rtype::NS);
                names.extend(
                    targets
                        .filter_map(|ns| Name::from_wire(&ns.rdata).ok())
                        .map(|name| name.to_lowercase().to_string()),
                );
            }
            for name in names {
                if internet.server(&name).is_none() {
                    let Some(known) = addresses.get(&name) else {
                        continue; // a name server that is nowhere is a scenario too
                    };
                    internet.add(ModelServer::new(&name, known.clone()))?;
                }
                internet.server(&name).expect("it was added").put_zone(Rc::clone(zone));
            }
        }
        for (name, behaviour) in &self.behaviours {
            internet.behave(name, behaviour.clone())?;
        }
        Ok(internet)
    }
}

fn add_apex(records: &mut Records, number: u32) -> Result<(), String> {
    let apex = records.apex.clone();
    let is_root = apex.is_root();
    let server = if is_root { "a.root-servers.net." } else { "ns" };
    if records.of(&apex, rtype::SOA).next().is_none() {
        records.push_line(&format!("@ {TTL} SOA {server} host 1 3600 600 86400 300"))?;
    }
    if records.of(&apex, rtype::NS).next().is_none() {
        records.push_line(&format!("@ {TTL} NS {server}"))?;
        let [_, _, high, low] = number.to_be_bytes();
        records.push_line(&format!("{server} {TTL} A 198.51.{}.{low}", 100 + u32::from(high)))?;
    }
    Ok(())
}

/// Adds to `parent` what it needs to delegate `child`, unless it does already.
fn delegate(parent: &mut Records, child: &Records, plan: &ZonePlan) {
    let apex = &child.apex;
    if parent.of(apex, rtype::NS).next().is_none() {
        let servers: Vec<_> = child.of(apex, rtype::NS).cloned().collect();
        for ns in &servers {
            let Ok(server) = Name::from_wire(&ns.rdata) else { continue };
            if server.is_at_or_below(apex) {
                for rtype in [rtype::A, rtype::AAAA] {
                    let glue: Vec<_> = child.of(server, rtype).cloned().collect();
                    parent.list.extend(glue);
                }
            }
        }
        parent.list.extend(servers);
    }
    if let Some(signing) = plan.signing.as_ref().filter(|_| !plan.is_island)
        && parent.of(apex, rtype::DS).next().is_none()
    {
        signing.ds(apex).iter().for_each(|ds| parent.push(apex, rtype::DS, TTL, ds));
    }
}

/// Addresses of all names, of whichever zone has them, each once. Names as text in lower case.
fn addresses_of_names(zones: &[Rc<Records>]) -> HashMap<String, Vec<IpAddr>> {
    let mut all: HashMap<String, Vec<IpAddr>> = HashMap::new();
    for record in zones.iter().flat_map(|zone| &zone.list) {
        if let Some(address) = address_of(record.rtype, &record.rdata) {
            let known = all.entry(record.owner.to_lowercase().to_string()).or_default();
            if !known.contains(&address) {
                known.push(address);
            }
        }
    }
    all
}
