//! What the five clients send, after the forms in which each writes it, and that each can read what it is told: `docs/design/api.md` 9.

use serde::Deserialize;
use wire::NameBuf;
use wire::iana::rtype;

use super::tests::{OCTETS_MAX, lines, patched};
use super::told::{printed, row};
use super::{read, write};
use crate::frame::{Act, Kind, Row, RowKind, SetsBuf, What};
use crate::path::{Request, Wanted};

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn asked(method: &str, target: &str) -> Request {
    let target = format!("/api/v1/servers/localhost{target}");
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Request::of(method, path, query).unwrap_or_else(|refusal| panic!("{method} {target}: {refusal:?}"))
}

fn change(zone: &str) -> Request {
    Request::Change { zone: name(zone), is_dry: false }
}

fn whole(zone: &str) -> Request {
    Request::Zone { zone: name(zone), wanted: Wanted::All, with_dnssec: false }
}

fn made(body: &str) -> read::Made {
    read::post(body.as_bytes(), OCTETS_MAX).unwrap_or_else(|refusal| panic!("{body}: {refusal:?}"))
}

/// A zone as it is told, with the RRsets of a PATCH in it.
fn told<T: for<'d> Deserialize<'d>>(
    zone: &str,
    row_of: impl Fn(&wire::Name) -> Row<'_>,
    sets: &SetsBuf,
) -> T {
    let zone = name(zone);
    let mut out = Vec::new();
    let mut body = write::Zone::begin(&row_of(&zone), true, &mut out);
    sets.sets().iter().for_each(|set| body.set(&set, &mut out));
    body.end(&mut out);
    serde_json::from_slice(&out).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)))
}

/// The fields that all read of RRsets.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct RRset {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    ttl: i32,
    records: Vec<Record>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Record {
    content: String,
    disabled: bool,
}

impl RRset {
    fn contents(&self) -> Vec<&str> {
        self.records.iter().map(|record| &*record.content).collect()
    }
}

#[test]
fn octodns() {
    assert_eq!(asked("GET", ""), Request::Server);
    let version = printed(|out| write::server("0.1.0", out))["version"].as_str().unwrap().to_owned();
    // Three numbers by dots, what is behind a hyphen cut off: 4.5 at least, or `primary` is no kind to it.
    let numbers: Vec<u32> =
        version.split('.').take(3).map(|part| part.split('-').next().unwrap().parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers >= vec![4, 5, 0], "{version}");
    assert_eq!(asked("GET", "/zones/example.com."), whole("example.com."));
    // `quote_plus`, with `%` as `=`.
    assert_eq!(asked("GET", "/zones/0=2F25.2.0.192.in-addr.arpa."), whole("0/25.2.0.192.in-addr.arpa."));
    let body = r#"{"name": "example.com.", "kind": "primary", "masters": [], "nameservers": [],
        "rrsets": [{"name": "www.example.com.", "type": "A", "ttl": 300, "changetype": "REPLACE",
                    "records": [{"content": "192.0.2.1", "disabled": false}, {"content": "192.0.2.2", "disabled": false}]},
                   {"name": "example.com.", "type": "TXT", "ttl": 300, "changetype": "REPLACE",
                    "records": [{"content": "\"v=spf1 -all; x\"", "disabled": false}]}],
        "soa_edit_api": "default", "serial": 0}"#;
    assert_eq!(asked("POST", "/zones"), Request::Make { with_rrsets: true });
    let zone = made(body);
    assert_eq!(
        (zone.fields.kind, zone.fields.soa_edit_api.as_deref()),
        (Some(Kind::Master), Some("default"))
    );
    assert_eq!(
        lines(&zone.sets),
        [
            "www.example.com. A Replace 300 | 192.0.2.1 | 192.0.2.2",
            "example.com. TXT Replace 300 | \"v=spf1 -all; x\""
        ]
    );
    // Deletions first, with `ttl` and records or with neither.
    let body = r#"{"rrsets": [
        {"name": "old.example.com.", "type": "A", "ttl": 300, "changetype": "DELETE", "records": [{"content": "192.0.2.9", "disabled": false}]},
        {"name": "older.example.com.", "type": "MX", "changetype": "DELETE"},
        {"name": "new.example.com.", "type": "MX", "ttl": 60, "changetype": "REPLACE", "records": [{"content": "10 mx.example.com.", "disabled": false}]}]}"#;
    assert_eq!(asked("PATCH", "/zones/example.com."), change("example.com."));
    assert_eq!(
        patched(body),
        [
            "old.example.com. A Delete 0",
            "older.example.com. MX Delete 0",
            "new.example.com. MX Replace 60 | 10 mx.example.com."
        ]
    );
    assert_eq!(asked("PUT", "/zones/example.com./notify"), Request::Act(name("example.com."), Act::Notify));
    #[derive(Deserialize)]
    struct Zone {
        rrsets: Vec<RRset>,
    }
    let zone: Zone = told("example.com.", row, &zone.sets);
    assert_eq!(zone.rrsets[0].contents(), ["192.0.2.1", "192.0.2.2"]);
    assert_eq!(zone.rrsets[1].contents(), ["\"v=spf1 -all; x\""]);
}

