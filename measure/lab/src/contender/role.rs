//! What a server does with its zones beside answering: takes updates, or has them from a primary. Or it has none and resolves.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use super::{Job, Resolving};
use crate::{
    Error,
    data::{Zones, serial},
    error,
    recipe::{Name, Watched},
};

/// Name of the key that signs updates, as it stands in settings.
pub const KEY_NAME: &str = "lab.key";
/// Its secret. It guards nothing: servers of experiments listen where nobody else is.
pub const KEY_SECRET: &str = "em9uZGEtYmVuY2ggbGFiIGtleSwgbm90IGEgc2VjcmV0";
/// Its algorithm, the one that all servers have.
pub const KEY_ALGORITHM: &str = "hmac-sha256";

/// Where APIs listen, on the port of the server's answers: in clear text, so at an address of the servers' end alone.
pub const API_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The key of APIs, which guards as much.
pub const API_KEY: &str = "lab.key.that.guards.nothing";
/// Its hash, as `zonda api-key new` makes one.
pub const API_KEY_HASH: &str = "sha256:3d5f11705023c4c14f69002756f756ddf5dd8310e75b0dd1979311c54ccbad4a";

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
    /// It takes changes over HTTP, by an API as PowerDNS has it, and runs without root's rights. Its files are copies of its own.
    Api,
    /// It is told to read its zones again. Its files are copies of its own, with serials that can be raised in place.
    Reloaded,
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
        /// What it knows of the root.
        root: Root,
        /// With what it validates; without, it does not.
        anchor: Option<Anchor>,
    },
}

/// A server of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its name, absolute.
    pub server: &'static str,
    /// Its address.
    pub address: Ipv4Addr,
}

/// A key of the root, as a DS record with SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Its tag.
    pub tag: u16,
    /// Its algorithm.
    pub algorithm: u8,
    /// The digest of it.
    pub digest: [u8; 32],
}

/// The digest type of SHA-256.
const SHA256: &str = "2";

impl Anchor {
    /// The first DS record of a master file that has such a digest.
    pub fn from_text(text: &str) -> Option<Anchor> {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| *word != "DS").skip(1);
            let (tag, algorithm) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let hexadecimal =
                words.next().filter(|kind| *kind == SHA256).map(|_| words.collect::<String>())?;
            let mut digest = [0; 32];
            for (octet, at) in digest.iter_mut().zip((0..).step_by(2)) {
                *octet = u8::from_str_radix(hexadecimal.get(at..at + 2)?, 16).ok()?;
            }
            Some(Anchor { tag, algorithm, digest })
        })
    }

    /// Tag, algorithm, digest type and digest, each as settings have it.
    pub fn words(&self) -> String {
        let digest: String = self.digest.iter().map(|octet| format!("{octet:02X}")).collect();
        format!("{} {} {SHA256} {digest}", self.tag, self.algorithm)
    }
}

/// What a resolver may keep in memory, where it can be told in octets: many times what the names of the experiments take.
pub const CACHE_OCTETS: u64 = 256 << 20;
/// Name of the file with the root server's name and address, in the form of zone files.
pub const HINTS: &str = "root.hints";
/// Name of the file with the key that a validating resolver begins with, in the same form.
pub const ANCHOR: &str = "root.anchor";
/// Queries that may wait for servers at a time, of each worker: as many as a trial may have outstanding, so that none is dropped
/// for want of a place before the processor is the limit.
pub const WAITING: usize = 16_384;

/// How often a second a network gets the same answer, where a server limits that: Zonda's default. Servers divide answers into kinds in ways of their own.
pub const ANSWERS_A_SECOND: u32 = 20;
/// How many of the answers beyond that are given cut, so that clients that are there come again over TCP: one in so many, Zonda's default.
pub const SLIP: u32 = 3;
/// What Zonda gives all limited clients together of one kind of answers a second; others have nothing like it.
pub const ANSWERS_IN_ALL: u32 = 500;

