//! The side of the server that takes over.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{env, io, process};

use net::Handed;
use rustix::net::{AddressFamily, sockopt};
use wire::{Name, NameBuf};
use zone::catalog::View;

use super::channel::Channel;
use super::words::{ABSENT_MAX, FORMAT, FORMAT_MIN, Offer, Ready, Word, grouped};
use super::{FROM, STEP_WAIT};
use crate::commanded::Commanded;
use crate::controller::{Change, Controller};
use crate::disk::Locks;
use crate::fault::Faults;
use crate::identity::keep_secret;
use crate::progress::Progress;
use crate::serve::all_wanted;
use crate::settings::Settings;
use crate::socket::{ControlSocket, SocketFile};
use crate::sources::Source;
use crate::text::cannot;
use crate::wanted::{Listing, Wanted};

/// Longest wait for the old server once this one is ready. It needs a moment; if it hangs, two servers read from its sockets meanwhile.
const TAKE_WAIT: Duration = Duration::from_secs(20);

/// What the server before hands over.
pub(crate) struct Taking {
    channel: Arc<Channel>,
    /// Its process.
    pub(crate) from: u32,
    /// Its version.
    pub(crate) version: String,
    pub(crate) sockets: Vec<Handed>,
    pub(crate) control: Option<ControlSocket>,
    /// Listeners for HTTP.
    pub(crate) http: Vec<Handed>,
    /// Sockets for the API.
    pub(crate) api: Vec<Handed>,
    pub(crate) locks: Locks,
    /// What its resolver has learned.
    pub(crate) cache: Option<File>,
    commanded: Commanded,
    /// Told when all is ours, and when the service manager knows.
    words: mpsc::Receiver<()>,
}

/// A way to tell the old server why it is to go on.
pub(crate) struct Refusal(Arc<Channel>);

impl Refusal {
    /// Tells it. If it is gone, so is the reason to tell.
    pub(crate) fn tell(&self, lines: &[String]) {
        let _ = self.0.send(&Word::Failed { lines: lines.to_vec() }, &[]);
    }
}

/// What a running server hands over to this process, if one started it for that.
///
/// To be called once and early, as it takes standard input. An error says what is not as it should be; the old server goes on then.
pub(crate) fn offered() -> Result<Option<Taking>, Vec<String>> {
    let Some(from) = env::var_os(FROM) else { return Ok(None) };
    let one = |line: String| vec![format!("{FROM}: {line}")];
    let from = from.to_str().and_then(|text| text.parse::<u32>().ok());
    let from = from.ok_or_else(|| one("expected the number of a process".into()))?;
    // Otherwise meant for another process; or that one has ended, and with it the right to take anything over.
    if std::os::unix::process::parent_id() != from {
        return Err(one(format!("process {from} is not the parent of this one")));
    }
    let channel = take_standard_input().map_err(|error| one(cannot("use standard input", &error)))?;
    if channel.peer().ok() != Some(from) {
        return Err(one(format!("standard input is not from process {from}")));
    }
    let channel = Arc::new(channel);
    let taking = receive(&channel, from);
    if let Err(lines) = &taking {
        Refusal(channel).tell(lines);
    }
    taking.map(Some)
}

/// Our end of the pair; what is read from standard input after that is nothing.
fn take_standard_input() -> io::Result<Channel> {
    let channel = Channel::of(io::stdin().as_fd().try_clone_to_owned()?)?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    Ok(channel)
}

fn receive(channel: &Arc<Channel>, from: u32) -> Result<Taking, Vec<String>> {
    let one = |line: &str| vec![format!("what process {from} hands over: {line}")];
    let received = channel.receive(Some(STEP_WAIT)).map_err(|error| one(&error.to_string()))?;
    let Some((Word::Offer(offer), descriptors)) = received else { return Err(one("there is nothing")) };
    let Offer { format, version, sockets, control, has_lock, has_cache, has_state_lock, http, api, .. } =
        *offer;
    let (added, listed, removed, secret) = (offer.added, offer.listed, offer.removed, offer.secret);
    if !(FORMAT_MIN..=FORMAT).contains(&format) {
        return Err(one(&format!("format {format} is not known (version {version}); start anew instead")));
    }
    let others =
        [control.is_some(), has_lock, has_cache, has_state_lock].map(usize::from).iter().sum::<usize>();
    if descriptors.len() != sockets.len() + others + http.len() + api.len() {
        return Err(one("there are not as many descriptors as described"));
    }
    let mut descriptors = descriptors.into_iter();
    let sockets = {
        let own: Vec<OwnedFd> = descriptors.by_ref().take(sockets.len()).collect();
        grouped(sockets, own)
    };
    let control = match control {
        Some(line) => {
            let listener = descriptors.next().ok_or_else(|| one("there is no control socket"))?;
            let file = line.file.map(|(path, device, inode)| SocketFile {
                path: PathBuf::from(path),
                identity: (device, inode),
                is_ours: false,
            });
            let listener = unix_listener(listener).map_err(|error| one(&error.to_string()))?;
            Some(ControlSocket { listener, file })
        }
        None => None,
    };
    let mut file = |is_there: bool| if is_there { descriptors.next().map(File::from) } else { None };
    let (packs, cache) = (file(has_lock), file(has_cache));
    let locks = Locks { packs, state: file(has_state_lock) };
    let of_http: Vec<OwnedFd> = descriptors.by_ref().take(http.len()).collect();
    let http = grouped(http, of_http);
    let api = grouped(api, descriptors);
    let mut zones = Vec::new();
    let name_of = |text: &String| NameBuf::from_text(text).map_err(|_| one(&format!("{text:?} is no name")));
    for (name, file) in added {
        let name = name_of(&name)?;
        zones.push(Wanted { name, source: Source::File(file.into()), listing: None });
    }
    for (at, catalog, groups) in listed {
        let listing =
            Listing { catalog: name_of(&catalog)?.to_lowercase(), groups: groups.into(), coo: None };
        if let Some(zone) = zones.get_mut(at) {
            zone.listing = Some(listing);
        }
    }
    if let Some(secret) = secret.and_then(|secret| secret.try_into().ok()) {
        keep_secret(secret);
    }
    let words = watch(channel, from).map_err(|error| one(&cannot("watch it", &error)))?;
    let removed = removed.iter().map(name_of).collect::<Result<Vec<NameBuf>, _>>()?;
    let commanded = Commanded::of(zones, removed);
    let channel = Arc::clone(channel);
    Ok(Taking { channel, from, version, sockets, control, http, api, locks, cache, commanded, words })
}

