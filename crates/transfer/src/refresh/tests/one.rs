//! One zone: what each event leads to.

use super::super::{Kept, PrimaryState, State};
use super::world::*;
use crate::incoming::Kind;
use wire::iana::rcode;

fn world(servers: usize) -> (World, u32) {
    let mut world = World::new(servers);
    let list = world.list(&(0..servers as u16).collect::<Vec<_>>());
    let zone = world.add(list);
    world.run(START);
    (world, zone)
}

#[test]
fn transferred_then_checked() {
    let (mut world, zone) = world(1);
    assert_eq!(world.schedule.serial(zone), Some(1));
    assert_eq!(world.jobs[0].1.kind, Kind::Axfr);
    world.servers[0].serial = 2;
    world.run(START + REFRESH);
    // The probe finds a newer one, and differences are asked for.
    let kinds: Vec<_> = world.jobs[1..].iter().map(|(_, job)| (job.kind, job.ours)).collect();
    assert_eq!(kinds, [(Kind::Soa, Some(1)), (Kind::Ixfr, Some(1))]);
    let at = world.jobs[1].0 - START;
    assert!((REFRESH - REFRESH / 4..=REFRESH).contains(&at), "{at}");
    assert_eq!(world.schedule.serial(zone), Some(2));
    assert_eq!(world.schedule.state(zone), State::Waiting);
}

#[test]
fn notify() {
    let (mut world, zone) = world(2);
    world.run(START + 100);
    assert!(!world.schedule.notify(zone, Some(1), Some(1), world.now), "a hint that is not newer");
    assert!(!world.schedule.notify(zone, Some(1), Some(0), world.now));
    world.servers[1].serial = 5;
    assert!(world.schedule.notify(zone, Some(1), Some(5), world.now));
    world.run(START + 100);
    // No probe is needed, and the sender is the one that is asked.
    let (at, job) = *world.jobs.last().unwrap();
    assert_eq!((world.jobs.len(), at, job.kind, job.primary), (2, START + 100, Kind::Ixfr, 1));
    assert_eq!(world.schedule.serial(zone), Some(5));
}

/// Features.md 2.1: a serial far ahead costs one question.
#[test]
fn notify_with_a_future_serial() {
    let (mut world, zone) = world(1);
    world.run(START + 100);
    assert!(world.schedule.notify(zone, Some(0), Some(0x7fff_ffff), world.now));
    world.run(START + 1_000);
    assert_eq!(world.jobs.len(), 2);
    world.servers[0].serial = 2;
    assert!(world.schedule.notify(zone, Some(0), Some(2), world.now));
    world.run(START + 1_001);
    assert_eq!(world.schedule.serial(zone), Some(2));
}

#[test]
fn many_notifies_are_one_question_a_second() {
    let (mut world, zone) = world(1);
    world.run(START + 10);
    let before = world.jobs.len();
    for tenth in 0..1_000 {
        world.schedule.notify(zone, Some(0), None, world.now);
        world.run(START + 10 + tenth / 100);
    }
    let asked = world.jobs.len() - before;
    assert!((9..=12).contains(&asked), "{asked}");
}

/// Who says what is so is heard at once, however often in a second; who does not waits for the next one.
#[test]
fn notifies_that_are_right_do_not_wait() {
    let (mut world, zone) = world(1);
    world.run(START + 10);
    for serial in 10..60 {
        world.servers[0].serial = serial;
        assert!(world.schedule.notify(zone, Some(0), Some(serial), world.now));
        world.run(START + 10);
        assert_eq!(world.schedule.serial(zone), Some(serial));
    }
    let before = world.jobs.len();
    for _ in 0..10 {
        assert!(world.schedule.notify(zone, Some(0), Some(1_000), world.now));
        world.run(START + 10);
    }
    assert_eq!(world.jobs.len() - before, 1);
    // Neither does one that is right cost a second twice.
    world.servers[0].serial = 60;
    world.run(START + 11);
    assert_eq!(world.schedule.serial(zone), Some(60));
}

