//! Forwarders over TLS (RFC 7858): Unbound as the server, with a certificate of an authority of ours.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use zonda_tests::patience::await_or;
use zonda_tests::server::Guarded;
use zonda_tests::server::peers::require;

use super::check;
use super::internet::in_internet;
use crate::kit::{folder, text};

/// Where Unbound listens: at 853 alone.
const FORWARDER: &str = "127.0.6.1";
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
fn unbound(certificates: &Path) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let (home, at) = (scratch.path().display(), certificates.display());
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
    (Guarded::spawn(command, scratch.path()), scratch)
}

#[test]
fn forwarders_over_tls_have_to_prove_who_they_are() {
    in_internet(|internet| {
        let (certificates, pin) = certificates();
        let (forwarder, scratch) = unbound(certificates.path());
        let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
        await_or(log, || {
            assert!(forwarder.is_running(), "{}", log());
            std::net::TcpStream::connect((FORWARDER, 853)).is_ok()
        });
        let authorities = certificates.path().join("ca.pem");
        let by_name = format!("tls-name = \"{NAME}\"\ntls-authorities = \"{}\"\n", authorities.display());
        let other_name = by_name.replace(NAME, "dns.other.example");
        let other_pin = "tls-pins = [\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"]\n";
        let by_pin = format!("tls-pins = [\"{pin}\"]\n");
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
