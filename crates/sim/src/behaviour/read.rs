//! Behaviours from their lines.

use super::{Action, Behaviour, Having, Knowing, NoEdns, Part, StreamFault, When, flag};
use crate::records::record_of_line;
use crate::time::micros_of;
use std::str::FromStr;
use wire::NameBuf;
use wire::iana::{rcode, rtype};
use wire::render::Section;

impl FromStr for Behaviour {
    type Err = String;

    /// Reads a line; the error says which word is wrong.
    fn from_str(line: &str) -> Result<Behaviour, String> {
        let words = words_of(line)?;
        let mut rest = Words { words: &words, at: 0 };
        let action = action(&mut rest)?;
        let when = when(&mut rest)?;
        Ok(Behaviour::when(action, when))
    }
}

/// Splits at blanks, what is in brackets being one word without them.
fn words_of(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').ok_or("a bracket that does not close")?,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}

/// Words of a line, taken one by one.
struct Words<'w> {
    words: &'w [String],
    at: usize,
}

impl<'w> Words<'w> {
    fn next(&mut self) -> Option<&'w str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn peek(&self) -> Option<&'w str> {
        self.words.get(self.at).map(String::as_str)
    }

    /// The next word, which must be there.
    fn take(&mut self, what: &str) -> Result<&'w str, String> {
        self.next().ok_or_else(|| format!("{what} is missing"))
    }

    fn number<N: FromStr>(&mut self, what: &str) -> Result<N, String> {
        let word = self.take(what)?;
        word.parse().map_err(|_| format!("{word} is no {what}"))
    }

    fn name(&mut self) -> Result<NameBuf, String> {
        let word = self.take("a name")?;
        word.parse().map_err(|error| format!("{word}: {error}"))
    }

    fn rtype(&mut self) -> Result<u16, String> {
        let word = self.take("a type")?;
        rtype::from_text(word.as_bytes()).ok_or_else(|| format!("{word} is no type"))
    }

    fn record(&mut self) -> Result<String, String> {
        let word = self.take("a record in brackets")?;
        record_of_line(&word.replace("QNAME", "qname.example."))
            .map_err(|error| format!("[{word}]: {error}"))?;
        Ok(word.to_owned())
    }

    fn flags(&mut self) -> Result<u16, String> {
        let word = self.take("a flag")?;
        flag(word).ok_or_else(|| format!("{word} is no flag"))
    }
}

