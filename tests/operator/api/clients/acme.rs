//! As much of an ACME server (RFC 8555) as a client of one needs that proves names by DNS: no signature is looked at, and whoever asks has his certificate once the TXT records are served.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use zonda_tests::server::peers::require;

use crate::kit::base64;

/// Whether a name is proven, by its challenge's name.
type Proof = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// What it knows: all that clients asked for, by number.
struct State {
    at: SocketAddr,
    proof: Proof,
    orders: Mutex<Vec<Order>>,
}

struct Order {
    names: Vec<String>,
    /// `None`: nobody has asked to have it looked at.
    proven: Vec<Option<bool>>,
    certificate: Option<String>,
}

/// One that runs as long as the program of the test does. Returns where its directory is.
pub fn start(proof: Proof) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let at = listener.local_addr().expect("an address");
    let state = Arc::new(State { at, proof, orders: Mutex::default() });
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            std::thread::spawn(move || while answer(&state, &stream).is_some() {});
        }
    });
    format!("http://{at}/directory")
}

/// Reads a request, and answers it; `None`: there is none any more.
fn answer(state: &State, stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body =
        vec![0; headers.get("content-length").map_or(0, |length| length.parse().expect("a length"))];
    reader.read_exact(&mut body).ok()?;
    let payload = payload(&body);
    let (status, more, text) = state.carry_out(&path, &payload);
    let kind = if text.starts_with('{') { "application/json" } else { "application/pem-certificate-chain" };
    let text_sent = if method == "HEAD" { "" } else { &*text };
    let head = format!(
        "HTTP/1.1 {status} X\r\nReplay-Nonce: abcd{}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}\r\n",
        next_number(),
        text.len()
    );
    (&*stream).write_all(format!("{head}{text_sent}").as_bytes()).ok()
}

/// Another number each time.
fn next_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a signed request says, without a look at its signature.
fn payload(body: &[u8]) -> Value {
    let signed: Value = serde_json::from_slice(body).unwrap_or_default();
    serde_json::from_slice(&base64(signed["payload"].as_str().unwrap_or_default())).unwrap_or_default()
}

impl State {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    /// The status, headers and text of an answer.
    fn carry_out(&self, path: &str, payload: &Value) -> (u16, String, String) {
        let numbers: Vec<usize> = path.split('/').filter_map(|part| part.parse().ok()).collect();
        let json = |status: u16, more: String, value: Value| (status, more, value.to_string());
        match (path.split('/').nth(1).unwrap_or_default(), &numbers[..]) {
            ("directory", _) => {
                let of = |name: &str| self.url(&format!("/{name}"));
                let all = json!({"newNonce": of("nonce"), "newAccount": of("account"), "newOrder": of("order"), "revokeCert": of("revoke"), "keyChange": of("change")});
                json(200, String::new(), all)
            }
            ("nonce", _) => json(200, String::new(), json!({})),
            ("account", _) => {
                json(201, format!("Location: {}\r\n", self.url("/account/1")), json!({"status": "valid"}))
            }
            ("order", []) => {
                let names: Vec<String> = payload["identifiers"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one["value"].as_str().map(str::to_owned))
                    .collect();
                let mut orders = self.orders.lock().expect("orders");
                orders.push(Order { proven: vec![None; names.len()], names, certificate: None });
                let number = orders.len() - 1;
                json(
                    201,
                    format!("Location: {}\r\n", self.url(&format!("/order/{number}"))),
                    self.order(number, &orders[number]),
                )
            }
            ("order", [number]) => {
                json(200, String::new(), self.order(*number, &self.orders.lock().expect("orders")[*number]))
            }
            ("authz", [order, at]) => json(200, String::new(), self.authorization(*order, *at)),
            ("challenge", [order, at]) => {
                let name = self.orders.lock().expect("orders")[*order].names[*at].clone();
                let is_proven = (self.proof)(&format!("_acme-challenge.{}.", name.trim_start_matches("*.")));
                self.orders.lock().expect("orders")[*order].proven[*at] = Some(is_proven);
                let up = format!("Link: <{}>;rel=\"up\"\r\n", self.url(&format!("/authz/{order}/{at}")));
                json(200, up, self.authorization(*order, *at)["challenges"][0].clone())
            }
            ("finalize", [number]) => {
                let request = base64(payload["csr"].as_str().unwrap_or_default());
                let mut orders = self.orders.lock().expect("orders");
                orders[*number].certificate = Some(sign(&request));
                json(200, String::new(), self.order(*number, &orders[*number]))
            }
            ("certificate", [number]) => {
                let orders = self.orders.lock().expect("orders");
                (200, String::new(), orders[*number].certificate.clone().expect("a certificate"))
            }
            _ => json(
                404,
                String::new(),
                json!({"type": "urn:ietf:params:acme:error:malformed", "detail": path}),
            ),
        }
    }

    fn order(&self, number: usize, order: &Order) -> Value {
        let status = match order.certificate {
            Some(_) => "valid",
            None if order.proven.iter().all(|proven| *proven == Some(true)) => "ready",
            None => "pending",
        };
        let identifiers: Vec<Value> =
            order.names.iter().map(|name| json!({"type": "dns", "value": name})).collect();
        let authorizations: Vec<String> =
            (0..order.names.len()).map(|at| self.url(&format!("/authz/{number}/{at}"))).collect();
        json!({
            "status": status, "identifiers": identifiers, "authorizations": authorizations,
            "finalize": self.url(&format!("/finalize/{number}")), "certificate": self.url(&format!("/certificate/{number}")),
        })
    }

    fn authorization(&self, order: usize, at: usize) -> Value {
        let orders = self.orders.lock().expect("orders");
        let (name, proven) = (&orders[order].names[at], orders[order].proven[at]);
        let status = match proven {
            Some(true) => "valid",
            Some(false) => "invalid",
            None => "pending",
        };
        json!({
            "status": status, "identifier": {"type": "dns", "value": name.trim_start_matches("*.")}, "wildcard": name.starts_with("*."),
            "challenges": [{"type": "dns-01", "status": status, "url": self.url(&format!("/challenge/{order}/{at}")), "token": format!("token-{order}-{at}")}],
        })
    }
}

/// A certificate for a request, by nobody in particular.
fn sign(request: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let openssl = |words: &str, input: &[u8]| {
        let mut command = Command::new(require("openssl", "openssl"));
        command.args(words.split(' ')).current_dir(folder.path());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("openssl");
        child.stdin.take().expect("a pipe").write_all(input).expect("a request");
        let output = child.wait_with_output().expect("openssl");
        assert!(output.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("PEM")
    };
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=authority",
        b"",
    );
    let own = openssl(
        "x509 -req -inform DER -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy",
        request,
    );
    own + &std::fs::read_to_string(folder.path().join("ca.pem")).expect("a certificate")
}
