//! What attacks cost Zonda and other resolvers: queries to servers and processor time for each question of a client.
//!
//! ```text
//! tests/scenario/resolver/attack/CLASS.scn --example `attack` of crate sim--> its servers on sockets, 198.51.100.N and 192.0.2.N, which count
//! a resolver that knows nothing, 127.0.0.N <- the file's single questions, then those of its floods, 2 ms apart -- until nobody is asked any more
//! ```
//!
//! The same files run in virtual time with bounds (`cargo test -p sim --test resolver`); here the bound is what the best of the others needs.

mod resolvers;

use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zonda_tests::exchange::udp_within;
use zonda_tests::message::{Query, flag};
use zonda_tests::patience::await_some;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, attack_program};
use zonda_tests::zone::repository;

use super::internet::{enter, leave};
use crate::kit::{folder, text};
use resolvers::{Kind, Running, start};

/// Where the servers say what they were asked.
const CONTROL: &str = "127.0.0.100:5300";
/// Between two questions: a flood that no resolver has to drop any of.
const PACE: Duration = Duration::from_millis(2);
/// The longest that a class may go on for after its last question.
const PATIENCE: Duration = Duration::from_secs(25);
/// When nobody was asked for so long, it is over: longer than the time-outs of resolvers ...
const QUIET: Duration = Duration::from_secs(4);
/// ... and where all clients have their answers, what still goes on does so at once.
const QUIET_ANSWERED: Duration = Duration::from_millis(800);

/// What a class cost a resolver.
struct Cost {
    kind: Kind,
    questions: usize,
    answered: Answered,
    /// What servers were asked.
    queries: u64,
    /// Of all threads of the resolver, in user space and in the system.
    processor: Duration,
}

/// Answers that came.
#[derive(Clone, Copy, Debug, Default)]
struct Answered {
    all: usize,
    /// Those that say what there is: NOERROR, NXDOMAIN.
    found: usize,
}

impl Answered {
    fn take(&mut self, socket: &UdpSocket) {
        let mut room = [0; 4096];
        while socket.recv(&mut room).is_ok() {
            self.all += 1;
            self.found += usize::from(matches!(room[3] & 0xf, 0 | 3));
        }
    }
}

impl Cost {
    fn queries_each(&self) -> f64 {
        self.queries as f64 / self.questions as f64
    }

    fn micros_each(&self) -> f64 {
        self.processor.as_secs_f64() * 1e6 / self.questions as f64
    }
}

/// The servers of a class, and files about them.
struct Servers {
    process: Guarded,
    files: TempDir,
}

impl Servers {
    fn start(class: &str) -> Servers {
        let files = folder(&[]);
        let scenario = repository().join(format!("tests/scenario/resolver/attack/{class}.scn"));
        let mut command = Command::new(attack_program());
        command.args([text(&scenario), text(files.path()), CONTROL]);
        let servers = Servers { process: Guarded::spawn(command, files.path()), files };
        await_some(
            || servers.read("log"),
            || {
                assert!(servers.process.is_running(), "{}", servers.read("log"));
                servers.try_count()
            },
        );
        servers
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.files.path().join(name)).unwrap_or_default()
    }

    fn try_count(&self) -> Option<u64> {
        let control = CONTROL.parse().expect("an address");
        let said = udp_within(control, b"?", Duration::from_millis(500)).ok().flatten()?;
        let said = String::from_utf8(said).ok()?;
        said.lines().map(|line| line.split(' ').next().and_then(|count| count.parse::<u64>().ok())).sum()
    }

    fn count(&self) -> u64 {
        await_some(|| "the counts".to_owned(), || self.try_count())
    }

    /// The questions of a file, each not before its time.
    fn questions(&self, file: &str) -> Vec<(Duration, Query)> {
        let query = |(number, line): (u16, &str)| {
            let [millis, name, qtype] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let qtype = rtype::number(qtype).expect("a type");
            let query = Query::new(name, qtype).flags(flag::RD).edns(1232).id(number);
            (Duration::from_millis(millis.parse().expect("a number")), query)
        };
        (0..).zip(self.read(file).lines()).map(query).collect()
    }
}