fn action(words: &mut Words<'_>) -> Result<Action, String> {
    let word = words.take("an action")?;
    Ok(match word {
        "drop" => Action::Drop,
        "delay" => {
            let range = words.take("milliseconds")?;
            let (least, most) = range.split_once("..").unwrap_or((range, range));
            let number =
                |text: &str| text.parse().map_err(|_| format!("{text} is no number of milliseconds"));
            Action::Delay(number(least)?, number(most)?)
        }
        "rcode" => Action::Rcode(rcode_of(words.take("an RCODE")?)?),
        "upward" => Action::Upward,
        "refer" => refer(words)?,
        "no-edns" => Action::NoEdns(match words.take("a way")? {
            "drop" => NoEdns::Drop,
            "badvers" => NoEdns::Badvers,
            "ignore" => NoEdns::Ignore,
            "echo" => NoEdns::Echo,
            other => NoEdns::Rcode(rcode_of(other)?),
        }),
        "truncate" => Action::Truncate,
        "limit" => Action::Limit(words.number("number of octets")?),
        "loses-above" => Action::LosesAbove(words.number("number of octets")?),
        "twice" => Action::Twice(words.number("number of milliseconds")?),
        "no-tcp" => Action::Stream(match words.take("a way")? {
            "refuse" => StreamFault::Refuse,
            "drop" => StreamFault::Drop,
            "close" => StreamFault::Close,
            "cut" => StreamFault::Cut,
            "slow" => StreamFault::Slow(words.number("number of milliseconds")?),
            "reorder" => StreamFault::Reorder,
            other => return Err(format!("{other} is no fault of streams")),
        }),
        "sender" => Action::Sender(words.number("address")?),
        "port" => Action::Port(words.number("port")?),
        "wrong" => Action::Wrong(match words.take("a part")? {
            "id" => Part::Id,
            "name" => Part::Name,
            "type" => Part::Type,
            "qr" => Part::Qr,
            other => return Err(format!("{other} is no part of an answer")),
        }),
        "no-question" => Action::NoQuestion,
        "lower-case" => Action::LowerCase,
        "forge" => forge(words)?,
        "garbage" => Action::Garbage(words.number("number")?, knowing(words)?),
        "answer" => Action::Add(Section::Answer, words.record()?),
        "authority" => Action::Add(Section::Authority, words.record()?),
        "additional" => Action::Add(Section::Additional, words.record()?),
        "instead" => {
            let mut records = vec![words.record()?];
            while words.peek().is_some_and(|word| word.contains(' ')) {
                records.push(words.record()?);
            }
            Action::Instead(records)
        }
        "strip" => Action::Strip(words.rtype()?),
        "tamper" => Action::Tamper(words.rtype()?),
        "ttl" => Action::Ttl(words.number("number of seconds")?),
        "set" => Action::Set(words.flags()?),
        "clear" => Action::Clear(words.flags()?),
        "alias-chain" => Action::AliasChain,
        "alias-maze" => Action::AliasMaze(words.number("number of labels")?),
        "alias-loop" => Action::AliasLoop,
        "referrals" => Action::Referrals,
        "name-servers" => Action::NameServers(words.number("number")?, words.name()?),
        "records" => Action::Records(words.number("number")?),
        "signatures" => Action::Signatures(words.number("number")?),
        "cookies" => Action::Cookies(words.peek() == Some("required") && words.next().is_some()),
        other => return Err(format!("{other} is no behaviour")),
    })
}

/// `refer ZONE NS [ADDRESS] NS [ADDRESS] ...` up to a word that says when.
fn refer(words: &mut Words<'_>) -> Result<Action, String> {
    let zone = words.name()?;
    let mut servers: Vec<(NameBuf, Option<std::net::IpAddr>)> = Vec::new();
    while let Some(word) = words.peek().filter(|word| !is_condition(word)) {
        match (word.parse(), servers.last_mut()) {
            (Ok(address), Some(last)) => {
                last.1 = Some(address);
                words.next();
            }
            _ => servers.push((words.name()?, None)),
        }
    }
    Ok(Action::Refer(zone, servers))
}

/// `forge N [RECORD] [knowing id|port|case]...`
fn forge(words: &mut Words<'_>) -> Result<Action, String> {
    let (count, record) = (words.number("number")?, words.record()?);
    Ok(Action::Forge(count, record, knowing(words)?))
}

fn knowing(words: &mut Words<'_>) -> Result<Knowing, String> {
    let mut knowing = Knowing::default();
    while words.peek() == Some("knowing") {
        words.next();
        match words.take("what is known")? {
            "id" => knowing.id = true,
            "port" => knowing.port = true,
            "case" => knowing.case = true,
            other => return Err(format!("{other} cannot be known")),
        }
    }
    Ok(knowing)
}

const CONDITIONS: [&str; 10] =
    ["for", "below", "type", "over", "from", "until", "after", "times", "share", "with"];

fn is_condition(word: &str) -> bool {
    CONDITIONS.contains(&word)
}

