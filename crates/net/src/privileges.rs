//! Becoming an ordinary user once the sockets are bound.
//!
//! The order matters: names are looked up while their files can be read, groups go before the user because the user
//! may not change them, and at the end it is checked that there is no way back. User and groups change in all
//! threads of the process (the C library sees to that); capabilities and the ban on new privileges are the
//! thread's and its later children's, so this belongs before any thread is started.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::{error, fmt, io};

use nix::unistd::{
    Gid, Group, Uid, User, chdir, chroot, getgrouplist, getresgid, getresuid, setgroups, setresgid, setresuid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

/// Who to become and what to give up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name or number; `None`: stay who we are.
    pub user: Option<String>,
    /// Name or number; `None`: the user's own group.
    pub group: Option<String>,
    /// The only directory to see from then on; paths are relative to it. Needs root.
    pub root_directory: Option<PathBuf>,
    /// Keep the right to bind ports below 1024, for addresses that are added later.
    pub keep_bind: bool,
}

/// Why privileges could not be dropped. The process may have changed in part: it must end.
#[derive(Debug)]
pub enum PrivilegeError {
    /// There is no such user.
    UnknownUser {
        /// As asked for.
        name: String,
    },
    /// There is no such group.
    UnknownGroup {
        /// As asked for.
        name: String,
    },
    /// A group without a user.
    GroupAlone,
    /// A user known only by its number has no group of its own.
    NoGroup {
        /// The number.
        user: String,
    },
    /// The user is root under some name, so that nothing would be given up.
    IsRoot {
        /// As asked for.
        name: String,
    },
    /// A step failed.
    Step {
        /// What was being done.
        what: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
    /// Everything succeeded, and yet the old rights are still there.
    StillPrivileged,
}

/// Looks up who `identity` names, and changes nothing: an error is one that [`drop`] would meet too.
pub fn look_up(identity: &Identity) -> Result<(), PrivilegeError> {
    target(identity).map(|_| ())
}

/// Drops privileges as `identity` says. With nothing asked for, still forbids gaining new ones and gives up
/// capabilities, unless this runs as root and is to stay so.
pub fn drop(identity: &Identity) -> Result<(), PrivilegeError> {
    let target = target(identity)?;
    if let Some(path) = &identity.root_directory {
        enter(path)?;
    }
    if let Some(target) = &target {
        let keep = identity.keep_bind;
        set_keep_capabilities(keep).map_err(|errno| step("keep capabilities", errno))?;
        target.become_it()?;
    }
    if !Uid::effective().is_root() {
        limit_capabilities(identity.keep_bind)?;
    }
    set_no_new_privs(true).map_err(|errno| step("forbid new privileges", errno))?;
    match target {
        Some(target) => target.verify(),
        None => Ok(()),
    }
}

fn target(identity: &Identity) -> Result<Option<Target>, PrivilegeError> {
    match (&identity.user, &identity.group) {
        (Some(user), group) => Target::find(user, group.as_deref()).map(Some),
        // Root with another group is root still.
        (None, Some(_)) => Err(PrivilegeError::GroupAlone),
        (None, None) => Ok(None),
    }
}

/// A user with groups.
struct Target {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Target {
    fn find(user: &str, group: Option<&str>) -> Result<Self, PrivilegeError> {
        let known = match user.parse() {
            Ok(number) => User::from_uid(Uid::from_raw(number)),
            Err(_) => User::from_name(user),
        };
        let known = known.map_err(|errno| step("look the user up", errno))?;
        let uid = match (&known, user.parse()) {
            (Some(known), _) => known.uid,
            (None, Ok(number)) => Uid::from_raw(number),
            (None, Err(_)) => return Err(PrivilegeError::UnknownUser { name: user.into() }),
        };
        if uid.is_root() {
            return Err(PrivilegeError::IsRoot { name: user.into() });
        }
        let gid = match (group, &known) {
            (Some(group), _) => find_group(group)?,
            (None, Some(known)) => known.gid,
            (None, None) => return Err(PrivilegeError::NoGroup { user: user.into() }),
        };
        let groups = match known.and_then(|known| CString::new(known.name).ok()) {
            Some(name) => getgrouplist(&name, gid).map_err(|errno| step("list the user's groups", errno))?,
            None => vec![gid],
        };
        Ok(Self { uid, gid, groups })
    }

