//! Signed zones in a model of servers, and a cache that fetches from them what a validation needs.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use auth::inspect::{self, Record};
use auth::{Client, Responder, Server, Transport};
use sim::signer::{Signing, sign};
use sim::{BEGIN_UNIX_SECONDS, Records};
use validate::limits::Work;
use validate::{
    Anchors, Context, Facts, Fault, Fetched, Insecurity, Policy, Response, Security, Standing, Step,
    Validation, Verdict, Verifier,
};
use wire::header::u16_at;
use wire::iana::rtype;
use wire::rrset::{RdataListBuf, RrsetBuf, RrsetListBuf};
use wire::{Name, NameBuf};
use zone::Catalog;

pub const NOW: u64 = BEGIN_UNIX_SECONDS as u64;

pub fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// A response that owns its records, to be changed.
#[derive(Clone, Debug)]
pub struct Reply {
    pub qname: NameBuf,
    pub qtype: u16,
    pub rcode: u16,
    pub answer: Vec<RrsetBuf>,
    pub authority: Vec<RrsetBuf>,
}

impl Reply {
    pub fn sets_mut(&mut self) -> impl Iterator<Item = &mut RrsetBuf> {
        self.answer.iter_mut().chain(&mut self.authority)
    }

    /// The RRset of the answer with this type.
    pub fn answer(&mut self, rtype: u16) -> &mut RrsetBuf {
        self.answer.iter_mut().find(|set| set.rtype == rtype).expect("in the answer")
    }

    fn lists(&self) -> (RrsetListBuf, RrsetListBuf) {
        let list = |sets: &[RrsetBuf]| sets.iter().map(RrsetBuf::rrset).collect();
        (list(&self.answer), list(&self.authority))
    }
}

/// One RRset of `records` for each owner and type, signatures with what they cover; those that cover nothing here are sets of their own.
pub fn rrsets(records: &[Record]) -> Vec<RrsetBuf> {
    let mut sets: Vec<RrsetBuf> = Vec::new();
    for record in records {
        let is_signature = record.rtype == rtype::RRSIG;
        let rtype = if is_signature { u16_at(&record.rdata, 0) } else { record.rtype };
        let place = sets.iter().position(|set| set.rtype == rtype && set.owner.eq_ignore_case(&record.owner));
        let set = match place {
            Some(place) => &mut sets[place],
            None => {
                sets.push(RrsetBuf {
                    owner: record.owner.clone(),
                    rtype,
                    ttl: record.ttl,
                    rdatas: RdataListBuf::new(),
                    signatures: RdataListBuf::new(),
                });
                sets.last_mut().unwrap()
            }
        };
        set.ttl = set.ttl.min(record.ttl);
        if is_signature { set.signatures.push(&record.rdata) } else { set.rdatas.push(&record.rdata) }
    }
    sets
}

/// The servers of one zone.
struct Served {
    apex: NameBuf,
    catalog: Catalog,
}

/// Zones, each with servers of its own; the first is the one with the trust anchor.
pub struct World {
    zones: Vec<Served>,
    pub anchors: Anchors,
    pub policy: Policy,
    pub now: u64,
    /// Remembers nothing, unless a test has it do so.
    pub verifier: RefCell<Verifier>,
    /// What is answered in place of what the servers would say, by name and type.
    pub instead: HashMap<(NameBuf, u16), Option<Reply>>,
}

/// Text that every test zone begins with.
pub const HEAD: &str = "@ 300 SOA ns host 1 2 3 4 60\n@ 300 NS ns\nns 300 A 192.0.2.1\n";

impl World {
    /// Zones given as origin, text beside [`HEAD`], and how they are signed. Parents get NS and DS of those below them. The first one of them has
    /// the trust anchor.
    pub fn new(zones: &[(&str, &str, Option<Signing>)]) -> World {
        let mut records: Vec<_> = zones
            .iter()
            .map(|(apex, text, _)| Records::from_text(apex, &format!("{HEAD}{text}")).unwrap())
            .collect();
        for (child, (apex, _, signing)) in zones.iter().enumerate() {
            let apex = name(apex);
            let above = |records: &Records| apex.is_at_or_below(&records.apex) && records.apex != apex;
            let parent = (0..zones.len()).filter(|&place| above(&records[place]));
            let Some(parent) = parent.max_by_key(|&place| records[place].apex.label_count()) else {
                continue;
            };
            assert_ne!(parent, child);
            let ns = [b"\x02ns", apex.octets()].concat();
            records[parent].push(&apex, rtype::NS, 300, &ns);
            for ds in signing.iter().flat_map(|signing| signing.ds(&apex)) {
                records[parent].push(&apex, rtype::DS, 300, &ds);
            }
        }
        let mut anchors = Anchors::new();
        let first = zones[0].2.as_ref().expect("the first zone is signed");
        first.ds(&name(zones[0].0)).iter().for_each(|ds| anchors.add_ds(&name(zones[0].0), ds));
        let signed = records.iter().zip(zones).map(|(records, (_, _, signing))| match signing {
            Some(signing) => sign(records, signing).unwrap(),
            None => records.clone(),
        });
        let zones = signed.map(|zone| World::serve(&zone)).collect();
        World {
            zones,
            anchors,
            policy: Policy::default(),
            now: NOW,
            verifier: RefCell::new(Verifier::new(0)),
            instead: HashMap::new(),
        }
    }

