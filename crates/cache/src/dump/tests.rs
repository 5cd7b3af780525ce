use super::restore::checked;
use super::*;
use crate::entry::{Copied, Rank};
use crate::index::Which;
use crate::store::Cache;
use crate::{Flush, Settings};
use wire::name::NameBuf;
use wire::rrset::RdataListBuf;

fn name(number: u32) -> NameBuf {
    NameBuf::from_text(&format!("h{number}.example.")).unwrap()
}

fn cache(octets: usize, seed: u64) -> Cache {
    Cache::with(&Settings { octets, ..Settings::default() }, [seed; 3])
}

fn put(cache: &Cache, number: u32, ttl: u32, security: Security, now: Moment) {
    let owner = name(number);
    let list: RdataListBuf = [&number.to_be_bytes()[..]].into_iter().collect();
    let entry = Entry { security, zone_labels: 1, ..Entry::data(list.list(), now, ttl) };
    assert!(cache.put(&Key::rrset(&owner, 1), &entry, now, now));
}

fn situation(now: u64, wall: u64) -> Situation {
    Situation { now: Moment(now), wall }
}

fn written(cache: &Cache, situation: &Situation) -> Vec<u8> {
    let mut octets = Vec::new();
    cache.write_dump(&mut octets, situation, b"about").unwrap();
    octets
}

fn open(octets: &[u8], situation: &Situation) -> Result<Dump, DumpError> {
    Dump::open(Box::new(octets.to_vec()), situation)
}

/// Takes in all of it as the thread does.
fn loaded(cache: &Cache, octets: &[u8], situation: &Situation) -> Result<Loaded, DumpError> {
    let dump = open(octets, situation)?;
    assert_eq!(dump.about(), b"about");
    cache.restore(dump);
    Ok(rest(cache, situation.now))
}

fn rest(cache: &Cache, now: Moment) -> Loaded {
    loop {
        let Restored { loaded, is_done } = cache.take_in(now);
        if is_done {
            return loaded;
        }
    }
}

fn ttl_left(cache: &Cache, number: u32, now: u64) -> Option<u32> {
    let (owner, mut copied) = (name(number), Copied::new());
    let entry = cache.peek(&Key::rrset(&owner, 1), &mut copied)?;
    assert_eq!(entry.rdatas.iter().next(), Some(&number.to_be_bytes()[..]));
    entry.ttl_left(Moment(now))
}

/// Where the part of the first shard begins: those before it have one group each, without anything.
fn first_part() -> usize {
    HEADER_OCTETS + "about".len() + BESIDE_PARTS * (HEAD_OCTETS + END_OCTETS)
}

fn all_are_sound(cache: &Cache) {
    for shard in cache.core.layout().shards() {
        for ring in [Which::Small, Which::Main] {
            shard.each(&cache.core.shared, ring, |octets, _| assert!(checked(octets).is_some()));
        }
    }
}

/// Into a store of another size, with another secret, whose clock begins anew.
#[test]
fn what_was_known_is_known_again() {
    let old = cache(40 << 20, 1);
    for number in 0..30_000 {
        put(&old, number, 1_000, Security::Insecure, Moment(5_000_000));
    }
    let octets = written(&old, &situation(5_100_000, 1_700_000_000));
    let new = cache(8 << 20, 2);
    let all = loaded(&new, &octets, &situation(2_000, 1_700_000_050)).unwrap();
    assert_eq!(all, Loaded { entries: 30_000, ..Loaded::default() });
    assert!((0..30_000).all(|number| ttl_left(&new, number, 2_000) == Some(850)), "100 s and 50 s old");
    assert_eq!(ttl_left(&new, 1, 852_000), None);
    let again = loaded(&new, &octets, &situation(2_000, 1_700_000_050)).unwrap();
    assert_eq!(again, Loaded { passed_over: 30_000, ..Loaded::default() }, "what is there is newer");
    let late = loaded(&cache(8 << 20, 3), &octets, &situation(2_000, 1_700_000_900)).unwrap();
    assert_eq!(late, Loaded { passed_over: 30_000, ..Loaded::default() }, "all has expired");
}

