//! A child process that cannot outlive the test program.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs `"$@"`, notes its process ID, and ends it once standard input (a pipe from the test program) closes:
/// two seconds for an orderly end, then the hard way. Where the test program has ended too the scratch folder goes, as nobody is left to
/// remove it; else there is a file `done` in it, and what the program said can be read.
///
/// A server that has handed over to another one has ended by itself: with a file `successors` in the folder the guard stays, and ends those too
/// that serve by the settings there.
const GUARD: &str = r#"
exec 3<&0 </dev/null
scratch=$1; shift
tests=$PPID
"$@" 3<&- &
pid=$!
echo $pid >"$scratch/pid.new" && mv "$scratch/pid.new" "$scratch/pid"
(
    cat <&3 >/dev/null
    : >"$scratch/closing"
    for file in $([ -e "$scratch/successors" ] && grep -lsF "$scratch/zonda.toml" /proc/[0-9]*/cmdline); do
        process=${file#/proc/}; process=${process%/cmdline}
        case $(readlink "/proc/$process/exe") in */zonda*) kill -KILL $process; gone=$process ;; esac
    done
    [ -z "$gone" ] || for i in $(seq 40); do kill -0 $gone || break; sleep 0.1; done
    [ -e "$scratch/ended" ] || kill $pid
    [ -e "$scratch/ended" ] || for i in $(seq 20); do kill -0 $pid || break; sleep 0.1; done
    [ -e "$scratch/ended" ] || kill -KILL $pid
    : >"$scratch/done"
    # Whoever has just ended is there until somebody has asked how.
    sleep 0.3
    kill -0 $tests || rm -rf "$scratch"
) >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait $pid; status=$?
: >"$scratch/ended" 2>/dev/null
[ -e "$scratch/closing" ] || [ -e "$scratch/successors" ] || kill $watch 2>/dev/null
exit $status
"#;

/// A program under guard.
pub struct Guarded {
    child: Child,
    pid: u32,
    scratch: PathBuf,
}

impl Guarded {
    /// Starts `command`; its standard output and error go to the file `log` of the folder `scratch`.
    pub fn spawn(command: Command, scratch: &Path) -> Guarded {
        let pid_path = scratch.join("pid");
        for left in ["pid", "closing", "ended", "done"] {
            std::fs::remove_file(scratch.join(left)).ok();
        }
        let output = File::create(scratch.join("log")).expect("a log file");
        let errors = output.try_clone().expect("a second handle");
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", GUARD, "guard"]).arg(scratch);
        guard.arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            guard.current_dir(folder);
        }
        let mut child = guard.stdin(Stdio::piped()).stdout(output).stderr(errors).spawn().expect("a shell");
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if let Some(pid) =
                std::fs::read_to_string(&pid_path).ok().and_then(|text| text.trim().parse().ok())
            {
                return Guarded { child, pid, scratch: scratch.to_owned() };
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().and_then(|()| child.wait().map(drop)).expect("an end of the guard");
        panic!("{command:?} did not start");
    }

    /// Process ID of the program itself.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the program still runs.
    pub fn is_running(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The state stands behind the name, which is in parentheses and may contain anything.
        status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    }

    /// Waits for the program to end by itself; `None` if it does not in time.
    pub fn wait(&mut self, wait: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a child to wait for") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// Ends the program: closes the pipe, which makes the guard terminate it, and waits.
    pub fn stop(&mut self) {
        let has_successors = self.scratch.join("successors").exists();
        drop(self.child.stdin.take());
        if self.wait(Duration::from_secs(4)).is_none() {
            signal(self.pid, "KILL");
            self.child.kill().ok();
            self.child.wait().ok();
        }
        // The guard's shell has ended with the first program; what it left behind looks for the others.
        let until = Instant::now() + Duration::from_secs(10);
        while has_successors && !self.scratch.join("done").exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Guarded {
    /// A thread of the program that panicked fails the test, also where the program went on.
    fn drop(&mut self) {
        let log = std::fs::read_to_string(self.scratch.join("log")).unwrap_or_default();
        self.stop();
        let panic = log.lines().find(|line| line.contains(" panicked at "));
        if let Some(line) = panic.filter(|_| !std::thread::panicking()) {
            panic!("{line}, in\n{log}");
        }
    }
}

/// Sends a signal to a process this program started.
pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    status.expect("the program kill");
}
