//! A small resolver (RFC 1034 5.3.3): no cache, no validation, one question after the other to one server after the other. It shows that the
//! model Internet works, and what a scenario comes to without any care.
//!
//! ```text
//! Job (a client's query): stack of Task: [www.example. A] [ns.other. A]     the last one is asked about
//! Task: name, type, zone whose servers are asked, their addresses; what an alias leads to replaces the name
//! ```

use crate::records::{Records, address_of};
use crate::reply::{Asked, Opt, Reply};
use crate::server::DNS_PORT;
use crate::tested::{ClientQuery, Outside, Path, Setup, StreamEvent, StreamId, Tested, Ticket};
use crate::time::{MILLISECOND, Micros, SECOND};
use auth::inspect::Record;
use std::net::{IpAddr, SocketAddr};
use wire::header;
use wire::iana::{class, rcode, rtype};
use wire::{Name, NameBuf};

/// How long a server has to answer.
const PATIENCE: Micros = 250 * MILLISECOND;
/// Questions for one client's query.
const SENT_MAX: usize = 32;
/// How long a client's query may take.
const QUERY_MAX: Micros = 5 * SECOND;
/// Tasks that wait for tasks.
const DEPTH_MAX: usize = 8;
/// Aliases of one query.
const ALIASES_MAX: usize = 10;

/// A resolver that asks one server after the other, and remembers nothing.
pub struct Naive {
    hints: Records,
    jobs: Vec<Job>,
}

struct Job {
    ticket: Ticket,
    query: Reply,
    stack: Vec<Task>,
    /// Aliases on the way.
    answer: Vec<Record>,
    sent: usize,
    end: Micros,
    open: Option<Open>,
}

/// What was asked and not answered yet.
struct Open {
    id: u16,
    way: Way,
    to: SocketAddr,
    deadline: Micros,
}

#[derive(PartialEq)]
enum Way {
    Path(Path),
    Stream(StreamId),
}

struct Task {
    qname: NameBuf,
    qtype: u16,
    zone: NameBuf,
    servers: Vec<IpAddr>,
    /// Which of them is next; they are asked twice.
    next: usize,
    /// Name servers whose addresses are not known.
    unknown: Vec<NameBuf>,
}

impl Naive {
    /// One that begins with these hints; it has no settings.
    pub fn boxed(setup: &Setup) -> Result<Box<dyn Tested>, String> {
        match setup.settings.first() {
            Some(line) => Err(format!("the naive resolver has no setting {line}")),
            None => Ok(Box::new(Naive { hints: setup.hints.clone(), jobs: Vec::new() })),
        }
    }

    fn task(&self, qname: &Name, qtype: u16) -> Task {
        let addresses = self.hints.list.iter().filter_map(|record| address_of(record.rtype, &record.rdata));
        Task {
            qname: qname.to_owned(),
            qtype,
            zone: NameBuf::root(),
            servers: addresses.collect(),
            next: 0,
            unknown: Vec::new(),
        }
    }

    /// Asks the next server of the job's last task, or ends the job.
    fn go_on(&mut self, at: usize, outside: &mut dyn Outside) {
        loop {
            let job = &mut self.jobs[at];
            job.open = None;
            let depth = job.stack.len();
            let Some(task) = job.stack.last_mut() else {
                return self.finish(at, rcode::SERVFAIL, &[], outside);
            };
            if job.sent >= SENT_MAX || outside.time().now >= job.end {
                return self.finish(at, rcode::SERVFAIL, &[], outside);
            }
            if task.next >= 2 * task.servers.len() {
                let Some(server) = task.unknown.pop().filter(|_| depth < DEPTH_MAX) else {
                    job.stack.pop();
                    continue;
                };
                let task = self.task(&server, rtype::A);
                self.jobs[at].stack.push(task);
                continue;
            }
            let to = SocketAddr::new(task.servers[task.next % task.servers.len()], DNS_PORT);
            task.next += 1;
            let id = outside.random() as u16;
            let Ok(path) = outside.send(to, &question(id, &task.qname, task.qtype)) else { continue };
            job.sent += 1;
            job.open = Some(Open { id, way: Way::Path(path), to, deadline: outside.time().now + PATIENCE });
            return;
        }
    }

