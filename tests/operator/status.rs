//! `ctl status`, `ctl log` and `ctl stats`: what they say is what is so now, at whatever time they are asked.

use std::fs;

use serde_json::Value;
use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::{Query, flag};
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::{Server, ctl, program_command, signal, write};

use crate::kit::{SOUND, text};
use crate::stale::Fixture;

/// What a command says as objects, but for the last.
fn objects(server: &Server, arguments: &[&str]) -> Vec<Value> {
    let output = ctl(server, &[&["--json"], arguments].concat());
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

fn status(fixture: &Fixture) -> Value {
    objects(&fixture.server, &["status"]).remove(0)
}

/// Records, zones and findings are as the last change has left them, though no command goes through the zones.
#[test]
fn numbers_are_those_of_now() {
    let fixture = Fixture::new("");
    fixture.server.await_zones();
    let numbers = |status: &Value| {
        [
            "records",
            "zones_loaded",
            "zones_absent",
            "zones_stale",
            "zones_broken",
            "zones_with_warnings",
            "packs",
        ]
        .map(|name| status[name].as_u64().expect("a number"))
    };
    let before = numbers(&status(&fixture));
    assert_eq!(&before[..5], [8, 2, 0, 0, 0]);
    for more in 1..=5_u64 {
        let hosts: String = (0..more).map(|host| format!("h{host} A 192.0.2.9\n")).collect();
        fixture.write("one.example.", &format!("{SOUND}{hosts}"));
        assert!(fixture.ctl(&["reload", "--force"]).0.status.success());
        assert_eq!(numbers(&status(&fixture))[..2], [8 + more, 2]);
    }
    fixture.write("one.example.", "nonsense\n");
    assert!(!fixture.ctl(&["reload"]).0.status.success());
    let stale = status(&fixture);
    assert_eq!(numbers(&stale)[1..5], [2, 0, 1, 1], "{stale}");
    assert!(stale["looked_at"].is_u64() && stale["pack_octets"].as_u64() > Some(0), "{stale}");
    fixture.write("one.example.", SOUND);
    fixture.ctl(&["reload"]);
    assert_eq!(numbers(&status(&fixture))[..5], before[..5]);
}

/// Whoever sends SIGHUP hears nothing; who asks later is told, for as long as other settings are in force than the file has.
#[test]
fn settings_that_are_refused_are_a_problem_until_they_are_taken() {
    let fixture = Fixture::new("");
    fixture.server.await_zones();
    let (output, said) = fixture.ctl(&["status"]);
    assert!(output.status.success() && !said.contains("reload  ") && !said.contains("problem "), "{said}");
    let good = fs::read_to_string(fixture.server.path("zonda.toml")).expect("the settings");
    let folder = fixture.server.scratch.path();
    write(folder, "zonda.toml", &format!("{good}\n[nonsense]\nnumber = 1\n"));
    signal(fixture.server.process.pid(), "HUP");
    // The command finds the socket by the settings, which are broken; it is where it was.
    let socket = fixture.server.path("control.sock");
    let refused = || {
        let mut command = program_command(&["ctl", "--socket", text(&socket), "status"]);
        String::from_utf8_lossy(&command.output().expect("the program zonda").stdout).into_owned()
    };
    fixture.server.await_log("the settings stay as they were");
    await_or(refused, || refused().contains("problem   the settings of the file were refused "));
    write(folder, "zonda.toml", &good);
    let said = refused();
    assert!(said.contains("reload    refused, all stays as it was, ") && said.contains("nonsense"), "{said}");
    assert_eq!(status(&fixture)["reload"]["refused"], true);
    assert!(fixture.ctl(&["reload"]).0.status.success());
    let (output, said) = fixture.ctl(&["status"]);
    assert!(output.status.success() && said.contains("reload    0 zones loaded, 2 unchanged, "), "{said}");
    assert_eq!(status(&fixture)["reload"]["refused"], false);
}

/// What went wrong is there to be asked for, the same as one line, though the log itself is another's to read.
#[test]
fn the_log_tells_what_went_wrong_lately() {
    let fixture = Fixture::new("");
    fixture.server.await_zones();
    let none = fixture.ctl(&["log"]).1;
    assert_eq!(none, "no warnings and no errors since the start\n");
    assert_eq!(
        (status(&fixture)["log"]["errors"].as_u64(), objects(&fixture.server, &["log"])),
        (Some(0), vec![])
    );
    fixture.write("one.example.", "nonsense\n");
    for _ in 0..3 {
        fixture.ctl(&["reload", "--force", "one.example."]);
    }
    let lines = objects(&fixture.server, &["log"]);
    let of_file: Vec<&Value> = lines
        .iter()
        .filter(|line| line["message"].as_str().is_some_and(|text| text.contains("one.example.:1:")))
        .collect();
    assert!(of_file.len() == 1 && of_file[0]["count"] == 3 && of_file[0]["level"] == "error", "{lines:?}");
    assert!(of_file[0]["first_at"].as_u64() <= of_file[0]["last_at"].as_u64());
    let said = fixture.ctl(&["log"]).1;
    assert!(said.contains(" error  ") && said.contains(" (3 times since "), "{said}");
    let said = fixture.ctl(&["status"]).1;
    assert!(said.contains("\nlog       ") && said.contains("ago; `zonda ctl log`\n"), "{said}");
}

/// What the resolver has counted is read at once, and is what its clients have seen.
#[test]
fn counts_of_the_resolver_are_read_as_they_are_counted() {
    let fixture = Fixture::new("[resolver]\nenabled = true\n");
    fixture.server.await_zones();
    let count = |name: &str| {
        let stats = objects(&fixture.server, &["stats"]).remove(0);
        let counts = stats["resolver"].as_array().expect("a list").clone();
        let of_name = counts.iter().find(|count| count["name"] == name);
        of_name.and_then(|count| count["count"].as_u64()).expect("it is counted")
    };
    let before = [count("local"), count("waiting"), count("refused")];
    for asked in 1..=20 {
        let query = Query::new("localhost.", rtype::A).flags(flag::RD);
        let answer = ask(fixture.server.address, Transport::Udp, &query);
        assert_eq!((answer.rcode(), answer.answer.len()), (0, 1));
        assert_eq!([count("local"), count("waiting"), count("refused")], [before[0] + asked, 0, before[2]]);
    }
    let metrics = objects(&fixture.server, &["top", "--seconds", "0"]).remove(0);
    let local = metrics["resolver"].as_array().expect("a list").iter().find(|count| count["name"] == "local");
    assert_eq!(local.map(|count| count["count"].as_u64()), Some(Some(before[0] + 20)));
}
