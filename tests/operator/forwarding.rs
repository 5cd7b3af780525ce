//! Updates that a secondary sends on to the primaries of its zone.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{
    Guarded, Kind, Server, ctl, free_address, program_command, settings, signal, write,
};

const ORIGIN: &str = "far.test.";
/// Of a key that both ends know, and of one that the primary alone knows.
const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const FAR_SECRET: &str = "c2VjcmV0IG9mIHRoZSBwcmltYXJ5IGFsb25l";
const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n";

/// Whether a server has an address at this name.
fn has(server: SocketAddr, name: &str) -> bool {
    let query = Query::new(&format!("{name}.{ORIGIN}"), rtype::A).octets();
    let answer = udp_within(server, &query, Duration::from_millis(500)).ok().flatten();
    answer.is_some_and(|answer| answer[3] & 0xf == 0 && answer[7] > 0)
}

fn is_served(server: SocketAddr) -> bool {
    has(server, "www")
}

/// A primary that takes updates signed by either key, or by SIG(0) with keys of `more`.
fn primary(kind: Kind, address: SocketAddr, other: SocketAddr, more: &str) -> (tempfile::TempDir, Guarded) {
    let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    write(folder.path(), "zone", &format!("{ZONE}{more}"));
    let (home, port, other) = (folder.path().display(), address.port(), other.port());
    let command = match kind {
        Kind::Named => {
            let text = format!(
                "key \"k.\" {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\nkey \"far.\" {{ algorithm hmac-sha256; secret \"{FAR_SECRET}\"; }};\n\
                 options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }}; \
                 listen-on port {port} {{ 127.0.0.1; }}; recursion no; empty-zones-enable no; dnssec-validation no; allow-transfer {{ any; }}; \
                 notify-delay 0; }};\ncontrols {{ }};\n\
                 zone \"{ORIGIN}\" {{ type primary; file \"zone\"; update-policy {{ grant k. zonesub ANY; grant far. zonesub ANY; \
 }}; notify explicit; also-notify {{ 127.0.0.1 port {other}; }}; }};\n"
            );
            let mut command = Command::new(require("named", "bind9"));
            command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(write(folder.path(), "named.conf", &text));
            command
        }
        _ => {
            let more = format!(
                "pack-directory = \"{home}/packs\"\n[access]\ntransfer = \"all\"\nupdate = \"all\"\n\
                 [[key]]\nname = \"k.\"\nsecret = \"{SECRET}\"\n[[key]]\nname = \"far.\"\nsecret = \"{FAR_SECRET}\"\n\
                 [[remote]]\nname = \"other\"\naddresses = [\"127.0.0.1:{other}\"]\n\
                 [[update-policy]]\nname = \"p\"\nrules = [\"grant k. zonesub ANY\", \"grant far. zonesub ANY\", \"grant *.{ORIGIN} selfsub\"]\n\
                 [[zone]]\nname = \"{ORIGIN}\"\nfile = \"zone\"\nnotify = \"other\"\nupdate-policy = \"p\"\n"
            );
            zonda(folder.path(), address, &more)
        }
    };
    let process = Guarded::spawn(command, folder.path());
    await_that("the primary", || is_served(address));
    (folder, process)
}

/// The command line of the program with these settings.
fn zonda(folder: &Path, address: SocketAddr, more: &str) -> Command {
    let path = write(folder, "zonda.toml", &settings(folder, address, &[], more));
    let mut command = program_command(&["serve", "--config"]);
    command.arg(path).current_dir(folder);
    command
}

/// A secondary with these primaries; `more`: further lines of its zone.
fn secondary(address: SocketAddr, primaries: &[SocketAddr], more: &str) -> Server {
    let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    let addresses: Vec<String> = primaries.iter().map(ToString::to_string).collect();
    let text = format!(
        "pack-directory = \"{}/packs\"\n[access]\ntransfer = \"all\"\n[[key]]\nname = \"k.\"\nsecret = \"{SECRET}\"\n\
         [[acl]]\nname = \"here\"\naddresses = [\"127.0.0.0/8\"]\n\
         [[remote]]\nname = \"there\"\naddresses = {addresses:?}\n\
         [[zone]]\nname = \"{ORIGIN}\"\nprimaries = [\"there\"]\nallow-notify = \"here\"\n{more}\n",
        scratch.path().display()
    );
    let process = Guarded::spawn(zonda(scratch.path(), address, &text), scratch.path());
    let server = Server { kind: Kind::Zonda, address, scratch, process };
    server.await_zones();
    server
}

