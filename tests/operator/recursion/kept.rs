//! What was learned, over restarts, upgrades, crashes and changes of settings.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zonda_tests::message::Query;
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::program;

use super::check;
use super::internet::{CACHE, Internet, Resolver, in_internet};
use crate::kit::text;

/// RD (RFC 1035 4.1.1).
const RECURSION_DESIRED: u16 = 0x0100;
const WWW: [&str; 1] = ["www.plain.org. IN A 192.0.2.9"];

fn kept_in(folder: &Path) -> String {
    format!("state-directory = \"{}\"\n", folder.display())
}

/// Has the resolver learn that so many names do not exist.
pub(super) fn fill(resolver: &Resolver, names: usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(resolver.at()).expect("a resolver");
    socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a time");
    let mut room = [0; 1500];
    let numbers: Vec<usize> = (0..names).collect();
    for some in numbers.chunks(50) {
        for number in some {
            let query = Query::new(&format!("n{number}.plain.org"), rtype::A).flags(RECURSION_DESIRED);
            socket.send(&query.octets()).expect("a query");
        }
        for _ in some {
            socket.recv(&mut room).expect("an answer");
        }
    }
}

/// How many entries a start took in, as its log says.
fn taken_in(resolver: &Resolver) -> usize {
    let of_log = || {
        let log = resolver.log();
        let line = log.lines().find(|line| line.contains(" took in ")).map(str::to_owned)?;
        let number = line.split(" took in ").nth(1)?.split(' ').next()?.replace(',', "");
        number.parse().ok()
    };
    await_or(|| resolver.log(), || of_log().is_some());
    of_log().unwrap_or(0)
}

#[test]
fn what_was_learned_outlives_a_restart() {
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        let more = kept_in(state.path());
        let resolver = internet.resolver(&more);
        check(&resolver.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &WWW);
        let written = resolver.ctl(&["cache", "write"]);
        assert!(written.ends_with(" entries written\n"), "{written}");
        drop(resolver);
        internet.end("plain.org.");
        let resolver = internet.resolver(&more);
        // While its servers are gone.
        check(&resolver.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &WWW);
        assert!(taken_in(&resolver) > 0);
        drop(resolver);
        fs::write(state.path().join("cache"), b"not a cache").expect("a file");
        let resolver = internet.resolver(&more);
        assert!(resolver.dig(&["www.signed.org", "A"]).contains("status: NOERROR"));
        assert!(resolver.log().contains("the cache begins empty"), "{}", resolver.log());
    });
}

/// How fast servers answer is known after a restart, before anybody is asked. (What proves that names do not exist, too; the zones here have a minimum of 5 s: `cache/restart-denials.scn`.)
#[test]
fn servers_outlive_a_restart() {
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        let more = kept_in(state.path());
        let resolver = internet.resolver(&more);
        for number in 0..4 {
            let name = format!("before-{number}.signed.org");
            check(&resolver.dig(&[&name, "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
        }
        let servers = |resolver: &Resolver| -> Vec<u64> {
            let said = resolver.ctl(&["--json", "servers", "signed.org"]);
            let of_line = |line: &str| {
                let line: serde_json::Value = serde_json::from_str(line).expect("a reply");
                line["rtt_us"].as_u64().expect("a number")
            };
            said.lines().map(of_line).collect()
        };
        let before = servers(&resolver);
        assert!(before.iter().any(|rtt_us| *rtt_us > 0), "{before:?}");
        drop(resolver);
        let resolver = internet.resolver(&more);
        assert!(taken_in(&resolver) > 0);
        assert_eq!(servers(&resolver), before);
    });
}

/// Files of others, and files that others can write, are none of ours.
#[test]
fn only_its_own_file_is_believed() {
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        let (more, file) = (kept_in(state.path()), state.path().join("cache"));
        let resolver = internet.resolver(&more);
        check(&resolver.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &WWW);
        drop(resolver);
        let mode = |path: &Path| fs::metadata(path).expect("the file").permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600, "written at the end, for the server alone");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).expect("other permissions");
        let resolver = internet.resolver(&more);
        assert!(resolver.log().contains("others may have written it"), "{}", resolver.log());
        assert!(!is_kept(&resolver, "www.plain.org"));
    });
}

