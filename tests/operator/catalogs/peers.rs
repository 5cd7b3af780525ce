//! Catalogs that other servers make.

use zonda_tests::server::peers::require;

use super::*;

const ONE: &str = "one.member.test.";
const TWO: &str = "two.member.test.";

/// A server that others made, in a folder of its own.
struct Peer {
    folder: TempDir,
    address: SocketAddr,
    process: Option<Guarded>,
}

impl Peer {
    fn new() -> Peer {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        for zone in [ONE, TWO] {
            write(folder.path(), &format!("{zone}zone"), &zone_text(5));
        }
        Peer { folder, address: free_address(), process: None }
    }

    /// Starts it, or has it read its configuration again; waits until it serves `members`, and the log has these words once more.
    fn run(&mut self, command: impl FnOnce(&Path) -> Command, members: &[&str], words: &str) {
        let said = || self.log().matches(words).count();
        let before = said();
        match &self.process {
            Some(process) => signal(process.pid(), "HUP"),
            None => {
                let command = command(self.folder.path());
                self.process = Some(Guarded::spawn(command, self.folder.path()));
            }
        }
        await_that("the peer", || {
            let is_member = |zone: &&str| serial(self.address, zone) == Some(Ok(5));
            self.log().matches(words).count() > before && members.iter().all(is_member)
        });
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// knotd, which makes the catalog of its members by itself. `groups`: of each zone that is one.
    fn knot(&mut self, other: SocketAddr, groups: &[(&str, &str)]) {
        let (home, port) = (self.folder.path().display(), self.address.port());
        let mut text = format!(
            "server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
             log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nremote:\n  - id: other\n    address: 127.0.0.1@{}\n\
             acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: transfer\ntemplate:\n  - id: default\n    storage: {home}\n    \
             semantic-checks: off\n    acl: all\n    notify: other\nzone:\n  - domain: {CATALOG}\n    catalog-role: generate\n",
            other.port()
        );
        for (zone, group) in groups {
            text += &format!(
                "  - domain: {zone}\n    file: {zone}zone\n    catalog-role: member\n    catalog-zone: {CATALOG}\n    catalog-group: {group}\n"
            );
        }
        let path = write(self.folder.path(), "knot.conf", &text);
        let command = |_: &Path| {
            let mut command = Command::new(require("knotd", "knot"));
            command.arg("-c").arg(path);
            command
        };
        let members: Vec<&str> = groups.iter().map(|(zone, _)| *zone).collect();
        // It answers no queries for catalogs, and makes this one after it has begun to answer.
        self.run(command, &members, &format!("[{CATALOG}] loaded, serial"));
    }

    /// named with the catalog as a text.
    fn named(&mut self, other: SocketAddr, catalog: &str) {
        let (home, port, other) = (self.folder.path().display(), self.address.port(), other.port());
        write(self.folder.path(), "catalog.zone", catalog);
        let mut text = format!(
            "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }}; listen-on port {port} {{ 127.0.0.1; }}; \
             recursion no; empty-zones-enable no; dnssec-validation no; allow-transfer {{ any; }}; notify-delay 0; notify explicit; \
             also-notify {{ 127.0.0.1 port {other}; }}; }};\ncontrols {{ }};\nzone \"{CATALOG}\" {{ type primary; file \"catalog.zone\"; check-names ignore; }};\n"
        );
        for zone in [ONE, TWO] {
            text += &format!("zone \"{zone}\" {{ type primary; file \"{zone}zone\"; }};\n");
        }
        let path = write(self.folder.path(), "named.conf", &text);
        let command = |_: &Path| {
            let mut command = Command::new(require("named", "bind9"));
            command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(path);
            command
        };
        self.run(command, &[ONE, TWO], "all zones loaded");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the peer {} ---\n{}", self.address, self.log());
        }
        self.process.iter_mut().for_each(Guarded::stop);
    }
}

/// What knotd generates of its zones: added, another group, removed.
#[test]
fn of_knotd() {
    let (address, mut there) = (free_address(), Peer::new());
    there.knot(address, &[(ONE, "open")]);
    let here = Zonda::start(address, &consumer(there.address, "remove-max = \"any\"", ""), &[]);
    await_that("the member", || serial(address, ONE) == Some(Ok(5)));
    assert!(is_refused(address, TWO));
    there.knot(address, &[(ONE, "closed"), (TWO, "open")]);
    await_that("one more", || {
        // A member, too, may be listed a moment before it is served there.
        [CATALOG, TWO].iter().for_each(|zone| drop(here.ctl(&["refresh", zone])));
        serial(address, TWO) == Some(Ok(5)) && is_refused(address, ONE)
    });
    there.knot(address, &[(TWO, "open")]);
    await_that("one less", || {
        here.ctl(&["refresh", CATALOG]);
        here.ctl(&["zones", ONE]).1.contains("no zone")
    });
    assert!(is_served(address, TWO) && here.ctl(&["catalog"]).0);
}

/// What stands in a text of named's.
#[test]
fn of_named() {
    let (address, mut there) = (free_address(), Peer::new());
    let mut list = members(&[ONE]);
    there.named(address, &catalog_text(1, &list));
    let here = Zonda::start(address, &consumer(there.address, "", ""), &[]);
    await_that("the member", || serial(address, ONE) == Some(Ok(5)));
    list[0].group = "closed";
    list.extend(members(&[TWO]));
    there.named(address, &catalog_text(2, &list));
    await_that("one more", || serial(address, TWO) == Some(Ok(5)) && is_refused(address, ONE));
    there.named(address, &catalog_text(3, &list[1..]));
    await_that("one less", || here.ctl(&["zones", ONE]).1.contains("no zone"));
    assert!(is_served(address, TWO) && here.ctl(&["catalog"]).0);
}
