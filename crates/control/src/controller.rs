//! The zones that are served, and how that changes: at the start, on reload, by command.
//!
//! Rules. `changing` is held for the whole of a change, so there is one at a time; a merge of packs goes on beside it, and gives way
//! where a zone has changed meanwhile. `zones` is locked for moments only. Workers take no lock: they see what the catalog shows.
//! Whatever fails leaves served what was served before.
//!
//! `zones`: what is known of each beside its data; `held`: the packs in use; `arrange`: which zones there are and which are looked at;
//! `change`: loading and taking; `said`: which zones that was; `merge`: packs kept few; `gone`: what packs have and is not served; `resting`: zones that are in packs alone again;
//! `edited`: texts that are edited while their zones change; `dynamic`: what zones that change need of it; `transferred`: zones that come from others; `members`: zones that catalogs list; `made`: zones that are made over the API; `lost`: packs that are damaged while they are served; `missing`: zones whose changes were in a pack that is; `tallied`: how many zones are in which state; `list`: that without the lock.

mod arrange;
mod by_parts;
mod change;
mod claims;
#[cfg(test)]
pub(crate) mod crash;
mod dynamic;
mod edited;
mod gone;
mod held;
mod list;
mod lost;
mod made;
mod members;
mod merge;
mod missing;
mod resting;
mod said;
mod tallied;
mod transferred;
mod zones;

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::SystemTime;

use journal::disk::{Disk, System};
use net::Running;
use net::systemd::Notifier;
use sync::{Collector, Mutex, RwLock};
use transfer::outgoing::History;
use zone::Catalog;

pub use arrange::Candidate;
pub use change::{Change, Scope};
pub(crate) use claims::Claim;
use list::ZoneList;
pub(crate) use lost::watch;
pub(crate) use members::Act;
pub(crate) use resting::{LookedThrough, Still};
pub(crate) use said::{By, Said};
pub(crate) use tallied::ZoneNumbers;
pub(crate) use zones::{Zones, is_beside_text};

use crate::access::Groups;
use crate::api::Api;
use crate::catalogs::Catalogs;
use crate::command::Reloaded;
use crate::commanded::Commanded;
use crate::disk::Locks;
use crate::dynamic::{Dynamic, Historian};
use crate::effort::Effort;
use crate::expiry::Looks;
use crate::forward::Forwarder;
use crate::handler::Shown;
use crate::http::Http;
use crate::identity::{Identity, identity};
use crate::limited::Watch;
use crate::made::Made;
use crate::notices::Telling;
use crate::observing::Observing;
use crate::packs::PackFolder;
use crate::recursion::Recursion;
use crate::secondaries::Secondaries;
use crate::settings::Settings;
use crate::sig0::Verifier;
use crate::stores::Stores;
use crate::system::random;
use crate::texts::Texts;
use crate::transfers::Transfers;
use crate::wanted::Wanted;

/// What the command line says, which goes before the settings file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--listen`
    pub listen: Vec<std::net::SocketAddr>,
    /// `--workers`
    pub workers: Option<usize>,
    /// `--profile-locks`
    pub profile_locks: bool,
    /// `--recursive`
    pub recursive: bool,
    /// `--zone`
    pub zones: Vec<Wanted>,
}

impl Overrides {
    /// Puts them into settings just read.
    pub fn apply(&self, settings: &mut Settings) {
        if !self.listen.is_empty() {
            settings.server.listen.clone_from(&self.listen);
        }
        if let Some(workers) = self.workers {
            settings.server.workers = workers;
        }
        settings.server.profile_locks |= self.profile_locks;
        settings.resolver.enabled |= self.recursive;
    }
}

