//! What is wrong with zones that load: said when they do, within bounds, and shown later.

use crate::server::{OK, Server, one_zone, zone};

/// A zone with two errors.
const TWO_ERRORS: &str = "sub NS ns.sub\n*.w NS ns\n";
/// A zone with a warning.
const WARNING: &str = "m MX 1 none\n";

#[test]
fn what_is_found_is_logged_replied_and_shown() {
    let (folder, settings) = one_zone();
    std::fs::write(folder.path().join("a.zone"), zone(1) + TWO_ERRORS + WARNING).unwrap();
    let server = Server::start(folder, settings);
    assert_eq!(server.soa("a.example"), (OK, Some(1)));
    for id in ["[glue-missing]", "[wildcard-ns]", "[mx-no-address]"] {
        let is_told = |line: &str| line.contains("WARN") && line.contains("a.zone:") && line.contains(id);
        assert!(server.log().lines().any(is_told), "{id}: {}", server.log());
    }
    let (status, text, _) = server.ctl(&["zones", "a.example"]);
    assert_eq!(status, Some(0), "served as its file has it: {text}");
    assert!(text.contains("found     2 errors, 1 warning\n"), "{text}");
    let line = "a.zone:6: error: sub.a.example. NS: in-domain name server has no glue: ns.sub.a.example. [glue-missing]\n";
    assert!(text.contains("finding   ") && text.contains(line), "{text}");
    // Of many customers' zones some always have errors: that alone is no alarm.
    let (status, text, _) = server.ctl(&["status"]);
    assert!(status == Some(0) && text.contains("findings  1 zone with errors\n"), "{text}");
    let (_, text, _) = server.ctl(&["zones", "--json", "--state", "findings"]);
    assert!(text.contains(r#""errors":2,"warnings":1"#), "{text}");

    server.write("a.zone", &(zone(2) + WARNING));
    let (status, _, errors) = server.ctl(&["reload", "--force", "a.example"]);
    assert!(
        status == Some(0) && errors.contains("mx-no-address") && !errors.contains("glue-missing"),
        "{errors}"
    );
    let (_, text, _) = server.ctl(&["zones", "a.example"]);
    assert!(text.contains("found     1 warning\n") && !text.contains("glue-missing"), "{text}");
    server.write("a.zone", &zone(3));
    let (_, _, errors) = server.ctl(&["reload", "--force"]);
    let (_, text, _) = server.ctl(&["zones", "a.example"]);
    assert!(errors.is_empty() && !text.contains("found") && !text.contains("finding"), "{errors}{text}");
}

/// A line a zone, of so many zones at most, and how many more.
#[test]
fn of_many_zones_little_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("zones")).unwrap();
    for number in 0..250 {
        let text = zone(1) + TWO_ERRORS + &WARNING.repeat(1 + number % 2);
        std::fs::write(folder.path().join(format!("zones/z{number}.example.zone")), text).unwrap();
    }
    std::fs::write(folder.path().join("zones/good.example.zone"), zone(1)).unwrap();
    let server = Server::start(folder, "[[zone-directory]]\npath = \"zones\"\n");
    let log = server.log();
    let told = log.lines().filter(|line| line.contains(": 2 errors, 1 warning, such as ")).count();
    assert_eq!(told, 100, "{log}");
    assert_eq!(log.matches("150 more zones with errors or warnings").count(), 1, "{log}");
    assert_eq!(log.matches("glue-missing").count() + log.matches("wildcard-ns").count(), 100, "{log}");
    let (_, text, _) = server.ctl(&["zones", "--state", "findings"]);
    assert_eq!(text.lines().count(), 251, "{text}");
    assert!(text.contains("(2 errors, 1 warning)") && !text.contains("good.example."), "{text}");
    let (_, _, errors) = server.ctl(&["reload", "--force"]);
    assert_eq!(errors.lines().count(), 101, "{errors}");
    let (_, text, _) = server.ctl(&["zones", "z7.example"]);
    assert!(text.contains("finding   ") && text.contains("[wildcard-ns]"), "{text}");
}

/// A pack keeps how much was found; what it was, a reload shows.
#[test]
fn after_a_start_from_packs_the_numbers_are_known() {
    let (folder, settings) = one_zone();
    std::fs::write(folder.path().join("a.zone"), zone(1) + TWO_ERRORS).unwrap();
    let settings = format!("pack-directory = \"packs\"\n{settings}");
    std::thread::sleep(std::time::Duration::from_millis(30));
    let folder = Server::start(folder, &settings).stop();
    let server = Server::start(folder, &settings);
    assert!(!server.log().contains("glue-missing"), "from its pack: {}", server.log());
    let (_, text, _) = server.ctl(&["zones", "a.example"]);
    let hint = "finding   2 errors; `zonda ctl reload --force a.example.` shows them\n";
    assert!(text.contains("found     2 errors\n") && text.contains(hint), "{text}");
    let (_, _, errors) = server.ctl(&["reload", "--force", "a.example."]);
    assert!(errors.contains("glue-missing"), "{errors}");
    assert!(server.ctl(&["zones", "a.example"]).1.contains("[glue-missing]"));
}
