#![allow(clippy::unwrap_used)]

use super::*;
use std::time::Duration;

fn read(text: &str) -> Settings {
    Settings::parse(Path::new("z/zonda.toml"), text).unwrap()
}

/// The problems of `text`, one a line, without the file's name.
fn problems(text: &str) -> Vec<String> {
    let problems = Settings::parse(Path::new("f"), text).unwrap_err();
    problems.iter().map(|problem| problem.to_string().strip_prefix("f:").unwrap().to_owned()).collect()
}

#[test]
fn the_smallest_file() {
    let settings = read(
        "[server]\nlisten = [\"127.0.0.1:5300\", \"::1\"]\nworkers = 1\n\n[[zone]]\nname = \"Example.com\"\nfile = \"e\"\n",
    );
    assert_eq!(settings.server.listen, ["127.0.0.1:5300".parse().unwrap(), "[::1]:53".parse().unwrap()]);
    assert_eq!(settings.server.workers, 1);
    let (line, zone) = &settings.zones[0];
    assert_eq!((*line, zone.name.as_ref().unwrap().to_string()), (5, "Example.com.".into()));
    assert_eq!(settings.path(&zone.file), Path::new("z/e"));
    assert_eq!(settings.server.udp_payload_octets, 1232);
}

#[test]
fn an_empty_file_is_all_defaults() {
    let settings = read("");
    assert_eq!(Settings { file: None, ..settings }, Settings::default());
}

#[test]
fn every_kind_of_value() {
    let settings = read(
        "[server]\npin = [0, 3]\nfree-bind = true\nnsid = \"0x01\"\npack-directory = \"/p\"\n\
         [tcp]\nidle-seconds = 0x10\n[log]\nformat = \"json\"\n[[zone-directory]]\npath = \"zones\"\n",
    );
    assert_eq!(settings.server.pin, Pinning::List(vec![0, 3]));
    assert_eq!(settings.tcp.idle_seconds, Duration::from_secs(16));
    assert_eq!(settings.zone_directories[0].1.pattern, "{name}.zone");
    assert_eq!(settings.path(&settings.server.pack_directory), Path::new("/p"));
}

#[test]
fn all_problems_at_once_with_their_places() {
    let found = problems(
        "[server]\nlisten = [\"127.0.0.1:5300\", \"nowhere\"]\nworkers = \"many\"\nudp-payload-octets = 100\n\
         wrokers = 2\nfree_bind = true\n[sever]\n[log]\nlevel = \"loud\"\n[[zone]]\nname = \"a..b\"\nfile = \"x\"\n\
         [[zone]]\nname = \"a\"\n",
    );
    assert_eq!(
        found,
        [
            "2:29: listen: expected a list of addresses such as \"192.0.2.1:53\", \"[2001:db8::1]:53\" or \
             \"192.0.2.1\", found \"nowhere\"",
            "3:11: workers: expected a number of workers from 0 to 1024, found \"many\"",
            "4:22: udp-payload-octets: expected a number of octets from 512 to 4096, found 100",
            "5:1: unknown key \"wrokers\" in [server]; did you mean \"workers\"?",
            "6:1: unknown key \"free_bind\" in [server]; did you mean \"free-bind\"?",
            "7:2: unknown key \"sever\"; did you mean \"server\"?",
            "9:9: level: expected one of \"error\", \"warn\", \"info\", \"debug\", \"trace\", found \"loud\"",
            "11:8: name: expected a domain name, found \"a..b\"",
            "13:1: [[zone]]: expected `file` (or `pack`), found neither",
        ]
    );
}

#[test]
fn syntax_errors_have_a_place() {
    let found = problems("[server]\nworkers = \nlisten = [\n");
    assert!(found[0].starts_with("2:"), "{found:?}");
    let found = problems("[server]\nworkers = 1\nworkers = 2\n");
    assert!(found.len() == 1 && found[0].starts_with("3:1: duplicate key"), "{found:?}");
}

#[test]
fn one_bracket_where_two_belong() {
    assert_eq!(
        problems("[zone]\nname = \"a\"\n"),
        ["1:1: expected [[zone]] with two brackets, as there can be several"]
    );
    assert_eq!(problems("server = 1\n"), ["1:10: expected a table [server], found 1"]);
}

#[test]
fn files_that_cannot_be_read() {
    let read = |path: &Path| Settings::read(path).unwrap_err()[0].to_string();
    assert_eq!(read(Path::new("/nonexistent/f")), "/nonexistent/f: cannot open: no such file or directory");
    assert_eq!(read(Path::new("/")), "/: expected a file, found a folder");
}

#[test]
fn what_a_change_needs() {
    let (old, mut new) = (read("[server]\nworkers = 1\n"), read("[server]\nworkers = 2\nnsid = \"x\"\n"));
    assert_eq!(new.server.keep_until_start(&old.server), ["[server] workers"]);
    assert_eq!((new.server.workers, new.server.nsid.as_str()), (1, "x"));
}
