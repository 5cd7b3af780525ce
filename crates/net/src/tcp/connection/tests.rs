use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use proptest::prelude::*;

use super::super::channel::{Channel, Socket};
use super::*;
use crate::TcpLimits;
use crate::host::Simple;
use rustix::event::epoll::EventFlags;

/// A stream in memory: what the client sends comes in pieces, and what it takes is limited by an allowance.
#[derive(Default)]
struct Wire {
    pieces: VecDeque<Vec<u8>>,
    closed_by_client: bool,
    allowance: usize,
    taken: Vec<u8>,
    finished: std::cell::Cell<bool>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.pieces.front_mut() else {
            return if self.closed_by_client { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        };
        let octets = piece.len().min(buffer.len());
        buffer[..octets].copy_from_slice(&piece[..octets]);
        piece.drain(..octets);
        if piece.is_empty() {
            self.pieces.pop_front();
        }
        Ok(octets)
    }
}

impl Write for Wire {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let count = octets.len().min(self.allowance);
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.allowance -= count;
        self.taken.extend_from_slice(&octets[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for Wire {
    fn finish(&self) -> io::Result<()> {
        self.finished.set(true);
        Ok(())
    }
}

/// A query as often as its first octet says, none for 0.
fn repeated(query: &[u8]) -> Vec<u8> {
    let times = usize::from(query[0]).min(MESSAGE_OCTETS_MAX / query.len());
    query.repeat(times)
}

fn repeat(item: crate::Item<'_>) {
    assert_eq!((item.context.transport, item.room.len()), (Transport::Tcp, MESSAGE_OCTETS_MAX));
    let answer = repeated(item.query);
    item.room[..answer.len()].copy_from_slice(&answer);
    item.answer(answer.len());
}

/// A connection with all that it needs.
struct Bench {
    channel: Channel<Wire>,
    scratch: Scratch,
    admission: Admission,
    counters: Counters,
    now: Instant,
}

impl Bench {
    fn new(limits: &TcpLimits) -> Self {
        let now = Instant::now();
        let address = Address::v4([127, 0, 0, 1], 53);
        Self {
            channel: Channel::new(Wire::default(), Connection::new(address, address, now), None),
            scratch: Scratch::new(),
            admission: Admission::new(limits, 1),
            counters: Counters::default(),
            now,
        }
    }

    fn advance(&mut self) -> Result<(), Ending> {
        let mut parts = WorkerParts {
            now: Now { instant: self.now, wall: 0 },
            scratch: &mut self.scratch,
            admission: &self.admission,
            counters: &self.counters,
            serve: &mut Simple::new(repeat),
            id: ConnectionId { index: 0, generation: 0 },
            is_leaving: false,
        };
        // As epoll does: what it does not want it does not get.
        let wants = self.channel.connection.wants();
        let mut ready = EventFlags::empty();
        ready.set(EventFlags::IN, wants.read);
        ready.set(EventFlags::OUT, wants.write);
        self.channel.turn(ready, &mut parts)
    }

    fn wire(&mut self) -> &mut Wire {
        &mut self.channel.socket
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut octets = (message.len() as u16).to_be_bytes().to_vec();
    octets.extend_from_slice(message);
    octets
}

/// What the client should get for `queries`.
fn answers(queries: &[Vec<u8>]) -> Vec<u8> {
    let answers = queries.iter().map(|query| repeated(query));
    answers.filter(|answer| !answer.is_empty()).flat_map(|answer| framed(&answer)).collect()
}

/// Cuts `octets` into pieces of the given lengths, taken in turn.
fn cut(octets: &[u8], lengths: &[usize]) -> VecDeque<Vec<u8>> {
    let (mut rest, mut lengths, mut pieces) = (octets, lengths.iter().cycle(), VecDeque::new());
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
        pieces.push_back(piece.to_vec());
        rest = others;
    }
    pieces
}

fn query() -> impl Strategy<Value = Vec<u8>> {
    let octets = prop_oneof![8 => 12..60_usize, 1 => 12..5000_usize, 1 => 60_000..=65_535_usize];
    (octets, 0..4_u8, any::<u8>()).prop_map(|(octets, times, fill)| {
        let mut query = vec![fill; octets];
        query[0] = times;
        query
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// However queries are cut into pieces and however slowly answers are taken, each is answered once, in order, and
    /// nothing stays behind.
    #[test]
    fn every_query_is_answered(
        queries in proptest::collection::vec(query(), 1..40),
        pieces in proptest::collection::vec(1..6000_usize, 1..8),
        allowances in proptest::collection::vec(prop_oneof![Just(0), 1..50_000_usize], 1..8),
    ) {
        let mut bench = Bench::new(&TcpLimits::default());
        let sent: Vec<u8> = queries.iter().flat_map(|query| framed(query)).collect();
        bench.wire().pieces = cut(&sent, &pieces);
        bench.wire().closed_by_client = true;
        let expected = answers(&queries);
        let mut outcome = Ok(());
        // Every piece and every end of an answer takes a step, and one in eight is sure to take some answer.
        let steps_max = sent.len() + 8 * (expected.len() / 997 + 2 * queries.len()) + 100;
        for step in 0..steps_max {
            bench.wire().allowance = allowances[step % allowances.len()].max(if step % 8 == 0 { 997 } else { 0 });
            outcome = bench.advance();
            prop_assert!(bench.channel.connection.pending.len() <= LENGTH_OCTETS + MESSAGE_OCTETS_MAX + READ_OCTETS);
            prop_assert!(bench.channel.connection.unsent.len() <= WRITE_OCTETS);
            if outcome.is_err() {
                break;
            }
        }
        prop_assert_eq!(outcome, Err(Ending::Client));
        prop_assert_eq!(&bench.wire().taken, &expected);
        prop_assert_eq!(bench.counters.read().tcp_queries, queries.len() as u64);
        prop_assert!(!bench.channel.connection.holds_memory());
    }
}

/// Random octets never do more than end the connection, and never make it hold more than one message.
fn check_random_octets(octets: &[u8], pieces: &[usize]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(&TcpLimits::default());
    bench.wire().pieces = cut(octets, pieces);
    bench.wire().closed_by_client = true;
    bench.wire().allowance = usize::MAX;
    let mut ended = false;
    for _ in 0..octets.len() + 10 {
        ended = bench.advance().is_err();
        prop_assert!(bench.channel.connection.pending.len() <= LENGTH_OCTETS + MESSAGE_OCTETS_MAX);
        if ended {
            break;
        }
    }
    prop_assert!(ended);
    let mut pool = std::mem::replace(&mut bench.scratch.pool, Pool::new(0));
    bench.channel.connection.release(&mut pool);
    prop_assert!(!bench.channel.connection.holds_memory());
    Ok(())
}

fn octets_and_pieces() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let octet = prop_oneof![Just(0_u8), Just(12), any::<u8>()];
    (proptest::collection::vec(octet, 0..20_000), proptest::collection::vec(1..3000_usize, 1..4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn random_octets((octets, pieces) in octets_and_pieces()) {
        check_random_octets(&octets, &pieces)?;
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        #[ignore = "long: make test-long"]
        fn random_octets((octets, pieces) in octets_and_pieces()) {
            check_random_octets(&octets, &pieces)?;
        }
    }
}

#[test]
fn many_queries_of_one_read_leave_in_one_write() {
    let mut bench = Bench::new(&TcpLimits::default());
    let queries = vec![vec![1; 12]; 292];
    let sent: Vec<u8> = queries.iter().flat_map(|query| framed(query)).collect();
    assert!(sent.len() <= READ_OCTETS && sent.len() + 14 > READ_OCTETS);
    bench.wire().pieces.push_back(sent);
    // Enough for all if they come in one piece; a second write would find nothing left of an allowance of pieces.
    bench.wire().allowance = usize::MAX;
    bench.advance().unwrap();
    assert_eq!(bench.wire().taken, answers(&queries));
    assert!(!bench.channel.connection.holds_memory());
}

#[test]
fn who_does_not_read_is_not_read_from() {
    let mut bench = Bench::new(&TcpLimits::default());
    for _ in 0..3 {
        bench.wire().pieces.push_back(framed(&[2; 20]));
    }
    for _ in 0..10 {
        bench.advance().unwrap();
    }
    assert_eq!(bench.wire().pieces.len(), 2, "only one read before the first answer is taken");
    assert!(bench.channel.connection.has_unsent());
    bench.wire().allowance = usize::MAX;
    for _ in 0..3 {
        bench.advance().unwrap();
    }
    assert_eq!(bench.wire().taken, answers(&vec![vec![2; 20]; 3]));
}

#[test]
fn a_trickle_is_no_progress() {
    let mut bench = Bench::new(&TcpLimits::default());
    let start = bench.now;
    // A query octet by octet: activity is what the last whole query made, so this one runs into the idle time.
    bench.wire().pieces = cut(&framed(&[1; 30]), &[1]);
    bench.wire().allowance = usize::MAX;
    for second in 1..32 {
        bench.now = start + Duration::from_secs(second);
        bench.advance().unwrap();
        assert_eq!(bench.channel.connection.active, start);
    }
    bench.now = start + Duration::from_secs(40);
    bench.advance().unwrap();
    assert_eq!(bench.channel.connection.active, bench.now);

    // Responses taken octet by octet count once a whole block is gone.
    let mut query = vec![0; 30_000];
    query[0] = 2;
    bench.wire().pieces = cut(&framed(&query), &[30_002]);
    bench.wire().allowance = 0;
    for _ in 0..8 {
        bench.advance().unwrap();
    }
    assert!(bench.channel.connection.has_unsent());
    let blocked = bench.now;
    for second in 1..=PROGRESS_OCTETS as u64 {
        assert_eq!(bench.channel.connection.active, blocked);
        bench.now = blocked + Duration::from_secs(second);
        bench.wire().allowance = 1;
        bench.advance().unwrap();
    }
    assert_eq!(bench.channel.connection.active, bench.now);
}

#[test]
fn a_malformed_message_ends_after_the_answers_before_it() {
    let mut bench = Bench::new(&TcpLimits::default());
    let mut sent = framed(&[1; 12]);
    sent.extend([0, 3, 1, 2, 3]);
    sent.extend(framed(&[1; 12]));
    bench.wire().pieces.push_back(sent);
    bench.wire().allowance = 5;
    bench.advance().unwrap();
    assert!(!bench.wire().finished.get(), "an answer waits");
    bench.wire().allowance = usize::MAX;
    bench.advance().unwrap();
    assert!(bench.wire().finished.get());
    assert_eq!(bench.wire().taken, framed(&[1; 12]));
    assert_eq!(bench.counters.read().tcp_malformed, 1);
    // What follows is thrown away, up to a point.
    bench.wire().pieces.push_back(vec![1; LINGER_OCTETS_MAX]);
    bench.wire().pieces.push_back(vec![1]);
    let steps = std::iter::repeat_with(|| bench.advance()).take(1000).take_while(Result::is_ok).count();
    assert_eq!(steps, LINGER_OCTETS_MAX / READ_OCTETS);
    assert_eq!(bench.counters.read().tcp_queries, 1);
}

#[test]
fn limits_of_queries_and_lifetime_end_it() {
    let mut bench = Bench::new(&TcpLimits { queries: 2, ..TcpLimits::default() });
    bench.wire().pieces.push_back([framed(&[1; 12]), framed(&[1; 13]), framed(&[1; 14])].concat());
    bench.wire().allowance = usize::MAX;
    bench.advance().unwrap();
    assert_eq!(bench.wire().taken, [framed(&[1; 12]), framed(&[1; 13])].concat());
    assert!(bench.wire().finished.get());

    let limits = TcpLimits { lifetime: Duration::from_secs(60), ..TcpLimits::default() };
    let mut bench = Bench::new(&limits);
    bench.wire().allowance = usize::MAX;
    bench.wire().pieces.push_back(framed(&[1; 12]));
    bench.advance().unwrap();
    assert!(!bench.wire().finished.get());
    bench.now += Duration::from_secs(60);
    bench.wire().pieces.push_back([framed(&[1; 12]), framed(&[1; 12])].concat());
    bench.advance().unwrap();
    assert!(bench.wire().finished.get());
    assert_eq!(bench.counters.read().tcp_queries, 2);
    assert_eq!(bench.counters.read().tcp_worn_out, 1);
}

#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<Channel<std::net::TcpStream>>() <= 288);
    let mut bench = Bench::new(&TcpLimits::default());
    bench.wire().allowance = usize::MAX;
    bench.wire().pieces = cut(&framed(&[1; 5000]), &[700]);
    for _ in 0..20 {
        bench.advance().unwrap();
    }
    assert_eq!(bench.wire().taken, framed(&[1; 5000]));
    assert_eq!(bench.channel.connection.pending.capacity() + bench.channel.connection.unsent.capacity(), 0);
}