#[test]
fn lego() {
    assert_eq!(Request::of("GET", "/api", ""), Ok(Request::Versions));
    #[derive(Deserialize)]
    struct Version {
        version: i64,
        url: String,
    }
    let versions: Vec<Version> = serde_json::from_value(printed(write::versions)).unwrap();
    let highest = versions.iter().max_by_key(|version| version.version).unwrap();
    assert_eq!((highest.version, &*highest.url), (1, "/api/v1"));
    // What was there and one more; it may be there already. Fields of another version of the API stand in records and set.
    let body = r#"{"rrsets": [{"name": "_acme-challenge.example.com.", "type": "TXT", "kind": "Master", "changetype": "REPLACE", "ttl": 120,
        "records": [{"content": "\"first\"", "disabled": false, "name": "_acme-challenge.example.com.", "type": "TXT", "ttl": 120},
                    {"content": "\"first\"", "disabled": false},
                    {"content": "\"second\"", "disabled": false, "name": "_acme-challenge.example.com.", "type": "TXT", "ttl": 120}]}]}"#;
    assert_eq!(patched(body), ["_acme-challenge.example.com. TXT Replace 120 | \"first\" | \"second\""]);
    let body = r#"{"rrsets": [{"name": "_acme-challenge.example.com.", "type": "TXT", "kind": "Master", "changetype": "DELETE", "ttl": 120, "records": null}]}"#;
    assert_eq!(patched(body), ["_acme-challenge.example.com. TXT Delete 0"]);
    #[derive(Deserialize)]
    struct HostedZone {
        id: String,
        url: String,
        kind: String,
        rrsets: Vec<RRset>,
        records: Option<Vec<Record>>,
    }
    let zone: HostedZone = told("Example.com.", row, &SetsBuf::default());
    assert_eq!((&*zone.id, &*zone.kind, zone.rrsets.len()), ("example.com.", "Master", 0));
    assert!(zone.records.is_none());
    // It goes on with the path that it was told.
    let path = format!("{}/notify", zone.url);
    assert_eq!(Request::of("PUT", &path, ""), Ok(Request::Act(name("example.com."), Act::Notify)));
}

