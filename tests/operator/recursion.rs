//! The recursive server in a model Internet of real servers, each test in a network namespace of its own.

mod attacks;
mod beside;
mod compare;
mod explained;
mod internet;
mod kept;
mod local_root;
mod mirrors;
mod moved;
mod names;
mod operators;
mod outage;
mod private;
mod resized;
mod secured;
mod waiting;

/// Milliseconds from a query to its answer, as dig says: its own start takes seconds where many tests run.
fn milliseconds(said: &str) -> u32 {
    let took = said.split("Query time: ").nth(1).and_then(|rest| rest.split(' ').next());
    took.and_then(|took| took.parse().ok()).unwrap_or_else(|| panic!("no time: {said}"))
}

/// What dig shows of an answer: status, flags, and the lines of the answer section.
fn shown(said: &str) -> (String, String, Vec<String>) {
    let after = |mark: &str, end: char| {
        let rest = said.split_once(mark).map_or("", |(_, rest)| rest);
        rest.split(end).next().unwrap_or("").trim().to_owned()
    };
    let lines = said
        .split_once(";; ANSWER SECTION:\n")
        .map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or(""));
    let mut lines: Vec<String> =
        lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.sort();
    (after("status: ", ','), after(";; flags: ", ';'), lines)
}

#[track_caller]
fn check(said: &str, status: &str, flags: &str, answer: &[&str]) {
    let (found_status, found_flags, found) = shown(said);
    let without_ttl = |line: &String| {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.remove(1);
        words.join(" ")
    };
    let found: Vec<String> = found.iter().filter(|line| !line.contains("RRSIG")).map(without_ttl).collect();
    assert_eq!((&*found_status, &*found_flags), (status, flags), "{said}");
    assert_eq!(found, answer, "{said}");
}

/// Whether all of these are in what was said, one after the other.
#[track_caller]
fn check_order(said: &str, parts: &[&str]) {
    let mut rest = said;
    for part in parts {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} there in\n{said}"));
        rest = after;
    }
}
