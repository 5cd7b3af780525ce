//! The server from start to end: settings, sockets, privileges, zones, workers, signals.

mod end;
mod events;
mod loading;
mod setup;

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use net::Server;
use net::systemd::{Notifier, activated_sockets};

pub(crate) use self::events::Event;
use self::events::{EVENTS_MAX, handle_events, ready, say_what_is_served, tell, watch_expiry, watch_signals};
use self::loading::load_on_a_thread;
pub(crate) use self::loading::tidy_on_a_thread;
pub(crate) use self::setup::{addresses, all_wanted, identity, read_settings, tcp_limits};
use self::setup::{bind, drop_privileges, listen};
use crate::controller::{Change, Controller, Overrides};
use crate::fault::Faults;
use crate::handler::{Answerer, Shown};
use crate::locks::AtExit;
use crate::progress::Progress;
use crate::requests::Requests;
use crate::settings::Settings;
use crate::text::{Span, count};
use crate::upgrade::take::{Taking, offered};
use crate::wanted::Wanted;
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

/// Runs the server until it is told to stop. Errors are lines for the operator: it could not start.
///
/// They are in the log where settings ask for JSON, or were right so far that the log is what they ask for; these are the ones that are not.
pub fn serve(start: Start) -> Result<(), Vec<String>> {
    let config = start.config.clone();
    run(start).map_err(|faults| match log::start_for_faults(config.as_deref()) {
        true => {
            faults.say();
            Vec::new()
        }
        false => faults.lines(),
    })
}

