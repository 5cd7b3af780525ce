use super::*;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use sync::random::Random;

fn address(text: &str) -> Address {
    format!("{text}:1").parse::<SocketAddr>().map_or(Address::NONE, Address::from)
}

fn limiter(limits: Limits, workers: u32) -> Limiter {
    let mut limiter = Limiter::new(workers, Arc::default());
    limiter.prepare(&Arc::new(limits));
    limiter.set_time(Duration::from_secs(5));
    limiter
}

/// How many of so many answers an address gets.
fn given(limiter: &mut Limiter, from: &str, kind: Kind, tokens: impl Iterator<Item = u64>) -> usize {
    let from = address(from);
    tokens.filter(|token| !limiter.refuses(&from, kind, *token, || false)).count()
}

/// No limits; each test sets those that it is about.
fn none() -> Limits {
    Limits { responses_per_second: 0, network_per_second: 0, wide_per_second: 0, ..Limits::default() }
}

#[test]
fn the_same_answer_to_a_network() {
    let mut limiter = limiter(Limits { responses_per_second: 20, ..none() }, 1);
    let same = || std::iter::repeat_n(7, 50);
    assert_eq!(given(&mut limiter, "192.0.2.1", Kind::Answer, same()), 20);
    // A neighbour has the same account; others, other answers and other kinds have not.
    assert_eq!(given(&mut limiter, "192.0.2.255", Kind::Answer, same()), 0);
    assert_eq!(given(&mut limiter, "[::ffff:192.0.2.9]", Kind::Answer, same()), 0);
    assert_eq!(given(&mut limiter, "192.0.3.1", Kind::Answer, same()), 20);
    assert_eq!(given(&mut limiter, "192.0.2.1", Kind::Answer, std::iter::repeat_n(8, 50)), 20);
    assert_eq!(given(&mut limiter, "192.0.2.1", Kind::NoData, same()), 20);
    assert_eq!(given(&mut limiter, "[2001:db8:0:1::1]", Kind::Answer, same()), 20);
    assert_eq!(given(&mut limiter, "[2001:db8:0:ff::1]", Kind::Answer, same()), 0);
    assert_eq!(given(&mut limiter, "[2001:db8:0:100::1]", Kind::Answer, same()), 20);
    // IPv4 is not what stands at the start of IPv6.
    assert_eq!(given(&mut limiter, "[c000:0200::1]", Kind::Answer, same()), 20);
    limiter.set_time(Duration::from_millis(7001));
    assert_eq!(given(&mut limiter, "192.0.2.1", Kind::Answer, same()), 20);
}

/// Networks get a second of their limit at once, or somewhat more or less: answers are charged to them one for several, until half of it is used. After that
/// the limit, exactly.
#[test]
fn networks_wider_ones_and_all() {
    let mut first = limiter(Limits { network_per_second: 1024, wide_per_second: 4096, ..none() }, 1);
    let near = |got: usize, limit: usize| {
        assert!((limit * 3 / 5..=limit * 7 / 5).contains(&got), "{got} of {limit}")
    };
    near(given(&mut first, "192.0.2.1", Kind::Answer, 0..5000), 1024);
    assert_eq!(given(&mut first, "192.0.2.1", Kind::Referral, 0..1000), 0);
    let more = [3, 4, 5, 6].map(|net| given(&mut first, &format!("192.0.{net}.1"), Kind::Answer, 0..5000));
    near(more.iter().sum::<usize>(), 3 * 1024);
    assert_eq!(given(&mut first, "192.1.2.1", Kind::Answer, 0..5000), 1024);
    let v6 = ["1:1", "1:2", "1:3"].map(|net| format!("[2001:db8:{net}00::1]"));
    assert_eq!(v6.map(|from| given(&mut first, &from, Kind::Answer, 0..5000)), [1024; 3]);
    first.set_time(Duration::from_millis(5900));
    assert_eq!(given(&mut first, "192.0.2.1", Kind::Answer, 0..5000), 0);
    first.set_time(Duration::from_millis(8000));
    near(given(&mut first, "192.0.2.1", Kind::Answer, 0..5000), 1024);

    let mut second = limiter(Limits { total_per_second: 1000, ..none() }, 1);
    let all = |limiter: &mut Limiter, kind| {
        let mut random = Random::new(1);
        (0..5000).map(|_| given(limiter, &random_v4(&mut random), kind, 0..1)).sum::<usize>()
    };
    assert_eq!([all(&mut second, Kind::Answer), all(&mut second, Kind::NameError)], [1000, 1000]);
    second.set_time(Duration::from_millis(6500));
    assert_eq!(all(&mut second, Kind::Answer), 500);

    // One network's flood takes little of what all have; what `log-only` lets through is counted once.
    for log_only in [false, true] {
        let limits = Limits { network_per_second: 64, total_per_second: 1024, log_only, ..none() };
        let mut third = limiter(limits, 1);
        let got = given(&mut third, "192.0.2.1", Kind::Answer, 0..5000);
        assert!(5000 - third.counts.limited_answers < 400);
        assert!(got < 400 || log_only && got == 5000, "{got}");
        assert!(all(&mut third, Kind::Answer) > 600);
        assert!(third.counts.limited_answers <= 10_000);
    }
}