/// Killed while the cache is written, again and again: each start has all of what a whole file says, and what was left is gone.
#[test]
fn killed_while_the_cache_is_written() {
    const NAMES: usize = 4_000;
    const FEW: usize = 40;
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        // A small one, as builds for tests write all of its memory at the start.
        let more = kept_in(state.path()) + "cache-octets = 16777216\n";
        let resolver = internet.resolver(&more);
        fill(&resolver, NAMES);
        drop(resolver);
        let (mut left_over, mut seed, mut of_first) = (0, std::process::id(), None);
        for round in 0..20 {
            let resolver = internet.resolver(&more);
            let names =
                fs::read_dir(state.path()).expect("a folder").map(|entry| entry.expect("a file").file_name());
            let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
            assert!(!names.contains(&"cache.new".into()), "{round}: {names:?}");
            // Where the machine is busy some of them could not be found out, which is not kept; what the first file had, each one after it has. A few
            // that live for seconds alone may have expired.
            let taken = taken_in(&resolver);
            let first = *of_first.get_or_insert(taken);
            assert!(first >= NAMES / 2, "{}", resolver.log());
            assert!(taken + FEW >= first, "{round}: {taken} of {first}: {}", resolver.log());
            assert!(!resolver.log().contains(" WARN "), "{round}: {}", resolver.log());
            let (is_over, config) = (AtomicBool::new(false), resolver.config());
            std::thread::scope(|scope| {
                let (is_over, config) = (&is_over, &config);
                for _ in 0..2 {
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) {
                            let mut command = Command::new(program());
                            command.args(["ctl", "--config", text(config), "cache", "write"]);
                            let _ = command.output();
                        }
                    });
                }
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                std::thread::sleep(Duration::from_micros(20_000 + u64::from(seed >> 16)));
                resolver.kill();
                is_over.store(true, Ordering::Relaxed);
            });
            left_over += usize::from(state.path().join("cache.new").exists());
        }
        assert!(left_over > 0, "none was killed while it wrote");
    });
}

/// The new program answers from what the old one has learned, from the first question on.
fn upgraded(internet: &mut Internet, more: &str) {
    let resolver = internet.resolver(more).with_successors();
    check(&resolver.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &WWW);
    check(&resolver.dig(&["www.signed.org", "TXT"]), "NOERROR", "qr rd ra ad", &[]);
    internet.end("plain.org.");
    for _ in 0..2 {
        let said = resolver.ctl(&["upgrade"]);
        assert!(said.contains("process"), "{said}");
        let said = resolver.dig(&["www.plain.org", "A"]);
        check(&said, "NOERROR", "qr rd ra", &WWW);
        assert!(!said.contains("EDE"), "fresh: {said}");
        assert!(resolver.ctl(&["cache", "show", "www.signed.org"]).contains("; TXT: no data, secure"));
    }
}

#[test]
fn an_upgrade_takes_the_cache_along_in_memory() {
    in_internet(|internet| upgraded(internet, ""));
}

#[test]
fn an_upgrade_takes_the_cache_along_in_a_file() {
    let state = tempfile::tempdir().expect("a folder");
    in_internet(|internet| upgraded(internet, &kept_in(state.path())));
}

/// Each server keeps what it learns in a folder of its own: a second one ends with the folder's name, as long as the first, or one that took over from it, runs.
#[test]
fn a_folder_is_one_servers_own() {
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        let more = kept_in(state.path());
        let first = internet.resolver(&more).with_successors();
        let refused = || {
            let other = internet.unasked_at("127.0.0.2", &more);
            let line = format!("state-directory {}: another server uses it", state.path().display());
            await_or(|| other.log(), || other.log().contains(&line));
            await_or(|| other.log(), || !other.is_running());
        };
        refused();
        assert!(first.ctl(&["upgrade"]).contains("process"), "{}", first.log());
        refused();
        assert!(first.ctl(&["cache", "write"]).ends_with(" entries written\n"), "{}", first.log());
        drop(first);
        let other = internet.resolver_at("127.0.0.2", &more);
        assert!(taken_in(&other) > 0);
    });
}

