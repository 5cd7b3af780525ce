//! A machine without a way out: what clients and the log are told, until there is one.

use std::process::Command;

use zonda_tests::patience::await_or;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, program_command};

use super::internet::{enter, ip, leave};
use super::milliseconds;

/// An address of a root server, which is not there at first.
const ROOT: &str = "198.41.0.4";

fn dig(words: &[&str]) -> String {
    let mut command = Command::new(require("dig", "bind9-dnsutils"));
    command.args(["+time=3", "+tries=1", "-p", "5300", "@127.0.0.1"]).args(words);
    String::from_utf8_lossy(&command.output().expect("the program dig").stdout).into_owned()
}

/// `zonda serve --recursive`, as one tries it first.
#[test]
fn no_way_out_and_one_again() {
    let run = || {
        let Some(namespace) = enter(&[]) else { return };
        let scratch = tempfile::tempdir().expect("a folder");
        let mut command = program_command(&["serve", "--recursive"]);
        command.current_dir(scratch.path());
        let mut resolver = Guarded::spawn(command, scratch.path());
        let log = || std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
        await_or(log, || log().contains("INFO serving "));
        // The scenarios have the exact times; here other tests run beside.
        let said = dig(&["www.example.org"]);
        assert!(milliseconds(&said) < 2_900, "{said}");
        assert!(said.contains("status: SERVFAIL") && said.contains("EDE: 23 (Network Error)"), "{said}");
        await_or(log, || log().contains("WARN no name server has answered for 3 s"));
        assert!(ip(&["address", "add", &format!("{ROOT}/32"), "dev", "lo"]), "an address");
        let other = tempfile::tempdir().expect("a folder");
        let listen = format!("{ROOT}:53");
        let mut root = Guarded::spawn(program_command(&["serve", "--listen", &listen]), other.path());
        // It says that there is no such name; its signatures may have run out.
        await_or(log, || dig(&["none.invalid-for-sure", "+cd"]).contains("status: NXDOMAIN"));
        await_or(log, || log().contains("INFO name servers answer again"));
        assert_eq!(log().matches("no name server has answered").count(), 1, "{}", log());
        root.stop();
        resolver.stop();
        leave(&namespace);
    };
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}