/// Runs a class against a resolver that has just been started.
fn cost(class: &str, kind: Kind) -> Cost {
    let servers = Servers::start(class);
    let resolver = start(kind, servers.files.path());
    let to: SocketAddr = kind.address().parse().expect("an address");
    for (_, query) in servers.questions("first") {
        drop(udp_within(to, &query.octets(), Duration::from_secs(5)));
    }
    let questions = servers.questions("questions");
    let (queries, processor) = (servers.count(), processor_time(&resolver));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(to).expect("a way");
    socket.set_nonblocking(true).expect("a mode");
    let mut answered = Answered::default();
    let begin = Instant::now();
    for (earliest, query) in &questions {
        std::thread::sleep(earliest.saturating_sub(begin.elapsed()));
        // Whatever is lost is counted as not answered.
        drop(socket.send(&query.octets()));
        answered.take(&socket);
        std::thread::sleep(PACE);
    }
    let (begin, mut last, mut since) = (Instant::now(), servers.count(), Instant::now());
    while begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
        answered.take(&socket);
        let quiet = if answered.all == questions.len() { QUIET_ANSWERED } else { QUIET };
        if since.elapsed() > quiet {
            break;
        }
        let count = servers.count();
        if count != last {
            (last, since) = (count, Instant::now());
        }
    }
    let processor = processor_time(&resolver).saturating_sub(processor);
    Cost { kind, questions: questions.len(), answered, queries: last - queries, processor }
}

/// What all threads of a program have used; the system counts nanoseconds.
fn processor_time(resolver: &Running) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", resolver.pid())).expect("a process");
    let of_task = |path: &Path| {
        let text = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
    };
    Duration::from_nanos(tasks.flatten().map(|task| of_task(&task.path())).sum())
}

/// Removed with all that is in it.
struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        leave(&self.0);
    }
}

/// Runs classes against resolvers in a namespace of their own; returns what each cost, and a table of it.
fn costs(classes: &[&str], kinds: &[Kind]) -> Option<Vec<Vec<Cost>>> {
    let run = || {
        let mut addresses: Vec<String> = (1..=20).map(|last| format!("198.51.100.{last}")).collect();
        addresses.extend((1..=9).map(|last| format!("192.0.2.{last}")));
        addresses.extend((2..=9).map(|last| format!("127.0.0.{last}")));
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        let _namespace = Namespace(enter(&addresses)?);
        let costs: Vec<Vec<Cost>> = classes
            .iter()
            .map(|class| {
                let row: Vec<Cost> = kinds.iter().map(|kind| cost(class, *kind)).collect();
                eprintln!("{}", line(class, &row));
                row
            })
            .collect();
        Some(costs)
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(costs) => costs,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// A class in a line: queries, microseconds of processor time, share answered, and share found, of each resolver.
fn line(class: &str, row: &[Cost]) -> String {
    let mut line = format!("{class:18}");
    for cost in row {
        let share = |count: usize| 100 * count / cost.questions.max(1);
        let (answered, found) = (share(cost.answered.all), share(cost.answered.found));
        let (queries, micros) = (cost.queries_each(), cost.micros_each());
        let _ =
            write!(line, " | {} {queries:6.2} q {micros:5.0} us {answered:3} {found:3} %", cost.kind.label());
    }
    line
}

/// All classes; what is to be the same or less than with the best of the others, in queries for each question.
const CLASSES: [&str; 27] = [
    "nxns",
    "nxns-hundred",
    "nxns-few",
    "servfail-without-edns",
    "idns",
    "nr-delegation",
    "nr-delegation-hundred",
    "tsuname",
    "camp",
    "camp-maze",
    "alias-chain",
    "endless-referrals",
    "self-referral",
    "keytrap",
    "keytrap-answers",
    "hashtrap",
    "bogus",
    "nsec3-encloser",
    "nsec3-iterations",
    "random-unsigned",
    "random-nsec",
    "random-nsec3",
    "truncated",
    "truncated-no-tcp",
    "silent",
    "lame",
    "large-sets",
];

/// How many queries a question more than the best of the others are within what chance does (retransmissions, which server is asked first).
const CHANCE: f64 = 0.25;

#[track_caller]
fn check(classes: &[&str], kinds: &[Kind]) {
    let Some(costs) = costs(classes, kinds) else { return };
    let mut more = Vec::new();
    for (class, row) in classes.iter().zip(&costs) {
        let [zonda, peers @ ..] = &row[..] else { continue };
        let best = peers.iter().map(Cost::queries_each).fold(f64::INFINITY, f64::min);
        if zonda.queries_each() > best * 1.05 + CHANCE {
            more.push(line(class, row));
        }
    }
    assert!(more.is_empty(), "more queries than another resolver needs:\n{}", more.join("\n"));
}

#[test]
fn three_classes_beside_others() {
    check(&["nxns", "camp", "tsuname"], &[Kind::Zonda, Kind::Unbound, Kind::Named]);
}

mod long {
    use super::{CLASSES, Kind, check};

    #[test]
    #[ignore = "ten minutes"]
    fn all_classes() {
        let wanted = std::env::var("ZONDA_ATTACK").unwrap_or_default();
        let classes: Vec<&str> = CLASSES.into_iter().filter(|class| class.contains(&wanted)).collect();
        check(&classes, &Kind::installed());
    }
}
