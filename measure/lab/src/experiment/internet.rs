//! A model Internet for resolvers: real names, a root, TLDs, zones and servers made of them (`zonda-bench gen internet`), served by several programs behind
//! round trips.
//!
//! ```text
//! resolver ----- 198.18.0.N -- link --> zonda: the root
//!          ----- 198.18.1.N -- link --> nsd: TLDs
//!          ----- 198.18.2.N -- link --> knotd: zones of half of the hosters     198.18.3.N -- link --> nsd: of the other half
//!          ----- 198.18.4.N -- link --> zonda: zones with servers of their own
//! ```
//!
//! Which server is in which group is such that no program has a zone and one below it: a referral is never answered by the child. A program that is not
//! installed is replaced by Zonda.

use std::{fs, net::Ipv4Addr, path::PathBuf, time::Duration};

use super::{Lab, Subject};
use crate::{
    Error,
    bed::{
        RECEIVE_OCTETS,
        link::{Link, Way},
    },
    contender::{Anchor, Bounds, EchoOptions, Job, Role, Root, Server},
    data::{InternetWanted, Store, Zones},
    error, process,
    recipe::Name,
};

/// Who serves each group: what it has, in results, and which program.
const GROUPS: [(&str, Name); 5] = [
    ("root", Name::Zonda),
    ("TLDs", Name::Nsd),
    ("hosters", Name::Knot),
    ("more hosters", Name::Nsd),
    ("own servers", Name::Zonda),
];
/// The first server of the root that is generated.
const ROOT_SERVER: &str = "a.root-servers.net.";
/// How often a server that was started is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// The servers and the way to them, while they run.
pub struct Internet {
    /// Where resolvers ask: counts, names that are lost, cuts.
    pub link: Link,
    /// The programs, by group; none of one that was ended.
    pub servers: Vec<Option<Server>>,
    /// Its files: `names` and `questions` can be asked.
    pub folder: PathBuf,
    root: Root,
    anchor: Option<Anchor>,
}

impl Internet {
    /// Makes it, unless it was made before, and starts it on the generator's cores.
    pub fn start(lab: &mut Lab, wanted: &InternetWanted, round_trip: Duration) -> Result<Internet, Error> {
        let work = lab.folder("generator")?;
        let store = Store { folder: &lab.data, work: &work, bench: &lab.programs.bench, stop: &lab.stop };
        let folder = store.internet(wanted, lab.bed.internet())?;
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(error::file(&path, "read"))
        };
        let groups: Vec<Vec<Ipv4Addr>> = read("groups")?.lines().map(addresses).collect();
        let root = groups.first().and_then(|addresses| addresses.first().copied());
        let root = root.ok_or(Error::Output { program: "gen internet", wanted: "an address of the root" })?;
        let anchor = Anchor::from_text(&read("anchor")?);
        lab.bed.take(groups.iter().flatten().copied())?;
        let (mut servers, mut ways) = (Vec::new(), Vec::new());
        for (number, ((label, name), addresses)) in GROUPS.into_iter().zip(groups).enumerate() {
            let zones = read(&format!("group-{number}"))?;
            let zones = zones.lines().filter_map(|line| line.split_once(' '));
            let list = zones.map(|(apex, file)| (apex.to_owned(), folder.join("zones").join(file)));
            let server =
                lab.start_hidden(name, label, &Zones { list: list.collect(), ..Zones::default() })?;
            ways.push(Way { label: label.to_owned(), addresses, server: server.address });
            servers.push(Some(server));
        }
        let link = Link::start(&lab.bed.load(), ways, round_trip)?;
        Ok(Internet { link, servers, folder, root: Root { server: ROOT_SERVER, address: root }, anchor })
    }

    /// The role of a resolver that knows its root, and validates with its key if it is to and there is one.
    pub fn role(&self, validates: bool) -> Role {
        Role::Resolver { root: self.root, anchor: self.anchor.filter(|_| validates) }
    }

    /// What a resolver serves: nothing. It is there when it tells the servers of the root.
    pub fn nothing() -> Zones {
        let probe = bench::query::Query {
            name: wire::NameBuf::root(),
            rtype: wire::iana::rtype::NS,
            edns: None,
            rd: true,
            cd: false,
        };
        Zones { probe: Some(probe), ..Zones::default() }
    }

    /// Ends all servers, as a loss of power would.
    pub fn kill(&mut self) {
        for mut server in self.servers.iter_mut().filter_map(Option::take) {
            server.process.kill();
        }
    }
}

impl Lab {
    /// Starts a resolver with nothing in its cache and waits until it has found the root.
    pub fn start_resolver(&mut self, subject: &Subject) -> Result<Server, Error> {
        self.start(subject, &Internet::nothing())
    }

    /// Starts an authoritative server that nobody asks but a link, with one worker on the generator's cores.
    fn start_hidden(&mut self, name: Name, label: &str, zones: &Zones) -> Result<Server, Error> {
        let name = match name.program() {
            Some(program) if process::find(program).is_none() => {
                self.note(format!("{label}: {} is missing ({program}), served by zonda", name.text()));
                Name::Zonda
            }
            _ => name,
        };
        let folder = self.work.join(format!("servers-of-{}", label.replace(' ', "-")));
        let job = Job {
            zones,
            folder: &folder,
            address: self.bed.hidden_address()?,
            workers: 1,
            receive_octets: RECEIVE_OCTETS,
            programs: &self.programs,
            source: None,
            echo: &EchoOptions::default(),
            role: Role::Static,
            bounds: Bounds::default(),
            under: &[],
        };
        let mut server = name.start(&job, &self.bed.load())?;
        server.wait(&self.bed, &zones.question(), self.effort.load_seconds, ASK_EVERY, &self.stop)?;
        Ok(server)
    }
}

/// The addresses of a line of `groups`, which begins with the number of the group.
fn addresses(line: &str) -> Vec<Ipv4Addr> {
    line.split(' ').skip(1).filter_map(|word| word.parse().ok()).collect()
}
