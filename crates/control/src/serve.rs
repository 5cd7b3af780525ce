//! The server from start to end: settings, sockets, privileges, zones, workers, signals.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use net::privileges::Identity;
use net::systemd::{Activated, ActivatedSocket, Notifier, activated_sockets};
use net::{Backend, Listen, Listener, Pin, Running, Server, Steer, TcpLimits};
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::answer::status_line;
use crate::controller::{Candidate, Change, Controller, Overrides};
use crate::handler::{Answerer, Shown};
use crate::locks::AtExit;
use crate::progress::Progress;
use crate::settings::{Pinning, Settings};
use crate::text::{Span, count};
use crate::upgrade::UPGRADE_DRAIN;
use crate::upgrade::give::Process;
use crate::upgrade::take::{Taking, offered};
use crate::wanted::{Cost, Wanted, WantedZones, wanted};
use crate::{embedded, log, system};

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
    /// SIGUSR1.
    Status,
    /// SIGTERM, SIGINT, or `zonda ctl stop`.
    Stop(&'static str),
    /// Another process is the server now.
    HandedOver(Process),
}

/// Why the server ends.
enum End {
    /// It was told to.
    Stopped(&'static str),
    /// Another one has taken over; whether there is a reload that is to be its affair.
    HandedOver(Process, bool),
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
    if let Some(taking) = offered()? {
        let refusal = taking.refusal();
        return take_over(start, taking, started).inspect_err(|lines| refusal.tell(lines));
    }
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
    let notifier = notifier();
    // Signals are taken over before anything is slow, so that none ends the program without ceremony.
    let (events, received) = mpsc::sync_channel(EVENTS_MAX);
    watch_signals(events.clone()).map_err(|error| one(format!("cannot watch signals: {error}")))?;

    let (server, control) = bind(&settings, activated)?;
    let socket = crate::socket::bind(&settings, control)?;
    drop_privileges(&settings)?;
    // From here on as the user that the server runs as: what it can read and write now it can later too.
    let controller = Arc::new(Controller::new(settings, start.overrides).map_err(one)?);
    let _profile = AtExit { controller: &controller, json };
    notifier.into_iter().for_each(|notifier| drop(controller.notifier.set(notifier)));
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
    let end = handle_events(&controller, &received, &events, &first, true)?;
    finish(&controller, end, &received)
}

/// As [`serve`], as the successor of a server that runs: nothing is answered before all zones are loaded, and what is not as it should be
/// leaves that one the server.
fn take_over(start: Start, mut taking: Taking, started: Instant) -> Result<(), Vec<String>> {
    let one = |error: String| vec![error];
    let settings = read_settings(start.config.as_deref(), &start.overrides)?;
    log::start(&settings.log);
    sync::profile::set(settings.server.profile_locks);
    let json = settings.log.format == "json";
    tracing::info!("taking over from process {} (version {})", taking.from, taking.version);
    let notifier = notifier();
    let (events, received) = mpsc::sync_channel(EVENTS_MAX);
    watch_signals(events.clone()).map_err(|error| one(format!("cannot watch signals: {error}")))?;
    drop_privileges(&settings)?;
    let mut listen = listen(&settings);
    let is_default = settings.server.listen == Settings::default().server.listen;
    if is_default && taking.sockets.iter().any(|group| group.listener.inherited) {
        listen.addresses.clear();
    }
    let (mut control, keeps_control) = taking.control_socket(&settings)?;
    let lock = taking.lock.take();
    let controller = Arc::new(Controller::with_lock(settings, start.overrides, lock).map_err(one)?);
    let _profile = AtExit { controller: &controller, json };
    let given = controller.overrides.zones.clone();
    let mut first = First { started, given, is_empty: false, welcome: Vec::new() };
    let (change, is_empty) = taking.load(&controller)?;
    first.is_empty = is_empty;
    check_first_load(&controller, &change, &first)?;
    // Last, as what comes to a socket that is new waits for the workers.
    let handed = std::mem::take(&mut taking.sockets);
    let server = Server::bind_handed(&listen, handed).map_err(|error| one(error.to_string()))?;
    say_what_is_listened_on(&server);
    run_workers(&controller, server).map_err(|error| one(format!("cannot start a worker: {error}")))?;
    taking.ready(&controller, &change.failed, keeps_control)?;
    if let Some(folder) = controller.folder() {
        folder.hold(false);
    }
    if let Some(file) = control.as_mut().and_then(|control| control.file.as_mut()) {
        file.is_ours = true;
    }
    let serve = |socket| crate::socket::serve(socket, &controller, events.clone());
    let _socket_file =
        control.map(serve).transpose().map_err(|error| one(format!("control socket: {error}")))?;
    taking.taken();
    if let Some(notifier) = notifier {
        tell(Some(&notifier), Notifier::alive);
        let _ = controller.notifier.set(notifier);
    }
    drop(taking);
    ready(&controller);
    tracing::info!("serving {} after {}", zones_text(&controller), Span(started.elapsed()));
    tidy_on_a_thread(&controller);
    let end = handle_events(&controller, &received, &events, &first, false)?;
    finish(&controller, end, &received)
}

/// Stores what was loaded while the folder was another server's.
fn tidy_on_a_thread(controller: &Arc<Controller>) {
    let owner = Arc::clone(controller);
    let tidy = move || {
        owner.remove_unused_files();
        owner.tidy();
    };
    // Without a thread the next change tidies.
    let _ = std::thread::Builder::new().name("tidy".into()).spawn(tidy);
}

/// The service manager, if there is one.
fn notifier() -> Option<Notifier> {
    Notifier::from_env().unwrap_or_else(|error| {
        tracing::warn!("the service manager cannot be told of our state: {error}");
        None
    })
}

fn finish(controller: &Controller, end: End, received: &mpsc::Receiver<Event>) -> Result<(), Vec<String>> {
    let reason = match end {
        End::Stopped(reason) => reason,
        End::HandedOver(process, has_reload) => return leave(controller, process, has_reload, received),
    };
    tracing::info!("stopping: {reason}");
    tell(controller.notifier.get(), Notifier::stopping);
    // Taken out first: others may ask for it while clients take their answers.
    let running = controller.running.lock().take();
    // One that took over in this moment is meant too.
    if let Some(pid) = controller.upgrade.end() {
        send_signal(pid, Signal::TERM);
    }
    if let Some(running) = running {
        running.stop(STOP_PATIENCE);
    }
    tracing::info!("stopped");
    Ok(())
}

/// How often it is looked whether the last client is gone, and nobody waits for that.
const LEAVE_PAUSE: Duration = Duration::from_millis(20);

/// Leaves the sockets to the process that has taken over, and serves the TCP connections that there are until they end or are idle.
fn leave(
    controller: &Controller,
    mut process: Process,
    mut has_reload: bool,
    received: &mpsc::Receiver<Event>,
) -> Result<(), Vec<String>> {
    let Some(mut running) = controller.running.lock().take() else { return Ok(()) };
    running.leave(Instant::now() + UPGRADE_DRAIN, STOP_PATIENCE);
    // Without it another start is to come, which needs the addresses.
    while !running.has_ended() && !process.has_ended() {
        if std::mem::take(&mut has_reload) {
            send_signal(process.id(), Signal::HUP);
        }
        match received.recv_timeout(LEAVE_PAUSE) {
            Ok(Event::Stop(_)) => break,
            Ok(Event::Reload) => has_reload = true,
            _ => {}
        }
    }
    running.stop(STOP_PATIENCE);
    tracing::info!("all connections are over");
    match process.has_ended() {
        true => Err(vec![format!("process {}, which had taken over as the server, has ended", process.id())]),
        false => Ok(()),
    }
}

fn send_signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, signal);
    }
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
    if problems.iter().any(|(cost, _)| *cost == Cost::Settings) {
        return Err(problems.iter().map(|(_, problem)| problem.to_string()).collect());
    }
    for (cost, problem) in &problems {
        match cost {
            Cost::Nothing => zones.warnings.push(problem.to_string()),
            Cost::List => tracing::error!("{problem}; the zones that came from it stay as they were"),
            // Told when the zone is loaded.
            Cost::Zone | Cost::Settings => {}
        }
    }
    zones.warnings.iter().for_each(|line| tracing::warn!("{line}"));
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

