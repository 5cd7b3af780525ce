//! `zonda store edit`, with editors that are scripts.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use zonda_tests::server::program;

/// Edits `example.` with a shell command as the editor, which finds the text's path in `$1`; `answers` come on standard input.
fn edit(scratch: &Scratch, editor: &str, more: &[&str], answers: &str) -> Said {
    use std::os::unix::fs::PermissionsExt;
    let script = scratch
        .write("editor", format!("#!/bin/sh\nset -e\nstore='{}'\n{editor}\n", scratch.store()).as_bytes());
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).expect("a script");
    let mut command = Command::new("timeout");
    command.arg("30").arg(program()).args(["store", "edit", &scratch.store(), "example."]).args(more);
    // $EDITOR only where $VISUAL is not there.
    command.env("VISUAL", &script).env("EDITOR", "false").env("TMPDIR", scratch.folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(answers.as_bytes()).expect("answers");
    let output = child.wait_with_output().expect("it ends");
    Said {
        status: output.status.code().unwrap_or(-1),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Texts that are kept.
fn kept(scratch: &Scratch) -> Vec<String> {
    let files = std::fs::read_dir(scratch.folder.path()).expect("the folder");
    let is_kept = |path: &std::path::Path| text(path).contains("zonda-example-");
    let paths = files.map(|file| file.expect("a file").path()).filter(|path| is_kept(path));
    paths.map(|path| std::fs::read_to_string(path).expect("a text")).collect()
}

const ADD: &str = "echo 'new.example. 60 IN A 192.0.2.3' >> \"$1\"";

#[test]
fn an_edit_is_shown_and_committed() {
    let scratch = Scratch::with_zone();
    let said = edit(&scratch, ADD, &["--why", "more"], "y\n");
    let output = &said.assert_fine().output;
    assert!(output.contains("\n+ new.example. 60 IN A 192.0.2.3\n"), "{output}");
    assert!(output.contains("- example. 60 IN SOA ns.example. host.example. 1 "), "{output}");
    assert!(output.contains("commit? ") && output.contains("serial 2, 3 rows"), "{output}");
    assert_eq!(scratch.history(&[])[1]["why"], "more");
    assert!(kept(&scratch).is_empty());
    // The text is that of export, and nobody else reads it.
    edit(
        &scratch,
        "grep -v '^;' \"$1\" > \"$(dirname \"$0\")/seen\"; test $(stat -c %a \"$1\") = 600",
        &["--yes"],
        "",
    )
    .assert_fine();
    assert_eq!(std::fs::read_to_string(scratch.path("seen")).expect("a text"), scratch.export("example."));
    assert_eq!(scratch.history(&[]).len(), 2, "nothing differed");
}

#[test]
fn who_does_not_agree_changes_nothing_and_keeps_the_text() {
    for answers in ["n\n", "", "what?\nno\n"] {
        let scratch = Scratch::with_zone();
        let said = edit(&scratch, ADD, &[], answers);
        said.assert_fails(1, &["the text is kept", "zonda-example-"]);
        assert_eq!(scratch.history(&[]).len(), 1);
        assert!(kept(&scratch)[0].ends_with("new.example. 60 IN A 192.0.2.3\n"));
    }
}

#[test]
fn what_is_wrong_is_told_and_may_be_edited_again() {
    let scratch = Scratch::with_zone();
    let wrong = "echo 'www.example. 60 IN CNAME ns.example.' >> \"$1\"";
    let said = edit(&scratch, wrong, &["--yes"], "");
    said.assert_fails(1, &["other records beside a CNAME"]);
    said.assert_fails(1, &["the text is kept"]);
    edit(&scratch, "echo 'x A 1.2.3' >> \"$1\"", &[], "n\n")
        .assert_fails(1, &["zonda-example", ":7:", "1.2.3"]);
    assert_eq!(scratch.history(&[]).len(), 1);
    // The second time it is mended.
    let twice = format!(
        "if test -e \"$0.once\"; then sed -i '/CNAME/d' \"$1\"; {ADD}; else touch \"$0.once\"; {wrong}; fi"
    );
    let said = edit(&scratch, &twice, &[], "y\ny\n");
    assert!(said.assert_fine().output.contains("edit it again? "), "{said:?}");
    assert_eq!(scratch.history(&[])[1]["rows"], 3);
}

#[test]
fn a_zone_that_was_changed_meanwhile_is_left_alone() {
    let scratch = Scratch::with_zone();
    let other = "sqlite3 \"$store\" \"UPDATE record SET ttl = 5 WHERE owner = 'ns.example.'\"";
    let said = edit(&scratch, &format!("{ADD}; {other}"), &["--yes"], "");
    said.assert_fails(1, &["zones.db", "has changed since it was read", "serial 2, by plain SQL"]);
    said.assert_fails(1, &["the text is kept"]);
    assert!(kept(&scratch)[0].contains("new.example."));
    assert!(!scratch.export("example.").contains("new.example."));
    assert_eq!(scratch.history(&[]).len(), 2);
}

#[test]
fn editors_that_fail_and_zones_that_are_not_there() {
    let scratch = Scratch::with_zone();
    edit(&scratch, "exit 3", &[], "y\n").assert_fails(1, &["editor", "failed"]);
    assert_eq!(scratch.history(&[]).len(), 1);
    zonda(&["store", "edit", &scratch.store(), "other."]).assert_fails(1, &["other.", "no such zone"]);
}

/// Ctrl-C is sent to all that the terminal has in its foreground: in an editor it is a key, and who waits for it goes on.
#[test]
fn keys_of_an_editor_are_not_for_who_waits() {
    let scratch = Scratch::with_zone();
    // What runs the program here has the signals too and sends them on, on a busy machine some time later.
    let keys = "trap '' INT QUIT; kill -INT 0; kill -QUIT 0; sleep 1";
    let said = edit(&scratch, &format!("{keys}; {ADD}"), &["--yes"], "");
    assert!(said.assert_fine().output.contains("serial 2, 3 rows"), "{said:?}");
}
