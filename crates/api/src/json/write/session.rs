//! A session, or what a key may do.

use super::{flag, item, key, number, string, text};
use crate::frame::{Session, Verbs};

/// Verbs as settings have them.
const VERBS: [(Verbs, &str); 9] = [
    (Verbs::READ, "read"),
    (Verbs::CHANGE, "change"),
    (Verbs::MAKE, "make"),
    (Verbs::DROP, "drop"),
    (Verbs::SET, "set"),
    (Verbs::ACT, "act"),
    (Verbs::EXPLAIN, "explain"),
    (Verbs::OBSERVE, "observe"),
    (Verbs::SERVER, "server"),
];

/// Appends it. `half`: what of its secret the page keeps, which is told once.
pub fn session(session: &Session<'_>, half: Option<&str>, out: &mut Vec<u8>) {
    out.push(b'{');
    string("server", session.server, out);
    match session.who {
        Some(who) => string("key", who, out),
        None => flag("operator", true, out),
    }
    key("verbs", out);
    let mut count = 0;
    for (_, word) in VERBS.iter().filter(|(verb, _)| session.verbs.has(*verb)) {
        item(&mut count, "[", out);
        text(word, out);
    }
    out.extend_from_slice(if count == 0 { b"[]" } else { b"]" });
    if let Some(until) = session.until {
        number("idle", until.idle, out);
        number("left", until.left, out);
    }
    half.into_iter().for_each(|half| string("half", half, out));
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Until;

    #[test]
    fn sessions() {
        let told = |verbs, who, until, half| {
            let mut out = Vec::new();
            let of = Session { secret: Some(&[7; 64]), verbs, who, server: "ns1 \"a\"", until };
            session(&of, half, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        assert_eq!(
            told(Verbs(0), Some("acme"), None, None),
            r#"{"server":"ns1 \"a\"","key":"acme","verbs":[]}"#
        );
        assert_eq!(
            told(Verbs(0x101), None, Some(Until { idle: 1, left: 2 }), Some("AA")),
            r#"{"server":"ns1 \"a\"","operator":true,"verbs":["read","server"],"idle":1,"left":2,"half":"AA"}"#
        );
    }
}
