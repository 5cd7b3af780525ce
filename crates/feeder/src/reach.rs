//! How a store is reached: which rights are left for that, and what opens it.

use std::io;
use std::path::{Path, PathBuf};

use calls::Sockets;
use store::Fault;
use store::source::Source;

use crate::confine::{confine_to_folder, confine_to_port};
use crate::postgres::Postgres;
use crate::powerdns::{File, PowerDns, Server};
use crate::sqlite::Sqlite;
use crate::watch::Watch;
use feed::address::{Address, Network, Place};
use feed::schema;

/// Says whether who reads a store is to go on.
pub(crate) type Beat = Box<dyn FnMut() -> bool + Send>;

/// See the module.
pub(crate) struct Reach {
    at: At,
    /// How tables of PowerDNS are read; `None`: they are our own.
    tables: Option<schema::PowerDns>,
}

/// Where a store is.
enum At {
    /// A file, where links lead, and the folder that was left to the process.
    File { path: PathBuf, real: PathBuf, folder: Option<(u64, u64)> },
    /// A database over the network, and the certificates that are believed, in PEM.
    Network { network: Network, roots: Vec<u8> },
}

impl Reach {
    pub(crate) fn of(address: Address, roots: Vec<u8>, tables: Option<schema::PowerDns>) -> Reach {
        let at = match address {
            Address::File(path) => {
                let path = PathBuf::from(path);
                // What a link leads to is what is opened.
                let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                At::File { path, real, folder: None }
            }
            Address::Postgres(network) => At::Network { network, roots },
        };
        Reach { at, tables }
    }

    /// Gives up all other rights. The error `NotFound`: there is no such folder, as yet. Says whether the kernel sees to it.
    pub(crate) fn confine(&mut self) -> io::Result<bool> {
        match &mut self.at {
            At::File { real, folder, .. } => {
                let is_read = self.tables.is_some();
                let is_confined = confine_to_folder(real.parent().unwrap_or(Path::new("/")), is_read)?;
                *folder = Watch::folder_of(real);
                Ok(is_confined)
            }
            At::Network { network: Network { place: Place::Tcp(_, port), .. }, .. } => {
                confine_to_port(Some(*port))
            }
            // Landlock keeps nobody from a socket with a path, and there is nothing else that it is to be kept from less.
            At::Network { network: Network { place: Place::Socket(..), .. }, .. } => confine_to_port(None),
        }
    }

    /// Sockets that are needed for it.
    pub(crate) fn sockets(&self) -> Sockets {
        match &self.at {
            At::File { .. } => Sockets::None,
            At::Network { network: Network { place: Place::Tcp(..), .. }, .. } => Sockets::Tcp,
            At::Network { network: Network { place: Place::Socket(..), .. }, .. } => Sockets::Unix,
        }
    }

    /// Opens it; `beat` is called while statements are at work.
    pub(crate) fn open(&self, beat: Beat) -> Result<Box<dyn Source>, Fault> {
        match (&self.at, self.tables) {
            (At::File { path, .. }, None) => Ok(Box::new(Sqlite::open(path, beat)?)),
            (At::Network { network, roots }, None) => Ok(Box::new(Postgres::open(network, roots, beat)?)),
            (At::File { path, .. }, Some(tables)) => {
                Ok(Box::new(PowerDns::open(File::of(path), tables, beat)?))
            }
            (At::Network { network, roots }, Some(tables)) => {
                Ok(Box::new(PowerDns::open(Server::of(network, roots), tables, beat)?))
            }
        }
    }

    /// Whether what takes the place of the folder, or is where a link leads now, lies beyond what this process may see: another process is needed.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match &self.at {
            At::File { path, real, folder } => {
                let is_moved = std::fs::canonicalize(path).is_ok_and(|now| now.parent() != real.parent());
                is_moved || *folder != Watch::folder_of(real)
            }
            // Addresses are looked up by the server.
            At::Network { .. } => false,
        }
    }
}
