//! octoDNS with its provider for PowerDNS, which `tests/setup.sh` installs in the versions of `octodns.txt`: every type that it knows, changed, deleted, and nothing left to do the second time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use zonda_tests::rtype;
use zonda_tests::server::signal;

use super::{Served, count};
use crate::api::{Fixture, SERVER};

/// All that a zone is to have, but its SOA and NS records.
const ALL: &str = r#"
'':
  - {type: CAA, ttl: 300, values: [{flags: 0, tag: issue, value: ca.example.net}, {flags: 128, tag: iodef, value: 'mailto:x@a.test'}]}
  - {type: MX, ttl: 300, values: [{preference: 10, exchange: mx1.a.test.}, {preference: 20, exchange: mx2.example.net.}]}
  - {type: NS, ttl: 300, values: [ns.a.test.]}
  - {type: TXT, ttl: 300, values: ['v=spf1 ip4:192.0.2.0/24 -all', 'v=DKIM1\; k=rsa\; p=MIIBIjANBg', 'v=DKIM1\; p=LONG']}
ns: {type: A, ttl: 300, value: 192.0.2.1}
www:
  - {type: A, ttl: 60, values: [192.0.2.2, 192.0.2.3]}
  - {type: AAAA, ttl: 60, values: ['2001:db8::1', '2001:db8:0:0:1::1']}
  - {type: HTTPS, ttl: 60, values: [{svcpriority: 1, targetname: '.', svcparams: {alpn: [h2, h3], port: 8443, ipv4hint: [192.0.2.2]}}]}
  - {type: LOC, ttl: 60, value: {lat_degrees: 52, lat_minutes: 22, lat_seconds: 23, lat_direction: N, long_degrees: 4, long_minutes: 53, long_seconds: 32, long_direction: E, altitude: -2, size: 1, precision_horz: 10000, precision_vert: 10}}
  - {type: SSHFP, ttl: 60, value: {algorithm: 4, fingerprint_type: 2, fingerprint: 123456789abcdef67890123456789abcdef67890123456789abcdef123456789}}
alias: {type: CNAME, ttl: 60, value: www.a.test.}
'*.wild': {type: A, ttl: 60, value: 192.0.2.4}
child:
  - {type: NS, ttl: 60, values: [ns.child.a.test., ns.example.net.]}
  - {type: DS, ttl: 60, value: {key_tag: 60485, algorithm: 13, digest_type: 2, digest: d4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a}}
ns.child: {type: A, ttl: 60, value: 192.0.2.5}
enum: {type: NAPTR, ttl: 60, value: {order: 100, preference: 10, flags: U, service: 'E2U+sip', regexp: '!^.*$!sip:info@a.test!', replacement: .}}
ptr: {type: PTR, ttl: 60, values: [www.a.test., ns.a.test.]}
_sip._tcp: {type: SRV, ttl: 60, value: {priority: 10, weight: 20, port: 5060, target: sip.a.test.}}
_dns: {type: SVCB, ttl: 60, value: {svcpriority: 1, targetname: dns.a.test., svcparams: {alpn: [dot], port: 853}}}
_443._tcp.www: {type: TLSA, ttl: 60, value: {certificate_usage: 3, selector: 1, matching_type: 1, certificate_association_data: d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971}}
_ftp._tcp: {type: URI, ttl: 60, value: {priority: 10, weight: 1, target: 'ftp://ftp.a.test/public'}}
"#;

/// Changed, gone, and another type in place of one.
const LESS: &str = r#"
'':
  - {type: NS, ttl: 300, values: [ns.a.test.]}
  - {type: MX, ttl: 600, values: [{preference: 10, exchange: mx1.a.test.}]}
ns: {type: A, ttl: 300, value: 192.0.2.1}
www: {type: A, ttl: 60, values: [192.0.2.2, 192.0.2.99]}
alias: {type: A, ttl: 60, value: 192.0.2.7}
ptr: {type: CNAME, ttl: 60, value: www.a.test.}
"#;

/// Where `tests/setup.sh` has put it.
fn program() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").join("target"),
        PathBuf::from,
    );
    let program = target.join("octodns/bin/octodns-sync");
    assert!(program.is_file(), "{} is not there: run tests/setup.sh", program.display());
    program
}

/// What it wants of a zone, and its settings.
struct Octodns(tempfile::TempDir);

