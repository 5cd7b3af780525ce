//! The log: one that cannot be written costs lines and nothing else; events for people and for programs.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::{Duration, Instant};

use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_some};
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, Kind, Server, ctl, free_address, program, settings, signal, write};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, folder, text, zonda};

/// Runs `zonda serve` of `zone` by a shell line, which sets its environment and standard error up.
fn serve(scratch: &tempfile::TempDir, line: &str) -> (Guarded, std::net::SocketAddr) {
    let address = free_address();
    let zone = format!("example.={}", text(&scratch.path().join("example.zone")));
    let mut command = Command::new("sh");
    let script = format!("{line} exec \"$0\" \"$@\" 2>\"$ERRORS\"");
    let errors = if line.contains("ERRORS=") { String::new() } else { "ERRORS=errors; ".into() };
    command.args(["-c", &format!("{errors}{script}")]).arg(program());
    command.args(["serve", "--listen", &address.to_string(), "--workers", "1", "--zone", &zone]);
    command.current_dir(scratch.path());
    (Guarded::spawn(command, scratch.path()), address)
}

/// Waits until `www.example.` has this last octet in its address.
fn await_address(process: &Guarded, address: std::net::SocketAddr, last: u8) {
    let query = Query::new("www.example.", rtype::A).octets();
    await_or(
        || format!("192.0.2.{last} is not answered"),
        || {
            assert!(process.is_running(), "it ends before 192.0.2.{last} is answered");
            let answer = udp_within(address, &query, Duration::from_millis(200)).ok().flatten();
            answer.is_some_and(|answer| answer.windows(4).any(|octets| octets == [192, 0, 2, last]))
        },
    );
}

#[test]
fn a_full_disk_changes_nothing() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let (mut process, address) = serve(&scratch, "ERRORS=/dev/full;");
    await_address(&process, address, 2);
    for last in [12, 13, 14, 15] {
        let zone = SOUND.replace("192.0.2.2", &format!("192.0.2.{last}"));
        fs::write(scratch.path().join("example.zone"), zone).expect("a zone file");
        signal(process.pid(), "HUP");
        await_address(&process, address, last);
    }
    signal(process.pid(), "TERM");
    assert_eq!(process.wait(Duration::from_secs(10)).expect("an end").code(), Some(0));
}

#[test]
fn the_watchdog_is_fed_however_many_signals_come() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let path = scratch.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_millis(100))).expect("a time limit");
    let environment = format!("export NOTIFY_SOCKET='{}' WATCHDOG_USEC=1000000;", path.display());
    let (process, address) = serve(&scratch, &environment);
    await_address(&process, address, 2);
    // A signal each tenth of a second, where the watchdog is to be told each half.
    let (mut heard, mut message) = (0, [0; 256]);
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        signal(process.pid(), "HUP");
        let due = Instant::now() + Duration::from_millis(100);
        while Instant::now() < due {
            if let Ok(octets) = manager.recv(&mut message) {
                heard += usize::from(message[..octets].starts_with(b"WATCHDOG=1"));
            }
        }
    }
    // Six times on an idle machine.
    assert!(heard >= 2, "heard {heard} times in three seconds");
}

/// Runs a server that cannot start, by settings that ask for JSON; returns the objects that it writes to standard error.
fn objects_of_start(scratch: &tempfile::TempDir, settings: &str) -> Vec<serde_json::Value> {
    let path = scratch.path().join("zonda.toml");
    fs::write(&path, settings).expect("settings");
    let said = zonda(&["serve", "--config", text(&path)]);
    assert_eq!(said.status, 1, "{said:?}");
    let object = |line: &str| {
        let object: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {said:#?}"));
        assert!(object["message"].is_string() && object["level"].is_string(), "{line}");
        object
    };
    said.errors.lines().map(object).collect()
}

/// The one of `objects` with this level and field; it is there.
fn with<'o>(objects: &'o [serde_json::Value], level: &str, field: &str) -> &'o serde_json::Value {
    let found = objects.iter().find(|object| object["level"] == level && !object[field].is_null());
    found.unwrap_or_else(|| panic!("no {level} with {field} in {objects:#?}"))
}

#[test]
fn why_a_server_does_not_start_is_json_where_that_is_asked_for() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let json = "[log]\nformat = \"json\"\n";
    let path = text(&scratch.path().join("zonda.toml")).to_owned();
    // Settings that are wrong, whether the mistake is before or after what asks for JSON.
    for settings in [format!("[server]\nlistne = 1\n{json}"), format!("{json}[server]\nlistne = 1\n")] {
        let objects = objects_of_start(&scratch, &settings);
        let error = with(&objects, "ERROR", "source");
        assert!(error["source"].as_str().expect("text").starts_with(&path), "{error}");
        assert!(error["error"].as_str().expect("text").contains("listne"), "{error}");
    }
    let objects = objects_of_start(&scratch, &format!("{json}[server]\nlisten = [\"127.0.0.1:1\"\n"));
    with(&objects, "ERROR", "source");
    // Addresses in use.
    let address = free_address();
    let _udp = std::net::UdpSocket::bind(address).expect("the port");
    let listen = format!("{json}[server]\nlisten = [\"{address}\"]\n");
    let objects = objects_of_start(&scratch, &listen);
    assert_eq!(with(&objects, "ERROR", "address")["address"], address.to_string());
    // Zones that are missing.
    let listen = format!("{json}[server]\nlisten = [\"{}\"]\n", free_address());
    let objects =
        objects_of_start(&scratch, &format!("{listen}[[zone]]\nname = \"none.example\"\nfile = \"none\"\n"));
    let error = with(&objects, "ERROR", "zone");
    assert_eq!(error["zone"], "none.example.");
    let source = scratch.path().join("none").display().to_string();
    assert_eq!(error["source"], source.as_str());
    assert!(error["error"].as_str().expect("text").contains("no such file"), "{error}");
    assert_eq!(
        with(&objects, "INFO", "workers")["address"].as_str().map(|text| text.contains("127.0.0.1")),
        Some(true)
    );
}

