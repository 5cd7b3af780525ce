//! What the manual says about moving from other servers, tried with these.

mod resolver;

use std::process::Command;

use zonda_tests::server::peers::require;

use crate::kit::{SOUND, folder, text, zonda};

const MANUAL: &str = include_str!("../../docs/manual/src/moving.md");

/// Settings in the order in which people write them: what is in a zone's braces has braces too, and not all are primary zones.
const NAMED: &str = "
options { directory \"FOLDER\"; listen-on-v6 { none; }; recursion no; };
acl office { 192.0.2.0/24; };
zone \".\" { type hint; file \"hints\"; };
zone \"one.example\" { allow-query { office; }; type primary; file \"FOLDER/example.zone\"; };
zone \"two.example\" IN { type master; file \"example.zone\"; allow-transfer { any; }; };
zone \"three.example\" { type secondary; primaries { 192.0.2.1; }; file \"three.zone\"; };
";

#[test]
fn sections_from_bind() {
    let folder = folder(&[("example.zone", SOUND.as_bytes()), ("hints", b". 60 NS a.\na. 60 A 192.0.2.1\n")]);
    let path = folder.path().join("named.conf");
    std::fs::write(&path, NAMED.replace("FOLDER", text(folder.path()))).expect("the settings");
    let script =
        MANUAL.split("```sh\n").find(|block| block.starts_with("named-checkconf -p")).expect("a block");
    let script = script.split("```").next().expect("its end").replace("/etc/bind/named.conf", text(&path));
    let script = script.replace("named-checkconf", text(&require("named-checkconf", "bind9")));
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let (sections, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let settings = folder.path().join("zonda.toml");
    std::fs::write(&settings, &*sections).expect("the sections");
    let said = zonda(&["check-config", "--zones", text(&settings)]);
    let file = folder.path().join("example.zone");
    let expected = format!("one.example. {0}\ntwo.example. {0}\n", file.display());
    assert_eq!(said.assert_fine().output, expected, "{sections}");
}

/// Every setting of ours that a table names is one.
#[test]
fn the_tables_name_settings_that_there_are() {
    let settings = zonda(&["settings"]).output;
    let words = |line: &str| {
        let cell = line.rsplit(" | ").next().unwrap_or_default().to_owned();
        let parts: Vec<String> = cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        parts
    };
    let is_key = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase()) && !word.starts_with("named-")
    };
    let mut named = 0;
    for table in MANUAL.split("| zonda.toml |\n").skip(1) {
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        for word in rows.filter(|row| !row.contains("`zonda ")).flat_map(words) {
            let word = word
                .trim_start_matches("[tcp] ")
                .trim_start_matches("[access] ")
                .trim_start_matches("[cookies] ");
            let key = word.split([' ', '=']).next().unwrap_or_default();
            if is_key(key) && !key.contains(['.', ':', '/']) {
                named += 1;
                assert!(settings.contains(&format!("### `{key}`\n")), "{key} is no setting");
            }
        }
    }
    assert!(named > 50, "{named}");
}
