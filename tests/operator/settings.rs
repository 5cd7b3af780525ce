//! Settings that are wrong: file, line, and the key that was probably meant.

use crate::kit::{SOUND, Said, folder, text, zonda};

/// Checks settings with this content; `example.zone` beside them is sound.
fn check(content: &str) -> Said {
    let folder = folder(&[("zonda.toml", content.as_bytes()), ("example.zone", SOUND.as_bytes())]);
    let path = folder.path().join("zonda.toml");
    zonda(&["check-config", text(&path)])
}

const SMALLEST: &str =
    "[server]\nlisten = [\"127.0.0.1:5300\"]\n\n[[zone]]\nname = \"example.\"\nfile = \"example.zone\"\n";

#[test]
fn the_smallest_settings_are_fine() {
    check(SMALLEST).assert_fine();
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_known_one() {
    check("[server]\nlistne = []\n").assert_fails(1, &["zonda.toml:2:", "listne", "listen"]);
    check("[sever]\nworkers = 1\n").assert_fails(1, &["zonda.toml:1:", "sever", "server"]);
    check("[[zone]]\nname = \"example.\"\nflie = \"x\"\n")
        .assert_fails(1, &["zonda.toml:3:", "flie", "file"]);
}

#[test]
fn values_out_of_range_or_of_another_kind() {
    check("[server]\nworkers = -1\n").assert_fails(1, &["zonda.toml:2:", "workers"]);
    check("[server]\nworkers = \"two\"\n").assert_fails(1, &["zonda.toml:2:", "workers"]);
    check("[server]\nlisten = [\"localhost\"]\n").assert_fails(1, &["zonda.toml:2:", "listen"]);
    check("[server]\nudp-payload-octets = 1\n").assert_fails(1, &["zonda.toml:2:"]);
}

#[test]
fn all_mistakes_at_once() {
    let said = check("[server]\nworkers = -1\nlistne = 1\n[log]\nlevel = \"loud\"\n");
    for line in ["zonda.toml:2:", "zonda.toml:3:", "zonda.toml:5:"] {
        said.assert_fails(1, &[line]);
    }
}

#[test]
fn text_that_is_no_toml() {
    check("[server\n").assert_fails(1, &["zonda.toml:1:"]);
    check("= = =\n").assert_fails(1, &["zonda.toml:1:"]);
}

#[test]
fn a_zone_twice_or_without_a_file() {
    let twice = format!("{SMALLEST}\n[[zone]]\nname = \"EXAMPLE.\"\nfile = \"example.zone\"\n");
    check(&twice).assert_fails(1, &["zonda.toml:8:", "EXAMPLE.", "line 4"]);
    check("[[zone]]\nname = \"example.\"\n").assert_fails(1, &["zonda.toml:1:"]);
}

/// Two words in a list of names are no name with a blank in it.
#[test]
fn two_words_on_a_line_of_a_list() {
    let settings = "[[zone]]\nnames-file = \"names\"\nfile = \"{name}.zone\"\n";
    let folder = folder(&[
        ("zonda.toml", settings.as_bytes()),
        ("names", b"a.example\nxx yy.example\nb\\032c.example\n"),
    ]);
    let said = zonda(&["check-config", text(&folder.path().join("zonda.toml"))]);
    said.assert_fails(1, &["names:2:1:", "one domain name a line", "xx yy.example"]);
    assert!(!said.errors.contains("names:3:"), "{said:#?}");
}

/// A file that fits the pattern of a zone directory and is named as no zone can be: the others are served, and it is told.
#[test]
fn a_file_of_a_zone_directory_that_is_no_name() {
    let settings = "[[zone-directory]]\npath = \"zones\"\n";
    let folder = folder(&[("zonda.toml", settings.as_bytes())]);
    std::fs::create_dir(folder.path().join("zones")).expect("a folder");
    for name in ["foo..bar.zone", "example.zone", "README"] {
        std::fs::write(folder.path().join("zones").join(name), SOUND).expect("a file");
    }
    let said = zonda(&["check-config", text(&folder.path().join("zonda.toml")), "--zones"]);
    assert!(said.assert_fine().errors.contains("foo..bar.zone is left out"), "{said:#?}");
    assert_eq!(said.output.lines().count(), 1, "{said:#?}");
    assert!(!said.errors.contains("README"), "{said:#?}");
}

/// What a resolver reads at its start is looked at; what would have no effect is told.
#[test]
fn files_and_sections_of_a_resolver() {
    let check = |settings: &str| {
        let folder = folder(&[("zonda.toml", settings.as_bytes()), ("empty", b"")]);
        zonda(&["check-config", text(&folder.path().join("zonda.toml"))])
    };
    let resolver = "[resolver]\nenabled = true\n";
    check(&format!("{resolver}root-hints = \"none\"\n"))
        .assert_fails(1, &["root-hints ", "none", "no such file"]);
    check(&format!("{resolver}root-hints = \"empty\"\n"))
        .assert_fails(1, &["root-hints ", "empty", "expected at least one record"]);
    check(&format!("{resolver}trust-anchor-file = \"none\"\n"))
        .assert_fails(1, &["trust-anchor-file ", "none"]);
    check(&format!("{resolver}state-directory = \"empty/x\"\n"))
        .assert_fails(1, &["state-directory", "empty"]);
    check(resolver).assert_fine();
    let forward = "[[forward]]\nname = \"a.example\"\naddresses = [\"192.0.2.1\"]\n";
    let said = check(forward);
    assert!(
        said.assert_fine().errors.contains("no effect without `enabled = true` in [resolver]"),
        "{said:#?}"
    );
    assert_eq!(check(&format!("{resolver}{forward}")).assert_fine().errors, "");
}

#[test]
fn a_file_that_is_not_there_or_binary() {
    let folder = folder(&[("zonda.toml", &[0xff; 100])]);
    let absent = folder.path().join("absent.toml");
    zonda(&["check-config", text(&absent)]).assert_fails(1, &["absent.toml", "no such file"]);
    let binary = folder.path().join("zonda.toml");
    zonda(&["check-config", text(&binary)]).assert_fails(1, &["zonda.toml", "UTF-8"]);
}

#[test]
fn wrong_use_is_status_2() {
    for arguments in [&["no-such-command"][..], &["serve", "--no-such-option"], &["check-zone"], &[]] {
        let said = zonda(arguments);
        assert_eq!(said.status, 2, "{arguments:?}: {said:#?}");
        assert!(!said.errors.is_empty());
    }
}

#[test]
fn help_and_version() {
    for command in ["serve", "check-config", "check-zone", "compile", "stat", "ctl"] {
        let said = zonda(&[command, "--help"]);
        assert!(said.assert_fine().output.contains("zonda"), "{said:#?}");
    }
    let said = zonda(&["--version"]);
    assert!(said.assert_fine().output.starts_with("zonda"), "{said:#?}");
}

/// A pipe that nobody writes into: whoever opens it to read waits for ever.
fn pipe(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    path
}

#[test]
fn pipes_and_devices_are_no_files() {
    let folder = folder(&[]);
    let pipe = pipe(&folder);
    zonda(&["check-config", text(&pipe)]).assert_fails(1, &["pipe", "expected a file"]);
    zonda(&["stat", text(&pipe)]).assert_fails(1, &["pipe", "expected a file"]);
    zonda(&["check-config", "/dev/zero"]).assert_fails(1, &["/dev/zero", "expected a file"]);
    for list in [text(&pipe), "/dev/zero"] {
        check(&format!("[[zone]]\nnames-file = \"{list}\"\nfile = \"{{name}}\"\n"))
            .assert_fails(1, &["zonda.toml:1:", list, "expected a file"]);
    }
}

#[test]
fn values_that_cannot_work() {
    for (settings, word) in [
        ("listen = []", "listen"),
        ("listen = [\"127.0.0.1:5300\", \"127.0.0.1:5300\"]", "127.0.0.1:5300 twice"),
        ("nsid = \"0xzz\"", "0xzz"),
        ("nsid = \"0x\"", "hexadecimal"),
        ("group = \"nogroup\"", "user"),
        ("pin = false\nsteer = \"cpu\"", "expected \"hash\" without `pin`"),
        ("listen = [\"0.0.0.0:53\"]\nbackend = \"portable\"", "portable"),
        ("listen = [\"[::]:53\"]\nbackend = \"portable\"", "portable"),
    ] {
        check(&format!("[server]\n{settings}\n")).assert_fails(1, &["zonda.toml:", word]);
    }
    check("[server]\nlisten = [\"127.0.0.1:53\"]\nbackend = \"portable\"\nnsid = \"0x0aFF\"\n").assert_fine();
    check("[server]\nuser = \"no-such-user\"\n").assert_fails(1, &["zonda.toml:", "no-such-user"]);
    check("[control]\ngroup = \"no-such-group\"\n").assert_fails(1, &["zonda.toml:", "no-such-group"]);
}

#[test]
fn an_empty_name_is_not_the_root() {
    check("[[zone]]\nname = \"\"\nfile = \"example.zone\"\n").assert_fails(1, &["zonda.toml:2:", "name"]);
    check("[[zone]]\nname = \".\"\nfile = \"example.zone\"\n").assert_fine();
    let folder = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = folder.path().join("example.zone");
    assert_eq!(zonda(&["check-zone", "", text(&zone)]).status, 2);
    let pack = folder.path().join("a.pack");
    assert_eq!(zonda(&["compile", "-o", text(&pack), &format!("={}", text(&zone))]).status, 2);
}
