//! Zones over HTTP: who may read and change what, what is served of that and what is left of it after the server was killed.

mod audit;
mod changes;
mod client;
mod clients;
mod crowd;
mod described;
mod explain;
mod generated;
mod hanging;
mod history;
mod hostile;
mod made;
mod now;
mod openapi;
mod page;
mod process;
mod revoked;
mod search;
mod secure;
mod slow;
mod stored;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_some, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, free_address, signal};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, zonda};
use client::{Client, Reply, body, rrset};

const SERVER: &str = "/api/v1/servers/localhost";

/// A user without rights: a server of root has no API.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("a process").uid() == 0
}

/// A new key: the hash for the settings, and the secret.
fn new_key(name: &str) -> (String, String) {
    let said = zonda(&["api-key", "new", name]);
    let output = &said.assert_fine().output;
    let hash = output.lines().find_map(|line| line.strip_prefix("hash = ")).expect("a hash");
    let secret = output.lines().find_map(|line| line.strip_prefix("# The secret, which is shown once: "));
    (hash.to_owned(), secret.expect("a secret").to_owned())
}

/// Files, keys and settings that outlive a server.
struct Bed {
    files: tempfile::TempDir,
    /// Changes all of `a.test.`, but what rules deny, and has rules explained; reads it and `b.test.`.
    acme: String,
    /// Reads everything.
    reader: String,
    /// Has expired.
    old: String,
    /// Makes, sets and removes zones below `made.test.`, and changes all in them.
    maker: String,
    /// Sees how the server is, and no zone.
    observer: String,
    /// Sees what others ask.
    watcher: String,
    keys: String,
}

impl Bed {
    /// The same, with an audit: in this file.
    fn audited(&mut self) -> PathBuf {
        let folder = self.files.path().join("log");
        fs::create_dir(&folder).expect("a folder");
        if is_root() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).expect("a folder of the server's");
        }
        let file = folder.join("audit.jsonl");
        self.keys = format!("audit = \"file:{}\"\n{}", file.display(), self.keys);
        file
    }

    /// The same, with a page.
    fn paged(mut self) -> Bed {
        self.keys = format!("page = true\npage-name = \"ns1 (test)\"\n{}", self.keys);
        self
    }

    fn new() -> Bed {
        let files = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        let folder = files.path();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("an open folder");
        fs::write(folder.join("zone"), SOUND).expect("a text");
        // Where the server writes: texts of zones that are frozen, too.
        for name in ["packs", "texts"] {
            fs::create_dir(folder.join(name)).expect("a folder");
            if is_root() {
                chown(folder.join(name), Some(NOBODY), Some(NOBODY)).expect("a folder of the server's");
            }
        }
        fs::copy(folder.join("zone"), folder.join("texts/a.test.")).expect("a text");
        if is_root() {
            chown(folder.join("texts/a.test."), Some(NOBODY), Some(NOBODY)).expect("a text of the server's");
        }
        let [acme, reader, old, maker, observer, watcher] =
            ["acme", "reader", "old", "maker", "observer", "watcher"].map(new_key);
        let keys = format!(
            "\n[[api-key]]\nname = \"acme\"\nhash = {}\nverbs = [\"read\", \"change\", \"explain\"]\nzones = [\"a.test.\", \"b.test.\", \"plain.test.\"]\n\
             rules = [\"deny label fixed\", \"grant zonesub\", \"grant name a.test. NS SOA\"]\n\
             \n[[api-key]]\nname = \"reader\"\nhash = {}\nzones = \"*.test.\"\n\
             \n[[api-key]]\nname = \"old\"\nhash = {}\nzones = \"*.test.\"\nexpires = \"2020-01-01\"\n\
             \n[[api-key]]\nname = \"maker\"\nhash = {}\nverbs = [\"read\", \"change\", \"make\", \"set\", \"drop\"]\nzones = [\"*.made.test.\", \"a.test.\"]\nrules = \"grant zonesub ANY\"\n\
             \n[[api-key]]\nname = \"observer\"\nhash = {}\nverbs = \"server\"\nzones = \"*.test.\"\n\
             \n[[api-key]]\nname = \"watcher\"\nhash = {}\nverbs = [\"observe\", \"server\", \"read\"]\nzones = \"*.test.\"\n",
            acme.0, reader.0, old.0, maker.0, observer.0, watcher.0
        );
        let [acme, reader, old, maker, observer, watcher] =
            [acme.1, reader.1, old.1, maker.1, observer.1, watcher.1];
        Bed { files, acme, reader, old, maker, observer, watcher, keys }
    }

    fn settings(&self, at: SocketAddr) -> String {
        let folder = self.files.path().display();
        let user =
            if is_root() { format!("user = \"{NOBODY}\"\ngroup = \"{NOBODY}\"\n") } else { String::new() };
        let zone = |name: &str, file: &str, more: &str| {
            format!("\n[[zone]]\nname = \"{name}\"\nfile = \"{folder}/{file}\"\n{more}")
        };
        let policy = "update-policy = \"api\"\n";
        let zones = [
            zone("a.test.", "texts/a.test.", policy),
            zone("b.test.", "zone", policy),
            zone("plain.test.", "zone", ""),
            zone("other.", "zone", ""),
        ];
        format!(
            "{user}pack-directory = \"{folder}/packs\"\n\n[access]\ntransfer = \"all\"\n\n[api]\nlisten = [\"{at}\"]\nzones = [\"*.made.test.\"]\ntemplate = \"hosted\"\ndefault-ns = [\"ns1.example.\"]\n{}\n\
             [[template]]\nname = \"hosted\"\nupdate-policy = \"hosted\"\n\n[[update-policy]]\nname = \"hosted\"\nrules = [\"grant api:maker zonesub ANY\"]\n\n\
             [[update-policy]]\nname = \"api\"\nrules = [\"deny api:acme name kept.a.test.\", \"grant api:acme zonesub ANY\", \"grant api:client zonesub ANY\"]\n{}",
            self.keys,
            zones.concat()
        )
    }

    fn start(&self) -> Fixture<'_> {
        self.start_with("")
    }

    /// With these sections besides.
    fn start_with(&self, more: &str) -> Fixture<'_> {
        let at = free_address();
        let file = ZoneFile::new("static.test.", self.files.path().join("zone"));
        let settings = format!("{}{more}", self.settings(at));
        let server = Server::start_with(Kind::Zonda, &[file], &settings);
        fs::set_permissions(server.scratch.path(), fs::Permissions::from_mode(0o755))
            .expect("an open folder");
        let fixture = Fixture { bed: self, server, at };
        await_that("the API", || fixture.ask("GET", "/api", &self.reader, "", "").is_some());
        fixture
    }
}

