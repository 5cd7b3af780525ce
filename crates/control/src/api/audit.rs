//! The audit: a line of JSON for each ask of a key that would change something, done or refused, and for who signs in and out at the page.
//!
//! ```text
//! ask -> About (who, what, which zone) -> its end, as it is said -> line -> queue -> sink -> file
//! ```
//!
//! No answer waits for it: what finds no room in the queue, or on the disk, is lost, and that is said. Asks with wrong keys have no lines, and of one key no more than sixty refusals a minute do, as
//! strangers and broken programs could else have true lines go with the oldest files. No secrets and no contents. Design: `docs/design/api.md` 11.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use api::frame::{Act, Ask, Asked, What};
use api::path::id;
use observe::sink::{self, Watch};
use observe::{FileBounds, Filler, Output, Sink};
use serde_json::{Value, json};
use wire::Name;
use wire::iana::rtype;
use zone::check::Timestamp;

use super::{Key, Keys};
use crate::command::AuditLine;
use crate::expiry::now;
use crate::settings::Settings;
use crate::text::count;

/// Octets that wait for the file: of changes of one RRset some 5,000.
const QUEUE_OCTETS: usize = 1 << 20;

/// Files are kept as long as there are ten of 64 MiB: some three million changes. Who keeps them longer takes them elsewhere.
const BOUNDS: FileBounds = FileBounds { octets_max: 64 << 20, files_max: 10, free_octets_min: 64 << 20 };

/// RRsets that a line names.
const SETS_TOLD_MAX: usize = 100;

/// Refusals of one key that have lines of their own, in a minute.
const REFUSALS_MAX: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// How long the file is waited for at the end.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// In the place of a key, who has a code: no key has this name.
const OPERATOR: &str = "(operator)";

/// What is told of an ask before it is known what comes of it.
pub(super) struct About {
    key: String,
    address: IpAddr,
    method: &'static str,
    /// One, but for changes of several.
    zones: Vec<String>,
    /// Which RRsets are to be how, and how many more.
    sets: Vec<String>,
    more: usize,
    is_dry: bool,
    /// Its key of repeats.
    repeat: Option<String>,
    since: Instant,
    /// Of each zone before and after, once that is known; of one that was removed meanwhile there are none.
    pub(super) serials: Vec<Option<(u32, u32)>>,
    /// That a zone begins with.
    pub(super) serial: Option<u32>,
}

/// Refusals of a key in this minute.
struct Refusals {
    since: Instant,
    count: u32,
}

/// What becomes of its lines, as others see it.
pub(super) struct Watched {
    output: String,
    watch: Watch,
}

impl Watched {
    pub(super) fn line(&self) -> AuditLine {
        let counts = self.watch.counts();
        AuditLine {
            output: self.output.clone(),
            written: counts.written,
            lost: counts.dropped_at_queue + counts.dropped_at_sink,
            waiting_octets: self.watch.queued_octets() as u64,
            failed: counts.failed,
        }
    }
}

struct Open {
    output: String,
    filler: Filler,
    sink: Sink,
    refusals: HashMap<String, Refusals>,
    /// Lines that were lost, as was said.
    lost: u64,
}

/// See the module. Of the one thread of the API.
#[derive(Default)]
pub(super) struct Audit(RefCell<Option<Open>>);

impl About {
    /// What an ask would change, or who signs in and out with it. `None`: it does neither.
    fn of(keys: &Keys, key: &Key, ask: &Ask<'_>) -> Option<About> {
        let one = |zone: &Name| vec![text(zone)];
        let (method, zones, is_dry) = match &ask.asked {
            Asked::Change { zones, is_dry, .. } => {
                let names: Vec<String> = zones.iter().map(|zone| text(zone.name)).collect();
                (if names.len() == 1 { "PATCH" } else { "changes" }, names, *is_dry)
            }
            Asked::Make { zone, .. } => ("POST", one(zone), false),
            Asked::Set { zone, .. } => ("PUT", one(zone), false),
            Asked::Drop { zone, .. } => ("DELETE", one(zone), false),
            Asked::Act { zone, act: Act::Notify } => ("notify", one(zone), false),
            Asked::Act { zone, .. } => ("axfr-retrieve", one(zone), false),
            Asked::SignIn { .. } => ("in", Vec::new(), false),
            Asked::SignOut => ("out", Vec::new(), false),
            _ => return None,
        };
        let (mut sets, mut more) = (Vec::new(), 0);
        if let Asked::Change { zones, .. } = &ask.asked {
            for set in zones.iter().flat_map(|zone| zone.sets.iter().collect::<Vec<_>>()) {
                match sets.len() < SETS_TOLD_MAX {
                    true => sets.push(format!(
                        "{} {} {}",
                        text(set.owner),
                        rtype::Text(set.rtype),
                        word(set.what)
                    )),
                    false => more += 1,
                }
            }
        }
        let repeat = match &ask.asked {
            Asked::Change { repeat, .. } => repeat.map(str::to_owned),
            _ => None,
        };
        let key = if keys.is_operator(key) { OPERATOR.to_owned() } else { key.settings.name.clone() };
        let since = Instant::now();
        let (address, serials, serial) = (ask.address, Vec::new(), None);
        Some(About { key, address, method, zones, sets, more, is_dry, repeat, since, serials, serial })
    }

