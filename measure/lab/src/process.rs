//! Programs that were started: what they use, what they said, and that they end with us.

use std::{
    collections::HashMap,
    env, fs,
    fs::File,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper, waitpgid,
};

use crate::{Error, error, peers, place::Place};

/// How often is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(5);
/// How long a server may take to end: freeing millions of records takes a while.
const STOP_SECONDS: u64 = 20;
/// How long what is left of a program that has ended may take to do so when it is killed. It needs nothing but a turn.
const ORPHANS_SECONDS: u64 = 5;
/// How long a program may take to tell its version. A few lines: a pipe holds more.
const VERSION_SECONDS: u64 = 5;
/// What is shown of a program that failed.
const SAID_OCTETS: usize = 1500;
/// Folders of programs that are not on every user's path.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];
/// Ticks a second in `/proc/PID/stat`: 100 on all Linux systems (USER_HZ of the kernel's interface).
const TICKS: f64 = 100.0;

/// Finds a program among the peers that were chosen, on the path, and where system programs are.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| program.into());
    }
    if let Some(found) = peers::chosen().and_then(|folder| folder.find(program)) {
        return Some(found);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The words that run a program: its path, and before it the loader of the peers that were chosen where it is one of them.
pub fn words(program: &str) -> Vec<String> {
    let folder = peers::chosen().filter(|_| !program.contains('/'));
    if let Some(words) = folder.and_then(|folder| folder.words(program)) {
        return words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    }
    vec![find(program).map_or_else(|| program.to_owned(), |path| path.to_string_lossy().into_owned())]
}

/// A command of a program, which finds the peers that were chosen on its path.
fn command(program: &str) -> Command {
    let words = words(program);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if let Some(folder) = peers::chosen() {
        command.env("PATH", folder.search_path());
    }
    command
}

/// A running program with all processes below it. Dropping it ends them.
pub struct Process {
    child: Child,
    /// What it says, where it is not read.
    output: PathBuf,
}

/// Processor time in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    /// In the program.
    pub user: f64,
    /// In the kernel on its behalf.
    pub system: f64,
}

impl Process {
    /// Starts a command line in a place; standard output and error go to files in `folder`.
    pub fn start(command: &[String], place: &Place, folder: &Path) -> Result<Process, Error> {
        Process::start_with(command, place, folder, false)
    }

    /// The same; with `talks` its standard input and error are pipes.
    pub fn start_with(
        command: &[String],
        place: &Place,
        folder: &Path,
        talks: bool,
    ) -> Result<Process, Error> {
        let output = folder.join("output");
        let create = |path: &Path| File::create(path).map_err(error::file(path, "create"));
        let (said, result) = (create(&output)?, create(&folder.join("result"))?);
        let (program, words) = command.split_first().expect("a command line has a program");
        let mut start = self::command(program);
        // A group of its own: the terminal's interrupt reaches us alone, and we end it in order.
        start
            .args(words)
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(result)
            .stderr(said);
        if talks {
            start.stdin(Stdio::piped()).stderr(Stdio::piped());
        }
        Ok(Process { child: place.enter(move || start.spawn())?, output })
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, where it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end, or for `stop`.
    pub fn wait(&mut self, stop: &AtomicBool) -> Result<ExitStatus, Error> {
        loop {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            thread::sleep(LOOK);
        }
    }

    /// The last lines it said on standard error; without any, on standard output.
    pub fn said(&self) -> String {
        let mut all = fs::read(&self.output).unwrap_or_default();
        if all.trim_ascii().is_empty() {
            all = fs::read(self.output.with_file_name("result")).unwrap_or_default();
        }
        String::from_utf8_lossy(&all[all.len().saturating_sub(SAID_OCTETS)..]).into_owned()
    }

    /// What it wrote to standard output.
    pub fn result(&self) -> String {
        fs::read_to_string(self.output.with_file_name("result")).unwrap_or_default()
    }

    /// Its processes: the one started and all below it.
    pub fn pids(&self) -> Vec<i32> {
        let parents = parents();
        let mut found = vec![self.child.id() as i32];
        let mut at = 0;
        while at < found.len() {
            let below = parents.iter().filter(|&(pid, parent)| *parent == found[at] && !found.contains(pid));
            let below: Vec<i32> = below.map(|(&pid, _)| pid).collect();
            found.extend(below);
            at += 1;
        }
        found
    }

    /// Processor time of all its processes so far, and of those below them that have ended.
    pub fn cpu(&self) -> Cpu {
        let mut sum = Cpu::default();
        for pid in self.pids() {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields = stat_fields(&stat);
            let ticks = |at: usize| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0.0);
            sum.user += (ticks(11) + ticks(13)) / TICKS;
            sum.system += (ticks(12) + ticks(14)) / TICKS;
        }
        sum
    }

    /// Processor time of all threads of all its processes so far, in seconds, to the nanosecond: for what takes so little that
    /// ticks do not show it. Threads and processes that have ended are not in it.
    pub fn cpu_fine(&self) -> f64 {
        let threads = |pid: i32| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let nanoseconds = |thread: fs::DirEntry| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        let all: u64 = self.pids().into_iter().flat_map(threads).filter_map(nanoseconds).sum();
        all as f64 / 1e9
    }