    fn finish(&mut self, at: usize, rcode: u16, records: &[Record], outside: &mut dyn Outside) {
        let job = self.jobs.swap_remove(at);
        let mut reply = Reply::to(&job.query, rcode);
        reply.flags |= header::RA;
        reply.sections[0] = job.answer;
        reply.sections[0].extend_from_slice(records);
        outside.reply(job.ticket, &reply.octets_within(65_535));
    }

    fn arrived(&mut self, way: &Way, from: SocketAddr, octets: &[u8], outside: &mut dyn Outside) {
        let Ok(reply) = Reply::read(octets) else { return };
        let is_for = |job: &Job| {
            let asked = job.stack.last().map(|task| (&*task.qname, task.qtype));
            let said = reply.question.as_ref().map(|asked| (&*asked.qname, asked.qtype));
            let open = job.open.as_ref();
            open.is_some_and(|open| open.way == *way && open.id == reply.id && open.to == from)
                && reply.flags & header::QR != 0
                && asked.zip(said).is_some_and(|(a, b)| a.0.eq_ignore_case(b.0) && a.1 == b.1)
        };
        let Some(at) = self.jobs.iter().position(is_for) else { return };
        if let Way::Path(path) = way {
            outside.settle(*path);
        }
        if reply.flags & header::TC != 0 {
            return self.over_stream(at, from, outside);
        }
        if let Way::Stream(stream) = way {
            outside.close(*stream);
        }
        match reply.rcode {
            rcode::NOERROR | rcode::NXDOMAIN => self.understand(at, &reply, outside),
            _ => self.go_on(at, outside),
        }
    }

    fn over_stream(&mut self, at: usize, to: SocketAddr, outside: &mut dyn Outside) {
        let job = &mut self.jobs[at];
        let (Some(task), Ok(stream)) = (job.stack.last(), outside.connect(to)) else {
            return self.go_on(at, outside);
        };
        let id = outside.random() as u16;
        if outside.write(stream, &question(id, &task.qname, task.qtype)).is_err() {
            return self.go_on(at, outside);
        }
        job.sent += 1;
        let deadline = outside.time().now + 4 * PATIENCE;
        job.open = Some(Open { id, way: Way::Stream(stream), to, deadline });
    }

    /// RFC 1034 5.3.3 step 4.
    fn understand(&mut self, at: usize, reply: &Reply, outside: &mut dyn Outside) {
        let job = &mut self.jobs[at];
        let is_last = job.stack.len() == 1;
        let Some(task) = job.stack.last_mut() else { return };
        let [answer, authority, additional] = &reply.sections;
        let mut name = task.qname.clone();
        let mut chain = Vec::new();
        while let Some(alias) =
            answer.iter().find(|one| one.rtype == rtype::CNAME && one.owner.eq_ignore_case(&name))
            && task.qtype != rtype::CNAME
            && chain.len() <= ALIASES_MAX
        {
            chain.push(alias.clone());
            name = Name::from_wire(&alias.rdata).map_or_else(|_| NameBuf::root(), Name::to_owned);
        }
        let is_data = |one: &&Record| one.owner.eq_ignore_case(&name) && one.rtype == task.qtype;
        let data: Vec<Record> = answer.iter().filter(is_data).cloned().collect();
        let is_alias = !chain.is_empty();
        let qtype = task.qtype;
        if is_last {
            job.answer.extend(chain);
        }
        if is_alias && data.is_empty() {
            if job.answer.len() > ALIASES_MAX {
                return self.finish(at, rcode::SERVFAIL, &[], outside);
            }
            let task = self.task(&name, qtype);
            let stack = &mut self.jobs[at].stack;
            stack.pop();
            stack.push(task);
            return self.go_on(at, outside);
        }
        let cut = authority.iter().find(|one| {
            one.rtype == rtype::NS
                && one.owner.label_count() > task.zone.label_count()
                && one.owner.is_at_or_below(&task.zone)
                && task.qname.is_at_or_below(&one.owner)
        });
        if let (Some(cut), true) = (cut, data.is_empty()) {
            let names =
                authority.iter().filter(|one| one.rtype == rtype::NS && one.owner.eq_ignore_case(&cut.owner));
            task.unknown =
                names.filter_map(|one| Name::from_wire(&one.rdata).ok()).map(Name::to_owned).collect();
            let of_zone = additional.iter().filter(|one| one.owner.is_at_or_below(&task.zone));
            let of_servers =
                of_zone.filter(|one| task.unknown.iter().any(|name| name.eq_ignore_case(&one.owner)));
            task.servers = of_servers.filter_map(|one| address_of(one.rtype, &one.rdata)).collect();
            (task.zone, task.next) = (cut.owner.clone(), 0);
            return self.go_on(at, outside);
        }
        if data.is_empty() && reply.rcode == rcode::NOERROR && reply.flags & header::AA == 0 {
            return self.go_on(at, outside); // a referral that leads nowhere: lame
        }
        if is_last {
            return self.finish(at, reply.rcode, &data, outside);
        }
        // An address of a name server, for the task that waits for it.
        job.stack.pop();
        let addresses = data.iter().filter_map(|one| address_of(one.rtype, &one.rdata));
        if let Some(task) = job.stack.last_mut() {
            (task.servers, task.next) = (addresses.collect(), 0);
        }
        self.go_on(at, outside);
    }
}

