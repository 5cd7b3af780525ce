//! Dynamic updates as a user sends them: to a named that wants them signed.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

fn bench(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zonda-bench")).args(words).output().unwrap()
}

#[track_caller]
fn json(words: &[&str], status: i32) -> serde_json::Value {
    let output = bench(&[words, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a program of Debian's `bind9` or `bind9-dnsutils`. Where it is missing this gives `None`, but where `CI` is set
/// it must be there.
fn peer(program: &str, words: &[&str]) -> Option<Output> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/bin";
    match Command::new(program).args(words).env("PATH", path).output() {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{program} is missing: {error}");
            None
        }
    }
}

/// A named whose zone takes updates signed with one key of each algorithm; ended with the value.
struct Named {
    child: Child,
    port: u16,
}

const ALGORITHMS: [&str; 4] = ["hmac-sha256", "hmac-sha384", "hmac-sha512", "hmac-sha1"];

impl Named {
    /// `None` where there is no named and none is demanded.
    fn start(folder: &Path, zone: &str, file: &str) -> Option<Named> {
        peer("named", &["-v"])?;
        let port = free_port();
        let home = folder.display();
        let keys: String = ALGORITHMS
            .map(|name| format!("key \"{name}.key\" {{ algorithm {name}; secret \"{SECRET}\"; }};\n"))
            .concat();
        let allowed: String = ALGORITHMS.map(|name| format!("key \"{name}.key\"; ")).concat();
        let settings = format!(
            "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }};\n\
             listen-on port {port} {{ 127.0.0.1; }}; recursion no; dnssec-validation no; notify no;\n\
             allow-transfer {{ any; }}; check-names primary ignore; }};\ncontrols {{ }};\n{keys}\
             zone \"{zone}\" {{ type primary; file \"{file}\"; allow-update {{ {allowed} }}; }};\n"
        );
        fs::write(folder.join("named.conf"), settings).unwrap();
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/bin";
        let mut command = Command::new("named");
        command.args(["-g", "-n", "1", "-c"]).arg(folder.join("named.conf")).env("PATH", path);
        let log = fs::File::create(folder.join("log")).unwrap();
        let named = Named { child: command.stdout(Stdio::null()).stderr(log).spawn().unwrap(), port };
        let until = Instant::now() + Duration::from_secs(30);
        while named.records(zone) == 0 {
            let log = || fs::read_to_string(folder.join("log")).unwrap();
            assert!(Instant::now() < until, "named does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(named)
    }

    /// Records of the zone, by AXFR; 0 where there is no answer.
    fn records(&self, zone: &str) -> usize {
        let port = self.port.to_string();
        let output = peer("dig", &["@127.0.0.1", "-p", &port, zone, "AXFR", "+noall", "+answer", "+onesoa"]);
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().lines().filter(|line| !line.starts_with(';') && !line.is_empty()).count()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free for both transports.
fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Additions of hosts, one a message.
fn additions(range: std::ops::Range<u32>) -> String {
    let line = |number| format!("update add new{number}.dynamic.example. 60 A 192.0.2.1\nsend\n");
    format!("zone dynamic.example.\n{}", range.map(line).collect::<String>())
}

#[test]
fn signed_updates() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let zone = path("zone");
    assert!(bench(&["gen", "zone", "dynamic", "--records", "50", "-o", &zone]).status.success());
    let Some(named) = Named::start(folder.path(), "dynamic.example.", &zone) else { return };
    let before = named.records("dynamic.example.");
    let server = format!("127.0.0.1:{}", named.port);
    let load = |words: &[&str]| [&["load", "--update-server", &server][..], words].concat().join(" ");
    let run = |words: &[&str], status| json(&load(words).split(' ').collect::<Vec<_>>(), status);

    // As fast as they are accepted, with every algorithm and over both transports.
    for (number, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let (updates, key) = (path("updates"), path("key"));
        fs::write(&updates, additions(number as u32 * 20..number as u32 * 20 + 20)).unwrap();
        let text =
            format!("key \"{algorithm}.key\" {{\n algorithm {algorithm};\n secret \"{SECRET}\";\n}};\n");
        fs::write(&key, text).unwrap();
        let mut words = vec!["--updates", &updates, "--update-rate", "max", "--tsig", &key];
        words.extend(["--seconds", "60", "--update-timeout-ms", "30000"]);
        words.extend(if number % 2 == 0 { &["--update-tcp"][..] } else { &["--update-window", "5"] });
        let result = run(&words, 0);
        assert_eq!(result["updates"]["accepted"], 20, "{algorithm}: {result}");
        assert_eq!((&result["updates"]["lost"], &result["updates"]["changes"]), (&0.into(), &20.into()));
    }
    assert_eq!(named.records("dynamic.example."), before + 80);

    // At a rate; another secret, a key that the server does not know, no key.
    let updates = path("more");
    fs::write(&updates, additions(100..120)).unwrap();
    for (key, code) in [
        (Some("hmac-sha256.key:hmac-sha256:bm90IHRoZSBzZWNyZXQ="), "NOTAUTH (BADSIG)"),
        (Some("unknown.key:hmac-sha256:bm90IHRoZSBzZWNyZXQ="), "NOTAUTH (BADKEY)"),
        (None, "REFUSED"),
    ] {
        let mut words = vec!["--updates", &updates, "--update-rate", "200", "--update-timeout-ms", "30000"];
        words.extend(key.iter().flat_map(|key| ["--tsig", key]));
        let result = run(&words, 1);
        assert_eq!(result["updates"]["refused"][code], 20, "{result}");
        assert_eq!(
            (&result["updates"]["accepted"], &result["updates"]["ran_out"]),
            (&0.into(), &true.into())
        );
        assert!(!result["machine"]["command"].to_string().contains("bm90"), "the secret is shown");
    }
    assert_eq!(named.records("dynamic.example."), before + 80);

    // Beside queries, as long as they last.
    let queries = path("queries");
    fs::write(&queries, "dynamic.example. SOA\n").unwrap();
    let key = format!("hmac-sha256.key:hmac-sha256:{SECRET}");
    let words = ["--server", &server, "--queries", &queries, "--rate", "100", "--seconds", "1", "--updates"];
    let more = [&updates, "--update-rate", "5", "--tsig", &key, "--update-timeout-ms", "30000"];
    let result = run(&[&words[..], &more].concat(), 0);
    assert!(result["outcome"]["received"].as_u64() > Some(0), "{result}");
    let accepted = result["updates"]["accepted"].as_u64().unwrap();
    assert!((1..=20).contains(&accepted), "{result}");
    assert_eq!(result["updates"]["sent"], accepted);
    assert_eq!(named.records("dynamic.example."), before + 80 + accepted as usize);
}

/// Answers every update at once and keeps nothing: what a server without fsync looks like.
#[test]
fn faster_than_the_disk() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let server = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut room = [0; 2048];
        while let Ok((octets, client)) = socket.recv_from(&mut room) {
            room[2] |= 0x80;
            socket.send_to(&room[..octets], client).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let updates = folder.path().join("updates").to_str().unwrap().to_owned();
    fs::write(&updates, additions(0..50)).unwrap();
    let directory = folder.path().to_str().unwrap();
    let words = ["load", "--server", &server, "--updates", &updates, "--update-rate", "max"];
    let result = json(&[&words[..], &["--update-sync-folder", directory]].concat(), 0);
    let updates = &result["updates"];
    let (accepted, commits) =
        (updates["accepted_per_second"].as_f64().unwrap(), updates["commits_per_second"].as_f64().unwrap());
    assert_eq!(updates["outran_disk"], accepted > commits);
}

#[track_caller]
fn complaint(words: &[&str], status: i32, needle: &str) {
    let output = bench(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.contains(needle) && !said.contains("panicked"), "{said}");
}

#[test]
fn complaints() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (good, bad) = (file("good", &additions(0..1)), file("bad", "zone a.\nupdate add b.a. 5 A 1.2.3\n"));
    let key = file("key", "key x { algorithm hmac-md5; secret AAAA; };");
    let load = |words: &[&'static str], updates: &str, status, needle| {
        let head = ["load", "--updates", updates, "--update-rate", "5", "--seconds", "0.1"];
        complaint(&[&head[..], words].concat(), status, needle);
    };
    load(&["--server", "127.0.0.1:9"], &bad, 1, "bad:2:21: expected an IPv4 address");
    load(&["--server", "127.0.0.1:9"], "/nonexistent", 1, "cannot open /nonexistent");
    load(&[], &good, 2, "--update-server: is needed");
    load(&["--server", "127.0.0.1:9", "--tsig", "a:b:c"], &good, 1, "--tsig: unknown algorithm");
    load(&["--server", "127.0.0.1:9", "--update-window", "0"], &good, 2, "--update-window: must be");
    load(&["--server", "127.0.0.1:9", "--rate", "5"], &good, 2, "--queries: is needed");
    load(&["--server", "127.0.0.1:9", "--update-timeout-ms", "100"], &good, 1, "connection refused");
    let words = ["load", "--server", "127.0.0.1:9", "--updates", &good, "--update-rate"];
    complaint(&[&words[..], &["5", "--tsig", &key]].concat(), 1, "key: unknown algorithm");
    complaint(&[&words[..], &["fast"]].concat(), 2, "expected a number from 0.001 to 100000, or max");
    complaint(&words[..5], 2, "--update-rate");
}