#[test]
fn one_more_after_the_present_one() {
    let (mut world, zone) = world(1);
    world.servers[0].latency = 5;
    world.run(START + 10);
    world.schedule.refresh(zone, world.now);
    world.run(START + 11);
    assert_eq!(world.schedule.state(zone), State::Asking);
    for _ in 0..10 {
        assert!(world.schedule.notify(zone, None, None, world.now));
    }
    world.run(START + 100);
    assert_eq!(world.jobs.len(), 3);
}

#[test]
fn a_primary_that_is_behind() {
    let (mut world, zone) = world(2);
    world.servers[0].serial = 7;
    world.schedule.refresh(zone, world.now);
    world.run(START + 1);
    assert_eq!(world.schedule.serial(zone), Some(7));
    world.servers[0].serial = 5;
    world.servers[1].serial = 5;
    world.schedule.refresh(zone, world.now);
    world.run(START + 3);
    assert!(
        world.words(zone).contains("server 192.0.2.2#53 says serial 5, which is behind ours, 7"),
        "{}",
        world.words(zone)
    );
    // Neither answer makes it younger; when it is void, what there is is taken.
    world.run(START + EXPIRE + 2);
    assert_eq!(world.expired, [(START + EXPIRE, zone)]);
    assert_eq!((world.schedule.serial(zone), world.schedule.is_expired(zone)), (Some(5), false));
    assert_eq!(world.told.len(), 1);
    // A command takes what there is at any time.
    world.servers.iter_mut().for_each(|server| server.serial = 3);
    world.schedule.retransfer(zone, world.now);
    world.run(START + EXPIRE + 3);
    assert_eq!((world.schedule.serial(zone), world.schedule.is_expired(zone)), (Some(3), false));
    let words = world.words(zone);
    let begin = "serial 3, checked 1 s ago by 192.0.2.1#53, expires in 23 h; asks 192.0.2.1#53 in ";
    assert!(words.starts_with(begin), "{words}");
}

#[test]
fn failover_and_back() {
    let (mut world, zone) = world(3);
    world.servers[0].refuses = Some(rcode::REFUSED);
    world.servers[1].is_up = false;
    for server in &mut world.servers {
        server.serial = 2;
    }
    world.schedule.refresh(zone, world.now);
    world.run(START + 1 + 2 * LOST_AFTER);
    assert_eq!(world.schedule.serial(zone), Some(2));
    let asked: Vec<_> = world.jobs[1..].iter().map(|(_, job)| job.primary).collect();
    // The first refuses the datagram, and the transfer too; the second is down by a datagram, then over TCP.
    assert_eq!(asked, [0, 0, 1, 1, 2, 2]);
    // The next check begins with the one that served it.
    world.run(START + REFRESH + 100);
    assert_eq!(world.jobs.last().unwrap().1.primary, 2);
}

#[test]
fn refused_by_all() {
    let (mut world, zone) = world(2);
    for server in &mut world.servers {
        server.refuses = Some(rcode::REFUSED);
    }
    world.schedule.refresh(zone, world.now);
    world.run(START + EXPIRE);
    // Retry, doubled up to refresh: of each a datagram and a transfer a round.
    let rounds = (world.jobs.len() - 1) / 4;
    assert!((20..40).contains(&rounds), "{rounds}");
    assert_eq!(world.expired, [(START + EXPIRE, zone)]);
    assert!(world.words(zone).contains("says REFUSED"), "{}", world.words(zone));
}

/// One that answers no datagrams is probed over TCP, and looked at now and then whether it takes them again.
#[test]
fn no_datagrams() {
    let (mut world, zone) = world(1);
    world.servers[0].has_udp = false;
    world.servers[0].serial = 2;
    let jobs = |world: &World| world.jobs.iter().map(|(_, job)| (job.kind, job.is_udp)).collect::<Vec<_>>();
    world.run(START + REFRESH + LOST_AFTER + 1);
    let (lost, asked) = ((Kind::Soa, true), (Kind::Soa, false));
    assert_eq!(jobs(&world)[1..], [lost, asked, (Kind::Ixfr, false)]);
    assert_eq!(world.schedule.serial(zone), Some(2));
    assert_eq!(world.schedule.primary_state(0), Some(PrimaryState::Up));
    // One more is lost, and then none for a while.
    world.schedule.refresh(zone, world.now);
    world.run(world.now + LOST_AFTER + 1);
    for _ in 0..5 {
        world.schedule.refresh(zone, world.now);
        world.run(world.now + 1);
    }
    assert_eq!(jobs(&world)[4..], [lost, asked, asked, asked, asked, asked, asked]);
    // Mended.
    world.servers[0].has_udp = true;
    world.run(world.now + 2 * REFRESH);
    assert!(jobs(&world)[11..].iter().all(|job| *job == lost), "{:?}", jobs(&world));
}