/// Who reads text gets the same lines as ever.
#[test]
fn why_a_server_does_not_start_is_text_otherwise() {
    let scratch = folder(&[]);
    let path = scratch.path().join("zonda.toml");
    for settings in ["[server]\nlistne = 1\n", "[log\nformat = \"json\"\n"] {
        fs::write(&path, settings).expect("settings");
        let said = zonda(&["serve", "--config", text(&path)]);
        let is_plain = |line: &str| line.starts_with(&format!("zonda: {}:", text(&path)));
        assert!(said.status == 1 && said.errors.lines().all(is_plain), "{said:#?}");
    }
}

#[test]
fn events_have_fields_in_json_and_words_in_text() {
    let files = folder(&[("one", SOUND.as_bytes())]);
    let zones = [ZoneFile::new("one.example.", files.path().join("one"))];
    let source = text(&files.path().join("one")).to_owned();
    for is_json in [true, false] {
        fs::write(&zones[0].path, SOUND).expect("a zone file");
        let more = if is_json { "\n[log]\nformat = \"json\"\n" } else { "" };
        let server = Server::start_with(Kind::Zonda, &zones, more);
        let changed = SOUND.replace("host 1 ", "host 3000000000 ");
        fs::write(&zones[0].path, changed).expect("a zone file");
        assert!(ctl(&server, &["reload"]).status.success(), "{}", server.log());
        fs::write(&zones[0].path, "@ TYPE1 \\# bad\n").expect("a zone file");
        assert!(!ctl(&server, &["reload", "one.example"]).status.success());
        let log = server.log();
        if !is_json {
            // Each value once, in the message.
            for words in [source.as_str(), "3000000000", "zone one.example. changed"] {
                let line = log.lines().find(|line| line.contains(words) && line.contains("changed"));
                assert!(line.is_some_and(|line| line.matches(words).count() == 1), "{words}\n{log}");
            }
            assert!(!log.contains('='), "{log}");
            continue;
        }
        let objects: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
        let changed = with(&objects, "INFO", "old_serial");
        let wanted = serde_json::json!({"zone": "one.example.", "serial": 3_000_000_000_u32, "old_serial": 1,
            "source": source, "by": "reload"});
        for (field, value) in wanted.as_object().expect("an object") {
            assert_eq!(&changed[field], value, "{field} of {changed}");
        }
        assert!(with(&objects, "INFO", "duration_ms")["duration_ms"].as_f64().expect("a number") > 0.0);
        let error = with(&objects, "ERROR", "error");
        assert_eq!((&error["zone"], &error["source"]), (&"one.example.".into(), &source.as_str().into()));
    }
}

