//! What the settings mean to resolver, answers, upstream sockets and validation: one value that workers take over as a whole.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use auth::access::{self, Access, Kind, Prefix};
use net::{Ports, UpstreamSettings};
use recursive::dns64::{self, Dns64};
use recursive::local::{self, Local, Source, Zone};
use recursive::names::Names;
use recursive::networks::Networks;
use recursive::policy::{Asker, Clients, Decision, Policy};
use recursive::rebinding::Rebinding;
use resolve::settings::{Configured, ConfiguredKind, Endpoint, Minimisation, Protection};
use validate::Anchors;
use validate::rfc5011::Managed;
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zonefile::RecordBuf;

use super::premises::Premises;
use super::secured::{Secured, protection};
use crate::read::read_bounded;
use crate::settings::resolver::{names, ports, prefixes};
use crate::settings::{LocalZoneSettings, Settings};

/// Files of hints and anchors longer than this are none: a few dozen records.
const FILE_OCTETS_MAX: u64 = 1 << 20;
/// Port of DNS over TLS (RFC 7858 3.1).
const PORT_TLS: u16 = 853;
/// Port of an address that names none.
const PORT_PLAIN: u16 = 53;

/// See the module.
#[derive(Clone)]
pub(crate) struct Terms {
    /// Another for each change.
    pub version: u64,
    /// What kept data depend on.
    pub(super) premises: Arc<Premises>,
    /// How long what is learned from now on is kept.
    pub(super) limits: cache::Limits,
    /// What clients get.
    pub policy: Policy,
    /// How things are found out.
    pub resolve: resolve::Settings,
    /// How servers are reached.
    pub upstream: Arc<UpstreamSettings>,
    /// What trust anchors begin with, where they are renewed.
    pub(super) seeds: Option<Arc<[Managed]>>,
    /// What those have to show that are asked over TLS.
    pub(super) secured: Secured,
}

impl Terms {
    /// What settings say. `server`: what they say to answers from zones. Errors are lines for the operator: files that cannot be read.
    pub(crate) fn new(
        settings: &Settings,
        server: &auth::Server,
        version: u64,
    ) -> Result<Terms, Vec<String>> {
        let resolver = &settings.resolver;
        let resolve = resolve(settings)?;
        let is_renewing = resolver.validate && resolver.anchor_renewal;
        Ok(Terms {
            version,
            premises: Arc::new(Premises::of(settings, &resolve.anchors)),
            limits: limits(settings),
            policy: policy(settings, server, version),
            seeds: is_renewing.then(|| super::anchors::seeds(&resolve.anchors)),
            resolve,
            upstream: upstream(resolver),
            secured: Secured::new(settings)?,
        })
    }
}

/// How long things are kept.
pub(super) fn limits(settings: &Settings) -> cache::Limits {
    let resolver = &settings.resolver;
    cache::Limits {
        ttl_max: resolver.ttl_max_seconds,
        ttl_min: resolver.ttl_min_seconds,
        negative_ttl_max: resolver.negative_ttl_max_seconds,
        stale_seconds: resolver.stale_seconds,
    }
}

fn upstream(resolver: &crate::settings::ResolverSettings) -> Arc<UpstreamSettings> {
    let sources = resolver.source_addresses.texts().iter().filter_map(|text| text.parse().ok()).collect();
    // Those that are set by nobody leave out what other services of a machine use.
    let ports = match resolver.source_ports == crate::settings::ResolverSettings::default().source_ports {
        true => None,
        false => {
            ports(&resolver.source_ports).and_then(|(first, last)| Ports::new(&[first..=last], &[]).ok())
        }
    };
    Arc::new(UpstreamSettings { sources, ports: ports.unwrap_or_default(), ..UpstreamSettings::default() })
}

fn resolve(settings: &Settings) -> Result<resolve::Settings, Vec<String>> {
    let resolver = &settings.resolver;
    let default = resolve::Settings::default();
    let hints = match resolver.root_hints.as_os_str().is_empty() {
        true => default.hints.clone(),
        false => hints(&settings.path(&resolver.root_hints)).map_err(|line| vec![line])?,
    };
    Ok(resolve::Settings {
        hints,
        zones: configured(settings),
        minimisation: match resolver.qname_minimisation.as_str() {
            "off" => Minimisation::Off,
            "strict" => Minimisation::Strict,
            _ => Minimisation::Relaxed,
        },
        is_validating: resolver.validate,
        is_aggressive: resolver.aggressive_denial,
        anchors: anchors(settings).map_err(|line| vec![line])?,
        has_ipv4: resolver.ipv4,
        has_ipv6: resolver.ipv6,
        is_case_random: resolver.randomise_case,
        stale_after_ms: (resolver.stale_seconds > 0).then_some(u64::from(resolver.stale_after_ms)),
        not_servers: prefixes(&resolver.never_ask)
            .iter()
            .map(|prefix| resolve::response::Prefix::new(prefix.address(), prefix.length()))
            .collect(),
        ..default
    })
}

