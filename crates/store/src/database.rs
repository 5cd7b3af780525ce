//! Either kind of store, by its address.

use std::fmt;
use std::path::PathBuf;

use wire::Name;
use zone::Contents;

use crate::fault::Fault;
use crate::open::Access;
use crate::put::Put;
use crate::read::What;
use crate::row::Row;
use crate::trim::{Bounds, Trimmed};
use crate::version::{Closing, Meta, Version};
use crate::{postgres, sqlite};

/// Where a store is.
#[derive(Clone)]
pub enum Place {
    /// A file of SQLite: `sqlite:PATH`, or a path alone.
    File(PathBuf),
    /// A database of PostgreSQL: `postgres://USER@HOST/DATABASE`.
    Server(Box<postgres::Target>),
}

impl Place {
    /// Reads an address. A file that is named like one of a server has `./` before its name.
    pub fn parse(address: &str) -> Result<Place, Fault> {
        match address {
            address if postgres::Target::is_one(address) => {
                Ok(Place::Server(Box::new(postgres::Target::parse(address)?)))
            }
            "" | "sqlite:" => Err(Fault::Address("expected a file or postgres://USER@HOST/DATABASE".into())),
            address => Ok(Place::File(address.strip_prefix("sqlite:").unwrap_or(address).into())),
        }
    }

    /// With a password, which a file has not.
    #[must_use]
    pub fn with_password(self, password: &str) -> Place {
        match self {
            Place::Server(target) => Place::Server(Box::new(target.with_password(password))),
            file => file,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(f),
            Place::Server(target) => target.fmt(f),
        }
    }
}

/// A store of zones.
pub enum Database {
    /// In a file.
    Sqlite(Box<sqlite::Store>),
    /// Of a server.
    Postgres(Box<postgres::Store>),
}

/// Does the same with either kind.
macro_rules! of_either {
    ($database:expr, $store:ident => $act:expr) => {
        match $database {
            Database::Sqlite($store) => $act,
            Database::Postgres($store) => $act,
        }
    };
}

impl Database {
    /// Makes a store where there is none.
    pub fn create(place: &Place) -> Result<Database, Fault> {
        Ok(match place {
            Place::File(path) => Database::Sqlite(Box::new(sqlite::Store::create(path)?)),
            Place::Server(target) => Database::Postgres(Box::new(postgres::Store::create(target)?)),
        })
    }

    /// Opens the store of a place.
    pub fn open(place: &Place, access: Access) -> Result<Database, Fault> {
        Ok(match place {
            Place::File(path) => Database::Sqlite(Box::new(sqlite::Store::open(path, access)?)),
            Place::Server(target) => Database::Postgres(Box::new(postgres::Store::open(target, access)?)),
        })
    }

    /// Has a copy of a store, or one that was moved, be the store from here on. A file is the store that it is wherever it lies.
    pub fn adopt(place: &Place) -> Result<Database, Fault> {
        match place {
            Place::File(_) => Database::open(place, Access::Write),
            Place::Server(target) => Ok(Database::Postgres(Box::new(postgres::Store::adopt(target)?))),
        }
    }

    /// 32 hexadecimal digits by which it is known.
    #[must_use]
    pub fn identity(&self) -> &str {
        of_either!(self, store => store.identity())
    }

    /// Makes versions of what others changed by plain SQL, of one zone or of all. PostgreSQL has done that when they committed.
    pub fn close_pending(&mut self, zone: Option<&Name>, at: u64) -> Result<Closing, Fault> {
        match self {
            Database::Sqlite(store) => store.close_pending(zone, at),
            Database::Postgres(_) => Ok(Closing::default()),
        }
    }

    /// How many zones have changes by plain SQL that are no version yet.
    pub fn pending_count(&self) -> Result<usize, Fault> {
        match self {
            Database::Sqlite(store) => store.pending_count(),
            Database::Postgres(_) => Ok(0),
        }
    }

    /// The records of a zone and the version that they are, of one moment. No version: what is there is none yet.
    pub fn contents(&mut self, zone: &Name) -> Result<(Contents, Option<Version>), Fault> {
        of_either!(self, store => store.contents(zone))
    }

    /// Hands over all versions, oldest first, of one zone or of all.
    pub fn versions(
        &self,
        zone: Option<&Name>,
        each: &mut dyn FnMut(&Version) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        of_either!(self, store => store.versions(zone, each))
    }

    /// Hands over what changed in a version: what went first.
    pub fn changes(&self, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
        of_either!(self, store => store.changes(version, each))
    }

    /// Drops what is beyond the bounds.
    pub fn trim(&mut self, bounds: &Bounds) -> Result<Trimmed, Fault> {
        of_either!(self, store => store.trim(bounds))
    }

    /// Begins to write: waits until nobody else writes into a file, or into the same zones.
    pub fn writer(&mut self) -> Result<DatabaseWriter<'_>, Fault> {
        Ok(match self {
            Database::Sqlite(store) => DatabaseWriter::Sqlite(store.writer()?),
            Database::Postgres(store) => DatabaseWriter::Postgres(store.writer()?),
        })
    }
}

/// Somebody who writes: all of it or nothing is there when it is committed.
pub enum DatabaseWriter<'d> {
    /// Into a file.
    Sqlite(sqlite::Writer<'d>),
    /// By a server.
    Postgres(postgres::Writer<'d>),
}

macro_rules! by_either {
    ($writer:expr, $inner:ident => $act:expr) => {
        match $writer {
            DatabaseWriter::Sqlite($inner) => $act,
            DatabaseWriter::Postgres($inner) => $act,
        }
    };
}

impl DatabaseWriter<'_> {
    /// Puts a zone in place of the one of that name, if there is one: [`sqlite::Writer::put`].
    pub fn put(
        &mut self,
        contents: &Contents,
        expected: Option<&str>,
        meta: &Meta<'_>,
    ) -> Result<Put, Fault> {
        by_either!(self, writer => writer.put(contents, expected, meta))
    }

    /// Makes a version of a zone that says that all of it is to be read.
    pub fn touch(&mut self, zone: &Name, meta: &Meta<'_>) -> Result<Version, Fault> {
        by_either!(self, writer => writer.touch(zone, meta))
    }

    /// Hands over what changes in a version, also in one that was not committed yet.
    pub fn changes(&self, version: i64, each: &mut dyn FnMut(What, &Row)) -> Result<(), Fault> {
        by_either!(self, writer => writer.changes(version, each))
    }

    /// Makes all that was done durable and visible.
    pub fn commit(self) -> Result<(), Fault> {
        by_either!(self, writer => writer.commit())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_by_their_addresses() {
        for (address, shown, is_file) in [
            ("zones.db", "zones.db", true),
            ("sqlite:/var/lib/zones.db", "/var/lib/zones.db", true),
            ("sqlite:sqlite:", "sqlite:", true),
            ("./postgres://x", "./postgres://x", true),
            ("postgres://me@db.example/dns?sslmode=disable", "postgres://me@db.example/dns", false),
        ] {
            let place = Place::parse(address).unwrap();
            assert_eq!((&*place.to_string(), matches!(place, Place::File(_))), (shown, is_file));
        }
        for address in ["", "sqlite:", "postgres://db.example/dns", "postgres://me:pw@db.example/dns"] {
            assert!(matches!(Place::parse(address), Err(Fault::Address(_))), "{address}");
        }
    }
}
