//! What a server tells over HTTP: its numbers, whether it is well and ready; and whom it tells nothing.

pub mod client;
mod hostile;
mod process;
mod prometheus;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_some, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, free_address};
use zonda_tests::zone::ZoneFile;

use crate::kit::SOUND;
use client::{Reply, get, request, value};

/// A server that is asked over HTTP too, and its process for that.
struct Fixture {
    server: Server,
    /// Of HTTP.
    at: SocketAddr,
    files: tempfile::TempDir,
}

/// The user that a server started by root becomes: as root it would tell nothing over HTTP.
fn user() -> &'static str {
    match fs::metadata("/proc/self").expect("a process").uid() {
        0 => "user = \"65534\"\ngroup = \"65534\"\n",
        _ => "",
    }
}

fn fixture() -> Fixture {
    with("", "")
}

/// `more`: lines of `[server]`; `http`: of `[http]`.
fn with(more: &str, http: &str) -> Fixture {
    let files = tempfile::tempdir().expect("a scratch folder");
    let zone = ZoneFile::new("example.", files.path().join("example."));
    fs::write(&zone.path, SOUND).expect("a zone file");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(files.path(), open.clone()).expect("an open folder");
    let at = free_address();
    let settings = format!("{}{more}\n[http]\nlisten = [\"{at}\"]\n{http}\n", user());
    let server = Server::start_with(Kind::Zonda, &[zone], &settings);
    // For the settings, which a server that takes over reads with the rights that are left.
    fs::set_permissions(server.scratch.path(), open).expect("an open folder");
    await_that("the process for HTTP", || get(at, "/health").is_some_and(|reply| reply.status == 200));
    Fixture { server, at, files }
}

impl Fixture {
    fn get(&self, path: &str) -> Reply {
        get(self.at, path).expect("a reply")
    }

    /// The process for HTTP of the server `pid`.
    fn child_of(&self, pid: u32) -> Option<u32> {
        let is_it = |child: &u32| {
            let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let parent =
                stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
            words == b"zonda\0http\0" && parent == Some(pid)
        };
        let all = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_it)
    }

    fn child(&self) -> u32 {
        await_some(|| "waited for a process for HTTP".into(), || self.child_of(self.server.process.pid()))
    }
}

#[test]
fn pages() {
    let fixture = fixture();
    await_that("the end of the load", || fixture.get("/ready").status == 200);
    let health = fixture.get("/health");
    assert_eq!((&*health.text, health.header("content-type")), ("well\n", Some("text/plain; charset=utf-8")));
    assert_eq!(health.header("connection"), Some("close"));
    let of = |line: &str| request(fixture.at, format!("{line}\r\nHost: 127.0.0.1\r\n\r\n")).expect("a reply");
    assert_eq!([of("GET / HTTP/1.1").status, of("GET /metrics/ HTTP/1.1").status], [404, 404]);
    let post = of("POST /metrics HTTP/1.1");
    assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(of("GET http://127.0.0.1/health HTTP/1.1").status, 200);
    let head = of("HEAD /metrics HTTP/1.1");
    assert_eq!((head.status, &*head.text), (200, ""));
    assert!(head.header("content-length").is_some_and(|length| length != "0"));
    // For whom they are.
    let host = |host: &str| {
        request(fixture.at, format!("GET /ready HTTP/1.1\r\n{host}\r\n")).expect("a reply").status
    };
    assert_eq!([host("Host: localhost:8053\r\n"), host("Host: [::1]\r\n")], [200, 200]);
    assert_eq!([host("Host: evil.example\r\n"), host("")], [421, 400]);
    assert_eq!([host("Host: localhost\r\nContent-Length: 3\r\n")], [413]);
}

