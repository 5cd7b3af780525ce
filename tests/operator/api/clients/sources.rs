//! Clients that no package here has: external-dns, Terraform's provider and DNSControl, which are programs in Go. *None of them runs here.* What their sources send is sent, request for request,
//! and of each answer what these read is read, as the types that they read it as. How each plans is not tried.
//!
//! | client | as of | read |
//! |---|---|---|
//! | external-dns | commit 7785607e421e | `provider/pdns/pdns.go`; types of ffledgling/pdns-go 2a3e896f1c0a, `zone.go`, and 461e13745b4c, `rr_set.go`, `record.go` |
//! | Terraform | pan-net/terraform-provider-powerdns fb18bec8ef13, 01f7734667c5 | `powerdns/client.go`, `resource_powerdns_record.go` |
//! | DNSControl | commits cf387bdf4be0, fd35bf3e132b, 0c972551bf4b | `providers/powerdns/diff.go`, `dns.go`, `dnssec.go`; mittwald/go-powerdns d57738d2b42f, 9c135dcc3c6d, 07a67704434b, ea587077dda8: `apis/zones`, `pdnshttp/client.go` |

use serde::Deserialize;
use serde::de::DeserializeOwned;
use zonda_tests::rtype;

use super::count;
use crate::api::client::{Client, Reply};
use crate::api::{Bed, Fixture, SERVER};

/// A client that is not ours: one connection, and its headers.
struct Other<'f> {
    fixture: &'f Fixture<'f>,
    client: Client,
    key: String,
    headers: &'static str,
}

impl<'f> Other<'f> {
    fn new(fixture: &'f Fixture<'f>, headers: &'static str) -> Other<'f> {
        let client = Client::new(fixture.at).expect("a connection");
        Other { fixture, client, key: fixture.bed.acme.clone(), headers }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Reply {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let headers = format!("{}{kind}Accept-Encoding: gzip\r\n", self.headers);
        let reply = self.client.ask(method, path, &self.key, &headers, body);
        reply.unwrap_or_else(|| panic!("{method} {path}: no reply: {}", self.fixture.server.log()))
    }

    /// What a GET is told, as the type that is read.
    fn get<T: DeserializeOwned>(&mut self, path: &str) -> T {
        let reply = self.ask("GET", path, "");
        assert!(reply.status == 200 && reply.header("content-type") == Some("application/json"), "{reply:?}");
        serde_json::from_str(&reply.text).unwrap_or_else(|error| panic!("{path}: {error}: {}", reply.text))
    }

    fn patch(&mut self, zone: &str, body: &str) -> Reply {
        self.ask("PATCH", &format!("{SERVER}/zones/{zone}"), body)
    }
}

/// A record set, where a number that is none, or too large, is an error.
#[derive(Debug, Deserialize)]
struct Set {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    ttl: i32,
    records: Vec<Record>,
    #[serde(default)]
    comments: Option<Vec<Comment>>,
}

#[derive(Debug, Deserialize)]
struct Record {
    content: String,
    disabled: bool,
}

#[derive(Debug, Deserialize)]
struct Comment {
    #[serde(rename = "content")]
    _content: String,
}

fn contents<'s>(sets: &'s [Set], name: &str, rtype: &str) -> Vec<&'s str> {
    let set = sets.iter().find(|set| set.name == name && set.rtype == rtype);
    let records = set.map_or(&[][..], |set| &set.records);
    assert!(set.is_none_or(|set| set.comments.as_ref().is_none_or(Vec::is_empty)));
    records.iter().filter(|record| !record.disabled).map(|record| &*record.content).collect()
}

/// `zone.go` of pdns-go: all that is there is sent back with a PATCH.
#[derive(Debug, Deserialize, serde::Serialize)]
struct ExternalZone {
    id: String,
    name: String,
    #[serde(rename = "type")]
    rtype: Option<String>,
    url: String,
    kind: String,
    serial: i32,
    notified_serial: i32,
    masters: Vec<String>,
    dnssec: bool,
    #[serde(skip_serializing)]
    rrsets: Option<Vec<Set>>,
    account: String,
}

