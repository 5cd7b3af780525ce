//! A running server, commands, and a query.

use std::fs::File;
use std::io::Read;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longest wait for anything. Machines that compile at the same time are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program.
pub fn zonda(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zonda"));
    command.args(arguments);
    command
}

/// What a command printed: exit status, standard output, standard error.
pub fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    split(zonda(arguments).output().unwrap())
}

fn split(output: Output) -> (Option<i32>, String, String) {
    let text = |octets| String::from_utf8(octets).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The text of a zone with this serial and an address of `www`.
pub fn zone(serial: u32) -> String {
    format!("$TTL 60\n@ SOA ns mail {serial} 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n")
}

/// A server with its settings in a folder that goes with it.
pub struct Server {
    pub folder: TempDir,
    child: Child,
    address: Option<SocketAddr>,
}

impl Server {
    /// Starts a server whose settings are those every test needs and `more`, and waits until it has loaded.
    pub fn start(folder: TempDir, more: &str) -> Server {
        Self::start_at(folder, more, "serving ")
    }

    /// As [`Server::start`], but waits only until the log has `text`.
    pub fn start_at(folder: TempDir, more: &str, text: &str) -> Server {
        Self::write_settings(folder.path(), more);
        let config = folder.path().join("zonda.toml");
        let mut server = Server::spawn(folder, &["--config", config.to_str().unwrap()]);
        server.wait_for(text);
        server.wait_until(|| server.path("control").exists());
        let (status, text, _) = server.ctl(&["status", "--json"]);
        // 1 where something is wrong with a zone.
        assert!(matches!(status, Some(0 | 1)), "{}", server.log());
        let listen = text.split("\"listen\":[\"").nth(1).unwrap().split('"').next().unwrap();
        server.address = Some(listen.parse().unwrap());
        server
    }

    /// Starts a server with these arguments.
    pub fn spawn(folder: TempDir, arguments: &[&str]) -> Server {
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = zonda(&["serve"]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        Server { folder, child, address: None }
    }

    /// Writes the settings file.
    pub fn write_settings(folder: &Path, more: &str) {
        let text = format!(
            "[control]\nsocket = \"control\"\n[server]\nlisten = [\"127.0.0.1:0\"]\nworkers = 1\n{more}"
        );
        std::fs::write(folder.join("zonda.toml"), text).unwrap();
    }

    /// Writes a file beside the settings.
    pub fn write(&self, path: &str, text: &str) {
        std::fs::write(self.folder.path().join(path), text).unwrap();
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// What the server logged so far.
    pub fn log(&self) -> String {
        let mut text = String::new();
        File::open(self.path("log")).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Waits until the log has `text`.
    pub fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.log().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "no {text:?} in {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until `condition` holds.
    pub fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < until, "waited in vain; the log: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Runs `zonda ctl`.
    pub fn ctl(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        split(zonda(&["ctl", "--socket"]).arg(self.path("control")).args(arguments).output().unwrap())
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.unwrap().success());
    }

    /// Waits for the end; the exit status.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server and hands back its folder.
    pub fn stop(mut self) -> TempDir {
        self.signal("TERM");
        assert_eq!(self.wait(), Some(0), "{}", self.log());
        let empty = tempfile::tempdir().unwrap();
        std::mem::replace(&mut self.folder, empty)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address.unwrap()
    }

    /// Asks for the SOA record of `name`: response code and, if there is one, its serial.
    pub fn soa(&self, name: &str) -> (u8, Option<u32>) {
        let mut query = vec![0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            query.push(label.len() as u8);
            query.extend_from_slice(label.as_bytes());
        }
        query.extend_from_slice(&[0, 0, 6, 0, 1]);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.send_to(&query, self.address.unwrap()).unwrap();
        let mut answer = [0; 1500];
        let octets = socket.recv(&mut answer).unwrap_or_else(|error| panic!("{error}: {}", self.log()));
        let answer = &answer[..octets];
        assert_eq!((&answer[..2], answer[2] & 0x80), (&query[..2], 0x80));
        // The serial is the first of the five numbers that end the RDATA of the only record.
        let has_answer = answer[7] == 1;
        let serial =
            has_answer.then(|| u32::from_be_bytes(answer[octets - 20..octets - 16].try_into().unwrap()));
        (answer[3] & 15, serial)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already where the test came this far.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with one good zone, and the settings for it.
pub fn one_zone() -> (TempDir, &'static str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.zone"), zone(1)).unwrap();
    (folder, "[[zone]]\nname = \"a.example\"\nfile = \"a.zone\"\n")
}

/// NOERROR, SERVFAIL, REFUSED.
pub const OK: u8 = 0;
pub const SERVFAIL: u8 = 2;
pub const REFUSED: u8 = 5;
