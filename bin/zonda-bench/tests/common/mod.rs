//! What the tests of the program share: running it, other programs, and servers to ask.
#![allow(dead_code, reason = "each file of tests is a program of its own and uses some of this")]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStderr, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// The program with these words.
pub fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zonda-bench"));
    command.args(words);
    command
}

/// Runs the program to its end.
pub fn bench(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

/// Of a run that must have succeeded.
#[track_caller]
pub fn done(output: Output) -> Output {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The result of such a run.
#[track_caller]
pub fn json(output: Output) -> serde_json::Value {
    serde_json::from_slice(&done(output).stdout).unwrap()
}

/// Runs the program, which must end with this status and say this.
#[track_caller]
pub fn complaint(words: &[&str], status: i32, needle: &str) {
    let output = bench(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.contains(needle) && !said.contains("panicked"), "{said}");
}

/// A program of another project, with these words; servers and their tools are in `sbin` on some systems.
fn other(name: &str, words: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/bin";
    let mut command = Command::new(name);
    command.args(words).env("PATH", path);
    command
}

/// Runs a program of Debian's `bind9`, `bind9-utils`, `bind9-dnsutils`, `knot` or `knot-dnsutils`. Where it is missing
/// this gives `None`, but where `CI` is set it must be there.
pub fn peer(name: &str, words: &[&str]) -> Option<Output> {
    match other(name, words).output() {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{name} is missing: {error}");
            None
        }
    }
}

/// Other programs accept a zone.
#[track_caller]
pub fn check_zone(origin: &str, file: &str) {
    // Names in other zones are not to be asked for in the DNS: `-i local`.
    for (name, words) in
        [("named-checkzone", &["-q", "-i", "local", origin, file][..]), ("kzonecheck", &["-o", origin, file])]
    {
        if let Some(output) = peer(name, words) {
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name} {words:?}: {said}");
        }
    }
}

/// A port that is free for both transports, and that no client gets meanwhile.
pub fn free_port() -> u16 {
    zonda_tests::server::free_address().port()
}

/// A process under way; ended with the value.
pub struct Process(pub Child);

impl Process {
    /// Starts the program, its output and complaints kept.
    pub fn start(words: &[&str]) -> Process {
        Process(program(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Sends a signal, such as `-INT`.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Its exit status, what it printed, and what it complained of as far as nobody has read it.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        let (mut output, mut errors) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut errors).unwrap();
        }
        (self.0.wait().unwrap().code(), output, errors)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An echo server on a free port; ended with the value.
pub struct Echo {
    pub process: Process,
    pub stderr: BufReader<ChildStderr>,
    pub address: String,
}

impl Echo {
    pub fn start(words: &[&str]) -> Echo {
        let mut command = program(&["echo", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(words).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("echo on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Echo { process: Process(child), stderr, address }
    }
}

/// A named that takes updates for one zone; ended with the value.
pub struct Named {
    _process: Process,
    pub port: u16,
}

impl Named {
    /// Takes updates from whom `allowed` says; `keys` are statements. `None` where there is no named and none is
    /// demanded.
    pub fn start(folder: &Path, zone: &str, file: &str, keys: &str, allowed: &str) -> Option<Named> {
        peer("named", &["-v"])?;
        let (port, home) = (free_port(), folder.display());
        let settings = format!(
            "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }};\n\
             listen-on port {port} {{ 127.0.0.1; }}; recursion no; dnssec-validation no; notify no;\n\
             allow-transfer {{ any; }}; check-names primary ignore; }};\ncontrols {{ }};\n{keys}\
             zone \"{zone}\" {{ type primary; file \"{file}\"; allow-update {{ {allowed} }}; }};\n"
        );
        let path = folder.join("named.conf");
        fs::write(&path, settings).unwrap();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut command = other("named", &["-g", "-n", "1", "-c", path.to_str().unwrap()]);
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let named = Named { _process: Process(child), port };
        let until = Instant::now() + Duration::from_secs(30);
        while named.records(zone).is_empty() {
            let log = || fs::read_to_string(folder.join("log")).unwrap();
            assert!(Instant::now() < until, "named does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(named)
    }

    /// Records of the zone as lines, by AXFR; none where there is no answer.
    pub fn records(&self, zone: &str) -> Vec<String> {
        let port = self.port.to_string();
        let words = ["@127.0.0.1", "-p", &port, zone, "AXFR", "+noall", "+answer", "+onesoa"];
        let output = peer("dig", &words).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let records = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty());
        records.map(str::to_owned).collect()
    }
}
