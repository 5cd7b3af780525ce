//! What the two servers say to each other, as JSON; descriptors go along.

use std::net::SocketAddr;

use net::{Handed, Listener, Transport};
use serde::{Deserialize, Serialize};

use std::os::fd::OwnedFd;

/// The format of these words. Another one is refused, before anything has changed.
pub(super) const FORMAT: u32 = 5;

/// The oldest that is understood: what was added since is not there in it.
pub(super) const FORMAT_MIN: u32 = 1;

/// Zones without data that the new server names: enough to refuse it.
pub(super) const ABSENT_MAX: usize = 1000;

/// One message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub(super) enum Word {
    /// Old: what goes along with this, and what the new server is to know. Boxed as the others are small.
    Offer(Box<Offer>),
    /// New: it answers queries.
    Ready(Ready),
    /// New: it cannot, for these reasons.
    Failed {
        /// Lines for the operator.
        lines: Vec<String>,
    },
    /// Old: all is yours.
    Take,
    /// New: so it is.
    Taken,
    /// Old: the service manager knows you.
    Named,
}

/// What the old server has.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Offer {
    /// See [`FORMAT`].
    pub(super) format: u32,
    /// Its version.
    pub(super) version: String,
    /// One for each of the first descriptors.
    pub(super) sockets: Vec<SocketLine>,
    /// Of the next descriptor, if there is one.
    pub(super) control: Option<ControlLine>,
    /// Whether the next descriptor is the lock of the pack folder.
    pub(super) has_lock: bool,
    /// Whether the next descriptor is what the resolver has learned, a file; from format 2 on.
    #[serde(default)]
    pub(super) has_cache: bool,
    /// Whether the next descriptor is the lock of the resolver's folder; from format 3 on.
    #[serde(default)]
    pub(super) has_state_lock: bool,
    /// One for each of the next descriptors, which are sockets for HTTP; from format 4 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) http: Vec<SocketLine>,
    /// One for each of the last descriptors, which are sockets for the API; from format 5 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) api: Vec<SocketLine>,
    /// Names and files of zones added by command.
    pub(super) added: Vec<(String, String)>,
    /// Of some of these, by number: the catalog that lists them, and their groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) listed: Vec<(usize, String, Vec<String>)>,
    /// Names of zones of the settings that were removed by command.
    pub(super) removed: Vec<String>,
    /// The secret of cookies that was drawn at the start.
    pub(super) secret: Option<Vec<u8>>,
}

/// A socket for queries, or for HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SocketLine {
    is_tcp: bool,
    address: SocketAddr,
    inherited: bool,
}

/// The control socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ControlLine {
    /// Its file, with device and inode; none where a service manager opened it.
    pub(super) file: Option<(String, u64, u64)>,
}

/// How the new server is.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ready {
    /// Its version.
    pub(super) version: String,
    /// Zones that it has no data of, [`ABSENT_MAX`] at most.
    pub(super) absent: Vec<String>,
    /// Whether it goes on with the control socket that it was given.
    pub(super) keeps_control: bool,
}

/// The lines of sockets, and their descriptors.
pub(super) fn lines(handed: Vec<Handed>) -> (Vec<SocketLine>, Vec<OwnedFd>) {
    let (mut lines, mut descriptors) = (Vec::new(), Vec::new());
    for Handed { listener: Listener { address, transport, inherited }, sockets } in handed {
        let is_tcp = transport == Transport::Tcp;
        lines.extend(sockets.iter().map(|_| SocketLine { is_tcp, address, inherited }));
        descriptors.extend(sockets);
    }
    (lines, descriptors)
}

/// Sockets by address, from lines and as many descriptors.
pub(super) fn grouped(lines: Vec<SocketLine>, descriptors: impl IntoIterator<Item = OwnedFd>) -> Vec<Handed> {
    let mut groups: Vec<(SocketLine, Handed)> = Vec::new();
    for (line, socket) in lines.into_iter().zip(descriptors) {
        match groups.last_mut() {
            Some((last, group)) if *last == line => group.sockets.push(socket),
            _ => {
                let SocketLine { is_tcp, address, inherited } = line;
                let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
                let listener = Listener { address, transport, inherited };
                groups.push((line, Handed { listener, sockets: vec![socket] }));
            }
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
