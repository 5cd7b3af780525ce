//! The recursive server in a model Internet of real servers, each test in a network namespace of its own.

mod internet;

use internet::in_internet;

/// What dig shows of an answer: status, flags, and the lines of the answer section.
fn shown(said: &str) -> (String, String, Vec<String>) {
    let after = |mark: &str, end: char| {
        let rest = said.split_once(mark).map_or("", |(_, rest)| rest);
        rest.split(end).next().unwrap_or("").trim().to_owned()
    };
    let lines = said
        .split_once(";; ANSWER SECTION:\n")
        .map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or(""));
    let mut lines: Vec<String> =
        lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.sort();
    (after("status: ", ','), after(";; flags: ", ';'), lines)
}

#[track_caller]
fn check(said: &str, status: &str, flags: &str, answer: &[&str]) {
    let (found_status, found_flags, found) = shown(said);
    let without_ttl = |line: &String| {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.remove(1);
        words.join(" ")
    };
    let found: Vec<String> = found.iter().filter(|line| !line.contains("RRSIG")).map(without_ttl).collect();
    assert_eq!((&*found_status, &*found_flags), (status, flags), "{said}");
    assert_eq!(found, answer, "{said}");
}

#[test]
fn names_are_resolved_and_validated() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        let www = ["www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"];
        // Asked of servers first, then of what was learned.
        for _ in 0..2 {
            check(&resolver.dig(&["www.signed.org", "A"]), "NOERROR", "qr rd ra ad", &www);
            check(
                &resolver.dig(&["www.plain.org", "A"]),
                "NOERROR",
                "qr rd ra",
                &["www.plain.org. IN A 192.0.2.9"],
            );
            check(&resolver.dig(&["none.signed.org", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
            check(&resolver.dig(&["www.signed.org", "TXT", "+dnssec"]), "NOERROR", "qr rd ra ad", &[]);
            check(&resolver.dig(&["none.org", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
            let both = [&["alias.plain.org. IN CNAME www.signed.org."], &www[..]].concat();
            check(&resolver.dig(&["alias.plain.org", "A"]), "NOERROR", "qr rd ra", &both);
            check(
                &resolver.dig(&["x.wild.signed.org", "A", "+dnssec"]),
                "NOERROR",
                "qr rd ra ad",
                &["x.wild.signed.org. IN A 192.0.2.3"],
            );
        }
    });
}
