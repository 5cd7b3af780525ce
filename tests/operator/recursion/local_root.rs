//! Mirrors: a local root by the recipe of the manual, one that expires, and zones whose digests are verified.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use zonda_tests::patience::await_or;

use super::check;
use super::internet::{Internet, Resolver, in_internet, ip};

const MANUAL: &str = include_str!("../../../docs/manual/src/resolver.md");

/// The recipe for a local root, as the manual has it.
fn recipe() -> &'static str {
    let section =
        MANUAL.split("## ").find(|section| section.starts_with("The root zone here")).expect("a section");
    section.split("```").nth(1).and_then(|block| block.strip_prefix("toml\n")).expect("a block of settings")
}

/// The addresses of a recipe.
fn addresses(recipe: &str) -> Vec<&str> {
    recipe.split('"').filter(|text| text.parse::<std::net::IpAddr>().is_ok()).collect()
}

/// A primary of zones, at an address that loopback gets for that.
fn primary(internet: &Internet, address: &str, zones: &[(&str, &Path)]) -> Resolver {
    assert!(ip(&["address", "replace", &format!("{address}/32"), "dev", "lo"]), "an address");
    let mut more = "[access]\ntransfer = \"all\"\n".to_owned();
    for (name, file) in zones {
        let _ = write!(more, "[[zone]]\nname = \"{name}\"\nfile = \"{}\"\n", file.display());
    }
    let primary = internet.unasked_at(address, &more);
    await_or(|| primary.log(), || primary.has_begun());
    primary
}