/// Before any of it has been taken in, and whatever the thread does meanwhile.
#[test]
fn known_from_the_first_question_on() {
    let old = cache(20 << 20, 1);
    (0..20_000).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let octets = written(&old, &situation(2_000, 100));
    let new = cache(20 << 20, 2);
    new.restore(open(&octets, &situation(2_000, 100)).unwrap());
    // Each is there when it is first looked for; the thread takes in others between.
    for number in (0..20_000).rev() {
        assert_eq!(ttl_left(&new, number, 2_000), Some(999), "{number}");
        if number % 2_000 == 0 {
            new.take_in(Moment(2_000));
        }
    }
    assert_eq!((ttl_left(&new, 20_001, 2_000), new.counts().entries), (None, 20_000));
    assert_eq!(rest(&new, Moment(2_000)), Loaded { entries: 20_000, ..Loaded::default() });
    assert_eq!(rest(&new, Moment(2_000)), Loaded::default(), "it is over");
}

/// What is learned before its name was looked for is weighed against what was dumped.
#[test]
fn what_is_learned_meanwhile() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let octets = written(&old, &situation(1_000, 100));
    let new = cache(1 << 20, 2);
    new.restore(open(&octets, &situation(1_000, 100)).unwrap());
    let (owner, list) = (name(1), [&[9; 4][..]].into_iter().collect::<RdataListBuf>());
    let weaker = Entry { rank: Rank::Additional, zone_labels: 1, ..Entry::data(list.list(), Moment(0), 5) };
    assert!(!new.put(&Key::rrset(&owner, 1), &weaker, Moment(2_000), Moment(2_000)));
    assert_eq!(ttl_left(&new, 1, 2_000), Some(999));
}

/// Nothing comes back that was flushed before it is taken in.
#[test]
fn flushed_before_it_is_taken_in() {
    let old = cache(1 << 20, 1);
    (1..=3).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let octets = written(&old, &situation(2_000, 100));
    let new = cache(1 << 20, 2);
    new.restore(open(&octets, &situation(20, 100)).unwrap());
    new.flush(&Flush::Tree(name(1)), Moment(30));
    assert_eq!(new.flush(&Flush::Name(name(2)), Moment(30)), 1, "counted as if it were there");
    assert_eq!([1, 2, 3].map(|number| ttl_left(&new, number, 30)), [None, None, Some(999)]);
    let all = rest(&new, Moment(30));
    assert_eq!(all, Loaded { entries: 2, passed_over: 1, ..Loaded::default() }, "one came and was flushed");
}

#[test]
fn what_is_not_worth_it_is_left_out() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    put(&old, 2, 1_000, Security::Bogus, Moment(1_000));
    put(&old, 3, 1, Security::Secure, Moment(1_000));
    put(&old, 4, 1_000, Security::Secure, Moment(1_000));
    old.hide(&Flush::Tree(name(4)), Moment(1_500));
    let octets = written(&old, &situation(3_000, 100));
    let new = cache(1 << 20, 2);
    assert_eq!(loaded(&new, &octets, &situation(3_000, 100)).unwrap().entries, 1);
    assert_eq!(ttl_left(&new, 1, 3_000), Some(998));
}

#[test]
fn other_formats_and_clocks() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let octets = written(&old, &situation(1_000, 100));
    let error = |octets: &[u8], situation| open(octets, &situation).err();
    assert_eq!(error(&octets, situation(1_000, 100)), None);
    assert_eq!(error(&octets, situation(1_000, 99)), Some(DumpError::ClockWentBack));
    let mut other = octets.clone();
    other[8] = 9;
    assert_eq!(error(&other, situation(1_000, 100)), Some(DumpError::Version(9)));
    assert_eq!(error(&octets[..HEADER_OCTETS - 1], situation(1_000, 100)), Some(DumpError::NotADump));
    let long = vec![0; ABOUT_OCTETS_MAX + 1];
    assert!(old.write_dump(&mut Vec::new(), &situation(1_000, 100), &long).is_err());
}

