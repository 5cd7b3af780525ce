//! The same Internet for real servers: a folder that others serve.
//!
//! ```text
//! zones/ZONE.zone   a master file a zone, signed; the root is `root.zone`
//! servers           address, name of a server, zones that it has: a line each
//! groups            a group of servers (`generated::group`) and its addresses: a line each, for who has few servers
//! group-N           zone and file of each zone of a group
//! hints             NS of the root with addresses
//! anchor            DS of the root, or nothing
//! names, questions  what can be asked: name and type
//! ```

use crate::generated::{GROUPS, Generated, group};
use crate::records::{Records, address_of};
use crate::scenario::{Plan, ZonePlan};
use crate::signer::Signing;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// The name of a zone's file, without its folder.
pub fn file_name(apex: &Name) -> String {
    match apex.is_root() {
        true => "root.zone".to_owned(),
        // Names of the model have letters, digits, hyphens and underscores only.
        false => format!("{}zone", apex.to_lowercase()),
    }
}

/// Writes all of it into `folder`, which must be there. The error of a zone that cannot be made is one of input.
pub fn export(generated: &Generated, folder: &Path) -> io::Result<()> {
    let wrong = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
    let zones = generated.plan.complete().map_err(wrong)?;
    fs::create_dir_all(folder.join("zones"))?;
    for zone in &zones {
        fs::write(folder.join("zones").join(file_name(&zone.apex)), zone.text())?;
    }
    let hosts = hosts(generated, &zones);
    fs::write(folder.join("servers"), servers(&hosts))?;
    write_groups(&hosts, folder)?;
    let root = zones.iter().find(|zone| zone.apex.is_root());
    fs::write(folder.join("hints"), root.map(|root| hints(root)).unwrap_or_default())?;
    fs::write(folder.join("anchor"), anchor(&generated.plan.anchors()))?;
    for (name, list) in [("names", &generated.names), ("questions", &generated.questions)] {
        let lines = list.iter().map(|(name, qtype)| format!("{name} {}\n", rtype::Text(*qtype)));
        fs::write(folder.join(name), lines.collect::<String>())?;
    }
    Ok(())
}

/// Signs zone files in place, of zones that delegate each other: DS records go to the zone above where that is among them, and DS records of the root come
/// back, as a master file. The error of a zone that cannot be signed is one of input.
pub fn sign_files(files: &[(NameBuf, PathBuf)], signing: &Signing) -> io::Result<String> {
    let wrong = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
    let mut plan = Plan::default();
    for (apex, path) in files {
        let text = fs::read_to_string(path)?;
        plan.zones.push(ZonePlan { signing: Some(signing.clone()), ..ZonePlan::new(apex, &text) });
    }
    for (zone, (_, path)) in plan.complete().map_err(wrong)?.iter().zip(files) {
        fs::write(path, zone.text())?;
    }
    Ok(anchor(&plan.anchors()))
}

/// A server: its addresses, and the zones that it has.
type Hosts = BTreeMap<String, (BTreeSet<IpAddr>, BTreeSet<String>)>;

fn hosts(generated: &Generated, zones: &[Rc<Records>]) -> Hosts {
    let mut hosts = Hosts::new();
    for (plan, zone) in generated.plan.zones.iter().zip(zones) {
        let targets = zone.of(&zone.apex, rtype::NS).filter_map(|ns| Name::from_wire(&ns.rdata).ok());
        let named = targets.map(|name| name.to_lowercase().to_string());
        let names: Vec<String> = if plan.servers.is_empty() { named.collect() } else { plan.servers.clone() };
        for name in names {
            hosts.entry(name).or_default().1.insert(zone.apex.to_lowercase().to_string());
        }
    }
    for record in zones.iter().flat_map(|zone| &zone.list) {
        if let Some(address) = address_of(record.rtype, &record.rdata)
            && let Some((addresses, _)) = hosts.get_mut(&record.owner.to_lowercase().to_string())
        {
            addresses.insert(address);
        }
    }
    hosts.retain(|_, (addresses, _)| !addresses.is_empty());
    hosts
}

fn servers(hosts: &Hosts) -> String {
    let mut text = String::new();
    for (name, (addresses, zones)) in hosts {
        let zones: Vec<&str> = zones.iter().map(String::as_str).collect();
        for address in addresses {
            let _ = writeln!(text, "{address} {name} {}", zones.join(" "));
        }
    }
    text
}

fn write_groups(hosts: &Hosts, folder: &Path) -> io::Result<()> {
    let mut groups = String::new();
    for number in 0..GROUPS {
        let of_group = || hosts.iter().filter(|(name, _)| group(name) == number);
        let addresses: BTreeSet<String> =
            of_group().flat_map(|(_, (addresses, _))| addresses).map(IpAddr::to_string).collect();
        let zones: BTreeSet<&String> = of_group().flat_map(|(_, (_, zones))| zones).collect();
        let addresses: Vec<String> = addresses.into_iter().collect();
        let _ = writeln!(groups, "{number} {}", addresses.join(" "));
        let line = |zone: &&String| {
            let apex: NameBuf = zone.parse().expect("it was a name");
            format!("{zone} {}\n", file_name(&apex))
        };
        fs::write(folder.join(format!("group-{number}")), zones.iter().map(line).collect::<String>())?;
    }
    fs::write(folder.join("groups"), groups)
}

fn hints(root: &Records) -> String {
    let mut hints = Records { apex: NameBuf::root(), list: Vec::new() };
    for ns in root.of(Name::root(), rtype::NS) {
        hints.list.push(ns.clone());
        let Ok(server) = Name::from_wire(&ns.rdata) else { continue };
        for rtype in [rtype::A, rtype::AAAA] {
            hints.list.extend(root.of(server, rtype).cloned());
        }
    }
    hints.text()
}

/// The trust anchor as a master file.
pub fn anchor(ds: &[Vec<u8>]) -> String {
    let mut records = Records { apex: NameBuf::root(), list: Vec::new() };
    ds.iter().for_each(|rdata| records.push(Name::root(), rtype::DS, 3600, rdata));
    records.text()
}