    fn line(&self, status: u16, words: &str) -> Value {
        let time = format!("{:#}", Timestamp(u32::try_from(now()).unwrap_or(u32::MAX)));
        let mut line = json!({
            "time": time, "key": self.key, "address": self.address.to_string(), "method": self.method,
            "status": status, "ms": self.since.elapsed().as_millis() as u64,
        });
        let mut put = |name: &str, value: Value| line[name] = value;
        let serials = |zone: usize| self.serials.get(zone).copied().flatten().filter(|_| status < 300);
        match &self.zones[..] {
            [zone] => {
                put("zone", json!(zone));
                serials(0).into_iter().for_each(|(before, after)| put("serials", json!([before, after])));
            }
            [] => {}
            zones => {
                let of = |(number, zone): (usize, &String)| match serials(number) {
                    Some((before, after)) => json!({"zone": zone, "serials": [before, after]}),
                    None => json!({"zone": zone}),
                };
                put("zones", zones.iter().enumerate().map(of).collect());
            }
        }
        if !self.sets.is_empty() {
            put("rrsets", json!(self.sets));
        }
        if self.more > 0 {
            put("more", json!(self.more));
        }
        if self.is_dry {
            put("dry", json!(true));
        }
        if let Some(repeat) = &self.repeat {
            put("repeat", json!(repeat));
        }
        if let (Some(serial), true) = (self.serial, status < 300) {
            put("serial", json!(serial));
        }
        if !words.is_empty() {
            put("why", json!(words));
        }
        line
    }
}

impl Audit {
    /// Opens what settings name.
    pub(super) fn of(settings: &Settings) -> Audit {
        let output = match Output::parse(&settings.api.audit) {
            Some(Output::File(path)) => Output::File(settings.path(&path)),
            _ => return Audit::default(),
        };
        let terms = sink::Terms { name: "api-audit", output, queue_octets: QUEUE_OCTETS, bounds: BOUNDS };
        let open = Sink::of_lines(&terms).map(|(sink, filler)| Open {
            output: terms.output.to_string(),
            filler,
            sink,
            refusals: HashMap::new(),
            lost: 0,
        });
        if let Err(error) = &open {
            tracing::error!(%error, "[api] audit: cannot start a thread: {error}");
        }
        Audit(RefCell::new(open.ok()))
    }

    /// For others. `None`: there is none.
    pub(super) fn watched(&self) -> Option<Watched> {
        let open = self.0.borrow();
        open.as_ref().map(|open| Watched { output: open.output.clone(), watch: open.sink.watch() })
    }

    /// What is to be told of an ask. `None`: nothing.
    pub(super) fn about(&self, keys: &Keys, key: &Key, ask: &Ask<'_>) -> Option<Box<About>> {
        self.0.borrow().as_ref()?;
        About::of(keys, key, ask).map(Box::new)
    }

    /// An ask came to its end.
    pub(super) fn end_of(&self, about: &About, status: u16, words: &str) {
        if let Some(open) = &mut *self.0.borrow_mut()
            && (status < 400 || open.may_refuse(&about.key))
        {
            open.add(&about.line(status, words));
        }
    }

    /// Hands over what is there, and says what was lost.
    pub(super) fn flush(&self) {
        if let Some(open) = &mut *self.0.borrow_mut() {
            open.flush();
        }
    }

    /// Has all of it written, as long as that does not take long.
    pub(super) fn close(&self) {
        if let Some(mut open) = self.0.borrow_mut().take() {
            open.say_refusals(true);
            open.flush();
            open.sink.end(Instant::now() + END_PATIENCE);
        }
    }
}

impl Open {
    fn add(&mut self, line: &Value) {
        self.filler.add(|block| {
            block.extend_from_slice(line.to_string().as_bytes());
            block.push(b'\n');
        });
    }

    fn flush(&mut self) {
        self.say_refusals(false);
        self.filler.flush();
        let counts = self.sink.counts();
        let lost = counts.dropped_at_queue + counts.dropped_at_sink;
        if lost > self.lost {
            let lines = count((lost - self.lost) as usize, "line");
            tracing::error!("[api] audit: {lines} were lost, as they could not be written in time");
            self.lost = lost;
        }
    }

    /// Whether a refusal of this key has a line; those that have none are counted.
    fn may_refuse(&mut self, key: &str) -> bool {
        self.say_refusals(false);
        let refusals = self.refusals.entry(key.to_owned());
        let refusals = refusals.or_insert_with(|| Refusals { since: Instant::now(), count: 0 });
        refusals.count += 1;
        refusals.count <= REFUSALS_MAX
    }

    /// Says how many refusals had no lines, of minutes that are over, or of all.
    fn say_refusals(&mut self, is_all: bool) {
        let is_over = |refusals: &Refusals| is_all || refusals.since.elapsed() >= MINUTE;
        let over: Vec<(String, Refusals)> =
            self.refusals.extract_if(|_, refusals| is_over(refusals)).collect();
        for (key, Refusals { count, .. }) in
            over.into_iter().filter(|(_, refusals)| refusals.count > REFUSALS_MAX)
        {
            self.add(&json!({"key": key, "refusals": count - REFUSALS_MAX}));
        }
    }
}

fn text(name: &Name) -> String {
    let mut text = Vec::new();
    id::put_name(name, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn word(what: What) -> &'static str {
    match what {
        What::Replace => "REPLACE",
        What::Delete => "DELETE",
        What::Extend => "EXTEND",
        What::Prune => "PRUNE",
    }
}