#[test]
fn external_dns() {
    let bed = Bed::new();
    let fixture = bed.start();
    let mut client =
        Other::new(&fixture, "User-Agent: Swagger-Codegen/1.0.0/go\r\nAccept: application/json\r\n");
    let zones: Vec<ExternalZone> = client.get(&format!("{SERVER}/zones"));
    let zone = zones.iter().find(|zone| zone.name == "a.test.").expect("the zone");
    let path = format!("{SERVER}/zones/{}", zone.id);
    let read = |client: &mut Other<'_>| client.get::<ExternalZone>(&path).rrsets.expect("RRsets");
    assert_eq!(contents(&read(&mut client), "www.a.test.", "A"), ["192.0.2.2"]);
    // What comes, what changes, what goes: each the zone as it was listed, with RRsets.
    let patch = |client: &mut Other<'_>, rrsets: serde_json::Value| {
        let mut body = serde_json::to_value(zone).expect("JSON");
        body["rrsets"] = rrsets;
        let reply = client.patch(&zone.id, &body.to_string());
        assert_eq!((reply.status, &*reply.text), (204, ""), "{body}");
    };
    let heritage =
        "\"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/nginx\"";
    patch(
        &mut client,
        serde_json::json!([
            {"name": "a-nginx.a.test.", "type": "TXT", "ttl": 300, "changetype": "REPLACE", "records": [{"content": heritage}]},
            {"name": "nginx.a.test.", "type": "A", "ttl": 300, "changetype": "REPLACE", "records": [{"content": "192.0.2.21"}, {"content": "192.0.2.22"}]},
            {"name": "web.a.test.", "type": "CNAME", "ttl": 300, "changetype": "REPLACE", "records": [{"content": "nginx.a.test."}]},
        ]),
    );
    let sets = read(&mut client);
    assert_eq!(contents(&sets, "nginx.a.test.", "A"), ["192.0.2.21", "192.0.2.22"]);
    assert_eq!(contents(&sets, "a-nginx.a.test.", "TXT"), [heritage]);
    assert_eq!(sets.iter().find(|set| set.name == "web.a.test.").map(|set| set.ttl), Some(300));
    patch(
        &mut client,
        serde_json::json!([{"name": "nginx.a.test.", "type": "A", "ttl": 60, "changetype": "REPLACE", "records": [{"content": "192.0.2.23"}]}]),
    );
    assert_eq!(fixture.addresses("web.a.test.").len(), 2, "an alias and its address");
    // Twice, as it repeats what it has no answer of.
    for _ in 0..2 {
        patch(
            &mut client,
            serde_json::json!([
                {"name": "nginx.a.test.", "type": "A", "changetype": "DELETE", "records": [{"content": "192.0.2.23"}]},
                {"name": "a-nginx.a.test.", "type": "TXT", "changetype": "DELETE", "records": [{"content": heritage}]},
                {"name": "web.a.test.", "type": "CNAME", "changetype": "DELETE", "records": [{"content": "nginx.a.test."}]},
            ]),
        );
    }
    assert!(read(&mut client).iter().all(|set| !set.name.contains("nginx") && !set.name.starts_with("web")));
}

/// `client.go` of the provider.
#[derive(Debug, Deserialize)]
struct TerraformZone {
    id: String,
    name: String,
    url: String,
    kind: String,
    serial: i64,
    #[serde(default)]
    records: Option<Vec<Record>>,
    #[serde(default)]
    rrsets: Option<Vec<Set>>,
    account: String,
    #[serde(default)]
    nameservers: Option<Vec<String>>,
    #[serde(default)]
    masters: Option<Vec<String>>,
    soa_edit_api: String,
}

#[derive(Debug, Deserialize)]
struct TerraformServer {
    config_url: String,
    daemon_type: String,
    id: String,
    #[serde(rename = "type")]
    kind: String,
    url: String,
    version: String,
    zones_url: String,
}

