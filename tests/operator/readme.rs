//! The README's examples, word by word, in a fresh folder.

use std::process::Command;

use zonda_tests::message::Query;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program};

use crate::kit::{await_answer, folder, text, zonda};

const README: &str = include_str!("../../README.md");

/// The only block of this language with `word` in it.
fn block(language: &str, word: &str) -> &'static str {
    let fence = format!("```{language}\n");
    let blocks = README.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(word)).collect();
    assert_eq!(found.len(), 1, "blocks with {word:?}");
    found[0]
}

#[test]
fn a_zone_of_ones_own_beside_the_root_zone() {
    let example = block("sh", "zonda check-zone");
    let listen =
        example.split("--listen ").nth(1).expect("an address").split_whitespace().next().expect("one");
    // What `make run` listens on, in the other terminal.
    let defaults = zonda(&["settings"]).output;
    let default = defaults.split("Default: `[").nth(1).expect("a list").split(']').next().expect("its end");
    assert!(!default.contains(listen) && default.contains("127.0.0.1:5300"), "{listen} is taken: {default}");
    let port = listen.rsplit(':').next().expect("a port");
    assert!(README.contains(&format!("dig @127.0.0.1 -p {port} www.example.com.")), "how to ask at {listen}");

    // Built already, and found by its path instead of an alias; the port is a free one.
    let scratch = folder(&[]);
    let address = free_address();
    let built = |line: &&str| !line.starts_with("make ") && !line.starts_with("alias ");
    let script: Vec<&str> = example.lines().filter(built).collect();
    let script =
        script.join("\n").replace(listen, &address.to_string()).replace("zonda serve", "exec zonda serve");
    let programs = text(program().parent().expect("a folder"));
    let mut command = Command::new("sh");
    command.args(["-eu", "-c", &format!("PATH='{programs}':$PATH\n{script}")]).current_dir(scratch.path());
    let mut process = Guarded::spawn(command, scratch.path());
    let query = Query::new("www.example.com.", rtype::A).octets();
    let log = || std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    let answer = await_answer(&process, address, &query, log);
    let response = Response::parse(&answer).expect("a sound answer");
    assert_eq!(rtype::rdata_text(rtype::A, &response.answer[0].rdata), "192.0.2.80");
    // Nothing to be puzzled by.
    let log = log();
    process.stop();
    // Unless a server of this machine, or of another test, has the default control socket.
    let is_surprise = |line: &&str| !line.contains("/run/zonda/control.sock: another server listens there");
    let log = log.lines().filter(is_surprise).collect::<Vec<_>>().join("\n");
    assert!(log.starts_with("zone example.com.: fine; 6 records, 4 names\n"), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR") && !log.contains("zonda: "), "{log}");
}

#[test]
fn the_settings_of_a_server_to_keep() {
    let scratch = folder(&[]);
    let here = text(scratch.path()).to_owned();
    // In folders and as a user that are here.
    let settings = ["/etc/zonda", "/var/lib/zonda", "/run/zonda"]
        .iter()
        .fold(block("toml", "[server]").to_owned(), |settings, folder| settings.replace(folder, &here));
    let settings = settings.replace("user = \"zonda\"\n", "");
    std::fs::write(scratch.path().join("zonda.toml"), settings).expect("the settings");
    let said = zonda(&["check-config", text(&scratch.path().join("zonda.toml"))]);
    assert!(said.assert_fine().output.ends_with("zonda.toml: fine, 1 zone\n"), "{said:?}");
}
