use super::quality::Suspect;
use super::*;
use wire::name::NameBuf;

fn servers(octets: usize) -> Servers {
    Servers::new(octets, Secret::new([1, 2, 3]))
}

fn address(number: u32) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(number.into()), 53)
}

#[test]
fn what_is_told_is_known() {
    let servers = servers(1 << 20);
    let cookie = Cookie::from_octets(&[7; 24]).expect("a length of cookies");
    let told = Quality {
        rtt_us: 12_345,
        variation_us: 678,
        timeouts: 2,
        suspect: Suspect::Zone(servers.zone(&NameBuf::from_text("example.").expect("a name"))),
        backoff_until: Moment(1 << 40),
        edns: Edns::Works(1400),
        is_tcp_only: true,
        truncates: true,
        case: Case::Lost,
        cookie,
        updated: Moment(77),
    };
    let all = [
        address(1),
        address(2),
        "[2001:db8::1]:53".parse().expect("an address"),
        "[2001:db8::1]:853".parse().expect("an address"),
    ];
    for (at, address) in all.iter().enumerate() {
        servers.update(address, Moment(77), |quality| *quality = Quality { rtt_us: at as u32, ..told });
    }
    for (at, address) in all.iter().enumerate() {
        assert_eq!(servers.read(address), Quality { rtt_us: at as u32, ..told });
    }
    servers.update(&all[0], Moment(78), |quality| quality.edns = Edns::None);
    assert_eq!(servers.read(&all[0]), Quality { rtt_us: 0, edns: Edns::None, updated: Moment(78), ..told });
    assert_eq!(servers.read(&address(3)), Quality::default());
    servers.clear();
    assert!(all.iter().all(|address| servers.read(address) == Quality::default()));
}

#[test]
fn cookies_of_other_lengths_are_none() {
    for length in [0, 7, 9, 15, 41] {
        assert_eq!(Cookie::from_octets(&vec![1; length]), None, "{length}");
    }
    assert_eq!(Cookie::from_octets(&[1; 40]).map(|cookie| cookie.octets().len()), Some(40));
}

/// More servers than rows: memory stays, the newest are known, and what is read is never another's.
#[test]
fn lossy_and_bounded() {
    let servers = servers(64 << 10);
    assert!(servers.octets() <= 64 << 10 && servers.octets() > 60 << 10, "{}", servers.octets());
    for number in 0..5_000 {
        servers.update(&address(number), Moment(u64::from(number)), |quality| quality.rtt_us = number + 1);
    }
    let known = |range: std::ops::Range<u32>| {
        range.filter(|number| servers.read(&address(*number)).is_measured()).count()
    };
    assert!((0..5_000).all(|number| matches!(servers.read(&address(number)).rtt_us, 0 | 1..)
        && [0, number + 1].contains(&servers.read(&address(number)).rtt_us)));
    assert!(known(4_900..5_000) > 95, "{}", known(4_900..5_000));
    assert!(known(0..5_000) <= 512);
}

#[test]
fn round_trip_times() {
    let (mut quality, zone) = (Quality::default(), ZoneMark::new(1));
    assert_eq!(quality.timeout_ms(zone), quality::TIMEOUT_MS_UNKNOWN);
    quality.answered(20_000);
    assert_eq!((quality.rtt_us, quality.variation_us, quality.timeout_ms(zone)), (20_000, 10_000, 60));
    quality.answered(28_000);
    assert_eq!((quality.rtt_us, quality.variation_us), (21_000, 9_500));
    for _ in 0..200 {
        quality.answered(1_000);
    }
    assert_eq!(quality.timeout_ms(zone), quality::TIMEOUT_MS_MIN);
    quality.answered(u32::MAX);
    assert_eq!(quality.timeout_ms(zone), quality::TIMEOUT_MS_MAX);
}

#[test]
fn time_outs_back_off() {
    let (mut quality, zone) = (Quality::default(), ZoneMark::new(1));
    let now = Moment(5_000);
    let mut ends = Vec::new();
    for _ in 0..12 {
        quality.timed_out(zone, now);
        ends.push(quality.backoff_until.ms_since(now));
    }
    assert_eq!(ends[..5], [0, 0, 1_000, 2_000, 4_000]);
    assert_eq!(ends[11], quality::BACKOFF_MS_MAX);
    assert_eq!(quality.timeout_ms(zone), quality::TIMEOUT_MS_MAX);
    assert!(quality.is_backed_off(zone, now) && !quality.is_backed_off(zone, now.plus_ms(60_000)));
    quality.answered(10_000);
    assert!(!quality.is_backed_off(zone, now) && quality.timeouts == 0);
}