#[test]
fn terraform() {
    let bed = Bed::new();
    let fixture = bed.start();
    let mut client = Other::new(&fixture, "User-Agent: Go-http-client/1.1\r\nAccept: application/json\r\n");
    assert_eq!(client.ask("GET", "/api/v1/servers", "").status, 200, "else it takes an API of before");
    let server: TerraformServer = client.get(SERVER);
    assert_eq!((&*server.id, &*server.kind, &*server.daemon_type), ("localhost", "Server", "authoritative"));
    assert!(
        server.url == SERVER
            && server.config_url.starts_with(SERVER)
            && server.zones_url.starts_with(SERVER)
            && server.version.contains('.')
    );
    let zone: TerraformZone = client.get(&format!("{SERVER}/zones/a.test."));
    assert!(
        zone.records.is_none()
            && zone.nameservers.is_none_or(|all| all.is_empty())
            && zone.masters.is_none_or(|all| all.is_empty())
    );
    assert_eq!(
        (&*zone.id, &*zone.name, &*zone.kind, zone.serial, &*zone.account),
        ("a.test.", "a.test.", "Native", 1, "")
    );
    assert!(zone.url.ends_with("/zones/a.test.") && zone.soa_edit_api.is_ascii());
    // A set that is made is read again: contents and TTL are what was sent, or each plan has it anew.
    let read = |client: &mut Other<'_>| {
        client.get::<TerraformZone>(&format!("{SERVER}/zones/a.test.")).rrsets.expect("RRsets")
    };
    for (name, rtype, sent) in [
        ("tf.a.test.", "A", &["192.0.2.31", "192.0.2.32"][..]),
        ("tf.a.test.", "AAAA", &["2001:db8::1"]),
        ("tf.a.test.", "MX", &["10 mail.a.test."]),
        ("tf.a.test.", "TXT", &["\"two\" \"strings\"", "\"v=spf1 -all\""]),
        ("_sip._tcp.a.test.", "SRV", &["0 10 5060 sip.a.test."]),
        ("tf.a.test.", "CAA", &["0 issue \"ca.example.net\""]),
    ] {
        let records: Vec<serde_json::Value> = sent
            .iter()
            .map(|content| serde_json::json!({"name": name, "type": rtype, "content": content, "ttl": 60, "disabled": false, "set-ptr": false}))
            .collect();
        let body = serde_json::json!({"rrsets": [{"name": name, "type": rtype, "changetype": "REPLACE", "ttl": 60, "records": records}]});
        assert_eq!(client.patch("a.test.", &body.to_string()).status, 204, "{body}");
        let sets = read(&mut client);
        let mut found = contents(&sets, name, rtype);
        found.sort_unstable();
        assert_eq!(found, sent, "{rtype}");
        assert!(sets.iter().any(|set| set.name == name && set.rtype == rtype && set.ttl == 60));
    }
    for (name, rtype) in [("tf.a.test.", "TXT"), ("_sip._tcp.a.test.", "SRV"), ("none.a.test.", "A")] {
        let body =
            serde_json::json!({"rrsets": [{"name": name, "type": rtype, "changetype": "DELETE", "ttl": 0}]});
        assert_eq!(client.patch("a.test.", &body.to_string()).status, 204, "{body}");
    }
    assert_eq!([count(&fixture, "tf.a.test.", rtype::TXT), count(&fixture, "tf.a.test.", rtype::MX)], [0, 1]);
    assert_eq!(
        client.ask("GET", &format!("{SERVER}/zones/none.test."), "").status,
        404,
        "else it is an error"
    );
    // Why not is shown: `error` is read.
    let body = r#"{"rrsets": [{"name": "tf.a.test.", "type": "A", "changetype": "REPLACE", "ttl": 60, "records": [{"name": "tf.a.test.", "type": "A", "content": "300.1.1.1", "ttl": 60, "disabled": false, "set-ptr": false}]}]}"#;
    let reply = client.patch("a.test.", body);
    assert!(reply.status == 422 && reply.json()["error"].is_string(), "{reply:?}");
}

/// `types_zone.go` of go-powerdns.
#[derive(Debug, Deserialize)]
struct ControlZone {
    id: String,
    name: String,
    /// `Native`, `Master` or `Slave`, in these letters.
    kind: String,
    #[serde(default)]
    rrsets: Option<Vec<Set>>,
    serial: i64,
    notified_serial: i64,
    dnssec: bool,
    /// As the next two not in lists, as with PowerDNS.
    api_rectify: Option<bool>,
    soa_edit: Option<String>,
    soa_edit_api: Option<String>,
    account: String,
    #[serde(default)]
    nameservers: Option<Vec<String>>,
}

