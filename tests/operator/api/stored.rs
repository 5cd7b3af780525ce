//! Zones of stores that are changed over HTTP: what is answered is in the database and served, whoever else writes there, and whatever happens to either.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use zonda_tests::patience::await_some;
use zonda_tests::server::{Kind, Server, free_address, signal};

use super::*;
use crate::kit::{folder, text};
use crate::store::postgres::server::Scratch as Postgres;

/// A store with the small sound zones `example.` and `other.`, and what its server needs, which outlive that.
struct Store {
    folder: tempfile::TempDir,
    url: String,
    acme: (String, String),
    postgres: Option<Postgres>,
}

impl Store {
    /// In a file.
    fn in_file() -> Store {
        let store = Store::new(String::new(), None);
        let path = store.folder.path().join("db/zones.db");
        let store = Store { url: format!("sqlite:{}", path.display()), ..store };
        store.fill(text(&path));
        if is_root() {
            for file in fs::read_dir(store.folder.path().join("db")).expect("a folder") {
                chown(file.expect("a file").path(), Some(NOBODY), Some(NOBODY))
                    .expect("a file of the server's");
            }
        }
        store
    }

    /// In PostgreSQL.
    fn in_postgres(database: Postgres) -> Store {
        let store = Store::new(database.address(), Some(database));
        store.fill(&store.url.clone());
        store
    }

    fn new(url: String, postgres: Option<Postgres>) -> Store {
        let folder = folder(&[("new.zone", SOUND.as_bytes())]);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("an open folder");
        for name in ["packs", "db"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
            if is_root() {
                chown(folder.path().join(name), Some(NOBODY), Some(NOBODY))
                    .expect("a folder of the server's");
            }
        }
        Store { folder, url, acme: new_key("acme"), postgres }
    }

    fn fill(&self, place: &str) {
        zonda(&["store", "init", place]).assert_fine();
        let file = self.folder.path().join("new.zone");
        for zone in ["example.", "other."] {
            zonda(&["store", "import", place, &format!("{zone}={}", text(&file))]).assert_fine();
        }
    }

    fn place(&self) -> &str {
        self.url.strip_prefix("sqlite:").unwrap_or(&self.url)
    }

    /// What somebody writes by plain SQL. `{s}` is before names of tables.
    fn sql(&self, sql: &str) {
        match &self.postgres {
            Some(database) => drop(database.sql(&sql.replace("{s}", "zonda."))),
            None => {
                let output = Command::new("sqlite3")
                    .args(["-cmd", ".timeout 5000", self.place(), &sql.replace("{s}", "")])
                    .output()
                    .expect("sqlite3 starts");
                assert!(output.status.success(), "{output:?}");
                // What it leaves beside the file is the server's, too.
                self.give_to_server();
            }
        }
    }

    fn give_to_server(&self) {
        for file in fs::read_dir(self.folder.path().join("db")).expect("a folder").flatten() {
            if is_root() {
                // It may be gone by now.
                let _ = chown(file.path(), Some(NOBODY), Some(NOBODY));
            }
        }
    }

    /// A statement that adds an address to a name of `example.`.
    fn add(&self, owner: &str, address: &str) {
        self.sql(&format!(
            "INSERT INTO {{s}}record (zone, owner, type, ttl, rdata) SELECT id, '{owner}', 'A', 60, '{address}' FROM {{s}}zone WHERE name = 'example.'"
        ));
    }

    /// The versions of `example.`, the oldest first.
    fn history(&self) -> Vec<Value> {
        let said = zonda(&["store", "history", self.place(), "--json", "example."]);
        self.give_to_server();
        let lines = said.assert_fine().output.lines();
        lines.map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }

    fn start(&self) -> Running<'_> {
        self.start_with("write = true\ntemplate = \"hosted\"\n[[template]]\nname = \"hosted\"\nupdate-policy = \"hosted\"\n")
    }

    /// With these keys of the store.
    fn start_with(&self, keys: &str) -> Running<'_> {
        let at = free_address();
        let user =
            if is_root() { format!("user = \"{NOBODY}\"\ngroup = \"{NOBODY}\"\n") } else { String::new() };
        let settings = format!(
            "{user}pack-directory = \"{}/packs\"\n[access]\ntransfer = \"all\"\nupdate = \"all\"\n[api]\nlisten = [\"{at}\"]\n\
             [[store]]\nname = \"own\"\nurl = \"{}\"\nzones = [\"*.\"]\n{keys}\
             [[update-policy]]\nname = \"hosted\"\nrules = [\"deny api:acme label fixed\", \"grant api:acme zonesub ANY\"]\n\
             [[api-key]]\nname = \"acme\"\nhash = {}\nverbs = [\"read\", \"change\"]\nzones = [\"example.\", \"other.\"]\nrules = \"grant zonesub ANY\"\n",
            self.folder.path().display(),
            self.url,
            self.acme.0,
        );
        let server = Server::start_with(Kind::Zonda, &[], &settings);
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(server.scratch.path(), open).expect("an open folder");
        let running = Running { store: self, server, at };
        await_that("the zone over the API", || {
            running.get("/zones/example.").is_some_and(|got| got.status == 200)
        });
        await_that("a store that is followed", || {
            let output = ctl(&running.server, &["store"]);
            String::from_utf8_lossy(&output.stdout).contains("followed")
        });
        running
    }
}