/// The manual's local root: its servers are the first of the recipe's addresses. Clients see nothing of it but that the root's servers need not be there.
#[test]
fn a_local_root() {
    in_internet(|internet| {
        let recipe = recipe();
        let _primary = primary(internet, addresses(recipe)[0], &[(".", &internet.zone_file("."))]);
        let resolver = internet.resolver(recipe);
        await_or(|| resolver.log(), || resolver.ctl(&["zones", "."]).contains("serial 1"));
        assert!(resolver.log().contains("zone .: no ZONEMD record to verify it by"), "{}", resolver.log());
        internet.end(".");
        resolver.ctl(&["cache", "flush", "--all"]);
        let soa = [". IN SOA ns1. host. 1 7200 900 86400 5"];
        let www = ["www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"];
        for _ in 0..2 {
            check(&resolver.dig(&["www.signed.org", "A"]), "NOERROR", "qr rd ra ad", &www);
            check(
                &resolver.dig(&["www.plain.org", "A"]),
                "NOERROR",
                "qr rd ra",
                &["www.plain.org. IN A 192.0.2.9"],
            );
            check(&resolver.dig(&[".", "SOA"]), "NOERROR", "qr rd ra ad", &soa);
            check(&resolver.dig(&["nowhere", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
            check(&resolver.dig(&["not.at.all", "A", "+dnssec"]), "NXDOMAIN", "qr rd ra ad", &[]);
            let ds = resolver.dig(&["org", "DS"]);
            assert!(ds.contains(";; flags: qr rd ra ad; QUERY: 1, ANSWER: 1,"), "{ds}");
            check(&resolver.dig(&["www.broken.org", "A"]), "SERVFAIL", "qr rd ra", &[]);
            // Without RD it is as if it were not there.
            check(&resolver.dig(&[".", "SOA", "+norecurse"]), "REFUSED", "qr ra", &[]);
        }
        let said = resolver.ctl(&["explain", "not.at.all"]);
        assert!(
            said.contains("zone . has a mirror here\nthe mirror here says about not.at.all. A: "),
            "{said}"
        );
        // Others may have it, if they may.
        let transferred = resolver.dig(&[".", "AXFR"]);
        assert!(transferred.contains("Transfer failed"), "{transferred}");
        // As any zone, and back.
        resolver.reload(&recipe.replace("mirror = true\n", "zonemd = \"verify\"\n"));
        check(&resolver.dig(&[".", "SOA"]), "NOERROR", "qr aa rd ra", &soa);
        check(&resolver.dig(&["not.at.all", "A"]), "NXDOMAIN", "qr aa rd ra", &[]);
        resolver.reload(recipe);
        check(&resolver.dig(&[".", "SOA"]), "NOERROR", "qr rd ra ad", &soa);
        check(&resolver.dig(&["not.at.all", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
    });
}

/// One that nobody has confirmed for too long: the root's servers are asked.
#[test]
fn a_local_root_expires() {
    in_internet(|internet| {
        let recipe = format!(
            "[secondary]\nrefresh-min-seconds = 1\nrefresh-max-seconds = 1\nretry-min-seconds = 1\nretry-max-seconds = 1\nexpire-max-seconds = 3\n{}",
            recipe()
        );
        let primary = primary(internet, addresses(&recipe)[0], &[(".", &internet.zone_file("."))]);
        let resolver = internet.resolver(&recipe);
        await_or(
            || resolver.log(),
            || resolver.log().contains("serial 1") || resolver.ctl(&["zones", "."]).contains("serial 1"),
        );
        primary.kill();
        await_or(|| resolver.log(), || resolver.log().contains("zone .: expired"));
        resolver.ctl(&["cache", "flush", "--all"]);
        check(&resolver.dig(&["nowhere", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
        check(
            &resolver.dig(&["www.plain.org", "A"]),
            "NOERROR",
            "qr rd ra",
            &["www.plain.org. IN A 192.0.2.9"],
        );
    });
}

/// The example of RFC 8976 A.1, with another serial and no more than the right digest of that.
const DIGESTED: &str = "$ORIGIN example.\n@ 86400 IN SOA ns1 admin 2018031900 1800 900 604800 86400\n@ 86400 IN NS ns1\n@ 86400 IN NS ns2\n\
    @ 86400 IN ZONEMD 2018031900 1 1 c68090d90a7aed716bc459f9340e3d7c1370d4d24b7e2fc3a1ddc0b9a87153b9a9713b3c9ae5cc27777f98b8e730044c\n\
    ns1 3600 IN A 203.0.113.63\nns2 3600 IN AAAA 2001:db8::63\n";

fn write(folder: &TempDir, name: &str, text: &str) -> std::path::PathBuf {
    let file = folder.path().join(name);
    fs::write(&file, text).expect("a zone file");
    file
}

/// A digest that is wrong: a text is not loaded, a transfer not taken, and what was there is served.
#[test]
fn digests_are_verified() {
    in_internet(|internet| {
        let files = tempfile::tempdir().expect("a folder");
        let file = write(&files, "example", DIGESTED);
        let primary = primary(internet, "127.0.0.9", &[("example", &file)]);
        let own = write(&files, "own", DIGESTED);
        let settings = format!(
            "[[zone]]\nname = \"example\"\nfile = \"{}\"\nzonemd = \"require\"\n\
             [[zone]]\nname = \"plain.example\"\nfile = \"{}\"\nzonemd = \"require\"\n",
            own.display(),
            write(&files, "plain", "@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n").display()
        );
        let reader = internet.resolver_at("127.0.0.2", &settings);
        let from = "[[remote]]\nname = \"primary\"\naddresses = [\"127.0.0.9\"]\n\
                    [[zone]]\nname = \"example\"\nprimaries = \"primary\"\nzonemd = \"verify\"\n";
        let secondary = internet.resolver_at("127.0.0.3", from);
        let at = |server: &Resolver, address: &str| {
            let answer = [format!("ns1.example. IN A {address}")];
            let answer: Vec<&str> = answer.iter().map(String::as_str).collect();
            check(&server.dig(&["ns1.example", "A"]), "NOERROR", "qr aa rd ra", &answer);
        };
        await_or(
            || secondary.log(),
            || secondary.log().contains("zone example.: verified by its ZONEMD record (SHA-384)"),
        );
        assert!(
            reader.log().contains("zone example.: verified by its ZONEMD record (SHA-384)"),
            "{}",
            reader.log()
        );
        assert!(reader.log().contains("[zonemd-missing]"), "{}", reader.log());
        check(&reader.dig(&["ns.plain.example", "A"]), "SERVFAIL", "qr rd ra", &[]);
        at(&reader, "203.0.113.63");
        await_or(|| secondary.log(), || secondary.dig(&["ns1.example", "A"]).contains("203.0.113.63"));
        // An address is another one, and nobody digested that.
        let forged = DIGESTED.replace("203.0.113.63", "203.0.113.64");
        let later = forged.replace("2018031900", "2018031901");
        write(&files, "own", &forged);
        assert!(
            reader.ctl(&["reload"]).contains("digest is not that of the zone [zonemd-mismatch]"),
            "{}",
            reader.log()
        );
        at(&reader, "203.0.113.63");
        let shown = reader.ctl(&["zones", "example"]);
        assert!(shown.contains("[zonemd-mismatch]"), "{shown}");
        write(&files, "example", &later);
        primary.ctl(&["reload"]);
        secondary.ctl(&["refresh", "example"]);
        await_or(
            || secondary.log(),
            || secondary.ctl(&["zones", "example"]).contains("digest is not that of the zone"),
        );
        at(&secondary, "203.0.113.63");
        // As nobody looks at it.
        secondary.reload(&from.replace("verify", "ignore"));
        secondary.ctl(&["retransfer", "example"]);
        await_or(|| secondary.log(), || secondary.dig(&["ns1.example", "A"]).contains("203.0.113.64"));
    });
}
