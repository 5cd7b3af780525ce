//! The server from start to end: settings, sockets, privileges, zones, workers, signals.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use net::privileges::Identity;
use net::systemd::{Activated, ActivatedSocket, Notifier, activated_sockets};
use net::{Backend, Listen, Listener, Pin, Running, Server, Steer, TcpLimits};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::access::Groups;
use crate::controller::{Candidate, Change, Controller, Overrides};
use crate::handler::{Answerer, Shown};
use crate::locks::AtExit;
use crate::progress::Progress;
use crate::settings::{Pinning, Settings};
use crate::text::{Span, count};
use crate::wanted::{Wanted, WantedZones, wanted};
use crate::{log, system};

/// What `zonda serve` was asked to do.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// `--config`
    pub config: Option<PathBuf>,
    /// What goes before the settings file.
    pub overrides: Overrides,
    /// Lines for the operator once the server answers.
    pub welcome: Vec<String>,
}

/// What wakes the control thread.
pub(crate) enum Event {
    /// The first load is over, or nothing could be loaded, for reasons that these lines tell. `None`: it ended by a fault of its own.
    Loaded(Option<Result<Box<Change>, Vec<String>>>),
    /// SIGHUP.
    Reload,
    /// That is over.
    Reloaded,
    /// SIGTERM, SIGINT, or `zonda ctl stop`.
    Stop(&'static str),
}

/// How long the end may wait for TCP clients to take their answers.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Events that wait; more signals than this say the same again.
const EVENTS_MAX: usize = 16;

/// Runs the server until it is told to stop. Errors are lines for the operator: it could not start.
pub fn serve(start: Start) -> Result<(), Vec<String>> {
    let started = Instant::now();
    // First: a wrong count of descriptors would otherwise take those that are opened here for its own.
    let activated = activated_sockets().map_err(|error| vec![error.to_string()])?;
    system::prepare_allocator();
    sync::prepare();
    let settings = read_settings(start.config.as_deref(), &start.overrides)?;
    log::start(&settings.log);
    sync::profile::set(settings.server.profile_locks);
    let json = settings.log.format == "json";
    let progress = Progress::default();
    // What is stored is served before anything is looked at, unless lists say who may ask.
    let may_be_stored = settings.server.serve_stored
        && !settings.server.pack_directory.as_os_str().is_empty()
        && settings.own_lists().next().is_none();
    let wanted = match may_be_stored {
        true => None,
        false => Some(progress.show_while(|| all_wanted(&settings, &start.overrides, &progress))?),
    };
    let one = |error: String| vec![error];
    let notifier = Notifier::from_env().unwrap_or_else(|error| {
        tracing::warn!("the service manager cannot be told of our state: {error}");
        None
    });
    // Signals are taken over before anything is slow, so that none ends the program without ceremony.
    let (events, received) = mpsc::sync_channel(EVENTS_MAX);
    watch_signals(events.clone()).map_err(|error| one(format!("cannot watch signals: {error}")))?;

    let (server, control) = bind(&settings, activated)?;
    let socket = crate::socket::bind(&settings, control)?;
    drop_privileges(&settings)?;
    // From here on as the user that the server runs as: what it can read and write now it can later too.
    let controller = Arc::new(Controller::new(settings, start.overrides).map_err(one)?);
    let _profile = AtExit { controller: &controller, json };
    say_what_is_listened_on(&server);

    let mut first =
        First { started, given: controller.overrides.zones.clone(), is_empty: false, welcome: start.welcome };
    let is_served = may_be_stored
        && !controller.was_restricted()
        && progress.show_while(|| controller.serve_stored(&progress)) > 0;
    let announced = match (wanted, is_served) {
        (_, true) => {
            let after = Span(started.elapsed());
            tracing::info!(
                "answering from {} as stored, after {after}; files are looked at now",
                zones_text(&controller)
            );
            None
        }
        (wanted, false) => {
            let mut changing = controller.change();
            let listed =
                || progress.show_while(|| all_wanted(&changing.settings, &controller.overrides, &progress));
            let wanted = wanted.map_or_else(listed, Ok)?;
            first.is_empty = wanted.is_empty();
            Some(progress.show_while(|| controller.announce(&mut changing, wanted, &progress)).0)
        }
    };
    run_workers(&controller, server).map_err(|error| one(format!("cannot start a worker: {error}")))?;
    crate::limited::watch(&controller).map_err(|error| one(format!("cannot watch limits: {error}")))?;
    let loading = load_on_a_thread(&controller, &events, announced);
    loading.map_err(|error| one(format!("cannot start loading: {error}")))?;
    let serve = |socket| crate::socket::serve(socket, &controller, events.clone());
    let _socket_file =
        socket.map(serve).transpose().map_err(|error| one(format!("control socket: {error}")))?;
    let reason = handle_events(&controller, &received, &events, &notifier, &first)?;
    tracing::info!("stopping: {reason}");
    tell(&notifier, Notifier::stopping);
    // Taken out first: others may ask for it while clients take their answers.
    let running = controller.running.lock().take();
    if let Some(running) = running {
        running.stop(STOP_PATIENCE);
    }
    tracing::info!("stopped");
    Ok(())
}

/// Reads the settings file, or takes the defaults where there is none.
pub(crate) fn read_settings(config: Option<&Path>, overrides: &Overrides) -> Result<Settings, Vec<String>> {
    let mut settings = match config {
        Some(file) => Settings::read(file)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>())?,
        None => Settings::default(),
    };
    overrides.apply(&mut settings);
    // The file by itself was looked at when it was read.
    match settings.server.problems() {
        problems if problems.is_empty() => Ok(settings),
        problems => Err(problems.iter().map(|(key, text)| format!("{key}: {text}")).collect()),
    }
}

