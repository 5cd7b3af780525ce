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
    assert_eq!(settings.zone_directories[0].1.own.pattern, "{name}.zone");
    assert_eq!(settings.path(&settings.server.pack_directory), Path::new("/p"));
}

#[test]
fn all_problems_at_once_with_their_places() {
    let found = problems(
        "[server]\nlisten = [\"127.0.0.1:5300\", \"nowhere\", \"here\"]\nworkers = \"many\"\nudp-payload-octets = 100\n\
         wrokers = 2\nfree_bind = true\n[sever]\n[log]\nlevel = \"loud\"\n[[zone]]\nname = \"a..b\"\nfile = \"x\"\n\
         [[zone]]\nname = \"a\"\n",
    );
    assert_eq!(
        found,
        [
            "2:29: listen: expected a list of addresses such as \"192.0.2.1:53\", \"[2001:db8::1]:53\" or \
             \"192.0.2.1\", found \"nowhere\"",
            "2:40: listen: expected a list of addresses such as \"192.0.2.1:53\", \"[2001:db8::1]:53\" or \
             \"192.0.2.1\", found \"here\"",
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

const ACLS: &str = "[[acl]]\nname = \"office\"\naddresses = [\"192.0.2.0/24\", \"!192.0.2.128/25\", \"2001:db8::1\"]\n\
                    [[acl]]\nname = \"streams\"\ntransports = [\"tcp\", \"tls\"]\nproved = true\n";

#[test]
fn access_lists() {
    let settings = read(&format!(
        "{ACLS}[access]\nquery = [\"office\", \"streams\"]\ntransfer = \"office\"\n\
         [[zone]]\nname = \"a\"\nfile = \"x\"\nallow-query = \"all\"\n[[zone]]\nname = \"b\"\nfile = \"x\"\n"
    ));
    let texts = |names: &Names| names.texts().join(" ");
    assert_eq!(
        settings.access.kinds().map(|(_, names)| texts(names)),
        ["office streams", "office", "nobody", "nobody", "local"]
    );
    let own: Vec<OwnLists> = settings.own_lists().collect();
    assert_eq!(own, [OwnLists::of_queries(&Names::one("all"))]);
    assert_eq!(settings.acls.len(), 2);
    assert!(settings.acls[1].proved && settings.acls[1].addresses.is_empty());
    assert_eq!(texts(&read("").access.query), "all");
}

#[test]
fn what_is_wrong_with_access_lists() {
    let found = problems(
        "[[acl]]\nname = \"office\"\naddresses = [\"192.0.2.1/24\", \"192.0.2.0/33\", \"here\", \"!2001:db8::/+1\"]\n\
         transports = [\"tpc\"]\nkeys = [\"k.example\"]\n\
         [[acl]]\nname = \"office\"\n\
         [[acl]]\nname = \"all\"\naddresses = [\"10.0.0.0/8\", \"10.0.0.0/8\"]\n\
         [[acl]]\naddresses = \"!10.0.0.0/8\"\n\
         [access]\nquery = [\"offcie\", \"nobody\"]\ntransfer = []\nupdate = [\"office\", \"office\"]\n\
         [[zone]]\nname = \"a\"\nfile = \"x\"\n[[zone]]\nname = \"b\"\nfile = \"x\"\nallow-query = \"nobdy\"\n\
         [[zone-directory]]\npath = \"x\"\nallow-query = [\"office\", \"something\"]\n\
         [server]\npack-directory = \"p\"\n",
    );
    assert_eq!(
        found,
        [
            "3:14: addresses: expected zeros after the first 24 bits, found \"192.0.2.1/24\"; did you mean \"192.0.2.0/24\"?",
            "3:30: addresses: expected a prefix of at most 32 bits, found \"192.0.2.0/33\"",
            "3:46: addresses: expected an address or prefix such as \"192.0.2.0/24\", found \"here\"",
            "3:54: addresses: expected an address or prefix such as \"192.0.2.0/24\", found \"!2001:db8::/+1\"",
            "4:15: transports: unknown transport \"tpc\"; did you mean \"tcp\"?",
            "5:9: keys: expected the name of a [[key]], found \"k.example\"; there are none",
            "7:8: name: expected each name once, found \"office\" twice",
            "9:8: name: expected a name other than \"all\", \"local\" and \"nobody\", found \"all\"",
            "10:28: addresses: expected each prefix once, found \"10.0.0.0/8\" beside \"10.0.0.0/8\"",
            "11:1: name: expected a name for the list, found none",
            "12:13: addresses: expected a prefix that is let in, found excluded ones alone; with \"0.0.0.0/0\" and \"::/0\" \
             all others are",
            "14:10: query: unknown [[acl]] \"offcie\"; did you mean \"office\"?",
            "14:20: query: expected \"nobody\" alone, found it beside others",
            "15:12: transfer: expected \"all\", \"nobody\", \"local\" or the name of an [[acl]], or a list of such, found an empty list",
            "16:21: update: expected each list once, found \"office\" twice",
            "23:15: allow-query: unknown [[acl]] \"nobdy\"; did you mean \"nobody\"?",
            "26:26: allow-query: unknown [[acl]] \"something\"; known are all, local, nobody, office",
        ]
    );
    let many = (0..17).map(|at| format!("[[acl]]\nname = \"l{at}\"\n")).collect::<String>();
    let names: Vec<String> = (0..17).map(|at| format!("\"l{at}\"")).collect();
    let text = format!("{many}[access]\nquery = [{}]\n", names.join(", "));
    assert_eq!(problems(&text), ["36:9: query: expected at most 16 lists, found 17"]);
    let many = (0..4097).map(|at| format!("[[acl]]\nname = \"l{at}\"\n")).collect::<String>();
    assert_eq!(problems(&many), ["8192:8: name: expected at most 4095 lists, found 4097"]);
}
