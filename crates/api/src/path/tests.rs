use super::*;
use crate::frame::{ACCOUNT_OCTETS_MAX, PAGE_SETS_MAX, PATTERN_OCTETS_MAX};

const SERVER: &str = "/api/v1/servers/localhost";

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// A request by `METHOD PATH?QUERY`, the path below [`SERVER`] where it begins with `~`.
fn of(line: &str) -> Result<Request, Refusal> {
    let (method, target) = line.split_once(' ').unwrap();
    let target = target.replacen('~', SERVER, 1);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Request::of(method, path, query)
}

#[track_caller]
fn status(line: &str, expected: u16) {
    let refusal = of(line).expect_err(line);
    assert_eq!(refusal.status, expected, "{line}: {}", refusal.words);
}

#[test]
fn requests_of_powerdns() {
    let zone = || name("example.com.");
    let read = |wanted| Request::Zone { zone: zone(), wanted, with_dnssec: false };
    for (line, expected) in [
        ("GET /api", Request::Versions),
        ("HEAD /api", Request::Versions),
        ("GET /api/v1/servers", Request::Servers),
        ("GET ~", Request::Server),
        ("GET ~/config", Request::Empty(Empty::List)),
        ("GET ~/autoprimaries", Request::Empty(Empty::List)),
        ("GET ~/views", Request::Empty(Empty::Views)),
        ("GET ~/networks", Request::Empty(Empty::Networks)),
        ("GET ~/statistics?includerings=false", Request::Numbers(None)),
        ("GET ~/statistics?statistic=&includerings=true", Request::Numbers(None)),
        ("GET ~/statistics?statistic=uptime", Request::Numbers(Some("uptime".into()))),
        ("PUT ~/cache/flush?domain=example.com.", Request::Flush),
        ("GET ~/tsigkeys", Request::Keys),
        ("GET ~/zones", Request::Zones(None)),
        ("GET ~/zones?dnssec=false", Request::Zones(None)),
        ("GET ~/zones?zone=Example.COM.&dnssec=true", Request::Zones(Some(zone()))),
        ("POST ~/zones", Request::Make { with_rrsets: true }),
        ("POST ~/zones?rrsets=false&dry-run=false", Request::Make { with_rrsets: false }),
        ("GET ~/zones/example.com.", read(Wanted::All)),
        ("GET ~/zones/EXAMPLE%2ecom", read(Wanted::All)),
        ("GET ~/zones/=65xample=2Ecom=2e?rrsets=true&include_disabled=true", read(Wanted::All)),
        ("GET ~/zones/example.com.?rrsets=false", read(Wanted::Row)),
        (
            "GET ~/zones/example.com.?rrset_name=%2A.a.example.com.&rrset_type=aaaa",
            read(Wanted::Owner(name("*.a.example.com."), Some(rtype::AAAA))),
        ),
        (
            "GET ~/zones/example.com.?rrset_name=a.example.com",
            read(Wanted::Owner(name("a.example.com."), None)),
        ),
        (
            "GET ~/zones/example.com.?dnssec-records=true",
            Request::Zone { zone: zone(), wanted: Wanted::All, with_dnssec: true },
        ),
        ("PATCH ~/zones/example.com.", Request::Change { zone: zone(), is_dry: false }),
        ("PATCH ~/zones/example.com.?dry-run=true", Request::Change { zone: zone(), is_dry: true }),
        ("PUT ~/zones/example.com.", Request::Set(zone())),
        ("DELETE ~/zones/example.com.", Request::Drop(zone())),
        ("GET ~/zones/example.com./export", Request::Export(zone())),
        ("PUT ~/zones/example.com./notify", Request::Act(zone(), Act::Notify)),
        ("PUT ~/zones/example.com./axfr-retrieve", Request::Act(zone(), Act::Retrieve)),
        ("PUT ~/zones/example.com./rectify", Request::Act(zone(), Act::Rectify)),
        ("GET ~/zones/example.com./cryptokeys", Request::EmptyOf(zone())),
        ("GET ~/zones/example.com./metadata", Request::EmptyOf(zone())),
        (
            "GET ~/search-data?q=*ex+mple*&max=5000&object_type=zone",
            Request::Search { pattern: "*ex mple*".into(), objects: Objects::Zones, limit: 1_000 },
        ),
        ("GET ~/search-data?q=a", Request::Search { pattern: "a".into(), objects: Objects::All, limit: 100 }),
        (
            "GET ~/search-data?q=%2a%3F%252a&object_type=comment&max=1",
            Request::Search { pattern: "*?%2a".into(), objects: Objects::Comments, limit: 1 },
        ),
    ] {
        assert_eq!(of(line).as_ref(), Ok(&expected), "{line}");
    }
}

