#![allow(clippy::unwrap_used)]

use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    time::Duration,
};

use super::{
    Problem,
    channel::{Channel, Kind, Role},
    coordinator::Coordinator,
    trial::{decode_trial, encode_outcome},
};
use crate::{
    load::{Outcome, Pace, Trial},
    query::{Query, QuerySet},
    search::{Limits, Verdict, staircase},
};

const WAIT: Duration = Duration::from_secs(5);

/// Both ends with their secrets.
fn greet(secrets: [&'static [u8]; 2]) -> [Result<Channel, Problem>; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let agent = std::thread::spawn(move || {
        Channel::open(TcpStream::connect(address).unwrap(), Role::Agent, secrets[0])
    });
    let coordinator = Channel::open(listener.accept().unwrap().0, Role::Coordinator, secrets[1]);
    [agent.join().unwrap(), coordinator]
}

#[test]
fn frames_go_both_ways() {
    let [agent, coordinator] = greet([b"secret"; 2]);
    let (mut agent, mut coordinator) = (agent.unwrap(), coordinator.unwrap());
    for number in 0..3u8 {
        coordinator.send(Kind::Job, &vec![number; 100_000]).unwrap();
        assert_eq!(agent.receive(WAIT).unwrap(), (Kind::Job, vec![number; 100_000]));
        agent.send(Kind::Alive, &[]).unwrap();
        assert_eq!(coordinator.expect(Kind::Alive, WAIT).unwrap(), b"");
    }
    agent.send(Kind::Fault, b"no room").unwrap();
    assert_eq!(coordinator.receive(WAIT).unwrap_err(), Problem::Said("no room".to_owned()));
    agent.send(Kind::Alive, &[]).unwrap();
    assert_eq!(coordinator.expect(Kind::Outcome, WAIT).unwrap_err(), Problem::Frame);
    assert_eq!(coordinator.receive(Duration::from_millis(20)).unwrap_err(), Problem::Silent);
    drop(agent);
    assert_eq!(coordinator.receive(WAIT).unwrap_err(), Problem::Closed);
}

#[test]
fn secrets_must_be_the_same() {
    let [agent, coordinator] = greet([b"secret", b"another"]);
    assert_eq!(agent.err(), Some(Problem::Secret));
    assert_eq!(coordinator.err(), Some(Problem::Secret));
}

#[test]
fn strangers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for (said, problem) in
        [(&b"GET / HTTP/1.1\r\n\r\n"[..], Problem::Version), (b"zonda-bench/jn.2", Problem::Closed)]
    {
        let mut stranger = TcpStream::connect(address).unwrap();
        stranger.write_all(said).unwrap();
        stranger.shutdown(std::net::Shutdown::Write).unwrap();
        let result = Channel::open(listener.accept().unwrap().0, Role::Coordinator, b"secret");
        assert_eq!(result.err(), Some(problem));
    }
}

/// Passes octets on from one to the other, one of them changed.
fn relay_with_damage(at: usize) -> Result<(Kind, Vec<u8>), Problem> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, entry) = (listener.local_addr().unwrap(), front.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut agent, mut coordinator) = (front.accept().unwrap().0, TcpStream::connect(address).unwrap());
        let (mut back_from, mut back_to) = (coordinator.try_clone().unwrap(), agent.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        // Of the agent: hello 48, proof 32, then the frame.
        let mut octets = [0; 80 + 4 + 1 + 5 + 32];
        let read = |octets: &mut [u8], from: &mut TcpStream| std::io::Read::read_exact(from, octets).is_ok();
        if read(&mut octets[..48], &mut agent) && coordinator.write_all(&octets[..48]).is_ok() {
            let _ = read(&mut octets[48..], &mut agent);
            octets[80 + at] ^= 1;
            let _ = coordinator.write_all(&octets[48..]);
        }
    });
    let agent = std::thread::spawn(move || {
        let mut agent = Channel::open(TcpStream::connect(entry).unwrap(), Role::Agent, b"secret").unwrap();
        agent.send(Kind::Alive, b"hello").unwrap();
    });
    let stream = listener.accept().unwrap().0;
    let result = Channel::open(stream, Role::Coordinator, b"secret").unwrap().receive(WAIT);
    agent.join().unwrap();
    result
}