/// Everything the server is made of, apart from sockets and threads.
pub struct Controller {
    /// What workers see of the zones; changed by whoever makes a change, and by merges.
    pub(crate) catalog: Catalog,
    /// Frees what was replaced in the catalog, and of the identity.
    _collector: Collector,
    /// What the server says of itself.
    pub(crate) identity: Identity,
    /// What answers about names of others, if anything does.
    pub(crate) recursion: Option<Arc<Recursion>>,
    pub(crate) zones: ZoneList,
    changing: Mutex<Changing>,
    file: Option<PathBuf>,
    folder: Option<PackFolder>,
    pub(crate) overrides: Overrides,
    pub(crate) started: SystemTime,
    /// What the workers show; filled when they are made.
    pub(crate) shown: RwLock<Vec<Shown>>,
    /// Who is limited, as it was seen last.
    pub(crate) limited: Mutex<Watch>,
    pub(crate) running: Mutex<Option<Running>>,
    /// What others get of our zones.
    pub(crate) transfers: Arc<Transfers>,
    /// Whom to tell that zones have changed.
    pub(crate) telling: Telling,
    /// What renders transfers that may wait for a disk, once there are workers; after these, as streams that end without it are broken off.
    pub(crate) renderer: OnceLock<net::Renderer>,
    /// Workers that come before what loads: 0 until something is served.
    spared: AtomicUsize,
    /// Whether packs may be in disorder since they were last tidied.
    pub(crate) is_untidy: AtomicBool,
    /// Whether there may be a log of changes that was not read: which packs it needs is not known.
    is_log_unread: AtomicBool,
    /// Held by the thread that tidies.
    tidying: RwLock<()>,
    /// Read by who makes packs of zones as they are: see `resting`.
    making: RwLock<()>,
    /// Held by who stores the names of zones that are gone: see [`gone`].
    storing_gone: Mutex<()>,
    /// The upgrade that is under way, and whom this server has handed over to.
    pub(crate) upgrade: crate::upgrade::give::State,
    /// The control socket, once it is served.
    pub(crate) control: OnceLock<Arc<crate::socket::Listening>>,
    /// The service manager, if there is one.
    pub(crate) notifier: OnceLock<Notifier>,
    /// What tells others of it over HTTP.
    pub(crate) http: Http,
    /// What has zones read and changed over HTTP.
    pub(crate) api: Api,
    /// What is seen of all zones from time to time.
    pub(crate) looks: Looks,
    /// What the last reload said.
    pub(crate) reloaded: Mutex<Option<Reloaded>>,
    /// Whether a thread sleeps until packs are to be merged.
    is_merge_due: AtomicBool,
    /// See [`PackFolder::is_restricted`], at the start.
    was_restricted: bool,
    /// Most octets of their log.
    pub(crate) journal_octets: u64,
    /// What has to have changed until a zone is merged, in hundredths of it.
    pub(crate) merge_percent: u8,
    /// See the setting of this name.
    pub(crate) changed_zones: usize,
    /// What led from version to version of zones.
    pub(crate) historian: Arc<Historian>,
    /// Zones that change in place.
    pub(crate) dynamic: Arc<Dynamic>,
    /// Who else is told of queries.
    pub(crate) observing: Observing,
    /// What is known of their texts.
    pub(crate) texts: Arc<Texts>,
    /// What verifies updates that are signed by SIG(0).
    pub(crate) verifier: Arc<Verifier>,
    /// What sends updates on to the primaries of zones.
    pub(crate) forwarder: Arc<Forwarder>,
    /// Zones that are transferred from others.
    pub(crate) secondaries: Arc<Secondaries>,
    /// Catalogs, and which zones are served because of them.
    pub(crate) catalogs: Catalogs,
    /// Zones that are made over the API.
    pub(crate) made: Made,
    /// Databases, and which zones come from them.
    pub(crate) stores: Arc<Stores>,
    /// What it is to be. Held while that is stored.
    pub(crate) is_restricted: Mutex<bool>,
}

/// What only the thread that makes a change needs.
pub(crate) struct Changing {
    pub(crate) settings: Settings,
    /// Zones added and removed by command.
    pub(crate) commanded: Commanded,
    /// Of zones with access lists of their own.
    pub(crate) groups: Groups,
}

/// A change under way. The locks here go on after a panic: it leaves whole values behind, as they are replaced and
/// never changed in halves.
pub(crate) type ChangeGuard<'c> = sync::Guard<MutexGuard<'c, Changing>>;

impl Controller {
    /// A controller that serves nothing yet.
    pub fn new(settings: Settings, overrides: Overrides) -> Result<Controller, String> {
        Controller::with_locks(settings, overrides, Locks::default())
    }

    /// As [`Controller::new`], with the locks of its folders that the server before handed over.
    pub(crate) fn with_locks(
        settings: Settings,
        overrides: Overrides,
        locks: Locks,
    ) -> Result<Controller, String> {
        let directory = &settings.server.pack_directory;
        let folder = match directory.as_os_str().is_empty() {
            true => None,
            false => Some(PackFolder::open_with(&settings.path(directory), locks.packs)?),
        };
        Controller::with_folder(settings, overrides, folder, locks.state)
    }