#[test]
fn requests_beyond() {
    for (line, expected) in [
        ("POST /api/zonda/v1/changes", Request::Changes),
        ("POST /api/zonda/v1/explain", Request::Explain),
        ("GET /api/zonda/v1/openapi.json", Request::OpenApi),
        ("GET /api/zonda/v1/session", Request::Session),
        ("HEAD /api/zonda/v1/session", Request::Session),
        ("POST /api/zonda/v1/session", Request::SignIn),
        ("DELETE /api/zonda/v1/session", Request::SignOut),
        ("GET /api/zonda/v1/zones", Request::Rows { account: None, stands: None, after: None, limit: 0 }),
        (
            "GET /api/zonda/v1/zones?limit=10000&after=1f-00000000000000ab&account=acme&state=stale",
            Request::Rows {
                account: Some("acme".into()),
                stands: Some(Stands::Stale),
                after: Some(Cursor { slot: 31, start: 171 }),
                limit: LIMIT_MAX,
            },
        ),
        (
            "GET /api/zonda/v1/zones/a./rrsets",
            Request::Zone { zone: name("a."), wanted: Wanted::Page(None, SETS_USUAL), with_dnssec: false },
        ),
        (
            "GET /api/zonda/v1/zones/a./rrsets?after=B.a.&limit=1000&dnssec-records=true",
            Request::Zone {
                zone: name("a."),
                wanted: Wanted::Page(Some(name("b.a.")), PAGE_SETS_MAX),
                with_dnssec: true,
            },
        ),
        ("GET /api/zonda/v1/zones/a./history", Request::History(name("a."))),
        ("GET /api/zonda/v1/zones/a./history/7/undo", Request::Undo(name("a."), 7)),
        ("GET /api/zonda/v1/now", Request::View(Viewed::Now { said: 0 })),
        ("HEAD /api/zonda/v1/now?said=4294967295", Request::View(Viewed::Now { said: u32::MAX.into() })),
        ("GET /api/zonda/v1/hour", Request::View(Viewed::Hour)),
        ("GET /api/zonda/v1/resolver?name=a%2e", Request::View(Viewed::Resolver(Some(name("a."))))),
        (
            "GET /api/zonda/v1/why?name=a.b&type=any&dnssec=true",
            Request::View(Viewed::Why {
                name: name("a.b."),
                rtype: rtype::ANY,
                is_tcp: false,
                dnssec_ok: true,
            }),
        ),
        ("GET /api/zonda/v1/zones/a.", Request::View(Viewed::Zone(name("a.")))),
    ] {
        assert_eq!(of(line).as_ref(), Ok(&expected), "{line}");
    }
    for line in [
        "GET /api/zonda/v1/zones?limit=0",
        "GET /api/zonda/v1/zones?limit=10001",
        "GET /api/zonda/v1/zones?limit=+1",
        "GET /api/zonda/v1/zones?state=Stale",
        "GET /api/zonda/v1/zones/a./rrsets?limit=1001",
        "GET /api/zonda/v1/zones/a./rrsets?after=a..b",
        "GET /api/zonda/v1/zones?after=7",
        "GET /api/zonda/v1/zones?after=-1",
        "GET /api/zonda/v1/zones?after=1-00000000000000abc",
        "GET /api/zonda/v1/zones?page=1",
        "POST /api/zonda/v1/session?code=a",
        "POST /api/zonda/v1/changes?dry-run=true",
        // However the root is written.
        "POST /api/%7aonda/v1/changes?dry-run=true",
        "POST /%61pi/zonda/v1/changes?dry-run=true",
    ] {
        status(line, 422);
    }
    let long = format!("GET /api/zonda/v1/zones?account={}", "a".repeat(ACCOUNT_OCTETS_MAX + 1));
    status(&long, 422);
}

