//! Options of Unbound and BIND, the settings here that the page names beside them, and questions that show what they do.

/// A correspondence. Lines of settings that are empty: nothing is said of that server.
pub struct Row {
    /// The options, as the page has them.
    pub what: &'static str,
    /// In `server:`, unless they open a section.
    pub unbound: &'static str,
    /// In `options`.
    pub named: &'static str,
    /// In `[resolver]`, unless they open a section.
    pub zonda: &'static str,
    pub asked: &'static [Asked],
}

/// What is looked at of an answer.
#[derive(Clone, Copy)]
pub enum Part {
    /// The records of the answer section, without TTL; with it.
    Answer,
    Timed,
    /// Owner, TTL, class and type of those of the authority section.
    Authority,
    /// Owners and types of the authority section: TTLs go down while others are awaited.
    Denial,
}

/// Status and records.
pub type Said = (&'static str, &'static [&'static str]);

/// A question in words of dig, and what everybody says to it.
pub struct Asked {
    pub words: &'static [&'static str],
    pub part: Part,
    pub said: Said,
    /// What Zonda says in place of that, where the page says so.
    pub but: Option<Said>,
}

const fn says(
    words: &'static [&'static str],
    status: &'static str,
    answer: &'static [&'static str],
) -> Asked {
    Asked { words, part: Part::Answer, said: (status, answer), but: None }
}

