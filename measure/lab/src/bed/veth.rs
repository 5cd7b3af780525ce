//! Two network namespaces joined by a veth pair.
//!
//! Their names carry the number of the process that made them: those of a process that no longer lives are removed by
//! the next run, with the servers in them.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    path::PathBuf,
    process::{self, Command},
};

use rustix::process::Signal;

use crate::{
    Error,
    process::{find, is_alive, signal},
};

/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The generator's address.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The same of IPv6, of a prefix for documentation (RFC 3849).
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 1);
/// See [`SERVER_V6`].
const CLIENT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 2);
/// Further addresses at the generator's end: of authoritative servers that resolvers ask.
pub const UPSTREAMS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 3), Ipv4Addr::new(10, 77, 0, 4)];
/// Beginning of the names.
const PREFIX: &str = "zonda-lab-";
/// Where `ip` keeps the handles of namespaces.
const HANDLES: &str = "/run/netns";

/// Both ends; removed when dropped.
pub struct Pair {
    /// The server's.
    pub server: Namespace,
    /// The generator's.
    pub client: Namespace,
    /// Whether both have addresses of IPv6, which a kernel may be without.
    pub has_ipv6: bool,
}

/// A namespace; removed when dropped.
pub struct Namespace {
    /// As `ip` knows it.
    pub(super) name: String,
}

impl Namespace {
    fn make(end: &str) -> Result<Namespace, Error> {
        let name = format!("{PREFIX}{}-{end}", process::id());
        ip(&format!("netns add {name}"))?;
        Ok(Namespace { name })
    }

    /// Its handle, to enter it.
    pub fn handle(&self) -> PathBuf {
        PathBuf::from(HANDLES).join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&format!("netns delete {}", self.name));
    }
}

impl Pair {
    /// Makes both and joins them. Addresses of the link layer are fixed in the tables of both ends, so that nothing is
    /// asked for while measuring.
    pub fn make() -> Result<Pair, Error> {
        if find("ip").is_none() {
            let program = "ip".to_owned();
            return Err(Error::Missing { program, remedy: "install iproute2, or use --bed loopback" });
        }
        remove_left();
        let (server, client) = (Namespace::make("s")?, Namespace::make("c")?);
        ip(&format!(
            "link add veth-s netns {} address 02:00:00:00:00:01 type veth peer name veth-c netns {} address \
             02:00:00:00:00:02",
            server.name, client.name
        ))?;
        for (name, link, own, other, number) in
            [(&server.name, "veth-s", SERVER, CLIENT, 2), (&client.name, "veth-c", CLIENT, SERVER, 1)]
        {
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} address add {own}/24 dev {link}"))?;
            ip(&format!("-n {name} link set {link} up"))?;
            ip(&format!(
                "-n {name} neighbour replace {other} lladdr 02:00:00:00:00:0{number} dev {link} nud permanent"
            ))?;
        }
        for other in UPSTREAMS {
            ip(&format!("-n {} address add {other}/24 dev veth-c", client.name))?;
            ip(&format!(
                "-n {} neighbour replace {other} lladdr 02:00:00:00:00:02 dev veth-s nud permanent",
                server.name
            ))?;
        }
        let has_ipv6 = add_ipv6(&server.name, &client.name).is_ok();
        Ok(Pair { server, client, has_ipv6 })
    }
}

/// Gives both ends addresses of IPv6, which count at once: nobody else can have them.
fn add_ipv6(server: &str, client: &str) -> Result<(), Error> {
    for (name, link, own, other, number) in
        [(server, "veth-s", SERVER_V6, CLIENT_V6, 2), (client, "veth-c", CLIENT_V6, SERVER_V6, 1)]
    {
        ip(&format!("-n {name} address add {own}/64 dev {link} nodad"))?;
        ip(&format!(
            "-n {name} neighbour replace {other} lladdr 02:00:00:00:00:0{number} dev {link} nud permanent"
        ))?;
    }
    Ok(())
}

impl Pair {
    /// Gives the generator's end more addresses, all of the /15 that begins with `network`, and leads the server's end there. Those that it has
    /// already stay.
    pub fn take(&self, addresses: impl Iterator<Item = Ipv4Addr>, network: Ipv4Addr) -> Result<(), Error> {
        let (server, client) = (&self.server.name, &self.client.name);
        for address in addresses {
            ip(&format!("-n {client} address replace {address}/32 dev lo"))?;
        }
        ip(&format!("-n {server} route replace {network}/15 via {CLIENT} dev veth-s")).map(drop)
    }
}

impl Pair {
    /// Has each end receive on its own cores (`rps_cpus`). Without it the kernel hands a packet over on the core that sent it, and
    /// a fast server's queries would be received at the generator's cost.
    pub fn steer(&self, server: &[usize], load: &[usize]) -> Result<String, Error> {
        let ends = [(&self.server.name, "veth-s", server), (&self.client.name, "veth-c", load)];
        for (name, link, cores) in ends {
            let mask = core_mask(cores);
            // In a mount of its own, as /sys shows the devices of the namespace that it was mounted in.
            let script = format!(
                "for queue in /sys/class/net/{link}/queues/rx-*; do echo {mask} > $queue/rps_cpus || exit 1; done"
            );
            ip_with(&["netns", "exec", name, "sh", "-c", &script])?;
        }
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        Ok(format!(
            "each end on its own cores (rps_cpus): servers {}, generator {}",
            list(server),
            list(load)
        ))
    }
}

/// Cores as the kernel reads them: hexadecimal, groups of 32 bits with commas between them, the highest first.
pub(super) fn core_mask(cores: &[usize]) -> String {
    let most = cores.iter().copied().max().unwrap_or(0);
    let group = |at: usize| {
        let bits =
            cores.iter().filter(|&&core| core / 32 == at).fold(0u32, |bits, core| bits | 1 << (core % 32));
        format!("{bits:08x}")
    };
    (0..=most / 32).rev().map(group).collect::<Vec<_>>().join(",")
}

/// Removes what runs that were killed left behind.
fn remove_left() {
    let Ok(list) = ip("netns list") else { return };
    for name in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
        if pid.is_none_or(is_alive) {
            continue;
        }
        for left in ip(&format!("netns pids {name}")).unwrap_or_default().lines() {
            if let Ok(left) = left.trim().parse() {
                signal(left, Signal::KILL);
            }
        }
        let _ = ip(&format!("netns delete {name}"));
    }
}

/// Runs `ip`; words have no spaces in them.
pub(super) fn ip(words: &str) -> Result<String, Error> {
    ip_with(&words.split_whitespace().collect::<Vec<_>>())
}

/// The same with words that may have spaces in them.
pub(super) fn ip_with(words: &[&str]) -> Result<String, Error> {
    let command = format!("ip {}", words.join(" "));
    let fault = |said: String| Error::Namespaces { command: command.clone(), said };
    let program = find("ip").unwrap_or_else(|| "ip".into());
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|cause| fault(cause.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(fault(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        assert_eq!(core_mask(&[0]), "00000001");
        assert_eq!(core_mask(&[1, 3]), "0000000a");
        assert_eq!(core_mask(&[0, 33, 63]), "80000002,00000001");
    }
}