#[test]
fn what_is_no_path() {
    for line in [
        "GET /",
        "GET /ap",
        "GET api",
        "GET /api/",
        "GET //api",
        "GET /API",
        "GET /api/v1",
        "GET /api/v2/servers",
        "GET /api/v1/servers/other",
        "GET /api/v1/servers/%2e%2e",
        "GET /api/v1/servers/../servers/localhost",
        "GET /api/v1/servers/localhost/",
        "GET /api/v1/servers/localhost%2fzones",
        "GET ~/zones/",
        "GET ~/zones/./export",
        "GET ~/zones/example.com./",
        "GET ~/zones//export",
        "GET ~/zones/example.com./nothing",
        "GET ~/zones/a/b/c/d/e/f/g/h",
        "GET ~/zones/%",
        "GET ~/zones/%zz",
        // No names, so no zones.
        "GET ~/zones/example.com..view",
        "GET ~/zones/%2e%2e",
        "GET ~/zones/%ff",
        "GET ~/zones/@",
        "GET ~/zones/a%00b",
        "GET ~/zones/a=0Ab",
        "GET ~/zones/=",
        "GET ~/zones/example.com./cryptokeys/1",
        "GET ~/zones/example.com./metadata/ALLOW-AXFR-FROM",
        "GET ~/tsigkeys/key.",
        "GET /api/zonda/v1/zones/a./history/-7/undo",
        "GET /api/zonda/v1/zones/a./history/4294967296/undo",
    ] {
        status(line, 404);
    }
    // Decoded once.
    assert_eq!(
        of("GET ~/zones/%253dx"),
        Ok(Request::Zone { zone: name("%3dx."), wanted: Wanted::All, with_dnssec: false })
    );
}

#[test]
fn what_is_no_method() {
    for line in [
        "POST /api",
        "OPTIONS ~/zones",
        "OPTIONS ~/zones/a.",
        "PUT ~/zones",
        "POST ~/zones/a.",
        "GET ~/zones/a./notify",
        "POST ~/zones/a./notify",
        "GET ~/cache/flush",
        "PATCH ~/zones/a./metadata",
        "GET /api/zonda/v1/changes",
        "OPTIONS /api/zonda/v1/session",
        "PUT /api/zonda/v1/session",
        "get /api",
        "TRACE /api",
    ] {
        status(line, 405);
    }
    assert_eq!(of("OPTIONS ~/zones/a.").unwrap_err().allow, Some("GET, HEAD, PATCH, PUT, DELETE"));
}

#[test]
fn what_is_refused() {
    for line in [
        // To be set in the settings.
        "PUT ~/config",
        "POST ~/autoprimaries",
        "POST ~/tsigkeys",
        "DELETE ~/tsigkeys/key.",
        "POST ~/zones/a./cryptokeys",
        "PUT ~/zones/a./cryptokeys/1",
        "POST ~/zones/a./metadata",
        "PUT ~/zones/a./metadata/ALLOW-AXFR-FROM",
        "DELETE ~/zones/a./metadata/ALLOW-AXFR-FROM",
        // Who wanted to see what would be must not have it done.
        "DELETE ~/zones/a.?dry-run=true",
        "PUT ~/zones/a.?dry-run=true",
        "POST ~/zones?dry-run=true",
        "PUT ~/zones/a./notify?dry-run=true",
        "PATCH ~/zones/a.?dry-run=1",
        "PATCH ~/zones/a.?dry-run=true&dry-run=false",
        // Queries.
        "GET ~/zones/a.?rrsets=no",
        "GET ~/zones/a.?rrset_type=A",
        "GET ~/zones/a.?rrset_name=a.&rrset_type=ANY",
        "GET ~/zones/a.?rrset_name=a.&rrset_type=TYPE0",
        "GET ~/zones/a.?rrset_name=a..b",
        "GET ~/zones?zone=%C3%BC.",
        "GET ~/zones?zone=",
        "GET ~/search-data",
        "GET ~/search-data?q=",
        "GET ~/search-data?q=a&max=x",
        "GET ~/search-data?q=a&max=0",
        "GET ~/search-data?q=a&max=-1",
        "GET ~/search-data?q=a&max=+1",
        "GET ~/search-data?q=a&max=99999999999999999999",
        "GET ~/search-data?q=a&q=b",
        "GET ~/search-data?q=a&object_type=ZONE",
        "GET ~/statistics?includerings=maybe",
    ] {
        status(line, 422);
    }
    status("GET ~/zones?zone=%", 400);
    status("GET ~/zones?zone=%ff", 400);
    status("GET ~/search-data?q=%2", 400);
    let long = |octets: usize| format!("GET ~/search-data?q={}", "a".repeat(octets));
    status(&long(PATTERN_OCTETS_MAX + 1), 422);
    assert!(of(&long(PATTERN_OCTETS_MAX)).is_ok());
    status(&format!("GET ~/statistics?statistic={}", "a".repeat(NUMBER_NAME_OCTETS_MAX + 1)), 422);
    let many: String = (0..20).map(|number| format!("&p{number}=")).collect();
    status(&format!("GET ~/zones?{many}"), 422);
}