    /// The zones of a text, with the anchors that are built in.
    pub fn of_text(apex: &str, text: &str, now: u64) -> World {
        let zones = vec![Served { apex: name(apex), catalog: inspect::catalog(&[(apex, text)]).unwrap() }];
        let anchors = Anchors::built_in();
        World {
            zones,
            anchors,
            policy: Policy::default(),
            now,
            verifier: RefCell::new(Verifier::new(0)),
            instead: HashMap::new(),
        }
    }

    fn serve(zone: &Records) -> Served {
        let apex = zone.apex.to_string();
        Served { apex: zone.apex.clone(), catalog: inspect::catalog(&[(&apex, &zone.text())]).unwrap() }
    }

    /// Puts a zone that is served as it is, without anything at its parent.
    pub fn add(&mut self, zone: &Records) {
        self.zones.push(World::serve(zone));
    }

    /// What the servers of `apex` say.
    pub fn ask_at(&self, apex: &str, qname: &str, qtype: u16) -> Reply {
        let served = self.zones.iter().find(|zone| zone.apex == name(apex)).expect("a zone of this world");
        Self::ask_served(served, &name(qname), qtype)
    }

    /// What the servers say that a resolver would end at.
    pub fn ask(&self, qname: &str, qtype: u16) -> Reply {
        self.ask_name(&name(qname), qtype)
    }

    fn ask_name(&self, qname: &Name, qtype: u16) -> Reply {
        let is_above = |apex: &Name| qtype != rtype::DS || !apex.eq_ignore_case(qname);
        let at_or_above = |zone: &&Served| qname.is_at_or_below(&zone.apex) && is_above(&zone.apex);
        let deepest = self.zones.iter().filter(at_or_above).max_by_key(|zone| zone.apex.label_count());
        Self::ask_served(deepest.unwrap_or(&self.zones[0]), qname, qtype)
    }

    fn ask_served(served: &Served, qname: &Name, qtype: u16) -> Reply {
        let query = inspect::query(0, qname, qtype, Some((4096, true)));
        let mut buffer = vec![0; 65_535];
        let mut reader = served.catalog.reader();
        let octets = reader.with(|view| {
            let client = Client::unknown(Transport::Tcp);
            Responder::new().answer(&query, view, &Server::default(), &client, &mut buffer)
        });
        let response = inspect::read(&buffer[..octets]).unwrap();
        let [answer, authority, _] = &response.sections;
        Reply {
            qname: qname.to_owned(),
            qtype,
            rcode: response.rcode,
            answer: if qtype == rtype::RRSIG { rrsigs(answer) } else { rrsets(answer) },
            authority: rrsets(authority),
        }
    }

    /// Asks and validates.
    pub fn resolve(&self, qname: &str, qtype: u16) -> Outcome {
        self.validate(&self.ask(qname, qtype))
    }

    /// Validates with a cache that is empty.
    pub fn validate(&self, reply: &Reply) -> Outcome {
        self.validate_with(reply, &mut Cache::default())
    }

    /// Validates with what a cache has.
    pub fn validate_with(&self, reply: &Reply, cache: &mut Cache) -> Outcome {
        self.drive(reply, cache, Validation::new().explained())
    }

    pub fn drive(&self, reply: &Reply, cache: &mut Cache, mut validation: Validation) -> Outcome {
        let (answer, authority) = reply.lists();
        let response = Response {
            qname: &reply.qname,
            qtype: reply.qtype,
            rcode: reply.rcode,
            answer: answer.list(),
            authority: authority.list(),
        };
        let context = Context { anchors: &self.anchors, policy: &self.policy, now: self.now };
        let mut fetches = Vec::new();
        loop {
            match validation.step(&response, cache, &mut self.verifier.borrow_mut(), &context) {
                Step::Need(need) => {
                    fetches.push(format!("{} {}", need.name, rtype::Text(need.rtype)));
                    assert!(fetches.len() < 200, "no end: {fetches:?}");
                    let reply = match self.instead.get(&(need.name.clone(), need.rtype)) {
                        Some(instead) => instead.clone(),
                        None => Some(self.ask_name(&need.name, need.rtype)),
                    };
                    cache.put(&need.name, need.rtype, reply);
                }
                Step::Done(verdict) => {
                    let trail = validation.trail().iter().map(ToString::to_string).collect();
                    return Outcome { verdict, fetches, trail };
                }
            }
        }
    }
}

fn rrsigs(records: &[Record]) -> Vec<RrsetBuf> {
    let Some(first) = records.first() else { return Vec::new() };
    let rdatas = records.iter().map(|record| &record.rdata[..]).collect();
    let signatures = RdataListBuf::new();
    vec![RrsetBuf { owner: first.owner.clone(), rtype: rtype::RRSIG, ttl: first.ttl, rdatas, signatures }]
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    pub fetches: Vec<String>,
    pub trail: Vec<String>,
}