fn run(start: Start) -> Result<(), Faults> {
    let started = Instant::now();
    // First: a wrong count of descriptors would otherwise take those that are opened here for its own.
    let activated = activated_sockets().map_err(|error| error.to_string())?;
    system::prepare_allocator();
    sync::prepare();
    if let Some(taking) = offered()? {
        let refusal = taking.refusal();
        return take_over(start, taking, started).inspect_err(|faults| refusal.tell(&faults.lines()));
    }
    let settings = read_settings(start.config.as_deref(), &start.overrides)?;
    log::start(&settings.log);
    sync::profile::set(settings.server.profile_locks);
    let json = settings.log.format == "json";
    let progress = Progress::default();
    // What is stored is served before anything is looked at, unless lists say who may ask, or what has to be looked at before.
    let may_be_stored = settings.server.serve_stored
        && !settings.server.pack_directory.as_os_str().is_empty()
        && settings.may_serve_stored();
    let wanted = match may_be_stored {
        true => None,
        false => Some(progress.show_while(|| all_wanted(&settings, &start.overrides, &progress))?),
    };
    let notifier = notifier();
    // Signals are taken over before anything is slow, so that none ends the program without ceremony.
    let (events, received) = mpsc::sync_channel(EVENTS_MAX);
    watch_signals(events.clone()).map_err(|error| format!("cannot watch signals: {error}"))?;

    let (server, control) = bind(&settings, activated)?;
    let http = crate::http::bind(&settings, Vec::new())?;
    let api = crate::api::bind(&settings, Vec::new())?;
    let socket = crate::socket::bind(&settings, control)?;
    drop_privileges(&settings)?;
    // From here on as the user that the server runs as: what it can read and write now it can later too.
    let controller = Arc::new(Controller::new(settings, start.overrides)?);
    let _profile = AtExit { controller: &controller, json };
    controller.listen_for_http(http);
    controller.listen_for_api(api);
    // Probes are told that it starts.
    watch_http(&controller);
    notifier.into_iter().for_each(|notifier| drop(controller.notifier.set(notifier)));
    say_what_is_listened_on(&server);

    let mut first =
        First { started, given: controller.overrides.zones.clone(), is_empty: false, welcome: start.welcome };
    let is_served = may_be_stored
        && !controller.was_restricted()
        && progress.show_while(|| controller.serve_stored(&progress)) > 0;
    let announced = match (wanted, is_served) {
        (_, true) => {
            let (after, zones) = (started.elapsed(), controller.zones.read().loaded());
            tracing::info!(
                zones,
                duration_ms = log::milliseconds(after),
                "answering from {} as stored, after {}; files are looked at now",
                zones_text(&controller),
                Span(after)
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
    if announced.is_some() {
        // The log gives up what is not listed.
        controller.expect_made_known()?;
    }
    crate::dynamic::start(&controller, announced.is_some())?;
    run_workers(&controller, server, None).map_err(|error| format!("cannot start a worker: {error}"))?;
    controller.stores.begin(&controller);
    tell_of_queries(&controller);
    if is_served {
        controller.say_what_is_stored();
        controller.http.ready();
    }
    crate::controller::watch(&controller).map_err(|error| format!("cannot watch packs: {error}"))?;
    let loading = load_on_a_thread(&controller, &events, announced);
    loading.map_err(|error| format!("cannot start loading: {error}"))?;
    let serve = |socket| crate::socket::serve(socket, &controller, events.clone());
    let _socket_file = socket.map(serve).transpose().map_err(|error| format!("control socket: {error}"))?;
    let end = handle_events(&controller, &received, &events, &first, true)?;
    Ok(end::finish(&controller, end, &received)?)
}

/// As [`serve`], as the successor of a server that runs: nothing is answered before all zones are loaded, and what is not as it should be
/// leaves that one the server.
fn take_over(start: Start, mut taking: Taking, started: Instant) -> Result<(), Faults> {
    let settings = read_settings(start.config.as_deref(), &start.overrides)?;
    log::start(&settings.log);
    sync::profile::set(settings.server.profile_locks);
    let json = settings.log.format == "json";
    let (pid, version) = (taking.from, &taking.version);
    tracing::info!(pid, version, "taking over from process {pid} (version {version})");
    let notifier = notifier();
    let (events, received) = mpsc::sync_channel(EVENTS_MAX);
    watch_signals(events.clone()).map_err(|error| format!("cannot watch signals: {error}"))?;
    drop_privileges(&settings)?;
    let mut listen = listen(&settings);
    let is_default = settings.server.listen == Settings::default().server.listen;
    if is_default && taking.sockets.iter().any(|group| group.listener.inherited) {
        listen.addresses.clear();
    }
    let (mut control, keeps_control) = taking.control_socket(&settings)?;
    let http = crate::http::bind(&settings, std::mem::take(&mut taking.http))?;
    let api = crate::api::bind(&settings, std::mem::take(&mut taking.api))?;
    api.expect_shown()?;
    let locks = std::mem::take(&mut taking.locks);
    let controller = Arc::new(Controller::with_locks(settings, start.overrides, locks)?);
    let _profile = AtExit { controller: &controller, json };
    let given = controller.overrides.zones.clone();
    let mut first = First { started, given, is_empty: false, welcome: Vec::new() };
    // The server before answers meanwhile, with as many workers or nearly.
    controller.spare(match listen.workers {
        0 => net::worker_count_default(),
        workers => workers,
    });
    let (change, is_empty) = taking.load(&controller)?;
    first.is_empty = is_empty;
    check_first_load(&controller, &change, &first)?;
    controller.expect_made_known()?;
    crate::dynamic::start(&controller, true)?;
    // Last, as what comes to a socket that is new waits for the workers.
    let handed = std::mem::take(&mut taking.sockets);
    let server = Server::bind_handed(&listen, handed)?;
    say_what_is_listened_on(&server);
    run_workers(&controller, server, taking.cache.take())
        .map_err(|error| format!("cannot start a worker: {error}"))?;
    controller.secondaries.look();
    crate::controller::watch(&controller).map_err(|error| format!("cannot watch packs: {error}"))?;
    taking.ready(&controller, &change.failed, keeps_control)?;
    if let Some(folder) = controller.folder() {
        folder.hold(false);
    }
    if let Some(file) = control.as_mut().and_then(|control| control.file.as_mut()) {
        file.is_ours = true;
    }
    let serve = |socket| crate::socket::serve(socket, &controller, events.clone());
    let _socket_file = control.map(serve).transpose().map_err(|error| format!("control socket: {error}"))?;
    taking.taken();
    controller.stores.begin(&controller);
    controller.listen_for_http(http);
    controller.http.ready();
    watch_http(&controller);
    controller.listen_for_api(api);
    watch_api(&controller);
    // Not before: the server before writes to the same files.
    tell_of_queries(&controller);
    if let Some(notifier) = notifier {
        tell(Some(&notifier), Notifier::alive);
        let _ = controller.notifier.set(notifier);
    }
    drop(taking);
    let status = ready(&controller);
    say_what_is_served(&status, &controller, started);
    watch_expiry(&controller);
    tidy_on_a_thread(&controller);
    let end = handle_events(&controller, &received, &events, &first, false)?;
    Ok(end::finish(&controller, end, &received)?)
}

/// Tells others of queries, where the settings want that.
fn tell_of_queries(controller: &Controller) {
    let changing = controller.change();
    controller.observing.note(controller, &changing.settings);
}

/// Without it queries are answered all the same.
fn watch_http(controller: &Arc<Controller>) {
    if let Err(error) = crate::http::watch(controller) {
        tracing::error!(%error, "nothing is told over HTTP: cannot start a thread: {error}");
    }
}

/// Without it all else goes on.
fn watch_api(controller: &Arc<Controller>) {
    if let Err(error) = crate::api::watch(controller) {
        tracing::error!(%error, "there is no API: cannot start it: {error}");
    }
}

/// The service manager, if there is one.
fn notifier() -> Option<Notifier> {
    Notifier::from_env().unwrap_or_else(|error| {
        tracing::warn!(%error, "the service manager cannot be told of our state: {error}");
        None
    })
}

fn say_what_is_listened_on(server: &Server) {
    let mut addresses: Vec<String> =
        server.listeners().iter().map(|listener| listener.address.to_string()).collect();
    addresses.dedup();
    let (workers, version, address) =
        (server.worker_count(), env!("CARGO_PKG_VERSION"), addresses.join(", "));
    let with = count(workers, "worker");
    tracing::info!(address, workers, version, "Zonda {version} listens on {address} with {with}");
}

/// `cache`: what the server before has learned, where it was handed over.
fn run_workers(controller: &Arc<Controller>, server: Server, cache: Option<File>) -> std::io::Result<()> {
    let workers = server.worker_count();
    let shown: Vec<Shown> = (0..workers).map(|_| Shown::default()).collect();
    let (of_workers, owner) = (shown.clone(), Arc::clone(controller));
    controller.secondaries.begin(controller);
    controller.catalogs.begin(controller);
    let renderer = net::Renderer::start()?;
    let requests = Requests::new(controller, renderer.queue());
    controller.verifier.begin(controller);
    controller.forwarder.begin(controller);
    let _ = controller.renderer.set(renderer);
    // Before the first question.
    if let Some(recursion) = &controller.recursion {
        recursion.restore(cache);
    }
    let running = server.start(move |worker| {
        let (zones, identity) = (owner.catalog.reader(), owner.identity.reader());
        let recursion = owner.recursion.as_ref();
        Answerer::new(zones, identity, &of_workers[worker], requests.clone(), recursion, (worker, workers))
    })?;
    *controller.shown.write() = shown;
    if let Some(recursion) = &controller.recursion {
        recursion.take_in_on_a_thread()?;
        recursion.tend_cache_on_a_thread()?;
    }
    let begun = controller.observing.begin(&running, &controller.change().settings);
    if let Err(error) = begun {
        tracing::error!(%error, "nobody is told of queries: cannot start a thread: {error}");
    }
    *controller.running.lock() = Some(running);
    crate::notices::watch(controller)?;
    crate::repeated::watch(controller)
}

/// A server with a zone from the command line that is broken, or without any zone that is not, does not start.
fn check_first_load(controller: &Controller, change: &Change, first: &First) -> Result<(), Vec<String>> {
    let is_given = |name: &wire::NameBuf| first.given.iter().any(|zone| zone.name.eq_ignore_case(name));
    if change.failed.iter().any(|name| is_given(name) && !controller.has_data(name)) {
        return Err(vec!["a zone of the command line could not be loaded, see above".into()]);
    }
    let is_empty = first.is_empty || controller.zones.read().count() == 0;
    let is_unread = controller.zones.read().has_unread();
    // What is transferred comes later.
    let is_secondary = controller.zones.read().has_secondaries() || controller.stores.is_any();
    if controller.zones.read().loaded() == 0 && (!is_empty || is_unread) && !is_secondary {
        return Err(vec!["no zone could be loaded, see above".into()]);
    }
    if is_empty && controller.recursion.is_none() && !controller.stores.is_any() {
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

/// What the first load is held against, and what is said after it.
struct First {
    started: Instant,
    given: Vec<Wanted>,
    is_empty: bool,
    welcome: Vec<String>,
}
