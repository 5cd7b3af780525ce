//! Rows that scripts and operators write by SQL, a zone each: whether PowerDNS transfers such a zone, and whether it is taken here.

/// What both do with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Both {
    /// PowerDNS transfers it, and the same is taken here.
    Take,
    /// Neither.
    Refuse,
    /// PowerDNS transfers it; here it is refused, or left out, on purpose.
    RefusedHere,
    /// PowerDNS answers SERVFAIL for it; here it is read as it was meant.
    TakenHere,
}

pub use Both::{Refuse, RefusedHere, Take, TakenHere};

/// Name and row of each zone: name, type, content, TTL, prio, disabled, as in SQL. `%`: the zone.
pub const ROWS: &[(&str, Both, &[&str])] = &[
    ("upper", Take, &["'WWW.%','A','192.0.2.1',300,0,0", "'www.%.','A','192.0.2.2',300,0,0"]),
    ("lowertype", Take, &["'a.%','a','192.0.2.1',300,0,0"]),
    ("numbertype", Take, &["'a.%','TYPE1','192.0.2.1',300,0,0"]),
    ("twice", Take, &["'a.%','A','192.0.2.1',300,0,0", "'A.%','A','192.0.2.1',300,0,0"]),
    ("ttls", Take, &["'a.%','A','192.0.2.1',60,0,0", "'a.%','A','192.0.2.2',120,0,0"]),
    ("ttlnull", Take, &["'a.%','A','192.0.2.1',NULL,0,0"]),
    ("ttlnegative", Take, &["'a.%','A','192.0.2.1',-1,0,0"]),
    ("ttlgreat", RefusedHere, &["'a.%','A','192.0.2.1',3000000000,0,0"]),
    ("ttltext", RefusedHere, &["'a.%','A','192.0.2.1','1h',0,0"]),
    (
        "disabled",
        Take,
        &["'a.%','A','192.0.2.1',60,0,1", "'b.%','A','192.0.2.1',60,0,NULL", "'c.%','FOO','x',60,0,1"],
    ),
    ("disabledword", Take, &["'a.%','A','192.0.2.1',60,0,'f'", "'b.%','A','192.0.2.1',60,0,''"]),
    ("typeless", Refuse, &["'a.%','','x',60,0,0"]),
    ("ent", Take, &["'ent.%',NULL,NULL,NULL,NULL,0", "'a.ent.%','A','192.0.2.1',60,0,0"]),
    ("outside", Take, &["'foo.other','A','192.0.2.1',60,0,0", "'x%','A','192.0.2.1',60,0,0"]),
    ("nameless", Take, &["'','A','192.0.2.1',60,0,0", "NULL,'A','192.0.2.1',60,0,0"]),
    ("dots", Take, &["'a..%','A','192.0.2.1',60,0,0", "'.a.%','A','192.0.2.1',60,0,0"]),
    (
        "blanks",
        Take,
        &[
            "'a b.%','A','192.0.2.1',60,0,0",
            "'c\\032d.%','A',' 192.0.2.1 ',60,0,0",
            "'e\\.f.%','A','192.0.2.1',60,0,0",
        ],
    ),
    ("cname", Take, &["'a.%','CNAME','WWW.Other.Test.',60,0,0", "'b.%','CNAME','x.% ',60,0,0"]),
    ("beside", Take, &["'a.%','CNAME','b.%',60,0,0", "'a.%','A','192.0.2.1',60,0,0"]),
    ("relative", Take, &["'a.%','MX','mail',60,10,0"]),
    ("mx", Take, &["'%','MX','mail.%',60,10,0", "'%','MX','10 mx.%',60,NULL,0"]),
    ("mxnone", Refuse, &["'a.%','MX','mail.%',60,NULL,0"]),
    ("mxboth", Refuse, &["'a.%','MX','10 mail.%',60,0,0"]),
    (
        "srv",
        Take,
        &["'_a._tcp.%','SRV','5 5060 sip.%',60,10,0", "'_b._tcp.%','SRV','10 5 5060 sip.%',60,NULL,0"],
    ),
    ("prioelse", Refuse, &["'a.%','KX','kx.%',60,10,0"]),
    (
        "text",
        Take,
        &[
            "'%','TXT','v=spf1 mx -all',60,0,0",
            "'s.%','TXT','v=DMARC1; p=none',60,0,0",
            "'e.%','TXT','',60,0,0",
            "'n.%','TXT',NULL,60,0,0",
        ],
    ),
    (
        "textquoted",
        Take,
        &[
            "'a.%','TXT','\"a\"\"b\"  \"c\"',60,0,0",
            "'b.%','TXT','a\\b',60,0,0",
            "'c.%','TXT','\"grüße\"',60,0,0",
            "'d.%','TXT','\"\"',60,0,0",
        ],
    ),
    ("textlines", Take, &["'a.%','TXT','\"a'||char(10)||'b\"',60,0,0"]),
    ("textmiddle", Refuse, &["'a.%','TXT','a \"b\" c',60,0,0"]),
    ("textopen", Refuse, &["'a.%','TXT','\"abc',60,0,0"]),
    ("textclosed", Refuse, &["'a.%','TXT','abc\"',60,0,0"]),
    (
        "textlong",
        Take,
        &[
            "'a.%','TXT',replace(hex(zeroblob(300)),'00','xy'),60,0,0",
            "'b.%','TXT','\"'||replace(hex(zeroblob(300)),'00','xy')||'\" \"z\"',60,0,0",
        ],
    ),
    ("spf", Refuse, &["'a.%','SPF','v=spf1 -all',60,0,0"]),
    (
        "dsblank",
        Take,
        &[
            "'a.%','NS','x.test',60,0,0",
            "'a.%','DS','60485 5 1 2BB183AF5F22588179A53B0A 98631FAD1A292118',60,0,0",
        ],
    ),
    ("https", Take, &["'a.%','HTTPS','1 . alpn=h2,h3 ech=\"AEX+DQ==\"',60,0,0"]),
    ("rrsig", Take, &["'a.%','RRSIG','A 8 3 300 20300101000000 20260101000000 1 % AAAA',60,0,0"]),
    ("soabelow", Take, &["'a.%','SOA','ns1.% h.% 9 1 1 1 1',60,0,0"]),
    ("soatwo", RefusedHere, &["'%','SOA','ns1.% h.% 9 1 1 1 1',60,0,0"]),
    ("badaddress", Refuse, &["'a.%','A','192.0.2',60,0,0"]),
    ("null", Refuse, &["'a.%','A',NULL,60,0,0"]),
    ("comment", Refuse, &["'a.%','A','192.0.2.1 ; x',60,0,0"]),
    ("parentheses", Refuse, &["'a.%','A','( 192.0.2.1 )',60,0,0"]),
    ("toomuch", Refuse, &["'a.%','CNAME','b c.%',60,0,0"]),
    ("unknown", Refuse, &["'a.%','FOO','x',60,0,0"]),
    ("question", Refuse, &["'a.%','ANY','x',60,0,0"]),
    ("url", Refuse, &["'a.%','URL','http://x/',60,0,0"]),
    ("alias", RefusedHere, &["'a.%','ALIAS','x.test',60,0,0"]),
    ("lua", RefusedHere, &["'a.%','LUA','A \"f()\"',60,0,0"]),
    ("at", RefusedHere, &["'a.%','CNAME','@',60,0,0"]),
    ("quotes", RefusedHere, &["'a.%','CNAME','\"x.test\"',60,0,0"]),
    ("semicolon", RefusedHere, &["'a.%','CNAME','x;y.test',60,0,0"]),
    ("zeros", RefusedHere, &["'a.%','A','192.000.002.001',60,0,0"]),
    ("hintauto", RefusedHere, &["'a.%','HTTPS','1 . ipv4hint=auto',60,0,0"]),
    ("textafter", RefusedHere, &["'a.%','TXT','\"a\" b',60,0,0"]),
    ("textescape", RefusedHere, &["'a.%','TXT','\"a\\300b\"',60,0,0"]),
    ("addressquoted", TakenHere, &["'a.%','A','\"192.0.2.1\"',60,0,0"]),
    ("naptrbare", TakenHere, &["'a.%','NAPTR','100 50 s a \"\" x.test',60,0,0"]),
    ("uribare", TakenHere, &["'a.%','URI','10 1 http://x/',60,0,0"]),
    ("generic", TakenHere, &["'a.%','A','\\# 4 c0000201',60,0,0"]),
    ("caabare", TakenHere, &["'a.%','CAA','0 issue ca.test',60,0,0"]),
    ("hinfobare", TakenHere, &["'a.%','HINFO','PC Linux',60,0,0"]),
];

/// SOA records, of zones that have no other odd row.
pub const SOAS: &[(&str, Both, &str)] = &[
    ("soadots", Take, "ns1.%. host\\.x.%. 5 3600 600 86400 60"),
    ("soamail", Take, "ns1.% host@% 5 3600 600 86400 60"),
    ("soablanks", Take, " ns1.%  host.% 5 3600 600 86400 60 "),
    ("soazero", RefusedHere, "ns1.% host.% 0 3600 600 86400 60"),
    ("soathree", Refuse, "ns1.% host.% 7"),
    ("soaone", Refuse, "ns1.%"),
    ("soanegative", Refuse, "ns1.% host.% -5 3600 600 86400 60"),
];