/// A server of a store.
struct Running<'s> {
    store: &'s Store,
    server: Server,
    at: SocketAddr,
}

impl Running<'_> {
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<Reply> {
        Client::new(self.at)?.ask(method, path, &self.store.acme.1, headers, body)
    }

    fn get(&self, path: &str) -> Option<Reply> {
        self.ask("GET", &format!("{SERVER}{path}"), "", "")
    }

    fn patch(&self, headers: &str, rrsets: &[Value]) -> Reply {
        self.ask("PATCH", &format!("{SERVER}/zones/example."), headers, &body(rrsets)).expect("a reply")
    }

    /// Changes; old and new serial.
    #[track_caller]
    fn change(&self, headers: &str, rrsets: &[Value]) -> (u32, u32) {
        let done = self.patch(headers, rrsets);
        assert_eq!(done.status, 204, "{done:?}\n{}", self.server.log());
        (done.serial("x-pdns-old-serial"), done.serial("x-pdns-new-serial"))
    }

    fn addresses(&self, name: &str) -> Vec<Vec<u8>> {
        let response = ask(self.server.address, Transport::Udp, &Query::new(name, rtype::A));
        let mut all: Vec<_> = response.answer.iter().map(|record| record.rdata.clone()).collect();
        all.sort();
        all
    }

    fn serial(&self) -> u32 {
        let response = ask(self.server.address, Transport::Udp, &Query::new("example.", rtype::SOA));
        let rdata = &response.answer.first().expect("an SOA record").rdata;
        u32::from_be_bytes(*rdata[rdata.len() - 20..].first_chunk().expect("four octets"))
    }

    fn tag(&self) -> String {
        let got = self.get("/zones/example.?rrsets=false").expect("a reply");
        got.header("etag").expect("a tag").to_owned()
    }
}

