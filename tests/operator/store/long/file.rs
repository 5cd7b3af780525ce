//! A file of SQLite.

use std::io::Write;
use std::process::{Child, Stdio};

use super::*;
use crate::store::served::{Bed, feeder};
use zonda_tests::server::signal;

/// How long who writes waits for others, in milliseconds.
const WAIT: &str = "10000";
/// How long somebody holds the file: longer than the feeder waits for that.
const HELD: Duration = Duration::from_millis(1_500);

impl Base for Bed {
    fn sql(&self, sql: &str) -> Result<String, String> {
        let said = self.store.sqlite3(&format!("PRAGMA busy_timeout = {WAIT}; {}", sql.replace('@', "")));
        // What the first statement says comes first.
        let came = said.output.trim_end().trim_start_matches(WAIT).trim_start();
        if said.status == 0 { Ok(came.to_owned()) } else { Err(said.errors) }
    }

    fn suffer(&self, fault: Fault, round: usize, bench: &Bench<'_>) {
        match fault {
            // Who writes, with a transaction that is half, and now and then the feeder.
            Fault::Killed => {
                let mut holder = self.hold();
                holder.kill().and_then(|()| holder.wait()).expect("its end");
                if round % 20 == 19 {
                    let pid = feeder(bench.server);
                    signal(pid, "KILL");
                    await_that("another feeder", || feeder(bench.server) != pid);
                }
            }
            Fault::Slow => {
                let mut holder = self.hold();
                std::thread::sleep(HELD);
                drop(holder.stdin.take());
                holder.wait().expect("its end");
            }
            Fault::Full => {
                let pid = feeder(bench.server).to_string();
                let limit = |limit: &str| {
                    let status = Command::new("prlimit").args(["--pid", &pid, limit]).status();
                    assert!(status.expect("prlimit").success());
                };
                limit("--fsize=1:unlimited");
                await_words(bench.server, &["away for"]);
                assert_eq!(feeder(bench.server).to_string(), pid, "the same one");
                limit("--fsize=unlimited:unlimited");
            }
            Fault::PutBack => {
                let copy = self.store.path("copy.db");
                let _ = std::fs::remove_file(&copy);
                self.sql(&format!("VACUUM INTO '{}'", text(&copy))).expect("a copy");
                bench.lose(self, round);
                {
                    let _nobody = bench.writing.lock().expect("nobody has failed");
                    for name in ["zones.db-wal", "zones.db-shm"] {
                        let _ = std::fs::remove_file(self.store.path(name));
                    }
                    std::fs::rename(copy, self.store.path("zones.db")).expect("the copy in its place");
                }
                bench.confirm(self);
            }
            Fault::Altered => {
                let rename = |from: &str, to: &str| {
                    let sql = format!("ALTER TABLE version RENAME COLUMN {from} TO {to}");
                    await_that("other tables", || self.sql(&sql).is_ok());
                };
                rename("mark", "other");
                await_words(bench.server, &["no such column"]);
                rename("other", "mark");
            }
        }
    }
}

impl Bed {
    /// Somebody who has begun to write, and says no more.
    fn hold(&self) -> Child {
        let mut holder = Command::new("sqlite3")
            .arg(self.store.store())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program sqlite3");
        let sql = ".timeout 10000\nBEGIN IMMEDIATE;\nUPDATE record SET ttl = 9 WHERE owner = 'a.z5.test.';\nSELECT 'held';\n";
        holder.stdin.as_mut().expect("a pipe").write_all(sql.as_bytes()).expect("statements");
        let mut said = String::new();
        let stdout = holder.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).expect("a line");
        assert_eq!(said.trim(), "held");
        holder
    }
}

#[test]
#[ignore = "takes half an hour"]
fn of_sqlite() {
    let bed = Bed::new(Scratch::new());
    run(&bed, || bed.start(&format!("remove-max = \"100%\"\n{EACH_LINE}")));
}