#[test]
fn dnscontrol() {
    let bed = Bed::new();
    let fixture = bed.start();
    let mut client = Other::new(&fixture, "User-Agent: Go-http-client/1.1\r\n");
    let zones: Vec<ControlZone> = client.get(&format!("{SERVER}/zones"));
    assert!(zones.iter().all(|zone| ["Native", "Master", "Slave"].contains(&&*zone.kind)
        && zone.id == zone.name
        && zone.rrsets.is_none()));
    let read = |client: &mut Other<'_>| client.get::<ControlZone>(&format!("{SERVER}/zones/a.test."));
    let zone = read(&mut client);
    assert!(
        !zone.dnssec
            && zone.serial == zone.notified_serial
            && zone.nameservers.is_none_or(|all| all.is_empty())
    );
    assert!(zone.api_rectify == Some(false) && zone.soa_edit.is_some() && zone.soa_edit_api.is_some());
    assert_eq!((&*zone.id, &*zone.account), ("a.test.", ""));
    // Each time, and it is an error if it is not told.
    let keys: Vec<serde_json::Value> = client.get(&format!("{SERVER}/zones/a.test./cryptokeys"));
    assert!(keys.is_empty());
    // Both PATCHes are a zone without a name, and with a newline behind it, as Go's encoder writes one.
    let body = |rrsets: serde_json::Value| {
        format!("{}\n", serde_json::json!({"name": "", "type": "", "nameservers": null, "rrsets": rrsets}))
    };
    let set = |name: &str, rtype: &str, contents: &[&str]| {
        let records: Vec<serde_json::Value> = contents
            .iter()
            .map(|content| serde_json::json!({"content": content, "disabled": false}))
            .collect();
        serde_json::json!({"name": name, "type": rtype, "ttl": 300, "changetype": "REPLACE", "records": records, "comments": null})
    };
    let gone = |name: &str, rtype: &str| serde_json::json!({"name": name, "type": rtype, "ttl": 0, "changetype": "DELETE", "records": null, "comments": null});
    let long = format!("\"{}\"", "k".repeat(300));
    let made = body(serde_json::json!([
        set("dc.a.test.", "A", &["192.0.2.41", "192.0.2.42"]),
        set("dc.a.test.", "TXT", &["\"one\"", &long]),
        set("alias.a.test.", "CNAME", &["dc.a.test."]),
        set("_sip._tcp.a.test.", "SRV", &["10 20 5060 dc.a.test."]),
    ]));
    assert_eq!(client.patch("a.test.", &made).status, 204);
    let sets = read(&mut client).rrsets.expect("RRsets");
    assert_eq!(contents(&sets, "dc.a.test.", "A"), ["192.0.2.41", "192.0.2.42"]);
    assert_eq!(contents(&sets, "_sip._tcp.a.test.", "SRV"), ["10 20 5060 dc.a.test."]);
    // What is longer than a string comes back in two, which it puts together.
    let texts = contents(&sets, "dc.a.test.", "TXT");
    let together: Vec<String> = texts.iter().map(|text| text.replace("\" \"", "")).collect();
    assert!(together.contains(&long) && together.contains(&"\"one\"".to_owned()), "{texts:?}");
    // All that goes, then all that comes: a name of another type.
    assert_eq!(
        client
            .patch(
                "a.test.",
                &body(serde_json::json!([gone("dc.a.test.", "TXT"), gone("alias.a.test.", "CNAME")]))
            )
            .status,
        204
    );
    assert_eq!(
        client
            .patch("a.test.", &body(serde_json::json!([set("alias.a.test.", "A", &["192.0.2.43"])])))
            .status,
        204
    );
    assert_eq!(
        [count(&fixture, "dc.a.test.", rtype::TXT), count(&fixture, "alias.a.test.", rtype::A)],
        [0, 1]
    );
    // An SOA as any set, whatever its serial.
    let serial = fixture.serial("a.test.");
    assert_eq!(
        client
            .patch(
                "a.test.",
                &body(serde_json::json!([set(
                    "a.test.",
                    "SOA",
                    &["ns.a.test. host.a.test. 1 7200 3600 86400 60"]
                )]))
            )
            .status,
        204
    );
    assert_eq!(fixture.serial("a.test."), serial + 1);
    assert_eq!(
        client.ask("GET", &format!("{SERVER}/zones/none.test."), "").status,
        404,
        "else it does not make it"
    );
}
