//! A catalog of very many members, made here and taken there: what `docs/design/catalog-zones.md` 5 promises, in small.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// As many as a large provider of zones has on a small server.
const MEMBERS: usize = 20_000;
/// Longest wait for all of them.
const ALL: Duration = Duration::from_secs(120);
/// A query is answered at least so soon whatever else goes on, on a machine that has too much to do.
const ANSWER_MAX: Duration = Duration::from_millis(1_500);

fn member(number: usize) -> String {
    format!("m{number}.c{}.customers.test.", number % 100)
}

fn names(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|number| member(number) + "\n").collect()
}

/// Asks both servers for a zone that has nothing to do with it, until told to stop; how often, and the longest wait.
fn ask_until(servers: [SocketAddr; 2], is_over: &AtomicBool) -> (usize, Duration) {
    let (mut asked, mut longest) = (0, Duration::ZERO);
    while !is_over.load(Ordering::Relaxed) {
        for server in servers {
            let query = Query::new("one.member.test.", rtype::SOA).octets();
            let began = Instant::now();
            let answer = udp_within(server, &query, Duration::from_secs(10)).expect("a socket");
            assert!(answer.is_some_and(|answer| answer[3] & 15 == 0), "no answer of {server}");
            (asked, longest) = (asked + 1, longest.max(began.elapsed()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (asked, longest)
}

#[track_caller]
fn await_members(server: &Zonda, count: usize) {
    let until = Instant::now() + ALL;
    // With the catalog, and the zone beside it.
    let text = format!("zones     {},{:03} loaded\n", (count + 2) / 1000, (count + 2) % 1000);
    loop {
        let (_, said) = server.ctl(&["status"]);
        if said.contains(&text) {
            return;
        }
        assert!(Instant::now() < until, "{text}{said}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: make test-long"]
    fn twenty_thousand_members_come_and_go() {
        let address = free_address();
        let there = format!(
            "pack-directory = \"HOME/packs\"\n[access]\ntransfer = \"all\"\n[[remote]]\nname = \"other\"\naddresses = [\"{address}\"]\n\
             [[zone]]\nname = \"{CATALOG}\"\nmake-catalog = true\nnotify = \"other\"\n\
             [[zone]]\nnames-file = \"HOME/names\"\nfile = \"HOME/same\"\ncatalog = \"{CATALOG}\"\ngroup = \"open\"\n\
             [[zone]]\nname = \"one.member.test.\"\nfile = \"HOME/same\"\n"
        );
        let files = [("names", &*names(0..MEMBERS)), ("same", &zone_text(1))];
        let there = Zonda::start(free_address(), &there, &files);
        let more =
            "[[zone]]\nname = \"one.member.test.\"\nfile = \"HOME/same\"\n[access]\nnotify = \"all\"\n";
        // None of them was there when the hour began by which losses are counted.
        let settings = consumer(there.address, "remove-max = \"any\"\n", more);
        let mut here = Zonda::start(address, &settings, &[("same", &zone_text(1))]);
        await_that("the zone beside it", || {
            [there.address, address].iter().all(|server| is_served(*server, "one.member.test."))
        });
        let is_over = AtomicBool::new(false);
        let (asked, longest) = std::thread::scope(|scope| {
            let asker = scope.spawn(|| ask_until([there.address, address], &is_over));
            let work = || {
                await_members(&here, MEMBERS);
                // A twentieth of them goes and as many come.
                write(there.folder.path(), "names", &names(MEMBERS / 20..MEMBERS + MEMBERS / 20));
                assert!(there.ctl(&["reload"]).0);
                let last = member(MEMBERS + MEMBERS / 20 - 1);
                await_that("those that come", || is_served(address, &last));
                await_that("those that go", || is_refused(address, &member(0)));
                await_members(&here, MEMBERS);
                // One of so many is there at once.
                let before = Instant::now();
                write(there.folder.path(), "names", &names(MEMBERS / 20..MEMBERS + MEMBERS / 20 + 1));
                assert!(there.ctl(&["reload"]).0);
                await_that("one more", || is_served(address, &member(MEMBERS + MEMBERS / 20)));
                before.elapsed()
            };
            let one = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            is_over.store(true, Ordering::Relaxed);
            let said = asker.join().expect("answers");
            eprintln!("one more after {:?}", one.expect("members"));
            said
        });
        eprintln!("{asked} queries, the longest took {longest:?}");
        assert!(longest < ANSWER_MAX, "{longest:?}");
        // What was kept is served after a start, and not transferred again.
        let before = here.log().len();
        here.start_again(&settings);
        await_members(&here, MEMBERS + 1);
        std::thread::sleep(MOMENT);
        let log = here.log();
        let log = log.get(before..).filter(|_| log.len() > before).unwrap_or(&log);
        assert!(
            !log.contains("all of it"),
            "{}",
            log.lines().filter(|line| line.contains("all of it")).count()
        );
        assert!(is_served(address, &member(MEMBERS / 2)) && is_refused(address, &member(1)));
    }
}