/// Has the settings end otherwise, and the server go by them: what it says.
fn reload(resolver: &Resolver, change: impl FnOnce(&str) -> String) -> String {
    let old = fs::read_to_string(resolver.config()).expect("settings");
    fs::write(resolver.config(), change(&old)).expect("settings");
    resolver.ctl(&["reload"])
}

fn is_kept(resolver: &Resolver, name: &str) -> bool {
    !resolver.ctl(&["cache", "show", name]).starts_with("nothing is kept of ")
}

#[test]
fn changed_settings_keep_the_cache() {
    in_internet(|internet| {
        let _forwarder = internet.resolver_at("127.0.0.2", "");
        let resolver = internet.resolver("ttl-max-seconds = 3600\n");
        let learn = |names: &[&str]| {
            for name in names {
                assert!(resolver.dig(&[name, "A"]).contains("status: NOERROR"), "{}", resolver.log());
                assert!(is_kept(&resolver, name));
            }
        };
        let both = ["www.plain.org", "www.signed.org"];
        learn(&both);
        let kept = || both.map(|name| is_kept(&resolver, name));
        // TTLs, for what is learned from now on.
        reload(&resolver, |old| old.replace("ttl-max-seconds = 3600", "ttl-max-seconds = 17"));
        assert_eq!(kept(), [true, true]);
        learn(&["out.signed.org"]);
        let left = resolver.ctl(&["cache", "show", "out.signed.org"]);
        assert!(["17", "16", "15"].iter().any(|ttl| left.contains(&format!(", {ttl} s left"))), "{left}");
        // Names that are answered from here, and back.
        let local = "[[local-zone]]\nname = \"plain.org\"\nkind = \"refuse\"\n";
        reload(&resolver, |old| old.to_owned() + local);
        check(&resolver.dig(&["www.plain.org", "A"]), "REFUSED", "qr rd ra", &[]);
        reload(&resolver, |old| old.replace(local, ""));
        assert_eq!(kept(), [true, true]);
        check(&resolver.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &WWW);
        // A forwarder for one of them, and none again.
        let forward = "[[forward]]\nname = \"plain.org\"\naddresses = [\"127.0.0.2\"]\n";
        reload(&resolver, |old| old.to_owned() + forward);
        assert_eq!(kept(), [false, true], "{}", resolver.log());
        assert!(resolver.log().contains("as these have changed: forwarded zones\n"), "{}", resolver.log());
        learn(&both);
        reload(&resolver, |old| old.replace(forward, ""));
        assert_eq!(kept(), [false, true]);
        learn(&both);
        // A stub, and other servers of it.
        let stub = |at: &str| format!("[[stub]]\nname = \"signed.org\"\naddresses = [\"{at}\"]\n");
        reload(&resolver, |old| old.to_owned() + &stub("127.0.3.1"));
        assert_eq!(kept(), [true, false]);
        learn(&both);
        reload(&resolver, |old| old.replace(&stub("127.0.3.1"), &stub("127.0.3.2")));
        assert_eq!(kept(), [true, false]);
        reload(&resolver, |old| old.replace(&stub("127.0.3.2"), ""));
        learn(&both);
        // A trust anchor more, of a zone that has none: what is below is proved anew.
        let ds =
            "plain.org. 3600 DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000\n";
        let anchors = internet.anchor();
        let text = fs::read_to_string(&anchors).expect("anchors");
        fs::write(&anchors, text.clone() + ds).expect("anchors");
        resolver.ctl(&["reload"]);
        assert_eq!(kept(), [false, true]);
        fs::write(&anchors, text).expect("anchors");
        resolver.ctl(&["reload"]);
        learn(&both);
        // More memory, and less: `resized`.
        for octets in [33_554_432, 8_388_608] {
            let line = format!("cache-octets = {octets}\n");
            let said = reload(&resolver, |old| old.replace(CACHE, &line));
            assert!(!said.contains("cache-octets"), "{said}");
            assert_eq!(kept(), [true, true]);
            reload(&resolver, |old| old.replace(&line, CACHE));
            assert_eq!(kept(), [true, true]);
        }
        let resolver = resolver.with_successors();
        resolver.ctl(&["upgrade"]);
        assert!(both.iter().all(|name| is_kept(&resolver, name)), "{}", resolver.log());
        // Not validated at all: everything.
        reload(&resolver, |old| old.replace("[resolver]\n", "[resolver]\nvalidate = false\n"));
        assert!(both.iter().all(|name| !is_kept(&resolver, name)), "{}", resolver.log());
    });
}