/// The zones of the settings and of the command line; those of the latter go before.
pub(crate) fn all_wanted(
    settings: &Settings,
    overrides: &Overrides,
    progress: &Progress,
) -> Result<WantedZones, Vec<String>> {
    let (mut zones, problems) = wanted(settings, progress);
    if !problems.is_empty() {
        return Err(problems.iter().map(ToString::to_string).collect());
    }
    for (at, given) in overrides.zones.iter().enumerate() {
        if overrides.zones[..at].iter().any(|other| other.name.eq_ignore_case(&given.name)) {
            return Err(vec![format!("zone {} is given twice", given.name)]);
        }
    }
    if !overrides.zones.is_empty() {
        zones.retain(|name| !overrides.zones.iter().any(|given| given.name.eq_ignore_case(name)));
    }
    overrides.zones.iter().for_each(|given| zones.add(given));
    Ok(zones)
}

fn bind(
    settings: &Settings,
    activated: Vec<Activated>,
) -> Result<(Server, Option<UnixListener>), Vec<String>> {
    let (unix, internet): (Vec<_>, Vec<_>) =
        activated.into_iter().partition(|socket| matches!(socket.socket, ActivatedSocket::Unix(_)));
    let mut listen = listen(settings);
    if !internet.is_empty() && settings.server.listen == Settings::default().server.listen {
        // Nobody chose those; the service manager's sockets are what is wanted.
        listen.addresses.clear();
    }
    let server = Server::bind_with(&listen, internet).map_err(|error| vec![error.to_string()])?;
    let control = unix.into_iter().find_map(|Activated { socket, .. }| match socket {
        ActivatedSocket::Unix(listener) => Some(listener),
        _ => None,
    });
    Ok((server, control))
}