impl Asked {
    /// Another answer of Zonda's.
    const fn but(self, status: &'static str, answer: &'static [&'static str]) -> Asked {
        Asked { but: Some((status, answer)), ..self }
    }

    /// Another part of the answer.
    const fn shown(self, part: Part) -> Asked {
        Asked { part, ..self }
    }
}

const PLAIN: &str = "www.plain.org. IN A 192.0.2.9";
const BOTH: [&str; 2] = ["www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"];

pub const CLIENTS: [Row; 3] = [
    Row {
        what: "access-control: allow, refuse; allow-recursion",
        unbound: "access-control: 127.0.0.0/8 refuse\naccess-control: 127.0.0.9/32 allow",
        named: "allow-recursion { 127.0.0.9; }; allow-query-cache { 127.0.0.9; };",
        zonda: "[access]\nrecursion = \"office\"\n[[acl]]\nname = \"office\"\naddresses = [\"127.0.0.9\"]",
        asked: &[
            says(&["www.plain.org", "A", "-b", "127.0.0.9"], "NOERROR", &[PLAIN]),
            says(&["www.plain.org", "A", "-b", "127.0.0.8"], "REFUSED", &[]),
        ],
    },
    Row {
        what: "access-control: allow_snoop; allow-query-cache",
        unbound: "access-control: 127.0.0.0/8 allow_snoop",
        named: "allow-query-cache { any; };",
        zonda: "without-recursion = \"cache\"",
        asked: &[
            says(&["www.plain.org", "A"], "NOERROR", &[PLAIN]),
            says(&["www.plain.org", "A", "+norecurse"], "NOERROR", &[PLAIN]),
        ],
    },
    Row {
        what: "identity, version",
        unbound: "identity: \"one.example\"\nversion: \"two\"",
        named: "server-id \"one.example\"; version \"two\";",
        zonda: "[server]\nid-server = \"one.example\"\nversion = \"two\"",
        asked: &[
            says(&["id.server", "TXT", "CH"], "NOERROR", &["id.server. CH TXT \"one.example\""]),
            says(&["version.bind", "TXT", "CH"], "NOERROR", &["version.bind. CH TXT \"two\""]),
        ],
    },
];

pub const TTLS: [Row; 3] = [
    Row {
        what: "cache-max-ttl; max-cache-ttl",
        unbound: "cache-max-ttl: 60",
        named: "max-cache-ttl 60;",
        zonda: "ttl-max-seconds = 60",
        asked: &[says(&["www.plain.org", "A"], "NOERROR", &["www.plain.org. 60 IN A 192.0.2.9"])
            .shown(Part::Timed)],
    },
    Row {
        what: "cache-min-ttl; min-cache-ttl",
        unbound: "cache-min-ttl: 80",
        named: "min-cache-ttl 80;",
        zonda: "ttl-min-seconds = 80",
        asked: &[says(&["brief.plain.org", "A"], "NOERROR", &["brief.plain.org. 80 IN A 192.0.2.10"])
            .shown(Part::Timed)],
    },
    Row {
        what: "cache-max-negative-ttl; max-ncache-ttl",
        unbound: "cache-max-negative-ttl: 3",
        named: "max-ncache-ttl 3;",
        zonda: "negative-ttl-max-seconds = 3",
        asked: &[says(&["none.plain.org", "A"], "NXDOMAIN", &["plain.org. 3 IN SOA"]).shown(Part::Authority)],
    },
];

pub const FILTERS: [Row; 6] = [
    Row {
        what: "private-address",
        unbound: "private-address: 192.0.2.9/32",
        named: "",
        zonda: "private-addresses = [\"192.0.2.9\"]",
        asked: &[
            says(&["www.plain.org", "A"], "NOERROR", &[]).but("REFUSED", &[]),
            says(&["www.signed.org", "A"], "NOERROR", &BOTH),
        ],
    },
    Row {
        what: "deny-answer-addresses",
        unbound: "",
        named: "deny-answer-addresses { 192.0.2.9; };",
        zonda: "private-addresses = [\"192.0.2.9\"]",
        asked: &[says(&["www.plain.org", "A"], "SERVFAIL", &[]).but("REFUSED", &[])],
    },
    Row {
        what: "private-domain; except-from",
        unbound: "private-address: 192.0.2.0/24\nprivate-domain: org",
        named: "deny-answer-addresses { 192.0.2.0/24; } except-from { \"org\"; };",
        zonda: "private-addresses = [\"192.0.2.0/24\"]\nprivate-names = [\"org\"]",
        asked: &[says(&["www.plain.org", "A"], "NOERROR", &[PLAIN])],
    },
    Row {
        what: "domain-insecure; validate-except",
        unbound: "domain-insecure: broken.org",
        named: "validate-except { \"broken.org\"; };",
        zonda: "insecure = [\"broken.org\"]",
        asked: &[says(&["www.broken.org", "A"], "NOERROR", &["www.broken.org. IN A 192.0.2.67"])],
    },
    Row {
        what: "do-not-query-address; server { bogus yes; }",
        unbound: "do-not-query-address: 127.0.4.1",
        named: "",
        zonda: "never-ask = [\"127.0.4.1\"]",
        asked: &[
            says(&["www.plain.org", "A"], "SERVFAIL", &[]),
            says(&["www.signed.org", "A"], "NOERROR", &BOTH),
        ],
    },
    Row {
        what: "unblock-lan-zones; disable-empty-zone",
        unbound: "unblock-lan-zones: yes",
        named: "disable-empty-zone \"10.in-addr.arpa\";",
        zonda: "not-special = [\"10.in-addr.arpa\"]",
        // The root, which denies it, is asked: its SOA comes back.
        asked: &[says(&["1.0.0.10.in-addr.arpa", "PTR"], "NXDOMAIN", &[". IN SOA"]).shown(Part::Denial)],
    },
];

pub const MADE: [Row; 3] = [
    Row {
        what: "dns64-prefix",
        unbound: "module-config: \"dns64 validator iterator\"\ndns64-prefix: 2001:db8:64::/96",
        named: "dns64 2001:db8:64::/96 { };",
        zonda: "dns64-prefixes = [\"2001:db8:64::/96\"]",
        asked: &[
            says(&["www.plain.org", "AAAA"], "NOERROR", &["www.plain.org. IN AAAA 2001:db8:64::c000:209"]),
            says(&["www.signed.org", "AAAA"], "NOERROR", &["www.signed.org. IN AAAA 2001:db8::1"]),
        ],
    },
    Row {
        what: "dns64-synthall; exclude",
        unbound: "module-config: \"dns64 validator iterator\"\ndns64-prefix: 2001:db8:64::/96\ndns64-synthall: yes",
        named: "dns64 2001:db8:64::/96 { exclude { ::/0; }; };",
        zonda: "dns64-prefixes = [\"2001:db8:64::/96\"]\ndns64-exclude = [\"::/0\"]",
        asked: &[says(
            &["www.signed.org", "AAAA"],
            "NOERROR",
            &[
                "www.signed.org. IN AAAA 2001:db8:64::c000:201",
                "www.signed.org. IN AAAA 2001:db8:64::c000:202",
            ],
        )],
    },
    Row {
        what: "local-data-ptr",
        unbound: "local-data-ptr: \"192.0.2.77 printer.home.example\"",
        named: "",
        zonda: "[[local-zone]]\nname = \"77.2.0.192.in-addr.arpa\"\nrecords = [\"@ 3600 PTR printer.home.example.\"]",
        asked: &[says(
            &["-x", "192.0.2.77"],
            "NOERROR",
            &["77.2.0.192.in-addr.arpa. IN PTR printer.home.example."],
        )],
    },
];

// 127.0.3.1 does not have plain.org.
pub const SERVERS: [Row; 4] = [
    Row {
        what: "stub-zone: stub-addr",
        unbound: "stub-zone:\n name: plain.org\n stub-addr: 127.0.3.1",
        named: "",
        zonda: "[[stub]]\nname = \"plain.org\"\naddresses = [\"127.0.3.1\"]",
        asked: &[
            says(&["www.plain.org", "A"], "SERVFAIL", &[]),
            says(&["www.signed.org", "A"], "NOERROR", &BOTH),
        ],
    },
    Row {
        what: "forward-zone: forward-addr; forwarders",
        unbound: "forward-zone:\n name: plain.org\n forward-addr: 127.0.3.1",
        named: "forwarders { 127.0.3.1; }; forward only;",
        zonda: "[[forward]]\nname = \"plain.org\"\naddresses = [\"127.0.3.1\"]",
        asked: &[says(&["www.plain.org", "A", "+time=9"], "SERVFAIL", &[])],
    },
    Row {
        what: "forward-first; forward first",
        unbound: "forward-zone:\n name: plain.org\n forward-addr: 127.0.3.1\n forward-first: yes",
        named: "forwarders { 127.0.3.1; }; forward first;",
        zonda: "[[forward]]\nname = \"plain.org\"\naddresses = [\"127.0.3.1\"]\nfirst = true",
        asked: &[says(&["www.plain.org", "A", "+time=9"], "NOERROR", &[PLAIN])],
    },
    Row {
        what: "do-ip4",
        unbound: "",
        named: "",
        zonda: "ipv4 = false",
        asked: &[says(&["www.plain.org", "A", "+time=9"], "SERVFAIL", &[])],
    },
];
