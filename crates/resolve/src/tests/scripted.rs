//! A scripted Internet: zones in a few lines of text, servers that answer from them, and what each does wrong as a closure.
//!
//! Small on purpose: it judges the resolver by other code than the product's own authoritative side, which crate `sim` uses.

mod net;
mod records;
mod zone;

use std::net::{IpAddr, SocketAddr};

use wire::Name;
use wire::iana::rtype;

use self::net::{Happening, Net, Server};
pub use self::records::{Question, Record, Response, forged, name};
pub use self::zone::Zone;
use crate::outcome::{Ask, From, Outcome, Waiter};
use crate::resolver::{Refused, Resolver};
use crate::settings::Settings;
use crate::world::{Closed, Path, Received, StreamEvent};

/// When the scene begins, in seconds since 1970.
pub const WALL: u64 = 1_785_000_000;

/// The resolver and its world.
pub struct Scene {
    pub net: Net,
    pub resolver: Resolver,
    waiters: u64,
}

/// An address of the scene: `192.0.2.N`, or `2001:db8::N` above 255.
pub fn address(number: u16) -> SocketAddr {
    match u8::try_from(number) {
        Ok(number) => SocketAddr::from(([192, 0, 9, number], 53)),
        Err(_) => SocketAddr::from(([0x2001, 0x1db8, 0, 0, 0, 0, 0, number], 53)),
    }
}

impl Scene {
    /// A root at `address(1)`, and no validation.
    pub fn new(root: &str) -> Scene {
        Scene::with(root, |_| ())
    }

    pub fn with(root: &str, change: impl FnOnce(&mut Settings)) -> Scene {
        let mut settings =
            Settings { hints: vec![address(1).ip()], is_validating: false, ..Settings::default() };
        settings.not_servers.clear();
        change(&mut settings);
        let mut scene = Scene { net: Net::new(), resolver: Resolver::new(settings, 1), waiters: 0 };
        let root = format!(". 518400 NS a.root.\na.root. 518400 A {}\n{root}", address(1).ip());
        scene.serve(1, &[(".", &root)]);
        scene
    }

    /// A server at an address, with zones.
    pub fn serve(&mut self, number: u16, zones: &[(&str, &str)]) {
        self.serve_so(number, zones, |_, response| Some(response));
    }

    /// A server with zones that are made elsewhere, of which what it would say is changed.
    pub fn serve_zones(
        &mut self,
        number: u16,
        zones: Vec<Zone>,
        behaviour: impl FnMut(&Question, Response) -> Option<Response> + 'static,
    ) {
        let server =
            Server { zones, behaviour: Box::new(behaviour), has_tcp: true, delay_ms: 10, seen: Vec::new() };
        self.net.servers.insert(address(number), server);
    }

    /// The same, of which what it would say is changed.
    pub fn serve_so(
        &mut self,
        number: u16,
        zones: &[(&str, &str)],
        behaviour: impl FnMut(&Question, Response) -> Option<Response> + 'static,
    ) {
        let zones = zones.iter().map(|(apex, text)| Zone::from_text(apex, text)).collect();
        self.serve_zones(number, zones, behaviour);
    }

    pub fn server(&mut self, number: u16) -> &mut Server {
        self.net.servers.get_mut(&address(number)).unwrap()
    }

    /// Questions that a server got.
    pub fn seen(&self, number: u16) -> usize {
        self.net.servers[&address(number)].seen.len()
    }

    /// Asks; the answer is among those that are done, at once or later.
    pub fn ask(&mut self, text: &str, kind: u16) -> Result<Waiter, Refused> {
        self.ask_as(text, kind, From::Cache, 1)
    }

    pub fn ask_as(&mut self, text: &str, kind: u16, from: From, client: u64) -> Result<Waiter, Refused> {
        self.waiters += 1;
        let waiter = Waiter(self.waiters);
        let name = name(text).to_lowercase();
        let ask = Ask { name: &name, rtype: kind, checking_disabled: false, from, client: Some(client) };
        self.resolver.ask(&ask, Some(waiter), &mut self.net)?;
        Ok(waiter)
    }

