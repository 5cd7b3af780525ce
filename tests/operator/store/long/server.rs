//! A database of PostgreSQL.

use super::*;
use crate::store::followed::{Home, backend};
use crate::store::postgres::{Bed, server};
use zonda_tests::server::signal;

impl Base for Bed {
    fn sql(&self, sql: &str) -> Result<String, String> {
        self.database.try_sql(&sql.replace('@', "zonda."))
    }

    fn suffer(&self, fault: Fault, round: usize, bench: &Bench<'_>) {
        match fault {
            // It ends all connections, and starts anew by itself.
            Fault::Killed if round.is_multiple_of(2) => {
                signal(backend(self), "KILL");
                await_words(bench.server, &["away for"]);
            }
            Fault::Killed => {
                self.database.stop();
                await_words(bench.server, &["away for"]);
                self.database.start();
            }
            Fault::Slow => {
                let mut session = self.database.session();
                session.sql("BEGIN; LOCK TABLE zonda.version IN ACCESS EXCLUSIVE MODE");
                let text = await_words(bench.server, &["away for"]);
                assert!(text.contains("timeout"), "{text}");
                session.sql("COMMIT");
            }
            Fault::Full => self.fill(bench),
            Fault::PutBack => {
                let dump = self.write(&self.database.dumped());
                bench.lose(self, round);
                self.database.session().sql(&format!(
                    "BEGIN; DROP SCHEMA zonda CASCADE;\n\\i {dump}\nSET search_path = public;\nCOMMIT"
                ));
                bench.confirm(self);
            }
            Fault::Altered => {
                let rename = |from: &str, to: &str| {
                    let sql = format!("ALTER TABLE @version RENAME COLUMN {from} TO {to}");
                    await_that("other tables", || self.sql(&sql).is_ok());
                };
                rename("mark", "other");
                let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'zonda' AND datname = current_database()";
                self.sql(ends).expect("an end");
                await_words(bench.server, &["v.mark does not exist"]);
                rename("other", "mark");
            }
        }
    }
}

impl Bed {
    /// Has one process of the database find no room for what it logs, which ends all of them.
    fn fill(&self, bench: &Bench<'_>) {
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let sql = "UPDATE zonda.record SET ttl = 7 WHERE owner = 'a.z3.test.'";
                self.database.try_sql(&format!("SET application_name = 'full'; SELECT pg_sleep(2); {sql}"))
            });
            let mut pid = String::new();
            await_that("a writer", || {
                let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'full'";
                pid = self.sql(sql).unwrap_or_default();
                !pid.is_empty()
            });
            self.database.limit_files(&pid, 8_192);
            assert!(writing.join().expect("a writer").is_err(), "there was room");
        });
        await_words(bench.server, &["away for", "followed"]);
    }
}

#[test]
#[ignore = "takes two hours"]
fn of_postgresql() {
    let (bed, home) = (Bed::of(server::Scratch::alone()), Home::new());
    let more = format!("statement-timeout-seconds = 1\nremove-max = \"100%\"\n{EACH_LINE}");
    run(&bed, || home.start(&bed.database.address(), &more));
}
