//! Files that are no store, cannot be written, or have no room; writers that are killed, and writers at once.

use std::process::{Child, Stdio};
use std::time::Duration;

use super::*;
use crate::kit::zonda_without_rights;
use zonda_tests::patience::await_that;
use zonda_tests::server::program;

/// A zone of many records.
fn large(records: usize) -> String {
    let names = (0..records).map(|number| format!("n{number} A 192.0.2.{}\n", number % 256));
    format!("{SOUND}{}", names.collect::<String>())
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(program());
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

#[test]
fn files_that_are_no_store() {
    let scratch = Scratch::new();
    let zone = format!("example.={}", text(&scratch.path("example.zone")));
    let database = scratch.path("other.db");
    Command::new("sqlite3")
        .arg(&database)
        .arg("CREATE TABLE domains (id INTEGER)")
        .status()
        .expect("sqlite3 starts");
    for (file, words) in [
        ("absent.db", "no such file"),
        ("example.zone", "no database of SQLite"),
        ("other.db", "no store of zones"),
        (".", "found a folder"),
    ] {
        let path = scratch.path(file);
        for arguments in [
            &["import", text(&path), &zone][..],
            &["export", text(&path), "example."],
            &["edit", text(&path), "example."],
            &["history", text(&path)],
            &["touch", text(&path), "example."],
            &["trim", text(&path), "--days", "1"],
        ] {
            zonda(&[&["store"], arguments].concat()).assert_fails(1, &[text(&path), words]);
        }
    }
    zonda(&["store", "import", "/dev/null", &zone]).assert_fails(1, &["/dev/null", "a device"]);
    assert_eq!(std::fs::read_to_string(scratch.path("example.zone")).expect("a text"), SOUND);
    for file in ["example.zone", "other.db", "zones.db"] {
        zonda(&["store", "init", text(&scratch.path(file))]).assert_fails(1, &[file, "something already"]);
    }
    zonda(&["store", "init", text(&scratch.path("no/zones.db"))])
        .assert_fails(1, &["no/zones.db", "no such file"]);
    // The schema of a later program.
    scratch.sqlite3("UPDATE store SET written_by = 9, readable_from = 9").assert_fine();
    zonda(&["store", "history", &scratch.store()])
        .assert_fails(1, &["zones.db", "later version", "schema 9"]);
}

/// Names that mean something to SQLite are names of files, also as they are given at a prompt.
#[test]
fn paths_stay_paths() {
    let scratch = Scratch::new();
    for file in [":memory:", "file:more.db?mode=memory", "file:a%20b.db"] {
        let run = |arguments: &[&str]| {
            let mut command = Command::new(program());
            command.arg("store").args(arguments).current_dir(scratch.folder.path());
            command.output().expect("the program starts").status.success()
        };
        assert!(run(&["init", file]), "{file}");
        assert!(run(&["import", file, "example.=example.zone"]), "{file}");
        assert!(run(&["export", file, "example."]), "{file}");
        assert!(std::fs::metadata(scratch.path(file)).is_ok_and(|file| file.len() > 0), "{file}");
    }
}

/// Who may only read sees the versions there are, and is told of what is none yet.
#[test]
fn a_file_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::with_zone();
    let (store, zone) = (scratch.store(), format!("example.={}", text(&scratch.path("example.zone"))));
    let mode = |mode| {
        std::fs::set_permissions(&store, std::fs::Permissions::from_mode(mode)).expect("rights");
    };
    mode(0o444);
    let elsewhere = folder(&[]);
    let run = |arguments: &[&str]| zonda_without_rights(&elsewhere, &[&["store"], arguments].concat());
    std::fs::set_permissions(scratch.folder.path(), std::fs::Permissions::from_mode(0o777)).expect("rights");
    run(&["import", &store, &zone]).assert_fails(1, &["zones.db", "cannot write"]);
    std::fs::write(scratch.path("more.zone"), format!("{SOUND}x A 192.0.2.9\n")).expect("a file");
    let more = format!("example.={}", text(&scratch.path("more.zone")));
    run(&["import", &store, &more]).assert_fails(1, &["zones.db", "cannot write"]);
    run(&["touch", &store, "example."]).assert_fails(1, &["zones.db", "cannot write"]);
    assert!(
        run(&["export", &store, "example."]).assert_fine().output.contains("www.example. 60 IN A 192.0.2.2")
    );
    mode(0o644);
    scratch.sqlite3("UPDATE record SET ttl = 5").assert_fine();
    mode(0o444);
    let said = run(&["history", &store]);
    assert!(said.assert_fine().errors.contains("1 zone changed by plain SQL"), "{said:?}");
    mode(0o000);
    run(&["history", &store]).assert_fails(1, &["zones.db", "permission denied"]);
}