fn random_v4(random: &mut Random) -> String {
    let [a, b, c, d] = (random.next_u64() as u32).to_be_bytes();
    format!("{a}.{b}.{c}.{d}")
}

/// Over ten seconds of flood each network gets what it may at first, whatever comes from others meanwhile.
#[test]
fn a_flood_from_very_many() {
    let mut limiter = limiter(Limits { responses_per_second: 20, table_octets: 1 << 18, ..none() }, 1);
    let mut random = Random::new(2);
    let mut got: HashMap<u64, usize> = HashMap::new();
    for millisecond in 0..10_000 {
        limiter.set_time(Duration::from_millis(millisecond));
        for _ in 0..20 {
            // 200 a second for each of 64, and 65,536 that come now and then.
            let net = if random.chance(0.64) { random.below(64) } else { 256 + random.below(65_536) };
            let from = Address::v4((net as u32 * 256).to_be_bytes(), 1);
            *got.entry(net).or_default() += usize::from(!limiter.refuses(&from, Kind::Answer, 1, || false));
        }
    }
    for net in 0..64 {
        assert!((20..=60).contains(&got[&net]), "{net}: {}", got[&net]);
    }
    // Of 7.2 a second, 72,000 in all, none was refused.
    assert!(got.iter().filter(|(net, _)| **net >= 256).map(|(_, count)| count).sum::<usize>() > 71_000);
    assert_eq!(limiter.counts.limited_answers as usize, 200_000 - got.values().sum::<usize>());
}

/// Who asks at nine tenths of a network's limit, evenly, is never refused; who asks three times as often as it may gets a third of the limit. The smallest limits included.
#[test]
fn networks_at_their_limits() {
    for limit in [4, 16, 64, 512, 4096] {
        let mut limiter = limiter(Limits { network_per_second: limit, ..none() }, 1);
        for (share, least, most) in
            [(9, 10 * limit * 9 / 10, 10 * limit * 9 / 10), (30, 3 * limit, 5 * limit + limit / 5 + 100)]
        {
            let queries = 10 * limit * share / 10;
            let from = address(if share == 9 { "192.0.2.1" } else { "198.51.100.1" });
            let mut got = 0;
            for query in 0..queries {
                limiter.set_time(
                    Duration::from_secs(10 * u64::from(share)) + Duration::from_secs(10) * query / queries,
                );
                got += u32::from(!limiter.refuses(&from, Kind::Answer, u64::from(query), || false));
            }
            assert!((least..=most.max(least)).contains(&got), "{got} of {queries} at {limit}");
        }
    }
}

#[test]
fn workers_share_limits() {
    for (workers, each) in [(1, 20), (3, 7), (16, 2), (64, 1)] {
        let mut limiter = limiter(Limits { responses_per_second: 20, ..none() }, workers);
        assert_eq!(given(&mut limiter, "192.0.2.1", Kind::Answer, std::iter::repeat_n(0, 99)), each);
    }
}

