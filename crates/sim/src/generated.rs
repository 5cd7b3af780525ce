//! A larger Internet, of real names: a root, TLDs, zones below them, name servers, as they are delegated on the real one.
//!
//! ```text
//! names -> registered names (last two or three labels) -> zones
//!            TLD: servers of its registry, large ones share           hoster.: zones with servers that others use
//!            zone: servers of a hoster | its own | a mix              cdn.: targets of aliases, short TTLs
//! ```
//!
//! What is drawn at random is drawn of the seed; the same seed, names and shares give the same zones. Shares follow what is measured on real
//! names (data/README.md has the source of these): 4 % have an alias, TTLs are those that came with the names.

mod hard;
mod names;
mod signing;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use wire::NameBuf;
use wire::iana::rtype;

pub use names::{NameSeen, POPULAR, RESOLVED, RESOLVED_MORE, names_evenly, names_of, names_seen};
pub use signing::is_supported;

use crate::scenario::Plan;
use names::{above, registered};
use zones::Generator;

/// What is to be generated.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of everything that is drawn at random.
    pub seed: u64,
    /// How many of a hundred zones below TLDs are signed. The root and nine TLDs of ten are, if this is not 0; with 100 everything is, zones of name servers too.
    pub signed_percent: u64,
    /// How many of a hundred signed zones are bogus.
    pub bogus_percent: u64,
    /// Whether servers have IPv6 addresses too.
    pub has_ipv6: bool,
    /// How many of a hundred zones are delegated to servers that do not have them.
    pub lame_percent: u64,
    /// When signatures are good: seconds since 1970.
    pub now: u32,
    /// How many addresses the servers of a [`group`] share; 0: each has its own. Worlds in virtual time want that; real servers have few.
    pub addresses_a_group: u32,
    /// Where addresses of servers begin; 2,048 that follow are theirs where groups share them.
    pub first_address: Ipv4Addr,
}

/// Where addresses of servers begin unless something else is asked for: of 198.18.0.0/15, which is for measurements (RFC 2544).
pub const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

impl Default for Wanted {
    /// Some of all, for virtual time.
    fn default() -> Wanted {
        Wanted {
            seed: 1,
            signed_percent: 30,
            bogus_percent: 3,
            has_ipv6: true,
            lame_percent: 0,
            now: crate::BEGIN_UNIX_SECONDS,
            addresses_a_group: 0,
            first_address: FIRST_ADDRESS,
        }
    }
}

/// How many groups of servers there are.
pub const GROUPS: usize = 5;

/// Which real server may stand for a name server such that no zone and the zones below it are on the same one: the root, TLDs, hosters in two halves, all
/// others.
pub fn group(server: &str) -> usize {
    let number = server.trim_start_matches(|c: char| !c.is_ascii_digit());
    match server {
        _ if server.ends_with(".root-servers.net.") => 0,
        _ if server.contains(".nic.") || server.ends_with(".gtld-servers.net.") => 1,
        _ if server.contains(".hoster") => {
            let digits = server.split_once("hoster").map_or(number, |(_, rest)| rest);
            2 + usize::from(
                digits.split('.').next().is_some_and(|one| one.ends_with(['1', '3', '5', '7', '9'])),
            )
        }
        _ => 4,
    }
}

/// An Internet of zones, and what can be asked of it.
pub struct Generated {
    /// Zones, servers, signing.
    pub plan: Plan,
    /// Questions about all names that came in: those that exist, in the order of the list.
    pub names: Vec<(NameBuf, u16)>,
    /// Questions of all kinds about names of the zones, and others.
    pub questions: Vec<(NameBuf, u16)>,
    /// Zones that are bogus.
    pub bogus: BTreeSet<String>,
}

/// Zones for each hoster, CDN zones, and the least of each.
const ZONES_A_HOSTER: usize = 40;
const HOSTERS_MIN: usize = 3;

/// Generates zones for the names.
pub fn generated(wanted: &Wanted, names: &[NameSeen]) -> Generated {
    let mut zones: BTreeMap<String, Vec<&NameSeen>> = BTreeMap::new();
    for seen in names {
        zones.entry(registered(&seen.name)).or_default().push(seen);
    }
    zones.retain(|zone, _| !is_of_model(zone));
    let hosters = (zones.len() / ZONES_A_HOSTER).max(HOSTERS_MIN);
    let mut generator = Generator::new(wanted, hosters, zones.keys().cloned().collect());
    let registries: BTreeSet<String> = zones.keys().map(|zone| above(zone)).chain(infrastructure()).collect();
    let higher = registries.iter().map(|zone| above(zone)).filter(|zone| zone != ".");
    let tlds: BTreeSet<String> = higher.chain(registries.iter().cloned()).collect();
    generator.root();
    tlds.iter().filter(|tld| !zones.contains_key(*tld)).for_each(|tld| generator.tld(tld));
    generator.hosters_and_cdns();
    for (zone, seen) in &zones {
        generator.zone(zone, seen);
    }
    generator.reverse();
    let names = names.iter().filter(|seen| !is_of_model(&registered(&seen.name)));
    names.clone().for_each(|seen| generator.ask_about(&seen.name));
    let asked = names.filter(|seen| seen.addresses > 0).map(|seen| (seen.name.clone(), rtype::A));
    let names: Vec<(NameBuf, u16)> = asked.collect();
    let mut questions = generator.questions;
    generator.random.shuffle(&mut questions);
    Generated { names, questions, plan: generator.plan, bogus: generator.bogus }
}

/// TLDs that are there whatever the names.
fn infrastructure() -> Vec<String> {
    ["net.", "com.", "arpa."].map(str::to_owned).into()
}

/// Whether the model has a zone of this name, or makes names of servers there, whatever real ones there are.
fn is_of_model(zone: &str) -> bool {
    let (first, rest) = zone.split_once('.').unwrap_or((zone, ""));
    let numbered = |word: &str| {
        first.strip_prefix(word).is_some_and(|number| number.bytes().all(|octet| octet.is_ascii_digit()))
    };
    let is_of_net = rest == "net." && (numbered("hoster") || numbered("cdn"));
    first == "nic" || is_of_net || matches!(zone, "root-servers.net." | "gtld-servers.net." | "in-addr.arpa.")
}