struct Fixture<'b> {
    bed: &'b Bed,
    server: Server,
    /// Of the API.
    at: SocketAddr,
}

impl Fixture<'_> {
    fn ask(&self, method: &str, path: &str, key: &str, headers: &str, body: &str) -> Option<Reply> {
        Client::new(self.at)?.ask(method, path, key, headers, body)
    }

    fn get(&self, path: &str, key: &str) -> Reply {
        self.ask("GET", &format!("{SERVER}{path}"), key, "", "").expect("a reply")
    }

    fn patch(&self, zone: &str, key: &str, headers: &str, rrsets: &[serde_json::Value]) -> Reply {
        let path = format!("{SERVER}/zones/{zone}");
        self.ask("PATCH", &path, key, headers, &body(rrsets)).expect("a reply")
    }

    /// Addresses of a name, as it is served.
    fn addresses(&self, name: &str) -> Vec<Vec<u8>> {
        let response = ask(self.server.address, Transport::Udp, &Query::new(name, rtype::A));
        let mut all: Vec<_> = response.answer.iter().map(|record| record.rdata.clone()).collect();
        all.sort();
        all
    }

    fn serial(&self, zone: &str) -> u32 {
        let response = ask(self.server.address, Transport::Udp, &Query::new(zone, rtype::SOA));
        let rdata = &response.answer.first().expect("an SOA record").rdata;
        u32::from_be_bytes(*rdata[rdata.len() - 20..].first_chunk().expect("four octets"))
    }

    /// What dig says of a zone from a serial on, a line a record.
    fn ixfr(&self, zone: &str, from: u32) -> String {
        let mut dig = Command::new("dig");
        dig.args(["@127.0.0.1", "-p", &self.server.address.port().to_string(), "+noall", "+answer", "+tcp"]);
        let output = dig.args([zone, &format!("IXFR={from}")]).output().expect("dig");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Kills the server, and starts another one on what it left.
    fn kill_and_start_again(self) -> Self {
        let Fixture { bed, mut server, .. } = self;
        signal(server.process.pid(), "KILL");
        server.process.wait(Duration::from_secs(10)).expect("an end");
        drop(server);
        bed.start()
    }

    /// Has a command said; what it prints, and whether all went well.
    fn told(&self, command: &[&str]) -> (String, bool) {
        let output = ctl(&self.server, command);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (text, output.status.success())
    }

    /// The process of the API.
    fn child(&self) -> Option<u32> {
        child_of(self.server.process.pid())
    }
}