pub(crate) fn identity(settings: &Settings) -> Identity {
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
    if change.failed.iter().any(|name| is_given(name) && !controller.has_data(name)) {
        return Err(vec!["a zone of the command line could not be loaded, see above".into()]);
    }
    let is_empty = first.is_empty || controller.zones.read().count() == 0;
    let is_unread = controller.zones.read().has_unread();
    if controller.zones.read().loaded() == 0 && (!is_empty || is_unread) {
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
    let mut signals = Signals::new([SIGHUP, SIGUSR1, SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let event = match signal {
                SIGHUP => Event::Reload,
                SIGUSR1 => Event::Status,
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
    notifier: Option<&'n Notifier>,
    interval: Duration,
    next: Instant,
}

impl Watchdog<'_> {
    /// Without a watchdog there is nothing to do between events.
    const LONG: Duration = Duration::from_secs(3600);

    fn new(notifier: Option<&Notifier>) -> Watchdog<'_> {
        let interval = notifier.and_then(Notifier::watchdog_interval).unwrap_or(Self::LONG);
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

/// Tells the service manager that a start or reload is over; returns what is served.
fn ready(controller: &Controller) -> String {
    let status = format!("serving {}", zones_text(controller));
    tell(controller.notifier.get(), |notifier| notifier.ready(&status));
    status
}

/// Handles events until one says to stop; returns why. Fails if the first load does. `is_loading`: whether that is under way.
fn handle_events(
    controller: &Arc<Controller>,
    received: &mpsc::Receiver<Event>,
    events: &mpsc::SyncSender<Event>,
    first: &First,
    mut is_loading: bool,
) -> Result<End, Vec<String>> {
    let notifier = controller.notifier.get();
    let mut watchdog = Watchdog::new(notifier);
    // The first load counts as a reload under way; signals meanwhile make one more after it.
    let mut is_pending = false;
    loop {
        watchdog.tell_if_due(|| controller.running.lock().as_ref().is_some_and(Running::is_serving));
        match received.recv_timeout(watchdog.wait()) {
            Ok(Event::Stop(reason)) => return Ok(End::Stopped(reason)),
            Ok(Event::HandedOver(process)) => return Ok(End::HandedOver(process, is_pending || is_loading)),
            Ok(Event::Loaded(None)) => return Err(vec!["loading ended by a fault of the program".into()]),
            Ok(Event::Loaded(Some(loaded))) => {
                check_first_load(controller, &*loaded?, first)?;
                tracing::info!("{} after {}", ready(controller), Span(first.started.elapsed()));
                // Whoever closed standard error does not want to be welcomed.
                embedded::say_what_has_expired(controller, &first.given);
                first.welcome.iter().for_each(|line| drop(writeln!(std::io::stderr(), "{line}")));
                is_loading = false;
            }
            Ok(Event::Reload) => is_pending = true,
            Ok(Event::Status) => tracing::info!("{}", status_line(controller)),
            Ok(Event::Reloaded) => {
                ready(controller);
                is_loading = false;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Ok(End::Stopped("nobody is left to tell otherwise"));
            }
        }
        if is_pending && !is_loading {
            is_pending = false;
            tell(notifier, Notifier::reloading);
            is_loading = reload_on_a_thread(controller, events);
            if !is_loading {
                ready(controller);
            }
        }
    }
}

pub(crate) fn tell(notifier: Option<&Notifier>, what: impl Fn(&Notifier) -> std::io::Result<()>) {
    if let Some(Err(error)) = notifier.map(what) {
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
