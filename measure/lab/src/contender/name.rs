//! Contenders by name: what they are called, which program they are, and which package brings it.

use std::path::Path;

use ::engine::ProtectionKind;

use super::{Programs, pdns};
use crate::recipe::Name;

impl Name {
    /// All contenders.
    pub const ALL: [Name; 24] = [
        Name::Zonda,
        Name::Before,
        Name::Limited,
        Name::ZondaSqlite,
        Name::ZondaPostgresql,
        Name::Named,
        Name::Nsd,
        Name::Knot,
        Name::Pdns,
        Name::PdnsSqlite,
        Name::PdnsPostgresql,
        Name::Unbound,
        Name::Kresd,
        Name::Recursor,
        Name::Engine(ProtectionKind::Bind9),
        Name::Engine(ProtectionKind::Mutex),
        Name::Engine(ProtectionKind::SystemOrdinary),
        Name::Engine(ProtectionKind::SystemAtomic),
        Name::Engine(ProtectionKind::Paper),
        Name::Engine(ProtectionKind::PaperPortable),
        Name::Engine(ProtectionKind::PaperPublished),
        Name::Engine(ProtectionKind::Snapshot),
        Name::Engine(ProtectionKind::SnapshotParts),
        Name::Echo,
    ];
    /// Their names.
    pub const TEXTS: [&str; 24] = {
        let mut texts = [""; 24];
        let mut at = 0;
        while at < texts.len() {
            texts[at] = Name::ALL[at].text();
            at += 1;
        }
        texts
    };

    /// As written in recipes.
    pub const fn text(self) -> &'static str {
        match self {
            Name::Zonda => "zonda",
            Name::Before => "before",
            Name::Limited => "limited",
            Name::ZondaSqlite => "zonda-sqlite",
            Name::ZondaPostgresql => "zonda-postgresql",
            Name::Named => "named",
            Name::Nsd => "nsd",
            Name::Knot => "knot",
            Name::Pdns => "pdns",
            Name::PdnsSqlite => "pdns-sqlite",
            Name::PdnsPostgresql => "pdns-postgresql",
            Name::Unbound => "unbound",
            Name::Kresd => "kresd",
            Name::Recursor => "pdns_recursor",
            Name::Engine(protection) => match protection {
                // One thread and no locks: no server.
                ProtectionKind::Unshared => "engine-unshared",
                ProtectionKind::Bind9 => "engine-bind9",
                ProtectionKind::Mutex => "engine-mutex",
                ProtectionKind::SystemOrdinary => "engine-system-ordinary",
                ProtectionKind::SystemAtomic => "engine-system-atomic",
                ProtectionKind::Paper => "engine-paper",
                ProtectionKind::PaperPortable => "engine-paper-portable",
                ProtectionKind::PaperPublished => "engine-paper-published",
                ProtectionKind::Snapshot => "engine-snapshot",
                ProtectionKind::SnapshotParts => "engine-snapshot-parts",
            },
            Name::Echo => "echo",
        }
    }

    /// The contender of that name.
    pub fn from_text(text: &str) -> Option<Name> {
        Name::ALL.into_iter().find(|name| name.text() == text)
    }

    /// The program of those that are builds of this project's server.
    pub fn of_zonda(self, programs: &Programs) -> Option<&Path> {
        match self {
            Name::Before => Some(&programs.before),
            name => name.is_this_build().then_some(&programs.zonda),
        }
    }

    /// Whether it is the server under test, in one way of setting it up.
    pub fn is_this_build(self) -> bool {
        matches!(self, Name::Zonda | Name::Limited | Name::ZondaSqlite | Name::ZondaPostgresql)
    }

    /// The program, where it is not of this project.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Name::Zonda | Name::Before | Name::Limited | Name::ZondaSqlite | Name::ZondaPostgresql => None,
            Name::Engine(_) | Name::Echo => None,
            Name::Named => Some("named"),
            Name::Nsd => Some("nsd"),
            Name::Knot => Some("knotd"),
            Name::Pdns | Name::PdnsSqlite | Name::PdnsPostgresql => Some("pdns_server"),
            Name::Unbound => Some("unbound"),
            Name::Kresd => Some("kresd"),
            Name::Recursor => Some("pdns_recursor"),
        }
    }

    /// Debian's packages that bring it.
    pub fn package(self) -> &'static str {
        match self {
            Name::Zonda | Name::Before | Name::Limited | Name::ZondaSqlite | Name::ZondaPostgresql => "",
            Name::Engine(_) | Name::Echo => "",
            Name::Named => "bind9",
            Name::Nsd => "nsd",
            Name::Knot => "knot",
            Name::Pdns => "pdns-server and pdns-backend-bind",
            Name::PdnsSqlite => "pdns-server and pdns-backend-sqlite3",
            Name::PdnsPostgresql => "pdns-server and pdns-backend-pgsql",
            Name::Unbound => "unbound",
            Name::Kresd => "knot-resolver",
            Name::Recursor => "pdns-recursor",
        }
    }

    /// Why its answers differ from everybody's, where that is known.
    pub fn answers_otherwise(self) -> Option<&'static str> {
        (self == Name::Pdns).then_some(pdns::OTHERWISE)
    }
}
