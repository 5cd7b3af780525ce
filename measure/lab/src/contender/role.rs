//! What a server does with its zones beside answering: takes updates, or has them from a primary. Or it has none and resolves.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use super::{Job, Resolving};
use crate::{
    Error,
    data::{BED_ORIGIN, Zones},
    error,
    recipe::Name,
};

/// Name of the key that signs updates, as it stands in settings.
pub const KEY_NAME: &str = "lab.key";
/// Its secret. It guards nothing: servers of experiments listen where nobody else is.
pub const KEY_SECRET: &str = "em9uZGEtYmVuY2ggbGFiIGtleSwgbm90IGEgc2VjcmV0";
/// Its algorithm, the one that all servers have.
pub const KEY_ALGORITHM: &str = "hmac-sha256";

/// What a server does with its zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It answers, and nothing changes.
    #[default]
    Static,
    /// It takes updates, and gives its zones to whom asks. Its files are copies of its own.
    Dynamic {
        /// Only signed ones.
        is_signed: bool,
    },
    /// It gives its zones to whom asks.
    Primary,
    /// It has its zones from there.
    Secondary {
        /// The primary, who also tells of changes.
        primary: SocketAddr,
        /// Whether it keeps them through a restart, where it can be told not to.
        keeps: bool,
    },
    /// It has none, and asks those that have.
    Resolver {
        /// The root server.
        root: Ipv4Addr,
    },
}

/// What a resolver may keep in memory, where it can be told in octets: many times what the names of the experiments take.
pub const CACHE_OCTETS: u64 = 256 << 20;
/// Name of the file with the root server's name and address, in the form of zone files.
pub const HINTS: &str = "root.hints";
/// Queries that may wait for servers at a time, of each worker: as many as a trial may have outstanding, so that none is dropped
/// for want of a place before the processor is the limit.
pub const WAITING: usize = 16_384;

/// Bounds of what a server keeps beside its zones, where an experiment sets them; else they are as elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Octets of what led from version to version of a zone, for IXFR.
    pub history_octets: Option<u64>,
    /// For Zonda: octets of its log.
    pub log_octets: Option<u64>,
    /// For Zonda: hundredths of a zone that have to change until it is stored anew. Its log then says what a start has taken from where.
    pub merge_percent: Option<u8>,
    /// Of a resolver.
    pub resolving: Resolving,
}

impl Role {
    /// Whether the server gives its zones away.
    pub fn gives(self) -> bool {
        matches!(self, Role::Dynamic { .. } | Role::Primary)
    }

    /// The root hints of a resolver.
    pub fn hints(self) -> Option<String> {
        let Role::Resolver { root } = self else { return None };
        Some(format!(". 3600000 NS ns.{BED_ORIGIN}\nns.{BED_ORIGIN} 3600000 A {root}\n"))
    }

    /// The key that has to have signed updates, as `NAME:ALGORITHM:SECRET`.
    pub fn key_text() -> String {
        format!("{KEY_NAME}:{KEY_ALGORITHM}:{KEY_SECRET}")
    }
}

impl Name {
    /// Why a server cannot have that role; `None` where it can.
    pub fn cannot(self, role: Role) -> Option<&'static str> {
        match (self, role) {
            (
                Name::Zonda | Name::Named | Name::Unbound | Name::Kresd | Name::Recursor,
                Role::Resolver { .. },
            ) => None,
            (_, Role::Resolver { .. }) => Some("it resolves nothing"),
            (Name::Kresd | Name::Recursor, _) => Some("it serves no zones: it resolves"),
            (_, Role::Static) | (Name::Zonda | Name::Named | Name::Knot, _) => None,
            (Name::Nsd, Role::Dynamic { .. }) => Some("it takes no dynamic updates"),
            (Name::Nsd, _) => None,
            (Name::Pdns, Role::Dynamic { .. }) => Some(
                "its BIND backend takes no dynamic updates, and one that does is a database server of its own",
            ),
            (Name::Pdns, Role::Primary) => None,
            (Name::Pdns, Role::Secondary { keeps: false, .. }) => {
                Some("what it has from a primary it keeps in files")
            }
            (Name::Pdns, Role::Secondary { .. }) => None,
            (Name::Unbound | Name::Engine(_) | Name::Echo, _) => Some("it serves zones as they are"),
        }
    }
}

/// Zones of a server that changes them: copies in its folder; for a secondary the places where they will be.
pub fn zones(job: &Job<'_>) -> Result<Zones, Error> {
    let folder = job.folder.join("zones");
    let place = |index: usize| folder.join(format!("{index}.zone"));
    let own = |(index, (apex, _)): (usize, &(String, PathBuf))| (apex.clone(), place(index));
    let zones = Zones { list: job.zones.list.iter().enumerate().map(own).collect(), ..job.zones.clone() };
    match job.role {
        Role::Static | Role::Primary | Role::Resolver { .. } => return Ok(job.zones.clone()),
        Role::Secondary { .. } => fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?,
        Role::Dynamic { .. } => {
            fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?;
            let copy = |from: &Path, to: &Path| fs::copy(from, to).map_err(error::file(to, "write"));
            for ((_, from), (_, to)) in job.zones.list.iter().zip(&zones.list) {
                copy(from, to)?;
            }
        }
    }
    Ok(zones)
}
