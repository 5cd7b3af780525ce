//! What settings ask for: zones, sockets, limits, whom to run as.

use std::os::unix::net::UnixListener;
use std::path::Path;

use net::privileges::Identity;
use net::systemd::{Activated, ActivatedSocket};
use net::{Backend, Listen, Listener, Pin, Server, Steer, TcpLimits};

use crate::controller::Overrides;
use crate::fault::{Fault, Faults};
use crate::progress::Progress;
use crate::settings::{Pinning, Settings};
use crate::wanted::{Cost, WantedZones, wanted};

/// Reads the settings file, or takes the defaults where there is none.
pub(crate) fn read_settings(config: Option<&Path>, overrides: &Overrides) -> Result<Settings, Faults> {
    let mut settings = match config {
        Some(file) => {
            Settings::read(file).map_err(|problems| problems.iter().map(Fault::from).collect::<Faults>())?
        }
        None => Settings::default(),
    };
    overrides.apply(&mut settings);
    // The file by itself was looked at when it was read.
    match settings.server.problems() {
        problems if problems.is_empty() => Ok(settings),
        problems => Err(problems.into_iter().map(|(key, text)| Fault::of_setting(key, text)).collect()),
    }
}

/// The zones of the settings and of the command line; those of the latter go before.
pub(crate) fn all_wanted(
    settings: &Settings,
    overrides: &Overrides,
    progress: &Progress,
) -> Result<WantedZones, Faults> {
    let (mut zones, problems) = wanted(settings, progress);
    if problems.iter().any(|(cost, _)| *cost == Cost::Settings) {
        return Err(problems.iter().map(|(_, problem)| Fault::from(problem)).collect());
    }
    for (cost, problem) in &problems {
        match cost {
            Cost::Nothing => zones.warnings.push(problem.to_string()),
            Cost::List => {
                let (source, error) = (problem.source(), &problem.text);
                tracing::error!(source, error, "{problem}; the zones that came from it stay as they were");
            }
            // Told when the zone is loaded.
            Cost::Zone | Cost::Settings => {}
        }
    }
    zones.warnings.iter().for_each(|line| tracing::warn!("{line}"));
    for (at, given) in overrides.zones.iter().enumerate() {
        if overrides.zones[..at].iter().any(|other| other.name.eq_ignore_case(&given.name)) {
            return Err(format!("zone {} is given twice", given.name).into());
        }
    }
    if !overrides.zones.is_empty() {
        zones.retain(|name| !overrides.zones.iter().any(|given| given.name.eq_ignore_case(name)));
    }
    overrides.zones.iter().for_each(|given| zones.add(given));
    Ok(zones)
}

pub(super) fn bind(
    settings: &Settings,
    activated: Vec<Activated>,
) -> Result<(Server, Option<UnixListener>), Faults> {
    let (unix, internet): (Vec<_>, Vec<_>) =
        activated.into_iter().partition(|socket| matches!(socket.socket, ActivatedSocket::Unix(_)));
    let mut listen = listen(settings);
    if !internet.is_empty() && settings.server.listen == Settings::default().server.listen {
        // Nobody chose those; the service manager's sockets are what is wanted.
        listen.addresses.clear();
    }
    let server = Server::bind_with(&listen, internet)?;
    let control = unix.into_iter().find_map(|Activated { socket, .. }| match socket {
        ActivatedSocket::Unix(listener) => Some(listener),
        _ => None,
    });
    Ok((server, control))
}

pub(super) fn listen(settings: &Settings) -> Listen {
    let server = &settings.server;
    Listen {
        addresses: server.listen.clone(),
        workers: server.workers,
        pin: match &server.pin {
            Pinning::Switch(true) => Pin::EachToItsOwn,
            Pinning::Switch(false) => Pin::Off,
            Pinning::List(list) => Pin::List(list.clone()),
        },
        backend: if server.backend == "portable" { Backend::Portable } else { Backend::default() },
        steer: if server.steer == "cpu" { Steer::ByCpu } else { Steer::ByHash },
        receive_buffer_octets: server.receive_buffer_octets,
        send_buffer_octets: server.send_buffer_octets,
        free_bind: server.free_bind,
        fast_open: settings.tcp.fast_open,
        tcp: tcp_limits(settings),
        tap_octets: settings.dnstap.ring_octets,
    }
}

pub(crate) fn tcp_limits(settings: &Settings) -> TcpLimits {
    let tcp = &settings.tcp;
    TcpLimits {
        connections: tcp.connections,
        connections_per_prefix: tcp.connections_per_prefix,
        prefix_v4: tcp.prefix_v4,
        prefix_v6: tcp.prefix_v6,
        idle: tcp.idle_seconds,
        lifetime: tcp.lifetime_seconds,
        queries: tcp.queries,
    }
}

pub(crate) fn identity(settings: &Settings) -> Identity {
    let named = |name: &String| (!name.is_empty()).then(|| name.clone());
    Identity {
        user: named(&settings.server.user),
        group: named(&settings.server.group),
        ..Default::default()
    }
}

pub(super) fn drop_privileges(settings: &Settings) -> Result<(), Vec<String>> {
    net::privileges::drop(&identity(settings)).map_err(|error| vec![error.to_string()])
}

/// The addresses of listeners, each once.
pub(crate) fn addresses(listeners: &[Listener]) -> Vec<String> {
    let mut addresses: Vec<String> = listeners.iter().map(|listener| listener.address.to_string()).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
