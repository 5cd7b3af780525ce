//! A request: one record is to be so.

use std::io::Write;

use super::Settings;

/// Writes the request number `count` of a client in place of what is in `to`. Clients take the zones in turn, each from another
/// one on; an address is never what it was before, as a change that changes nothing costs some servers nothing.
pub fn write(settings: &Settings, client: usize, count: u64, to: &mut Vec<u8>) {
    let Settings { server, key, zones, connections, .. } = settings;
    let place = (client as u64 + count * *connections as u64) % zones.len() as u64;
    let zone = &zones[place as usize];
    let [_, high, middle, low] = (count as u32).to_be_bytes();
    let body = format!(
        r#"{{"rrsets":[{{"name":"client-{client}.{zone}","type":"A","ttl":300,"changetype":"REPLACE","records":[{{"content":"10.{high}.{middle}.{low}","disabled":false}}]}}]}}"#
    );
    let octets = body.len();
    to.clear();
    write!(
        to,
        "PATCH /api/v1/servers/localhost/zones/{zone} HTTP/1.1\r\nHost: {server}\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {octets}\r\n\r\n{body}"
    )
    .expect("memory takes all that is written");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_client_has_records_of_its_own() {
        let settings = Settings {
            server: "127.0.0.1:8081".parse().unwrap(),
            key: "secret".to_owned(),
            zones: ["a.test.", "b.test.", "c.test."].map(str::to_owned).to_vec(),
            connections: 2,
            timeout: Duration::ZERO,
        };
        let mut request = b"what was there before".to_vec();
        write(&settings, 1, 258, &mut request);
        let text = String::from_utf8(request).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let zone = "b.test."; // 1 + 258 * 2 is 517, which leaves 1 of three.
        assert!(
            head.starts_with(&format!("PATCH /api/v1/servers/localhost/zones/{zone} HTTP/1.1\r\n")),
            "{head}"
        );
        assert!(head.contains("\r\nHost: 127.0.0.1:8081\r\nX-API-Key: secret\r\n"), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let set = &body["rrsets"][0];
        assert_eq!((&set["name"], &set["changetype"]), (&"client-1.b.test.".into(), &"REPLACE".into()));
        assert_eq!(set["records"][0]["content"], "10.0.1.2");
    }
}