/// Ten thousand zones of such a one are all checked, by few connections at a time.
#[test]
fn many_zones_without_datagrams() {
    let mut world = World::new(1);
    let list = world.list(&[0]);
    world.servers[0].has_udp = false;
    world.servers[0].latency = 1;
    for _ in 0..1_000 {
        world.add(list);
    }
    world.run(START + 200);
    (world.servers[0].serial, world.servers[0].most) = (2, 0);
    let zones = 0..1_000;
    zones.clone().for_each(|zone| world.schedule.refresh(zone, world.now));
    let began = world.now;
    world.run(began + 400);
    assert!(zones.clone().all(|zone| world.schedule.serial(zone) == Some(2)));
    assert!(world.servers[0].most <= 8 + 8, "{}", world.servers[0].most);
}

#[test]
fn expires_and_is_served_again() {
    let (mut world, zone) = world(1);
    world.servers[0].is_up = false;
    world.run(START + EXPIRE - 1);
    assert!(world.expired.is_empty() && !world.schedule.is_expired(zone));
    world.run(START + 2 * EXPIRE);
    assert_eq!(world.expired, [(START + EXPIRE, zone)]);
    assert!(world.words(zone).contains("does not answer"), "{}", world.words(zone));
    world.servers[0].is_up = true;
    world.run(START + 2 * EXPIRE + 20);
    assert_eq!(world.told.len(), 1);
    // Nothing is held that it could be the same as.
    assert_eq!(world.jobs.last().map(|(_, job)| (job.kind, job.ours)), Some((Kind::Axfr, None)));
}

/// One that nobody lets have it is asked for as one without data once it is void: it fails those who ask.
#[test]
fn expired_zones_are_asked_for_sooner() {
    let (mut world, _) = world(1);
    world.servers[0].refuses = Some(rcode::REFUSED);
    world.run(START + EXPIRE);
    let before = world.jobs.len();
    world.run(START + EXPIRE + REFRESH);
    let rounds = world.jobs.len() - before;
    assert!((10..40).contains(&rounds), "{rounds}");
}

/// An operator who has mended a primary does not wait until it is asked again by itself.
#[test]
fn a_command_asks_one_that_is_down() {
    let (mut world, zone) = world(1);
    (world.servers[0].is_up, world.servers[0].serial) = (false, 2);
    world.run(START + EXPIRE / 2);
    // Between two questions.
    let next = |world: &World| match world.schedule.primary_state(0) {
        Some(PrimaryState::Down { next, .. }) => next,
        state => panic!("{state:?}"),
    };
    while next(&world) <= world.now + 3 {
        world.run(world.now + 1);
    }
    world.servers[0].is_up = true;
    world.schedule.refresh(zone, world.now);
    world.run(world.now + 2);
    assert_eq!(world.schedule.serial(zone), Some(2));
}

/// RFC 7314 4.
#[test]
fn expire_option() {
    let (mut world, zone) = world(1);
    let left = |world: &World| world.schedule.kept(zone, world.now, 1_000_000).unwrap().expires - 1_000_000;
    assert_eq!(left(&world), EXPIRE.into());
    world.run(START + 1_000);
    // Less than what is left changes nothing; more counts, but no more than the SOA record says.
    for (option, expected) in [(10, EXPIRE - 1_000), (EXPIRE - 500, EXPIRE - 500), (u32::MAX, EXPIRE)] {
        world.servers[0].expire = Some(option);
        world.schedule.refresh(zone, world.now);
        world.run(world.now);
        assert_eq!(left(&world), expected.into());
    }
    // What was transferred is as old as it was there.
    world.servers[0] = Server { serial: 2, expire: Some(500), ..world.servers[0].clone() };
    world.schedule.refresh(zone, world.now);
    world.run(world.now);
    assert_eq!(left(&world), 500);
}

