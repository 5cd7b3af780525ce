//! `zonda store`: each command through the program, other writers, and what goes wrong with files and servers of databases; and servers of stores.

use std::path::PathBuf;
use std::process::Command;

use crate::kit::{SOUND, Said, folder, text, zonda};

mod away;
mod edited;
mod faults;
mod followed;
mod long;
pub(crate) mod postgres;
mod powerdns;
mod restarted;
mod served;

/// Further settings, the last of a store: each change has a line of the log, however many come at once.
const EACH_LINE: &str = "[log]\nlevel = \"debug\"\n";

/// A folder with a store.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        let scratch = Scratch { folder: folder(&[("example.zone", SOUND.as_bytes())]) };
        let said = zonda(&["store", "init", &scratch.store()]);
        assert!(said.assert_fine().output.contains("identity"), "{said:?}");
        scratch
    }

    /// One with the small sound zone `example.`.
    fn with_zone() -> Scratch {
        let scratch = Scratch::new();
        scratch.import("example.", SOUND).assert_fine();
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn store(&self) -> String {
        text(&self.path("zones.db")).to_owned()
    }

    fn write(&self, name: &str, octets: &[u8]) -> String {
        std::fs::write(self.path(name), octets).expect("a file");
        text(&self.path(name)).to_owned()
    }

    fn import(&self, zone: &str, content: &str) -> Said {
        let file = self.write("new.zone", content.as_bytes());
        zonda(&["store", "import", &self.store(), &format!("{zone}={file}")])
    }

    fn export(&self, zone: &str) -> String {
        zonda(&["store", "export", &self.store(), zone]).assert_fine().output.clone()
    }

    fn history(&self, more: &[&str]) -> Vec<serde_json::Value> {
        let store = self.store();
        let said = zonda(&[&["store", "history", &store, "--json"], more].concat());
        let lines = said.assert_fine().output.lines();
        lines.map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }

    /// Runs statements by the program that SQLite comes with.
    fn sqlite3(&self, sql: &str) -> Said {
        let output = Command::new("sqlite3").args([&self.store(), sql]).output().expect("sqlite3 starts");
        Said {
            // Its statuses of failures are numbers of SQLite.
            status: i32::from(!output.status.success()),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The text that `check-zone` prints of a file. Errors do not matter: signatures end.
fn printed(zone: &str, file: &str) -> String {
    zonda(&["check-zone", zone, file, "--print", "--level", "load"]).assert_fine().output.clone()
}

#[test]
fn what_is_exported_is_what_check_zone_prints() {
    let scratch = Scratch::with_zone();
    assert_eq!(scratch.export("example"), printed("example.", &scratch.write("x.zone", SOUND.as_bytes())));
    zonda(&["store", "export", &scratch.store(), "other."])
        .assert_fails(1, &["zones.db", "other.", "no such zone"]);
}

#[test]
fn real_zones_come_out_as_they_went_in() {
    let scratch = Scratch::new();
    let root = zonda_tests::zone::repository().join("data/root.zone");
    let gov = scratch.write(
        "gov.zone",
        &zonda_tests::zone::unpack(&zonda_tests::zone::data().join("gov-20260822.zone.zst")),
    );
    for (zone, file) in [(".", text(&root)), ("gov.", &gov)] {
        let given = format!("{zone}={file}");
        // The signatures of the past are over.
        zonda(&["store", "import", &scratch.store(), &given, "--now", "none", "--level", "semantic"])
            .assert_fine();
        assert!(scratch.export(zone) == printed(zone, file), "{zone} is another one");
        let again =
            zonda(&["store", "import", &scratch.store(), &given, "--now", "none", "--level", "semantic"]);
        assert!(again.assert_fine().output.contains("as it was"), "{again:?}");
    }
    // With the time as it is it is refused, as check-zone finds errors in it.
    let said = zonda(&["store", "import", &scratch.store(), &format!(".={}", text(&root))]);
    said.assert_fails(1, &["root.zone", "error"]);
    said.assert_fails(1, &["zones.db: nothing was changed"]);
    assert_eq!(scratch.history(&[]).len(), 2);
}

#[test]
fn an_import_again_is_what_differs() {
    let scratch = Scratch::with_zone();
    let said = scratch.import("example.", &format!("{SOUND}new A 192.0.2.3\n"));
    assert_eq!(said.assert_fine().output, "zone example.: serial 2, 3 rows\n");
    let history = scratch.history(&["example.", "--diff"]);
    assert_eq!(history.len(), 2, "{history:?}");
    assert_eq!((history[0]["kind"].as_str(), history[0]["serial"].as_u64()), (Some("whole"), Some(1)));
    let second = &history[1];
    assert_eq!(
        (second["kind"].as_str(), second["serial"].as_u64(), second["rows"].as_u64()),
        (Some("change"), Some(2), Some(3))
    );
    assert!(second["at"].as_u64().is_some_and(|at| at > 1_790_000_000), "{second}");
    assert!(second["who"].as_str().is_some_and(|who| !who.is_empty()), "{second}");
    assert_eq!(second["added"][1], "new.example. 60 IN A 192.0.2.3");
    assert_ne!(second["mark"], history[0]["mark"]);
    let store = scratch.store();
    let shown = zonda(&["store", "history", &store, "example", "--diff"]);
    let shown = &shown.assert_fine().output;
    assert!(shown.contains("\n+ new.example. 60 IN A 192.0.2.3\n"), "{shown}");
    assert!(
        shown
            .lines()
            .any(|line| line.starts_with("2 example. 2: 3 rows, 20") && line.contains(" UTC, mark ")),
        "{shown}"
    );
    zonda(&["store", "history", &store, "other."]).assert_fails(1, &["other.", "no versions"]);
}

#[test]
fn many_zones_and_folders_all_or_none() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let zones = scratch.path("zones");
    std::fs::create_dir(&zones).expect("a folder");
    for name in ["a.test", "b.test", "c.test"] {
        std::fs::write(zones.join(format!("{name}.zone")), SOUND).expect("a file");
    }
    std::fs::write(zones.join("README"), "no zone").expect("a file");
    let bad = scratch.write("bad.zone", b"$TTL 60\n@ SOA ns host 1 3 2 5 5\nwww A 192.0.2.300\n");
    let worse = scratch.write("worse.zone", b"$TTL 60\n@ SOA ns host 1 3 2 5 5\n");
    let folder = text(&zones);
    // Each that is wrong is told, and none of them goes in.
    let said = zonda(&[
        "store",
        "import",
        &store,
        "--folder",
        folder,
        &format!("d.test={bad}"),
        &format!("e.test={worse}"),
    ]);
    said.assert_fails(1, &["bad.zone:3:", "192.0.2.300"]);
    said.assert_fails(1, &["worse.zone", "no NS records"]);
    said.assert_fails(1, &["zones.db: nothing was changed"]);
    assert!(scratch.history(&[]).is_empty());
    let sound = scratch.write("sound.zone", SOUND.as_bytes());
    let said = zonda(&[
        "store",
        "import",
        &store,
        "--folder",
        folder,
        &format!("d.test={sound}"),
        "--json",
        "--why",
        "a \"move\"",
    ]);
    let objects: Vec<serde_json::Value> = said
        .assert_fine()
        .output
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    let names: Vec<_> = objects.iter().map(|object| object["zone"].as_str().expect("a name")).collect();
    assert_eq!(names, ["d.test.", "a.test.", "b.test.", "c.test."]);
    assert!(objects.iter().all(|object| object["why"] == "a \"move\""), "{objects:?}");
    zonda(&["store", "import", &store, "--folder", folder, &format!("A.test={sound}")])
        .assert_fails(1, &["a.test.", "twice"]);
    zonda(&["store", "import", &store, "--folder", folder, "--pattern", "{name}.db"])
        .assert_fails(1, &["{name}.db"]);
    zonda(&["store", "import", &store, "--folder", text(&scratch.path("absent"))])
        .assert_fails(1, &["absent"]);
    zonda(&["store", "import", &store]).assert_fails(2, &["ORIGIN=FILE"]);
}

#[test]
fn zones_of_a_servers_settings() {
    let scratch = Scratch::new();
    let store = scratch.store();
    for name in ["spread/a/b/ab.test.zone", "spread/c/d/cd.test.zone", "folder/e.test.zone", "one.zone"] {
        let path = scratch.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, SOUND).expect("a file");
    }
    scratch.write("names", b"ab.test\ncd.test # two of them\n");
    let text = "[[zone]]\nname = \"one.test\"\nfile = \"one.zone\"\n\
        [[zone]]\nnames-file = \"names\"\nfile = \"spread/{1}/{2}/{name}.zone\"\n\
        [[zone-directory]]\npath = \"folder\"\n";
    let elsewhere = "[[remote]]\nname = \"other\"\naddresses = [\"192.0.2.1\"]\n\
        [[zone]]\nname = \"moved.test\"\nprimaries = [\"other\"]\n";
    let settings = scratch.write("zonda.toml", format!("{text}{elsewhere}").as_bytes());
    let import = |more: &[&str]| zonda(&[&["store", "import", &store], more].concat());
    let said = import(&["--from-config", &settings]);
    let lines: Vec<&str> = said.assert_fine().output.lines().collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split([' ', ':']).nth(1)).collect();
    assert_eq!(names, ["ab.test.", "cd.test.", "e.test.", "one.test."]);
    assert!(
        said.errors.contains("zone moved.test. is left out: it is of no file, but from other"),
        "{}",
        said.errors
    );
    import(&["--from-config", &settings, "one.test=x"]).assert_fails(1, &["one.test.", "twice"]);
    // A part of the zones is not taken for all of them.
    std::fs::remove_file(scratch.path("names")).expect("a file");
    import(&["--from-config", &settings]).assert_fails(1, &["zonda.toml:4", "names"]);
    let settings = scratch.write("none.toml", elsewhere.as_bytes());
    import(&["--from-config", &settings]).assert_fails(1, &["none.toml: no zone of it is in a file"]);
    import(&["--from-config", &settings, "--from-powerdns", "x"]).assert_fails(2, &["--from-powerdns"]);
}

