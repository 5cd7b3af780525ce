//! Servers that fail, as a user of the laboratory meets them: each is left out with a note, the record is written, and
//! nothing stays behind.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// One experiment at a time: they share the cores.
static TURN: Mutex<()> = Mutex::new(());
/// How long anything may take on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a laboratory may take to end in order: longer than it waits for its servers to end.
const END_TIME_MAX: Duration = Duration::from_secs(40);
/// A variable that the laboratory hands down to all that it starts, with the folder of the test: by it they are found again,
/// whatever groups and parents they have.
const MARK: &str = "ZONDA_TEST_FOLDER";
const BENCH: &str = env!("CARGO_BIN_EXE_zonda-bench");

/// Settings of a fake nsd that `zonda` can serve; `PORT` and `ZONDA` are filled in.
const SERVE: &str = r#"#!/bin/sh
[ "$1" = -v ] && exec echo 'fake nsd 1'
port=$(sed -n 's/.*ip-address: .*@//p' nsd.conf)
zone=$(sed -n 's/.*zonefile: "\(.*\)"/\1/p' nsd.conf)
printf '[server]\nlisten = ["127.0.0.1:%s"]\nworkers = 1\n[control]\nsocket = "%s/c"\n[[zone]]\nname = "net."\nfile = "%s"\n' \
    "$port" "$PWD" "$zone" > zonda.toml
"ZONDA" serve --config zonda.toml >/dev/null 2>&1 &
server=$!
trap 'kill $server; wait $server; exit 0' TERM
while kill -0 $server 2>/dev/null; do
    if cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' |
        grep -q -e "[-]-server 127.0.0.1:$port --queries [^ ]* --json --timeout-ms [0-9]* OPTION "; then
        echo 'out of cheese' >&2
        kill -9 $server
        exit 9
    fi
    sleep 0.05
done
"#;

/// The server, where it was built (`make unit` does so first, and says where).
fn zonda() -> Option<PathBuf> {
    let beside = Path::new(BENCH).with_file_name("zonda");
    let named = std::env::var_os("ZONDA").map(PathBuf::from);
    let found = named.into_iter().chain([beside]).find(|path| path.is_file());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "zonda is not built");
    found
}

/// A recipe that takes seconds, with further lines of its `[full]` form; a machine that is busy has it made no block again. The time-out is one that a server has to stand still
/// for: of one that answers nothing the laboratory says that it cannot be measured.
fn recipe(further: &str) -> String {
    format!(
        "title = 'Faults'\nmethod = 'None.'\nmeasure = 'rates'\ncontenders = ['zonda', 'nsd']\n\
         [[case]]\nname = 'net zone'\nzone = 'net'\nsize = 200\n\
         [full]\ntrials = 2\ntrial-seconds = 0.1\nwidth = 1.0\nrate-start = 2000.0\necho-spread = 10.0\n\
         overtime-share = 1.0\nstolen-share = 1.0\nothers-share = 1.0\nlatency-lateness-ms = 60000.0\nflows = 64\nwarm-seconds = 0.1\nagreement = 20\nqueries = 1000\n\
         timeout-ms = 3000\n{further}"
    )
}

/// The laboratory with that recipe, Zonda, and a program `nsd` that is this script and comes first on the path.
fn lab(folder: &Path, script: &str, recipe: &str, bed: &str) -> Option<Command> {
    let program = zonda()?;
    let fake = folder.join("nsd");
    fs::write(&fake, script.replace("ZONDA", program.to_str().unwrap())).unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("faults.toml"), recipe).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(BENCH);
    command.args(["lab", "faults.toml", "--bed", bed, "--out", "out", "--zonda"]).arg(program);
    command.current_dir(folder).env("PATH", path).env(MARK, folder);
    Some(command)
}

/// A laboratory under way with all that it started; ended with the value.
struct Lab {
    child: Child,
    folder: PathBuf,
}

impl Lab {
    fn start(mut command: Command, folder: &Path) -> Lab {
        let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        Lab { child, folder: folder.to_path_buf() }
    }

    fn ask_to_end(&self) {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
    }

    /// Waits for its end; how it ended, and what it said.
    fn end(&mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it is still there");
            thread::sleep(Duration::from_millis(20));
        };
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status, said)
    }

    /// Processes with its mark and their command lines, its own among them; those that only wait to be reaped have none.
    fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("{MARK}={}", self.folder.display());
        let read = |entry: &fs::DirEntry, file| fs::read(entry.path().join(file)).unwrap_or_default();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if read(&entry, "environ").split(|&octet| octet == 0).any(|entry| entry == mark.as_bytes()) {
                let line = String::from_utf8_lossy(&read(&entry, "cmdline")).replace('\0', " ");
                found.push((pid, line));
            }
        }
        found
    }
}

impl Drop for Lab {
    /// It is asked first, as it alone knows the namespaces that it made.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
            let until = Instant::now() + END_TIME_MAX;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        for (pid, _) in self.processes() {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
}

/// Runs it to its end; its record.
#[track_caller]
fn record(script: &str, further: &str) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let output = lab(folder.path(), script, &recipe(further), "loopback")?.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && folder.path().join("out/report.html").is_file(), "{said}");
    let record: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/record.json")).unwrap()).unwrap();
    let figures = record["figures"].as_array().unwrap();
    let measured = figures.iter().any(|figure| figure["contender"] == "zonda" && figure["metric"] == "rate");
    assert!(measured || !record["blocks"]["discarded"].as_array().unwrap().is_empty(), "{said}");
    Some(record)
}

