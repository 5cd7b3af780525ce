//! Forwarders over TLS (RFC 7858): Unbound as the server, with a certificate of an authority of ours.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use zonda_tests::patience::await_or;
use zonda_tests::server::Guarded;
use zonda_tests::server::peers::require;

use super::check;
use super::internet::in_internet;
use crate::kit::{folder, text};

/// Where Unbound listens: at 853 alone.
const FORWARDER: &str = "127.0.6.1";
/// RFC 8446 5.1.
const APPLICATION_DATA: u8 = 23;
/// The name in its certificate.
const NAME: &str = "dns.corp.example";

fn openssl(at: &Path, words: &str) -> Vec<u8> {
    let output = Command::new(require("openssl", "openssl")).args(words.split(' ')).current_dir(at).output();
    let output = output.expect("the program openssl");
    assert!(output.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// An authority, a server's key and certificate; the pin of the key (RFC 7858 4.2).
fn certificates() -> (TempDir, String) {
    let at = folder(&[]);
    let path = at.path();
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    openssl(path, &format!("{new} -keyout ca.key -out ca.pem -subj /CN=authority"));
    openssl(
        path,
        &format!(
            "{new} -keyout server.key -out server.pem -subj /CN={NAME} -CA ca.pem -CAkey ca.key \
             -addext subjectAltName=DNS:{NAME} -addext basicConstraints=CA:FALSE"
        ),
    );
    openssl(path, "pkey -in server.key -pubout -outform DER -out server.der");
    openssl(path, "dgst -sha256 -binary -out server.sha256 server.der");
    let pin = String::from_utf8(openssl(path, "base64 -in server.sha256")).expect("base64");
    (at, pin.trim().to_owned())
}

/// Unbound at port 853, which has one name of its own and asks nobody.
struct Forwarder {
    _process: Guarded,
    _home: TempDir,
    certificates: TempDir,
    /// Of its key.
    pin: String,
}

/// One that listens.
fn forwarder() -> Forwarder {
    let (certificates, pin) = certificates();
    let scratch = folder(&[]);
    let (home, at) = (scratch.path().display(), certificates.path().display());
    let settings = format!(
        "server:\n interface: {FORWARDER}@853\n port: 53\n tls-port: 853\n tls-service-key: \"{at}/server.key\"\n \
         tls-service-pem: \"{at}/server.pem\"\n username: \"\"\n chroot: \"\"\n directory: \"{home}\"\n pidfile: \"\"\n \
         use-syslog: no\n do-daemonize: no\n num-threads: 1\n access-control: 127.0.0.0/8 allow\n module-config: \"iterator\"\n \
         local-data: \"www.corp.example. 300 IN A 192.0.2.41\"\n"
    );
    let path = scratch.path().join("unbound.conf");
    fs::write(&path, settings).expect("the settings");
    let mut command = Command::new(require("unbound", "unbound"));
    command.args(["-d", "-c", text(&path)]);
    let process = Guarded::spawn(command, scratch.path());
    let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    await_or(log, || {
        assert!(process.is_running(), "{}", log());
        TcpStream::connect((FORWARDER, 853)).is_ok()
    });
    Forwarder { _process: process, _home: scratch, certificates, pin }
}

/// Takes streams at port 853 of `at` to the forwarder, and notes how long the records are that come from the client and hold its data.
fn relay(at: &str) -> Arc<Mutex<Vec<usize>>> {
    let listener = TcpListener::bind((at, 853)).expect("an address");
    let noted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&noted);
    std::thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let Ok(mut server) = TcpStream::connect((FORWARDER, 853)) else { return };
            let (Ok(mut back_from), Ok(mut back_to)) = (server.try_clone(), client.try_clone()) else {
                return;
            };
            std::thread::spawn(move || io::copy(&mut back_from, &mut back_to));
            // RFC 8446 5.1: type, version, length.
            let mut head = [0; 5];
            while client.read_exact(&mut head).is_ok() {
                let mut record = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
                if client.read_exact(&mut record).is_err() {
                    break;
                }
                if head[0] == APPLICATION_DATA {
                    seen.lock().expect("a list").push(record.len());
                }
                if server.write_all(&head).and_then(|()| server.write_all(&record)).is_err() {
                    break;
                }
            }
        }
    });
    noted
}

/// Whoever sees the stream cannot tell names by their length (RFC 8467 4.1).
#[test]
fn questions_over_tls_are_padded() {
    in_internet(|internet| {
        let forwarder = forwarder();
        let noted = relay("127.0.6.2");
        let resolver = internet.resolver(&format!(
            "insecure = [\"corp.example\"]\n[[forward]]\nname = \"corp.example\"\naddresses = [\"127.0.6.2\"]\ntls = true\ntls-pins = [\"{}\"]\n",
            forwarder.pin
        ));
        let long = format!("{0}.{0}.www.corp.example", "a".repeat(50));
        for name in ["www.corp.example", &long, "b.corp.example"] {
            resolver.dig(&[name, "A"]);
        }
        let mut lengths = noted.lock().expect("a list").clone();
        // Not the end of the handshake, and the length of each question, which is a record of its own. A record has its type and authentication beside.
        lengths.retain(|length| *length >= 128);
        let around = 1 + 16;
        assert!(lengths.len() >= 3, "{lengths:?}");
        assert!(lengths.iter().all(|length| (length - around) % 128 == 0), "{lengths:?}");
    });
}

#[test]
fn forwarders_over_tls_have_to_prove_who_they_are() {
    in_internet(|internet| {
        let forwarder = forwarder();
        let authorities = forwarder.certificates.path().join("ca.pem");
        let by_name = format!("tls-name = \"{NAME}\"\ntls-authorities = \"{}\"\n", authorities.display());
        let other_name = by_name.replace(NAME, "dns.other.example");
        let other_pin = "tls-pins = [\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"]\n";
        let by_pin = format!("tls-pins = [\"{}\"]\n", forwarder.pin);
        let of_system = format!("tls-name = \"{NAME}\"\n");
        let is_believed = [
            (&*by_name, true),
            (&*by_pin, true),
            ("", true),
            (&*other_name, false),
            (other_pin, false),
            (&*of_system, false),
        ];
        for (lines, is_believed) in is_believed {
            let resolver = internet.resolver(&format!(
                "insecure = [\"corp.example\"]\n[[forward]]\nname = \"corp.example\"\naddresses = [\"{FORWARDER}\"]\ntls = true\n{lines}"
            ));
            let said = resolver.dig(&["www.corp.example", "A", "+time=6"]);
            match is_believed {
                true => check(&said, "NOERROR", "qr rd ra", &["www.corp.example. IN A 192.0.2.41"]),
                false => {
                    assert!(!said.contains("192.0.2.41"), "{lines}: {said}");
                    let why = format!("{FORWARDER}:853 did not prove over TLS to be the one that is wanted");
                    assert!(resolver.log().contains(&why), "{lines}: {}", resolver.log());
                    let explained = resolver.ctl(&["explain", "www.corp.example"]);
                    assert!(explained.contains(&why), "{lines}: {explained}");
                }
            }
        }
    });
}