/// A start by other settings leaves out what does not hold by them, and nothing else.
#[test]
fn a_start_with_other_settings_keeps_the_rest() {
    in_internet(|internet| {
        let _forwarder = internet.resolver_at("127.0.0.2", "");
        let state = tempfile::tempdir().expect("a folder");
        let more = kept_in(state.path());
        let resolver = internet.resolver(&more);
        let both = ["www.plain.org", "www.signed.org"];
        both.iter().for_each(|name| drop(resolver.dig(&[name, "A"])));
        drop(resolver);
        let forward = "[[forward]]\nname = \"plain.org\"\naddresses = [\"127.0.0.2\"]\n";
        let resolver = internet.resolver(&format!("{more}{forward}"));
        assert_eq!(both.map(|name| is_kept(&resolver, name)), [false, true], "{}", resolver.log());
        // What is bogus is served while a negative anchor says so, which is kept as well; without it, that goes too.
        resolver.ctl(&["negative-anchor", "broken.org", "--seconds", "3600"]);
        assert!(resolver.dig(&["www.broken.org", "A"]).contains("status: NOERROR"));
        drop(resolver);
        let resolver = internet.resolver(&format!("{more}{forward}"));
        assert!(resolver.dig(&["www.broken.org", "A"]).contains("status: NOERROR"), "{}", resolver.log());
        assert!(
            is_kept(&resolver, "www.broken.org")
                && resolver.ctl(&["negative-anchor"]).contains("broken.org.")
        );
        drop(resolver);
        std::fs::remove_file(state.path().join("negative-anchors")).expect("a file");
        let resolver = internet.resolver(&format!("{more}{forward}"));
        assert!(resolver.dig(&["www.broken.org", "A"]).contains("status: SERVFAIL"), "{}", resolver.log());
        assert!(is_kept(&resolver, "www.signed.org"));
    });
}

#[test]
fn what_the_cache_says_of_itself() {
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        let more = kept_in(state.path());
        let stats = |resolver: &Resolver| -> serde_json::Value {
            serde_json::from_str(&resolver.ctl(&["--json", "cache", "stats"])).expect("one reply")
        };
        let resolver = internet.resolver(&more);
        (0..4).for_each(|_| check(&resolver.dig(&["www.plain.org", "A"]), "NOERROR", "qr rd ra", &WWW));
        let said = stats(&resolver);
        assert_eq!([&said["hits"], &said["misses"], &said["restored"]], [3, 1, 0], "{said}");
        let number = |what: &str| said[what].as_u64().expect("a number");
        assert!(number("entries") > 0 && number("puts") >= number("entries"), "{said}");
        let sizes = [number("entry_octets"), number("resident_octets"), number("octets")];
        assert!(sizes[0] > 0 && sizes.is_sorted() && sizes[2] <= 256 << 20, "{said}");
        drop(resolver);
        let resolver = internet.resolver(&more);
        let taken = taken_in(&resolver);
        assert_eq!(stats(&resolver)["restored"], taken);
        let text = resolver.ctl(&["cache", "stats"]);
        assert!(
            text.contains(&format!("\nrestored     {taken} entries kept from before the start\n")),
            "{text}"
        );
    });
}
