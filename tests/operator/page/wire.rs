//! Commands to a browser and what it says, over two pipes with names: JSON, each message ended by a NUL (Chrome DevTools Protocol).
//!
//! ```text
//! tests -- ask --> `commands` --> descriptor 3 of the browser
//! tests <-- replies, by number; events, by session <-- thread `listen` <-- `news` <-- descriptor 4
//! ```
//!
//! The thread lets go on by itself what waits for somebody: workers and frames, once what they ask for is told, and dialogs.
//! It ends with the browser; then whoever waits is told so.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use serde_json::{Value, json};
use zonda_tests::patience::PATIENCE;

/// What a session tells of itself: of pages, and of their workers and frames.
pub const TOLD: [&str; 3] = ["Network.enable", "Runtime.enable", "Log.enable"];

/// As much as a pipe takes at once. More would wait for a browser that hangs.
const COMMAND_OCTETS_MAX: usize = 65_536;

/// How much of the browser's log is shown.
const LOG_LINES: usize = 20;

/// The line to a browser.
pub struct Wire {
    commands: Mutex<File>,
    /// Of the last command.
    number: AtomicU64,
    heard: Mutex<Heard>,
    news: Condvar,
    /// What the browser writes to standard error.
    log: PathBuf,
}

#[derive(Default)]
pub struct Heard {
    /// By number of the command; `None`: is waited for.
    replies: HashMap<u64, Option<Value>>,
    pub events: Vec<Event>,
    /// The page's session of each session of a worker or frame.
    pages: HashMap<String, String>,
    has_ended: bool,
}

/// What a page, its workers and its frames told.
#[derive(Clone, Debug)]
pub struct Event {
    /// Of the page; empty: of the browser.
    pub session: String,
    pub method: String,
    pub params: Value,
}

impl Wire {
    /// Over the ends of two pipes whose other ends the browser has.
    pub fn new(commands: File, news: File, log: PathBuf) -> Arc<Wire> {
        let wire = Arc::new(Wire {
            commands: Mutex::new(commands),
            number: AtomicU64::new(0),
            heard: Mutex::default(),
            news: Condvar::new(),
            log,
        });
        let own = Arc::clone(&wire);
        std::thread::spawn(move || own.listen(news));
        wire
    }

    /// Has a command carried out, and returns its result. `session`: of a page; empty: the browser's own.
    pub fn ask(&self, session: &str, method: &str, params: Value) -> Result<Value, String> {
        let number = self.next_number();
        self.change(|heard| heard.replies.insert(number, None));
        let sent = self.send(number, session, method, params);
        let found = sent.and_then(|()| self.find(method, |heard| heard.replies.get_mut(&number)?.take()));
        self.change(|heard| heard.replies.remove(&number));
        let mut reply = found?;
        match reply.get("error") {
            Some(error) => Err(format!("{method}: {error}")),
            None => Ok(reply["result"].take()),
        }
    }

    /// Sends a command whose reply nobody waits for.
    pub fn tell(&self, session: &str, method: &str, params: Value) -> Result<(), String> {
        self.send(self.next_number(), session, method, params)
    }

    /// Waits until this is found in what was heard. `what`: for whoever reads that it was not.
    pub fn find<T>(&self, what: &str, mut find: impl FnMut(&mut Heard) -> Option<T>) -> Result<T, String> {
        let until = Instant::now() + PATIENCE;
        let mut heard = self.heard.lock().expect("nobody panics with it");
        loop {
            if let Some(found) = find(&mut heard) {
                return Ok(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if heard.has_ended || left.is_zero() {
                return Err(self.in_vain(what, heard.has_ended));
            }
            (heard, _) = self.news.wait_timeout(heard, left).expect("nobody panics with it");
        }
    }

    /// Looks at what was heard, or alters it.
    pub fn change<T>(&self, change: impl FnOnce(&mut Heard) -> T) -> T {
        change(&mut self.heard.lock().expect("nobody panics with it"))
    }

    fn in_vain(&self, what: &str, has_ended: bool) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        let why = if has_ended { "the browser has ended" } else { "it did not come" };
        format!("waited for {what}: {why}; the browser said:\n{tail}")
    }

    fn next_number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    fn send(&self, number: u64, session: &str, method: &str, params: Value) -> Result<(), String> {
        let mut command = json!({"id": number, "method": method, "params": params});
        if !session.is_empty() {
            command["sessionId"] = session.into();
        }
        let mut octets = command.to_string().into_bytes();
        octets.push(0);
        assert!(octets.len() <= COMMAND_OCTETS_MAX, "{method} with {} octets", octets.len());
        let sent = self.commands.lock().expect("nobody panics with it").write_all(&octets);
        sent.map_err(|_| self.in_vain(method, true))
    }

    /// Hears the browser until it ends.
    fn listen(&self, news: File) {
        for message in BufReader::new(news).split(0).map_while(Result::ok) {
            // What was cut off by the end of the browser is none.
            let Ok(message) = serde_json::from_slice::<Value>(&message) else { break };
            self.take(message);
            self.news.notify_all();
        }
        self.change(|heard| heard.has_ended = true);
        self.news.notify_all();
    }

    fn take(&self, mut message: Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(number) = message["id"].as_u64() {
            return self.change(|heard| {
                if let Some(place) = heard.replies.get_mut(&number) {
                    *place = Some(message);
                }
            });
        }
        let (session, method) = (text(&message["sessionId"]), text(&message["method"]));
        let params = message["params"].take();
        // Sent to a browser that has just ended they are for nobody.
        let tell = |session: &str, method: &str, params: Value| drop(self.tell(session, method, params));
        let child = text(&params["sessionId"]);
        let page = self.change(|heard| {
            let page = heard.pages.get(&session).unwrap_or(&session).clone();
            if method == "Target.attachedToTarget" && !session.is_empty() {
                heard.pages.insert(child.clone(), page.clone());
            }
            heard.events.push(Event { session: page.clone(), method: method.clone(), params });
            page
        });
        match &*method {
            "Target.attachedToTarget" if !page.is_empty() => {
                for method in TOLD.into_iter().chain(["Runtime.runIfWaitingForDebugger"]) {
                    tell(&child, method, json!({}));
                }
            }
            "Page.javascriptDialogOpening" => {
                tell(&session, "Page.handleJavaScriptDialog", json!({"accept": true}))
            }
            _ => {}
        }
    }
}
