//! Who is asked about a name, and what is known of them, for operators.
//!
//! ```text
//! deepest [[forward]] or [[stub]] at or above the name -> its addresses; below a stub zone a delegation that is known goes before
//! else the deepest delegation that is known            -> its servers, those of the root with the hints where no address of theirs is known
//! ```

use std::io;
use std::net::{IpAddr, SocketAddr};

use cache::{Case, Copied, Edns, Entry, Key, Moment};
use resolve::settings::{Configured, ConfiguredKind, Protection};
use wire::Name;
use wire::iana::rtype;

use super::cache::name_of;
use crate::command::{Reply, ServerLine};
use crate::recursion::Recursion;

/// Says them.
pub(super) fn servers(
    text: &str,
    recursion: &Recursion,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, super::Failure> {
    servers_of(recursion, &name_of(text)?).into_iter().try_for_each(|line| reply(Reply::Server(line)))?;
    Ok(true)
}

/// Who is asked about a name.
pub(crate) fn servers_of(recursion: &Recursion, name: &Name) -> Vec<ServerLine> {
    let settings = recursion.settings();
    let configured = settings.zones.iter().filter(|zone| name.is_at_or_below(&zone.name));
    let configured = configured.max_by_key(|zone| zone.name.label_count());
    let seen = Seen { recursion, settings: &settings, now: recursion.now() };
    match configured {
        Some(zone) if zone.kind == ConfiguredKind::Stub => {
            seen.delegation(name, zone.name.label_count() + 1).unwrap_or_else(|| seen.configured(zone))
        }
        Some(zone) if !zone.servers.is_empty() => seen.configured(zone),
        _ => seen.delegation(name, 0).unwrap_or_else(|| seen.hints()),
    }
}

struct Seen<'a> {
    recursion: &'a Recursion,
    settings: &'a resolve::Settings,
    now: Moment,
}

impl Seen<'_> {
    /// Those whom the settings name.
    fn configured(&self, zone: &Configured) -> Vec<ServerLine> {
        let kind = match zone.kind {
            ConfiguredKind::Stub => "stub",
            ConfiguredKind::Forward { .. } => "forwarder",
        };
        let line = ServerLine { zone: zone.name.to_string(), ..ServerLine::default() };
        let of = |at: &resolve::settings::Endpoint| {
            let mut line = self.quality(line.clone(), &zone.name, at.address);
            line.address = at.address.to_string();
            line.marks.insert(0, kind.into());
            if at.security != Protection::Plain {
                line.marks.insert(1, "TLS".into());
            }
            line
        };
        zone.servers.iter().map(of).collect()
    }

    /// Those of the deepest delegation that is known above a name, of zones of so many labels at least.
    fn delegation(&self, name: &Name, labels_min: usize) -> Option<Vec<ServerLine>> {
        let mut copied = Copied::new();
        let mut next = Some(name).filter(|name| name.label_count() >= labels_min);
        while let Some(zone) = next {
            if let Some(cut) = self.recursion.cache().peek(&Key::cut(zone), &mut copied)
                && cut.ttl_left(self.now).is_some()
            {
                return Some(self.of_cut(zone, &cut));
            }
            next = zone.parent().filter(|parent| parent.label_count() >= labels_min);
        }
        None
    }

    fn of_cut(&self, zone: &Name, cut: &Entry<'_>) -> Vec<ServerLine> {
        let mut found = Vec::new();
        for server in cut.rdatas {
            let Ok(server) = Name::from_wire(server) else { continue };
            let server = server.to_lowercase();
            let mut addresses: Vec<IpAddr> = Vec::new();
            for set in cut.beside.iter().filter(|set| set.owner.eq_ignore_case(&server)) {
                addresses.extend(set.rdatas.iter().filter_map(address));
            }
            let mut copied = Copied::new();
            for rtype in [rtype::A, rtype::AAAA] {
                if let Some(entry) = self.recursion.cache().peek(&Key::rrset(&server, rtype), &mut copied) {
                    addresses.extend(entry.rdatas.iter().filter_map(address));
                }
            }
            addresses.sort_unstable();
            addresses.dedup();
            let line =
                ServerLine { zone: zone.to_string(), name: server.to_string(), ..ServerLine::default() };
            if addresses.is_empty() {
                found.push(line.clone());
            }
            let at = |address: &IpAddr| SocketAddr::new(*address, self.settings.port);
            found.extend(addresses.iter().map(|address| self.quality(line.clone(), zone, at(address))));
        }
        if zone.is_root() && found.iter().all(|line| line.address.is_empty()) {
            found.extend(self.hints());
        }
        found
    }

    /// Where the root's servers are looked for.
    fn hints(&self) -> Vec<ServerLine> {
        let line = ServerLine { zone: Name::root().to_string(), ..ServerLine::default() };
        let of = |address: &IpAddr| {
            let at = SocketAddr::new(*address, self.settings.port);
            let mut line = self.quality(line.clone(), Name::root(), at);
            line.marks.insert(0, "hint".into());
            line
        };
        self.settings.hints.iter().map(of).collect()
    }

    fn quality(&self, line: ServerLine, zone: &Name, socket: SocketAddr) -> ServerLine {
        let cache = self.recursion.cache();
        let servers = cache.servers();
        let quality = servers.read(&socket);
        let ip = socket.ip();
        let has_family = if ip.is_ipv4() { self.settings.has_ipv4 } else { self.settings.has_ipv6 };
        let is_never_asked = self.settings.not_servers.iter().any(|prefix| prefix.has(ip));
        let marks = [
            (!has_family || is_never_asked && !line.name.is_empty(), "never asked"),
            (servers.is_lame(&socket, zone, self.now), "lame"),
            (quality.edns == Edns::None, "no EDNS"),
            (quality.is_tcp_only, "TCP only"),
            (quality.case == Case::Lost, "changes case"),
            (!quality.cookie.octets().is_empty(), "cookies"),
        ];
        ServerLine {
            address: ip.to_string(),
            rtt_us: quality.rtt_us,
            timeouts: quality.timeouts,
            backoff_seconds: quality.backoff_until.ms_since(self.now).div_ceil(1000),
            marks: marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark.to_owned()).collect(),
            ..line
        }
    }
}

fn address(rdata: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(rdata).ok().map(IpAddr::from);
    let v6 = || <[u8; 16]>::try_from(rdata).ok().map(IpAddr::from);
    v4().or_else(v6)
}