#[test]
fn external_dns() {
    #[derive(Deserialize)]
    struct Zone {
        id: String,
        name: String,
        kind: String,
        serial: i32,
        notified_serial: i32,
        masters: Vec<String>,
        dnssec: bool,
    }
    let zone = name("_x.example.org.");
    let list = printed(|out| {
        let mut rows = write::Rows::default();
        rows.row(&row(&zone), out);
        rows.end(out);
    });
    let zones: Vec<Zone> = serde_json::from_value(list).unwrap();
    let first = &zones[0];
    assert_eq!((&*first.name, &*first.kind, first.notified_serial), ("_x.example.org.", "Master", 7));
    assert!(first.serial > 0 && first.masters.is_empty() && !first.dnssec);
    // The id of the list, as it is.
    assert_eq!(asked("GET", &format!("/zones/{}", first.id)), whole("_x.example.org."));
    // The zone as it was listed, with RRsets.
    let body = r#"{"id": "example.org.", "name": "example.org.", "type": "Zone", "url": "/api/v1/servers/localhost/zones/example.org.", "kind": "Native",
        "serial": 2026112901, "notified_serial": 2026112901, "masters": ["192.0.2.53"], "dnssec": true, "account": "",
        "rrsets": [{"name": "a.example.org.", "type": "A", "ttl": 300, "changetype": "REPLACE",
                    "records": [{"content": "192.0.2.1", "disabled": false, "set-ptr": false}]},
                   {"name": "b.example.org.", "type": "TXT", "ttl": 300, "changetype": "REPLACE",
                    "records": [{"content": "\"heritage=external-dns,external-dns/owner=me\"", "disabled": false, "set-ptr": false}]},
                   {"name": "c.example.org.", "type": "CNAME", "changetype": "DELETE",
                    "records": [{"content": "d.example.net.", "disabled": false, "set-ptr": false}]}]}"#;
    assert_eq!(asked("PATCH", "/zones/example.org."), change("example.org."));
    assert_eq!(
        patched(body),
        [
            "a.example.org. A Replace 300 | 192.0.2.1",
            "b.example.org. TXT Replace 300 | \"heritage=external-dns,external-dns/owner=me\"",
            "c.example.org. CNAME Delete 0"
        ]
    );
    // A serial above 2^31 is one that it cannot read, and none that dates have.
    let late = |zone| Row { serial: u32::MAX, ..row(zone) };
    let list = printed(|out| {
        let mut rows = write::Rows::default();
        rows.row(&late(&zone), out);
        rows.end(out);
    });
    assert!(serde_json::from_value::<Vec<Zone>>(list).is_err());
}

#[test]
fn terraform() {
    assert_eq!(Request::of("GET", "/api/v1/servers", ""), Ok(Request::Servers));
    assert_eq!(printed(|out| write::servers("0.1.0", out))[0]["id"], "localhost");
    let body = r#"{"id": "", "name": "example.com.", "url": "", "kind": "Native", "dnsssec": false, "serial": 0,
        "account": "acme", "nameservers": ["ns1.example.com.", "ns2.example.com."], "soa_edit_api": ""}"#;
    let zone = made(body);
    assert_eq!(lines(&zone.sets), ["example.com. NS Replace 3600 | ns1.example.com. | ns2.example.com."]);
    let fields = zone.fields.fields();
    assert_eq!((fields.account, fields.soa_edit_api, fields.serial), (Some("acme"), Some(""), None));
    // What it reads back is what it sent, or it plans to change it for ever.
    #[derive(Deserialize)]
    struct ZoneInfo {
        id: String,
        name: String,
        kind: String,
        account: String,
        soa_edit_api: String,
        rrsets: Vec<RRset>,
    }
    let read_back: ZoneInfo = told(
        "example.com.",
        |name| Row { kind: RowKind::Native, account: "acme", soa_edit_api: "", ..row(name) },
        &zone.sets,
    );
    assert_eq!(
        (&*read_back.id, &*read_back.name, &*read_back.kind),
        ("example.com.", "example.com.", "Native")
    );
    assert_eq!((&*read_back.account, &*read_back.soa_edit_api), ("acme", ""));
    assert_eq!(read_back.rrsets[0].contents(), ["ns1.example.com.", "ns2.example.com."]);
    let body = r#"{"rrsets": [{"name": "www.example.com.", "type": "AAAA", "changetype": "REPLACE", "ttl": 60,
        "records": [{"name": "www.example.com.", "type": "AAAA", "content": "2001:db8::1", "ttl": 60, "disabled": false, "set-ptr": false}]}]}"#;
    assert_eq!(patched(body), ["www.example.com. AAAA Replace 60 | 2001:db8::1"]);
    let body =
        r#"{"rrsets": [{"name": "www.example.com.", "type": "AAAA", "changetype": "DELETE", "ttl": 0}]}"#;
    assert_eq!(patched(body), ["www.example.com. AAAA Delete 0"]);
    assert_eq!(asked("PUT", "/zones/example.com."), Request::Set(name("example.com.")));
    let fields = read::put(br#"{"name": "", "kind": "Master", "account": ""}"#).unwrap();
    assert_eq!(
        (fields.kind, fields.account.as_deref(), fields.soa_edit_api),
        (Some(Kind::Master), Some(""), None)
    );
    assert_eq!(asked("DELETE", "/zones/example.com."), Request::Drop(name("example.com.")));
    // Its record's existence is a query of one set.
    let wanted = Wanted::Owner(name("www.example.com."), Some(rtype::AAAA));
    assert_eq!(
        asked("GET", "/zones/example.com.?rrset_name=www.example.com.&rrset_type=AAAA"),
        Request::Zone { zone: name("example.com."), wanted, with_dnssec: false }
    );
}

