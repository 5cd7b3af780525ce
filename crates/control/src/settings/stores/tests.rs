use super::*;

/// Settings of a file in `/f`, or their problems.
fn read(text: &str) -> Result<Settings, Vec<String>> {
    let text = format!("[server]\npack-directory = \"packs\"\n{text}");
    let read = Settings::parse(Path::new("/f/zonda.toml"), &text);
    read.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let problems = read(text).unwrap_err();
    assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected:?} in {problems:?}");
}

#[test]
fn a_store() {
    let settings = read(
        "[[store]]\nname = \"customers\"\nurl = \"sqlite:zones.db\"\nzones = [\"*.customers.example.\"]\n\
         template = \"hosted\"\nremove-max = \"5\"\n[[template]]\nname = \"hosted\"\nallow-transfer = \"all\"\n",
    );
    let stores = settings.unwrap().stores();
    let [store] = &stores[..] else { panic!("{stores:?}") };
    assert_eq!(store.name.as_str(), "customers");
    assert_eq!(store.place, StorePlace::File("/f/zones.db".into()));
    assert_eq!((store.remove_max, store.zones_max), (RemoveMax::Members(5), 1_000_000));
    let allows = |zone: &str| store.zones.allows(&zone.parse::<NameBuf>().unwrap());
    assert!(allows("a.customers.example") && !allows("customers.example") && !allows("other.example"));
    assert_eq!((store.rules.incoming, store.rules.persist), (Some(store.name), Some(true)));
    assert!(!store.rules.lists.is_empty());
}

#[test]
fn a_store_in_postgresql() {
    let store = |more: &str| {
        let text = format!("[[store]]\nname = \"own\"\nurl = \"postgres://zonda@db1,db2/dns\"\n{more}");
        read(&text).unwrap().stores().remove(0).place
    };
    let listens = Listens::Tcp(vec!["db1".into(), "db2".into()], 5_432);
    let address = PostgresAddress { user: "zonda".into(), listens, database: "dns".into() };
    let terms = PostgresTerms {
        address,
        password_file: PathBuf::new(),
        tls: None,
        authorities: PathBuf::new(),
        poll: Duration::from_millis(5),
        statement_timeout: Duration::from_secs(60),
    };
    assert_eq!(store(""), StorePlace::Postgres(terms.clone()));
    let more = "password-file = \"password\"\ntls = \"verify-ca\"\ntls-authorities = \"/a.pem\"\npoll-ms = 50\nstatement-timeout-seconds = 9\n";
    let expected = PostgresTerms {
        password_file: "/f/password".into(),
        tls: Some(Tls::VerifyCa),
        authorities: "/a.pem".into(),
        poll: Duration::from_millis(50),
        statement_timeout: Duration::from_secs(9),
        ..terms
    };
    assert_eq!(store(more), StorePlace::Postgres(expected));
}

#[test]
fn tables_of_powerdns() {
    let store = |more: &str| {
        let text = format!("[[store]]\nname = \"own\"\nurl = \"sqlite:pdns.db\"\n{more}");
        read(&text).unwrap().stores().remove(0).powerdns
    };
    let usual = PowerDns { skips_unknown: false, default_ttl: 3_600, direct_dnskey: false };
    assert_eq!([store(""), store("schema = \"zonda\"\n")], [None; 2]);
    assert_eq!(store("schema = \"powerdns\"\n"), Some(usual));
    let more =
        "schema = \"powerdns\"\nunknown-types = \"skip\"\ndefault-ttl-seconds = 60\ndirect-dnskey = true\n";
    let expected = PowerDns { skips_unknown: true, default_ttl: 60, direct_dnskey: true };
    assert_eq!(store(more), Some(expected));
}