#[test]
fn slips_are_a_share_of_the_octets() {
    for (slip, response) in [(1, 40), (2, 40), (3, 40), (3, 56), (10, 40)] {
        let mut limiter = limiter(Limits { slip, ..none() }, 1);
        let slipped = (0..30_000).filter(|_| limiter.slips(40, response)).count();
        let (left, came) = (slipped * response * slip as usize, 40 * 30_000);
        assert!(left <= came && left + 2 * response * slip as usize > came, "{slip} {response}: {slipped}");
    }
    assert!(!limiter(Limits { slip: 0, ..none() }, 1).slips(4000, 1));
}

/// A reload of the same limits, or with others of what a refusal leads to, forgets nothing; `log-only` refuses nothing.
#[test]
fn limits_change() {
    let limits = Limits { responses_per_second: 20, ..none() };
    let mut limiter = limiter(limits.clone(), 1);
    let mut ask = |limits: &Limits| {
        limiter.prepare(&Arc::new(limits.clone()));
        given(&mut limiter, "192.0.2.1", Kind::Answer, std::iter::repeat_n(0, 50))
    };
    assert_eq!([ask(&limits), ask(&limits), ask(&Limits { slip: 1, ..limits.clone() })], [20, 0, 0]);
    assert_eq!(ask(&Limits { log_only: true, ..limits.clone() }), 50);
    assert_eq!([ask(&limits), ask(&Limits { responses_per_second: 30, ..limits })], [0, 30]);
    assert_eq!(limiter.counts.limited_answers, 30 + 50 + 50 + 50 + 50 + 20);
}

#[test]
fn what_is_told() {
    let told = Arc::new(Told::default());
    let mut limiter = Limiter::new(1, Arc::clone(&told));
    limiter.prepare(&Arc::new(Limits { responses_per_second: 20, network_per_second: 100, ..none() }));
    limiter.set_time(Duration::from_secs(1));
    let rows = || told.rows().flatten().collect::<Vec<_>>();
    given(&mut limiter, "192.0.2.1", Kind::Answer, std::iter::repeat_n(1, 20));
    assert_eq!(rows(), []);
    // All names of a network are one row, and the network itself another.
    given(&mut limiter, "192.0.2.1", Kind::Answer, (0..40).flat_map(|name| [name; 30]));
    let account = |level, kind| Account { network: 0xc000_0200 << 32, is_v4: true, level, kind };
    let same = account(Level::Same, Kind::Answer);
    let mut found = rows();
    found.sort_unstable();
    assert_eq!(
        found.iter().map(|(account, _)| *account).collect::<Vec<_>>(),
        [same, account(Level::Network, Kind::Answer)]
    );
    let refused: u64 = found.iter().map(|(_, refused)| refused).sum();
    assert_eq!(refused, limiter.counts.limited_answers);
    // Shown where a worker that takes this one's place goes on from.
    assert_eq!(told.counts.read().limited_answers, 0);
    limiter.show();
    assert_eq!(Limiter::new(1, told).counts.limited_answers, refused);
}

/// Rows never mix accounts, however they are read.
#[test]
fn rows_are_read_whole() {
    let told = Arc::new(Told::default());
    let writer = Arc::clone(&told);
    let accounts: Vec<Account> = (1..4)
        .map(|of: u64| Account {
            network: of << 40,
            is_v4: of == 2,
            level: Level::Same,
            kind: Kind::ALL[of as usize],
        })
        .collect();
    let known = accounts.clone();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let writes = std::thread::spawn(move || {
        let (mut rows, mut now) = (Rows::new(), 0u32);
        while !over.load(Ordering::Relaxed) {
            rows.note(&writer, (0, accounts[now as usize % 3]), now, 1);
            now += 1;
        }
    });
    let mut seen = 0;
    while seen < 100_000 {
        if let Some((account, refused)) = told.rows().next().flatten() {
            assert!(known.contains(&account) && refused == 1, "{account:?}");
            seen += 1;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(writes.join().is_ok());
}
