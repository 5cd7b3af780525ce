//! Ways in which the servers of a case are asked: each is a row beside the usual one.

use serde::Deserialize;

use super::Name;

/// Connections that queries over TCP share.
pub const CONNECTIONS: &str = "20";

/// A way of asking.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Row {
    /// What it is called in tables and charts; empty for the usual one.
    pub name: String,
    /// Who is asked so; all of the recipe where empty.
    pub contenders: Vec<Name>,
    /// Whether queries leave and replies are taken as trains of packets, over UDP; the server gets packets as any others.
    pub trains: bool,
    /// Gaps at random around the mean, as from many clients that know nothing of each other, instead of even ones.
    pub poisson: bool,
    /// Over IPv6.
    pub ipv6: bool,
    /// Over TCP.
    pub tcp: bool,
    /// Whether servers may give answers again that they gave before; otherwise those that can be told so make each anew.
    pub keep_answers: bool,
    /// Trials are so many times as long as those of the usual way.
    pub longer: f64,
    /// How many of them count, where they are not as many as in the usual way.
    pub trials: Option<usize>,
    /// How late the last reply of a trial may come at least, as share of its length, where what carries replies may hold back the last.
    pub overtime_share: f64,
}

impl Default for Row {
    /// The usual way: UDP over IPv4, trains at an even pace.
    fn default() -> Row {
        Row {
            name: String::new(),
            contenders: Vec::new(),
            trains: true,
            poisson: false,
            ipv6: false,
            tcp: false,
            keep_answers: true,
            longer: 1.0,
            trials: None,
            overtime_share: 0.0,
        }
    }
}

impl Row {
    /// Options of the generator for how queries travel.
    pub fn link_words(&self) -> Vec<String> {
        let words: &[&str] = match self {
            Row { tcp: true, .. } => &["--tcp", "--connections", CONNECTIONS],
            Row { trains: true, .. } => &["--trains"],
            _ => &[],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// The same for an open loop, with when they leave.
    pub fn words(&self) -> Vec<String> {
        let pace = self.poisson.then(|| "--poisson".to_owned());
        self.link_words().into_iter().chain(pace).collect()
    }

    /// Whether numbers are in their range.
    pub fn is_sound(&self) -> bool {
        (1.0..=100.0).contains(&self.longer)
            && (0.0..=1.0).contains(&self.overtime_share)
            && self.trials.is_none_or(|trials| (1..=10_000).contains(&trials))
    }

    /// Whether a contender is asked so.
    pub fn is_for(&self, name: Name) -> bool {
        self.contenders.is_empty() || self.contenders.contains(&name)
    }
}