/// What an experiment sets of a server beside its role: bounds of what it keeps beside its zones, and where it listens. Else they are as elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Octets of what led from version to version of a zone, for IXFR.
    pub history_octets: Option<u64>,
    /// For Zonda: octets of its log.
    pub log_octets: Option<u64>,
    /// For Zonda: hundredths of a zone that have to change until it is stored anew. Its log then says what a start has taken from where.
    pub merge_percent: Option<u8>,
    /// For servers that keep answers, to give them again: they make each anew.
    pub answers_anew: bool,
    /// Listen at an address of IPv6 instead of IPv4.
    pub ipv6: bool,
    /// Limit how often a network gets an answer, [`ANSWERS_A_SECOND`], and give cookies to those that shall not be limited.
    pub limits_answers: bool,
    /// For Zonda: who watches it.
    pub watched: Option<Watched>,
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
        let Role::Resolver { root: Root { server, address }, .. } = self else { return None };
        Some(format!(". 3600000 NS {server}\n{server} 3600000 A {address}\n"))
    }

    /// The key that a resolver validates with.
    pub fn anchor(self) -> Option<Anchor> {
        let Role::Resolver { anchor, .. } = self else { return None };
        anchor
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
                Name::Zonda
                | Name::Before
                | Name::Limited
                | Name::Named
                | Name::Unbound
                | Name::Kresd
                | Name::Recursor,
                Role::Resolver { .. },
            ) => None,
            (_, Role::Resolver { .. }) => Some("it resolves nothing"),
            (Name::Kresd | Name::Recursor, _) => Some("it serves no zones: it resolves"),
            (
                Name::Zonda
                | Name::Before
                | Name::Limited
                | Name::ZondaSqlite
                | Name::ZondaPostgresql
                | Name::PdnsSqlite
                | Name::PdnsPostgresql,
                Role::Api,
            ) => None,
            (_, Role::Api) => Some("it has no API over HTTP that changes records"),
            (Name::ZondaSqlite | Name::ZondaPostgresql | Name::PdnsSqlite | Name::PdnsPostgresql, _) => {
                Some("it is there for changes over HTTP")
            }
            (_, Role::Static)
            | (Name::Zonda | Name::Before | Name::Limited | Name::Named | Name::Knot, _) => None,
            (Name::Pdns | Name::Unbound | Name::Engine(_), Role::Reloaded) => {
                Some("it is not set up here to read one zone again")
            }
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

impl Name {
    /// Whether it can limit how often a network gets answers, and leaves those alone that have a cookie.
    pub fn can_limit_answers(self) -> bool {
        matches!(self, Name::Zonda | Name::Before | Name::Named | Name::Nsd | Name::Knot)
    }
}

/// The folder of a server's own copies of zone files, in its folder.
pub const COPIES: &str = "zones";

/// The copy of the zone with that place in the list.
pub fn copy_of(folder: &Path, index: usize) -> PathBuf {
    folder.join(COPIES).join(format!("{index}.zone"))
}

/// Zones of a server that changes them, or reads them again: copies in its folder; for a secondary the places where they will be.
pub fn zones(job: &Job<'_>) -> Result<Zones, Error> {
    let folder = job.folder.join(COPIES);
    let own = |(index, (apex, _)): (usize, &(String, PathBuf))| (apex.clone(), copy_of(job.folder, index));
    let zones = Zones { list: job.zones.list.iter().enumerate().map(own).collect(), ..job.zones.clone() };
    match job.role {
        Role::Static | Role::Primary | Role::Resolver { .. } => return Ok(job.zones.clone()),
        Role::Secondary { .. } => fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?,
        Role::Dynamic { .. } | Role::Api => {
            fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?;
            let copy = |from: &Path, to: &Path| fs::copy(from, to).map_err(error::file(to, "write"));
            for ((_, from), (_, to)) in job.zones.list.iter().zip(&zones.list) {
                copy(from, to)?;
            }
        }
        Role::Reloaded => {
            fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?;
            let mut pairs = job.zones.list.iter().zip(&zones.list);
            pairs.try_for_each(|((_, from), (_, to))| serial::copy(from, to))?;
        }
    }
    Ok(zones)
}