impl Octodns {
    fn new(served: &Served, secret: &str, fixture: &Fixture<'_>) -> Octodns {
        let folder = crate::kit::folder(&[]);
        let zones = folder.path().join("zones");
        fs::create_dir(&zones).expect("a folder");
        let settings = format!(
            "providers:\n  files:\n    class: octodns.provider.yaml.YamlProvider\n    directory: {}\n    enforce_order: false\n  zonda:\n    \
             class: octodns_powerdns.PowerDnsProvider\n    host: 127.0.0.1\n    port: {}\n    scheme: https\n    ssl_verify: {}\n    api_key: {}\n    notify: true\n\
             zones:\n  a.test.:\n    sources: [files]\n    targets: [zonda]\n",
            zones.display(),
            fixture.at.port(),
            served.ca(),
            secret
        );
        fs::write(folder.path().join("config.yaml"), settings).expect("settings");
        Octodns(folder)
    }

    /// Has the zone be so; what it said.
    fn sync(&self, records: &str, more: &[&str]) -> (bool, String) {
        // A key of DKIM, as of RSA of 4,096 bits: more than a string has room for.
        let records = records.replace("LONG", &"MIICIjANBg0+/".repeat(60));
        fs::write(self.0.path().join("zones/a.test.yaml"), format!("---{records}")).expect("records");
        let mut command = Command::new(program());
        command.arg("--config-file").arg(self.0.path().join("config.yaml")).args(more);
        // What others have set for proxies is not meant for this.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_PROXY", "*");
        let output = command.output().expect("octodns-sync");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), said)
    }

    /// The same, which is to be done, and to leave nothing to do.
    fn assert_synced(&self, fixture: &Fixture<'_>, records: &str) {
        let (is_done, said) = self.sync(records, &["--doit", "--force"]);
        assert!(is_done, "{said}\n{}", fixture.server.log());
        let serial = fixture.serial("a.test.");
        let (is_done, again) = self.sync(records, &[]);
        assert!(is_done && again.contains("No changes were planned"), "{again}");
        assert_eq!(fixture.serial("a.test."), serial);
    }
}

#[test]
fn it_creates_changes_and_deletes() {
    let served = Served::new();
    let fixture = served.bed.start();
    let octodns = Octodns::new(&served, &served.secret, &fixture);
    octodns.assert_synced(&fixture, ALL);
    let of = |name: &str, rtype: u16| count(&fixture, name, rtype);
    assert_eq!(
        [of("a.test.", rtype::TXT), of("a.test.", rtype::MX), of("x.wild.a.test.", rtype::A)],
        [3, 2, 1]
    );
    octodns.assert_synced(&fixture, LESS);
    assert_eq!(
        [of("a.test.", rtype::TXT), of("a.test.", rtype::MX), of("x.wild.a.test.", rtype::A)],
        [0, 1, 0]
    );
    assert_eq!(
        [of("alias.a.test.", rtype::A), of("ptr.a.test.", rtype::CNAME), of("www.a.test.", rtype::A)],
        [1, 1, 2]
    );
    octodns.assert_synced(&fixture, ALL);
    // What it did is there after the server was killed.
    let text = |fixture: &Fixture<'_>| {
        let reply = crate::api::secure::curl(
            &served.authority,
            fixture.at,
            &served.secret,
            &[],
            &format!("{SERVER}/zones/a.test./export"),
        );
        String::from_utf8_lossy(&reply.stdout).into_owned()
    };
    let before = text(&fixture);
    assert!(before.contains("sip.a.test."), "{before}");
    signal(fixture.server.process.pid(), "KILL");
    drop(fixture);
    let fixture = served.bed.start();
    assert_eq!(text(&fixture), before);
}

/// A key that is none, and one whose rules do not reach so far: it says so, and nothing is done.
#[test]
fn what_it_may_not_it_is_told() {
    let served = Served::new();
    let fixture = served.bed.start();
    let refused = |secret: &str, words: &str| {
        let octodns = Octodns::new(&served, secret, &fixture);
        let (is_done, said) = octodns.sync(ALL, &["--doit", "--force"]);
        assert!(!is_done && said.contains(words), "{said}");
        assert_eq!(fixture.serial("a.test."), 1);
    };
    refused("none", "PowerDNS unauthorized");
    refused(&served.bed.acme, "403");
}