/// Who has a zone's queries dropped harms other zones of the server only where those see it too.
#[test]
fn one_zone_is_no_witness() {
    let (mut quality, zones) = (Quality::default(), [ZoneMark::new(1), ZoneMark::new(2)]);
    let now = Moment(5_000);
    (0..9).for_each(|_| quality.timed_out(zones[0], now));
    assert_eq!(
        zones.map(|zone| (quality.timeouts_for(zone), quality.is_backed_off(zone, now))),
        [(9, true), (0, false)]
    );
    quality.timed_out(zones[1], now);
    assert_eq!(zones.map(|zone| quality.is_backed_off(zone, now)), [true, true]);
    quality.is_there();
    assert_eq!(zones.map(|zone| quality.is_backed_off(zone, now)), [false, false]);
}

#[test]
fn outages_are_nobodys_fault() {
    let servers = servers(64 << 10);
    let zone = ZoneMark::new(1);
    for _ in 0..9 {
        servers.update(&address(1), Moment(5_000), |quality| {
            quality.rtt_us = 7;
            quality.timed_out(zone, Moment(5_000));
        });
    }
    assert!(servers.read(&address(1)).is_backed_off(zone, Moment(5_001)));
    servers.outage_ended(Moment(5_001));
    let quality = servers.read(&address(1));
    assert_eq!((quality.timeouts, quality.rtt_us, quality.is_backed_off(zone, Moment(5_001))), (0, 7, false));
}

#[test]
fn lame_for_a_zone_until_its_end() {
    let servers = servers(64 << 10);
    let zone = |text| NameBuf::from_text(text).expect("a name");
    let now = Moment(1_500);
    servers.set_lame(&address(1), &zone("example."), now, 10);
    let is_lame = |number, text, ms| servers.is_lame(&address(number), &zone(text), Moment(ms));
    assert!(is_lame(1, "example.", 1_500) && is_lame(1, "example.", 11_500));
    assert!(!is_lame(1, "example.", 12_000) && !is_lame(2, "example.", 1_500) && !is_lame(1, ".", 1_500));
    servers.set_lame(&address(1), &zone("example."), now, 0);
    assert!(!is_lame(1, "example.", 1_500));
    for number in 0..10_000 {
        servers.set_lame(&address(number), &zone("net."), now, 10 + number);
    }
    let known = (0..10_000).filter(|number| is_lame(*number, "net.", 1_500)).count();
    assert!((1..=512).contains(&known), "{known}");
    assert!(is_lame(9_999, "net.", 1_500));
}

/// Addresses that never answer have no row given up of a server that did lately.
#[test]
fn silence_displaces_nobody() {
    let servers = servers(64 << 10);
    for number in 0..50 {
        servers.update(&address(number), Moment(1_000), |quality| quality.answered(20_000));
    }
    let known = || (0..50).filter(|number| servers.read(&address(*number)).is_measured()).count();
    let before = known();
    for number in 1_000..20_000 {
        servers.update(&address(number), Moment(2_000), |quality| {
            quality.timed_out(ZoneMark::new(1), Moment(2_000))
        });
    }
    assert_eq!((known(), before), (50, 50));
}

/// Readers see a row as one writer left it.
#[test]
fn rows_are_never_torn() {
    let servers = servers(4 << 10);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let servers = &servers;
            scope.spawn(move || {
                for round in 0..20_000_u32 {
                    let value = round * 2 + writer;
                    servers.update(&address(round % 3), Moment(value.into()), |quality| {
                        *quality = Quality { rtt_us: value, variation_us: value, ..Quality::default() };
                        quality.backoff_until = Moment(value.into());
                    });
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..40_000_u32 {
                    let quality = servers.read(&address(round % 3));
                    assert_eq!(quality.rtt_us, quality.variation_us);
                    assert_eq!(quality.backoff_until, quality.updated);
                    assert_eq!(quality.updated.0, u64::from(quality.rtt_us));
                }
            });
        }
    });
}