/// Changes by another program are versions as soon as anybody of ours looks.
#[test]
fn others_write_by_sql() {
    let scratch = Scratch::with_zone();
    let said = scratch.sqlite3(
        "BEGIN; INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'sql.example.', 'AAAA', 300, '2001:db8::1' FROM zone WHERE name = 'example.';
         INSERT OR REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'www.example.', 'A', 5, '192.0.2.2' FROM zone WHERE name = 'example.'; COMMIT;",
    );
    said.assert_fine();
    let history = scratch.history(&["--diff"]);
    assert_eq!(
        (history.len(), history[1]["serial"].as_u64(), &history[1]["who"]),
        (2, Some(2), &serde_json::Value::Null)
    );
    assert_eq!(history[1]["removed"][1], "www.example. 60 IN A 192.0.2.2");
    assert!(scratch.export("example.").contains("sql.example. 300 IN AAAA 2001:db8::1\n"));
    scratch.sqlite3("UPDATE zone SET name = 'other.';").assert_fails(1, &["its name and id stay"]);
    // A row that is not in its one form: told with the right text, by each who looks, until it is mended.
    scratch.sqlite3("UPDATE record SET rdata = '2001:DB8::1' WHERE owner = 'sql.example.'").assert_fine();
    let store = scratch.store();
    let words = ["zones.db: zone example.: sql.example. AAAA", "one text for it: 2001:db8::1"];
    zonda(&["store", "history", &store]).assert_fails(1, &words);
    zonda(&["store", "export", &store, "example."]).assert_fails(1, &words);
    zonda(&["store", "touch", &store, "example."]).assert_fails(1, &words);
    scratch.sqlite3("DELETE FROM record WHERE owner = 'sql.example.'").assert_fine();
    assert_eq!(scratch.history(&[]).len(), 3);
    scratch.sqlite3("DELETE FROM zone").assert_fine();
    assert_eq!(scratch.history(&[])[3]["kind"], "removed");
    let none = scratch.sqlite3("SELECT count(*) FROM record");
    assert_eq!(none.output, "0\n");
    scratch.import("example.", SOUND).assert_fine();
    assert_eq!(scratch.history(&[])[4]["serial"], 4);
}