fn when(words: &mut Words<'_>) -> Result<When, String> {
    let mut when = When::default();
    while let Some(word) = words.next() {
        match word {
            "for" => when.name = Some(words.name()?),
            "below" => when.below = Some(words.name()?),
            "type" => when.qtype = Some(words.rtype()?),
            "over" => {
                when.is_stream = Some(match words.take("udp or tcp")? {
                    "udp" => false,
                    "tcp" => true,
                    other => return Err(format!("{other} is neither udp nor tcp")),
                });
            }
            "from" => when.from = Some(micros_of(words.take("a time")?)?),
            "until" => when.until = Some(micros_of(words.take("a time")?)?),
            "after" => when.after = words.number("number")?,
            "times" => when.times = Some(words.number("number")?),
            "share" => {
                let text = words.take("a share")?;
                let percent: f64 =
                    text.trim_end_matches('%').parse().map_err(|_| format!("{text} is no share"))?;
                when.share = Some((percent * 10_000.0) as u32);
            }
            "with" => {
                when.with = Some(match words.take("what a query has")? {
                    "do" => Having::Do,
                    "edns" => Having::Edns,
                    "no-edns" => Having::NoEdns,
                    "case" => Having::Case,
                    other => return Err(format!("{other} is nothing that a query has")),
                });
            }
            other => return Err(format!("{other} is no condition: {}", CONDITIONS.join(", "))),
        }
    }
    Ok(when)
}

/// An RCODE by its mnemonic in any case, or its number.
pub(crate) fn rcode_of(text: &str) -> Result<u16, String> {
    let known = rcode::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    known.map(|(code, _)| *code).or_else(|| text.parse().ok()).ok_or_else(|| format!("{text} is no RCODE"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, action: Action, when: When) {
        assert_eq!(line.parse(), Ok(Behaviour::when(action, when)));
    }

    #[test]
    fn lines() {
        let always = When::default;
        check("drop", Action::Drop, always());
        let lossy = When { share: Some(25_000), is_stream: Some(false), ..always() };
        check("drop share 2.5% over udp", Action::Drop, lossy);
        check("delay 5..20", Action::Delay(5, 20), always());
        check("rcode refused", Action::Rcode(5), always());
        check("no-edns formerr", Action::NoEdns(NoEdns::Rcode(1)), always());
        check("cookies required", Action::Cookies(true), always());
        check("cookies times 2", Action::Cookies(false), When { times: Some(2), ..always() });
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let when = When { below: Some(name("a.")), qtype: Some(28), after: 3, ..always() };
        check(
            "instead [QNAME 5 A 192.0.2.1] [x. 5 NS y.] below a. type AAAA after 3",
            Action::Instead(vec!["QNAME 5 A 192.0.2.1".into(), "x. 5 NS y.".into()]),
            when,
        );
        let address = "192.0.2.9".parse().ok();
        check(
            "refer z. ns1.z. 192.0.2.9 ns2.y. for www.z. from 2s until 1m",
            Action::Refer(name("z."), vec![(name("ns1.z."), address), (name("ns2.y."), None)]),
            When { name: Some(name("www.z.")), from: Some(2_000_000), until: Some(60_000_000), ..always() },
        );
        let knowing = Knowing { id: false, port: true, case: true };
        check(
            "forge 9 [QNAME 5 A 192.0.2.1] knowing port knowing case",
            Action::Forge(9, "QNAME 5 A 192.0.2.1".into(), knowing),
            always(),
        );
        let knowing = Knowing { port: true, ..Knowing::default() };
        check(
            "garbage 8 knowing port times 1",
            Action::Garbage(8, knowing),
            When { times: Some(1), ..always() },
        );
    }

    #[test]
    fn wrong_lines() {
        for (line, words) in [
            ("", "an action is missing"),
            ("dropp", "dropp is no behaviour"),
            ("delay x", "x is no number of milliseconds"),
            ("drop for", "a name is missing"),
            ("drop sometimes", "sometimes is no condition"),
            ("answer [x. A]", "[x. A]:"),
            ("answer [x. 1 A 192.0.2.1", "a bracket that does not close"),
        ] {
            let error = line.parse::<Behaviour>().unwrap_err();
            assert!(error.starts_with(words), "{line}: {error}");
        }
    }
}