    /// Seconds that the threads of its first process ran whose names begin so, and seconds that they could have run and had no
    /// processor; nothing where there are none.
    pub fn scheduled(&self, name: &str) -> Option<(f64, f64)> {
        let folder = format!("/proc/{}/task", self.child.id());
        let of = |thread: fs::DirEntry| {
            let read = |file: &str| fs::read_to_string(thread.path().join(file)).ok();
            let text = read("comm").filter(|comm| comm.starts_with(name)).and_then(|_| read("schedstat"))?;
            let mut numbers = text.split_whitespace().map_while(|word| word.parse::<f64>().ok());
            Some((numbers.next()? / 1e9, numbers.next()? / 1e9))
        };
        let threads = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(of);
        threads.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Processor time of all children of this program that have ended.
    pub fn cpu_of_ended() -> Cpu {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat_fields(&stat);
        let seconds =
            |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / TICKS;
        Cpu { user: seconds(13), system: seconds(14) }
    }

    /// Proportional set size in octets: pages that several processes share are counted once.
    pub fn pss(&self) -> u64 {
        let of = |pid: &i32| {
            let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?.split_whitespace().next()?;
            line.parse::<u64>().ok()
        };
        self.pids().iter().filter_map(of).sum::<u64>() * 1024
    }

    /// Waits until its memory no longer changes: some servers free what they loaded with later.
    pub fn settle(&self, seconds: f64) {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        let mut before = 0;
        while Instant::now() < until {
            let now = self.pss();
            if now == before {
                return;
            }
            before = now;
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Kills it and all below it, without a chance to end in order, and waits.
    pub fn kill(&mut self) {
        self.pids().into_iter().for_each(|pid| signal(pid, Signal::KILL));
        let _ = self.child.wait();
        self.stop();
    }

    /// Resident set size of all its processes in octets, and of it what has no file: what a program allocated.
    pub fn resident(&self) -> (u64, u64) {
        let mut sum = (0, 0);
        for pid in self.pids() {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let of = |head: &str| -> u64 {
                let line = text.lines().find_map(|line| line.strip_prefix(head));
                let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
                kibibytes.unwrap_or(0) * 1024
            };
            sum = (sum.0 + of("VmRSS:"), sum.1 + of("RssAnon:"));
        }
        sum
    }

    /// The most that its processes had in memory at a time, in octets, as the kernel noted it of each that still runs; what they share is in it once for each.
    pub fn peak_resident(&self) -> u64 {
        let of = |pid: &i32| {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        self.pids().iter().filter_map(of).sum::<u64>() * 1024
    }

    /// Ends it and all below it, and waits.
    pub fn stop(&mut self) {
        self.stop_within(STOP_SECONDS);
    }

    /// The same with so many seconds until it is killed.
    pub fn stop_within(&mut self, seconds: u64) {
        self.end(seconds);
        // Its group is its own; what is left of it, such as the children of a program that was killed, has nobody to serve. A
        // process of that number is another's, which got the number after ours had ended.
        let (group, is_anothers) = (self.child.id() as i32, is_alive(self.child.id()));
        if let Some(group) = Pid::from_raw(group).filter(|_| !is_anothers)
            && kill_process_group(group, Signal::KILL).is_ok()
        {
            reap(group);
        }
    }

    fn end(&mut self, seconds: u64) {
        if self.ended().is_some() {
            return;
        }
        let pids = self.pids();
        signal(self.child.id() as i32, Signal::TERM);
        let until = Instant::now() + Duration::from_secs(seconds);
        while self.ended().is_none() {
            if Instant::now() > until {
                pids.iter().for_each(|&pid| signal(pid, Signal::KILL));
                let _ = self.child.wait();
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Has the children of programs that end before them become this program's, as those of NSD do: they and their time are part of an
/// experiment, and not what others took meanwhile. Where the kernel does not do that they are what they were, somebody else's.
pub fn keep_orphans() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Waits for those of a group of killed programs that became ours.
fn reap(group: Pid) {
    let until = Instant::now() + Duration::from_secs(ORPHANS_SECONDS);
    while let Ok(ended) = waitpgid(group, WaitOptions::NOHANG)
        && Instant::now() < until
    {
        if ended.is_none() {
            thread::sleep(LOOK);
        }
    }
}

/// Whether a process of that number lives.
pub fn is_alive(pid: u32) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

/// Sends a signal; one that has ended already needs none.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Runs a command line to its end and returns what it wrote to standard output.
pub fn run(command: &[String], place: &Place, folder: &Path, stop: &AtomicBool) -> Result<String, Error> {
    let mut process = Process::start(command, place, folder)?;
    let status = process.wait(stop)?;
    match status.success() {
        true => Ok(process.result()),
        false => {
            let status = status.to_string();
            Err(Error::Program { command: command.join(" "), status, said: process.said() })
        }
    }
}

/// The same of a program that may hang: after so many seconds it is ended, and that is an error.
pub fn run_within(
    command: &[String],
    place: &Place,
    folder: &Path,
    stop: &AtomicBool,
    seconds: f64,
) -> Result<String, Error> {
    let mut process = Process::start(command, place, folder)?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let status = loop {
        match process.ended() {
            Some(status) if status.success() => return Ok(process.result()),
            Some(status) => break status.to_string(),
            None if stop.load(Ordering::Relaxed) => return Err(Error::Interrupted),
            None if Instant::now() > until => break format!("did not end within {seconds} s"),
            None => thread::sleep(LOOK),
        }
    };
    process.stop();
    Err(Error::Program { command: command.join(" "), status, said: process.said() })
}

/// The first line that a program says.
pub fn first_line(words: &[&str]) -> Option<String> {
    said(words)?.lines().next().map(|line| line.trim().to_owned())
}

/// All that a program says in some lines, on whichever stream; nothing from one that does not end within some seconds.
pub fn said(words: &[&str]) -> Option<String> {
    find(words[0])?;
    let mut start = command(words[0]);
    start.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start.spawn().ok()?;
    let until = Instant::now() + Duration::from_secs(VERSION_SECONDS);
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(LOOK);
    }
    let output = child.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Parent of each process of the machine.
pub fn parents() -> HashMap<i32, i32> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = stat_fields(&stat).get(1).and_then(|field| field.parse().ok()) {
            parents.insert(pid, parent);
        }
    }
    parents
}

/// Fields of `/proc/PID/stat` after the name, which may hold anything.
pub fn stat_fields(stat: &str) -> Vec<&str> {
    stat.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn counts_what_children_use_and_ends_them() {
        let folder = tempfile::tempdir().unwrap();
        // Ten million steps of a loop are some hundredths of a second; the child shows it without end.
        let script = "i=0; while :; do i=$((i+1)); done & wait";
        let mut process = Process::start(&words(script), &Place::default(), folder.path()).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while process.cpu().user < 0.05 && Instant::now() < until {
            thread::sleep(LOOK);
        }
        let pids = process.pids();
        assert!(process.cpu_fine() >= 0.05, "{}", process.cpu_fine());
        assert!(process.cpu().user >= 0.05 && pids.len() == 2 && process.pss() > 0, "{pids:?}");
        // Of the shell itself, which waits for its child.
        assert!(process.scheduled("sh").is_some_and(|(ran, waited)| ran > 0.0 && waited >= 0.0));
        assert_eq!(process.scheduled("worker-"), None);
        process.child().kill().unwrap();
        process.stop();
        let until = Instant::now() + Duration::from_secs(20);
        let state = || fs::read_to_string(format!("/proc/{}/stat", pids[1])).unwrap_or_default();
        // Whoever inherits it may take its time to reap it.
        while !matches!(stat_fields(&state()).first(), None | Some(&"Z")) {
            assert!(Instant::now() < until, "{}", state());
            thread::sleep(LOOK);
        }
    }

    #[test]
    fn the_time_of_orphans_is_ours() {
        keep_orphans();
        let folder = tempfile::tempdir().unwrap();
        // Of the children that have ended, in ticks.
        let ours = || -> f64 {
            let stat = fs::read_to_string("/proc/self/stat").unwrap();
            stat_fields(&stat)[13..15].iter().map(|field| field.parse::<f64>().unwrap()).sum()
        };
        let script = "(i=0; while :; do i=$((i+1)); done) & echo $!";
        let mut process = Process::start(&words(script), &Place::default(), folder.path()).unwrap();
        process.wait(&AtomicBool::new(false)).unwrap();
        let orphan = process.result().trim().to_owned();
        let stat = || fs::read_to_string(format!("/proc/{orphan}/stat")).unwrap_or_default();
        let ticks = || stat_fields(&stat()).get(11).map_or(0.0, |field| field.parse().unwrap());
        let until = Instant::now() + Duration::from_secs(20);
        while ticks() < 20.0 && Instant::now() < until {
            thread::sleep(LOOK);
        }
        let (before, used) = (ours(), ticks());
        process.stop();
        assert!(used >= 20.0 && ours() >= before + used, "{before} {used} {}", ours());
        assert_eq!(stat(), "", "nothing is left of it");
    }

    #[test]
    fn ends_what_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let within = |script: &str| {
            let stop = AtomicBool::new(false);
            run_within(&words(script), &Place::default(), folder.path(), &stop, 0.3)
        };
        let began = Instant::now();
        let error = within("echo so far; sleep 600").unwrap_err().to_string();
        assert!(error.contains("did not end within 0.3 s") && error.contains("so far"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(60));
        assert!(within("exit 3").unwrap_err().to_string().contains("exit status: 3"));
        assert_eq!(within("echo done").unwrap(), "done\n");
    }

    #[test]
    fn shows_what_failed() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let place = Place::default();
        assert_eq!(run(&words("echo fine"), &place, folder.path(), &stop).unwrap(), "fine\n");
        let said = run(&words("echo broken >&2; exit 3"), &place, folder.path(), &stop).unwrap_err();
        assert!(said.to_string().contains("exit status: 3") && said.to_string().contains("broken"));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run(&words("sleep 60"), &place, folder.path(), &stop), Err(Error::Interrupted)));
    }
}