    fn become_it(&self) -> Result<(), PrivilegeError> {
        if self.is_current() {
            return Ok(());
        }
        setgroups(&self.groups).map_err(|errno| step("set the supplementary groups", errno))?;
        setresgid(self.gid, self.gid, self.gid).map_err(|errno| step("set the group", errno))?;
        setresuid(self.uid, self.uid, self.uid).map_err(|errno| step("set the user", errno))
    }

    /// Whether all ids are already those; the service manager then has done it.
    fn is_current(&self) -> bool {
        let uids = getresuid().map(|ids| [ids.real, ids.effective, ids.saved]);
        let gids = getresgid().map(|ids| [ids.real, ids.effective, ids.saved]);
        uids == Ok([self.uid; 3]) && gids == Ok([self.gid; 3])
    }

    /// Tries to get back, which must fail.
    fn verify(&self) -> Result<(), PrivilegeError> {
        let root = Uid::from_raw(0);
        let back = setresuid(root, root, root).is_ok() || setgroups(&[Gid::from_raw(0)]).is_ok();
        if back || !self.is_current() { Err(PrivilegeError::StillPrivileged) } else { Ok(()) }
    }
}

fn find_group(group: &str) -> Result<Gid, PrivilegeError> {
    if let Ok(number) = group.parse() {
        return Ok(Gid::from_raw(number));
    }
    match Group::from_name(group).map_err(|errno| step("look the group up", errno))? {
        Some(known) => Ok(known.gid),
        None => Err(PrivilegeError::UnknownGroup { name: group.into() }),
    }
}

/// Makes `path` the root directory. The working directory goes there too: one outside would be a way out.
fn enter(path: &Path) -> Result<(), PrivilegeError> {
    chroot(path).map_err(|errno| step("change the root directory", errno))?;
    chdir("/").map_err(|errno| step("enter the new root directory", errno))
}

/// Gives up every capability but, if asked, that of binding low ports.
fn limit_capabilities(keep_bind: bool) -> Result<(), PrivilegeError> {
    let held = capabilities(None).map_err(|errno| step("read capabilities", errno))?;
    let wanted = if keep_bind { CapabilitySet::NET_BIND_SERVICE } else { CapabilitySet::empty() };
    let kept = held.permitted & wanted;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(|errno| step("give up capabilities", errno))?;
    clear_ambient_capability_set().map_err(|errno| step("clear ambient capabilities", errno))
}

fn step(what: &'static str, cause: impl Into<io::Error>) -> PrivilegeError {
    PrivilegeError::Step { what, cause: cause.into() }
}

impl fmt::Display for PrivilegeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownUser { name } => write!(out, "there is no user \"{name}\" on this machine"),
            Self::UnknownGroup { name } => write!(out, "there is no group \"{name}\" on this machine"),
            Self::GroupAlone => write!(out, "a group is given without a user: they change together only"),
            Self::NoGroup { user } => {
                write!(out, "user {user} is not in the user database, so its group must be given too")
            }
            Self::IsRoot { name } => write!(out, "user \"{name}\" is root: becoming it drops nothing"),
            Self::Step { what, cause } if cause.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    out,
                    "cannot {what}: {cause}; only root may, so start as root or without a user setting"
                )
            }
            Self::Step { what, cause } => write!(out, "cannot {what}: {cause}"),
            Self::StillPrivileged => write!(out, "privileges were dropped, but the system still grants them"),
        }
    }
}

impl error::Error for PrivilegeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Step { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The refusals that come before anything changes; the rest needs a process of its own (`tests/privileges.rs`).
    #[test]
    fn wrong_names_are_refused_before_anything_changes() {
        let attempt = |user: &str, group: Option<&str>| {
            let identity = Identity {
                user: Some(user.into()),
                group: group.map(Into::into),
                root_directory: Some("/nonexistent".into()),
                ..Identity::default()
            };
            drop(&identity).unwrap_err().to_string()
        };
        assert_eq!(attempt("no-such-user", None), "there is no user \"no-such-user\" on this machine");
        assert_eq!(attempt("root", None), "user \"root\" is root: becoming it drops nothing");
        assert_eq!(attempt("0", None), "user \"0\" is root: becoming it drops nothing");
        let alone = Identity { group: Some("0".into()), ..Identity::default() };
        let message = drop(&alone).unwrap_err().to_string();
        assert_eq!(message, "a group is given without a user: they change together only");
        assert_eq!(look_up(&alone).unwrap_err().to_string(), message);
        let message = attempt("4000000", None);
        assert_eq!(message, "user 4000000 is not in the user database, so its group must be given too");
        assert_eq!(
            attempt("4000000", Some("no-such-group")),
            "there is no group \"no-such-group\" on this machine"
        );
    }
}