#[track_caller]
fn has_note(record: &Value, parts: &[&str]) {
    let mut notes = record["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap());
    assert!(notes.any(|note| parts.iter().all(|part| note.contains(part))), "{}", record["notes"]);
}

/// As one whose settings it does not take.
#[test]
fn one_that_ends_at_once() {
    let script = "#!/bin/sh\necho 'no such day' >&2\nexit 7\n";
    let Some(record) = record(script, "blocks = 1\nlatency-runs = 0\n") else { return };
    has_note(&record, &["nsd is left out: nsd ended by itself with status 7", "no such day"]);
}

/// As one that skipped its zones: the echo server answers every question with no records.
#[test]
fn one_that_answers_without_zones() {
    let script = format!(
        "#!/bin/sh\nport=$(sed -n 's/.*ip-address: .*@//p' nsd.conf)\nexec {BENCH} echo --listen 127.0.0.1:$port\n"
    );
    let Some(record) = record(&script, "blocks = 1\nlatency-runs = 0\n") else { return };
    has_note(&record, &["nsd is left out: nsd runs idle and answers NOERROR instead of serving"]);
}

/// Not even when asked for its version.
#[test]
fn one_that_never_answers() {
    let script = "#!/bin/sh\necho 'one moment' >&2\nexec sleep 1000\n";
    let Some(record) = record(script, "blocks = 1\nlatency-runs = 0\nload-seconds = 4\n") else { return };
    has_note(&record, &["nsd is left out: nsd did not answer within 4 s", "one moment"]);
}

/// Servers are started in each block.
#[test]
fn one_that_dies_in_a_block() {
    dies_in_a_block("block");
}

#[test]
fn one_that_dies_while_latency_is_measured() {
    dies_while_latency_is_measured("block");
}

/// Servers stay up.
mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn one_that_dies_in_a_block() {
        super::dies_in_a_block("case");
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn one_that_dies_while_latency_is_measured() {
        super::dies_while_latency_is_measured("case");
    }
}

fn dies_in_a_block(restart: &str) {
    let further = format!("blocks = 2\nlatency-runs = 0\nrestart = '{restart}'\n");
    let Some(record) = record(&SERVE.replace("OPTION", "--staircase"), &further) else { return };
    has_note(&record, &["nsd is left out: nsd ended by itself with status 9", "out of cheese"]);
    let discarded = &record["blocks"]["discarded"];
    assert!(discarded[0].as_str().unwrap().contains("block 1: nsd failed"), "{discarded}");
    let measured = record["raw"].as_array().unwrap().len();
    assert!(
        (2..=3).contains(&measured),
        "the second block and spare ones are measured without it: {measured}"
    );
}

fn dies_while_latency_is_measured(restart: &str) {
    let further = format!("blocks = 2\nlatency-runs = 2\nlatency-seconds = 1.0\nrestart = '{restart}'\n");
    let Some(record) = record(&SERVE.replace("OPTION", "--rate"), &further) else { return };
    if record["blocks"]["kept"] == 0 {
        return; // Without a rate there is no load to measure latency at.
    }
    has_note(&record, &["nsd is left out: nsd ended by itself with status 9", "out of cheese"]);
    let raw = record["raw"].as_array().unwrap();
    let runs = |who: &str| raw.iter().filter(|raw| raw["latency_of"] == who).count();
    // All that there are to be, and more where the machine had one made again.
    assert!(runs("zonda") >= 4 && runs("echo") >= 4, "{} and {}", runs("zonda"), runs("echo"));
}

/// Waits for something to be there.
#[track_caller]
fn wait_for<T>(lab: &mut Lab, mut there: impl FnMut(&Lab) -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = there(lab) {
            return found;
        }
        let running = lab.processes();
        let ended = lab.child.try_wait().unwrap().is_some();
        if !ended && Instant::now() > until {
            lab.ask_to_end();
        }
        if ended || Instant::now() > until {
            panic!("waited in vain; {running:?} ran, and it said {}", lab.end().1);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A signal ends the wait for a server at once; its process, those of the others and the namespaces are gone.
#[test]
fn a_signal_ends_the_wait_for_a_silent_one() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "#!/bin/sh\n[ \"$1\" = -v ] && exit\necho $$ > pid.part\nmv pid.part ../pid\nexec sleep 1000\n";
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(command) = lab(folder.path(), script, &recipe("load-seconds = 10000.0\n"), "auto") else {
        return;
    };
    let mut lab = Lab::start(command, folder.path());
    let file = folder.path().join("out").join("work").join("pid");
    let silent: u32 = wait_for(&mut lab, |_| fs::read_to_string(&file).ok()?.trim().parse().ok());
    // There may be others for a moment, such as programs that make the namespaces.
    wait_for(&mut lab, |lab| {
        let all = lab.processes();
        let serves = all.iter().any(|(_, line)| line.contains("zonda serve"));
        (serves && all.iter().any(|&(pid, _)| pid == silent)).then_some(())
    });
    let own = lab.child.id();
    lab.ask_to_end();
    let (status, said) = lab.end();
    assert!(status.code() == Some(1) && said.contains("ended by a signal"), "{status}: {said}");
    let left = lab.processes();
    assert!(left.is_empty(), "still there: {left:?}");
    let mine = format!("zonda-lab-{own}-");
    let left = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine)).collect();
    assert!(left.is_empty(), "{left:?}");
}