    /// What happens next, and when; `false`: nothing will.
    pub fn step(&mut self, until: u64) -> bool {
        let next = self.net.queue.keys().next().map(|key| key.0);
        let due = self.resolver.deadline().map(|moment| moment.0);
        let Some(at) = [next, due].into_iter().flatten().min().filter(|at| *at <= until) else {
            return false;
        };
        self.net.now = self.net.now.max(at);
        if next.is_some_and(|next| next <= at) {
            let (_, happening) = self.net.queue.pop_first().unwrap();
            self.happen(happening);
        } else {
            self.resolver.tick(&mut self.net);
        }
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Datagram(path, from, octets) => {
                let received = Received { path, from, octets: &octets, is_cut: false };
                self.resolver.datagram(&received, &mut self.net);
            }
            Happening::Unsent(unsent) => self.resolver.unsent(&unsent, &mut self.net),
            Happening::Stream(stream, _, false) => {
                if self.net.streams.remove(&stream).is_some() {
                    self.resolver.stream(stream, StreamEvent::Closed(Closed::Broken), &mut self.net);
                }
            }
            Happening::Stream(stream, None, true) => {
                self.resolver.stream(stream, StreamEvent::Connected, &mut self.net);
            }
            Happening::Stream(stream, Some(octets), true) => {
                if self.net.streams.contains_key(&stream) {
                    self.resolver.stream(stream, StreamEvent::Message(&octets), &mut self.net);
                }
            }
        }
    }

    /// The way that the newest datagram went.
    pub fn last_path(&self) -> Path {
        self.net.last_path.unwrap()
    }

    /// A datagram from anybody.
    pub fn forge(&mut self, path: Path, from: SocketAddr, octets: Vec<u8>) {
        self.net.put(1, Happening::Datagram(path, from, octets));
    }

    /// Lets so many milliseconds pass.
    pub fn pass(&mut self, ms: u64) {
        let until = self.net.now + ms;
        for _ in 0..1_000_000 {
            if !self.step(until) {
                self.net.now = until;
                return;
            }
        }
        panic!("it goes round in circles");
    }

    /// Asks and waits for the answer. Nothing is left open after.
    pub fn resolve(&mut self, text: &str, kind: u16) -> Outcome {
        let waiter = self.ask(text, kind).unwrap();
        self.outcome(waiter)
    }

    /// Waits for an answer.
    pub fn outcome(&mut self, waiter: Waiter) -> Outcome {
        let until = self.net.now + 40_000;
        for _ in 0..1_000_000 {
            if let Some(at) = self.net.done.iter().position(|(done, _)| *done == waiter) {
                return self.net.done.remove(at).1;
            }
            assert!(self.step(until), "no answer: {:?}", self.resolver.requests().collect::<Vec<_>>());
        }
        panic!("it goes round in circles");
    }

    /// All is over, and nothing is held.
    pub fn check_nothing_held(&mut self) {
        self.pass(60_000);
        assert_eq!(self.resolver.held(), [0; 5]);
        assert_eq!((self.net.open_paths, self.resolver.deadline()), (0, None));
    }
}

/// The answer as `owner TYPE data` lines, addresses only as text.
pub fn lines(outcome: &Outcome) -> Vec<String> {
    let sets = outcome.answer.list().iter();
    sets.flat_map(|set| {
        set.rdatas.iter().map(move |rdata| {
            let text = match set.rtype {
                rtype::A => IpAddr::from(<[u8; 4]>::try_from(rdata).unwrap()).to_string(),
                rtype::CNAME | rtype::NS | rtype::DNAME => Name::from_wire(rdata).unwrap().to_string(),
                _ => String::new(),
            };
            format!("{} {} {text}", set.owner, rtype::Text(set.rtype))
        })
    })
    .collect()
}