fn listen(settings: &Settings) -> Listen {
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

fn identity(settings: &Settings) -> Identity {
    let named = |name: &String| (!name.is_empty()).then(|| name.clone());
    Identity {
        user: named(&settings.server.user),
        group: named(&settings.server.group),
        ..Default::default()
    }
}

fn drop_privileges(settings: &Settings) -> Result<(), Vec<String>> {
    net::privileges::drop(&identity(settings)).map_err(|error| vec![error.to_string()])
}

/// What of sound settings would end a start on this machine: users and groups that it does not have.
pub fn problems_here(settings: &Settings) -> Vec<String> {
    let server = net::privileges::look_up(&identity(settings)).map_err(|error| error.to_string()).err();
    let control = crate::socket::group(&settings.control.group).err();
    let secrets =
        crate::identity::identity(settings, &mut Groups::default()).map(drop).err().unwrap_or_default();
    server.into_iter().chain(control).chain(secrets).collect()
}

fn say_what_is_listened_on(server: &Server) {
    let mut addresses: Vec<String> =
        server.listeners().iter().map(|listener| listener.address.to_string()).collect();
    addresses.dedup();
    let workers = count(server.worker_count(), "worker");
    tracing::info!("Zonda {} listens on {} with {workers}", env!("CARGO_PKG_VERSION"), addresses.join(", "));
}

fn run_workers(controller: &Arc<Controller>, server: Server) -> std::io::Result<()> {
    let workers = server.worker_count();
    let shown: Vec<Shown> = (0..workers).map(|_| Shown::default()).collect();
    let (of_workers, owner) = (shown.clone(), Arc::clone(controller));
    let running = server.start(move |worker| {
        Answerer::new(owner.catalog.reader(), owner.identity.reader(), &of_workers[worker], workers)
    })?;
    *controller.shown.write() = shown;
    *controller.running.lock() = Some(running);
    Ok(())
}

/// A server with a zone from the command line that is broken, or without any zone that is not, does not start.
fn check_first_load(controller: &Controller, change: &Change, first: &First) -> Result<(), Vec<String>> {
    let is_given = |name: &wire::NameBuf| first.given.iter().any(|zone| zone.name.eq_ignore_case(name));
    if change.failed.iter().any(is_given) {
        return Err(vec!["a zone of the command line could not be loaded, see above".into()]);
    }
    let is_empty = first.is_empty || controller.zones.read().count() == 0;
    if controller.zones.read().loaded() == 0 && !is_empty {
        return Err(vec!["no zone could be loaded, see above".into()]);
    }
    if is_empty {
        tracing::warn!("there are no zones to serve; all queries are refused");
    }
    Ok(())
}

/// `3 zones` or `3 of 4 zones`.
pub(crate) fn zones_text(controller: &Controller) -> String {
    let zones = controller.zones.read();
    let (loaded, all) = (zones.loaded(), zones.count());
    match loaded == all {
        true => count(loaded, "zone"),
        false => format!("{loaded} of {}", count(all, "zone")),
    }
}

fn watch_signals(events: mpsc::SyncSender<Event>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let event = match signal {
                SIGHUP => Event::Reload,
                SIGTERM => Event::Stop("SIGTERM"),
                _ => Event::Stop("SIGINT"),
            };
            // A full queue has the same event in it already; a closed one has no use for any.
            let _ = events.try_send(event);
        }
    })?;
    Ok(())
}

/// What the first load is held against, and what is said after it.
struct First {
    started: Instant,
    given: Vec<Wanted>,
    is_empty: bool,
    welcome: Vec<String>,
}

/// Loads on a thread of its own, so that a signal to stop is heard meanwhile. `announced`: what is to be loaded; without that, what is
/// served as it was stored is held against lists and files.
fn load_on_a_thread(
    controller: &Arc<Controller>,
    events: &mpsc::SyncSender<Event>,
    announced: Option<Vec<Candidate>>,
) -> std::io::Result<()> {
    let (controller, events) = (Arc::clone(controller), events.clone());
    let (begin, begun) = mpsc::channel();
    let load = move || {
        let mut done = AtEnd { events, event: Some(Event::Loaded(None)) };
        let loaded = load(&controller, announced, &begin);
        done.event = Some(Event::Loaded(Some(loaded.map(Box::new))));
        drop(done);
        controller.tidy();
    };
    std::thread::Builder::new().name("load".into()).spawn(load)?;
    // No command comes before it. If it ended by a fault of its own, its event tells.
    let _ = begun.recv();
    Ok(())
}

fn load(
    controller: &Controller,
    announced: Option<Vec<Candidate>>,
    begun: &mpsc::Sender<()>,
) -> Result<Change, Vec<String>> {
    let progress = Progress::default();
    let mut changing = controller.change();
    // Whoever does not wait for it need not hear it.
    let _ = begun.send(());
    progress.show_while(|| {
        if let Some(candidates) = announced {
            return Ok(controller.load_first(&mut changing, candidates, false, &progress));
        }
        let wanted = all_wanted(&changing.settings, &controller.overrides, &progress)?;
        let (candidates, arranged) = controller.announce(&mut changing, wanted, &progress);
        let change = controller.load_first(&mut changing, candidates, true, &progress);
        Ok(Change { removed: arranged.removed, ..change })
    })
}

