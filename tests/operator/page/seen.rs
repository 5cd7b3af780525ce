//! What is seen of a page: the accessibility tree, messages, requests, cookies, what is stored; and what is wrong with any page.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::tab::{Tab, exception};

/// What a reader of screens is told of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub role: String,
    pub name: String,
    /// Whether it can have the focus.
    pub is_focusable: bool,
    pub is_focused: bool,
}

/// A line of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `console`, `exception`, `dialog`; the browser's own: `security` (the policy), `network` and others.
    pub source: String,
    /// `error`, `assert`, `warning` and others.
    pub level: String,
    pub text: String,
}

/// What was asked for, also where nothing was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub address: String,
    pub method: String,
    /// As the browser sorts them: `Document`, `Script`, `Fetch`, `Preflight`, `WebSocket` and others.
    pub kind: String,
    /// Of the response.
    pub status: Option<u64>,
    /// Why there is none, or not all of it.
    pub failure: Option<String>,
    pub has_ended: bool,
}

/// A cookie that the page's address is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    pub name: String,
    pub value: String,
    /// As a server sets them: `Path=/; Secure; HttpOnly; SameSite=Strict`, with `Expires` where it outlives the browser.
    pub attributes: String,
}

impl Tab {
    /// All elements, but those that a reader of screens leaves out.
    pub fn nodes(&self) -> Vec<Node> {
        let tree = self.ask("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().expect("nodes").iter();
        let has = |node: &Value, name: &str| {
            let properties = node["properties"].as_array().into_iter().flatten();
            properties.clone().any(|property| property["name"] == name && property["value"]["value"] == true)
        };
        nodes
            .filter(|node| node["ignored"] != true)
            .map(|node| Node {
                role: text(&node["role"]["value"]),
                name: text(&node["name"]["value"]),
                is_focusable: has(node, "focusable"),
                is_focused: has(node, "focused"),
            })
            .collect()
    }

    /// Where the focus is; the document itself (`RootWebArea`) where it is nowhere else.
    pub fn focused(&self) -> Node {
        self.nodes().into_iter().rfind(|node| node.is_focused).unwrap_or_default()
    }

    /// What was written to the console, thrown and not caught, or shown as a dialog.
    pub fn messages(&self) -> Vec<Message> {
        let events = self.events().into_iter();
        let message = |source: &str, level: &str, text: String| {
            Some(Message { source: source.to_owned(), level: level.to_owned(), text })
        };
        let of = |value: &Value| text(value);
        events
            .filter_map(|event| match &*event.method {
                "Runtime.consoleAPICalled" => {
                    let words = event.params["args"].as_array()?.iter().map(|word| match &word["value"] {
                        Value::Null => text(&word["description"]),
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    });
                    message("console", &of(&event.params["type"]), words.collect::<Vec<_>>().join(" "))
                }
                "Runtime.exceptionThrown" => {
                    message("exception", "error", exception(&event.params["exceptionDetails"]))
                }
                "Page.javascriptDialogOpening" => message("dialog", "error", of(&event.params["message"])),
                "Log.entryAdded" => {
                    let entry = &event.params["entry"];
                    let words = format!("{} ({})", of(&entry["text"]), of(&entry["url"]));
                    message(&of(&entry["source"]), &of(&entry["level"]), words)
                }
                _ => None,
            })
            .collect()
    }

    /// What the page, its workers and its frames asked for, in this order; of redirections each.
    pub fn requests(&self) -> Vec<Request> {
        let (mut all, mut places) = (Vec::<Request>::new(), BTreeMap::<String, usize>::new());
        for event in self.events() {
            let (params, id) = (&event.params, text(&event.params["requestId"]));
            let before = places.get(&id).map(|place| &mut all[*place]);
            match (&*event.method, before) {
                ("Network.requestWillBeSent", before) => {
                    if let Some(before) = before {
                        (before.status, before.has_ended) =
                            (params["redirectResponse"]["status"].as_u64(), true);
                    }
                    if params["type"] == "Document" && params["frameId"] == self.frame() {
                        // Of what the page before had begun no end is told.
                        all.iter_mut().for_each(|request| request.has_ended = true);
                    }
                    places.insert(id, all.len());
                    let request = &params["request"];
                    let (address, method) = (text(&request["url"]), text(&request["method"]));
                    all.push(Request { address, method, kind: text(&params["type"]), ..Request::default() });
                }
                // It ends when the page does.
                ("Network.webSocketCreated", _) => all.push(Request {
                    address: text(&params["url"]),
                    kind: "WebSocket".into(),
                    has_ended: true,
                    ..Request::default()
                }),
                ("Network.responseReceived", Some(request)) => {
                    request.status = params["response"]["status"].as_u64();
                }
                ("Network.loadingFinished", Some(request)) => request.has_ended = true,
                ("Network.loadingFailed", Some(request)) => {
                    let words = [&params["errorText"], &params["blockedReason"]].map(text);
                    (request.failure, request.has_ended) = (Some(words.join(" ").trim().to_owned()), true);
                }
                _ => {}
            }
        }
        all
    }

    /// The cookies that the page's address is sent, those too that no script sees.
    pub fn cookies(&self) -> Vec<Cookie> {
        let all = self.ask("Network.getCookies", json!({}));
        let cookie = |cookie: &Value| {
            let mut attributes = format!("Path={}", text(&cookie["path"]));
            for (name, flag) in [("secure", "; Secure"), ("httpOnly", "; HttpOnly")] {
                attributes.push_str(if cookie[name] == true { flag } else { "" });
            }
            if let Some(which) = cookie["sameSite"].as_str() {
                attributes.push_str(&format!("; SameSite={which}"));
            }
            if cookie["session"] != true {
                attributes.push_str("; Expires");
            }
            Cookie { name: text(&cookie["name"]), value: text(&cookie["value"]), attributes }
        };
        all["cookies"].as_array().expect("cookies").iter().map(cookie).collect()
    }

    /// What the page has stored: pairs in `local` and `session`, names in `caches`, `databases`, `workers`.
    pub fn stored(&self) -> Value {
        self.value(
            "(async () => ({
                local: {...localStorage},
                session: {...sessionStorage},
                caches: await caches.keys(),
                databases: (await indexedDB.databases()).map(one => one.name),
                workers: (await navigator.serviceWorker.getRegistrations()).map(one => one.scope),
            }))()",
        )
    }

    /// What a button has copied.
    pub fn copied(&self) -> String {
        text(&self.value("navigator.clipboard.readText()"))
    }

    /// Messages of errors, those about the policy too.
    pub fn errors(&self) -> Vec<Message> {
        self.messages().into_iter().filter(|message| matches!(&*message.level, "error" | "assert")).collect()
    }

    /// What the page's policy forbids, and it did all the same.
    pub fn violations(&self) -> Vec<Message> {
        self.messages().into_iter().filter(|message| message.source == "security").collect()
    }

    /// Requests to anything but this origin, which ends without a slash.
    pub fn foreign(&self, origin: &str) -> Vec<Request> {
        let is_own = |address: &str| address.strip_prefix(origin).is_some_and(|rest| rest.starts_with('/'));
        self.requests().into_iter().filter(|request| !is_own(&request.address)).collect()
    }

    /// Elements that are used, or stand for a picture, and are called nothing.
    pub fn nameless(&self) -> Vec<Node> {
        let has_to_have = |node: &Node| match &*node.role {
            // The document has its title, and who goes past the head of a page is told what comes first.
            "RootWebArea" | "main" => false,
            "image" | "dialog" | "alertdialog" => true,
            _ => node.is_focusable,
        };
        self.nodes().into_iter().filter(|node| node.name.trim().is_empty() && has_to_have(node)).collect()
    }

    /// Elements beyond the right edge, where the page is wider than the window.
    pub fn wider(&self) -> Vec<String> {
        let found = self.value(
            "(() => {
                if (document.documentElement.scrollWidth <= innerWidth) return [];
                const all = [...document.querySelectorAll('body *')];
                const wide = all.filter(one => one.getBoundingClientRect().right > innerWidth);
                return ['the page', ...wide.map(one => one.outerHTML.slice(0, 100))];
            })()",
        );
        found.as_array().expect("elements").iter().map(text).collect()
    }

    /// What holds for each page, whatever it shows: no error, no violation of its policy, no request but to its origin, nothing wider than the
    /// window, no control without a name.
    #[track_caller]
    pub fn assert_sound(&self, origin: &str) {
        self.settle();
        assert_eq!(self.violations(), [], "violations of the policy");
        assert_eq!(self.errors(), [], "errors");
        assert_eq!(self.foreign(origin), [], "requests elsewhere");
        assert_eq!(self.wider(), [""; 0], "wider than the window");
        assert_eq!(self.nameless(), [], "without a name");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
