//! Answers as JSON, in the form of PowerDNS.
//!
//! Each function appends to a buffer that its caller sends and empties as it likes: of a zone of a million records, or of a million zones, no more is in memory than one
//! piece of the answer and what it became.

mod explained;
mod found;
mod outcome;
mod session;
mod zone;

pub use explained::Explained;
pub use found::{Found, History, Keys, Numbers};
pub use outcome::{Outcomes, Undone, undone};
pub use session::session;
pub use zone::{Rows, Sets, Zone, url};

use wire::Name;

use crate::path::{Empty, id};

/// Where everything of PowerDNS's API is.
const SERVER: &str = "/api/v1/servers/localhost";

/// The version of PowerDNS whose API is meant; clients compare its numbers.
const POWERDNS: &str = "5.1.0";

/// Appends a text in quotes.
fn text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends what `print` appends, which is ASCII, in quotes.
fn quoted(out: &mut Vec<u8>, print: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    print(out);
    let printed = out.split_off(begin);
    text(&String::from_utf8_lossy(&printed), out);
}

fn name(name: &Name, out: &mut Vec<u8>) {
    quoted(out, |out| id::put_name(name, out));
}

/// Appends `"key":`, after a comma unless an object begins: what stood before may have been sent.
fn key(key: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    text(key, out);
    out.push(b':');
}

fn raw(name: &str, value: &str, out: &mut Vec<u8>) {
    key(name, out);
    out.extend_from_slice(value.as_bytes());
}

fn string(name: &str, value: &str, out: &mut Vec<u8>) {
    key(name, out);
    text(value, out);
}

fn number(name: &str, value: impl Into<u64>, out: &mut Vec<u8>) {
    raw(name, &value.into().to_string(), out);
}

fn flag(name: &str, value: bool, out: &mut Vec<u8>) {
    raw(name, if value { "true" } else { "false" }, out);
}

/// Begins an item of a list that `begin` begins.
fn item(count: &mut usize, begin: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(if *count == 0 { begin.as_bytes() } else { b"," });
    *count += 1;
}

fn close(count: usize, begin: &str, end: &str, out: &mut Vec<u8>) {
    if count == 0 {
        out.extend_from_slice(begin.as_bytes());
    }
    out.extend_from_slice(end.as_bytes());
}

/// What is wrong: `error`, and `errors` where there are some.
pub fn error(words: &str, faults: &[String], out: &mut Vec<u8>) {
    open_error(words, faults, out);
    out.push(b'}');
}

/// The same without its closing brace.
fn open_error(words: &str, faults: &[String], out: &mut Vec<u8>) {
    out.push(b'{');
    string("error", words, out);
    texts("errors", faults, out);
}

/// A list of texts, if there are some.
fn texts(name: &str, texts: &[String], out: &mut Vec<u8>) {
    if !texts.is_empty() {
        key(name, out);
        let _ = serde_json::to_writer(&mut *out, texts);
    }
}

/// Versions of the API.
pub fn versions(out: &mut Vec<u8>) {
    out.extend_from_slice(b"[{\"version\":1,\"url\":\"/api/v1\"}]");
}

/// This server; `program`: the version of the program, numbers and dots.
pub fn server(program: &str, out: &mut Vec<u8>) {
    out.push(b'{');
    string("type", "Server", out);
    string("id", "localhost", out);
    string("daemon_type", "authoritative", out);
    string("version", &format!("{POWERDNS}-zonda.{program}"), out);
    string("url", SERVER, out);
    string("config_url", &format!("{SERVER}/config{{/config_setting}}"), out);
    string("zones_url", &format!("{SERVER}/zones{{/zone}}"), out);
    out.push(b'}');
}

/// All servers.
pub fn servers(program: &str, out: &mut Vec<u8>) {
    out.push(b'[');
    server(program, out);
    out.push(b']');
}

/// Lists that are empty here.
pub fn empty(list: Empty, out: &mut Vec<u8>) {
    out.extend_from_slice(match list {
        Empty::List => b"[]",
        Empty::Views => b"{\"views\":[]}",
        Empty::Networks => b"{\"networks\":[]}",
    });
}

/// That nothing was to be thrown away.
pub fn flushed(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"count\":0,\"result\":\"Flushed cache.\"}");
}

/// What was done with a zone.
pub fn acted(words: &str, out: &mut Vec<u8>) {
    out.push(b'{');
    string("result", words, out);
    out.push(b'}');
}