/// Reloads on a thread of its own; says whether there is one, which tells when it is over.
fn reload_on_a_thread(controller: &Arc<Controller>, events: &mpsc::SyncSender<Event>) -> bool {
    let (controller, events) = (Arc::clone(controller), events.clone());
    let reload = move || {
        let done = AtEnd { events, event: Some(Event::Reloaded) };
        crate::reload::reload_all(&controller);
        drop(done);
        controller.tidy();
    };
    let started = std::thread::Builder::new().name("reload".into()).spawn(reload);
    if let Err(error) = &started {
        tracing::error!("cannot reload: {error}");
    }
    started.is_ok()
}

/// Sends its event when dropped, so that the control thread hears of the end of a thread that panics too: it
/// would wait for ever otherwise, and every later reload with it.
struct AtEnd {
    events: mpsc::SyncSender<Event>,
    event: Option<Event>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            // If the receiver is gone, so is the reason to tell.
            let _ = self.events.send(event);
        }
    }
}

/// When to tell the service manager's watchdog that we are alive: at set times, however many events come.
struct Watchdog<'n> {
    notifier: &'n Option<Notifier>,
    interval: Duration,
    next: Instant,
}

impl Watchdog<'_> {
    /// Without a watchdog there is nothing to do between events.
    const LONG: Duration = Duration::from_secs(3600);

    fn new(notifier: &Option<Notifier>) -> Watchdog<'_> {
        let interval = notifier.as_ref().and_then(Notifier::watchdog_interval).unwrap_or(Self::LONG);
        Watchdog { notifier, interval, next: Instant::now() + interval }
    }

    /// Time until it is due.
    fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Tells if it is due and the workers are at work: without one of them the server is better restarted.
    fn tell_if_due(&mut self, is_serving: impl Fn() -> bool) {
        if self.wait() > Duration::ZERO {
            return;
        }
        self.next = Instant::now() + self.interval;
        if is_serving() {
            tell(self.notifier, Notifier::alive);
        } else {
            tracing::error!("a worker has ended by a fault of its own");
        }
    }
}

/// Handles events until one says to stop; returns its reason. Fails if the first load does.
fn handle_events(
    controller: &Arc<Controller>,
    received: &mpsc::Receiver<Event>,
    events: &mpsc::SyncSender<Event>,
    notifier: &Option<Notifier>,
    first: &First,
) -> Result<&'static str, Vec<String>> {
    let mut watchdog = Watchdog::new(notifier);
    let ready = || {
        let status = format!("serving {}", zones_text(controller));
        tell(notifier, |notifier| notifier.ready(&status));
        status
    };
    // The first load counts as a reload under way; signals meanwhile make one more after it.
    let (mut is_loading, mut is_pending) = (true, false);
    loop {
        watchdog.tell_if_due(|| controller.running.lock().as_ref().is_some_and(Running::is_serving));
        match received.recv_timeout(watchdog.wait()) {
            Ok(Event::Stop(reason)) => return Ok(reason),
            Ok(Event::Loaded(None)) => return Err(vec!["loading ended by a fault of the program".into()]),
            Ok(Event::Loaded(Some(loaded))) => {
                check_first_load(controller, &*loaded?, first)?;
                tracing::info!("{} after {}", ready(), Span(first.started.elapsed()));
                // Whoever closed standard error does not want to be welcomed.
                first.welcome.iter().for_each(|line| drop(writeln!(std::io::stderr(), "{line}")));
                is_loading = false;
            }
            Ok(Event::Reload) => is_pending = true,
            Ok(Event::Reloaded) => {
                ready();
                is_loading = false;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok("nobody is left to tell otherwise"),
        }
        if is_pending && !is_loading {
            is_pending = false;
            tell(notifier, Notifier::reloading);
            is_loading = reload_on_a_thread(controller, events);
            if !is_loading {
                ready();
            }
        }
    }
}

pub(crate) fn tell(notifier: &Option<Notifier>, what: impl Fn(&Notifier) -> std::io::Result<()>) {
    if let Some(Err(error)) = notifier.as_ref().map(what) {
        tracing::debug!("the service manager could not be told: {error}");
    }
}

/// The addresses of listeners, each once.
pub(crate) fn addresses(listeners: &[Listener]) -> Vec<String> {
    let mut addresses: Vec<String> = listeners.iter().map(|listener| listener.address.to_string()).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