fn unix_listener(descriptor: OwnedFd) -> io::Result<UnixListener> {
    let is_unix = sockopt::socket_domain(&descriptor)? == AddressFamily::UNIX;
    if !is_unix || !sockopt::socket_acceptconn(&descriptor)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the control socket does not listen"));
    }
    Ok(descriptor.into())
}

/// Hears the old server, and ends this process if that one ends before it has handed over: it was the server, and whoever looks after it starts
/// another.
fn watch(channel: &Arc<Channel>, from: u32) -> io::Result<mpsc::Receiver<()>> {
    let (heard, words) = mpsc::channel();
    let channel = Arc::clone(channel);
    let watch = move || {
        let mut is_ours = false;
        while let Ok(Some((word, _))) = channel.receive(None) {
            is_ours |= matches!(word, Word::Take);
            if heard.send(()).is_err() {
                return;
            }
        }
        if !is_ours {
            tracing::error!("process {from} has ended and not handed over");
            process::exit(1);
        }
    };
    std::thread::Builder::new().name("upgrade".into()).spawn(watch)?;
    Ok(words)
}

impl Taking {
    pub(crate) fn refusal(&self) -> Refusal {
        Refusal(Arc::clone(&self.channel))
    }

    /// The control socket that settings ask for: that of the old server if it is this one; then `true`.
    pub(crate) fn control_socket(
        &mut self,
        settings: &Settings,
    ) -> Result<(Option<ControlSocket>, bool), Vec<String>> {
        let wanted = crate::socket::path(settings);
        let is_wanted = |control: &ControlSocket| match &control.file {
            Some(file) => Some(&file.path) == wanted.as_ref(),
            // A service manager's.
            None => true,
        };
        match self.control.take().filter(is_wanted) {
            Some(control) => Ok((Some(control), true)),
            None => Ok((crate::socket::bind(settings, None)?, false)),
        }
    }

    /// Loads all zones, of which nothing is answered yet: those that are stored, then what lists and files say, and what commands did.
    pub(crate) fn load(&mut self, controller: &Controller) -> Result<(Change, bool), Faults> {
        let progress = Progress::default();
        let mut changing = controller.change();
        changing.commanded = std::mem::take(&mut self.commanded);
        progress.show_while(|| {
            // Where digests are required it has to be known of which zones first.
            let may_be_served = !changing.settings.requires_digests();
            let is_served = may_be_served && controller.serve_stored(&progress) > 0;
            if is_served {
                controller.say_what_is_stored();
            }
            let settings = &changing.settings;
            let mut wanted =
                controller.effort().run(|| all_wanted(settings, &controller.overrides, &progress))?;
            changing.commanded.apply(&mut wanted).iter().for_each(|line| tracing::warn!("{line}"));
            controller.note_commanded(&changing.commanded);
            let is_empty = wanted.is_empty();
            let (candidates, _) = controller.announce(&mut changing, wanted, &progress);
            Ok((controller.load_first(&mut changing, candidates, is_served, &progress), is_empty))
        })
    }

    /// Says that queries are answered, and waits until all is ours.
    pub(crate) fn ready(
        &self,
        controller: &Controller,
        failed: &[NameBuf],
        keeps_control: bool,
    ) -> Result<(), Vec<String>> {
        let has_data = |name: &Name| {
            controller.catalog.reader().with(|view| {
                let slot = controller.zones.read().slot(view, name);
                slot.is_some_and(|slot| matches!(view.view_of(slot), Some(View::Zone(_))))
            })
        };
        let absent = failed.iter().filter(|name| !has_data(name)).take(ABSENT_MAX).map(ToString::to_string);
        let version = env!("CARGO_PKG_VERSION").into();
        let ready = Word::Ready(Ready { version, absent: absent.collect(), keeps_control });
        let one = |line: String| vec![format!("process {}: {line}", self.from)];
        self.channel.send(&ready, &[]).map_err(|error| one(cannot("tell it", &error)))?;
        match self.words.recv_timeout(TAKE_WAIT) {
            Ok(()) => Ok(()),
            Err(_) => Err(one("it does not hand over".into())),
        }
    }

    /// Says that all is ours. Returns once the service manager knows of us, if there is one, or does not for too long.
    pub(crate) fn taken(&self) {
        let _ = self.channel.send(&Word::Taken, &[]);
        let began = Instant::now();
        let _ = self.words.recv_timeout(STEP_WAIT);
        tracing::debug!("the service manager was told after {:?}", began.elapsed());
    }
}