/// What holds of either kind of database.
fn changes_are_the_databases(store: &Store) {
    let running = store.start();
    assert_eq!(running.change("", &[replace("new.example.", "192.0.2.9")]), (1, 2));
    assert_eq!((running.addresses("new.example."), running.serial()), (vec![vec![192, 0, 2, 9]], 2));
    let newest = store.history().pop().expect("a version");
    assert_eq!((newest["serial"].as_u64(), newest["kind"].as_str()), (Some(2), Some("change")), "{newest}");
    assert!(newest["who"].as_str().is_some_and(|who| who.starts_with("api:acme")), "{newest}");
    // The same once more is none.
    assert_eq!(running.change("", &[replace("new.example.", "192.0.2.9")]), (2, 2));
    // Another TTL, letters in another case, an SOA record of one's own, and a whole name that goes.
    let other = rrset("WWW.Example.", "MX", "REPLACE", 90, &["10 Mail.Example."]);
    let ttl = rrset("www.example.", "A", "REPLACE", 90, &["192.0.2.2"]);
    assert_eq!(running.change("", &[other, ttl]), (2, 3));
    let soa = rrset("example.", "SOA", "REPLACE", 60, &["ns.example. host.example. 70 3 2 5 6"]);
    assert_eq!(running.change("", &[soa]), (3, 70));
    assert_eq!(
        running.change("", &[json!({"name": "new.example.", "type": "A", "changetype": "DELETE"})]),
        (70, 71)
    );
    assert_eq!((running.addresses("new.example."), running.serial()), (vec![], 71));
    // What is refused changes nothing.
    for (status, rrset) in [
        (403, replace("fixed.example.", "192.0.2.9")),
        (422, rrset("www.example.", "CNAME", "REPLACE", 60, &["ns.example."])),
        (422, rrset("example.", "NS", "REPLACE", 60, &[])),
    ] {
        let refused = running.patch("", &[replace("new.example.", "192.0.2.9"), rrset]);
        assert_eq!((refused.status, running.serial()), (status, 71), "{refused:?}");
    }
    let dry = running.ask(
        "PATCH",
        &format!("{SERVER}/zones/example.?dry-run=true"),
        "",
        &body(&[replace("dry.example.", "192.0.2.9")]),
    );
    assert!(
        dry.is_some_and(|dry| dry.status == 200 && dry.text.contains("dry.example."))
            && running.serial() == 71
    );
    // On a condition, which a version of somebody else's breaks too.
    let tag = running.tag();
    let condition = format!("If-Match: {tag}\r\n");
    let done = running.patch(&condition, &[replace("tag.example.", "192.0.2.1")]);
    assert_eq!((done.status, done.header("etag").map(str::to_owned)), (204, Some(running.tag())), "{done:?}");
    assert_eq!(running.patch(&condition, &[replace("tag.example.", "192.0.2.2")]).status, 412);
    let condition = format!("If-Match: {}\r\n", running.tag());
    store.add("sql.example.", "192.0.2.33");
    // Whether it is served by now or not.
    let stale = running.patch(&condition, &[replace("tag.example.", "192.0.2.3")]);
    assert_eq!(
        (stale.status, running.addresses("tag.example.")),
        (412, vec![vec![192, 0, 2, 1]]),
        "{stale:?}"
    );
    // Two who write at once: neither is lost.
    store.add("other.example.", "192.0.2.34");
    running.change("", &[replace("mine.example.", "192.0.2.35")]);
    for (name, last) in [("sql", 33), ("other", 34), ("mine", 35)] {
        assert_eq!(running.addresses(&format!("{name}.example.")), [[192, 0, 2, last]], "{name}");
    }
    // Several zones are not changed in one commit; one is.
    let zones = |names: &[&str]| {
        let zone =
            |name: &&str| json!({"name": name, "rrsets": [replace(&format!("many.{name}"), "192.0.2.9")]});
        let body = json!({"zones": names.iter().map(zone).collect::<Vec<Value>>()}).to_string();
        running.ask("POST", "/api/zonda/v1/changes", "", &body).expect("a reply")
    };
    let several = zones(&["example.", "other."]);
    assert!(several.status == 422 && several.text.contains("by itself"), "{several:?}");
    assert_eq!(
        (zones(&["example."]).status, running.addresses("many.example.")),
        (200, vec![vec![192, 0, 2, 9]])
    );
    // What was answered is there after the server was killed, and the database has the same.
    let serial = running.serial();
    let Running { mut server, .. } = running;
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
    drop(server);
    let running = store.start();
    assert_eq!((running.serial(), running.addresses("mine.example.")), (serial, vec![vec![192, 0, 2, 35]]));
    assert_eq!(store.history().pop().expect("a version")["serial"].as_u64(), Some(serial.into()));
}

#[test]
fn changes_are_in_a_file() {
    changes_are_the_databases(&Store::in_file());
}

#[test]
fn changes_are_in_postgresql() {
    changes_are_the_databases(&Store::in_postgres(Postgres::new()));
}

/// A request that is made again is done once: as the database has it, also by another server.
fn once(store: &Store) {
    let running = store.start();
    let key = "Idempotency-Key: 5f0c\r\n";
    assert_eq!(running.change(key, &[replace("once.example.", "192.0.2.1")]), (1, 2));
    running.change("", &[replace("once.example.", "192.0.2.2")]);
    assert_eq!(running.change(key, &[replace("once.example.", "192.0.2.1")]), (1, 2));
    assert_eq!(running.addresses("once.example."), [[192, 0, 2, 2]], "it was not done again");
    // What would not be done a second time, or changes nothing, is told what came of the first, too.
    let key_of = |name: &str| format!("Idempotency-Key: {name}\r\n");
    let condition = format!("{}If-Match: {}\r\n", key_of("tag"), running.tag());
    let tagged = running.change(&condition, &[replace("tag.example.", "192.0.2.1")]);
    assert_eq!(running.change(&condition, &[replace("tag.example.", "192.0.2.1")]), tagged);
    let other = running.patch(&condition, &[replace("tag.example.", "192.0.2.5")]);
    assert!(other.status == 422 && other.text.contains("Idempotency-Key"), "{other:?}");
    let stale = format!("{}If-Match: {}\r\n", key_of("new"), "\"1-00\"");
    assert_eq!(running.patch(&stale, &[replace("tag.example.", "192.0.2.1")]).status, 412);
    let same = running.change(&key_of("same"), &[replace("tag.example.", "192.0.2.1")]);
    assert_eq!(same, (tagged.1, tagged.1));
    let other = running.patch(key, &[replace("once.example.", "192.0.2.3")]);
    assert!(other.status == 422 && other.text.contains("Idempotency-Key"), "{other:?}");
    drop(running);
    let running = store.start();
    assert_eq!(running.change(key, &[replace("once.example.", "192.0.2.1")]), (1, 2));
    assert_eq!(running.addresses("once.example."), [[192, 0, 2, 2]]);
}