    /// As [`Controller::new`], with the pack folder of the settings, which is open.
    pub(crate) fn with_folder(
        settings: Settings,
        overrides: Overrides,
        folder: Option<PackFolder>,
        state_lock: Option<File>,
    ) -> Result<Controller, String> {
        let was_restricted = folder.as_ref().is_some_and(PackFolder::is_restricted);
        let mut groups = Groups::new(was_restricted);
        let identity = identity(&settings, &mut groups).map_err(|lines| lines.join("\n"))?;
        let recursion = Recursion::new(&settings, &identity, state_lock).map_err(|lines| lines.join("\n"))?;
        let identity = Identity::new(identity);
        let catalog = Catalog::new(random());
        let collector = Collector::start(&[catalog.domain().clone(), identity.domain().clone()])
            .map_err(|error| format!("cannot start the collector: {error}"))?;
        let (journal_octets, merge_percent) = (settings.server.journal_octets, settings.server.merge_percent);
        let changed_zones = settings.server.changed_zones;
        let journal = folder
            .as_ref()
            .filter(|folder| folder.is_ours())
            .map(|folder| crate::dynamic::journal_of(folder.path()));
        let disk = folder.as_ref().map_or_else(|| Arc::new(System) as Arc<dyn Disk>, PackFolder::disk);
        let historian = Arc::new(Historian::new(disk, journal.as_deref()));
        let changing = Changing { settings, commanded: Commanded::default(), groups };
        let texts = Arc::new(Texts::open(folder.as_ref()));
        let has_log = folder.as_ref().is_some_and(|folder| crate::dynamic::has_log(folder.path()));
        let controller = Controller {
            catalog,
            _collector: collector,
            identity,
            recursion,
            zones: ZoneList::new(Zones::new(folder.as_ref(), &texts)),
            file: changing.settings.file.clone(),
            changing: Mutex::named("change", changing),
            folder,
            overrides,
            started: SystemTime::now(),
            shown: RwLock::named("counts", Vec::new()),
            limited: Mutex::named("limited", Watch::default()),
            running: Mutex::named("workers", None),
            transfers: Arc::new(Transfers::new(Arc::clone(&historian) as Arc<dyn History>)),
            historian,
            telling: Telling::new(),
            renderer: OnceLock::new(),
            spared: AtomicUsize::new(0),
            is_untidy: AtomicBool::new(false),
            is_log_unread: AtomicBool::new(has_log),
            tidying: RwLock::named("tidying", ()),
            making: RwLock::named("making packs", ()),
            storing_gone: Mutex::named("storing what is gone", ()),
            upgrade: crate::upgrade::give::State::default(),
            control: OnceLock::new(),
            notifier: OnceLock::new(),
            http: Http::new(),
            api: Api::new(),
            looks: Looks::new(),
            reloaded: Mutex::named("what a reload said", None),
            is_merge_due: AtomicBool::new(false),
            was_restricted,
            journal_octets,
            merge_percent,
            changed_zones,
            dynamic: Arc::new(Dynamic::new()),
            observing: Observing::new(),
            texts: Arc::clone(&texts),
            verifier: Arc::new(Verifier::new()),
            forwarder: Arc::new(Forwarder::new()),
            secondaries: Arc::new(Secondaries::new()),
            catalogs: Catalogs::new(),
            made: Made::new(),
            stores: Arc::new(Stores::new()),
            is_restricted: Mutex::named("restricted", was_restricted),
        };
        {
            let changing = controller.changing.lock();
            controller.note_groups(&changing.groups);
            controller.note_refuse(&changing.settings);
            controller.note_expiry(&changing.settings);
            changing.settings.warn_of_secrets();
            crate::stores::warn_of_folders(&changing.settings);
            controller.note_remotes(&changing.settings);
        }
        Ok(controller)
    }

    /// Takes over where other servers are. After the identity, whose keys they use.
    pub(crate) fn note_remotes(&self, settings: &Settings) {
        let remotes = settings.all_remotes(&self.identity.current().keys);
        self.secondaries.set_remotes(remotes.clone(), &settings.secondary);
        self.telling.set_remotes(remotes);
    }

    /// Whether zones had access lists of their own when the pack folder was last used: what it has may not be served before it is known who may ask.
    pub(crate) fn was_restricted(&self) -> bool {
        self.was_restricted
    }

    /// What loading may take of the processors.
    pub(crate) fn effort(&self) -> Effort {
        Effort::beside(self.spared.load(Ordering::Relaxed))
    }

    /// From now on so many workers come before what loads.
    pub(crate) fn spare(&self, workers: usize) {
        self.spared.store(workers, Ordering::Relaxed);
    }

    /// Where packs are kept.
    pub(crate) fn folder(&self) -> Option<&PackFolder> {
        self.folder.as_ref()
    }

    /// The same if packs can be stored and removed there: nowhere while another server does.
    pub(crate) fn writable_folder(&self) -> Option<&PackFolder> {
        self.folder().filter(|folder| folder.is_writable())
    }

    /// Whether packs may not be written or removed, as another server does.
    pub(crate) fn is_held(&self) -> bool {
        self.folder().is_some_and(PackFolder::is_held)
    }

    /// The settings file, as the operator named it.
    pub(crate) fn settings_file(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.display().to_string())
    }

    /// Begins a change: nobody else makes one until the guard is dropped.
    #[track_caller]
    pub(crate) fn change(&self) -> ChangeGuard<'_> {
        self.changing.lock()
    }
}
