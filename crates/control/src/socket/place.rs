//! Where the control socket stands: made under a name that nobody can guess, given to those whom it is for, and only then put into its place.
//!
//! ```text
//! bind  .control.sock.RANDOM   mode by the mask; nobody listens, so nobody can connect
//! open  it, without following links: what is given away is this and nothing that was put there since
//! give  it to the server's user and group
//! listen, rename to control.sock
//! ```
//!
//! So what can be seen under the socket's name has its owner and mode from the first moment on.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat, renameat2};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchownat, unlinkat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::ControlSocket;
use crate::system::random;
use crate::text::cannot;

/// Clients that wait to be accepted: as many as the standard library has.
const BACKLOG: i32 = 128;

/// Who may connect, where there is no group: the owner.
const MASK_OF_OWNER: u32 = 0o177;
/// The same where there is one.
const MASK_OF_GROUP: u32 = 0o117;

/// The socket's file, removed when dropped.
pub(crate) struct SocketFile {
    pub(crate) path: PathBuf,
    /// Device and inode.
    pub(crate) identity: (u64, u64),
    /// Whether it is this server's; one that is to be handed over is not yet.
    pub(crate) is_ours: bool,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let identity =
            |path| std::fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
        // Another server may have put its own there.
        if self.is_ours
            && identity(&self.path).is_ok_and(|now| now == self.identity)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            let (source, error) = (self.path.display(), cannot("remove", &error));
            tracing::warn!(%source, error, "control socket {source}: {error}; the next start replaces it");
        }
    }
}

/// Makes the control socket at `path`. A socket there that nobody listens at is replaced.
pub(super) fn bind_at(path: &Path, user: &str, group: &str) -> Result<ControlSocket, String> {
    let describe =
        |act: &str, error: &io::Error| format!("control socket {}: {}", path.display(), cannot(act, error));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let owner = owner(user);
    make_folder(folder, owner).map_err(|error| describe("make its folder", &error))?;
    if UnixStream::connect(path).is_ok() {
        return Err(format!("control socket {}: another server listens there", path.display()));
    }
    let group = self::group(group)?;
    let place = Place::open(folder, path).map_err(|error| describe("listen", &error))?;
    place.clear().map_err(|error| describe("replace it", &error))?;
    let made = place.make(if group.is_some() { MASK_OF_GROUP } else { MASK_OF_OWNER });
    let (socket, file) = made.map_err(|error| describe("listen", &error))?;
    if owner.is_some() || group.is_some() {
        let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
        fchownat(&file, "", owner, group, AtFlags::AT_EMPTY_PATH)
            .map_err(|errno| describe("give it to the server's user and its group", &errno.into()))?;
    }
    let metadata = file.metadata().map_err(|error| describe("listen", &error))?;
    rustix::net::listen(&socket, BACKLOG).map_err(|errno| describe("listen", &errno.into()))?;
    place.show().map_err(|error| describe("listen", &error))?;
    let identity = (metadata.dev(), metadata.ino());
    let file = SocketFile { path: path.to_owned(), identity, is_ours: true };
    Ok(ControlSocket { listener: UnixListener::from(socket), file: Some(file) })
}

/// The place of a socket in its folder, which is open: all that is done is done there, whatever the path leads to meanwhile.
struct Place<'p> {
    folder_path: &'p Path,
    folder: File,
    name: &'p OsStr,
    /// The name that nobody can guess; what has it is removed when this is dropped.
    temporary: OsString,
}

