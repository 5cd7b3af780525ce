//! The content of an SOA record, looked at before all rows of the zone are read.

use wire::Name;

use super::refusal::Refusal;

/// What PowerDNS took for refresh, retry, expire and minimum that were not there, when it still did.
const TIMES: [&str; 4] = ["10800", "3600", "604800", "3600"];

/// Where the serial is.
const SERIAL: usize = 2;

/// Two names and five numbers.
const FIELDS: usize = 7;

/// The longest content for which a statement is made: two names of 255 octets, all of them escaped, have 2,000.
const CONTENT_OCTETS_MAX: usize = 2_100;

/// Looks whether all fields are there, and whether the serial is somebody's: with 0, or none, PowerDNS once made one up of the times of changes, and a serial
/// that is made up here would be another one than a second server's.
pub(super) fn check(id: i64, apex: &Name, content: &[u8]) -> Result<(), Refusal> {
    let text = String::from_utf8_lossy(content);
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() == FIELDS && !is_zero(fields[SERIAL]) {
        return Ok(());
    }
    let shown = text.chars().take(CONTENT_OCTETS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    Err(Refusal::Soa(shown, mended(&fields, apex, text.len()).map(|right| statement(id, &right))))
}

/// The serial of a content; `None`: it has none.
pub(super) fn serial(content: &[u8]) -> Option<u32> {
    let mut fields = content.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    std::str::from_utf8(fields.nth(SERIAL)?).ok()?.parse().ok()
}

fn is_zero(field: &str) -> bool {
    field.bytes().all(|octet| octet == b'0')
}

/// The content with what is missing; `None`: nobody knows what was meant.
fn mended(fields: &[&str], apex: &Name, octets: usize) -> Option<String> {
    if fields.is_empty() || fields.len() > FIELDS || octets > CONTENT_OCTETS_MAX {
        return None;
    }
    let apex = apex.to_string();
    let hostmaster = format!("hostmaster.{}", apex.trim_end_matches('.'));
    let mut right = vec![fields[0], fields.get(1).copied().unwrap_or(&hostmaster)];
    right.push(fields.get(SERIAL).copied().filter(|serial| !is_zero(serial)).unwrap_or("1"));
    right.extend(
        TIMES.iter().enumerate().map(|(at, time)| fields.get(SERIAL + 1 + at).copied().unwrap_or(time)),
    );
    let right = right.join(" ");
    // What a terminal shows otherwise than it is, nobody copies from it.
    right.bytes().all(|octet| matches!(octet, b' '..=b'~')).then_some(right)
}

fn statement(id: i64, right: &str) -> String {
    format!(
        "UPDATE records SET content = '{}' WHERE domain_id = {id} AND type = 'SOA';",
        right.replace('\'', "''")
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_content(content: &str, expected: Option<&str>) {
        let apex: wire::NameBuf = "example.org.".parse().unwrap();
        let found = match check(5, &apex, content.as_bytes()) {
            Ok(()) => None,
            Err(Refusal::Soa(_, statement)) => Some(statement.unwrap_or_default()),
            Err(other) => panic!("{other}"),
        };
        let begin = "UPDATE records SET content = '";
        let expected = expected.map(|right| match right {
            "" => String::new(),
            _ => format!("{begin}{right}' WHERE domain_id = 5 AND type = 'SOA';"),
        });
        assert_eq!(found, expected, "{content}");
    }

    #[test]
    fn serials() {
        for (content, expected) in
            [(" ns.x  host.x 7 1", Some(7)), ("ns.x host.x 4294967296", None), ("ns.x host.x", None)]
        {
            assert_eq!(serial(content.as_bytes()), expected, "{content}");
        }
    }

    #[test]
    fn contents() {
        check_content("ns.x host.x 7 1 2 3 4", None);
        check_content(" ns.x  host.x 7 1 2 3 4 ", None);
        check_content("ns.x host.x 0 1 2 3 4", Some("ns.x host.x 1 1 2 3 4"));
        check_content("ns.x host.x 000 1 2 3 4", Some("ns.x host.x 1 1 2 3 4"));
        check_content("ns.x host.x 7", Some("ns.x host.x 7 10800 3600 604800 3600"));
        check_content("ns.x host.x", Some("ns.x host.x 1 10800 3600 604800 3600"));
        check_content("ns.x", Some("ns.x hostmaster.example.org 1 10800 3600 604800 3600"));
        check_content("ns.x o'x 0 1", Some("ns.x o''x 1 1 3600 604800 3600"));
        check_content("", Some(""));
        check_content("ns.x host.x 7 1 2 3 4 5", Some(""));
        check_content("ns.ü host.x 7 1", Some(""));
    }
}