#[test]
fn the_level_changes_while_it_runs() {
    let files = folder(&[("one", SOUND.as_bytes())]);
    let zones = [ZoneFile::new("one.example.", files.path().join("one"))];
    let server = Server::start_with(Kind::Zonda, &zones, "");
    let said = |arguments: &[&str]| {
        let output = ctl(&server, arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let lines = |words: &str| server.log().matches(words).count();
    let reload = || {
        fs::write(&zones[0].path, SOUND).expect("a zone file");
        assert!(ctl(&server, &["reload", "one.example."]).status.success());
        lines("reload of zone one.example.")
    };
    assert_eq!(said(&["log-level"]), (Some(0), "the log level is info\n".into()));
    assert_eq!(reload(), 1);
    assert_eq!(said(&["log-level", "warn"]), (Some(0), "the log level is warn, was info\n".into()));
    assert_eq!(reload(), 1, "no info message any more");
    assert_eq!(said(&["log-level", "loud"]).0, Some(2), "wrong usage");
    // Settings that say what they said change nothing; others do, without a start.
    assert_eq!(said(&["reconfigure"]).0, Some(0));
    assert_eq!(reload(), 1);
    let more = "\n[log]\nlevel = \"debug\"\n";
    write(
        server.scratch.path(),
        "zonda.toml",
        &settings(server.scratch.path(), server.address, &zones, more),
    );
    let output = ctl(&server, &["reconfigure"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(
        said(&["log-level", "--json"]).1,
        "{\"reply\":\"log-level\",\"level\":\"debug\",\"was\":\"debug\"}\n"
    );
    assert_eq!(reload(), 2);
    assert_eq!(lines("the log level is debug, was warn"), 1, "{}", server.log());
}

/// Opens TCP connections until the log has a line with these words; says how many lines have them.
fn connect_until(address: std::net::SocketAddr, words: &str, log: impl Fn() -> String) -> usize {
    let mut open = Vec::new();
    await_some(
        || format!("no line with {words:?} in\n{}", log()),
        || {
            let lines = log().matches(words).count();
            if lines > 0 {
                return Some(lines);
            }
            // A few each time, so that what is counted grows from look to look.
            let connect = || std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
            open.extend((0..20).filter_map(|_| connect()));
            std::thread::sleep(Duration::from_millis(50));
            None
        },
    )
}

/// A server with these limits says so in these words when they are reached.
fn check_limit(limits: &str, words: &str) {
    let files = folder(&[("one", SOUND.as_bytes())]);
    let zones = [ZoneFile::new("one.example.", files.path().join("one"))];
    let server = Server::start_with(Kind::Zonda, &zones, &format!("\n[tcp]\n{limits}"));
    assert_eq!(connect_until(server.address, words, || server.log()), 1, "{}", server.log());
}

#[test]
fn a_limit_of_all_connections_that_is_reached_is_said() {
    check_limit("connections = 2\nconnections-per-prefix = 0\n", "WARN TCP: as many connections as");
}

#[test]
fn a_limit_of_a_networks_connections_that_is_reached_is_said() {
    check_limit("connections-per-prefix = 2\n", "WARN TCP: client networks with as many connections");
}

#[test]
fn descriptors_that_run_out_are_said() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let (process, address) = serve(&scratch, "ulimit -n 48;");
    await_address(&process, address, 2);
    let log = || fs::read_to_string(scratch.path().join("errors")).unwrap_or_default();
    let lines = connect_until(address, "ERROR TCP: descriptors or memory ran out", log);
    assert_eq!(lines, 1, "{}", log());
}

/// The journal names the file that it listens at; a line to another is a line like any.
#[test]
fn lines_for_the_journal_have_priorities() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes()), ("errors", b"")]);
    let stream = "export JOURNAL_STREAM=$(stat -c %d:%i errors); ERRORS=errors;";
    for (line, is_journal) in [(stream, true), ("export JOURNAL_STREAM=1:1; ERRORS=others;", false)] {
        let (mut process, address) = serve(&scratch, line);
        await_address(&process, address, 2);
        // Of a zone that is broken, as an error.
        fs::write(scratch.path().join("example.zone"), "nonsense\n").expect("a zone file");
        signal(process.pid(), "HUP");
        let file = scratch.path().join(if is_journal { "errors" } else { "others" });
        let log = || fs::read_to_string(&file).unwrap_or_default();
        await_or(|| format!("no reload: {}", log()), || log().contains("reload: "));
        signal(process.pid(), "TERM");
        process.wait(Duration::from_secs(10)).expect("an end");
        for line in log().lines() {
            // On a machine that has too much to do there may be a warning.
            let priority = match line {
                line if line.contains("ERROR ") => "<3>ERROR ",
                line if line.contains("WARN ") => "<4> WARN ",
                _ => "<6> INFO ",
            };
            assert_eq!(line.starts_with(priority), is_journal, "{line}");
            assert_ne!(line.starts_with("20"), is_journal, "the journal has the time: {line}");
        }
        assert_eq!(log().contains("<3>ERROR zone example. not loaded"), is_journal, "{}", log());
        fs::write(scratch.path().join("example.zone"), SOUND).expect("a zone file");
    }
}

/// Tests that wait for several looks at the counts.
mod long {
    use super::*;

    /// Has clients of so many networks ask more often than they may.
    fn flood(server: std::net::SocketAddr, networks: std::ops::Range<u8>) {
        let query = Query::new("www.example.", rtype::A).octets();
        for network in networks {
            let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::new(127, 0, network, 1), 0));
            let socket = socket.expect("an address of this machine");
            for _ in 0..5 {
                socket.send_to(&query, server).expect("a query");
            }
        }
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn of_a_flood_some_clients_are_named_in_a_minute_and_the_others_counted() {
        let files = folder(&[("example.zone", SOUND.as_bytes())]);
        let zones = [ZoneFile::new("example.", files.path().join("example.zone"))];
        let more = "\n[rate-limit]\nenabled = true\nresponses-per-second = 1\nnetwork-per-second = 0\nwide-multiple = 0\n";
        let server = Server::start_with(Kind::Zonda, &zones, more);
        let limited = || {
            let output = ctl(&server, &["rate-limit", "--json"]);
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
            said["accounts"].as_array().expect("a list").len()
        };
        for last in [21, 41] {
            let before = limited();
            flood(server.address, last - 20..last);
            // Not each network has a row of its own where workers show whom they limit.
            await_or(|| format!("{} accounts", limited()), || limited() >= before + 12);
        }
        let log = server.log();
        assert_eq!(
            (log.matches(" is limited, ").count(), log.matches("rate limit: begin of ").count()),
            (8, 1),
            "{log}"
        );
    }
}
