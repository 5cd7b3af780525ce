//! Where a store is, as the server tells its feeder, which opens no file for that and asks nobody for addresses.
//!
//! ```text
//! 0 | path                                                                   a file of SQLite
//! 1 | hosts u8, each: name, family u8 (4, 6), address | port u16             PostgreSQL over TCP
//! 2 | folder of the socket | port u16                                        the same over a socket of this machine
//!     1 and 2, then: user | database | password | TLS u8 | poll u32 ms | statements u32 ms
//! text       octets u16, big endian | UTF-8
//! ```
//!
//! The certificates that are believed come before it, in pieces ([`crate::frame::Frame::Roots`]). Nothing of this is logged by either side: it has the password, of which `Debug` shows nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::frame::{Rest, WORDS_OCTETS_MAX};

/// Addresses of a database: some hosts, each with some addresses.
pub const HOSTS_MAX: usize = 16;
/// Octets of the name of a host, a user, a database, and the folder of a socket: those of a name in DNS, and more than PostgreSQL has for the others (63) and the kernel for a socket (107).
pub const NAME_OCTETS_MAX: usize = 255;
/// Octets of a password: what stands in place of one, such as tokens of clouds, has some thousand.
pub const PASSWORD_OCTETS_MAX: usize = 4_096;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file of SQLite: its path.
    File(String),
    /// A database of PostgreSQL.
    Postgres(Network),
}

/// A database that is not a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Where it listens.
    pub place: Place,
    /// As whom.
    pub user: String,
    /// Which of its databases.
    pub database: String,
    /// Empty: none.
    pub password: Password,
    /// How the connection is kept from others.
    pub tls: Tls,
    /// From look to look, while something comes.
    pub poll: Duration,
    /// How long a statement may take.
    pub statement_timeout: Duration,
}

/// Where a database listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At these addresses, tried in this order, each at this port: one, as the feeder may connect to no other.
    Tcp(Vec<Host>, u16),
    /// At the socket of this port in a folder.
    Socket(String, u16),
}

/// An address, and by which name it was found: what a certificate has to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As the settings have it; an address where they have that.
    pub name: String,
    /// Where it is.
    pub address: IpAddr,
}

/// A password, which is shown nowhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "..." })
    }
}

/// How a connection is kept from others, in the words of `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Disable,
    /// By TLS, if the database speaks it: against nobody who can change what is sent.
    Prefer,
    /// By TLS with whoever is there.
    Require,
    /// With one whose certificate is of the authorities, whatever its name.
    VerifyCa,
    /// With the one of that name.
    VerifyFull,
}

impl Tls {
    /// All, with their words.
    pub const ALL: [(&'static str, Tls); 5] = [
        ("disable", Tls::Disable),
        ("prefer", Tls::Prefer),
        ("require", Tls::Require),
        ("verify-ca", Tls::VerifyCa),
        ("verify-full", Tls::VerifyFull),
    ];

    /// The mode with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Tls> {
        Tls::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, tls)| tls)
    }

    /// Whether certificates are looked at.
    #[must_use]
    pub fn verifies(self) -> bool {
        matches!(self, Tls::VerifyCa | Tls::VerifyFull)
    }

    fn number(self) -> u8 {
        self as u8
    }

    fn of_number(number: u8) -> Option<Tls> {
        Tls::ALL.get(usize::from(number)).map(|(_, tls)| *tls)
    }
}

impl Address {
    /// Appends its octets. What is longer than may be is cut off, and does not lead to the database then: who says it has looked at that.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Address::File(path) => {
                out.push(0);
                put_text(out, path, WORDS_OCTETS_MAX);
            }
            Address::Postgres(network) => network.write(out),
        }
    }

    pub(crate) fn read(rest: &mut Rest<'_>) -> Option<Address> {
        match rest.octets::<1>()? {
            [0] => Some(Address::File(rest.text(WORDS_OCTETS_MAX)?)),
            [1] => {
                let [count] = rest.octets()?;
                let count = Some(usize::from(count)).filter(|count| (1..=HOSTS_MAX).contains(count))?;
                let hosts = (0..count).map(|_| Host::read(rest)).collect::<Option<_>>()?;
                let port = rest.octets().map(u16::from_be_bytes)?;
                Some(Address::Postgres(Network::read(Place::Tcp(hosts, port), rest)?))
            }
            [2] => {
                let folder = rest.text(NAME_OCTETS_MAX)?;
                let port = rest.octets().map(u16::from_be_bytes)?;
                Some(Address::Postgres(Network::read(Place::Socket(folder, port), rest)?))
            }
            _ => None,
        }
    }
}

impl Network {
    fn write(&self, out: &mut Vec<u8>) {
        match &self.place {
            Place::Tcp(hosts, port) => {
                let hosts = &hosts[..hosts.len().min(HOSTS_MAX)];
                out.extend([1, hosts.len() as u8]);
                hosts.iter().for_each(|host| host.write(out));
                out.extend(port.to_be_bytes());
            }
            Place::Socket(folder, port) => {
                out.push(2);
                put_text(out, folder, NAME_OCTETS_MAX);
                out.extend(port.to_be_bytes());
            }
        }
        put_text(out, &self.user, NAME_OCTETS_MAX);
        put_text(out, &self.database, NAME_OCTETS_MAX);
        put_text(out, &self.password.0, PASSWORD_OCTETS_MAX);
        out.push(self.tls.number());
        for time in [self.poll, self.statement_timeout] {
            out.extend(u32::try_from(time.as_millis()).unwrap_or(u32::MAX).to_be_bytes());
        }
    }

    fn read(place: Place, rest: &mut Rest<'_>) -> Option<Network> {
        let user = rest.text(NAME_OCTETS_MAX)?;
        let database = rest.text(NAME_OCTETS_MAX)?;
        let password = Password(rest.text(PASSWORD_OCTETS_MAX)?);
        let [tls] = rest.octets()?;
        let tls = Tls::of_number(tls)?;
        let mut time = || rest.number().map(|millis| Duration::from_millis(millis.into()));
        let (poll, statement_timeout) = (time()?, time()?);
        Some(Network { place, user, database, password, tls, poll, statement_timeout })
    }
}

impl Host {
    fn write(&self, out: &mut Vec<u8>) {
        put_text(out, &self.name, NAME_OCTETS_MAX);
        match self.address {
            IpAddr::V4(address) => {
                out.push(4);
                out.extend(address.octets());
            }
            IpAddr::V6(address) => {
                out.push(6);
                out.extend(address.octets());
            }
        }
    }

    fn read(rest: &mut Rest<'_>) -> Option<Host> {
        let name = rest.text(NAME_OCTETS_MAX)?;
        let address = match rest.octets::<1>()? {
            [4] => IpAddr::V4(Ipv4Addr::from(rest.octets::<4>()?)),
            [6] => IpAddr::V6(Ipv6Addr::from(rest.octets::<16>()?)),
            _ => return None,
        };
        Some(Host { name, address })
    }
}

/// As much of a text as may be, with its length before it.
fn put_text(out: &mut Vec<u8>, text: &str, octets_max: usize) {
    let text = &text.as_bytes()[..text.floor_char_boundary(octets_max)];
    out.extend((text.len() as u16).to_be_bytes());
    out.extend(text);
}
