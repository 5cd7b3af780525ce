//! What the settings mean to clients: who may recurse, names that are answered from here, addresses that are made or kept back.

use std::net::IpAddr;
use std::sync::Arc;

use auth::access::{self, Access, Kind, Prefix};
use recursive::dns64::{self, Dns64};
use recursive::local::{self, Local, Source, Zone};
use recursive::names::Names;
use recursive::networks::Networks;
use recursive::policy::{Asker, Clients, Decision, Policy};
use recursive::rebinding::Rebinding;
use wire::{Name, NameBuf, Transport};
use zonefile::RecordBuf;

use crate::settings::resolver::{local_records as line_records, names, prefixes};
use crate::settings::{LocalZoneSettings, Settings};

/// What clients get.
pub(super) fn policy(settings: &Settings, server: &auth::Server, version: u64) -> Policy {
    let resolver = &settings.resolver;
    let private = networks(&prefixes(&resolver.private_addresses));
    let allowed = [names(&resolver.private_names), operators_own(settings)].concat();
    Policy {
        version,
        clients: recursing(server.access.clone()),
        answers_without_rd: resolver.without_recursion == "cache",
        udp_payload_octets: server.udp_payload_octets,
        rotates: resolver.rotate,
        misses_per_second: resolver.misses_per_second,
        cuts_below_unproved: false,
        stale_seconds: resolver.stale_seconds,
        points: Names::new(&points(settings)),
        nsid: server.nsid.clone(),
        cookies: server.cookies,
        demands_cookies: server.demands_cookies,
        local: local(settings),
        dns64: dns64(settings),
        rebinding: (!private.is_empty()).then(|| Rebinding {
            networks: private,
            allowed: Names::new(&allowed),
            ..Rebinding::usual()
        }),
    }
}

fn networks(prefixes: &[Prefix]) -> Networks {
    Networks::new(&prefixes.iter().map(|prefix| (prefix.address(), prefix.length())).collect::<Vec<_>>())
}

/// Addresses of documentation (RFC 5737, 3849, 9637), which nobody has: who lets all of them of a family in lets anybody in.
const ANYBODY: [&[&str]; 2] = [&["192.0.2.1", "198.51.100.1", "203.0.113.1"], &["2001:db8::1", "3fff::1"]];

/// Whether anybody may have recursion over UDP without a proof of the address, at a listener that others than this machine reach.
pub(super) fn is_open(settings: &Settings, clients: &Clients) -> bool {
    let is_let_in = |text: &&str| {
        let Ok(address) = text.parse() else { return false };
        let asker = Asker { address, transport: Transport::Udp, is_proved: false };
        clients.decide(&asker) == Decision::Allowed
    };
    let is_reached = settings.server.listen.iter().any(|address| !address.ip().is_loopback());
    is_reached && ANYBODY.iter().any(|family| family.iter().all(is_let_in))
}

/// Those whom access lists let recurse.
fn recursing(access: Access) -> Clients {
    Clients::By(Arc::new(move |asker: &Asker| {
        let Asker { address, transport, is_proved } = *asker;
        let asker = access::Asker { address: address.to_canonical(), transport, is_proved, key: None };
        match access.decide(Kind::Recursion, zone::catalog::Group::default(), &asker) {
            access::Decision::Allowed => Decision::Allowed,
            access::Decision::Unproved => Decision::Unproved,
            access::Decision::Denied => Decision::Denied,
        }
    }))
}

fn dns64(settings: &Settings) -> Option<Dns64> {
    let resolver = &settings.resolver;
    let prefix = |prefix: &Prefix| match prefix.address() {
        IpAddr::V6(address) => dns64::Prefix::new(address, prefix.length()),
        IpAddr::V4(_) => None,
    };
    let made: Vec<dns64::Prefix> = prefixes(&resolver.dns64_prefixes).iter().filter_map(prefix).collect();
    let excluded: Vec<(IpAddr, u8)> =
        prefixes(&resolver.dns64_exclude).iter().map(|prefix| (prefix.address(), prefix.length())).collect();
    let clients = match prefixes(&resolver.dns64_clients) {
        everybody if everybody.is_empty() => Clients::All,
        some => Clients::Of(networks(&some)),
    };
    Dns64::new(&made, &excluded, Networks::default(), clients)
}

