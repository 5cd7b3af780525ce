//! Debian's Chromium without a window, by `--remote-debugging-pipe`: one browser, which is one person. It reaches no other machine.
//!
//! Redirections of a shell give it two pipes with names as descriptors 3 and 4. It ends with its [`Browser`] and the tabs of that: it is asked to,
//! and then whatever is left of its group of processes is killed. With the test program it ends as nobody writes to its pipe any more.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;
use zonda_tests::patience::await_that;
use zonda_tests::server::Guarded;
use zonda_tests::server::peers::require;

use super::tab::Tab;
use super::wire::Wire;

/// A shell opens the pipes, says so, and becomes the browser: the first of a group of processes of its own, with its scratch files in the same folder.
const SHELL: &str = r#"
cd "$1"; shift
export TMPDIR="$PWD" HOME="$PWD"
exec 3<commands 4>news
: >is-open
exec setsid "$@"
"#;

/// What is the same each time. Names and addresses but these two lead nowhere; WebRTC, which does not look there, is kept in by the next.
const OPTIONS: [&str; 6] = [
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-gpu",
    // Containers have 64 MiB of shared memory, which a page may fill.
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
];

/// How long an end in order may take: a tenth of a second on a machine that does nothing else. One that hangs is killed behind it.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// A running browser. Its tabs hold it too.
pub struct Browser {
    pub wire: Arc<Wire>,
    /// Leads the group of its processes.
    process: Guarded,
    _scratch: TempDir,
}

impl Browser {
    /// Starts a browser that knows nothing yet. Panics where it does not come up.
    pub fn start() -> Arc<Browser> {
        let scratch = tempfile::Builder::new().prefix("zonda-browser-").tempdir().expect("a scratch folder");
        let path = |name: &str| scratch.path().join(name);
        // Opened for both directions they wait for nobody; held until the browser has its own ends, as before that each would seem closed.
        let held = ["commands", "news"].map(|name| {
            mknodat(CWD, path(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
            File::options().read(true).write(true).open(path(name)).expect("a pipe")
        });
        let commands = File::options().write(true).open(path("commands")).expect("a pipe");
        let news = File::open(path("news")).expect("a pipe");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SHELL, "browser"]).arg(scratch.path());
        command.arg(require("chromium-headless-shell", "chromium-headless-shell")).args(OPTIONS);
        command.arg(format!("--user-data-dir={}", path("profile").display()));
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        let process = Guarded::spawn(command, scratch.path());
        await_that("the pipes of the browser", || path("is-open").exists());
        drop(held);
        let wire = Wire::new(commands, news, path("log"));
        let browser = Arc::new(Browser { wire, process, _scratch: scratch });
        browser.ask("Browser.getVersion", json!({}));
        browser
    }

    /// A new tab, which shares cookies and what is stored with all others of this kind.
    pub fn tab(self: &Arc<Self>) -> Tab {
        self.tab_in(&Value::Null)
    }

    /// A new tab that shares nothing with others: of somebody else.
    pub fn tab_apart(self: &Arc<Self>) -> Tab {
        self.tab_in(&self.ask("Target.createBrowserContext", json!({}))["browserContextId"])
    }

    fn tab_in(self: &Arc<Self>, context: &Value) -> Tab {
        let ask = |method: &str, mut params: Value| {
            if !context.is_null() {
                params["browserContextId"] = context.clone();
            }
            self.ask(method, params)
        };
        // Else what a button copies is refused, as nobody is there to be asked.
        let clipboard = json!(["clipboardReadWrite", "clipboardSanitizedWrite"]);
        ask("Browser.grantPermissions", json!({"permissions": clipboard}));
        let target = ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].take();
        let session = self.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        let text = |value: &Value| value.as_str().expect("a name").to_owned();
        Tab::new(Arc::clone(self), text(&session["sessionId"]), text(&target))
    }

    /// Kills all of it.
    pub fn kill(&self) {
        let group = format!("-{}", self.group());
        let mut kill = Command::new("kill");
        // Mostly there is none any more, of which it would tell.
        kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status().expect("the program kill");
    }

    /// The number of the group of its processes.
    pub fn group(&self) -> u32 {
        self.process.pid()
    }

    fn ask(&self, method: &str, params: Value) -> Value {
        self.wire.ask("", method, params).unwrap_or_else(|words| panic!("{words}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if self.wire.tell("", "Browser.close", json!({})).is_ok() {
            self.process.wait(CLOSE_WAIT);
        }
        self.kill();
    }
}
