//! What of sound settings this machine does not bear out: users, groups, processors and folders that it does not have.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Gid, Uid, User, faccessat, getgrouplist, setfsgid, setfsuid};

use crate::access::Groups;
use crate::serve::identity;
use crate::settings::{Pinning, Settings, StorePlace};

/// What would end a start here, or have it go on without what is set, as lines. Folders are looked at with the rights that the server will
/// have; if that is another user whom only root may become, and we are not root, they are not.
pub fn problems_here(settings: &Settings) -> Vec<String> {
    let server = net::privileges::look_up(&identity(settings)).map_err(|error| error.to_string()).err();
    let control = crate::socket::group(&settings.control.group).err();
    let secrets =
        crate::identity::identity(settings, &mut Groups::default()).map(drop).err().unwrap_or_default();
    let pin = processors(settings);
    let resolver = crate::recursion::unreadable(settings);
    let stores = crate::stores::unreadable(settings);
    let certificate = crate::api::unreadable(settings);
    let folders = if server.is_none() { folders(settings) } else { Vec::new() };
    server
        .into_iter()
        .chain(control)
        .chain(secrets)
        .chain(pin)
        .chain(resolver)
        .chain(stores)
        .chain(certificate)
        .chain(folders)
        .collect()
}

/// Processors that workers are to be pinned to and that are not there, or not for us.
fn processors(settings: &Settings) -> Option<String> {
    let Pinning::List(list) = &settings.server.pin else { return None };
    let allowed = net::allowed_processors();
    let texts = |processors: &mut dyn Iterator<Item = &usize>| {
        processors.map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let foreign = texts(&mut list.iter().filter(|processor| !allowed.contains(processor)));
    let known = texts(&mut allowed.iter());
    (!foreign.is_empty()).then(|| {
        format!("[server] pin: expected processors that may be used here ({known}), found {foreign}")
    })
}

fn folders(settings: &Settings) -> Vec<String> {
    let mut problems = Vec::new();
    let packs = &settings.server.pack_directory;
    if !packs.as_os_str().is_empty()
        && let Some(who) = Who::of(settings)
    {
        let problem = who.problem(&settings.path(packs));
        problems.extend(problem.map(|problem| format!("[server] pack-directory: {problem}")));
    }
    let state = &settings.resolver.state_directory;
    if settings.resolver.enabled
        && !state.as_os_str().is_empty()
        && let Some(who) = Who::of(settings)
    {
        let problem = who.problem(&settings.path(state));
        problems.extend(problem.map(|problem| format!("[resolver] state-directory: {problem}")));
    }
    // The feeder has the server's rights, and SQLite needs what it keeps beside the file.
    for store in settings.stores() {
        let StorePlace::File(path) = &store.place else { continue };
        if let (Some(who), Some(folder)) = (Who::of(settings), path.parent()) {
            let problem = who.problem(folder);
            problems.extend(problem.map(|problem| format!("[[store]] {}: {problem}", store.name)));
        }
    }
    // Made before the server becomes its user.
    let may_start = Who::of(settings).is_some();
    if let Some(folder) = settings.path(&settings.control.socket).parent()
        && !settings.control.socket.as_os_str().is_empty()
        && may_start
    {
        problems.extend(Who::Us.problem(folder).map(|problem| format!("[control] socket: {problem}")));
    }
    problems
}

/// With whose rights to look.
enum Who {
    Us,
    Other(User),
}

impl Who {
    /// The user that the server will be. `None`: another than we can be.
    fn of(settings: &Settings) -> Option<Who> {
        let user = &settings.server.user;
        let known = match user.parse() {
            _ if user.is_empty() => return Some(Who::Us),
            Ok(number) => User::from_uid(Uid::from_raw(number)),
            Err(_) => User::from_name(user),
        };
        match known.ok().flatten()? {
            known if known.uid == Uid::effective() => Some(Who::Us),
            known => Uid::effective().is_root().then_some(Who::Other(known)),
        }
    }

    /// Why no file can be made in a folder, or the folder not be made where it is not there.
    fn problem(&self, folder: &Path) -> Option<String> {
        let nearest = nearest(folder);
        let may = match self {
            Who::Us => may_write(&nearest),
            // The rights of one thread alone, so that there is nothing to take back.
            Who::Other(user) => std::thread::scope(|scope| {
                let look = || {
                    setfsgid(Gid::from_raw(user.gid.as_raw()));
                    setfsuid(Uid::from_raw(user.uid.as_raw()));
                    may_write(&nearest)
                };
                let may = scope.spawn(look).join().unwrap_or(Ok(()));
                if is_of_a_group(user, &nearest) { Ok(()) } else { may }
            }),
        };
        let reason = crate::text::reason(&may.err()?.into());
        let who = match self {
            Who::Us => String::new(),
            Who::Other(user) => format!("user {} ", user.name),
        };
        let folder = folder.display();
        Some(match nearest.as_os_str() == folder.to_string().as_str() {
            true => format!("{who}cannot write into {folder}: {reason}"),
            false => format!("{who}cannot make {folder} in {}: {reason}", nearest.display()),
        })
    }
}

/// Whether a folder is one for a group that the user is in beside its own.
fn is_of_a_group(user: &User, folder: &Path) -> bool {
    let name = std::ffi::CString::new(user.name.as_str()).ok();
    let groups = name.and_then(|name| getgrouplist(&name, user.gid).ok()).unwrap_or_default();
    let bits = libc::S_IWGRP | libc::S_IXGRP;
    std::fs::metadata(folder)
        .is_ok_and(|folder| folder.mode() & bits == bits && groups.contains(&Gid::from_raw(folder.gid())))
}

fn may_write(folder: &Path) -> Result<(), Errno> {
    if !folder.is_dir() && folder.exists() {
        return Err(Errno::ENOTDIR);
    }
    // Not `eaccess`, by which the C library looks at the whole process.
    faccessat(AT_FDCWD, folder, AccessFlags::W_OK | AccessFlags::X_OK, AtFlags::AT_EACCESS)
}

/// The folder itself, or the nearest above it that there is. Links that lead nowhere are there.
fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|path| std::fs::symlink_metadata(path).is_ok());
    match there {
        Some(path) if !path.as_os_str().is_empty() => path.to_owned(),
        _ => PathBuf::from("."),
    }
}
