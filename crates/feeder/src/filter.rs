//! System calls that the process gives up, by [`calls`]: what SQLite and a connection to a database do not need ends it.

use std::io;

use calls::{Left, Refusal, Sockets};

/// Refuses them to this thread, and to no other: there is no other. Says whether the kernel sees to that.
pub(crate) fn refuse(sockets: Sockets) -> io::Result<bool> {
    calls::refuse(Left { sockets, files: true, refusal: Refusal::Ends })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Output};

    use rusqlite::Connection;
    use rustix::process::{Resource, Rlimit, setrlimit};

    /// SIGSYS: by which the kernel ends who calls what is refused.
    const SIGSYS: i32 = 31;
    /// What the processes below are to do, and in which folder.
    const VARIABLES: [&str; 2] = ["ZONDA_FEED_FILTER", "ZONDA_FEED_FOLDER"];

    /// Has a process of its own do something, as what is refused ends it.
    fn run(act: &str) -> Output {
        let program = std::env::current_exe().unwrap();
        let arguments = ["--exact", "filter::tests::of_another_process", "--ignored", "--nocapture"];
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env(VARIABLES[0], act).env(VARIABLES[1], folder.path());
        // As the server has it.
        command.env("SQLITE_TMPDIR", folder.path()).output().unwrap()
    }

    #[test]
    fn a_database_is_read_and_written() {
        let ended = run("sqlite");
        assert!(ended.status.success(), "{ended:?}");
    }

    #[test]
    fn its_own_sockets_are_left() {
        for act in ["tcp-of-tcp", "unix-of-unix"] {
            let ended = run(act);
            assert!(ended.status.success(), "{act}: {ended:?}");
        }
    }

    #[test]
    fn what_is_not_needed_ends_it() {
        for act in [
            "program",
            "tcp",
            "unix",
            "udp",
            "udp-of-tcp",
            "unix-of-tcp",
            "tcp-of-unix",
            "listen-of-tcp",
            "folder",
            "rename",
            "thread",
            "kill",
        ] {
            let ended = run(act);
            assert_eq!(ended.status.signal(), Some(SIGSYS), "{act}: {ended:?}");
        }
    }

    #[test]
    #[ignore = "run by the others, as it ends the process"]
    fn of_another_process() {
        let Ok(act) = std::env::var(VARIABLES[0]) else { return };
        let path = std::path::PathBuf::from(std::env::var_os(VARIABLES[1]).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let socket = path.join("socket");
        let _unix = UnixListener::bind(&socket).unwrap();
        let sockets = match act.rsplit_once("-of-") {
            Some((_, "tcp")) => Sockets::Tcp,
            Some((_, "unix")) => Sockets::Unix,
            _ => Sockets::None,
        };
        // Its end is meant, and leaves no image of it.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).unwrap();
        if !refuse(sockets).unwrap() {
            eprintln!("this kernel has no filter of system calls");
            return;
        }
        match act.split("-of-").next().unwrap() {
            "sqlite" => sqlite(&path.join("zones.db")),
            "program" => drop(Command::new("/bin/true").status()),
            "tcp" => drop(TcpStream::connect(at).unwrap()),
            "unix" => drop(UnixStream::connect(&socket).unwrap()),
            "udp" => drop(UdpSocket::bind("127.0.0.1:0")),
            "listen" => drop(TcpListener::bind("127.0.0.1:0")),
            "folder" => drop(std::fs::create_dir(path.join("x"))),
            "rename" => drop(std::fs::rename(&path, path.join("x"))),
            "thread" => drop(std::thread::spawn(|| ())),
            "kill" => drop(rustix::process::test_kill_process(rustix::process::getpid())),
            other => panic!("{other}"),
        }
    }

    /// All that a feeder does with a file: another journal, transactions that have no room in memory, what is beside the file, checkpoints, a file that is cut off.
    fn sqlite(path: &std::path::Path) {
        let store = store::Store::create(path).unwrap();
        drop(store);
        let mut database = Connection::open(path).unwrap();
        database.pragma_update(None, "cache_size", 10).unwrap();
        database.pragma_update(None, "temp_store", "FILE").unwrap();
        let transaction = database.transaction().unwrap();
        transaction.execute_batch("CREATE TABLE large (x); CREATE TEMP TABLE aside (x);").unwrap();
        let series = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20000)";
        for table in ["large", "aside"] {
            let sql = format!("INSERT INTO {table} {series} SELECT randomblob(300) FROM s");
            transaction.execute_batch(&sql).unwrap();
        }
        let sorted: i64 = transaction
            .query_row("SELECT count(*) FROM (SELECT x FROM large ORDER BY x DESC)", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sorted, 20_000);
        transaction.commit().unwrap();
        database.execute_batch("DELETE FROM large; PRAGMA wal_checkpoint(TRUNCATE); VACUUM;").unwrap();
        database
            .execute_batch(
                "PRAGMA journal_mode = DELETE; INSERT INTO large VALUES (1); PRAGMA journal_mode = WAL;",
            )
            .unwrap();
        let other = Connection::open(path).unwrap();
        let count: i64 = other.query_row("SELECT count(*) FROM large", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1);
    }
}