/// A limit of the length of files, as a full disk: nothing is half, and it goes on where there is room.
#[test]
fn no_room() {
    let scratch = Scratch::with_zone();
    let file = scratch.write("large.zone", large(20_000).as_bytes());
    let script = "trap '' XFSZ; exec prlimit --fsize=300000:unlimited \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(program()).args([
        "store",
        "import",
        &scratch.store(),
        &format!("example.={file}"),
    ]);
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.lines().any(|line| line.contains("zones.db: ") && line.contains("nothing was changed")),
        "{said}"
    );
    assert_eq!(scratch.history(&[]).len(), 1);
    assert_eq!(scratch.export("example.").lines().count(), 4);
    zonda(&["store", "import", &scratch.store(), &format!("example.={file}")]).assert_fine();
    assert_eq!(scratch.export("example.").lines().count(), 20_004);
}

/// Killed at some moment of an import: the zone is the one before or the one after, and its history says so.
#[test]
fn killed_in_an_import() {
    let scratch = Scratch::with_zone();
    let (store, file) = (scratch.store(), scratch.write("large.zone", large(15_000).as_bytes()));
    let given = format!("example.={file}");
    let journal = scratch.path("zones.db-wal");
    let (mut halves, mut round) = (0, 0);
    // On a busy machine an import may end before it is seen to write.
    while round < 6 || halves == 0 {
        assert!(round < 30, "no import was killed while it wrote");
        let mut import = start(&["store", "import", &store, &given]);
        // From the first pages of the journal on, somewhat later in each round.
        let mut has_ended = false;
        await_that("an import that writes", || {
            has_ended = import.try_wait().expect("a child").is_some();
            has_ended || std::fs::metadata(&journal).is_ok_and(|file| file.len() > 0)
        });
        std::thread::sleep(Duration::from_millis(20 * (round % 6)));
        let _ = import.kill();
        import.wait().expect("a child");
        let (history, lines) = (scratch.history(&[]), scratch.export("example.").lines().count());
        match history.len() {
            1 => assert_eq!(lines, 4, "round {round}"),
            2 => assert_eq!((lines, &history[1]["rows"]), (15_004, &15_002.into()), "round {round}"),
            more => panic!("{more} versions"),
        }
        halves += usize::from(history.len() == 1 && !has_ended);
        if history.len() == 2 {
            scratch.import("example.", SOUND).assert_fine();
            zonda(&["store", "trim", &store, "--octets-max", "0"]).assert_fine();
        }
        round += 1;
    }
    let intact = scratch.sqlite3("PRAGMA integrity_check");
    assert_eq!(intact.output, "ok\n");
}

/// Writers at once wait for each other: each change is a version, of one order.
#[test]
fn writers_at_once() {
    let scratch = Scratch::with_zone();
    let store = scratch.store();
    let files: Vec<String> = (0..6)
        .map(|number| {
            scratch.write(&format!("{number}.zone"), format!("{SOUND}n{number} A 192.0.2.1\n").as_bytes())
        })
        .collect();
    let children: Vec<Child> =
        files.iter().map(|file| start(&["store", "import", &store, &format!("example.={file}")])).collect();
    for mut child in children {
        assert!(child.wait().expect("a child").success());
    }
    let serials: Vec<u64> =
        scratch.history(&[]).iter().map(|version| version["serial"].as_u64().expect("a number")).collect();
    assert_eq!(serials, [1, 2, 3, 4, 5, 6, 7]);
}
