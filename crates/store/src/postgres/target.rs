//! Where a database is: `postgres://user@host:port/database` ([`feed::url`]), or what a server has told its feeder ([`feed::address`]).

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use feed::address::{Host, Network, Place, Tls};
use feed::url::{NoUrl, Url};
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode, TargetSessionAttrs};

use crate::fault::Fault;

/// How long connecting may take.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// After so long without a word it is asked whether the server is there, three times; a peer that has gone without a word is known within half a minute.
const QUIET: Duration = Duration::from_secs(10);
const ASKED_EACH: Duration = Duration::from_secs(5);
const ASKED_TIMES: u32 = 3;

/// Authorities of the system, where no others are named.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Where a database is, and who we are there.
#[derive(Clone)]
pub struct Target {
    /// All but where: that of one host at a time, so that each has its time.
    config: Config,
    hosts: Vec<TargetHost>,
    /// How the connection is kept from others. Over a socket of this machine: not at all, as nobody is between.
    pub(super) tls: Tls,
    /// Whose certificates are believed.
    pub(super) roots: Roots,
    shown: String,
}

/// Where a database may be.
#[derive(Clone)]
struct TargetHost {
    /// A name, an address, or the folder of a socket.
    name: String,
    /// Where it is; `None`: that is looked up by its name.
    address: Option<IpAddr>,
    port: u16,
}

/// Certificates of authorities, in PEM.
#[derive(Clone)]
pub(super) enum Roots {
    /// A file that has them.
    File(PathBuf),
    /// Themselves.
    Text(Arc<[u8]>),
}

impl Target {
    /// Reads an address. TLS that proves who the server is (`sslmode=verify-full`) is used unless all hosts are this machine; `sslrootcert` names a file of
    /// certificates.
    pub fn parse(address: &str) -> Result<Target, Fault> {
        let url = Url::parse(address).map_err(|wrong| match wrong {
            NoUrl::Password => {
                Fault::Address("a password in it would be seen by others: use PGPASSWORD or a file".into())
            }
            NoUrl::Form(text) => Fault::Address(text),
        })?;
        let mut config = common(&url.user, &url.database);
        let (mut tls, mut addresses, mut roots) = (None, Vec::new(), PathBuf::from(SYSTEM_ROOTS));
        for (name, value) in &url.parameters {
            match &**name {
                "sslmode" => tls = Some(word(name, value, &Tls::ALL)?),
                "sslrootcert" => roots = PathBuf::from(value),
                "hostaddr" => addresses = addresses_of(value)?,
                "target_session_attrs" => {
                    config.target_session_attrs(word(name, value, &SESSIONS)?);
                }
                "channel_binding" => {
                    config.channel_binding(word(name, value, &BINDINGS)?);
                }
                other => {
                    return Err(Fault::Address(format!("expected {PARAMETERS} behind `?`, found {other:?}")));
                }
            }
        }
        // Addresses go before the names of their hosts.
        let is_here =
            url.hosts.iter().all(|host| host.is_here()) && addresses.iter().all(IpAddr::is_loopback);
        let usual = if is_here { Tls::Disable } else { Tls::VerifyFull };
        let is_socket = url.hosts.iter().any(|host| host.is_folder());
        let tls = if is_socket { Tls::Disable } else { tls.unwrap_or(usual) };
        config.ssl_mode(mode(tls));
        if !addresses.is_empty() && addresses.len() != url.hosts.len() {
            return Err(Fault::Address("hostaddr: expected an address for each host".into()));
        }
        let shown = url.to_string();
        let hosts = url.hosts.into_iter().enumerate().map(|(at, host)| TargetHost {
            name: host.name,
            address: addresses.get(at).copied(),
            port: host.port,
        });
        Ok(Target { config, hosts: hosts.collect(), tls, roots: Roots::File(roots), shown })
    }

    /// That of a feeder: nobody is asked for addresses, and no file is opened. `roots`: certificates that are believed, in PEM.
    #[must_use]
    pub fn of(network: &Network, roots: &[u8]) -> Target {
        let mut config = common(&network.user, &network.database);
        let (tls, hosts) = match &network.place {
            Place::Tcp(hosts, port) => {
                let host = |host: &Host| TargetHost {
                    name: host.name.clone(),
                    address: Some(host.address),
                    port: *port,
                };
                (network.tls, hosts.iter().map(host).collect())
            }
            Place::Socket(folder, port) => {
                let host = TargetHost { name: folder.clone(), address: None, port: *port };
                (Tls::Disable, vec![host])
            }
        };
        config.ssl_mode(mode(tls));
        if !network.password.0.is_empty() {
            config.password(&network.password.0);
        }
        Target { config, hosts, tls, roots: Roots::Text(roots.into()), shown: network.database.clone() }
    }

    /// How each host is connected to, in their order.
    pub(super) fn each_host(&self) -> impl Iterator<Item = Config> {
        self.hosts.iter().map(|host| {
            let mut config = self.config.clone();
            match host.name.starts_with('/') {
                true => config.host_path(&host.name),
                false => config.host(&host.name),
            };
            if let Some(address) = host.address {
                config.hostaddr(address);
            }
            config.port(host.port);
            config
        })
    }

    /// Whether an address is meant for PostgreSQL.
    #[must_use]
    pub fn is_one(address: &str) -> bool {
        Url::is_one(address)
    }

    /// With a password.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> Target {
        self.config.password(password);
        self
    }
}

/// What may stand behind an address.
const PARAMETERS: &str = "sslmode, sslrootcert, hostaddr, target_session_attrs or channel_binding";