/// Every octet damaged, every length cut: an error, or groups or parts left out, and nothing but what was written is there.
#[test]
fn damage_is_found() {
    let old = cache(1 << 20, 1);
    (0..40).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let (thread, asked) = (cache(1 << 20, 2), cache(1 << 20, 2));
    for at in 0..octets.len() {
        let mut damaged = octets.clone();
        damaged[at] ^= 1 << (at % 8);
        let is_found = match open(&damaged, &situation) {
            Err(_) => true,
            Ok(dump) => {
                let is_missing = dump.missing() + dump.mended() > 0;
                thread.restore(dump);
                let loaded = rest(&thread, situation.now);
                thread.flush(&Flush::All, Moment(0));
                is_missing || loaded.damaged > 0
            }
        };
        assert!(is_found, "octet {at}");
        if at % 16 == 0 {
            if let Ok(dump) = open(&damaged, &situation) {
                asked.restore(dump);
                assert!((0..40).filter(|number| ttl_left(&asked, *number, 1_000).is_some()).count() <= 40);
                asked.flush(&Flush::All, Moment(0));
            }
            let cut = open(&octets[..at], &situation);
            assert!(cut.is_err() || cut.is_ok_and(|dump| dump.missing() + dump.mended() > 0), "{at} octets");
        }
    }
}

/// A head that is damaged costs nothing, as it is there twice; both: what is behind it, and nothing before.
#[test]
fn heads_are_there_twice() {
    let old = cache(64 << 20, 1);
    (0..2_000).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let parts = BESIDE_PARTS + 8;
    let copies = octets.len() - parts * HEAD_OCTETS;
    // Each head is found by the one before.
    let mut own = Vec::new();
    let mut at = first_part();
    for _ in BESIDE_PARTS..parts {
        own.push(at);
        at += HEAD_OCTETS + half(&octets, at + 4) as usize * END_OCTETS + long(&octets, at + 8) as usize;
    }
    assert_eq!(at, copies);
    let check = |damaged: &[usize], expected: (usize, usize), entries: Option<usize>| {
        let mut octets = octets.clone();
        damaged.iter().for_each(|at| octets[*at] ^= 1);
        let dump = open(&octets, &situation).unwrap();
        assert_eq!((dump.missing(), dump.mended()), expected, "{damaged:?}");
        let new = cache(64 << 20, 2);
        new.restore(dump);
        let found = rest(&new, situation.now).entries;
        assert!(
            entries.map_or(found > 0 && found < 2_000, |entries| found == entries),
            "{damaged:?}: {found}"
        );
    };
    check(&[], (0, 0), Some(2_000));
    for (number, head) in own.iter().enumerate() {
        // Each octet of a head in two of the eight.
        for field in (number % 4..HEAD_OCTETS).step_by(4) {
            let copy = copies + (BESIDE_PARTS + number) * HEAD_OCTETS + field;
            check(&[head + field], (0, 1), Some(2_000));
            check(&[copy], (0, 1), Some(2_000));
        }
    }
    check(&own, (0, 8), Some(2_000));
    let both = [own[4], copies + (BESIDE_PARTS + 4) * HEAD_OCTETS];
    check(&both, (4, 0), None);
}

/// Right checksums around anything: no panic, and only entries that could have been put.
#[test]
fn strangers_write_dumps() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let part = first_part();
    let group = part + HEAD_OCTETS + END_OCTETS;
    let heads = octets.len() - (BESIDE_PARTS + 1) * HEAD_OCTETS;
    let new = cache(1 << 20, 2);
    for at in part..octets.len() {
        for value in [0, 1, 0x41, 0x7f, 0xff] {
            let mut forged = octets.clone();
            forged[at] = value;
            let sum = checksum_of_group(BESIDE_PARTS, 0, &forged[group + SUM_OCTETS..heads]);
            forged[group..group + SUM_OCTETS].copy_from_slice(&sum.to_le_bytes());
            let sum = checksum(&forged[part..part + HEAD_OCTETS - 8]);
            forged[part + HEAD_OCTETS - 8..part + HEAD_OCTETS].copy_from_slice(&sum.to_le_bytes());
            let Ok(dump) = open(&forged, &situation) else { continue };
            new.restore(dump);
            let _ = ttl_left_of_anything(&new, 1);
            rest(&new, situation.now);
            all_are_sound(&new);
            new.flush(&Flush::All, Moment(0));
        }
    }
    for at in 16..HEADER_OCTETS - 8 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut forged = octets.clone();
            forged[at] = value;
            let sum = checksum_of(&forged[..HEADER_OCTETS - 8], b"about");
            forged[HEADER_OCTETS - 8..HEADER_OCTETS].copy_from_slice(&sum.to_le_bytes());
            let Ok(dump) = open(&forged, &situation) else { continue };
            new.restore(dump);
            let _ = ttl_left_of_anything(&new, 1);
            rest(&new, situation.now);
            new.flush(&Flush::All, Moment(0));
        }
    }
}

