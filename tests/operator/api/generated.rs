//! Requests made from the description, most of them as it says and some not: whatever they are, the answers are as it says, and the server goes on.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use zonda_tests::mutate::Random;

use super::client::Client;
use super::described::{operations, resolved};
use super::{Bed, await_child, new_key};

/// With a debug build some five seconds.
const REQUESTS: usize = 4_000;
/// One in so many values is not as its schema says.
const ODD: usize = 28;
/// References to references, and lists of lists.
const DEPTH_MAX: usize = 8;

/// What stands in fields and parameters of some names, so that most requests mean something.
const HINTS: [(&str, &[&str]); 12] = [
    ("zone_id", &["a.test.", "a.test.", "b.test.", "m1.made.test.", "m2.made.test.", "other.", "none.test."]),
    ("name", &["www.a.test.", "x.a.test.", "a.test.", "m1.made.test.", "m2.made.test.", "*.a.test."]),
    ("zone", &["a.test.", "b.test.", "m1.made.test."]),
    ("rrset_name", &["www.a.test.", "a.test."]),
    ("rrset_type", &["A", "SOA"]),
    ("type", &["A", "TXT", "NS", "SOA", "AAAA"]),
    ("content", &["192.0.2.1", "192.0.2.7", "\"text\"", "2001:db8::1", "ns.a.test."]),
    ("nameservers", &["ns1.example.", "ns2.example."]),
    ("q", &["*a*", "www*", "192.0.2.?"]),
    ("after", &["a.test.", "www.a.test.", ""]),
    ("If-Match", &["*", "\"1-0\"", "\"2-1\""]),
    ("Idempotency-Key", &["one", "two", "three", "four"]),
];

/// What is a text, and little else.
const TEXTS: [&str; 16] = [
    "",
    ".",
    "a..b",
    "www.a.test",
    "\\000.test.",
    "=2e",
    "%2e",
    "\u{e9}.test.",
    "'; drop",
    "\u{202e}txet",
    "*",
    "-1",
    "99999999999999999999",
    "true",
    "null",
    "{}",
];

struct Maker(Random);

impl Maker {
    fn is_odd(&mut self) -> bool {
        self.0.one_in(ODD)
    }

    fn text(&mut self, name: &str) -> String {
        let known = HINTS.iter().find(|(known, _)| *known == name).map(|(_, texts)| *texts);
        match known.filter(|_| !self.is_odd()) {
            Some(texts) => texts[self.0.below(texts.len())].to_owned(),
            None if self.0.one_in(20) => "x".repeat(self.0.below(3_000)),
            None => TEXTS[self.0.below(TEXTS.len())].to_owned(),
        }
    }

    fn number(&mut self, schema: &Value) -> Value {
        let (least, most) = (schema["minimum"].as_u64().unwrap_or(0), schema["maximum"].as_u64());
        let all = [least, least + 1, 60, 3_600, most.unwrap_or(1 << 31)];
        let odd =
            [json!(-1), json!(1_u64 << 32), json!(u64::MAX), json!(1.5), json!(most.map(|most| most + 1))];
        if self.is_odd() { odd[self.0.below(odd.len())].clone() } else { all[self.0.below(all.len())].into() }
    }

    /// A value by a schema, of the field or parameter of this name.
    fn value(&mut self, schema: &'static Value, name: &str, depth: usize) -> Value {
        let schema = resolved(schema);
        if self.0.one_in(3 * ODD) || depth > DEPTH_MAX {
            return [json!(null), json!(7), json!("x"), json!([]), json!({}), json!(false)][self.0.below(6)]
                .clone();
        }
        if let Some(all) = schema.get("oneOf").or_else(|| schema.get("enum")).and_then(Value::as_array) {
            let one = &all[self.0.below(all.len())];
            return if schema.get("enum").is_some() { one.clone() } else { self.value(one, name, depth + 1) };
        }
        if let Some(one) = schema.get("const") {
            return one.clone();
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.as_str().into_iter().collect(),
        };
        match kinds.get(self.0.below(kinds.len().max(1))).copied().unwrap_or("string") {
            "integer" => self.number(schema),
            "boolean" => json!(self.0.below(2) == 0),
            "null" => json!(null),
            "array" => {
                let count = [1, 1, 2, 3, 0][self.0.below(5)];
                (0..count).map(|_| self.value(&schema["items"], name, depth + 1)).collect()
            }
            "object" => self.object(schema, depth),
            _ => json!(self.text(name)),
        }
    }

