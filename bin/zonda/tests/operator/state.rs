//! The exit status of `ctl status` and `ctl zones` where something is wrong, and lists by state.

use crate::server::{Server, one_zone, zone};

#[test]
fn status_and_zones_end_with_1_where_something_is_wrong() {
    let (folder, settings) = one_zone();
    std::fs::write(folder.path().join("b.zone"), "nonsense\n").unwrap();
    std::fs::write(folder.path().join("c.zone"), zone(1)).unwrap();
    let more = |name: &str| format!("[[zone]]\nname = \"{name}.example\"\nfile = \"{name}.zone\"\n");
    let server = Server::start(folder, &format!("{settings}{}{}", more("b"), more("c")));
    let said = |arguments: &[&str]| {
        let (status, text, errors) = server.ctl(arguments);
        (status, text + &errors)
    };
    let listed = |state: &str| {
        let (status, text) = said(&["zones", "--state", state]);
        let names =
            text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4)).collect::<Vec<_>>();
        (status, names.join(" "))
    };
    let (status, text) = said(&["status"]);
    assert_eq!(status, Some(1));
    assert!(text.contains("problem   1 zone without data") && text.contains("--state absent"), "{text}");
    assert_eq!(
        (said(&["zones"]).0, said(&["zones", "b.example"]).0, said(&["zones", "a.example"]).0),
        (Some(1), Some(1), Some(0))
    );
    assert_eq!(listed("absent"), (Some(1), "b.example.".into()));
    assert_eq!(listed("served"), (Some(0), "a.example. c.example.".into()));
    assert_eq!(listed("stale"), (Some(0), String::new()));

    server.write("c.zone", "nonsense\n");
    server.write("b.zone", &zone(1));
    server.ctl(&["reload", "--force"]);
    let (status, text) = said(&["status"]);
    assert!(status == Some(1) && text.contains("3 loaded, 1 stale\n"), "{text}");
    assert!(
        text.contains("problem   1 zone served from older data") && !text.contains("without data"),
        "{text}"
    );
    assert_eq!((said(&["zones"]).0, said(&["zones", "c.example"]).0), (Some(1), Some(1)));
    assert_eq!(listed("stale"), (Some(1), "c.example.".into()));
    let (_, json) = said(&["status", "--json"]);
    assert!(json.contains(r#""zones_stale":1"#) && json.contains(r#""problems":["1 zone served"#), "{json}");

    server.write("c.zone", &zone(2));
    server.ctl(&["reload", "--force"]);
    assert_eq!((said(&["status"]).0, said(&["zones"]).0, listed("stale").0), (Some(0), Some(0), Some(0)));
    // What a command did is no mistake.
    server.ctl(&["remove-zone", "c.example"]);
    assert_eq!((said(&["status"]).0, said(&["zones"]).0), (Some(0), Some(0)));
    assert_eq!(said(&["zones", "--state", "good"]).0, Some(2));
}

#[test]
fn status_ends_with_1_where_packs_cannot_be_written() {
    let (folder, settings) = one_zone();
    // A file cannot be written where a folder is, whoever writes.
    std::fs::create_dir_all(folder.path().join("packs/lock")).unwrap();
    let server = Server::start(folder, &format!("pack-directory = \"packs\"\n{settings}"));
    let (status, text, _) = server.ctl(&["status"]);
    assert!(status == Some(1) && text.contains("problem   pack-directory "), "{text}");
    assert!(text.contains("cannot write into it"), "{text}");
}