impl<'p> Place<'p> {
    fn open(folder_path: &'p Path, path: &'p Path) -> io::Result<Place<'p>> {
        // Clients connect by the path.
        SocketAddrUnix::new(path)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(folder_path)?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{:016x}", random()));
        Ok(Place { folder_path, folder, name, temporary })
    }

    /// Removes what a server that was killed has left. What is no socket stays, and is in the way.
    fn clear(&self) -> io::Result<()> {
        let found = openat(
            &self.folder,
            self.name,
            OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC,
            Mode::empty(),
        );
        match found {
            Ok(found) if File::from(found.try_clone()?).metadata()?.file_type().is_socket() => {
                Ok(unlinkat(&self.folder, self.name, UnlinkatFlags::NoRemoveDir)?)
            }
            _ => Ok(()),
        }
    }

    /// Makes the socket under its temporary name; returns it and its file, opened such that it can be looked at and given away.
    fn make(&self, mask: u32) -> io::Result<(std::os::fd::OwnedFd, File)> {
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // Where the temporary name makes the path too long, by the descriptor of the folder.
        let by_path = SocketAddrUnix::new(self.folder_path.join(&self.temporary));
        let by_descriptor = || {
            let folder = PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_fd().as_raw_fd()));
            SocketAddrUnix::new(folder.join(&self.temporary))
        };
        let address = by_path.or_else(|_| by_descriptor())?;
        let before = umask(Mode::from_bits_truncate(mask));
        let bound = rustix::net::bind(&socket, &address);
        umask(before);
        bound?;
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = File::from(openat(&self.folder, self.temporary.as_os_str(), flags, Mode::empty())?);
        let metadata = file.metadata()?;
        let is_ours = metadata.file_type().is_socket()
            && metadata.nlink() == 1
            && metadata.uid() == rustix::process::geteuid().as_raw();
        if !is_ours {
            return Err(io::Error::other("somebody else has put something in its place"));
        }
        Ok((socket, file))
    }

    /// Puts the socket into its place, where nothing is.
    fn show(&self) -> io::Result<()> {
        let (from, to) = (self.temporary.as_os_str(), self.name);
        match renameat2(&self.folder, from, &self.folder, to, RenameFlags::RENAME_NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EEXIST) => Err(io::ErrorKind::AddrInUse.into()),
            // A file system that does not know the flag; a link counts as something there, too.
            Err(Errno::EINVAL | Errno::ENOSYS) => {
                match openat(
                    &self.folder,
                    to,
                    OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC,
                    Mode::empty(),
                ) {
                    Err(Errno::ENOENT) => Ok(renameat(&self.folder, from, &self.folder, to)?),
                    _ => Err(io::ErrorKind::AddrInUse.into()),
                }
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Gone if all went well.
        let _ = unlinkat(&self.folder, self.temporary.as_os_str(), UnlinkatFlags::NoRemoveDir);
    }
}

/// Makes the socket's folder if there is none, and gives it to the server's user, who could not take the socket out of it
/// otherwise. One that is there stays as it is.
fn make_folder(folder: &Path, owner: Option<u32>) -> io::Result<()> {
    if folder.exists() {
        return Ok(());
    }
    folder.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    if owner.is_some() {
        // Of that which was made, and nothing that was put into its place.
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let made = OpenOptions::new().read(true).custom_flags(flags).open(folder)?;
        std::os::unix::fs::fchown(&made, owner, None)?;
    }
    Ok(())
}

/// The number of the user that the server will become; `None` if it stays who it is. An unknown one is reported
/// when it is to be become.
fn owner(user: &str) -> Option<u32> {
    if user.is_empty() || !rustix::process::geteuid().is_root() {
        return None;
    }
    let known = || nix::unistd::User::from_name(user).ok().flatten().map(|user| user.uid.as_raw());
    user.parse().ok().or_else(known)
}

/// The number of the group of `[control] group`; `None` if it is not set.
pub(crate) fn group(group: &str) -> Result<Option<u32>, String> {
    if group.is_empty() {
        return Ok(None);
    }
    let found = nix::unistd::Group::from_name(group).ok().flatten();
    let found =
        found.ok_or_else(|| format!("[control] group: there is no group {group:?} on this machine"))?;
    Ok(Some(found.gid.as_raw()))
}
