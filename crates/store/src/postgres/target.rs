//! Where a database is: `postgres://user@host:port/database`.
//!
//! Hosts may be several, divided by commas, or the folder of a Unix socket (`%2Frun%2Fpostgresql`). A password has no place in an address, which is shown in
//! logs and lists of processes.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::fault::Fault;

/// How long connecting may take.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// After so long without a word it is asked whether the server is there, three times; a peer that has gone without a word is known within half a minute.
const QUIET: Duration = Duration::from_secs(10);
const ASKED_EACH: Duration = Duration::from_secs(5);
const ASKED_TIMES: u32 = 3;

/// Where a database is, and who we are there.
#[derive(Clone)]
pub struct Target {
    pub(super) config: Config,
    /// Certificates of whom it is to be proved by; `None`: no TLS.
    pub(super) roots: Option<PathBuf>,
    shown: String,
}

/// Authorities of the system, where no others are named.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

impl Target {
    /// Reads an address. TLS that proves who the server is (`sslmode=verify-full`) is used unless all hosts are this machine; `sslrootcert` names a file of
    /// certificates.
    pub fn parse(address: &str) -> Result<Target, Fault> {
        let refuse = |why: &str| Fault::Address(why.to_owned());
        let (address_alone, query) = address.split_once('?').unwrap_or((address, ""));
        let (mut mode, mut roots, mut others) = (None, None, Vec::new());
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            match setting.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(value.replace("%2F", "/"))),
                _ => others.push(setting),
            }
        }
        let joined = match others.is_empty() {
            true => address_alone.to_owned(),
            false => format!("{address_alone}?{}", others.join("&")),
        };
        let mut config: Config = joined.parse().map_err(|error: tokio_postgres::Error| {
            use std::error::Error;
            Fault::Address(error.source().map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_password().is_some() {
            return Err(refuse("a password in it would be seen by others: use PGPASSWORD or a file"));
        }
        if config.get_hosts().is_empty() || config.get_user().is_none() || config.get_dbname().is_none() {
            return Err(refuse("expected postgres://USER@HOST/DATABASE"));
        }
        let is_secured = match mode {
            None => !is_here(&config),
            Some("disable") => false,
            Some("verify-full") => true,
            Some(_) => return Err(refuse("sslmode: expected verify-full or disable")),
        };
        config.ssl_mode(if is_secured { SslMode::Require } else { SslMode::Disable });
        config.connect_timeout(CONNECT_MAX).application_name("zonda");
        config.keepalives_idle(QUIET).keepalives_interval(ASKED_EACH).keepalives_retries(ASKED_TIMES);
        let roots = is_secured.then(|| roots.unwrap_or_else(|| SYSTEM_ROOTS.into()));
        Ok(Target { config, roots, shown: address_alone.to_owned() })
    }

    /// Whether an address is meant for PostgreSQL.
    #[must_use]
    pub fn is_one(address: &str) -> bool {
        address.starts_with("postgres://") || address.starts_with("postgresql://")
    }

    /// With a password.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Target {
        self.config.password(password);
        self
    }
}

/// Whether all that is connected to is this machine: addresses (`hostaddr`) go before the names of their hosts.
fn is_here(config: &Config) -> bool {
    let names_it = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(names_it) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn who_is_proved_and_what_is_refused() {
        for (address, is_secured) in [
            ("postgres://me@10.0.0.5,10.0.0.6/dns", true),
            ("postgres://me@db.example:5433/dns?sslmode=verify-full&target_session_attrs=read-write", true),
            ("postgres://me@db.example/dns?sslmode=disable", false),
            ("postgresql://me@127.0.0.1/dns", false),
            ("postgres://me@127.0.0.1,10.0.0.5/dns", true),
            ("postgres://me@[::1]:5432/dns", false),
            ("postgres://me@localhost/dns?hostaddr=10.0.0.5", true),
            ("postgres://me@localhost/dns?host=10.0.0.5", true),
            ("postgres://me@localhost/dns?hostaddr=127.0.0.2", false),
            ("postgres://me@%2Frun%2Fpostgresql/dns", false),
        ] {
            let target = Target::parse(address).unwrap();
            assert_eq!(target.roots.is_some(), is_secured, "{address}");
            assert_eq!(target.config.get_ssl_mode() == SslMode::Require, is_secured, "{address}");
            assert!(Target::is_one(address));
        }
        for (address, word) in [
            ("postgres://me:secret@db.example/dns", "PGPASSWORD"),
            ("postgres://db.example/dns", "USER"),
            ("postgres://me@db.example", "DATABASE"),
            ("postgres://me@db.example/dns?sslmode=prefer", "sslmode"),
            ("postgres://me@db.example/dns?colour=red", "colour"),
            ("postgres://me@db.example:word/dns", "port"),
        ] {
            let fault = Target::parse(address).map(|_| ()).unwrap_err().to_string();
            assert!(fault.contains(word) && !fault.contains("secret"), "{address}: {fault}");
        }
    }
}