/// Names from which on downwards others are asked than those that the DNS names.
fn points(settings: &Settings) -> Vec<NameBuf> {
    let forwards = settings.forwards.iter().filter_map(|(_, forward)| forward.name.clone());
    let stubs = settings.stubs.iter().filter_map(|(_, stub)| stub.name.clone());
    forwards.chain(stubs).collect()
}

/// Names whose answers are as the operator has them: those that others are asked for, the root apart, which says nothing of the names, and those that are answered from here.
fn operators_own(settings: &Settings) -> Vec<NameBuf> {
    let local = settings.local_zones.iter().filter_map(|(_, local)| local.name.clone());
    points(settings).into_iter().chain(local).filter(|name| !name.is_root()).collect()
}

/// Names that are answered from here. Those that are resolved in a way of their own are not special.
fn local(settings: &Settings) -> Local {
    let mut source = Source { has_dns64: !settings.resolver.dns64_prefixes.is_empty(), ..Source::default() };
    source.exceptions = names(&settings.resolver.not_special);
    source.exceptions.extend(points(settings).into_iter().filter(|name| !name.is_root()));
    for (_, local) in &settings.local_zones {
        let Some(name) = &local.name else { continue };
        source.zones.push(Zone { is_told: local.log, ..Zone::new(name.clone(), kind(local)) });
        let records = local_records(local, name).flatten();
        source.records.extend(records.map(|record| {
            let RecordBuf { owner, rtype, ttl, rdata } = record;
            local::Record { owner, rtype, ttl, rdata: rdata.into() }
        }));
    }
    Local::new(&source)
}

fn kind(local: &LocalZoneSettings) -> local::Kind {
    match local.kind.as_str() {
        "transparent" => local::Kind::Transparent,
        "typetransparent" => local::Kind::TypeTransparent,
        "null" => local::Kind::Null,
        "redirect" => local::Kind::Redirect,
        "nxdomain" => local::Kind::NxDomain,
        "nodata" => local::Kind::NoData,
        "refuse" => local::Kind::Refuse,
        "drop" => local::Kind::Drop,
        _ => local::Kind::Static,
    }
}

/// The records of a local zone, each line read by itself.
pub(crate) fn local_records(local: &LocalZoneSettings, name: &Name) -> impl Iterator<Item = Vec<RecordBuf>> {
    local.records.texts().iter().filter_map(move |line| line_records(line, name).ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Whether anybody may recurse, by the file's text after that `listen` line.
    fn check(listen: &str, more: &str, expected: bool) {
        let text = format!("[server]\nlisten = [\"{listen}\"]\n[resolver]\nenabled = true\n{more}");
        let settings = Settings::parse(Path::new("f"), &text).unwrap();
        let access = crate::access::Groups::new(false).access(&settings).unwrap();
        assert_eq!(is_open(&settings, &recursing(access)), expected, "{text}");
    }

    #[test]
    fn open_resolvers() {
        let acl = |prefixes: &str, more: &str| {
            format!("[access]\nrecursion = \"a\"\n[[acl]]\nname = \"a\"\naddresses = [{prefixes}]\n{more}")
        };
        check("0.0.0.0:53", "", false);
        check("0.0.0.0:53", "[access]\nrecursion = \"all\"\n", true);
        check("127.0.0.1:53", "[access]\nrecursion = \"all\"\n", false);
        check("192.0.2.53:53", &acl("\"10.0.0.0/8\", \"192.0.2.0/24\"", ""), false);
        check("192.0.2.53:53", &acl("\"0.0.0.0/1\", \"128.0.0.0/1\"", ""), true);
        check("192.0.2.53:53", &acl("\"::/0\"", ""), true);
        check("192.0.2.53:53", &acl("\"::/0\"", "proved = true\n"), false);
        check("192.0.2.53:53", &acl("\"0.0.0.0/0\"", "transports = [\"tcp\"]\n"), false);
    }
}
