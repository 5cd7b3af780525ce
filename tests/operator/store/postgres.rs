//! Stores in PostgreSQL: the same commands, with the same words.

// One way to start a server of PostgreSQL, for the tests of the crate and for these.
#[path = "../../../crates/store/src/postgres/tests/server.rs"]
pub(crate) mod server;

use std::process::Command;

use super::*;
use zonda_tests::server::program;

/// A store in a database of its own, and a folder.
pub(super) struct Bed {
    pub(super) folder: tempfile::TempDir,
    pub(super) database: server::Scratch,
}

impl Bed {
    pub(super) fn with_zone() -> Bed {
        Bed::of(server::Scratch::new())
    }

    pub(super) fn of(database: server::Scratch) -> Bed {
        let bed = Bed { folder: folder(&[("example.zone", SOUND.as_bytes())]), database };
        let said = bed.run("init", &[]);
        assert!(said.assert_fine().output.contains(": a store without zones, identity "), "{said:?}");
        bed.import(SOUND).assert_fine();
        bed
    }

    pub(super) fn run(&self, command: &str, more: &[&str]) -> Said {
        let store = self.database.address();
        zonda(&[&["store", command, &store], more].concat())
    }

    pub(super) fn write(&self, content: &str) -> String {
        let path = self.folder.path().join("new.zone");
        std::fs::write(&path, content).expect("a file");
        text(&path).to_owned()
    }

    pub(super) fn import(&self, content: &str) -> Said {
        let file = self.write(content);
        self.run("import", &[&format!("example.={file}")])
    }

    pub(super) fn history(&self, more: &[&str]) -> Vec<serde_json::Value> {
        let said = self.run("history", &[&["--json"], more].concat());
        let lines = said.assert_fine().output.lines();
        lines.map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }
}

#[test]
fn what_goes_in_comes_out_with_its_history() {
    let bed = Bed::with_zone();
    assert_eq!(bed.run("export", &["example"]).assert_fine().output, printed("example.", &bed.write(SOUND)));
    let next = format!("{SOUND}new A 192.0.2.3\n");
    assert_eq!(bed.import(&next).assert_fine().output, "zone example.: serial 2, 3 rows\n");
    assert_eq!(bed.import(&next).assert_fine().output, "zone example.: as it was\n");
    bed.database
        .sql("SET zonda.why = 'by hand'; UPDATE zonda.record SET ttl = 90 WHERE owner = 'new.example.'");
    let history = bed.history(&["example.", "--diff"]);
    let of = |number: usize, what: &str| history[number][what].clone();
    assert_eq!(
        (of(0, "kind"), of(1, "kind"), of(2, "kind")),
        ("whole".into(), "change".into(), "change".into())
    );
    assert_eq!(of(1, "added")[1], "new.example. 60 IN A 192.0.2.3");
    assert_eq!(
        (of(2, "serial"), of(2, "who"), of(2, "why")),
        (3.into(), server::USER.into(), "by hand".into())
    );
    assert_eq!(of(2, "added")[1], "new.example. 90 IN A 192.0.2.3");
    assert!(of(1, "who").as_str().is_some_and(|who| who.ends_with(" as owner")), "{history:?}");
    let shown = bed.run("history", &["example", "--diff"]);
    assert!(shown.assert_fine().output.contains("\n+ new.example. 60 IN A 192.0.2.3\n"), "{shown:?}");
    let touched = bed.run("touch", &["example."]);
    assert_eq!(touched.assert_fine().output, "zone example.: serial 4, to be read as a whole\n");
    let trimmed = bed.run("trim", &["--octets-max", "0"]);
    assert!(trimmed.assert_fine().output.ends_with(": 3 versions and 7 rows dropped\n"), "{trimmed:?}");
    assert_eq!(bed.history(&[]).len(), 1);
}

#[test]
fn a_large_zone_comes_out_as_it_went_in() {
    let bed = Bed::with_zone();
    let file = bed.folder.path().join("gov.zone");
    std::fs::write(
        &file,
        zonda_tests::zone::unpack(&zonda_tests::zone::data().join("gov-20260822.zone.zst")),
    )
    .expect("a file");
    let file = text(&file).to_owned();
    let given = ["--now", "none", "--level", "semantic"];
    let import = |bed: &Bed| bed.run("import", &[&[&*format!("gov.={file}")], &given[..]].concat());
    import(&bed).assert_fine();
    assert!(bed.run("export", &["gov."]).assert_fine().output == printed("gov.", &file), "another one");
    assert!(import(&bed).assert_fine().output.contains("as it was"));
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let bed = Bed::with_zone();
    let store = bed.database.address();
    bed.run("init", &[]).assert_fails(1, &[&store, "there is something already"]);
    bed.run("export", &["other."]).assert_fails(1, &[&store, "other.", "no such zone"]);
    bed.import("@ SOA ns host 1 2 3 4 5\n").assert_fails(1, &[&store, "nothing was changed"]);
    assert_eq!(bed.history(&[]).len(), 1);
    zonda(&["store", "history", "postgres://me:secret@localhost/dns"]).assert_fails(2, &["PGPASSWORD"]);
    zonda(&["store", "history", "postgres://me@127.0.0.1:1/dns"])
        .assert_fails(1, &["postgres://me@127.0.0.1:1/dns: the server cannot be asked", "refused"]);
    let none = bed.folder.path().join("none");
    bed.run("history", &["--password-file", text(&none)]).assert_fails(1, &["none", "cannot read"]);
    // A row that is no record is found by who reads it.
    bed.database
        .sql("INSERT INTO zonda.record SELECT id, 'a.example.', 'AAAA', 60, '2001:DB8::1' FROM zonda.zone");
    bed.run("export", &["example."]).assert_fails(1, &["one text for it: 2001:db8::1"]);
}

#[test]
fn an_edit_and_a_copy() {
    let bed = Bed::with_zone();
    let script = bed.folder.path().join("editor");
    std::fs::write(&script, "#!/bin/sh\necho 'new.example. 60 IN A 192.0.2.3' >> \"$1\"\n")
        .expect("a script");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).expect("a script");
    let output = Command::new("timeout")
        .arg("30")
        .arg(program())
        .args(["store", "edit", &bed.database.address(), "example.", "--yes"])
        .env("VISUAL", &script)
        .env("TMPDIR", bed.folder.path())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("+ new.example. 60 IN A 192.0.2.3\n") && said.contains("serial 2, 3 rows"),
        "{said}"
    );
    // A copy is not the store until it is adopted.
    let copy = Bed { folder: folder(&[]), database: bed.database.restored() };
    copy.run("history", &[]).assert_fails(1, &["copied or moved", "zonda store adopt"]);
    let adopted = copy.run("adopt", &[]);
    assert!(adopted.assert_fine().output.contains(" from here on"), "{adopted:?}");
    assert_eq!(copy.history(&["--diff"]), bed.history(&["--diff"]));
}