/// What somebody wrote past the constraints of the tables does not reach the terminal as it is.
#[test]
fn no_control_characters() {
    let scratch = Scratch::with_zone();
    scratch
        .sqlite3(
            "INSERT INTO version (zone, serial, mark, kind, rows, octets, at)
                 VALUES ('ex' || char(27) || '[2J.', 9, char(10), 'change', 1, 0, 9);
             INSERT INTO change VALUES (last_insert_rowid(), 1, '+', 'a.' || char(10, 155), 'A', 60, char(27));
             PRAGMA ignore_check_constraints = ON;
             INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, char(27) || '.example.', 'A', 60, 'x' FROM zone;",
        )
        .assert_fine();
    let said = zonda(&["store", "history", &scratch.store(), "--diff"]);
    said.assert_fails(1, &["\\u{1b}.example. A"]);
    assert!(said.output.contains("ex\\u{1b}[2J. 9: 1 row"), "{said:?}");
    assert!(said.output.contains("+ a.\\n\\u{9b} 60 IN A \\u{1b}\n"), "{said:?}");
    assert!(!said.output.contains('\u{1b}') && !said.errors.contains('\u{1b}'), "{said:?}");
}

#[test]
fn touch_and_trim() {
    let scratch = Scratch::with_zone();
    let store = scratch.store();
    let said = zonda(&["store", "touch", &store, "example", "--why", "restored", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&said.assert_fine().output).expect("an object");
    assert_eq!(
        (&object["kind"], &object["serial"], &object["why"]),
        (&"whole".into(), &2.into(), &"restored".into())
    );
    zonda(&["store", "touch", &store, "other."]).assert_fails(1, &["zones.db", "other."]);
    let said = zonda(&["store", "trim", &store, "--days", "1"]);
    assert!(said.assert_fine().output.contains("0 versions and 0 rows dropped"), "{said:?}");
    for number in 3..6 {
        scratch.import("example.", &format!("{SOUND}new A 192.0.2.{number}\n")).assert_fine();
    }
    let said = zonda(&["store", "trim", &store, "--octets-max", "0", "--json"]);
    assert_eq!(said.assert_fine().output, "{\"rows\":11,\"versions\":4}\n");
    let history = scratch.history(&[]);
    assert_eq!((history.len(), &history[0]["serial"], &history[0]["kind"]), (1, &5.into(), &"whole".into()));
    zonda(&["store", "trim", &store]).assert_fails(2, &["--days"]);
}
