#![allow(clippy::unwrap_used)]

use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    time::Duration,
};

use super::{
    Problem,
    channel::{Channel, Kind, Role},
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
        [(&b"GET / HTTP/1.1\r\n\r\n"[..], Problem::Version), (b"zonda-bench/join", Problem::Closed)]
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