#[test]
fn a_request_again_is_known_by_the_file() {
    once(&Store::in_file());
}

#[test]
fn a_request_again_is_known_by_postgresql() {
    once(&Store::in_postgres(Postgres::new()));
}

/// Many at once: all are done, in fewer versions; one that the database refuses keeps no other back.
fn many(store: &Store) {
    const CLIENTS: u32 = 12;
    const EACH: u32 = 15;
    let running = store.start();
    let before = store.history().len();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let running = &running;
            scope.spawn(move || {
                for number in 0..EACH {
                    running.change("", &[replace(&format!("n{client}-{number}.example."), "192.0.2.7")]);
                    if client == 0 {
                        let refused =
                            running.patch("", &[replace(&format!("bad{number}.example."), "192.0.2.7")]);
                        assert!(refused.status == 422 && refused.text.contains("not bad"), "{refused:?}");
                    }
                }
            });
        }
    });
    for client in 0..CLIENTS {
        for number in 0..EACH {
            assert_eq!(running.addresses(&format!("n{client}-{number}.example.")), [[192, 0, 2, 7]]);
        }
    }
    let versions = store.history().len() - before;
    assert!(versions < (CLIENTS * EACH) as usize, "{versions} versions");
    assert!(running.addresses("bad3.example.").is_empty());
}

#[test]
fn many_are_few_versions_of_a_file() {
    let store = Store::in_file();
    store.sql(
        "CREATE TRIGGER own BEFORE INSERT ON record WHEN NEW.owner LIKE 'bad%' BEGIN SELECT RAISE(ABORT, 'not bad'); END",
    );
    many(&store);
}

#[test]
fn many_are_few_versions_in_postgresql() {
    let store = Store::in_postgres(Postgres::new());
    store.sql(
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not bad'; END $$;
         CREATE TRIGGER own BEFORE INSERT ON zonda.record FOR EACH ROW WHEN (NEW.owner LIKE 'bad%') EXECUTE FUNCTION public.own()",
    );
    many(&store);
}

/// A zone that somebody holds is waited for, and others go on; a database that is away, or may not be written, is said.
#[test]
fn a_database_that_does_not_take_it() {
    let store = Store::in_postgres(Postgres::alone());
    let database = store.postgres.as_ref().expect("PostgreSQL");
    let running = store.start();
    let mut held = database.session();
    held.sql("BEGIN; SELECT zonda.lock('example.')");
    let refused = running.patch("", &[replace("new.example.", "192.0.2.9")]);
    assert!(refused.status == 503 && refused.text.contains("holds the zone"), "{refused:?}");
    let other = running.ask(
        "PATCH",
        &format!("{SERVER}/zones/other."),
        "",
        &body(&[replace("new.other.", "192.0.2.9")]),
    );
    assert_eq!(other.map(|other| other.status), Some(204));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| running.change("", &[replace("new.example.", "192.0.2.9")]));
        std::thread::sleep(Duration::from_millis(700));
        held.sql("COMMIT");
        assert_eq!(waits.join().expect("an answer"), (1, 2));
    });
    database.stop();
    let told = await_some(
        || "no database".to_owned(),
        || {
            let refused = running.patch("", &[replace("away.example.", "192.0.2.9")]);
            assert!([503, 504].contains(&refused.status), "{refused:?}");
            refused.text.contains("cannot be asked").then_some(refused)
        },
    );
    assert_eq!((told.status, running.serial()), (503, 2));
    database.start();
    await_that("a change again", || {
        running.patch("", &[replace("again.example.", "192.0.2.9")]).status == 204
    });
    assert_eq!(running.addresses("again.example."), [[192, 0, 2, 9]]);
}

/// Without `write` they are changed in the database alone.
#[test]
fn who_may_not_write_is_told_where() {
    let store = Store::in_file();
    let running = store.start_with("");
    let refused = running.patch("", &[replace("new.example.", "192.0.2.9")]);
    assert!(refused.status == 422 && refused.text.contains("of store own: change it there"), "{refused:?}");
    assert_eq!(running.serial(), 1);
    let check = |keys: &str, words: &str| {
        let text = format!(
            "[server]\npack-directory = \"packs\"\n[[store]]\nname = \"own\"\nurl = \"sqlite:zones.db\"\nwrite = true\n{keys}"
        );
        let file = write_settings(store.folder.path(), &text);
        zonda(&["check-config", &file]).assert_fails(1, &[words]);
    };
    check("", "expected a `template` with `update-policy`");
    check("schema = \"powerdns\"\n", "nothing is written into these tables");
}

fn write_settings(folder: &Path, text: &str) -> String {
    let path = folder.join("checked.toml");
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}