/// The same with several octets at once, anywhere, also in ends of groups and lengths of parts.
#[test]
fn strangers_write_much_of_it() {
    let old = cache(1 << 20, 1);
    (0..40).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let (part, new) = (first_part(), cache(1 << 20, 2));
    let (mut state, mut taken, mut refused) = (0x9e37_79b9_7f4a_7c15_u64, 0, 0);
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..1_000 {
        let mut forged = octets.clone();
        for _ in 0..1 + random(6) {
            let from = [16, part, part + HEAD_OCTETS][random(3)];
            let at = from + random(forged.len() - from).min(random(200));
            forged[at] = [0, 1, 0x7f, 0xff, random(256) as u8][random(5)];
        }
        forged.truncate(if random(8) == 0 { random(forged.len()) } else { usize::MAX });
        mend(&mut forged, part);
        match open(&forged, &situation) {
            Ok(dump) => {
                new.restore(dump);
                (0..40).for_each(|number| {
                    assert!(ttl_left_of_anything(&new, number).is_none_or(|ttl| ttl <= 86_400))
                });
                taken += usize::from(rest(&new, situation.now).entries > 0);
                all_are_sound(&new);
                new.flush(&Flush::All, Moment(0));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 100 && refused > 20, "{taken} {refused}");
}

/// Puts right checksums where they belong, as far as what is there says where that is.
fn mend(forged: &mut [u8], part: usize) {
    if let Some(header) = forged.get(..part) {
        let sum = checksum_of(&header[..HEADER_OCTETS - 8], &header[HEADER_OCTETS..][.."about".len()]);
        forged[HEADER_OCTETS - 8..HEADER_OCTETS].copy_from_slice(&sum.to_le_bytes());
    }
    let Some(fields) = forged.get(part..part + HEAD_OCTETS - 8) else { return };
    let (groups, sum) = (half(fields, 4) as usize, checksum(fields));
    let Some(at) = forged.get_mut(part + HEAD_OCTETS - 8..part + HEAD_OCTETS) else { return };
    at.copy_from_slice(&sum.to_le_bytes());
    let (ends, mut begin) = (part + HEAD_OCTETS, 0);
    let data = ends.saturating_add(groups.saturating_mul(END_OCTETS));
    for group in 0..groups.min(64) {
        let end = long(forged, ends + group * END_OCTETS) as usize;
        let place = data.saturating_add(begin)..data.saturating_add(end);
        if let Some(octets) = forged.get_mut(place).filter(|octets| octets.len() > SUM_OCTETS) {
            let sum = checksum_of_group(BESIDE_PARTS, group, &octets[SUM_OCTETS..]);
            octets[..SUM_OCTETS].copy_from_slice(&sum.to_le_bytes());
        }
        begin = end;
    }
}

fn ttl_left_of_anything(cache: &Cache, number: u32) -> Option<u32> {
    cache.peek(&Key::rrset(&name(number), 1), &mut Copied::new())?.ttl_left(Moment(1_000))
}

const NSEC_TTL: u32 = 1_000;

/// A validated span: NSEC of `owner` to `next` in `zone`, or its SOA.
fn put_span(cache: &Cache, zone: &str, owner: &str, next: Option<&str>, now: Moment) {
    let text = |text: &str| NameBuf::from_text(text).unwrap();
    let (zone, owner) = (text(zone), text(owner));
    let rdata =
        next.map_or(b"soa".to_vec(), |next| [text(next).octets(), &[0, 6, 0x40, 0, 0, 0, 0, 3]].concat());
    let rdatas: RdataListBuf = [&rdata[..]].into_iter().collect();
    let signatures: RdataListBuf =
        [&[0, 47, 13, owner.label_count() as u8, 0, 0, 0, 9][..]].into_iter().collect();
    let rtype = if next.is_some() { 47 } else { 6 };
    let (rdatas, signatures) = (rdatas.list(), signatures.list());
    let set = wire::rrset::Rrset { owner: &owner, rtype, ttl: NSEC_TTL, rdatas, signatures };
    assert!(cache.denials().put(&zone, &set, now));
}

/// The least TTL of what denies a name in a zone.
fn denied(cache: &Cache, zone: &str, name: &str, now: u64) -> Option<u32> {
    let text = |text: &str| NameBuf::from_text(text).unwrap();
    let mut sets = wire::rrset::RrsetListBuf::new();
    let found = cache.denials().collect(&text(zone), &text(name), Moment(now), &mut sets);
    found.then(|| sets.list().iter().map(|set| set.ttl).min())?
}

fn with_spans() -> Cache {
    let old = cache(1 << 20, 1);
    for zone in ["example.", "test."] {
        put_span(&old, zone, zone, None, Moment(100_000));
        put_span(&old, zone, zone, Some(&format!("m.{zone}")), Moment(100_000));
        put_span(&old, zone, &format!("m.{zone}"), Some(zone), Moment(100_000));
    }
    old
}

/// Spans come back with what is left of them, but for zones that were flushed meanwhile, and what is newer stays.
#[test]
fn spans_come_back() {
    let old = with_spans();
    let octets = written(&old, &situation(200_000, 1_000));
    let new = cache(4 << 20, 2);
    new.restore(open(&octets, &situation(5_000, 1_050)).unwrap());
    new.flush(&Flush::Tree(NameBuf::from_text("test.").unwrap()), Moment(5_000));
    put_span(&new, "example.", "example.", None, Moment(5_000));
    let all = rest(&new, Moment(5_000));
    assert_eq!(all, Loaded { spans: 2, passed_over: 4, ..Loaded::default() });
    assert_eq!(denied(&new, "example.", "a.example.", 5_000), Some(850), "100 s and 50 s old");
    assert_eq!(denied(&new, "example.", "z.example.", 5_000), Some(850));
    assert_eq!(denied(&new, "test.", "a.test.", 5_000), None, "flushed");
    let late = cache(1 << 20, 2);
    let all = loaded(&late, &octets, &situation(5_000, 2_000)).unwrap();
    assert_eq!((all.spans, denied(&late, "example.", "a.example.", 5_000)), (0, None), "all have ended");
}

/// Those of an hour are no longer than settings of today say.
#[test]
fn spans_are_capped() {
    let octets = written(&with_spans(), &situation(100_000, 1_000));
    let limits = Limits { negative_ttl_max: 60, ..Limits::default() };
    let new = Cache::with(&Settings { limits, ..Settings::default() }, [2; 3]);
    loaded(&new, &octets, &situation(5_000, 1_000)).unwrap();
    assert_eq!(denied(&new, "example.", "a.example.", 5_000), Some(60));
}

/// Of many spans a damaged group costs its own.
#[test]
fn damage_costs_a_group_of_spans() {
    let old = cache(32 << 20, 1);
    for zone in (0..64).map(|number| format!("z{number}.")) {
        put_span(&old, &zone, &zone, None, Moment(1_000));
        for number in 0..9 {
            let [owner, next] = [number, number + 1].map(|number| format!("h{number}.{zone}"));
            put_span(&old, &zone, &owner, Some(&next), Moment(1_000));
        }
    }
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let whole = loaded(&cache(32 << 20, 2), &octets, &situation).unwrap();
    assert_eq!((whole.spans, whole.damaged), (640, 0));
    let mut damaged = octets.clone();
    // In the middle of what the last of the zones has.
    let at = octets.windows(4).rposition(|octets| octets == b"\x03z63").unwrap();
    damaged[at] ^= 1;
    let rest = loaded(&cache(32 << 20, 2), &damaged, &situation).unwrap();
    assert_eq!((rest.damaged, rest.wrong), (1, 0));
    assert!(rest.spans < 640 && rest.spans > 480, "{rest:?}");
}

/// What servers did comes back, but for what is secret, and what does not outlast a minute.
#[test]
fn servers_come_back() {
    let old = cache(1 << 20, 1);
    let [near, far, new_one]: [std::net::SocketAddr; 3] =
        ["192.0.2.1:53", "[2001:db8::1]:53", "192.0.2.3:53"].map(|text| text.parse().unwrap());
    old.servers().update(&near, Moment(50_000), |quality| {
        quality.answered(2_000);
        quality.edns = crate::Edns::Works(1232);
        quality.cookie = crate::Cookie::from_octets(&[7; 24]).unwrap();
        quality.case = crate::Case::Lost;
    });
    let zone = old.servers().zone(&name(1));
    old.servers().update(&far, Moment(60_000), |quality| {
        quality.answered(90_000);
        quality.is_tcp_only = true;
        (0..5).for_each(|_| quality.timed_out(zone, Moment(60_000)));
    });
    let octets = written(&old, &situation(60_000, 1_000));
    let new = cache(4 << 20, 2);
    new.servers().update(&far, Moment(2_000), |quality| quality.answered(70_000));
    let all = loaded(&new, &octets, &situation(2_000_000, 1_060)).unwrap();
    assert_eq!(all, Loaded { servers: 1, passed_over: 1, ..Loaded::default() });
    let known = new.servers().read(&near);
    let expected = crate::Quality {
        rtt_us: 2_000,
        variation_us: 1_000,
        edns: crate::Edns::Works(1232),
        case: crate::Case::Lost,
        updated: Moment(1_930_000),
        ..crate::Quality::default()
    };
    assert_eq!(known, expected);
    assert_eq!(new.servers().read(&far).rtt_us, 70_000, "what was measured since");
    assert_eq!(new.servers().read(&new_one), crate::Quality::default());
    let alone = cache(4 << 20, 2);
    loaded(&alone, &octets, &situation(2_000_000, 1_060)).unwrap();
    let far = alone.servers().read(&far);
    assert!(far.is_tcp_only && far.timeouts == 0 && far.backoff_until == Moment(0), "{far:?}");
    let old_one = cache(4 << 20, 2);
    let late = loaded(&old_one, &octets, &situation(2_000_000, 1_000 + 86_401)).unwrap();
    assert_eq!(late.servers, 0, "of yesterday");
}

/// Octets of spans and servers that anybody may have written: no panic.
#[test]
fn strangers_write_spans_and_servers() {
    let old = with_spans();
    old.servers()
        .update(&"192.0.2.1:53".parse().unwrap(), Moment(100_000), |quality| quality.answered(2_000));
    let situation = situation(100_000, 1_000);
    let octets = written(&old, &situation);
    let dump = open(&octets, &situation).unwrap();
    let (mut parts, mut group) = (Vec::new(), 0);
    while group < dump.groups() {
        let each = |part: usize, _, octets: Result<&[u8], ()>| parts.push((part, octets.unwrap().to_vec()));
        group += dump.read_some(group..group + 1, &mut Default::default(), each);
    }
    assert!(parts.iter().filter(|(part, octets)| *part < BESIDE_PARTS && !octets.is_empty()).count() >= 3);
    for (part, octets) in parts.iter().filter(|(part, _)| *part < BESIDE_PARTS) {
        for at in 0..octets.len() {
            for value in [0, 1, 0x41, 0x7f, 0xff] {
                let mut forged = octets.clone();
                forged[at] = value;
                let (new, mut loaded) = (cache(1 << 20, 2), Loaded::default());
                new.take_in_beside(&dump, *part, &forged, &mut loaded);
                denied(&new, "example.", "a.example.", 100_000);
                denied(&new, ".", "a.example.", 100_000);
            }
            new_one(&dump, *part, &octets[..at]);
        }
    }
}

fn new_one(dump: &Dump, part: usize, octets: &[u8]) {
    cache(1 << 20, 2).take_in_beside(dump, part, octets, &mut Loaded::default());
}
