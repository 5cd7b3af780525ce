//! Many zones: nobody is drowned, nobody starves.

use super::super::{ARRIVED_MAX, Action, Answer, Settings, State, Told};
use super::world::*;
use crate::incoming::{Fault, Place, Stop};

/// All zones of a primary that was away for an hour, once it is back.
#[test]
fn a_primary_that_comes_back() {
    const ZONES: u32 = 10_000;
    let mut world = World::new(1);
    let list = world.list(&[0]);
    for _ in 0..ZONES {
        world.add(list);
    }
    world.run(START + 10);
    world.servers[0].is_up = false;
    world.run(START + 2 * REFRESH);
    world.servers[0].asked = 0;
    world.run(START + 3 * REFRESH);
    // One question each ten seconds, whatever the number of zones.
    assert!(world.servers[0].asked <= 370, "{}", world.servers[0].asked);
    assert_eq!(world.servers[0].most_down, 1);
    world.servers[0] = Server { is_up: true, serial: 2, latency: 1, most: 0, ..world.servers[0].clone() };
    let back = world.now;
    // A round takes a second here: 64 probes, and 8 transfers beside them.
    world.run(back + 16 + ZONES / 8 + ZONES / 64);
    assert!((0..ZONES).all(|zone| world.schedule.serial(zone) == Some(2)));
    let most = Settings::default();
    assert!(world.servers[0].most <= usize::from(most.probes.1 + most.transfers.1));
}

/// Zones with a second primary do not wait for the first.
/// Zones that have come take no places from others while they wait for the disk; but no more of them wait than may.
#[test]
fn what_has_come_waits_elsewhere() {
    let mut world = World::new(1);
    let list = world.list(&[0]);
    for _ in 0..2_000 {
        world.add(list);
    }
    let schedule = &mut world.schedule;
    let mut jobs = Vec::new();
    while let Some(Action::Start(job)) = schedule.poll(START, &mut || 7) {
        assert!(schedule.running().1 <= 8);
        schedule.arrived(&job);
        jobs.push(job);
    }
    assert_eq!((jobs.len(), schedule.running().1), (ARRIVED_MAX.into(), 0));
    let answer = Answer::Transferred { soa: soa(1), expire: None };
    for job in &jobs {
        assert_eq!(schedule.state(job.zone), State::Arrived);
        assert_eq!(schedule.done(job, &answer, START, &mut || 7), Told::Checked);
    }
    // One that stops at the end is as one that stops before.
    let Some(Action::Start(job)) = schedule.poll(START, &mut || 7) else { panic!("no job") };
    schedule.arrived(&job);
    let stop = Stop { fault: Fault::NoZone, place: Place::default() };
    assert_eq!(schedule.done(&job, &Answer::Stopped(stop), START, &mut || 7), Told::Nothing);
    assert_eq!((schedule.state(job.zone), schedule.running()), (State::Waiting, (0, 0)));
}

#[test]
fn others_take_over() {
    const ZONES: u32 = 5_000;
    let mut world = World::new(2);
    let list = world.list(&[0, 1]);
    for _ in 0..ZONES {
        world.add(list);
    }
    world.run(START + 10);
    world.servers[0].is_up = false;
    world.servers[1].serial = 2;
    (0..ZONES).for_each(|zone| world.schedule.refresh(zone, world.now));
    world.run(START + 10 + 2 * LOST_AFTER);
    assert!((0..ZONES).all(|zone| world.schedule.serial(zone) == Some(2)));
}

/// A slow primary with many zones takes its own places only.
#[test]
fn a_slow_primary_harms_itself_alone() {
    let mut world = World::new(2);
    let (slow, fast) = (world.list(&[0]), world.list(&[1]));
    world.servers[0].latency = 5;
    for _ in 0..5_000 {
        world.add(slow);
    }
    world.run(START + 5);
    let zones: Vec<_> = (0..1_000).map(|_| world.add(fast)).collect();
    world.run(START + 6);
    assert!(zones.iter().all(|zone| world.schedule.serial(*zone) == Some(1)));
}

/// Those that are merely due come too, however many others are urgent.
#[test]
fn routine_zones_do_not_starve() {
    let mut world = World::new(1);
    let list = world.list(&[0]);
    let zones: Vec<_> = (0..2_000).map(|_| world.add(list)).collect();
    world.run(START + 10);
    world.servers[0].latency = 1;
    let (routine, urgent) = zones.split_at(100);
    let jobs = world.jobs.len();
    for second in 0..2 * REFRESH {
        for _ in 0..100 {
            let zone = urgent[(second as usize * 37) % urgent.len()];
            world.schedule.notify(zone, None, None, world.now);
        }
        for zone in urgent.iter().skip(second as usize % 16).step_by(16) {
            world.schedule.notify(*zone, None, None, world.now);
        }
        world.run(START + 11 + second);
    }
    for zone in routine {
        let times: Vec<_> =
            world.jobs[jobs..].iter().filter(|(_, job)| job.zone == *zone).map(|(at, _)| *at).collect();
        assert!(times.len() >= 2, "{times:?}");
    }
}

/// A million zones of a thousand primaries, all checked within a minute of the start.
mod long {
    use super::super::super::Kept;
    use super::*;

    #[test]
    #[ignore = "long"]
    fn a_million_zones() {
        const ZONES: u32 = 1_000_000;
        const PRIMARIES: u16 = 1_000;
        let unix = 2_000_000_000;
        let kept = Kept { checked: unix - 10, expires: unix + u64::from(EXPIRE) };
        let mut world = World::new(PRIMARIES.into());
        let lists: Vec<_> = (0..PRIMARIES).map(|primary| world.list(&[primary])).collect();
        for zone in 0..ZONES {
            world.add_held(lists[zone as usize % lists.len()], 1, kept, unix);
        }
        world.servers.iter_mut().for_each(|server| server.serial = 2);
        world.run(START + 60);
        assert!((0..ZONES).all(|zone| world.schedule.serial(zone) == Some(2)));
        assert_eq!(world.jobs.len(), 2 * ZONES as usize);
    }
}
