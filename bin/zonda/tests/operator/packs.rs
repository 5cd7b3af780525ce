//! Packs: compiled, served, damaged, kept for the next start.

use std::path::Path;

use crate::server::{OK, Server, one_zone, run, zone};

/// Compiles a zone in `folder` to `a.pack`.
fn compile(folder: &Path) -> String {
    let pack = folder.join("a.pack").display().to_string();
    std::fs::write(folder.join("a.zone"), zone(4)).unwrap();
    let zone = format!("a.example={}", folder.join("a.zone").display());
    let (status, _, errors) = run(&["compile", "-o", &pack, &zone]);
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    pack
}

#[test]
fn a_pack_is_served() {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path());
    let server = Server::start(folder, "[[zone]]\nname = \"a.example\"\npack = \"a.pack\"\n");
    assert_eq!(server.soa("a.example"), (OK, Some(4)));
    let (status, stat, _) = run(&["stat", server.path("a.pack").to_str().unwrap(), "--zones"]);
    assert!(status == Some(0) && stat.contains("a.example.") && stat.contains("pool"), "{stat}");
}

#[test]
fn damaged_packs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path());
    let good = std::fs::read(&path).unwrap();
    let refused = |octets: &[u8]| {
        std::fs::write(&path, octets).unwrap();
        let zone = format!("a.example={path}");
        let (status, _, errors) = run(&["serve", "--listen", "127.0.0.1:0", "--zone", &zone]);
        assert_eq!(status, Some(1), "{errors}");
        let lines: Vec<&str> = errors.lines().filter(|line| line.contains(&path)).collect();
        assert_eq!(lines.len(), 1, "{errors}");
        assert_eq!(run(&["stat", &path]).0, Some(1));
        lines[0].to_owned()
    };
    assert!(refused(&good[..good.len() / 2]).contains("a.pack: "));
    for at in [9, 40, 300, good.len() / 2, good.len() - 1] {
        let mut flipped = good.clone();
        flipped[at] ^= 0x10;
        // Some octets between sections mean nothing; a flip there is not refused and not served wrongly.
        if zonda_takes(&flipped, &path) {
            continue;
        }
        assert!(refused(&flipped).contains("a.pack: "));
    }
    let other = format!("b.example={path}");
    std::fs::write(&path, &good).unwrap();
    let (status, _, errors) = run(&["serve", "--listen", "127.0.0.1:0", "--zone", &other]);
    assert!(status == Some(1) && errors.contains("a.pack: the pack has no zone b.example."), "{errors}");
}

fn zonda_takes(octets: &[u8], path: &str) -> bool {
    std::fs::write(path, octets).unwrap();
    run(&["stat", path]).0 == Some(0)
}

/// Names of the packs kept in a folder.
fn kept(folder: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".zpack")).collect()
}

#[test]
fn the_next_start_reads_no_text() {
    let (folder, settings) = one_zone();
    // A file that is older than a moment: one that is fresh could change again without another time.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let settings = format!("pack-directory = \"packs\"\n{settings}");
    let folder = Server::start(folder, &settings).stop();
    let packs = folder.path().join("packs");
    let first = kept(&packs);
    assert_eq!(first.len(), 1);
    // A text that is read makes a pack with a name of its own.
    let mut server = Server::start(folder, &settings);
    server.wait_for("serving 1 zone after");
    assert_eq!((server.soa("a.example"), kept(&packs)), ((OK, Some(1)), first.clone()));
    assert!(server.ctl(&["reload"]).1.contains("1 unchanged"));
    assert_eq!(kept(&packs), first);
    // A new text makes a new pack, and the old one goes.
    server.write("a.zone", &zone(2));
    assert_eq!((server.ctl(&["reload"]).0, server.soa("a.example")), (Some(0), (OK, Some(2))));
    server.wait_until(|| kept(&packs).len() == 1 && kept(&packs) != first);
    // Two servers do not share a folder.
    let other =
        std::fs::read_to_string(server.path("zonda.toml")).unwrap().replace("\"control\"", "\"other\"");
    server.write("other.toml", &other);
    let config = server.path("other.toml").display().to_string();
    let (status, _, errors) = run(&["serve", "--config", &config]);
    assert!(status == Some(1) && errors.contains("another server uses it"), "{errors}");
    let folder = server.stop();
    // A damaged pack costs a warning and a look at the text.
    let name = kept(&packs).remove(0);
    let mut octets = std::fs::read(packs.join(&name)).unwrap();
    octets.truncate(octets.len() - 1);
    std::fs::write(packs.join(&name), octets).unwrap();
    let server = Server::start(folder, &settings);
    assert_eq!(server.soa("a.example"), (OK, Some(2)));
    assert!(
        server.log().contains("set aside as") && packs.join(format!("{name}.damaged")).exists(),
        "{}",
        server.log()
    );
}
