//! Private zones below signed ones, that others are asked about.

use super::internet::in_internet;
use super::{check, check_order};

/// Which the zones above prove not to exist: all is bogus, and operators are told what to do about it.
#[test]
fn a_private_zone_below_a_signed_one() {
    in_internet(|internet| {
        let folder = tempfile::tempdir().expect("a folder");
        let zone = folder.path().join("corp.zone");
        let text = "$ORIGIN corp.org.\n@ 3600 SOA ns host 1 7200 900 86400 5\n@ 3600 NS ns\nns 3600 A 127.0.0.2\nwww 300 A 10.0.0.9\n";
        std::fs::write(&zone, text).expect("a zone file");
        let own = format!("[[zone]]\nname = \"corp.org\"\nfile = \"{}\"\n", zone.display());
        let _private = internet.resolver_at("127.0.0.2", &own);
        let forward = "[[forward]]\nname = \"corp.org\"\naddresses = [\"127.0.0.2\"]\n";
        let resolver = internet.resolver(forward);
        check(&resolver.dig(&["www.corp.org", "A"]), "SERVFAIL", "qr rd ra", &[]);
        let said = resolver.ctl(&["explain", "www.corp.org"]);
        let hint = "forward zone corp.org. is below a signed zone, which proves that corp.org. does not exist or is signed by other keys: if it is private, add `insecure = [\"corp.org.\"]` to [resolver]\n";
        check_order(&said, &["zone corp.org. has servers in the settings", "bogus", hint, "SERVFAIL"]);
        // Names that are not there, too; and the log has it once.
        assert!(resolver.ctl(&["explain", "none.corp.org"]).contains(hint));
        let log = resolver.log();
        assert_eq!(log.matches("if it is private, add insecure = [\"corp.org.\"]").count(), 1, "{log}");
        let insecure = format!("insecure = [\"corp.org\"]\n{forward}");
        resolver.reload(&insecure);
        check(&resolver.dig(&["www.corp.org", "A"]), "NOERROR", "qr rd ra", &["www.corp.org. IN A 10.0.0.9"]);
        assert!(!resolver.ctl(&["explain", "www.corp.org"]).contains("private"));
        // What is broken for another reason is not said to be private.
        assert!(!resolver.ctl(&["explain", "www.broken.org"]).contains("private"));
    });
}