/// Where differences are of no use now all of the zone is had at once, of the same primary; the next time they are asked for again.
#[test]
fn differences_that_cannot_be_taken() {
    let (mut world, zone) = world(2);
    let transfers = |world: &World| -> Vec<(Kind, u16)> {
        let jobs = world.jobs[1..].iter().filter(|(_, job)| job.kind != Kind::Soa);
        jobs.map(|(_, job)| (job.kind, job.primary)).collect()
    };
    for server in &mut world.servers {
        (server.serial, server.is_followed) = (2, false);
    }
    world.schedule.refresh(zone, world.now);
    world.run(START + 1);
    assert_eq!(transfers(&world), [(Kind::Ixfr, 0), (Kind::Axfr, 0)]);
    assert_eq!(world.schedule.serial(zone), Some(2));
    for server in &mut world.servers {
        (server.serial, server.is_followed) = (3, true);
    }
    world.schedule.refresh(zone, world.now);
    world.run(START + 2);
    assert_eq!(transfers(&world)[2..], [(Kind::Ixfr, 0)]);
}

#[test]
fn plainer_questions() {
    let (mut world, zone) = world(1);
    world.servers[0] = Server { serial: 2, knows_edns: false, knows_ixfr: false, ..world.servers[0].clone() };
    world.schedule.refresh(zone, world.now);
    world.run(START + 1);
    let asked: Vec<_> = world.jobs[1..].iter().map(|(_, job)| (job.kind, job.has_edns)).collect();
    assert_eq!(asked, [(Kind::Soa, true), (Kind::Soa, false), (Kind::Ixfr, false), (Kind::Axfr, false)]);
    assert_eq!(world.schedule.serial(zone), Some(2));
    // Remembered.
    world.servers[0].serial = 3;
    world.schedule.refresh(zone, world.now);
    world.run(START + 2);
    let asked: Vec<_> = world.jobs[5..].iter().map(|(_, job)| (job.kind, job.has_edns)).collect();
    assert_eq!(asked, [(Kind::Soa, false), (Kind::Axfr, false)]);
}

#[test]
fn age_across_a_restart() {
    let unix = 2_000_000;
    let kept = Kept { checked: unix - 1_000, expires: unix + 5_000 };
    let mut world = World::new(1);
    world.servers[0].is_up = false;
    let list = world.list(&[0]);
    let zone = world.add_held(list, 1, kept, unix);
    assert_eq!(world.schedule.kept(zone, world.now, unix), Some(kept));
    // It is checked within a minute, as a NOTIFY may have been missed.
    world.run(START + 60);
    assert_eq!(world.jobs[0].1.kind, Kind::Soa);
    world.run(START + 10_000);
    assert_eq!(world.expired, [(START + 5_000, zone)]);
    // A clock that stands before: asked at once, and no age is believed.
    let early = world.add_held(list, 1, kept, 5);
    world.servers[0].is_up = true;
    assert!(!world.schedule.is_expired(early));
    let late = world.add_held(list, 1, kept, unix + 6_000);
    world.run(world.now + 20);
    assert!(!world.schedule.is_expired(early) && !world.schedule.is_expired(late));
    assert_eq!(world.expired.last().unwrap().1, late);
}

/// Nobody knows how old a zone is that was checked in the future: it is asked for at once, not within a minute.
#[test]
fn a_clock_that_stands_before() {
    let mut world = World::new(1);
    let list = world.list(&[0]);
    let kept = Kept { checked: 2_000_000, expires: 2_050_000 };
    let zones: Vec<_> = (0..8).map(|_| world.add_held(list, 1, kept, 5)).collect();
    world.run(START);
    assert_eq!(world.jobs.len(), zones.len());
    assert!(zones.iter().all(|zone| !world.schedule.is_expired(*zone)));
}

#[test]
fn removed_while_asked() {
    let (mut world, zone) = world(1);
    world.servers[0].latency = 3;
    world.schedule.refresh(zone, world.now);
    world.run(START + 1);
    world.schedule.remove(zone);
    world.schedule.remove(zone);
    let list = world.list(&[0]);
    let other = world.add(list);
    assert_ne!(other, zone, "its job is under way");
    world.run(START + 100);
    assert_eq!(world.schedule.serial(other), Some(1));
    assert_eq!(world.add(list), zone);
}
