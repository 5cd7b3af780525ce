use super::*;
use crate::controller::Overrides;
use zone::Catalog;

fn controller(settings: &str) -> Controller {
    let settings = Settings::parse(std::path::Path::new("zonda.toml"), settings).unwrap();
    Controller::new(settings, Overrides::default()).unwrap()
}

/// A consumer whose fault it is.
struct Panics;

impl Consumer for Panics {
    fn wants(&self) -> sync::tap::Wants {
        sync::tap::Wants { one_in: 1, query_octets: 0, response_octets: 0, others: false }
    }

    fn is_urgent(&self) -> bool {
        false
    }

    fn take(&mut self, _: &observe::Told<'_>) {}

    fn hand_over(&mut self, _: Instant) {
        panic!("a fault, on purpose");
    }

    fn flush(&mut self) {}
}

/// What was on is on again after a fault, but not again and again at once.
#[test]
fn a_fault_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let controller = controller(&format!("[query-log]\noutput = \"file:{}\"\n", log.display()));
    let observing = &controller.observing;
    let (writer, tap) = sync::tap::ring(1 << 16);
    observing.observer.begin(&[tap], 1 << 16).unwrap();
    observing.note(&controller, &controller.change().settings);
    let has_reader = || writer.wants().is_some_and(|wants| wants.query_octets == u16::MAX);
    assert!(has_reader());
    let now = Instant::now();
    for (round, at, is_mended) in [(1, 0, true), (2, 59, false), (2, 60, true)] {
        if observing.observer.faults() < round {
            observing.observer.set(Slot::Top, Some(Box::new(Panics))).unwrap();
        }
        let until = Instant::now() + Duration::from_secs(5);
        while observing.observer.faults() < round {
            assert!(Instant::now() < until, "it goes on");
            std::thread::sleep(Duration::from_millis(1));
        }
        observing.mend(&controller, now + Duration::from_secs(at));
        assert_eq!(has_reader(), is_mended, "after {at} s");
    }
    observing.stop();
}

/// What was counted is told while a sink before takes its time, and its counts are among those.
#[test]
fn counts_are_told_while_a_sink_ends() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("collector");
    // Somebody who says nothing: the sink waits for an answer.
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let controller = controller(&format!("[dnstap]\noutput = \"unix:{}\"\n", socket.display()));
    let observing = &controller.observing;
    observing.note(&controller, &controller.change().settings);
    // It is to have connected.
    std::thread::sleep(Duration::from_millis(200));
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let off = scope.spawn(|| observing.command(&controller, Channel::Dnstap, Switch::Off).unwrap());
        while observing.sides.lock()[0].leaving.is_empty() && begun.elapsed() < END_PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(observing.observed().sinks[0].counts.made, 0);
        assert!(begun.elapsed() < END_PATIENCE / 2, "it waited for {:?}", begun.elapsed());
        assert_eq!(off.join().unwrap(), "dnstap is off");
        assert!(begun.elapsed() >= END_PATIENCE, "the sink did take its time");
    });
    assert!(observing.sides.lock()[0].leaving.is_empty());
}

/// The end of the server waits for a sink that an operator has put off a moment ago: what it has is not lost sooner than otherwise.
#[test]
fn the_end_waits_for_sinks_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("collector");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let controller = controller(&format!("[dnstap]\noutput = \"unix:{}\"\n", socket.display()));
    let observing = &controller.observing;
    observing.note(&controller, &controller.change().settings);
    std::thread::sleep(Duration::from_millis(200));
    std::thread::scope(|scope| {
        let begun = Instant::now();
        scope.spawn(|| observing.command(&controller, Channel::Dnstap, Switch::Off).unwrap());
        while observing.sides.lock()[0].leaving.is_empty() && begun.elapsed() < END_PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        observing.stop();
        assert!(begun.elapsed() >= END_PATIENCE, "it waited for {:?}", begun.elapsed());
        assert!(begun.elapsed() < 2 * END_PATIENCE, "it waited for {:?}", begun.elapsed());
    });
}

#[test]
fn settings_that_are_wrong() {
    let of = |text: &str| {
        let problems = Settings::parse(std::path::Path::new("zonda.toml"), text).err().unwrap_or_default();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for text in [
        "[dnstap]\noutput = \"unix:/run/a.sock\"\nmessages = [\"auth-query\", \"update-response\"]\n",
        "[dnstap]\noutput = \"tcp:127.0.0.1:6000\"\n",
        "[dnstap]\noutput = \"tcp:192.0.2.1:6000\"\nclear-text = true\n",
        "[query-log]\noutput = \"file:log\"\nzones = [\"example\", \".\"]\nrcodes = [\"NXDOMAIN\", \"dropped\"]\n",
    ] {
        assert_eq!(of(text), "", "{text}");
    }
    for (text, words) in [
        ("[dnstap]\noutput = \"udp:1\"\n", "zonda.toml:2:10: output: expected \"unix:PATH\""),
        ("[dnstap]\noutput = \"tcp:192.0.2.1:6000\"\n", "`clear-text = true`"),
        ("[dnstap]\nmessages = \"resolver\"\n", "zonda.toml:2:12: messages: expected some of auth-query"),
        ("[query-log]\noutput = \"tcp:127.0.0.1:6000\"\n", "output: expected \"file:PATH\""),
        ("[query-log]\nzones = \"a..b\"\n", "zones: expected names of zones"),
        ("[query-log]\nrcodes = [\"NXDOMAIN\", \"5\"]\n", "rcodes: expected response codes"),
    ] {
        assert!(of(text).contains(words), "{text}: {}", of(text));
    }
}

#[test]
fn nothing_is_found_where_there_are_no_zones() {
    let catalog = Catalog::new(7);
    let mut zones = OfCatalog { reader: catalog.reader(), key: SortKey::new() };
    let mut zone = NameRoom::new();
    assert!(!zones.find(Name::root(), rtype::DS, &mut zone));
}