#[test]
fn changed_frames_are_refused() {
    for at in 4..4 + 1 + 5 + 32 {
        assert_eq!(relay_with_damage(at), Err(Problem::Frame), "{at}");
    }
    assert!(relay_with_damage(3).is_err(), "the length");
    assert_eq!(relay_with_damage(0), Err(Problem::Frame), "16 MiB");
}

/// An agent that asks nobody: `bring` says what each trial brings. Returns how many there were.
fn made_up_agent(stream: TcpStream, bring: impl Fn(u64, &Trial) -> Outcome) -> u64 {
    let mut channel = Channel::open(stream, Role::Agent, b"secret").unwrap();
    channel.expect(Kind::Job, WAIT).unwrap();
    while channel.receive(WAIT).unwrap().0 != Kind::Ready {}
    channel.send(Kind::Ready, &[]).unwrap();
    let mut count = 0;
    loop {
        match channel.receive(WAIT).unwrap() {
            (Kind::Ping, payload) => channel.send(Kind::Ping, &payload).unwrap(),
            (Kind::Trial, payload) => {
                let outcome = bring(count, &decode_trial(&payload).unwrap().0);
                channel.send(Kind::Outcome, &encode_outcome(&outcome)).unwrap();
                count += 1;
            }
            (Kind::End, _) => return count,
            (kind, _) => assert_eq!(kind, Kind::Alive),
        }
    }
}

#[test]
fn trials_disturbed_at_one_agent_are_repeated() {
    // Each of two agents sends half of the queries, of which the server takes 500 a second. Every other trial the
    // machine of the second agent stands still for a while, and a tenth of its queries is lost.
    let bring = |disturbed: bool| {
        move |_, trial: &Trial| {
            let Pace::Open { rate } = trial.pace else { panic!("{trial:?}") };
            let sent = (rate * trial.seconds / 2.0) as u64;
            let lost = sent.saturating_sub((500.0 * trial.seconds) as u64);
            let lost = if disturbed { lost.max(sent / 10 + 1) } else { lost };
            let (planned, received, seconds) = (sent, sent - lost.min(sent), trial.seconds);
            let stolen_share = if disturbed { 0.05 } else { 0.0 };
            Outcome {
                planned,
                sent,
                received,
                seconds,
                planned_seconds: seconds,
                finished_seconds: seconds,
                stolen_share,
                ..Outcome::default()
            }
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let agents = [1, 2].map(|odd| {
        std::thread::spawn(move || {
            let stream = TcpStream::connect(address).unwrap();
            made_up_agent(stream, |number, trial| bring(number % 2 == odd)(number, trial))
        })
    });
    let mut coordinator =
        Coordinator::gather(&listener, b"secret", 2, WAIT, std::sync::Arc::default(), |_| {}).unwrap();
    let mut queries = QuerySet::default();
    let mut packet = Vec::new();
    Query::from_line(b"a.example. A").unwrap().unwrap().write(&mut packet);
    assert!(queries.push_packet(&packet, None));
    coordinator.hand_out(&[], &queries, None).unwrap();
    let plan = staircase::Plan {
        trial_seconds: 1.0,
        trials: 12,
        step: 0.02,
        rate_start: 300.0,
        first_step: 1.0,
        limits: Limits::default(),
    };
    let run =
        |rate, seconds| coordinator.run(Trial { pace: Pace::Open { rate }, seconds, queries_max: u64::MAX });
    let found = staircase::walk(&plan, run, |_| {}).unwrap();
    assert!((970.0..=1030.0).contains(&found.rate), "{}", found.rate);
    let disturbed = |step: &&crate::search::Step| step.verdict == Verdict::Disturbed;
    assert!(found.steps.len() >= 2 * plan.trials - 1, "{:?}", found.steps);
    assert_eq!(found.steps.iter().filter(|step| !disturbed(step)).count(), plan.trials);
    let all: Vec<_> = found.approach.iter().chain(&found.steps).collect();
    for pair in all.windows(2).filter(|pair| disturbed(&pair[0])) {
        assert_eq!(pair[0].rate, pair[1].rate, "the same rate again");
    }
    assert!(coordinator.end().is_empty());
    for agent in agents {
        assert_eq!(agent.join().unwrap(), all.len() as u64);
    }
}
