//! What can go wrong in a tool of the benchmark kit, each with what an operator needs to mend it.

use std::{fmt, io, net::SocketAddr, path::PathBuf};

/// Why a command stopped. Every variant names the file, line, address or option at fault.
#[derive(Debug)]
pub enum Error {
    /// A file or folder could not be read, written or made.
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write`, `create`.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// A line of a text file is not what its format asks for.
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// A zone file that cannot be read; the report names it.
    Zone {
        /// All that is wrong with it.
        report: Box<zonefile::Report>,
    },
    /// A zone file that does not hold what makes it one.
    NoZone {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        problem: ZoneProblem,
    },
    /// A capture is damaged or of a kind this tool does not read.
    Capture {
        /// The capture.
        path: PathBuf,
        /// Octets read before the fault.
        offset: u64,
        /// What is wrong there.
        problem: CaptureProblem,
    },
    /// A socket call failed.
    Socket {
        /// The address it was about.
        address: SocketAddr,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The server never answered and the system says nobody listens there.
    Refused {
        /// The address asked.
        address: SocketAddr,
    },
    /// Nothing ever came back from the server.
    Silent {
        /// The address asked.
        address: SocketAddr,
        /// Queries sent.
        queries: u64,
        /// For how long.
        seconds: f64,
    },
    /// No packet reaches the server.
    Unreachable {
        /// The address asked.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// A system call that concerns neither a file nor an address.
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The system has no io_uring, an old one, or forbids it.
    IoUring {
        /// What the system said.
        cause: io::Error,
    },
    /// A process that this one started failed.
    Process {
        /// Which, counted from 0.
        process: usize,
        /// Its own account, or how it ended.
        account: String,
    },
    /// A file holds nothing of what was looked for.
    Empty {
        /// The file.
        path: PathBuf,
        /// What was looked for: `queries`, `names`, `sizes`.
        wanted: &'static str,
    },
    /// A TSIG key that cannot be used.
    Key {
        /// The file, or the option that holds the key itself.
        place: String,
        /// What is wrong with it.
        problem: KeyProblem,
    },
    /// Generators on several hosts cannot work together.
    Join {
        /// The end at fault.
        end: String,
        /// What is wrong with it.
        problem: crate::join::Problem,
    },
    /// Somebody wants the work to end.
    Interrupted,
    /// Options whose values cannot be met.
    Option {
        /// The option.
        option: &'static str,
        /// The rule its value breaks.
        rule: &'static str,
    },
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineProblem {
    /// The line lacks a field: the second of a query, or of a size table.
    MissingField,
    /// A field that is not a domain name.
    Name(wire::name::NameError),
    /// An RR type that is neither a mnemonic nor `TYPEnnn`.
    UnknownType,
    /// A word after the type that is none of the flags of the format.
    UnknownFlag,
    /// A number that does not parse or is out of range.
    BadNumber,
    /// A field that is no response code.
    BadCode,
    /// More fields than the format has.
    TooManyFields,
    /// The line is longer than the reader takes.
    TooLong,
    /// A word that begins no line of an update file.
    UpdateCommand,
    /// A key in an update file.
    KeyCommand,
    /// Where to send updates is no address, or a second one.
    Server,
    /// A class other than IN.
    Class,
    /// A record is added without a TTL.
    NoTtl,
    /// Updates before any zone.
    NoZone,
    /// An owner name outside the zone.
    NotInZone,
    /// More than a line or a file may hold.
    TooMany,
    /// An update message that fits no TCP message.
    LongMessage,
    /// An update message that should not go as a datagram.
    LongForDatagram,
    /// A name that cannot stand in a path and in JSON as it is.
    NotPlain,
}

/// What a zone file lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneProblem {
    /// No SOA, so that nobody knows the apex.
    NoSoa,
    /// Fewer names than were to be deleted and added.
    TooFewNames,
}

/// What is wrong with a TSIG key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// Neither a `key` statement nor three parts with colons.
    Form,
    /// The name is no domain name.
    Name(wire::name::NameError),
    /// An algorithm that is not known.
    Algorithm,
    /// A secret that is not base64, or empty.
    Secret,
}

/// What is wrong with a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureProblem {
    /// Neither pcap nor pcapng, or a damaged header.
    NotACapture,
    /// A block that ends before its length says, or has an impossible length.
    Truncated,
    /// No link layer this tool reads (Ethernet, raw IP, loopback, Linux cooked, FDDI).
    UnknownLink,
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineProblem::MissingField => f.write_str("a field is missing"),
            LineProblem::Name(error) => write!(f, "bad name: {error}"),
            LineProblem::UnknownType => {
                f.write_str("unknown RR type: expected a mnemonic such as AAAA, or TYPE65280")
            }
            LineProblem::UnknownFlag => {
                f.write_str("unknown word after the type: expected edns, do, edns=SIZE, do=SIZE, cookie, rd or cd")
            }
            LineProblem::BadNumber => f.write_str("bad number"),
            LineProblem::BadCode => f.write_str("unknown response code: expected one such as NXDOMAIN, or -"),
            LineProblem::TooManyFields => f.write_str("more fields than expected"),
            LineProblem::TooLong => f.write_str("line too long"),
            LineProblem::UpdateCommand => f.write_str(
                "expected server, zone, class, ttl, prereq (yxdomain, nxdomain, yxrrset, nxrrset), update (add, delete) \
                 or send",
            ),
            LineProblem::KeyCommand => f.write_str("keys are given with --tsig"),
            LineProblem::Server => {
                f.write_str("expected an IP address and a port, the same in the whole file")
            }
            LineProblem::Class => f.write_str("expected the class IN"),
            LineProblem::NoTtl => f.write_str("no TTL: expected one after the name, or a line `ttl` before"),
            LineProblem::NoZone => f.write_str("no zone: expected a line `zone` before"),
            LineProblem::NotInZone => f.write_str("the name is not in the zone"),
            LineProblem::TooMany => f.write_str("more than is allowed here"),
            LineProblem::LongMessage => f.write_str("the message is longer than 64 KiB: send before"),
            LineProblem::LongForDatagram => f.write_str(
                "the message sent here is too long for a datagram: use --update-tcp, or send more often",
            ),
            LineProblem::NotPlain => {
                f.write_str("expected a domain name of letters, digits, hyphens and underscores")
            }
        }
    }
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyProblem::Form => f.write_str(
                "expected key \"NAME\" { algorithm ALGORITHM; secret \"BASE64\"; }; or NAME:ALGORITHM:BASE64",
            ),
            KeyProblem::Name(error) => write!(f, "bad name of the key: {error}"),
            KeyProblem::Algorithm => {
                f.write_str("unknown algorithm: expected hmac-sha256, hmac-sha384, hmac-sha512 or hmac-sha1")
            }
            KeyProblem::Secret => f.write_str("the secret is not base64"),
        }
    }
}

impl fmt::Display for CaptureProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CaptureProblem::NotACapture => {
                "neither pcap nor pcapng (compressed? pipe it through xz -dc or zstd -dc)"
            }
            CaptureProblem::Truncated => "a block is damaged or the file ends inside it",
            CaptureProblem::UnknownLink => {
                "unknown link layer: expected Ethernet, raw IP, loopback, Linux cooked or FDDI"
            }
        })
    }
}

impl fmt::Display for ZoneProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ZoneProblem::NoSoa => "no SOA record: is it a whole zone?",
            ZoneProblem::TooFewNames => {
                "no name that could be deleted is left: ask for fewer updates, or for more additions (--add)"
            }
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, action, cause } => write!(f, "cannot {action} {}: {cause}", path.display()),
            Error::Line { path, line, problem } => write!(f, "{}:{line}: {problem}", path.display()),
            Error::Zone { report } => write!(f, "{report}"),
            Error::NoZone { path, problem } => write!(f, "{}: {problem}", path.display()),
            Error::Capture { path, offset, problem } => {
                write!(f, "{}: after {offset} octets: {problem}", path.display())
            }
            Error::Socket { address, action, cause } => write!(f, "cannot {action} {address}: {cause}"),
            Error::Refused { address } => {
                write!(f, "no answer from {address}: connection refused; does a server listen there?")
            }
            Error::Silent { address, queries, seconds } => write!(
                f,
                "no answer from {address}: {queries} queries in {seconds:.1} s and not one reply; is that the \
                 server's address and port, does it serve this client, does a firewall drop packets? (A server \
                 slower than that needs a longer --timeout-ms.)"
            ),
            Error::Unreachable { address, cause } => {
                write!(
                    f,
                    "cannot reach {address}: {cause}; is the address right, and is there a route to it? \
                 (ip route get {})",
                    address.ip()
                )
            }
            Error::System { action, cause } => write!(f, "cannot {action}: {cause}"),
            Error::IoUring { cause } => write!(
                f,
                "cannot use io_uring: {cause}; it needs Linux 6.1 and a system that allows it (sysctl \
                 kernel.io_uring_disabled, rules of the container): take another --model, such as mmsg"
            ),
            Error::Process { process, account } => write!(f, "process {process}: {account}"),
            Error::Empty { path, wanted } => write!(f, "{}: holds no {wanted}", path.display()),
            Error::Key { place, problem } => write!(f, "{place}: {problem}"),
            Error::Join { end, problem } => write!(f, "{end} {problem}"),
            Error::Interrupted => f.write_str("ended by a signal before anything was measured"),
            Error::Option { option, rule } => write!(f, "{option}: {rule}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { cause, .. }
            | Error::Socket { cause, .. }
            | Error::System { cause, .. }
            | Error::Unreachable { cause, .. }
            | Error::IoUring { cause } => Some(cause),
            _ => None,
        }
    }
}

impl Error {
    /// The error of a socket call about a server: one of its own where no packet gets there.
    pub(crate) fn unreachable(address: SocketAddr, action: &'static str, cause: io::Error) -> Error {
        use io::ErrorKind::{HostUnreachable, NetworkUnreachable, PermissionDenied, TimedOut};
        match cause.kind() {
            HostUnreachable | NetworkUnreachable | PermissionDenied | TimedOut => {
                Error::Unreachable { address, cause }
            }
            _ => Error::Socket { address, action, cause },
        }
    }
}

/// Short form for the many places where a file call fails.
pub(crate) fn file(path: &std::path::Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |cause| Error::File { path: path.to_owned(), action, cause }
}