#[test]
fn dnscontrol() {
    // Older ones leave the last dot out.
    assert_eq!(asked("GET", "/zones/example.com"), whole("example.com."));
    assert_eq!(asked("GET", "/zones/example.com./cryptokeys"), Request::EmptyOf(name("example.com.")));
    let body = r#"{"name": "example.com.", "type": "Zone", "kind": "Native", "nameservers": ["ns1.example.com."], "soa_edit_api": "DEFAULT"}"#;
    let zone = made(body);
    assert_eq!((zone.fields.kind, zone.sets.count()), (Some(Kind::Native), 1));
    // All that goes, then all that comes.
    let body = r#"{"name": "", "nameservers": null, "rrsets": [
        {"name": "old.example.com.", "type": "A", "ttl": 0, "changetype": "DELETE", "records": null, "comments": null}]}"#;
    assert_eq!(patched(body), ["old.example.com. A Delete 0"]);
    let body = r#"{"name": "", "nameservers": null, "rrsets": [
        {"name": "example.com.", "type": "SOA", "ttl": 3600, "changetype": "REPLACE", "comments": null,
         "records": [{"content": "ns1.example.com. hostmaster.example.com. 1 7200 900 1209600 300", "disabled": false, "set-ptr": false}]},
        {"name": "example.com.", "type": "HTTPS", "ttl": 300, "changetype": "REPLACE", "comments": null,
         "records": [{"content": "1 . alpn=h2,h3 ech=\"AEP+/w==\"", "disabled": false, "set-ptr": false}]},
        {"name": "example.com.", "type": "TXT", "ttl": 300, "changetype": "REPLACE", "comments": null,
         "records": [{"content": "\"a \\\"b\\\"\" \"c\"", "disabled": false, "set-ptr": false}]}]}"#;
    assert_eq!(
        patched(body),
        [
            "example.com. SOA Replace 3600 | ns1.example.com. hostmaster.example.com. 1 7200 900 1209600 300",
            "example.com. HTTPS Replace 300 | 1 . alpn=h2,h3 ech=\"AEP+/w==\"",
            "example.com. TXT Replace 300 | \"a \\\"b\\\"\" \"c\""
        ]
    );
    // It knows three kinds, and is told no other.
    let known = ["Native", "Master", "Slave"];
    for kind in [RowKind::Native, RowKind::Master, RowKind::Slave] {
        #[derive(Deserialize)]
        struct Zone {
            kind: String,
        }
        let zone: Zone = told("example.com.", |name| Row { kind, ..row(name) }, &SetsBuf::default());
        assert!(known.contains(&&*zone.kind));
    }
    // Text is told in quotes.
    let mut sets = SetsBuf::default();
    sets.begin(&name("example.com."), rtype::TXT, What::Replace, 300);
    assert!(sets.record(b"\x05a \"b\""));
    sets.end();
    #[derive(Deserialize)]
    struct Zone {
        rrsets: Vec<RRset>,
    }
    let zone: Zone = told("example.com.", row, &sets);
    assert_eq!(zone.rrsets[0].contents(), ["\"a \\\"b\\\"\""]);
}