impl Outcome {
    #[track_caller]
    pub fn secure(&self) -> &Outcome {
        assert_eq!(self.verdict.security, Security::Secure, "{:?} {:#?}", self.verdict.reason, self.trail);
        assert_eq!(self.verdict.reason, None);
        self
    }

    #[track_caller]
    pub fn insecure(&self, why: Insecurity) -> &Outcome {
        assert_eq!(self.verdict.reason, Some(validate::Reason::Insecure(why)), "{:#?}", self.trail);
        assert_eq!(self.verdict.security, Security::Insecure);
        self
    }

    /// Bogus, for a reason and at a place such as `www.example. A`.
    #[track_caller]
    pub fn bogus(&self, fault: Fault, place: &str) -> &Outcome {
        let Some(validate::Reason::Bogus(broken)) = &self.verdict.reason else {
            panic!("not bogus: {:?} {:#?}", self.verdict, self.trail);
        };
        let found = (broken.fault, format!("{} {}", broken.name, rtype::Text(broken.rtype)));
        assert_eq!(found, (fault, place.to_owned()), "{:#?}", self.trail);
        assert_eq!(self.verdict.security, Security::Bogus);
        self
    }

    #[track_caller]
    pub fn fetches(&self, expected: &[&str]) -> &Outcome {
        assert_eq!(self.fetches, expected);
        self
    }

    pub fn work(&self) -> Work {
        self.verdict.work
    }
}

/// What was fetched, and what was kept of zones.
#[derive(Default)]
pub struct Cache {
    fetched: HashMap<(NameBuf, u16), Option<Fetch>>,
    kept: HashMap<NameBuf, (Kept, u64)>,
    /// Zone cuts that delegations told of.
    pub cuts: HashSet<NameBuf>,
    /// Forgets all that it is to keep.
    pub is_forgetful: bool,
}

struct Fetch {
    reply: Reply,
    answer: RrsetListBuf,
    authority: RrsetListBuf,
}

pub enum Kept {
    Secure(RdataListBuf),
    Insecure(Insecurity),
    Bogus(u16, Fault),
}

impl Cache {
    pub fn put(&mut self, name: &Name, rtype: u16, reply: Option<Reply>) {
        let fetch = reply.map(|reply| {
            let (answer, authority) = reply.lists();
            Fetch { reply, answer, authority }
        });
        self.fetched.insert((name.to_lowercase(), rtype), fetch);
    }

    /// What is kept of a zone, and until when.
    pub fn kept(&self, zone: &str) -> Option<(&Kept, u64)> {
        self.kept.get(&name(zone)).map(|(kept, until)| (kept, *until))
    }

    /// Keeps that a zone is bogus, as a resolver does that has no server left.
    pub fn give_up(&mut self, zone: &str, rtype: u16, fault: Fault, until: u64) {
        self.kept.insert(name(zone), (Kept::Bogus(rtype, fault), until));
    }

    pub fn forget_fetched(&mut self) {
        self.fetched.clear();
    }
}

impl Facts for Cache {
    fn standing(&mut self, zone: &Name) -> Option<Standing<'_>> {
        Some(match &self.kept.get(&zone.to_lowercase())?.0 {
            Kept::Secure(keys) => Standing::Secure { keys: keys.list() },
            Kept::Insecure(insecurity) => Standing::Insecure(*insecurity),
            Kept::Bogus(rtype, fault) => Standing::Bogus { rtype: *rtype, fault: *fault },
        })
    }

    fn fetched(&mut self, name: &Name, rtype: u16) -> Fetched<'_> {
        match self.fetched.get(&(name.to_lowercase(), rtype)) {
            None => Fetched::Missing,
            Some(None) => Fetched::Failed,
            Some(Some(fetch)) => Fetched::Response(Response {
                qname: &fetch.reply.qname,
                qtype: fetch.reply.qtype,
                rcode: fetch.reply.rcode,
                answer: fetch.answer.list(),
                authority: fetch.authority.list(),
            }),
        }
    }

    fn next_cut(&mut self, zone: &Name, towards: &Name) -> Option<usize> {
        let is_between = |cut: &&NameBuf| {
            towards.is_at_or_below(cut) && cut.is_at_or_below(zone) && !zone.eq_ignore_case(cut)
        };
        self.cuts.iter().filter(is_between).map(|cut| cut.label_count()).min()
    }

    fn keep(&mut self, zone: &Name, standing: Standing<'_>, until: u64) {
        if self.is_forgetful {
            return;
        }
        let kept = match standing {
            Standing::Secure { keys } => Kept::Secure(keys.iter().collect()),
            Standing::Insecure(insecurity) => Kept::Insecure(insecurity),
            Standing::Bogus { .. } => panic!("never kept by the validation itself"),
        };
        self.kept.insert(zone.to_lowercase(), (kept, until));
    }
}
