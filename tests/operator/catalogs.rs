//! Catalog zones: what others list is served, and what leaves their lists is not, whatever happens to either server.

mod follow;
mod many;
mod peers;
mod produce;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program_command, settings, signal, write};

/// Time within which what must not happen would have happened: a catalog is followed some milliseconds after it has come.
const MOMENT: Duration = Duration::from_millis(700);
const CATALOG: &str = "catalog.test.";

/// What a server says of the SOA record of a zone: its serial, or the response code; `None` where it says nothing.
fn serial(server: SocketAddr, zone: &str) -> Option<Result<u32, u8>> {
    let query = Query::new(zone, rtype::SOA).octets();
    let answer = udp_within(server, &query, Duration::from_millis(500)).ok().flatten()?;
    let response = zonda_tests::response::Response::parse(&answer).ok()?;
    let Some(record) = response.answer.first() else { return Some(Err(response.rcode() as u8)) };
    let rdata = &record.rdata;
    Some(Ok(u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().ok()?)))
}

const REFUSED: u8 = 5;

fn is_served(server: SocketAddr, zone: &str) -> bool {
    matches!(serial(server, zone), Some(Ok(_)))
}

fn is_refused(server: SocketAddr, zone: &str) -> bool {
    serial(server, zone) == Some(Err(REFUSED))
}

fn zone_text(serial: u32) -> String {
    format!("$TTL 60\n@ SOA ns host {serial} 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n")
}

/// A member as it stands in a catalog.
#[derive(Clone, Copy, Default)]
struct Member<'m> {
    label: &'m str,
    zone: &'m str,
    group: &'m str,
    coo: &'m str,
}

/// Members of these zones, each with its first label as its label in the catalog.
fn members<'m>(zones: &[&'m str]) -> Vec<Member<'m>> {
    let member =
        |zone: &&'m str| Member { label: zone.split('.').next().unwrap_or(zone), zone, ..Member::default() };
    zones.iter().map(member).collect()
}

fn catalog_text(serial: u32, members: &[Member<'_>]) -> String {
    let mut text = format!(
        "$TTL 0\n@ SOA invalid. invalid. {serial} 3600 600 2147483646 0\n@ NS invalid.\nversion TXT 2\n"
    );
    for Member { label, zone, group, coo } in members {
        text += &format!("{label}.zones PTR {zone}\n");
        if !group.is_empty() {
            text += &format!("group.{label}.zones TXT {group}\n");
        }
        if !coo.is_empty() {
            text += &format!("coo.{label}.zones PTR {coo}\n");
        }
    }
    text
}

/// A server under test with settings of its own; its folder stays when it is started again.
struct Zonda {
    folder: TempDir,
    address: SocketAddr,
    process: Guarded,
}

impl Zonda {
    /// Starts it. `more`: settings, in which `HOME` is its folder; `files`: what is there before.
    #[track_caller]
    fn start(address: SocketAddr, more: &str, files: &[(&str, &str)]) -> Zonda {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            write(folder.path(), name, text);
        }
        let process = spawn(folder.path(), address, more);
        let server = Zonda { folder, address, process };
        server.await_answers();
        server
    }

    #[track_caller]
    fn await_answers(&self) {
        await_that("the server", || {
            assert!(self.process.is_running(), "{}", self.log());
            serial(self.address, ".").is_some() && self.ctl(&["status"]).1.contains("version")
        });
    }

    /// Ends it at once, and starts it again.
    #[track_caller]
    fn start_again(&mut self, more: &str) {
        self.kill();
        self.process = spawn(self.folder.path(), self.address, more);
        self.await_answers();
    }

    fn kill(&mut self) {
        signal(self.process.pid(), "KILL");
        self.process.wait(Duration::from_secs(10)).expect("an end");
    }

    /// Runs `zonda ctl`; whether all is well, and what it says.
    fn ctl(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = program_command(&["ctl", "--config"]);
        command.arg(self.folder.path().join("zonda.toml")).args(arguments);
        let output = command.output().expect("the program zonda");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Puts a zone, or another text of it, into the folder of zones, and has it read.
    fn put(&self, zone: &str, text: &str) {
        let file = format!("zones/{}.zone", zone.trim_end_matches('.'));
        write(self.folder.path(), &file, text);
        self.ctl(&["reload"]);
    }
}

impl Drop for Zonda {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let tail = (log.len().saturating_sub(6000)..log.len()).find(|&at| log.is_char_boundary(at));
            eprintln!("--- end of the log of {} ---\n{}", self.address, &log[tail.unwrap_or(log.len())..]);
        }
        self.process.stop();
    }
}

fn spawn(folder: &Path, address: SocketAddr, more: &str) -> Guarded {
    let more = more.replace("HOME", &folder.display().to_string());
    let path = write(folder, "zonda.toml", &settings(folder, address, &[], &more));
    let mut command: Command = program_command(&["serve", "--config"]);
    command.arg(path).current_dir(folder);
    Guarded::spawn(command, folder)
}

/// A primary with all zones that are in its folder, which tells `other` of them.
#[track_caller]
fn primary(other: SocketAddr, zones: &[(&str, &str)]) -> Zonda {
    let named: Vec<(String, &str)> = zones
        .iter()
        .map(|(zone, text)| (format!("zones/{}.zone", zone.trim_end_matches('.')), *text))
        .collect();
    let files: Vec<(&str, &str)> = named.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let more = format!(
        "[access]\ntransfer = \"all\"\n[[remote]]\nname = \"other\"\naddresses = [\"{other}\"]\n\
         [[zone-directory]]\npath = \"HOME/zones\"\nnotify = \"other\"\n"
    );
    Zonda::start(free_address(), &more, &files)
}

/// Settings of a secondary of the catalog at `there`. `catalog`: further lines of `[[catalog]]`; `more`: further sections.
fn consumer(there: SocketAddr, catalog: &str, more: &str) -> String {
    format!(
        "pack-directory = \"HOME/packs\"\n[[remote]]\nname = \"there\"\naddresses = [\"{there}\"]\n\
         [[template]]\nname = \"open\"\n[[template]]\nname = \"closed\"\nallow-query = \"nobody\"\n\
         [[catalog]]\nzone = \"{CATALOG}\"\ntemplates = [\"open\", \"closed\"]\n{catalog}\n\
         [[zone]]\nname = \"{CATALOG}\"\nprimaries = \"there\"\n{more}"
    )
}
