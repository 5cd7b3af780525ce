//! A client of the API over one kept connection, which believes nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::described;

/// How long a reply may take.
const REPLY_WAIT: Duration = Duration::from_secs(20);

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub text: String,
}

impl Reply {
    /// One that nobody sent.
    pub fn new(status: u16, headers: &[(&str, &str)], text: &str) -> Reply {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Reply { status, headers: headers.collect(), text: text.to_owned() }
    }

    /// All headers, their names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What it says, as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A serial of one of its headers.
    pub fn serial(&self, name: &str) -> u32 {
        self.header(name).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }
}

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    at: SocketAddr,
}

impl Client {
    /// `None`: nobody is there.
    pub fn new(at: SocketAddr) -> Option<Client> {
        let stream = TcpStream::connect(at).ok()?;
        stream.set_read_timeout(Some(REPLY_WAIT)).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Client { stream: BufReader::new(stream), at })
    }

    /// Asks with a key. `headers`: lines, each with its end. `None`: the connection ended.
    pub fn ask(&mut self, method: &str, path: &str, key: &str, headers: &str, body: &str) -> Option<Reply> {
        let at = self.at;
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let key = if key.is_empty() { String::new() } else { format!("X-API-Key: {key}\r\n") };
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\n{key}{headers}{length}\r\n");
        self.send(format!("{head}{body}").as_bytes(), method == "HEAD")
    }

    /// Asks, and does not wait for what comes of it.
    pub fn begin_get(&mut self, path: &str, key: &str) {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\n\r\n", self.at);
        self.begin(head.as_bytes());
    }

    /// Sends octets, and reads nothing.
    pub fn begin(&mut self, octets: &[u8]) {
        // Whoever is refused may be so before all is sent.
        let _ = self.stream.get_mut().write_all(octets);
    }

    /// Sends octets, and reads a reply, which has to be as the API is described.
    pub fn send(&mut self, octets: &[u8], is_head: bool) -> Option<Reply> {
        self.begin(octets);
        let reply = self.read(is_head)?;
        described::check(octets, &reply, is_head);
        Some(reply)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.stream.read_line(&mut line).ok()?;
        (count > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    fn read(&mut self, is_head: bool) -> Option<Reply> {
        let mut status = 100;
        let mut headers = Vec::new();
        // What is said before a body is sent is no reply.
        while status == 100 {
            status = self.line()?.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
            headers.clear();
            loop {
                let line = self.line()?;
                let Some((name, value)) = line.split_once(": ") else { break };
                headers.push((name.to_lowercase(), value.to_owned()));
            }
        }
        let mut reply = Reply { status, headers, text: String::new() };
        let mut octets = Vec::new();
        if reply.header("transfer-encoding").is_some() && !is_head {
            loop {
                let length = usize::from_str_radix(&self.line()?, 16).ok()?;
                let before = octets.len();
                octets.resize(before + length, 0);
                self.stream.read_exact(&mut octets[before..]).ok()?;
                self.line()?;
                if length == 0 {
                    break;
                }
            }
        } else if let Some(length) = reply.header("content-length").filter(|_| !is_head) {
            octets.resize(length.parse().ok()?, 0);
            self.stream.read_exact(&mut octets).ok()?;
        }
        reply.text = String::from_utf8(octets).expect("UTF-8");
        Some(reply)
    }
}

/// One RRset of a PATCH.
pub fn rrset(name: &str, rtype: &str, changetype: &str, ttl: u32, contents: &[&str]) -> Value {
    let records: Vec<Value> =
        contents.iter().map(|content| serde_json::json!({"content": content, "disabled": false})).collect();
    serde_json::json!({"name": name, "type": rtype, "changetype": changetype, "ttl": ttl, "records": records})
}

/// The body of a PATCH.
pub fn body(rrsets: &[Value]) -> String {
    serde_json::json!({ "rrsets": rrsets }).to_string()
}
