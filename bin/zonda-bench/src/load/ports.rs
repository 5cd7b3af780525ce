//! The value of `--source-ports`.

use std::str::FromStr;

/// Source ports asked for.
#[derive(Clone, Copy, Debug)]
pub enum SourcePorts {
    /// Drawn anew all the time.
    Random,
    /// From the first to the last.
    Range(u16, u16),
}

impl FromStr for SourcePorts {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SourcePorts, &'static str> {
        const RULE: &str = "expected random or FIRST-LAST, ports from 1 to 65535";
        if text == "random" {
            return Ok(SourcePorts::Random);
        }
        let (first, last) = text.split_once('-').ok_or(RULE)?;
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(SourcePorts::Range(first, last)),
            _ => Err(RULE),
        }
    }
}
