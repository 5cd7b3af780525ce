//! Whether a file is still what was read, where times and lengths do not tell.

use std::fs;
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program, settings, write};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, text, zonda};
use crate::stale::Fixture;

/// `SOUND` with another last octet of `www`, in as many octets.
fn sound(last: u8) -> String {
    SOUND.replace("192.0.2.2", &format!("192.0.2.{last}"))
}

/// Writes a file with a modification time as of an image, and waits until it can be told from what may come.
fn write_as_of_1970(fixture: &Fixture, name: &str, content: &str) {
    fixture.write(name, content);
    let file = fs::File::options().write(true).open(fixture.path(name)).expect("the file");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1)).expect("a time");
    std::thread::sleep(Duration::from_millis(30));
}

#[test]
fn an_edit_of_the_same_length_and_time_is_seen() {
    let mut fixture = Fixture::new("");
    write_as_of_1970(&fixture, "one.example.", &sound(3));
    fixture.ctl(&["reload"]);
    assert_eq!(fixture.last("one.example."), 3);
    write_as_of_1970(&fixture, "one.example.", &sound(4));
    let (_, said) = fixture.ctl(&["reload", "one.example."]);
    assert!(said.contains("1 zone loaded") && fixture.last("one.example.") == 4, "{said}");
    for serve_stored in ["true", "false"] {
        // Stored by this start, and by the next one read again.
        fixture.restart(&format!("serve-stored = {serve_stored}\n"));
        await_that("a pack", || fixture.packs() > 0);
        write_as_of_1970(&fixture, "one.example.", &sound(5));
        fixture.restart(&format!("serve-stored = {serve_stored}\n"));
        await_that("the edit", || fixture.last("one.example.") == 5);
        write_as_of_1970(&fixture, "one.example.", &sound(4));
    }
}

#[test]
fn several_zones_and_force() {
    let fixture = Fixture::new("");
    let (output, said) = fixture.ctl(&["reload", "one.example.", "two.example.", "ONE.example."]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("2 unchanged"), "{said}");
    let (_, said) = fixture.ctl(&["reload", "--force", "one.example.", "two.example."]);
    assert!(said.contains("2 zones loaded") && !said.contains("unchanged"), "{said}");
    let (_, said) = fixture.ctl(&["reload", "--force", "two.example."]);
    assert!(said.contains("1 zone loaded"), "{said}");
    let (_, said) = fixture.ctl(&["reload", "--force"]);
    assert!(said.contains("2 zones loaded") && !said.contains("serial"), "{said}");
    // One that there is not costs the others nothing.
    fixture.write("two.example.", &sound(3));
    let (output, said) = fixture.ctl(&["reload", "none.example.", "two.example."]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("there is no zone none.example.") && fixture.last("two.example.") == 3, "{said}");
    // A word that is no name is a mistake in the command: nothing is done.
    fixture.write("two.example.", &sound(4));
    let (output, said) = fixture.ctl(&["reload", "two.example.", "a..b"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("a..b") && fixture.last("two.example.") == 3, "{said}");
}

/// A server in a namespace of mounts of its own, where `image` is a file system of its own.
struct Imaged {
    process: Guarded,
    scratch: tempfile::TempDir,
    address: std::net::SocketAddr,
}

impl Imaged {
    /// `None`: this system lets nobody make one here.
    fn start() -> Option<Imaged> {
        if !Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("CI").is_none(), "nobody may make a namespace of mounts here");
            return None;
        }
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let address = free_address();
        for folder in ["image", "bound", "written"] {
            fs::create_dir(scratch.path().join(folder)).expect("a folder");
        }
        fs::write(scratch.path().join("written/bound.example."), SOUND).expect("a zone file");
        let zones = ["image/one.example.", "image/includes.example.", "bound/bound.example."].map(|path| {
            let name = path.split('/').next_back().expect("a name");
            ZoneFile::new(name, scratch.path().join(path))
        });
        let config = write(scratch.path(), "zonda.toml", &settings(scratch.path(), address, &zones, ""));
        let script = "mount -t tmpfs none image && cp written/bound.example. image/one.example. && \
            printf '$INCLUDE one.example.\n' > image/includes.example. && mount -o remount,ro image && \
            mount --bind written bound && mount -o remount,bind,ro bound && sleep 0.05 && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script, "sh"]).arg(program());
        command.args(["serve", "--config", text(&config)]).current_dir(scratch.path());
        let imaged = Imaged { process: Guarded::spawn(command, scratch.path()), scratch, address };
        let log = || fs::read_to_string(imaged.scratch.path().join("log")).unwrap_or_default();
        await_or(log, || {
            assert!(imaged.process.is_running(), "{}", log());
            imaged.scratch.path().join("control.sock").exists() && imaged.last("one.example.") == 2
        });
        Some(imaged)
    }

    /// Runs a script in the folder as its server sees it, and long enough after it that its times are believed.
    fn run(&self, script: &str) {
        let pid = self.process.pid().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--user", "--preserve-credentials", "--mount", "--target", &pid, "sh", "-ec"]);
        let folder = self.scratch.path().display();
        let status = command.arg(format!("cd {folder}\n{script}\nsleep 0.05")).status();
        assert!(status.is_ok_and(|status| status.success()), "{script}");
    }

    fn reload(&self) -> String {
        zonda(&["ctl", "--config", text(&self.scratch.path().join("zonda.toml")), "reload"]).output
    }

    fn last(&self, zone: &str) -> u8 {
        let asked = Query::new(&format!("www.{zone}"), rtype::A).octets();
        let answer = udp_within(self.address, &asked, Duration::from_millis(200));
        let answer = answer.ok().flatten().unwrap_or_default();
        let at = answer.windows(3).rposition(|octets| octets == [192, 0, 2]);
        at.and_then(|at| answer.get(at + 3).copied()).unwrap_or(0)
    }
}

#[test]
fn what_is_mounted_read_only_is_told_by_its_text() {
    let Some(imaged) = Imaged::start() else { return };
    assert!(imaged.reload().contains("3 unchanged"), "as they were");
    // The times of an image are as whoever built it pleased: what is the same is the same.
    imaged.run(
        "mount -o remount,rw image; touch image/*; cp -p image/one.example. image/two && \
         mv image/two image/one.example.; mount -o remount,ro image",
    );
    assert!(imaged.reload().contains("3 unchanged"), "the same text with other times");
    imaged.run(
        "mount -o remount,rw image; touch -d @1 image/*; \
         sed -i s/192.0.2.2/192.0.2.3/ image/one.example.; touch -d @1 image/*; mount -o remount,ro image",
    );
    let said = imaged.reload();
    assert!(said.contains("2 zones loaded") && said.contains("1 unchanged"), "{said}");
    assert_eq!(
        ["one.example.", "includes.example.", "bound.example."].map(|zone| imaged.last(zone)),
        [3, 3, 2]
    );
    // What others write is told by its times, also where this server may not write.
    imaged.run("touch written/bound.example.");
    let said = imaged.reload();
    assert!(said.contains("1 zone loaded") && said.contains("2 unchanged"), "{said}");
}
