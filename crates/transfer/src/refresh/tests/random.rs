//! Anything that can happen, in any order.

use super::world::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    Wait(u32),
    Toggle(usize),
    Refuse(usize),
    Change,
    Lag(usize),
    Slow(usize, u32),
    Notify(usize, Option<u16>, bool),
    Refresh(usize),
    Retransfer(usize),
    Remove(usize),
    Add,
}

const SERVERS: usize = 3;

fn event() -> impl Strategy<Value = Event> {
    let server = 0..SERVERS;
    let zone = 0..1_000usize;
    prop_oneof![
        6 => prop_oneof![0..30u32, 30..4_000u32, 20_000..100_000u32].prop_map(Event::Wait),
        2 => server.clone().prop_map(Event::Toggle),
        1 => server.clone().prop_map(Event::Refuse),
        2 => Just(Event::Change),
        1 => server.clone().prop_map(Event::Lag),
        1 => (server.clone(), 0..10u32).prop_map(|(server, seconds)| Event::Slow(server, seconds)),
        3 => (zone.clone(), proptest::option::of(0..SERVERS as u16), any::<bool>())
            .prop_map(|(zone, sender, has_hint)| Event::Notify(zone, sender, has_hint)),
        1 => zone.clone().prop_map(Event::Refresh),
        1 => zone.clone().prop_map(Event::Retransfer),
        1 => zone.prop_map(Event::Remove),
        1 => Just(Event::Add),
    ]
}

/// Whatever happened before: once all primaries answer and agree, all zones are current within the longest pause there is; and when
/// all are silent, all expire in time.
fn check_all_become_current(events: Vec<Event>, zones: usize) -> Result<(), TestCaseError> {
    let mut world = World::new(SERVERS);
    let lists = [world.list(&[0]), world.list(&[1, 2]), world.list(&[2, 0, 1])];
    let mut present: Vec<_> = (0..zones).map(|number| world.add(lists[number % lists.len()])).collect();
    let mut serial = 1;
    for event in events {
        let of = |zone: usize| present.get(zone % present.len().max(1)).copied();
        match event {
            Event::Wait(seconds) => world.run(world.now + seconds),
            Event::Toggle(server) => world.servers[server].is_up ^= true,
            Event::Refuse(server) => world.servers[server].refuses = Some(5),
            Event::Change => {
                serial += 1;
                world.servers.iter_mut().for_each(|server| server.serial = serial);
            }
            Event::Lag(server) => world.servers[server].serial = 1,
            Event::Slow(server, seconds) => world.servers[server].latency = seconds,
            Event::Notify(zone, sender, has_hint) => {
                let hint = has_hint.then_some(serial);
                of(zone).map(|zone| world.schedule.notify(zone, sender, hint, world.now));
            }
            Event::Refresh(zone) => {
                of(zone).into_iter().for_each(|zone| world.schedule.refresh(zone, world.now))
            }
            Event::Retransfer(zone) => {
                of(zone).into_iter().for_each(|zone| world.schedule.retransfer(zone, world.now));
            }
            Event::Remove(zone) => {
                if !present.is_empty() {
                    let zone = present.swap_remove(zone % present.len());
                    world.schedule.remove(zone);
                }
            }
            Event::Add => present.push(world.add(lists[present.len() % lists.len()])),
        }
    }
    for server in &mut world.servers {
        prop_assert!(server.most_down <= 1);
        *server = Server { is_up: true, refuses: None, serial, latency: 0, ..server.clone() };
    }
    world.run(world.now + REFRESH + 60);
    for &zone in &present {
        prop_assert_eq!(world.schedule.serial(zone), Some(serial), "{}", world.words(zone));
        prop_assert!(!world.schedule.is_expired(zone));
    }
    world.servers.iter_mut().for_each(|server| server.is_up = false);
    world.expired.clear();
    let from = world.now;
    world.run(from + EXPIRE + 1);
    prop_assert_eq!(world.expired.len(), present.len());
    prop_assert!(present.iter().all(|zone| world.schedule.is_expired(*zone)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn all_become_current(events in proptest::collection::vec(event(), 1..60), zones in 1..200usize) {
        check_all_become_current(events, zones)?;
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        #[ignore = "long: make test-long"]
        fn all_become_current(events in proptest::collection::vec(event(), 1..60), zones in 1..200usize) {
            check_all_become_current(events, zones)?;
        }
    }
}