/// Where trust begins and ends: at the anchors of the file, or those that are built in, and not at stub zones that are not validated.
fn anchors(settings: &Settings) -> Result<Anchors, String> {
    let resolver = &settings.resolver;
    let mut anchors = match resolver.trust_anchor_file.as_os_str().is_empty() {
        true => Anchors::built_in(),
        false => anchors_of(&settings.path(&resolver.trust_anchor_file))?,
    };
    names(&resolver.insecure).iter().for_each(|name| anchors.add_insecure(name));
    let unsigned = settings.stubs.iter().filter(|(_, stub)| !stub.validate);
    unsigned.filter_map(|(_, stub)| stub.name.as_ref()).for_each(|name| anchors.add_insecure(name));
    Ok(anchors)
}

fn anchors_of(path: &Path) -> Result<Anchors, String> {
    let (mut anchors, mut count) = (Anchors::new(), 0);
    for record in records(path)? {
        match record.rtype {
            rtype::DS => anchors.add_ds(&record.owner, &record.rdata),
            rtype::DNSKEY => anchors.add_key(&record.owner, &record.rdata),
            _ => continue,
        }
        count += 1;
    }
    match count {
        0 => Err(format!("trust-anchor-file {}: expected DS or DNSKEY records, found none", path.display())),
        _ => Ok(anchors),
    }
}

/// The addresses of a file of hints.
fn hints(path: &Path) -> Result<Vec<IpAddr>, String> {
    let addresses: Vec<IpAddr> = records(path)?.iter().filter_map(address).collect();
    match addresses.is_empty() {
        true => Err(format!("root-hints {}: expected addresses (A, AAAA), found none", path.display())),
        false => Ok(addresses),
    }
}

/// The records of a file, names relative to the root.
pub(super) fn records(path: &Path) -> Result<Vec<RecordBuf>, String> {
    let text =
        read_bounded(path, FILE_OCTETS_MAX).map_err(|problem| format!("{}: {problem}", path.display()))?;
    zonefile::records(&text, Name::root()).map_err(|report| format!("{}: {report}", path.display()))
}

fn address(record: &RecordBuf) -> Option<IpAddr> {
    match record.rtype {
        rtype::A => <[u8; 4]>::try_from(&*record.rdata).ok().map(IpAddr::from),
        rtype::AAAA => <[u8; 16]>::try_from(&*record.rdata).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Zones whose servers the operator names.
fn configured(settings: &Settings) -> Vec<Configured> {
    let forwards = settings.forwards.iter().map(|(_, forward)| {
        let security = protection(forward);
        let endpoint = |address: &SocketAddr| {
            let port = if forward.tls && address.port() == PORT_PLAIN { PORT_TLS } else { address.port() };
            Endpoint { address: SocketAddr::new(address.ip(), port), security: security.clone() }
        };
        let kind = ConfiguredKind::Forward { is_first: forward.first };
        (&forward.name, kind, forward.addresses.iter().map(endpoint).collect())
    });
    let stubs = settings.stubs.iter().map(|(_, stub)| {
        let endpoint = |address: &SocketAddr| Endpoint { address: *address, security: Protection::Plain };
        (&stub.name, ConfiguredKind::Stub, stub.addresses.iter().map(endpoint).collect())
    });
    let all = forwards.chain(stubs);
    all.filter_map(|(name, kind, servers)| {
        Some(Configured { name: name.as_ref()?.to_lowercase(), kind, servers })
    })
    .collect()
}

fn policy(settings: &Settings, server: &auth::Server, version: u64) -> Policy {
    let resolver = &settings.resolver;
    let private = networks(&prefixes(&resolver.private_addresses));
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
            allowed: Names::new(&names(&resolver.private_names)),
            ..Rebinding::usual()
        }),
    }
}

fn networks(prefixes: &[Prefix]) -> Networks {
    Networks::new(&prefixes.iter().map(|prefix| (prefix.address(), prefix.length())).collect::<Vec<_>>())
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
    Dns64::new(&made, &excluded, Networks::default(), Clients::All)
}

/// Names from which on downwards others are asked than those that the DNS names.
fn points(settings: &Settings) -> Vec<NameBuf> {
    let forwards = settings.forwards.iter().filter_map(|(_, forward)| forward.name.clone());
    let stubs = settings.stubs.iter().filter_map(|(_, stub)| stub.name.clone());
    forwards.chain(stubs).collect()
}

/// Names that are answered from here. Those that are resolved in a way of their own are not special.
fn local(settings: &Settings) -> Local {
    let mut source = Source { has_dns64: !settings.resolver.dns64_prefixes.is_empty(), ..Source::default() };
    source.exceptions = names(&settings.resolver.not_special);
    source.exceptions.extend(points(settings).into_iter().filter(|name| !name.is_root()));
    for (_, local) in &settings.local_zones {
        let Some(name) = &local.name else { continue };
        source.zones.push(Zone::new(name.clone(), kind(local)));
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
    local.records.texts().iter().filter_map(move |line| zonefile::records(line, name).ok())
}