/// The process for the API of the server `pid`.
fn child_of(pid: u32) -> Option<u32> {
    let is_it = |child: &u32| {
        let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        words == b"zonda\0api\0" && parent == Some(pid)
    };
    let all = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_it)
}

fn replace(name: &str, address: &str) -> serde_json::Value {
    rrset(name, "A", "REPLACE", 60, &[address])
}

#[test]
fn who_may_read_what() {
    let bed = Bed::new();
    let fixture = bed.start();
    let (acme, reader) = (&*bed.acme, &*bed.reader);
    let status = |path: &str, key: &str| fixture.get(path, key).status;
    for wrong in ["", "wrong", &bed.old, &reader[1..]] {
        let reply = fixture.get("/zones", wrong);
        assert_eq!(reply.status, 401, "{wrong}: {reply:?}");
        assert!(reply.json()["error"].is_string());
    }
    // What every client begins with.
    assert_eq!(fixture.ask("GET", "/api", reader, "", "").expect("a reply").json()[0]["version"], 1);
    let server = fixture.get("", reader).json();
    assert!(server["version"].as_str().expect("a version").starts_with("5."), "{server}");
    assert_eq!(fixture.get("/config", reader).json(), serde_json::json!([]));
    let names = |key: &str, path: &str| -> Vec<String> {
        let zones = fixture.get(path, key).json();
        let mut names: Vec<String> = zones
            .as_array()
            .expect("a list")
            .iter()
            .map(|zone| zone["name"].as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(acme, "/zones"), ["a.test.", "b.test.", "plain.test."]);
    assert_eq!(names(reader, "/zones"), ["a.test.", "b.test.", "plain.test.", "static.test."]);
    assert_eq!(names(reader, "/zones?zone=B.test"), ["b.test."]);
    assert_eq!(names(reader, "/zones?zone=other"), [""; 0]);
    // In pages, each zone once.
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/zonda/v1/zones?limit=3{after}");
        let page = fixture.ask("GET", &path, reader, "", "").expect("a reply").json();
        all.extend(page["zones"].as_array().expect("a list").iter().map(|zone| zone["name"].to_string()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    all.sort();
    assert_eq!(all, ["\"a.test.\"", "\"b.test.\"", "\"plain.test.\"", "\"static.test.\""]);
    let other = fixture.ask("GET", "/api/zonda/v1/zones?after=5-0000000000000001", reader, "", "");
    assert_eq!(other.expect("a reply").status, 410);
    // One zone, by parts, and as a text.
    let zone = fixture.get("/zones/A.test", acme);
    assert!(zone.header("etag").is_some_and(|tag| tag.starts_with("\"1-")));
    let zone = zone.json();
    assert_eq!(
        (zone["serial"].as_u64(), zone["kind"].as_str(), zone["id"].as_str()),
        (Some(1), Some("Native"), Some("a.test."))
    );
    let sets = zone["rrsets"].as_array().expect("a list");
    let kinds: Vec<String> = sets.iter().map(|set| format!("{} {}", set["name"], set["type"])).collect();
    assert_eq!(
        kinds,
        ["\"a.test.\" \"SOA\"", "\"a.test.\" \"NS\"", "\"ns.a.test.\" \"A\"", "\"www.a.test.\" \"A\""]
    );
    let one = fixture.get("/zones/a.test.?rrset_name=www.a.test.&rrset_type=A", acme).json();
    assert_eq!(one["rrsets"][0]["records"][0]["content"], "192.0.2.2");
    assert_eq!(one["rrsets"].as_array().map(Vec::len), Some(1));
    assert!(fixture.get("/zones/a.test.?rrsets=false", acme).json()["rrsets"].is_null());
    assert_eq!(fixture.get("/zones/a.test./cryptokeys", acme).json(), serde_json::json!([]));
    let text = fixture.get("/zones/a.test./export", acme);
    assert!(text.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
    assert!(text.text.starts_with("a.test. 60 IN SOA ") && text.text.lines().count() == 4, "{}", text.text);
    let head = fixture.ask("HEAD", &format!("{SERVER}/zones/a.test."), acme, "", "").expect("a reply");
    assert_eq!((head.status, &*head.text), (200, ""));
    // What a key may not see is not there, as what there is not.
    assert_eq!(
        [
            status("/zones/static.test.", acme),
            status("/zones/none.test.", reader),
            status("/zones/other.", reader)
        ],
        [404; 3]
    );
    let denied = fixture.patch("a.test.", reader, "", &[replace("x.a.test.", "192.0.2.7")]);
    assert_eq!(denied.status, 403);
    assert_eq!(
        fixture.ask("PUT", &format!("{SERVER}/zones/a.test./notify"), acme, "", "").expect("a reply").status,
        200
    );
    assert_eq!(
        fixture
            .ask("PUT", &format!("{SERVER}/zones/a.test./axfr-retrieve"), acme, "", "")
            .expect("a reply")
            .status,
        403
    );
    assert_eq!(
        fixture.ask("DELETE", &format!("{SERVER}/zones/a.test."), acme, "", "").expect("a reply").status,
        403
    );
    // A key that is taken out of the settings is none any more.
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    fs::write(
        &settings,
        text.replace("name = \"reader\"", "name = \"renamed\"").replace(
            bed.keys.split('\n').nth(3).expect("a hash"),
            "hash = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"",
        ),
    )
    .expect("the settings");
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    assert_eq!([status("/zones", acme), status("/zones", reader)], [401, 200]);
}

/// A key is one only where it comes from its networks; from elsewhere it is as one that nobody knows.
#[test]
fn a_key_of_some_networks() {
    let mut bed = Bed::new();
    let (hash, secret) = new_key("roaming");
    bed.keys += &format!(
        "\n[[api-key]]\nname = \"roaming\"\nhash = {hash}\nzones = \"*.test.\"\nfrom = [\"192.0.2.0/24\", \"2001:db8::/32\"]\n"
    );
    let fixture = bed.start();
    let ask = |key: &str| fixture.get("/zones", key);
    let (away, stranger) = (ask(&secret), ask("wrong"));
    assert_eq!((away.status, &away.text), (401, &stranger.text));
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    fs::write(&settings, text.replace("192.0.2.0/24", "127.0.0.0/8")).expect("the settings");
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    await_that("an answer", || ask(&secret).status == 200);
    assert_eq!(ask(&bed.reader).status, 200, "others come from anywhere");
}

#[test]
fn changes_are_served_and_survive() {
    let bed = Bed::new();
    let fixture = bed.start();
    let acme = &*bed.acme;
    let patch = |headers: &str, rrsets: &[serde_json::Value]| fixture.patch("a.test.", acme, headers, rrsets);
    let done = patch("", &[replace("new.a.test.", "192.0.2.9"), rrset("www.a.test.", "A", "DELETE", 0, &[])]);
    assert_eq!((done.status, &*done.text), (204, ""), "{done:?}");
    assert_eq!(
        (done.serial("x-pdns-old-serial"), done.serial("x-pdns-new-serial"), done.header("etag")),
        (1, 2, None)
    );
    assert_eq!(fixture.addresses("new.a.test."), [[192, 0, 2, 9]]);
    assert_eq!((fixture.addresses("www.a.test.").len(), fixture.serial("a.test.")), (0, 2));
    // The same once more changes nothing.
    let again = patch("", &[replace("new.a.test.", "192.0.2.9")]);
    assert_eq!(
        (again.status, again.serial("x-pdns-old-serial"), again.serial("x-pdns-new-serial")),
        (204, 2, 2)
    );
    // One record more, one less.
    let set = |changetype, address| rrset("new.a.test.", "A", changetype, 60, &[address]);
    assert_eq!(patch("", &[set("EXTEND", "192.0.2.10")]).status, 204);
    assert_eq!(fixture.addresses("new.a.test."), [[192, 0, 2, 9], [192, 0, 2, 10]]);
    assert_eq!(patch("", &[set("PRUNE", "192.0.2.9")]).status, 204);
    assert_eq!((fixture.addresses("new.a.test."), fixture.serial("a.test.")), (vec![vec![192, 0, 2, 10]], 4));
    // On a condition: of the version that was read, once.
    let tag = fixture.get("/zones/a.test.?rrsets=false", acme).header("etag").expect("a tag").to_owned();
    let condition = format!("If-Match: {tag}\r\n");
    let changed = patch(&condition, &[replace("cond.a.test.", "192.0.2.1")]);
    let next = changed.header("etag").expect("a tag").to_owned();
    assert_eq!(changed.status, 204);
    assert_eq!(fixture.get("/zones/a.test.?rrsets=false", acme).header("etag"), Some(&*next));
    assert_eq!(patch(&condition, &[replace("cond.a.test.", "192.0.2.2")]).status, 412);
    assert_eq!(patch(&format!("If-Match: {next}\r\n"), &[replace("cond.a.test.", "192.0.2.3")]).status, 204);
    assert_eq!(patch("If-Match: \"theirs\"\r\n", &[replace("cond.a.test.", "192.0.2.4")]).status, 412);
    // A dry run tells what would be.
    let path = format!("{SERVER}/zones/a.test.?dry-run=true");
    let dry = fixture
        .ask("PATCH", &path, acme, "", &body(&[replace("dry.a.test.", "192.0.2.1")]))
        .expect("a reply");
    let zone = &dry.json()["zones"][0];
    assert_eq!(
        (dry.status, zone["done"].as_bool(), zone["new-serial"].as_u64()),
        (200, Some(false), Some(7)),
        "{dry:?}"
    );
    assert!(dry.text.contains("dry.a.test.") && fixture.addresses("dry.a.test.").is_empty());
    // What the key, the zone or no zone may have, each with the RRset that shows it; nothing of the others is done.
    let refused = |status: u16, words: &str, rrsets: &[serde_json::Value]| {
        let reply = patch("", rrsets);
        let text = reply.json()["errors"].to_string();
        assert!(reply.status == status && text.contains(words), "{status} {words}: {reply:?}");
    };
    let other = || replace("other.a.test.", "192.0.2.1");
    refused(
        403,
        "fixed.a.test. A: denied by rule 1 of this key",
        &[other(), replace("fixed.a.test.", "192.0.2.1")],
    );
    refused(
        403,
        "kept.a.test. A: denied by rule 1 of the zone",
        &[other(), replace("kept.a.test.", "192.0.2.1")],
    );
    refused(403, "no rule of this key", &[rrset("x.a.test.", "NS", "REPLACE", 60, &["ns.a.test."])]);
    refused(
        422,
        "CNAME record and other data",
        &[other(), rrset("new.a.test.", "CNAME", "REPLACE", 60, &["ns.a.test."])],
    );
    refused(
        422,
        "a.test. NS: the zone would have no NS",
        &[other(), rrset("a.test.", "NS", "DELETE", 0, &[])],
    );
    refused(422, "outside the zone", &[other(), replace("x.b.test.", "192.0.2.1")]);
    assert!(fixture.addresses("other.a.test.").is_empty() && fixture.serial("a.test.") == 6);
    let no_policy = fixture.patch("plain.test.", acme, "", &[replace("x.plain.test.", "192.0.2.1")]);
    assert!(no_policy.status == 422 && no_policy.text.contains("update-policy"), "{no_policy:?}");
    // An SOA record whose serial is greater is taken as it is.
    let soa = rrset("a.test.", "SOA", "REPLACE", 60, &["ns.a.test. host.a.test. 100 3 2 5 5"]);
    assert_eq!(patch("", &[soa]).serial("x-pdns-new-serial"), 100);
    // Frozen by the operator.
    let frozen = ctl(&fixture.server, &["freeze", "a.test."]);
    assert!(frozen.status.success(), "{frozen:?}");
    assert_eq!(patch("", &[other()]).status, 409);
    assert!(ctl(&fixture.server, &["thaw", "a.test."]).status.success());
    // What was answered is there after the server was killed.
    let last = patch("", &[replace("last.a.test.", "192.0.2.77")]);
    assert_eq!(last.status, 204);
    let fixture = fixture.kill_and_start_again();
    assert_eq!(
        (fixture.addresses("last.a.test."), fixture.serial("a.test.")),
        (vec![vec![192, 0, 2, 77]], 101)
    );
    // Tags of before are of no version any more.
    let stale = fixture.patch(
        "a.test.",
        acme,
        &format!("If-Match: {next}\r\n"),
        &[replace("x.a.test.", "192.0.2.1")],
    );
    assert_eq!(stale.status, 412);
}

/// Several at once: each is done once, none is lost, and a large one goes as well.
#[test]
fn many_at_once() {
    const CLIENTS: usize = 8;
    const CHANGES: usize = 20;
    let bed = Bed::new();
    let fixture = bed.start();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (acme, at) = (&bed.acme, fixture.at);
            scope.spawn(move || {
                let mut client = Client::new(at).expect("a connection");
                let path = format!("{SERVER}/zones/a.test.");
                for change in 0..CHANGES {
                    let address = format!("10.0.{number}.{change}");
                    let set = rrset(&format!("many{number}.a.test."), "A", "EXTEND", 60, &[&address]);
                    let reply = client.ask("PATCH", &path, acme, "", &body(&[set])).expect("a reply");
                    assert_eq!(reply.status, 204, "{reply:?}");
                }
            });
        }
    });
    assert_eq!(fixture.serial("a.test."), 1 + (CLIENTS * CHANGES) as u32);
    for number in 0..CLIENTS {
        assert_eq!(fixture.addresses(&format!("many{number}.a.test.")).len(), CHANGES);
    }
    // Larger than a frame between the processes, and told again in several.
    let sets: Vec<serde_json::Value> = (0..1000)
        .map(|number| {
            rrset(&format!("n{number}.b.test."), "TXT", "REPLACE", 60, &[&format!("\"{}\"", "x".repeat(200))])
        })
        .collect();
    let large = fixture.patch("b.test.", &bed.acme, "", &sets);
    assert_eq!(large.status, 204, "{large:?}");
    let zone = fixture.get("/zones/b.test.", &bed.acme).json();
    assert_eq!(zone["rrsets"].as_array().map(Vec::len), Some(1000 + 4));
    assert_eq!(fixture.get("/zones/b.test./export", &bed.acme).text.lines().count(), 1000 + 4);
    // What changes in it goes to others as a difference.
    let changed = fixture.patch("b.test.", &bed.acme, "", &[replace("www.b.test.", "192.0.2.99")]);
    let difference = fixture.ixfr("b.test.", changed.serial("x-pdns-old-serial"));
    assert!(difference.contains("192.0.2.99") && !difference.contains("n7.b.test."), "{difference}");
    let more: Vec<serde_json::Value> =
        (0..1025).map(|number| replace(&format!("m{number}.b.test."), "192.0.2.1")).collect();
    assert_eq!(fixture.patch("b.test.", &bed.acme, "", &more).status, 413);
}

#[test]
fn as_root_there_is_none() {
    if !is_root() {
        return;
    }
    let bed = Bed::new();
    let at = free_address();
    let settings = bed.settings(at).replace(&format!("user = \"{NOBODY}\"\ngroup = \"{NOBODY}\"\n"), "");
    let file = ZoneFile::new("static.test.", bed.files.path().join("zone"));
    let server = Server::start_with(Kind::Zonda, &[file], &settings);
    server.await_log("this server runs as root, so that there is no API");
    assert!(
        Client::new(at).is_none_or(|mut client| client.ask("GET", "/api", &bed.reader, "", "").is_none())
    );
    assert_eq!(child_of(server.process.pid()), None);
}

/// The path of a file in `/proc`.
fn proc_file(pid: u32, name: &str) -> String {
    fs::read_to_string(Path::new("/proc").join(pid.to_string()).join(name)).unwrap_or_default()
}

/// Waits for the process of the API.
fn await_child(fixture: &Fixture<'_>) -> u32 {
    await_some(|| format!("no process: {}", fixture.server.log()), || fixture.child())
}