impl Tested for Naive {
    fn query(&mut self, query: &ClientQuery<'_>, outside: &mut dyn Outside) {
        let Ok(read) = Reply::read(query.octets) else { return };
        let Some(asked) = read.question.clone() else { return };
        let stack = vec![self.task(&asked.qname, asked.qtype)];
        self.jobs.push(Job {
            ticket: query.ticket,
            query: read,
            stack,
            answer: Vec::new(),
            sent: 0,
            end: outside.time().now + QUERY_MAX,
            open: None,
        });
        self.go_on(self.jobs.len() - 1, outside);
    }

    fn datagram(&mut self, path: Path, from: SocketAddr, octets: &[u8], outside: &mut dyn Outside) {
        self.arrived(&Way::Path(path), from, octets, outside);
    }

    fn stream(&mut self, stream: StreamId, event: StreamEvent<'_>, outside: &mut dyn Outside) {
        let way = Way::Stream(stream);
        let of_it = |job: &Job| job.open.as_ref().is_some_and(|open| open.way == way);
        let Some(at) = self.jobs.iter().position(of_it) else { return };
        match event {
            StreamEvent::Connected => {}
            StreamEvent::Message(octets) => {
                let Some(from) = self.jobs[at].open.as_ref().map(|open| open.to) else { return };
                self.arrived(&way, from, octets, outside);
            }
            StreamEvent::Closed(_) => self.go_on(at, outside),
        }
    }

    fn tick(&mut self, outside: &mut dyn Outside) {
        let now = outside.time().now;
        let is_late = |job: &Job| job.open.as_ref().is_none_or(|open| open.deadline <= now);
        if let Some(at) = self.jobs.iter().position(is_late) {
            match self.jobs[at].open.as_ref().map(|open| &open.way) {
                Some(Way::Path(path)) => outside.settle(*path),
                Some(Way::Stream(stream)) => outside.close(*stream),
                None => {}
            }
            self.go_on(at, outside);
        }
    }

    fn deadline(&self) -> Option<Micros> {
        self.jobs.iter().map(|job| job.open.as_ref().map_or(0, |open| open.deadline)).min()
    }

    fn command(&mut self, words: &str, _outside: &mut dyn Outside) -> Result<String, String> {
        Err(format!("the naive resolver does not know {words}"))
    }

    fn store(&mut self, _time: crate::time::Time) -> Option<Vec<u8>> {
        None
    }

    fn counter(&self, _name: &str) -> Option<u64> {
        None
    }

    fn open_count(&self) -> usize {
        self.jobs.len()
    }
}

fn question(id: u16, qname: &Name, qtype: u16) -> Vec<u8> {
    let question = Some(Asked { qname: qname.to_owned(), qtype, qclass: class::IN });
    let opt = Some(Opt { payload_octets: 1232, ..Opt::default() });
    Reply { id, question, opt, ..Reply::default() }.octets()
}
