//! What the settings mean to resolver, answers, upstream sockets and validation: one value that workers take over as a whole.

mod policy;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use auth::access::Prefix;
use cache::Cache;
use net::{Ports, UpstreamSettings};
use recursive::policy::Policy;
use resolve::settings::{Configured, ConfiguredKind, Endpoint, Minimisation, Protection};
use validate::Anchors;
use validate::rfc5011::Managed;
use wire::Name;
use wire::iana::rtype;
use zonefile::RecordBuf;

use super::premises::Premises;
use super::secured::{Secured, protection};
use crate::read::read_bounded;
use crate::settings::Settings;
use crate::settings::access::machine_addresses;
use crate::settings::resolver::{names, ports, prefixes};

/// Files of hints and anchors longer than this are none: a few dozen records.
const FILE_OCTETS_MAX: u64 = 1 << 20;
/// Port of DNS over TLS (RFC 7858 3.1).
const PORT_TLS: u16 = 853;
/// Port of an address that names none.
const PORT_PLAIN: u16 = 53;

/// The settings of the resolver, checked and made ready for workers.
#[derive(Clone)]
pub(crate) struct Terms {
    /// Another for each change.
    pub version: u64,
    /// What kept data depend on.
    pub(super) premises: Arc<Premises>,
    /// What has been learned, where it lies now.
    pub(super) cache: Arc<Cache>,
    /// Octets that it is to take.
    pub(super) cache_octets: usize,
    /// How long what is learned from now on is kept.
    pub(super) limits: cache::Limits,
    /// Anybody may recurse.
    pub is_open: bool,
    /// Answers that something failed are told to the log.
    pub logs_failures: bool,
    /// What is about to expire is asked for anew.
    pub prefetches: bool,
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
    /// The access lists whose clients may recurse, for operators.
    pub(super) clients: Arc<[String]>,
}

impl Terms {
    /// What settings say. `server`: what they say to answers from zones. Errors are lines for the operator: files that cannot be read.
    pub(crate) fn new(
        settings: &Settings,
        server: &auth::Server,
        (version, cache): (u64, Arc<Cache>),
    ) -> Result<Terms, Vec<String>> {
        let resolver = &settings.resolver;
        let resolve = resolve(settings)?;
        let is_renewing = resolver.validate && resolver.anchor_renewal;
        let policy = policy::policy(settings, server, version);
        Ok(Terms {
            version,
            premises: Arc::new(Premises::of(settings, &resolve.anchors)),
            cache,
            cache_octets: cache_octets(settings),
            limits: limits(settings),
            is_open: policy::is_open(settings, &policy.clients),
            logs_failures: resolver.log_failures,
            prefetches: resolver.prefetch,
            policy,
            seeds: is_renewing.then(|| super::anchors::seeds(&resolve.anchors)),
            resolve,
            upstream: upstream(resolver),
            secured: Secured::new(settings)?,
            clients: settings.access.recursion.texts().iter().map(|text| text.to_string()).collect(),
        })
    }

    /// What of the files that settings name cannot be read, as lines: those that would end a start.
    pub(crate) fn unreadable(settings: &Settings) -> Vec<String> {
        let files = resolve(settings).err().into_iter().flatten();
        files.chain(Secured::new(settings).err().into_iter().flatten()).collect()
    }

    /// Warns of an open resolver, which becomes a tool for attacks on others within hours.
    pub(super) fn warn_if_open(&self) {
        if self.is_open {
            tracing::warn!(
                "recursion of [access] lets in anybody, over UDP too: such a resolver is used for attacks on others; name networks, or demand that addresses be proved (`proved = true`)"
            );
        }
    }
}

/// Octets of the cache.
pub(super) fn cache_octets(settings: &Settings) -> usize {
    usize::try_from(settings.resolver.cache_octets).unwrap_or(usize::MAX)
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
        policy: validate::Policy { sha1_signatures: resolver.verify_sha1, ..default.policy },
        is_aggressive: resolver.aggressive_denial,
        anchors: anchors(settings).map_err(|line| vec![line])?,
        has_ipv4: resolver.ipv4,
        has_ipv6: resolver.ipv6,
        is_case_random: resolver.randomise_case,
        stale_after_ms: (resolver.stale_seconds > 0).then_some(u64::from(resolver.stale_after_ms)),
        not_servers: prefixes(&resolver.never_ask)
            .iter()
            .chain(&own_addresses(&settings.server.listen))
            .map(|prefix| resolve::response::Prefix::new(prefix.address(), prefix.length()))
            .collect(),
        ..default
    })
}

/// Addresses at whose port 53 this server listens, where delegations would have it ask itself: all of the machine's where it listens at all.
fn own_addresses(listen: &[SocketAddr]) -> Vec<Prefix> {
    let whole = |ip: IpAddr| Prefix::of(ip, if ip.is_ipv4() { 32 } else { 128 });
    let at_port = listen.iter().filter(|address| address.port() == PORT_PLAIN).map(SocketAddr::ip);
    let mut own: Vec<Prefix> = Vec::new();
    for ip in at_port {
        match ip.is_unspecified() {
            // An IPv6 socket takes what comes over IPv4 too.
            true => own.extend(
                machine_addresses()
                    .into_iter()
                    .filter(|here| ip.is_ipv6() || here.is_ipv4())
                    .filter_map(whole),
            ),
            false => own.extend(whole(ip)),
        }
    }
    own
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
    for record in records(path).map_err(|line| format!("trust-anchor-file {line}"))? {
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
    let addresses: Vec<IpAddr> =
        records(path).map_err(|line| format!("root-hints {line}"))?.iter().filter_map(address).collect();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_server_does_not_ask_itself() {
        let own = |listen: &[&str]| -> Vec<String> {
            let listen: Vec<SocketAddr> = listen.iter().map(|text| text.parse().unwrap()).collect();
            own_addresses(&listen).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            own(&["192.0.2.53:53", "192.0.2.54:5300", "[2001:db8::53]:53"]),
            ["192.0.2.53/32", "2001:db8::53/128"]
        );
        // All that the machine has.
        assert!(own(&["0.0.0.0:53"]).contains(&"127.0.0.1/32".to_owned()));
        assert!(own(&["0.0.0.0:53"]).iter().all(|prefix| prefix.ends_with("/32")));
        assert!(own(&["[::]:53"]).contains(&"127.0.0.1/32".to_owned()));
        assert!(own(&["0.0.0.0:5300"]).is_empty());
    }
}