#[test]
fn numbers_are_those_of_the_server() {
    let fixture = fixture();
    let queries = |family: &str, transport: &str, at: SocketAddr| {
        let text = get(at, "/metrics").expect("a reply").text;
        value(&text, &format!("zonda_queries_total{{transport=\"{transport}\",family=\"{family}\"}}"))
    };
    let udp = queries("ipv4", "udp", fixture.at).expect("a number");
    for _ in 0..5 {
        ask(fixture.server.address, Transport::Udp, &Query::new("www.example.", rtype::A));
    }
    ask(fixture.server.address, Transport::Tcp, &Query::new("none.example.", rtype::A));
    await_that("five more", || queries("ipv4", "udp", fixture.at) == Some(udp + 5.0));
    assert_eq!(queries("ipv4", "tcp", fixture.at), Some(1.0));
    let text = fixture.get("/metrics").text;
    let of = |name: &str| value(&text, name);
    assert_eq!(of("zonda_responses_total{rcode=\"NXDOMAIN\"}"), Some(1.0));
    assert_eq!(of("zonda_queries_by_type_total{type=\"A\"}"), Some(6.0));
    assert_eq!(of("zonda_zones{state=\"served\"}"), Some(1.0));
    assert!(of("process_resident_memory_bytes").is_some_and(|octets| octets > 1e6));
    assert_eq!(of("zonda_worker_queries_total{worker=\"0\"}"), Some(udp + 6.0));
    assert!(of("process_start_time_seconds").is_some_and(|seconds| seconds > 1.7e9));
    // Which format.
    let accept = |accept: &str| {
        let head = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n");
        request(fixture.at, &head).expect("a reply")
    };
    let open_metrics = accept("application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open_metrics.header("content-type"), Some(kind));
    assert!(
        open_metrics.text.ends_with("\n# EOF\n")
            && open_metrics.text.contains("# TYPE zonda_queries counter\n")
    );
    let text = accept("*/*");
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(text.text.contains("# TYPE zonda_queries_total counter\n") && !text.text.contains("# EOF"));
}

/// How many zones are broken is known at once, and without a look at all.
#[test]
fn zones_by_state() {
    let fixture = fixture();
    let states = || {
        let text = get(fixture.at, "/metrics").expect("a reply").text;
        let of = |name: &str| value(&text, name).map(|count| count as u32);
        [
            of("zonda_zones{state=\"served\"}"),
            of("zonda_zones{state=\"absent\"}"),
            of("zonda_zones_broken"),
            of("zonda_zones_stale"),
        ]
    };
    let are = |numbers: [u32; 4]| {
        let numbers = numbers.map(Some);
        await_some(
            || format!("waited for {numbers:?}, there are {:?}", states()),
            || (states() == numbers).then_some(()),
        );
    };
    are([1, 0, 0, 0]);
    let file = fixture.files.path().join("example.");
    fs::write(&file, "nonsense").expect("a file");
    assert!(!ctl(&fixture.server, &["reload"]).status.success());
    are([1, 0, 1, 1]);
    // One of which there never were data.
    let settings = fixture.server.path("zonda.toml");
    let without = fs::read_to_string(&settings).expect("the settings");
    let other = fixture.files.path().join("other.");
    fs::write(&other, "nonsense").expect("a file");
    let with = format!("{without}\n[[zone]]\nname = \"other.\"\nfile = \"{}\"\n", other.display());
    fs::write(&settings, with).expect("the settings");
    assert!(!ctl(&fixture.server, &["reconfigure"]).status.success());
    are([1, 1, 2, 1]);
    fs::write(&file, SOUND).expect("a file");
    assert!(!ctl(&fixture.server, &["reload"]).status.success());
    are([1, 1, 1, 0]);
    fs::write(&settings, without).expect("the settings");
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    are([1, 0, 0, 0]);
}

/// What nobody is to hear is not said, and a server without the setting has no such process.
#[test]
fn whom_nothing_is_told() {
    let fixture = with("", "allow = \"127.0.0.1\"\nnames = []\n");
    let host = request(fixture.at, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a reply");
    assert_eq!(host.status, 421);
    assert!(
        client::from("127.0.0.2", fixture.at, "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").is_none()
    );
    let files = crate::kit::folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = ZoneFile::new("example.", files.path().join("example.zone"));
    let server = Server::start_with(Kind::Zonda, &[zone], "");
    let other = Fixture { server, at: fixture.at, files };
    assert_eq!(other.child_of(other.server.process.pid()), None);
}

#[test]
fn as_root_nothing_is_told() {
    if user().is_empty() {
        return;
    }
    let files = crate::kit::folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = ZoneFile::new("example.", files.path().join("example.zone"));
    let at = free_address();
    let server = Server::start_with(Kind::Zonda, &[zone], &format!("[http]\nlisten = [\"{at}\"]\n"));
    server.await_log("this server runs as root, so that nothing is told over HTTP");
    assert!(get(at, "/health").is_none());
}