    fn object(&mut self, schema: &'static Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let is_there = if is_required(name) { !self.is_odd() } else { self.0.below(3) == 0 };
            if is_there {
                object.insert(name.clone(), self.value(schema, name, depth + 1));
            }
        }
        if self.is_odd() {
            object.insert(self.text("name"), json!("more"));
        }
        Value::Object(object)
    }

    /// A parameter as it is written.
    fn parameter(&mut self, parameter: &'static Value) -> (&'static str, String) {
        let name = parameter["name"].as_str().expect("a name");
        let text = match self.value(&parameter["schema"], name, 0) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        (name, text)
    }
}

/// As it stands in a path or a query.
fn encoded(text: &str) -> String {
    let octet = |octet: u8| match octet {
        octet if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) => char::from(octet).to_string(),
        octet => format!("%{octet:02x}"),
    };
    text.bytes().map(octet).collect()
}

#[test]
fn whatever_is_asked_is_answered_as_described() {
    let mut bed = Bed::new();
    let (hash, secret) = new_key("client");
    bed.keys += &format!(
        "\n[[api-key]]\nname = \"client\"\nhash = {hash}\nverbs = [\"read\", \"change\", \"act\", \"make\", \"set\", \"drop\", \"explain\", \"server\", \"observe\"]\n\
         zones = \"*.test.\"\nrules = \"grant zonesub ANY\"\n"
    );
    let fixture = bed.start();
    let child = await_child(&fixture);
    let seed = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut maker, operations) = (Maker(Random::new(seed)), operations());
    let mut statuses: BTreeMap<(&str, u16), usize> = BTreeMap::new();
    let mut client = None;
    for number in 0..REQUESTS {
        let mut operation = &operations[maker.0.below(operations.len())];
        // Most of what can be asked for has no body, or is not to be had.
        if operation.body.is_none() && maker.0.below(3) > 0 {
            operation = &operations[maker.0.below(operations.len())];
        }
        let (mut path, mut query, mut heads) = (operation.path.to_owned(), Vec::new(), String::new());
        for parameter in &operation.parameters {
            let place = parameter["in"].as_str().expect("a place");
            if place != "path" && maker.0.below(3) > 0 {
                continue;
            }
            let (name, text) = maker.parameter(parameter);
            match place {
                // These are no part of a path (RFC 3986 3.3, 5.2.4).
                "path" if matches!(&*text, "" | "." | "..") => {
                    path = path.replace(&format!("{{{name}}}"), "=2E")
                }
                "path" => path = path.replace(&format!("{{{name}}}"), &encoded(&text)),
                "query" => query.push(format!("{}={}", encoded(name), encoded(&text))),
                // Heads have no lines, and no letters but those of ASCII.
                _ => {
                    heads +=
                        &format!("{name}: {}\r\n", text.replace(|one: char| !(' '..='~').contains(&one), ""))
                }
            }
        }
        let body = operation.body.map_or_else(String::new, |schema| maker.value(schema, "", 0).to_string());
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let method = operation.method.to_uppercase();
        let mut connection = client.take().unwrap_or_else(|| Client::new(fixture.at).expect("a connection"));
        let asked = format!("seed {seed}, request {number}: {method} {path} {heads:?} {body}");
        // It looks at the answer itself. One that ends the connection is answered all the same.
        let reply = connection.ask(&method, &path, &secret, &heads, &body);
        let reply = reply.unwrap_or_else(|| panic!("no answer: {asked}\n{}", fixture.server.log()));
        assert!(reply.status < 500 || reply.status == 503 || reply.status == 504, "{asked}: {reply:?}");
        *statuses.entry((operation.method, reply.status)).or_default() += 1;
        client = (reply.header("connection") != Some("close")).then_some(connection);
    }
    eprintln!("{statuses:?}");
    // Enough of them meant something.
    for met in [
        ("get", 200),
        ("post", 201),
        ("post", 200),
        ("patch", 204),
        ("put", 204),
        ("delete", 204),
        ("patch", 422),
    ] {
        assert!(statuses.contains_key(&met), "{met:?}: {statuses:?}");
    }
    assert_eq!(fixture.child(), Some(child), "the process of before\n{}", fixture.server.log());
    assert_eq!(fixture.get("/zones/other.", &secret).status, 404);
    assert!(fixture.server.log().lines().all(|line| !line.contains("panicked")), "{}", fixture.server.log());
}
