//! A server of PostgreSQL in a scratch folder, for tests: shared by those that run at the same time, each with a database of its own. The tests of `tests/operator`
//! have this file, too.

// Each of the two uses what it needs of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// A user without rights: the server does not start as root.
const NOBODY: &str = "65534";

/// Its superuser.
pub const USER: &str = "owner";

/// How long it may take to start.
const START_MAX: Duration = Duration::from_secs(30);

struct Server {
    folder: tempfile::TempDir,
    port: u16,
    is_root: bool,
    /// Settings beside those of all.
    more: &'static [&'static str],
    process: Mutex<Child>,
}

/// The one of this process while a test uses it.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// Numbers of databases.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A database without anything in it.
pub struct Scratch {
    server: Arc<Server>,
    name: String,
}

impl Server {
    fn start(more: &'static [&'static str]) -> Server {
        let folder = tempfile::Builder::new().prefix("zonda-pg-").tempdir().expect("a folder");
        let is_root = std::fs::metadata("/proc/self")
            .map(|me| std::os::unix::fs::MetadataExt::uid(&me))
            .expect("a process")
            == 0;
        if is_root {
            let nobody = NOBODY.parse().ok();
            std::os::unix::fs::chown(folder.path(), nobody, nobody).expect("a folder of nobody's");
        }
        let data = folder.path().join("data");
        let made = Server::command("initdb", is_root)
            .args([
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "--username",
                USER,
                "--pgdata",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .status()
            .expect("initdb starts (tests/setup.sh installs it)");
        assert!(made.success());
        // Who comes by TCP as `locked` has to have a password.
        std::fs::write(
            data.join("pg_hba.conf"),
            "local all,replication all trust\nhost all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n",
        )
        .expect("a file");
        make_certificates(folder.path(), is_root);
        Server::serve(folder, is_root, more)
    }

    /// Starts it where its data are.
    fn serve(folder: tempfile::TempDir, is_root: bool, more: &'static [&'static str]) -> Server {
        // Free a moment ago: nobody else takes it but by chance.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a port")
            .port();
        let process = Mutex::new(Server::spawn(folder.path(), port, is_root, more));
        let server = Server { folder, port, is_root, more, process };
        server.await_answer();
        server
    }

    /// Another one, which has what this one has, and follows it.
    fn replicated(&self) -> Server {
        let folder = tempfile::Builder::new().prefix("zonda-pg-").tempdir().expect("a folder");
        if self.is_root {
            let nobody = NOBODY.parse().ok();
            std::os::unix::fs::chown(folder.path(), nobody, nobody).expect("a folder of nobody's");
        }
        let copied = Server::command("pg_basebackup", self.is_root)
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username", USER, "--host"])
            .arg(self.folder.path())
            .args(["--port", &self.port.to_string(), "--pgdata"])
            .arg(folder.path().join("data"))
            .status()
            .expect("pg_basebackup starts");
        assert!(copied.success());
        make_certificates(folder.path(), self.is_root);
        Server::serve(folder, self.is_root, self.more)
    }

    fn spawn(folder: &Path, port: u16, is_root: bool, more: &[&str]) -> Child {
        Server::command("postgres", is_root)
            .arg("-D")
            .arg(folder.join("data"))
            .arg("-k")
            .arg(folder)
            // As fast as may be: nothing of it outlives the test.
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &port.to_string(),
                "-F",
                "-c",
                "log_min_messages=fatal",
                "-c",
                "wal_level=minimal",
                "-c",
                "max_wal_senders=0",
                "-c",
                "ssl=on",
                "-c",
                "ssl_cert_file=../server.crt",
                "-c",
                "ssl_key_file=../server.key",
            ])
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres starts")
    }

    fn await_answer(&self) {
        let begun = Instant::now();
        while !self.psql("postgres", "SELECT 1").0 {
            assert!(begun.elapsed() < START_MAX, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it in what PostgreSQL calls the fast way: connections are ended.
    fn stop(&self) {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = Command::new("kill").args(["-INT", &process.id().to_string()]).status();
        let _ = process.wait();
    }

    fn command(name: &str, is_root: bool) -> Command {
        let path = program(name);
        if !is_root {
            return Command::new(path);
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(path);
        command
    }

    /// Whether all went well, and what came.
    fn psql(&self, database: &str, sql: &str) -> (bool, String) {
        let output = Command::new(program("psql"))
            .args([
                "--no-psqlrc",
                "--quiet",
                "--tuples-only",
                "--no-align",
                "-v",
                "ON_ERROR_STOP=1",
                "--username",
                USER,
                "--host",
            ])
            .arg(self.folder.path())
            .args(["--port", &self.port.to_string(), "--dbname", database, "--command", sql])
            .output()
            .expect("psql starts (tests/setup.sh installs it)");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An authority, and a certificate of it for the address 127.0.0.1.
fn make_certificates(folder: &Path, is_root: bool) {
    let script = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=authority -days 2 &&
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.crt -subj /CN=server -days 2 \
            -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE -CA ca.crt -CAkey ca.key && chmod 600 server.key";
    let output = Command::new("sh").args(["-c", script]).current_dir(folder).output().expect("sh starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if is_root {
        let nobody = NOBODY.parse().ok();
        std::os::unix::fs::chown(folder.join("server.key"), nobody, nobody).expect("a key of nobody's");
    }
}

/// A program of PostgreSQL, where Debian has it or on the path: the newest.
fn program(name: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin").join(name)))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

impl Scratch {
    /// One of a server of its own, which may be stopped.
    pub fn alone() -> Scratch {
        Scratch::of(Arc::new(Server::start(&[])))
    }

    /// One of a server of its own, which flushes the disk as those of operators do.
    pub fn durable() -> Scratch {
        Scratch::of(Arc::new(Server::start(&["-c", "fsync=on"])))
    }

    /// One of a server of its own, which others may follow.
    pub fn of_a_primary() -> Scratch {
        Scratch::of(Arc::new(Server::start(&["-c", "wal_level=replica", "-c", "max_wal_senders=2"])))
    }

    /// The same one of another server, which follows this one's.
    pub fn replicated(&self) -> Scratch {
        Scratch { server: Arc::new(self.server.replicated()), name: self.name.clone() }
    }

    /// One of a server that is started for it if there is none.
    pub fn new() -> Scratch {
        Scratch::of({
            let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            shared.upgrade().unwrap_or_else(|| {
                let server = Arc::new(Server::start(&[]));
                *shared = Arc::downgrade(&server);
                server
            })
        })
    }

    fn of(server: Arc<Server>) -> Scratch {
        let scratch = Scratch { server, name: format!("d{}", COUNT.fetch_add(1, Ordering::Relaxed)) };
        let (is_fine, said) = scratch.server.psql("postgres", &format!("CREATE DATABASE {}", scratch.name));
        assert!(is_fine, "{said}");
        scratch
    }

    /// Its address, by the Unix socket.
    pub fn address(&self) -> String {
        self.address_of(USER)
    }

    /// The same for another user.
    pub fn address_of(&self, user: &str) -> String {
        let folder = self.folder().display().to_string().replace('/', "%2F");
        format!("postgres://{user}@{folder}:{}/{}", self.server.port, self.name)
    }

    /// Its address by TCP, for a user and a name or address of this machine.
    pub fn tcp_address(&self, user: &str, host: &str) -> String {
        format!("postgres://{user}@{host}:{}/{}", self.server.port, self.name)
    }

    /// What PowerDNS has to be told to keep its tables there.
    pub fn powerdns_settings(&self) -> String {
        let (folder, port) = (self.folder().display(), self.server.port);
        format!(
            "launch=gpgsql\ngpgsql-host={folder}\ngpgsql-port={port}\ngpgsql-dbname={}\ngpgsql-user={USER}\ngpgsql-dnssec=yes\n",
            self.name
        )
    }

    /// Certificates of the authority that its certificate is of.
    pub fn roots(&self) -> PathBuf {
        self.folder().join("ca.crt")
    }

    fn folder(&self) -> &Path {
        self.server.folder.path()
    }

    /// Runs statements as somebody who knows nothing of us. Each string is one transaction, unless it has its own.
    pub fn try_sql(&self, sql: &str) -> Result<String, String> {
        match self.server.psql(&self.name, sql) {
            (true, said) => Ok(said),
            (false, said) => Err(said),
        }
    }

    /// The same; all must go well.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|said| panic!("{sql}: {said}"))
    }

    /// What refuses it.
    #[track_caller]
    pub fn refused(&self, sql: &str) -> String {
        match self.try_sql(sql) {
            Err(said) => said,
            Ok(_) => panic!("{sql} went well"),
        }
    }

    /// A copy, by dump and restore.
    pub fn restored(&self) -> Scratch {
        let copy = Scratch::new();
        let dump = format!(
            "{} --username {USER} --host {folder} --port {port} {from} | {} --no-psqlrc --quiet -v ON_ERROR_STOP=1 --username {USER} --host {folder} --port {port} {to}",
            program("pg_dump").display(),
            program("psql").display(),
            folder = self.folder().display(),
            port = self.server.port,
            from = self.name,
            to = copy.name,
        );
        let output =
            Command::new("bash").args(["-o", "pipefail", "-c", &dump]).output().expect("bash starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        copy
    }

    /// Has files of one of its processes become no longer than this.
    pub fn limit_files(&self, pid: &str, octets: u64) {
        let limit = format!("--fsize={octets}:{octets}");
        // By whom it is of.
        let mut prlimit = Server::command("prlimit", self.server.is_root);
        assert!(prlimit.args(["--pid", pid, &limit]).status().expect("prlimit starts").success());
    }

    /// Ends its server, and every connection with it.
    pub fn stop(&self) {
        self.server.stop();
    }

    /// Starts it again.
    pub fn start(&self) {
        let Server { folder, port, is_root, more, process } = &*self.server;
        *process.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Server::spawn(folder.path(), *port, *is_root, more);
        self.server.await_answer();
    }

    /// All of the store, as statements.
    pub fn dumped(&self) -> String {
        let output = Command::new(program("pg_dump"))
            .args(["--username", USER, "--host"])
            .arg(self.folder())
            .args(["--port", &self.server.port.to_string(), "--schema", "zonda", &self.name])
            .output()
            .expect("pg_dump starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Has a copy be where this one is, and this one be gone.
    pub fn replace(&self, copy: &Scratch) {
        let admin = |sql: String| {
            let (is_fine, said) = self.server.psql("postgres", &sql);
            assert!(is_fine, "{said}");
        };
        admin(format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", self.name));
        admin(format!("DROP DATABASE {} WITH (FORCE)", self.name));
        admin(format!("ALTER DATABASE {} RENAME TO {}", copy.name, self.name));
    }

    /// A connection that stays, such as for a transaction that does.
    pub fn session(&self) -> Session {
        let mut process = Command::new(program("psql"))
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username", USER, "--host"])
            .arg(self.folder())
            .args(["--port", &self.server.port.to_string(), "--dbname", &self.name])
            .env("PGOPTIONS", "-c client_min_messages=warning")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql starts");
        let (stdin, stdout) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        Session { stdin, stdout: BufReader::new(stdout), process }
    }
}

/// A connection of `psql`.
pub struct Session {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    process: Child,
}

impl Session {
    /// Runs statements that say nothing; returns when they are done.
    pub fn sql(&mut self, sql: &str) {
        writeln!(self.stdin, "{sql};\n\\echo done").and_then(|()| self.stdin.flush()).expect("a statement");
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert!(self.stdout.read_line(&mut line).expect("a line") > 0, "{sql}: psql has ended");
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
