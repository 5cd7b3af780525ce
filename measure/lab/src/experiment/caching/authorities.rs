//! The authoritative servers that resolvers ask: server 2 of the paper (the root and the parent), and server 1 (all others).
//!
//! Both are this project's server: it takes and sends trains of datagrams, and its counters say how many queries arrived.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr},
    os::unix::net::UnixStream,
    time::Duration,
};

use serde_json::Value;

use super::{super::Lab, spare_cores};
use crate::{
    Error,
    bed::{DNS_PORT, RECEIVE_OCTETS},
    contender::{Bounds, EchoOptions, Job, Role, Server},
    data::{CachingBed, Zones},
    place::Place,
    recipe::Name,
};

/// Most threads of each: four answer the misses of dozens of resolver threads.
const WORKERS_MAX: usize = 4;
/// How often one that was started is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// How long it may take to tell its counts.
const TELL_WITHIN: Duration = Duration::from_secs(10);

/// Both servers, while they run.
pub struct Authorities {
    /// Has the root and the parent.
    pub parent: Server,
    /// Has the zones that are asked for.
    pub children: Server,
    /// Where both run.
    pub cores: Vec<usize>,
}

/// Queries that arrived since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// At the server of the parent.
    pub parent: u64,
    /// At that of the children.
    pub children: u64,
}

impl Arrived {
    /// Those since `before`.
    pub fn since(self, before: Arrived) -> Arrived {
        Arrived {
            parent: self.parent.saturating_sub(before.parent),
            children: self.children.saturating_sub(before.children),
        }
    }

    /// Both numbers together.
    pub fn add(&mut self, more: Arrived) {
        self.parent += more.parent;
        self.children += more.children;
    }
}

impl Authorities {
    /// Starts both beside resolvers with so many workers, and waits until they answer.
    pub fn start(
        lab: &mut Lab,
        bed: &CachingBed,
        [parent, children]: [Ipv4Addr; 2],
        workers: usize,
    ) -> Result<Authorities, Error> {
        let cores = spare_cores(lab, workers);
        let is_shared = cores.iter().any(|core| lab.load_cores.contains(core));
        lab.note(match is_shared {
            true => "the authoritative servers share a core with the generator, for all contenders alike"
                .to_owned(),
            false => format!("the authoritative servers run on cores of their own: {cores:?}"),
        });
        let place = lab.bed.load().on(&cores);
        let threads = cores.len().min(WORKERS_MAX);
        let parent = one(lab, "parent", &bed.parent, parent, threads, &place)?;
        let children = one(lab, "children", &bed.children, children, threads, &place)?;
        Ok(Authorities { parent, children, cores })
    }

    /// What they have counted so far.
    pub fn arrived(&self, lab: &Lab) -> Result<Arrived, Error> {
        Ok(Arrived { parent: counted(lab, &self.parent)?, children: counted(lab, &self.children)? })
    }

    /// Processor time of both so far, in seconds.
    pub fn cpu(&self) -> f64 {
        self.parent.process.cpu_fine() + self.children.process.cpu_fine()
    }
}

/// Starts a server of ours with some zones, and waits until it answers.
pub fn one(
    lab: &Lab,
    label: &str,
    zones: &Zones,
    ip: Ipv4Addr,
    workers: usize,
    place: &Place,
) -> Result<Server, Error> {
    let job = Job {
        zones,
        folder: &lab.work.join(format!("server-of-{label}")),
        address: SocketAddr::from((ip, DNS_PORT)),
        workers,
        receive_octets: RECEIVE_OCTETS,
        programs: &lab.programs,
        source: None,
        echo: &EchoOptions::default(),
        role: Role::Static,
        bounds: Bounds::default(),
        under: &[],
    };
    let mut server = Name::Zonda.start(&job, place)?;
    server.wait(&lab.bed, &zones.question(), lab.effort.load_seconds, ASK_EVERY, &lab.stop)?;
    Ok(server)
}

/// Queries that a server has counted. Asked over its control socket, as `zonda ctl stats` does: there are four such questions a trial, and starting a program for
/// each took longer than they do.
pub fn counted(lab: &Lab, server: &Server) -> Result<u64, Error> {
    lab.go_on()?;
    let system = |cause| Error::System { action: "ask a server for its counts", cause };
    let mut stream = UnixStream::connect(server.folder.join("control.sock")).map_err(system)?;
    stream.set_read_timeout(Some(TELL_WITHIN)).map_err(system)?;
    stream.write_all(b"{\"command\":\"stats\"}\n").map_err(system)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(system)?;
    let missing = Error::Output { program: "zonda", wanted: "how many queries arrived" };
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|said| queries(&said))
        .ok_or(missing)
}

/// The count named `queries`, wherever in the answer it is.
fn queries(stats: &Value) -> Option<u64> {
    match stats {
        Value::Object(fields) if fields.get("name").is_some_and(|name| name == "queries") => {
            fields.get("count")?.as_u64()
        }
        Value::Object(fields) => fields.values().find_map(queries),
        Value::Array(all) => all.iter().find_map(queries),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_count_is_found() {
        let stats = json!({ "stats": { "uptime": 1, "answers": [
            { "name": "types", "count": 3 }, { "name": "queries", "count": 7, "help": "" },
        ] } });
        assert_eq!(queries(&stats), Some(7));
        assert_eq!(queries(&json!({ "queries": 7 })), None);
    }

    #[test]
    fn what_came_since() {
        let [before, after] = [(3, 10), (5, 30)].map(|(parent, children)| Arrived { parent, children });
        let mut sum = after.since(before);
        assert_eq!(sum, Arrived { parent: 2, children: 20 });
        sum.add(after);
        assert_eq!(sum, Arrived { parent: 7, children: 50 });
        assert_eq!(before.since(after), Arrived::default(), "a server that was started anew");
    }
}
