//! The larger Internet: names are found in it, the same each time, whatever is lost.

use sim::generated::{Wanted, generated, names_seen};
use sim::naive::Naive;
use sim::tested::Setup;
use sim::time::Time;
use sim::truth::Truth;
use sim::world::Question;
use sim::{Behaviour, Reply, World};
use wire::iana::rcode;

const WANTED: Wanted = Wanted {
    seed: 7,
    signed_percent: 0,
    bogus_percent: 0,
    has_ipv6: true,
    lame_percent: 0,
    now: sim::BEGIN_UNIX_SECONDS,
    addresses_a_group: 0,
    first_address: sim::generated::FIRST_ADDRESS,
};

/// Asks all of a few hundred names while `behaviour` is what every server does; returns how many were found, how many failed.
fn ask(names: usize, behaviour: Option<&str>) -> (usize, usize) {
    let seen: Vec<_> = names_seen().into_iter().step_by(8_000 / names).collect();
    let generated = generated(&WANTED, &seen);
    let zones = generated.plan.complete().expect("zones");
    let mut truth = Truth::of(&zones);
    let mut internet = generated.plan.internet().expect("servers");
    let all: Vec<String> = internet.servers().iter().map(|server| server.name.clone()).collect();
    for name in behaviour.iter().flat_map(|_| &all) {
        let behaviour: Behaviour = behaviour.unwrap_or("drop").parse().expect("a behaviour");
        internet.behave(name, behaviour).expect("a server");
    }
    let setup = Setup {
        hints: internet.hints(),
        anchors: Vec::new(),
        settings: Vec::new(),
        stored: None,
        time: Time::begin(),
    };
    let mut resolver = Naive::boxed(&setup).expect("no settings");
    let mut world = World::new(internet, 1);
    world.rules.leave_out("one-open"); // the small resolver asks for each client anew
    let tickets: Vec<_> = generated
        .names
        .iter()
        .enumerate()
        .map(|(at, (name, qtype))| {
            world.ask_after(at as u64 * 10_000, &Question::new(&name.to_string(), *qtype))
        })
        .collect();
    world.run_until(&mut *resolver, 3_600_000_000).expect("no circle");
    assert_eq!(world.rules.broken, Vec::<String>::new());
    assert_eq!(resolver.open_count(), 0);
    let (mut found, mut failed) = (0, 0);
    for ticket in tickets {
        let [answer] = world.answers(ticket) else { panic!("answers: {:?}", world.answers(ticket)) };
        let reply = Reply::read(&answer.octets).expect("an answer that can be read");
        if let Some(fault) = truth.fault_of(&reply) {
            panic!("{fault}");
        }
        match reply.rcode {
            rcode::SERVFAIL => failed += 1,
            _ => found += 1,
        }
    }
    (found, failed)
}

#[test]
fn names_are_found() {
    let (found, failed) = ask(400, None);
    assert!(found > 350 && failed == 0, "{found} found, {failed} failed");
}

#[test]
fn nothing_is_wrong_where_much_is_lost() {
    let (found, failed) = ask(200, Some("drop share 20%"));
    assert!(found > 100, "{found} found, {failed} failed");
}

#[test]
fn the_same_seed_is_the_same_internet() {
    let seen: Vec<_> = names_seen().into_iter().step_by(100).collect();
    let wanted = Wanted { signed_percent: 30, bogus_percent: 10, ..WANTED };
    let texts = || {
        let plan = generated(&wanted, &seen).plan;
        let text = |zone: &sim::scenario::ZonePlan| format!("{} {} {:?}", zone.apex, zone.text, zone.signing);
        plan.zones.iter().map(text).collect::<Vec<_>>()
    };
    let first = texts();
    assert_eq!(first, texts());
    assert!(first.len() > 60);
}

/// The exported folder has a file for each zone that the servers' lines name, and the anchor of a signed root.
#[test]
fn exported() {
    let seen: Vec<_> = names_seen().into_iter().step_by(200).collect();
    let wanted = Wanted { signed_percent: 30, bogus_percent: 10, ..WANTED };
    let generated = generated(&wanted, &seen);
    let folder = std::env::temp_dir().join(format!("sim-export-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    sim::export::export(&generated, &folder).expect("written");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    assert!(read("anchor").contains(" DS ") && read("hints").contains("a.root-servers.net."));
    assert_eq!(read("names").lines().count(), generated.names.len());
    let mut zones = 0;
    for line in read("servers").lines() {
        for zone in line.split(' ').skip(2) {
            let name = sim::export::file_name(&zone.parse::<wire::NameBuf>().expect("a name"));
            assert!(read(&format!("zones/{name}")).contains(" SOA "), "{zone}");
            zones += 1;
        }
    }
    assert!(zones > generated.plan.zones.len());
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// The comparison with the truth finds what is changed on the way.
#[test]
#[should_panic(expected = "where it is")]
fn what_is_tampered_with_is_found() {
    ask(100, Some("tamper A share 20%"));
}