const FORWARDS: &str = "allow-update = \"here\"\nforward-updates = true";

/// Has `nsupdate` ask a server; returns whether it was told that it is done, and its words.
fn update(server: SocketAddr, arguments: &[&str], script: &str) -> (bool, String) {
    let mut child = Command::new("nsupdate")
        .args(["-t", "30"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program nsupdate (package bind9-dnsutils)");
    let script = format!("server 127.0.0.1 {}\nzone {ORIGIN}\n{script}\nsend\n", server.port());
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    let words = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&words).into_owned())
}

/// A count of `zonda ctl stats`.
fn count(server: &Server, name: &str) -> u64 {
    let output = ctl(server, &["stats", "--json"]).stdout;
    let stats: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    let counts = stats["zones"].as_array().expect("counts").iter();
    let mut counts = counts.filter(|count| count["name"] == name);
    counts.next().and_then(|count| count["count"].as_u64()).expect("the count")
}

/// Updates with every kind of signature go through a secondary to a primary, and come back from there as data.
#[track_caller]
fn check_forwards(kind: Kind) {
    let keys = tempfile::tempdir().expect("a scratch folder");
    let output = Command::new("dnssec-keygen")
        .args(["-T", "KEY", "-n", "HOST", "-a", "ED25519", "-K"])
        .arg(keys.path())
        .arg(format!("own.{ORIGIN}"))
        .output()
        .expect("the program dnssec-keygen (package bind9-utils)");
    let base = String::from_utf8(output.stdout).expect("a name").trim().to_owned();
    let record = std::fs::read_to_string(keys.path().join(format!("{base}.key"))).expect("a key");
    let private = keys.path().join(format!("{base}.private"));
    let (first, second) = (free_address(), free_address());
    let (_folder, mut process) = primary(kind, first, second, &record);
    let server = secondary(second, &[first], FORWARDS);
    await_that("the zone", || is_served(second));
    let known = format!("hmac-sha256:k.:{SECRET}");
    let unknown = format!("hmac-sha256:far.:{FAR_SECRET}");
    let sig0 = ["-k", private.to_str().expect("a path")];
    let wrong = format!("hmac-sha256:far.:{SECRET}");
    // Debian's named takes no SIG(0) any more (CVE-2024-1975).
    let kinds = [&["-y", &known][..], &["-y", &unknown], &sig0];
    let kinds = &kinds[..if kind == Kind::Named { 2 } else { 3 }];
    for (number, arguments) in kinds.iter().enumerate() {
        for (transport, more) in [("udp", &[][..]), ("tcp", &["-v"])] {
            let name = format!("{transport}{number}.own");
            let script = format!("update add {name}.{ORIGIN} 60 A 192.0.2.9");
            let arguments = [more, *arguments].concat();
            let (is_done, words) = update(second, &arguments, &script);
            assert!(is_done, "{arguments:?}\n{words}\n{}", server.log());
            assert!(has(first, &name));
            await_that("the change", || has(second, &name));
        }
    }
    // What the primary says comes back as it is: of a key, of rules, of prerequisites.
    let script = format!("update add no.{ORIGIN} 60 A 192.0.2.9");
    let exists = format!("prereq nxdomain www.{ORIGIN}\n{script}");
    for (arguments, script, words) in [
        (&["-y", &wrong][..], &script, "BADSIG"),
        (&sig0[..], &script, "REFUSED"),
        (&["-y", &unknown], &exists, "YXDOMAIN"),
        (&[], &script, "REFUSED"),
    ] {
        let (is_done, said) = update(second, arguments, script);
        assert!(!is_done && said.contains(words), "{arguments:?}: {said}");
    }
    assert!(!has(first, "no"));
    // Without its primary nobody can do it, which is said; and it is done once that is back.
    signal(process.pid(), "KILL");
    process.wait(Duration::from_secs(10)).expect("an end");
    let (is_done, said) = update(second, &["-y", &known], &script);
    assert!(!is_done && said.contains("SERVFAIL"), "{said}");
    let answered = 2 * kinds.len() as u64 + 4;
    let counts = ["forwarded", "forwarded-answered", "forwarded-failed"].map(|name| count(&server, name));
    assert_eq!(counts, [answered + 1, answered, 1]);
}

