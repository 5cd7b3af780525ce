//! The rules for runs: each has a name, and its bound in the recipe.

use super::{Conditions, Lab};

/// Share of the queries that may be lost in runs that are to answer all.
const LOST_SHARE_MAX: f64 = 0.001;

/// A rule.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Rule {
    /// The hypervisor took too much of the used cores' time.
    Stolen,
    /// Other programs took too much of all cores' time.
    Others,
    /// Queries left too late.
    Schedule,
    /// Queries were lost in a run that is to answer all: the server's own result, and no reason to make the run again.
    Losses,
    /// A server ended, or held no rate.
    Failed,
    /// The limit programs of a block differ.
    Echoes,
    /// The generator was the limit.
    Generator,
}

impl Rule {
    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Stolen => "stolen",
            Rule::Others => "others",
            Rule::Schedule => "schedule",
            Rule::Losses => "losses",
            Rule::Failed => "failed",
            Rule::Echoes => "echoes",
            Rule::Generator => "generator",
        }
    }

    /// Whether a run that breaks it is made again.
    pub fn is_again(self) -> bool {
        matches!(self, Rule::Stolen | Rule::Others | Rule::Schedule)
    }

    /// Whether a run that breaks it counts all the same, marked.
    pub fn is_mark(self) -> bool {
        matches!(self, Rule::Generator | Rule::Losses)
    }
}

/// Bounds of the rules.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most of the used cores' time that the hypervisor may take.
    pub stolen: f64,
    /// Most of all cores' time that other programs may take.
    pub others: f64,
    /// How late the latest hundredth of the queries may leave.
    pub late_ms: f64,
    /// Most that the limit programs of a block may differ.
    pub echoes: f64,
}

impl Conditions {
    /// Whether more was lost than counts as nothing, in a run that is to answer all.
    pub fn has_losses(&self) -> bool {
        self.lost.is_some_and(|lost| lost > LOST_SHARE_MAX)
    }
}

impl Bounds {
    /// Those of the recipe.
    pub fn of(lab: &Lab) -> Bounds {
        let effort = &lab.effort;
        Bounds {
            stolen: effort.stolen_share,
            others: effort.others_share,
            late_ms: effort.lateness_ms,
            echoes: effort.echo_spread,
        }
    }

    /// The rules that a run broke.
    pub fn broken(&self, conditions: &Conditions) -> Vec<Rule> {
        let over = |value: Option<f64>, most: f64| value.is_some_and(|value| value > most);
        let rules = [
            (Rule::Stolen, conditions.stolen > self.stolen),
            (Rule::Others, conditions.others > self.others),
            (Rule::Schedule, over(conditions.late_ms, self.late_ms)),
            (Rule::Losses, conditions.has_losses()),
            (Rule::Generator, conditions.is_limited),
        ];
        rules.into_iter().filter(|(_, is_broken)| *is_broken).map(|(rule, _)| rule).collect()
    }

    /// The bound of a rule in words.
    pub fn text(&self, rule: Rule) -> String {
        let percent = |share: f64| format!("{} %", (share * 1e4).round() / 100.0);
        match rule {
            Rule::Stolen => format!("at most {} of the used cores' time", percent(self.stolen)),
            Rule::Others => format!("at most {} of all cores' time", percent(self.others)),
            Rule::Schedule => format!("99 % of the queries at most {} ms late", self.late_ms),
            Rule::Losses => {
                format!(
                    "at most {} where all is to be answered; counts, of what was answered",
                    percent(LOST_SHARE_MAX)
                )
            }
            Rule::Failed => "every server answers".to_owned(),
            Rule::Echoes => format!("the limit programs of a block within {}", percent(self.echoes)),
            Rule::Generator => "counts, as at least".to_owned(),
        }
    }

    /// Why a run does not count, in words.
    pub fn words(&self, broken: &[Rule], conditions: &Conditions) -> String {
        let word = |rule: &Rule| {
            let found = match rule {
                Rule::Stolen => {
                    format!("{:.1} % of the used cores' time was stolen", conditions.stolen * 100.0)
                }
                Rule::Others => {
                    format!("other programs took {:.1} % of all cores' time", conditions.others * 100.0)
                }
                Rule::Schedule => format!("queries left {:.1} ms late", conditions.late_ms.unwrap_or(0.0)),
                Rule::Losses | Rule::Generator => return None,
                Rule::Failed | Rule::Echoes => rule.name().to_owned(),
            };
            Some(format!("{found} ({})", self.text(*rule)))
        };
        broken.iter().filter_map(word).collect::<Vec<_>>().join("; ")
    }
}
