//! A reply of HTTP/1.1 (RFC 9112): its status, and where it ends.

/// Longest head, and longest body that is waited for: what is refused is told in some lines.
const HEAD_OCTETS_MAX: usize = 16 << 10;
const BODY_OCTETS_MAX: usize = 1 << 20;
/// Between head and body.
const END: &[u8] = b"\r\n\r\n";

/// What octets of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to come.
    Part,
    /// A reply, whole.
    Whole {
        /// Its status.
        status: u16,
        /// No other one comes over this connection.
        closes: bool,
    },
    /// No reply, or one of no bounded length.
    NoReply,
}

/// Looks at what has come of a reply.
pub fn read(octets: &[u8]) -> Progress {
    let Some(end) = octets.windows(END.len()).position(|four| four == END) else {
        return if octets.len() > HEAD_OCTETS_MAX { Progress::NoReply } else { Progress::Part };
    };
    let Some(head) = std::str::from_utf8(&octets[..end]).ok().and_then(read_head) else {
        return Progress::NoReply;
    };
    let Head { status, length, closes } = head;
    match length {
        // Without a length it ends with the connection, or comes in pieces: nobody needs what it says.
        _ if matches!(status, 204 | 304) => Progress::Whole { status, closes },
        None => Progress::Whole { status, closes: true },
        Some(length) if length > BODY_OCTETS_MAX => Progress::NoReply,
        Some(length) if octets.len() < end + END.len() + length => Progress::Part,
        Some(_) => Progress::Whole { status, closes },
    }
}

struct Head {
    status: u16,
    length: Option<usize>,
    closes: bool,
}

fn read_head(text: &str) -> Option<Head> {
    let mut lines = text.split("\r\n");
    let (version, rest) = lines.next()?.split_once(' ')?;
    let status = rest.get(..3)?.parse::<u16>().ok().filter(|status| (200..600).contains(status))?;
    let mut head = Head { status, length: None, closes: version == "HTTP/1.0" };
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            head.length = Some(value.parse().ok()?);
        } else if name.eq_ignore_ascii_case("connection") {
            head.closes |= value.eq_ignore_ascii_case("close");
        }
    }
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Progress) {
        assert_eq!(read(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn replies_as_servers_write_them() {
        let whole = |status, closes| Progress::Whole { status, closes };
        let done = "HTTP/1.1 204 No Content\r\nx-pdns-new-serial: 2\r\n";
        check(done, Progress::Part);
        check(&format!("{done}\r\n"), whole(204, false));
        check(&format!("{done}Connection: close\r\n\r\n"), whole(204, true));
        let refused = "HTTP/1.1 422 Unprocessable\r\nContent-Length: 5\r\n\r\n";
        check(&format!("{refused}1234"), Progress::Part);
        check(&format!("{refused}12345"), whole(422, false));
        check("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", whole(500, true));
        check("HTTP/1.0 500 X\r\nContent-Length: 0\r\n\r\n", whole(500, true));
    }

    #[test]
    fn what_is_none() {
        for text in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 20x\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
        ] {
            check(text, Progress::NoReply);
        }
        check("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Progress::NoReply);
        check("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n", Progress::NoReply);
        check(&"x".repeat(HEAD_OCTETS_MAX), Progress::Part);
        check(&"x".repeat(HEAD_OCTETS_MAX + 1), Progress::NoReply);
    }
}
