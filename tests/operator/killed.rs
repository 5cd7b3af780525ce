//! The server is killed around reloads, again and again: every zone is right, stale or said to be absent, and never wrong.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::mutate::Random;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, program, signal};
use zonda_tests::zone::ZoneFile;

/// Zones of the list; one more is always good.
const ZONES: usize = 6;

/// What is true of a zone.
#[derive(Clone, Default)]
struct Zone {
    /// The version of its text; `None`: it is broken.
    text: Option<u32>,
    /// All it ever had.
    had: Vec<u32>,
}

struct Model {
    files: tempfile::TempDir,
    zones: Vec<Zone>,
    version: u32,
    random: Random,
}

fn name(zone: usize) -> String {
    format!("z{zone}.killed.test.")
}

fn text(version: u32) -> String {
    format!(
        "$TTL 60\n@ SOA ns host {version} 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nwww A 10.0.{}.{}\n",
        version / 256,
        version % 256
    )
}

impl Model {
    fn new(seed: u64) -> Model {
        let files = tempfile::tempdir().expect("a scratch folder");
        let names: String = (0..ZONES).map(|zone| name(zone) + "\n").collect();
        fs::write(files.path().join("names"), names).expect("a list");
        fs::write(files.path().join("good"), text(1)).expect("a text");
        let mut model =
            Model { files, zones: vec![Zone::default(); ZONES], version: 1, random: Random::new(seed) };
        (0..ZONES).for_each(|zone| model.write(zone));
        model
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.files.path().join(name)
    }

    fn write(&mut self, zone: usize) {
        self.version += 1;
        // As careful operators do: no text is ever half there.
        fs::write(self.path("new"), text(self.version)).expect("a text");
        fs::rename(self.path("new"), self.path(&name(zone))).expect("its name");
        self.zones[zone].text = Some(self.version);
        self.zones[zone].had.push(self.version);
    }

    fn edit(&mut self) {
        for _ in 0..=self.random.below(ZONES) {
            let zone = self.random.below(ZONES);
            match self.random.below(5) {
                0 => {
                    fs::write(self.path(&name(zone)), "nonsense\n").expect("a text");
                    self.zones[zone].text = None;
                }
                _ => self.write(zone),
            }
        }
    }

    fn start(&self) -> Server {
        let path = self.files.path().display();
        let more = format!(
            "pack-directory = \"{path}/packs\"\n\n[[zone]]\nnames-file = \"{path}/names\"\nfile = \"{path}/{{name}}.\"\n"
        );
        Server::start_with(Kind::Zonda, &[ZoneFile::new("good.test.", self.path("good"))], &more)
    }

    /// What is answered for a zone: the version, or nothing.
    fn answered(&self, server: &Server, zone: usize) -> Option<u32> {
        let response =
            ask(server.address, Transport::Udp, &Query::new(&format!("www.{}", name(zone)), rtype::A));
        match response.rcode() {
            0 => {
                let rdata = &response.answer.first().expect("an address").rdata;
                assert_eq!(rdata[..2], [10, 0], "{response:?}");
                Some(u32::from(rdata[2]) << 8 | u32::from(rdata[3]))
            }
            // Not even a zone that is not there yet is said not to exist.
            rcode => {
                assert_eq!(rcode, 2, "{}: {response:?}", name(zone));
                None
            }
        }
    }

    /// From the first answer on nothing is said that was never so.
    fn check_at_once(&self, server: &Server) {
        for (number, zone) in self.zones.iter().enumerate() {
            if let Some(version) = self.answered(server, number) {
                assert!(zone.had.contains(&version), "{}: {version}", name(number));
            }
        }
    }

    fn check(&self, server: &Server) {
        server.await_zones();
        let said = String::from_utf8_lossy(&ctl(server, &["zones", "--json"]).stdout).into_owned();
        for (number, zone) in self.zones.iter().enumerate() {
            let answered = self.answered(server, number);
            let quoted = format!("\"{}\"", name(number));
            let line = said.lines().find(|line| line.contains(&quoted)).unwrap_or_default();
            let state = |state: &str| line.contains(&format!("\"state\":\"{state}\""));
            let is_right = match (zone.text, answered) {
                (Some(text), Some(version)) => text == version && state("served"),
                (None, Some(version)) => zone.had.contains(&version) && state("stale"),
                (None, None) => state("absent"),
                (Some(_), None) => false,
            };
            assert!(
                is_right,
                "{}: text {:?}, answered {answered:?}, {line}\n{said}",
                name(number),
                zone.text
            );
        }
    }
}

fn reload(server: &Server) -> Child {
    let mut command = Command::new(program());
    command.args(["ctl", "--config"]).arg(server.path("zonda.toml")).arg("reload");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program zonda")
}

/// Kills so many servers around reloads and starts.
fn kill(seed: u64, times: usize) {
    eprintln!("seed {seed}");
    let mut model = Model::new(seed);
    for round in 0..times {
        let mut server = model.start();
        model.check_at_once(&server);
        // One in four is killed while it starts.
        let mut child = None;
        if model.random.below(4) != 0 {
            model.check(&server);
            model.edit();
            child = Some(reload(&server));
        }
        std::thread::sleep(Duration::from_micros(model.random.below(40_000) as u64));
        signal(server.process.pid(), "KILL");
        server.process.wait(Duration::from_secs(10)).unwrap_or_else(|| panic!("round {round}: no end"));
        if let Some(mut child) = child {
            child.wait().expect("an end of the client");
        }
        model.edit();
    }
    model.check(&model.start());
    assert!(has_pack(&model.path("packs")));
}

fn has_pack(folder: &Path) -> bool {
    let names = fs::read_dir(folder).expect("the pack folder").flatten().map(|entry| entry.file_name());
    names.into_iter().any(|name| name.to_string_lossy().ends_with(".zpack"))
}

#[test]
fn killed_around_reloads() {
    kill(1, 20);
}

mod long {
    /// `ZONDA_SEED` repeats one.
    #[test]
    #[ignore = "long: make test-long"]
    fn killed_around_two_hundred_reloads() {
        let given = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        super::kill(given.unwrap_or(now.as_nanos() as u64), 200);
    }
}
