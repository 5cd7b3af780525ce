//! What is counted, what is taken, and how full it gets.

use super::*;

/// What is counted is what a plain count says: of a cache in which entries come, are replaced, are read, taken out, flushed, leave and expire.
#[test]
fn counts_are_true() {
    let (cache, mut random, mut copied) = (cache(OCTETS_MIN), Random::new(7), Copied::new());
    let (mut puts, mut refused, mut came, mut taken_out) = (0, 0, 0, 0);
    for round in 0..60_000_u64 {
        let (number, now) = (random.below(30_000), Moment(round * 10));
        let owner = host(number);
        let key = Key::rrset(&owner, 1);
        match random.below(100) {
            0 => taken_out += cache.flush(&Flush::Name(owner.clone()), now) as u64,
            1 => {
                taken_out += u64::from(cache.peek(&key, &mut copied).is_some());
                cache.remove(&key);
            }
            2..30 => drop(cache.get(&key, &mut copied)),
            what => {
                let is_new = cache.peek(&key, &mut copied).is_none();
                let octets = vec![0; 4 + random.index(200)];
                let list = list(&octets);
                let rank = if what < 60 { Rank::Additional } else { Rank::Authoritative };
                let ttl = 1 + random.below(300) as u32;
                let is_put = cache.put(&key, &Entry { rank, ttl, ..entry(list.list()) }, now, now);
                puts += u64::from(is_put);
                refused += u64::from(!is_put);
                came += u64::from(is_put && is_new);
            }
        }
    }
    let (mut entries, mut octets) = (0, 0);
    for number in 0..30_000 {
        let owner = host(number);
        if cache.peek(&Key::rrset(&owner, 1), &mut copied).is_some() {
            entries += 1;
            octets += u64::from(u16::from_le_bytes([copied.octets[0], copied.octets[1]])) * 8;
        }
    }
    let counts = cache.counts();
    let left = counts.evicted + counts.evicted_unread + counts.evicted_index + counts.expired;
    assert_eq!(
        [counts.entries, counts.octets, counts.puts, counts.refused],
        [entries, octets, puts, refused]
    );
    // Where room for what is put is made of the key's own old copy, that has left, and it comes anew.
    let anew = entries + left + taken_out - came;
    assert!(anew < 5, "{anew} {counts:?}");
    let each = [counts.evicted, counts.evicted_unread, counts.expired, refused, taken_out];
    assert!(each.iter().all(|count| *count > 100), "{counts:?}");
    let kinds = cache.kinds();
    assert_eq!(kinds[0], (Kind::Data, entries, octets));
    let resident = cache.resident_octets();
    assert!(octets as usize <= resident && resident <= cache.octets(), "{resident}");
}

/// What the parts take together, and how full they get with names as short as can be.
#[test]
fn memory_as_configured() {
    for octets in [OCTETS_MIN, 3 << 20, 32 << 20, 100_000_000] {
        let cache = cache(octets);
        let taken = cache.octets() as f64 / octets as f64;
        assert!((0.99..=1.0).contains(&taken), "{taken} of {octets}");
    }
}

/// A million short names in the memory that they need: nearly all slots are used, and the process has not grown beyond what was configured.
#[test]
fn a_million_names() {
    let octets = 80 << 20;
    let cache = cache(octets);
    fill(&cache, 0..1_000_000, Moment(1));
    let counts = cache.counts();
    let each = octets as f64 / counts.entries as f64;
    println!("{counts:?}: {each:.1} octets an entry");
    assert!(counts.entries > 900_000, "{counts:?}");
}

mod long {
    use super::*;

    /// Octets of memory of this process.
    fn resident_octets() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    const OCTETS: usize = 600 << 20;

    /// Not more memory than configured, and within 5 % of it, with ten million names for which it is too little; and before them next to nothing, where the build is optimised. Names
    /// as long as those of hosts are, two addresses each; as short as so many can be, with one.
    #[test]
    #[ignore = "takes a minute and a GiB"]
    fn ten_million_names() {
        let long = |number: u32| name(&format!("www.h{number}.example.com."));
        let address = |number: u32| number.to_be_bytes().to_vec();
        let before = resident_octets();
        let begin = cache(OCTETS);
        let begun = resident_octets() - before;
        assert!(cfg!(debug_assertions) || begun < OCTETS / 200, "{begun} at the begin");
        check_ten_million((begin, before), 7_500_000, &|number| {
            (long(number), vec![address(number), address(!number)])
        });
        check_ten_million((cache(OCTETS / 10 * 9), before), 9_000_000, &|number| {
            (host(number.into()), vec![address(number)])
        });
    }

    /// Of a process that had so much memory before.
    fn check_ten_million(
        (mut cache, before): (Cache, usize),
        expected: u64,
        named: &dyn Fn(u32) -> (NameBuf, Vec<Vec<u8>>),
    ) {
        let octets = cache.octets();
        let (mut most, mut slowest) = (0, std::time::Duration::ZERO);
        for number in 0..10_000_000_u32 {
            let (owner, rdatas) = named(number);
            let list: RdataListBuf = rdatas.iter().map(|rdata| &rdata[..]).collect();
            // As if 100,000 came each second.
            let now = Moment(u64::from(number) / 100);
            assert!(cache.put(&Key::rrset(&owner, 1), &entry(list.list()), now, now));
            if number % 20_000 == 0 {
                loop {
                    let begun = std::time::Instant::now();
                    let tended = cache.tend(now);
                    slowest = slowest.max(begun.elapsed());
                    match tended {
                        crate::Tended::Idle => break,
                        crate::Tended::More => {}
                        crate::Tended::Held => cache = cache.current(),
                    }
                }
                most = most.max(resident_octets().saturating_sub(before));
            }
        }
        let (counts, grown) = (cache.counts(), resident_octets() - before);
        println!(
            "{counts:?}, resident {grown} of {octets}, at most {most}, {:.1} octets an entry, slowest step {slowest:?}",
            grown as f64 / counts.entries as f64
        );
        let said = cache.resident_octets();
        // The allocator may keep the memory of a shard that was left, and clear some itself.
        let most = said + octets / 25;
        assert!(cfg!(debug_assertions) || (grown <= most && said <= grown + octets / 40), "{said}");
        assert!((0.95..=1.0).contains(&(grown as f64 / octets as f64)) && counts.entries > expected);
    }
}
