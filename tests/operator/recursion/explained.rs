//! What explain and status say where nobody is asked, or what comes is of no use.

use std::net::UdpSocket;
use std::process::Command;

use zonda_tests::patience::await_or;
use zonda_tests::server::peers::require;

use super::internet::in_internet;
use super::{check, check_order};

/// Answers all that comes to an address with what `answer` makes of it, for as long as the test runs.
fn say(at: &str, answer: impl Fn(&mut Vec<u8>) + Send + 'static) {
    let socket = UdpSocket::bind((at, 53)).expect("an address");
    std::thread::spawn(move || {
        let mut room = [0; 4096];
        while let Ok((octets, from)) = socket.recv_from(&mut room) {
            let mut message = room[..octets].to_vec();
            answer(&mut message);
            let _ = socket.send_to(&message, from);
        }
    });
}

#[test]
fn what_cannot_be_read_is_told() {
    in_internet(|internet| {
        // A query is no response.
        say("127.0.9.1", |_| {});
        // A response with records that are not there.
        say("127.0.9.2", |message| (message[2], message[7]) = (message[2] | 0x80, 5));
        let forward =
            |name: &str, at: &str| format!("[[forward]]\nname = \"{name}\"\naddresses = [\"{at}\"]\n");
        let forwards = forward("echo.example", "127.0.9.1") + &forward("cut.example", "127.0.9.2");
        let resolver =
            internet.resolver(&format!("insecure = [\"echo.example\", \"cut.example\"]\n{forwards}"));
        let said = resolver.ctl(&["explain", "www.echo.example"]);
        check_order(&said, &["from 127.0.9.1:53 comes what is no response that can be read\n", "SERVFAIL"]);
        let said = resolver.ctl(&["explain", "www.cut.example"]);
        let unread = "127.0.9.2:53 says about www.cut.example. A: nothing that helps: it cannot be read (";
        check_order(&said, &[unread, "SERVFAIL", "EDE 24 (Invalid Data)"]);
    });
}

#[test]
fn names_of_ours_are_told() {
    in_internet(|internet| {
        let folder = tempfile::tempdir().expect("a folder");
        let zone = folder.path().join("own.zone");
        let text =
            "$ORIGIN own.org.\n@ 3600 SOA ns host 1 7200 900 86400 5\n@ 3600 NS ns\nwww 300 A 10.0.0.9\n";
        std::fs::write(&zone, text).expect("a zone file");
        let resolver = internet.resolver(&format!(
            "[[zone]]\nname = \"own.org\"\nfile = \"{}\"\n[[local-zone]]\nname = \"home.example\"\nrecords = [\"printer A 192.0.2.9\"]\n",
            zone.display()
        ));
        let said = resolver.ctl(&["explain", "www.own.org"]);
        let own = "a zone of this server, which goes before all others, says about www.own.org.: data\n";
        check_order(&said, &[own, "NOERROR, insecure\n"]);
        let said = resolver.ctl(&["explain", "printer.home.example"]);
        assert!(said.starts_with("clients get what [[local-zone]] home.example. (static) says, "), "{said}");
        let said = resolver.ctl(&["explain", "printer.local"]);
        assert!(said.starts_with("local. is a special name: clients are answered from here, "), "{said}");
        // A record without a TTL lives for an hour.
        let said = resolver.dig(&["printer.home.example", "A"]);
        assert!(said.contains("printer.home.example.\t3600\tIN\tA\t192.0.2.9"), "{said}");
        assert!(resolver.log().contains("serving 1 zone, and as a resolver"), "{}", resolver.log());
    });
}

#[test]
fn a_resolver_says_how_it_is() {
    in_internet(|internet| {
        let resolver = internet
            .resolver("stale-seconds = 0\n[[stub]]\nname = \"inner.example\"\naddresses = [\"10.0.0.7\"]\n");
        assert!(resolver.log().contains("serving as a resolver, without zones"), "{}", resolver.log());
        check(
            &resolver.dig(&["www.signed.org", "AAAA"]),
            "NOERROR",
            "qr rd ra ad",
            &["www.signed.org. IN AAAA 2001:db8::1"],
        );
        let said = resolver.ctl(&["status"]);
        let parts = [
            "resolver  for local; validates, asks elsewhere for inner.example.\n",
            "cache     ",
            " entries, ",
            " of 16.0 MiB",
            " %)\n",
        ];
        check_order(&said, &parts);
        assert!(!said.contains("no network"), "{said}");
    });
}

/// A small disk, which is unmounted when it is dropped.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Disk {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(require("mount", "mount"));
        let status = command.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).status();
        assert!(status.is_ok_and(|status| status.success()), "a small disk");
        Disk(folder)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new(require("umount", "mount")).arg("-l").arg(self.0.path()).status();
    }
}

/// A negative trust anchor that cannot be written is in effect, and who set it is told that it will not outlive the process; one that was removed comes back.
#[test]
fn negative_anchors_on_a_full_disk() {
    in_internet(|internet| {
        let disk = Disk::new();
        let more = format!("state-directory = \"{}\"\n", disk.0.path().display());
        let resolver = internet.resolver(&more);
        let there = ["www.broken.org. IN A 192.0.2.67"];
        let set = ["negative-anchor", "broken.org", "--seconds", "3600"];
        let filling = disk.0.path().join("filling");
        let fill = || {
            let mut octets = 65_536;
            while octets > 0 && std::fs::write(&filling, vec![0; octets]).is_err() {
                octets -= 1_024;
            }
        };
        await_or(|| resolver.log(), || disk.0.path().join("trust-anchors").exists());
        fill();
        let said = resolver.ctl(&set);
        assert!(
            said.starts_with("broken.org. for ") && said.contains("is in effect, and ends with this process"),
            "{said}"
        );
        check(&resolver.dig(&["www.broken.org", "A"]), "NOERROR", "qr rd ra", &there);
        let room = std::fs::remove_file(&filling);
        room.expect("a file");
        // A file without any takes no room: one more stays.
        resolver.ctl(&["negative-anchor", "signed.org", "--seconds", "3600"]);
        let said = resolver.ctl(&set);
        assert_eq!(said.lines().count(), 2, "{said}");
        fill();
        let said = resolver.ctl(&["negative-anchor", "broken.org", "--remove"]);
        assert!(said.contains("has ended, and is there again after a restart"), "{said}");
        check(&resolver.dig(&["www.broken.org", "A"]), "SERVFAIL", "qr rd ra", &[]);
        drop(resolver);
        let resolver = internet.resolver(&more);
        check(&resolver.dig(&["www.broken.org", "A"]), "NOERROR", "qr rd ra", &there);
    });
}
