//! The zones that the fuzz target knows: made here, kept as a file, so that the target needs no signer.
use sim::signer::{Denial, Signing, sign};
use sim::{BEGIN_UNIX_SECONDS, Records};
use wire::iana::rtype;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fuzz/zones.txt");

const LEAF: &str = "\
@ 300 SOA ns host 1 2 3 4 60\n\
@ 300 NS ns\n\
ns 300 A 192.0.2.1\n\
www 300 A 192.0.2.7\n\
alias 300 CNAME www\n\
*.wild 300 A 192.0.2.8\n\
here.wild 300 TXT here\n\
tree 300 DNAME wild\n\
a.ent 300 TXT below\n\
sub 300 NS ns.sub\n";

fn signing(denial: Denial) -> Signing {
    let expiration = BEGIN_UNIX_SECONDS + 100;
    Signing {
        has_single_key: true,
        denial,
        inception: BEGIN_UNIX_SECONDS - 100,
        expiration,
        ..Signing::new(5)
    }
}

fn text() -> String {
    let hashed = Denial::Nsec3 { iterations: 2, salt: vec![0xab], opt_out: false };
    let leaves = [("example.", signing(Denial::Nsec)), ("hashed.", signing(hashed))];
    let root = "@ 300 SOA ns host 1 2 3 4 60\n@ 300 NS ns\nns 300 A 192.0.2.1\nplain 300 NS ns.plain\n";
    let mut root = Records::from_text(".", root).unwrap();
    let mut text = String::new();
    for (apex, signing) in &leaves {
        let zone = Records::from_text(apex, LEAF).unwrap();
        text += &format!("\n{}", sign(&zone, signing).unwrap().text());
        root.push_line(&format!("{apex} 300 NS ns.{apex}")).unwrap();
        signing.ds(&zone.apex).iter().for_each(|ds| root.push(&zone.apex, rtype::DS, 300, ds));
    }
    sign(&root, &signing(Denial::Nsec)).unwrap().text() + &text
}

/// Where this fails because the signer has changed: `cargo test -p validate --test chains fuzz_zones -- --ignored` writes the file anew.
#[test]
fn the_file_is_what_is_made_here() {
    assert!(std::fs::read_to_string(FILE).unwrap() == text());
}

#[test]
#[ignore = "writes the file"]
fn write() {
    std::fs::write(FILE, text()).unwrap();
}