const SESSIONS: [(&str, TargetSessionAttrs); 3] = [
    ("any", TargetSessionAttrs::Any),
    ("read-write", TargetSessionAttrs::ReadWrite),
    ("read-only", TargetSessionAttrs::ReadOnly),
];

const BINDINGS: [(&str, ChannelBinding); 3] = [
    ("disable", ChannelBinding::Disable),
    ("prefer", ChannelBinding::Prefer),
    ("require", ChannelBinding::Require),
];

/// What all connections have.
fn common(user: &str, database: &str) -> Config {
    let mut config = Config::new();
    config.user(user).dbname(database).connect_timeout(CONNECT_MAX).application_name("zonda");
    config.keepalives_idle(QUIET).keepalives_interval(ASKED_EACH).keepalives_retries(ASKED_TIMES);
    // Of one that does not even confirm what was sent nothing is asked.
    config.tcp_user_timeout(QUIET + ASKED_EACH * ASKED_TIMES);
    config
}

fn mode(tls: Tls) -> SslMode {
    match tls {
        Tls::Disable => SslMode::Disable,
        Tls::Prefer => SslMode::Prefer,
        Tls::Require | Tls::VerifyCa | Tls::VerifyFull => SslMode::Require,
    }
}

/// The value that a parameter has a word for.
fn word<T: Copy>(name: &str, value: &str, known: &[(&'static str, T)]) -> Result<T, Fault> {
    let found = known.iter().find(|(word, _)| *word == value).map(|(_, known)| *known);
    let words = || known.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| Fault::Address(format!("{name}: expected one of {}, found {value:?}", words())))
}

fn addresses_of(value: &str) -> Result<Vec<IpAddr>, Fault> {
    let read = value.split(',').map(str::parse).collect::<Result<_, _>>();
    read.map_err(|_| Fault::Address(format!("hostaddr: expected addresses, found {value:?}")))
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
    use feed::address::Password;

    #[test]
    fn who_is_proved_and_what_is_refused() {
        for (address, tls) in [
            ("postgres://me@10.0.0.5,10.0.0.6/dns", Tls::VerifyFull),
            (
                "postgres://me@db.example:5433/dns?sslmode=verify-full&target_session_attrs=read-write",
                Tls::VerifyFull,
            ),
            ("postgres://me@db.example/dns?sslmode=disable", Tls::Disable),
            ("postgres://me@db.example/dns?sslmode=verify-ca", Tls::VerifyCa),
            ("postgres://me@127.0.0.1/dns?sslmode=prefer", Tls::Prefer),
            ("postgresql://me@127.0.0.1/dns", Tls::Disable),
            ("postgres://me@127.0.0.1,10.0.0.5/dns", Tls::VerifyFull),
            ("postgres://me@[::1]:5432/dns", Tls::Disable),
            ("postgres://me@localhost/dns?hostaddr=10.0.0.5", Tls::VerifyFull),
            ("postgres://me@localhost/dns?hostaddr=127.0.0.2", Tls::Disable),
            ("postgres://me@%2Frun%2Fpostgresql/dns?sslmode=verify-full", Tls::Disable),
            ("postgres://me@/dns", Tls::Disable),
        ] {
            let target = Target::parse(address).unwrap();
            assert_eq!(target.tls, tls, "{address}");
            assert_eq!(target.config.get_ssl_mode(), mode(tls), "{address}");
            assert!(Target::is_one(address));
        }
        for (address, word) in [
            ("postgres://me:secret@db.example/dns", "PGPASSWORD"),
            ("postgres://me@db.example/dns?password=secret", "PGPASSWORD"),
            ("postgres://db.example/dns", "USER"),
            ("postgres://me@db.example", "DATABASE"),
            ("postgres://me@db.example/dns?sslmode=allow", "sslmode: expected one of disable, prefer,"),
            ("postgres://me@db.example/dns?hostaddr=db", "hostaddr: expected addresses"),
            ("postgres://me@db.example/dns?hostaddr=10.0.0.5,10.0.0.6", "an address for each host"),
            ("postgres://me@db.example/dns?colour=red", "colour"),
            ("postgres://me@db.example:word/dns", "port"),
        ] {
            let fault = Target::parse(address).map(|_| ()).unwrap_err().to_string();
            assert!(fault.contains(word) && !fault.contains("secret"), "{address}: {fault}");
        }
    }

    /// A feeder goes to addresses, and holds certificates against the names that they were found by.
    #[test]
    fn of_a_feeder() {
        let host = |name: &str, address: &str| Host { name: name.into(), address: address.parse().unwrap() };
        let mut network = Network {
            place: Place::Tcp(vec![host("db.example", "10.0.0.5"), host("db.example", "2001:db8::5")], 5_433),
            user: "me".into(),
            database: "dns".into(),
            password: Password("secret".into()),
            tls: Tls::VerifyFull,
            poll: Duration::ZERO,
            statement_timeout: Duration::ZERO,
        };
        let target = Target::of(&network, b"x");
        let each: Vec<Config> = target.each_host().collect();
        let addresses: Vec<IpAddr> = each.iter().flat_map(|config| config.get_hostaddrs()).copied().collect();
        assert_eq!(addresses, ["10.0.0.5", "2001:db8::5"].map(|text| text.parse::<IpAddr>().unwrap()));
        assert!(each.iter().all(|config| config.get_hosts().len() == 1 && config.get_ports() == [5_433]));
        assert_eq!(target.tls, Tls::VerifyFull);
        network.place = Place::Socket("/run".into(), 5_432);
        let target = Target::of(&network, b"");
        let each: Vec<Config> = target.each_host().collect();
        assert_eq!((target.tls, each.len(), each[0].get_hostaddrs().len()), (Tls::Disable, 1, 0));
    }
}