#[test]
fn what_is_wrong_with_one() {
    let store = |more: &str| format!("[[store]]\nname = \"a\"\nurl = \"sqlite:x\"\n{more}");
    check_refused("[[store]]\nurl = \"sqlite:x\"\n", "name: expected 1 to 32 letters");
    check_refused(
        "[[store]]\nname = \"a\"\n",
        "url: expected \"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\", found \"\"",
    );
    check_refused("[[store]]\nname = \"a\"\nurl = \"zones.db\"\n", "found \"zones.db\"");
    check_refused(
        "[[store]]\nname = \"a\"\nurl = \"postgres://10.0.0.5/dns\"\n",
        "url: expected postgres://USER@HOST/DATABASE, found no user",
    );
    check_refused(
        &store("tls = \"allow\"\n"),
        "6:7: tls: expected one of disable, prefer, require, verify-ca,",
    );
    check_refused(
        &store("tls = \"prefer\"\ntls-authorities = \"x\"\n"),
        "7:19: tls-authorities: expected `tls` to be",
    );
    for more in [
        "password-file = \"x\"",
        "tls = \"require\"",
        "tls-authorities = \"x\"",
        "poll-ms = 7",
        "statement-timeout-seconds = 7",
    ] {
        let key = more.split(' ').next().unwrap();
        check_refused(&store(&format!("{more}\n")), &format!("{key}: {NETWORK_ALONE}"));
    }
    check_refused(
        &store("statement-timeout-seconds = 0\n"),
        "statement-timeout-seconds: expected a number of seconds",
    );
    check_refused(&store("zones = [\"a..b\"]\n"), "zones: expected a domain name, found \"a..b\"");
    check_refused(&store("remove-max = \"some\"\n"), "remove-max: expected a percentage");
    check_refused(
        &store("template = \"none\"\n"),
        "template: expected the name of a [[template]], found \"none\"",
    );
    let mirror = "template = \"t\"\n[[template]]\nname = \"t\"\nmirror = true\n";
    check_refused(&store(mirror), "expected one without `mirror`");
    check_refused(&(store("") + &store("")), "name: expected each once, found \"a\" twice");
    check_refused(&store("zones-max = 0\n"), "zones-max: expected a number of zones from 1 to 10000000");
    check_refused(&store("write = true\n"), "write: expected a `template` with `update-policy`");
    let hosted = "template = \"t\"\n[[template]]\nname = \"t\"\nupdate-policy = \"p\"\n[[update-policy]]\nname = \"p\"\nrules = \"grant api:a zonesub ANY\"\n";
    let written = read(&store(&format!("write = true\n{hosted}"))).unwrap().stores();
    assert!(matches!(&written[..], [store] if store.write));
    // A policy of zones that nobody changes here is a mistake, also where another store's are changed.
    check_refused(&store(hosted), "expected no `update-policy`");
    let two = store(&format!("write = true\n{hosted}"))
        + "[[store]]\nname = \"b\"\nurl = \"sqlite:b.db\"\ntemplate = \"t\"\n";
    check_refused(&two, "expected no `update-policy`");
    let theirs = format!("write = true\nschema = \"powerdns\"\n{hosted}");
    check_refused(&store(&theirs), "write: expected without `schema = \"powerdns\"`");
    let server = "[[store]]\nname = \"a\"\nurl = \"postgres://z@h/d\"\nschema = \"powerdns\"\npoll-ms = 7\n";
    check_refused(server, "poll-ms: expected without `schema = \"powerdns\"`");
    check_refused(&store("schema = \"pdns\"\n"), "schema: expected one of \"zonda\", \"powerdns\"");
    for more in ["unknown-types = \"skip\"", "default-ttl-seconds = 60", "direct-dnskey = true"] {
        let key = more.split(' ').next().unwrap();
        check_refused(&store(&format!("{more}\n")), &format!("{key}: {POWERDNS_ALONE}"));
    }
    let secret = "[[store]]\nname = \"a\"\nurl = \"postgres://z:secret@h/d\"\n";
    let problems = read(&(secret.to_owned() + secret)).unwrap_err();
    assert!(problems.iter().all(|problem| !problem.contains("secret")), "{problems:?}");
    let bare = Settings::parse(Path::new("f"), &store("")).unwrap_err();
    assert!(bare[0].to_string().contains("expected `pack-directory` in [server] too"), "{bare:?}");
}
