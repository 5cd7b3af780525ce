//! What the log has of a zone outlives whatever happens to its text and its section of the settings between two starts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, signal};
use zonda_tests::zone::ZoneFile;

const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n";
/// Names of a zone whose pack is stored by itself, and is too large to be kept in the log.
const NAMES: usize = 90_000;

struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().expect("a scratch folder"));
        std::fs::write(bed.path("zone"), ZONE).expect("a text");
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A server with `static.test`, and with what `settings` say beside where packs are.
    fn start(&self, settings: &str) -> Server {
        let packs = self.path("packs");
        let settings = format!("pack-directory = \"{}\"\n{settings}", packs.display());
        let file = ZoneFile::new("static.test.", self.path("zone"));
        let server = Server::start_with(Kind::Zonda, &[file], &settings);
        server.await_zones();
        server
    }
}

fn section(name: &str, file: &Path, more: &str) -> String {
    format!("\n[[zone]]\nname = \"{name}\"\nfile = \"{}\"\nallow-update = \"all\"\n{more}", file.display())
}

fn end(mut server: Server) {
    signal(server.process.pid(), "TERM");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

#[track_caller]
fn update(server: &Server, script: &str) {
    let port = server.address.port();
    let script = format!("server 127.0.0.1 {port}\n{script}\nsend\n");
    let mut echo =
        Command::new("printf").args(["%s", &script]).stdout(Stdio::piped()).spawn().expect("printf");
    let pipe = echo.stdout.take().expect("a pipe");
    let output = Command::new("nsupdate").stdin(pipe).output().expect("nsupdate");
    echo.wait().expect("an end");
    assert!(output.status.success(), "{script}{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn has(server: &Server, name: &str) {
    let response = ask(server.address, Transport::Udp, &Query::new(name, rtype::A));
    assert_eq!(response.answer.len(), 1, "{name}: {response:?}\n{}", server.log());
}

/// The pack that the log begins from is not taken for one that nobody needs, though a newer one of the same text is there.
#[test]
fn a_text_that_is_read_again() {
    let bed = Bed::new();
    let file = bed.path("large");
    let mut text = ZONE.to_owned();
    (0..NAMES).for_each(|name| writeln!(text, "h{name} A 192.0.2.1").expect("a String"));
    std::fs::write(&file, &text).expect("a text");
    let settings = section("large.test.", &file, "");
    let server = bed.start(&settings);
    update(&server, "zone large.test.\nupdate add new.large.test. 60 A 192.0.2.9");
    // The same text, looked at again.
    assert!(ctl(&server, &["reload", "--force"]).status.success());
    has(&server, "new.large.test.");
    end(server);
    // Touched while there is no server, and then looked at by it.
    std::fs::write(&file, &text).expect("a text");
    let server = bed.start(&settings);
    has(&server, "new.large.test.");
    update(&server, "zone large.test.\nupdate add next.large.test. 60 A 192.0.2.9");
    end(server);
    let server = bed.start(&settings);
    has(&server, "new.large.test.");
    has(&server, "next.large.test.");
    end(server);
}

/// A zone that was taken out of the settings while there was no server is not there after the next start, nor later.
#[test]
fn a_section_that_went() {
    let bed = Bed::new();
    let acl = "\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.0/8\"]\n";
    let private = section("private.test.", &bed.path("zone"), "allow-query = \"here\"\n");
    let other = section("other.test.", &bed.path("zone"), "allow-query = \"here\"\n");
    let server = bed.start(&format!("{acl}{private}{other}"));
    update(&server, "zone private.test.\nupdate add new.private.test. 60 A 192.0.2.9");
    update(&server, "zone other.test.\nupdate add new.other.test. 60 A 192.0.2.9");
    end(server);
    for settings in [format!("{acl}{other}"), format!("{acl}{private}{other}")] {
        let server = bed.start(&settings);
        let response = ask(server.address, Transport::Udp, &Query::new("new.private.test.", rtype::A));
        // REFUSED where there is no such zone; NXDOMAIN in the one that came again, which begins with its text.
        let expected = if settings.contains("private") { 3 } else { 5 };
        assert_eq!(response.rcode(), expected, "{}", server.log());
        has(&server, "new.other.test.");
        end(server);
    }
}