#[test]
fn to_zonda() {
    check_forwards(Kind::Zonda);
}

#[test]
fn to_named() {
    check_forwards(Kind::Named);
}

/// A primary that is away, and one that takes connections and says nothing: the next one is asked. Meanwhile a client that asks again is one request.
#[test]
fn the_next_primary_is_asked() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let silent_address = silent.local_addr().expect("an address");
    let (away, first, second) = (free_address(), free_address(), free_address());
    let (_folder, _process) = primary(Kind::Zonda, first, second, "");
    let server = secondary(second, &[away, silent_address, first], FORWARDS);
    let heard = std::thread::spawn(move || {
        // What it is asked of the zone it does not answer either.
        let mut updates = 0;
        while let Ok((mut stream, _)) = silent.accept() {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
            let mut octets = [0; 5];
            if stream.read_exact(&mut octets).is_ok() && octets[4] & 0x78 == 0x28 {
                updates += 1;
                // Closed by the other side when its patience ends.
                let _ = stream.read_to_end(&mut Vec::new());
                return updates;
            }
        }
        updates
    });
    await_that("the zone", || is_served(second));
    let key = format!("hmac-sha256:k.:{SECRET}");
    // Over UDP it asks again meanwhile, each second.
    let script = format!("update add late.{ORIGIN} 60 A 192.0.2.9");
    let (is_done, words) = update(second, &["-u", "2", "-r", "9", "-y", &key], &script);
    assert!(is_done, "{words}\n{}", server.log());
    assert!(has(first, "late"));
    assert_eq!(heard.join().expect("a listener"), 1);
    assert_eq!(count(&server, "forwarded"), 1);
    // Those that did not answer are asked last for a while.
    let begun = Instant::now();
    let script = format!("update add soon.{ORIGIN} 60 A 192.0.2.9");
    assert!(update(second, &["-y", &key], &script).0 && begun.elapsed() < Duration::from_secs(4));
}

/// A server without `forward-updates`, or whose lists do not let the client in, sends nothing on; and what a primary sends back goes round once.
#[test]
fn what_is_not_sent_on() {
    let (first, second, third) = (free_address(), free_address(), free_address());
    let (_folder, _process) = primary(Kind::Zonda, first, second, "");
    let key = format!("hmac-sha256:k.:{SECRET}");
    let script = format!("update add no.{ORIGIN} 60 A 192.0.2.9");
    for more in ["", "allow-update = \"nobody\"\nforward-updates = true"] {
        let server = secondary(second, &[first], more);
        await_that("the zone", || is_served(second));
        let (is_done, words) = update(second, &["-y", &key], &script);
        assert!(!is_done && words.contains("REFUSED"), "{words}\n{}", server.log());
        // Nor does a key that it does not know get any further.
        let (_, words) = update(second, &["-y", &format!("hmac-sha256:far.:{FAR_SECRET}")], &script);
        assert!(words.contains("BADKEY"), "{words}");
    }
    let _one = secondary(second, &[first, third], FORWARDS);
    await_that("the zone", || is_served(second));
    drop(_process);
    let _two = secondary(third, &[second], FORWARDS);
    await_that("the zone there", || is_served(third));
    let begun = Instant::now();
    let (is_done, words) = update(second, &["-v", "-y", &key], &script);
    assert!(!is_done && words.contains("REFUSED"), "{words}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(ask(second, Transport::Udp, &Query::new(&format!("no.{ORIGIN}"), rtype::A)).rcode(), 3);
}
