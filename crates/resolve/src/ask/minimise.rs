//! Which name to ask a server for: no more of it than the server needs to know (RFC 9156).
//!
//! ```text
//! full name   a.b.c.d.e.example.com.      zone asked: com.
//!   asked     example.com. A  ->  referral: zone example.com.  ->  e.example.com. A  ->  NODATA  ->  d.e.example.com. A ... -> the question itself
//! ```
//!
//! The type of such questions is A, which all servers know (RFC 9156 2.1). *Relaxed*: whatever goes wrong on the way (NXDOMAIN of a name
//! that has others below, refusal, silence) only ends minimising: the question itself decides. A name that has many labels is
//! asked for in at most [`STEPS_MAX`] steps, the first [`STEPS_OF_ONE_LABEL`] of one label each (RFC 9156 2.3). Labels with an underscore first
//! (RFC 8552) are never asked for without what is left of them: there are no zone cuts between.

use wire::Name;
use wire::iana::rtype;

/// Steps in which a name is asked for, with all that it is an alias of (MAX_MINIMISE_COUNT of RFC 9156 2.3). More cost round trips and let makers of
/// long names have many questions asked, aliases times labels (CAMP).
pub const STEPS_MAX: u8 = 10;
/// Steps of one label, which most names need not go beyond (MINIMISE_ONE_LAB of RFC 9156 2.3).
pub const STEPS_OF_ONE_LABEL: u8 = 4;

/// The type that ancestors are asked for.
pub const MINIMISED_TYPE: u16 = rtype::A;

/// How far a name was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minimiser {
    /// Steps taken.
    steps: u8,
    /// Labels of the longest ancestor that a server has said something of but a referral.
    known: u8,
    /// Whether the question itself is asked from now on.
    is_over: bool,
}

impl Minimiser {
    /// At the begin of a name.
    pub fn new() -> Minimiser {
        Minimiser::default()
    }

    /// For `target`, of which `full` is an alias: the steps that were taken stay taken, and what is known of ancestors that both have stays known.
    pub fn of_target(&self, full: &Name, target: &Name) -> Minimiser {
        let most = usize::from(self.known).min(full.label_count()).min(target.label_count());
        let is_shared = |labels: &usize| ancestor(full, *labels).eq_ignore_case(ancestor(target, *labels));
        let known = (0..=most).rev().find(is_shared).unwrap_or(0) as u8;
        Minimiser { steps: self.steps, known, is_over: false }
    }

    /// What to ask a server of `zone` for to find out `full`, which is at or below it: an ancestor of `full` with [`MINIMISED_TYPE`],
    /// or `full` itself with the type that is wanted.
    pub fn next<'n>(&self, zone: &Name, full: &'n Name) -> &'n Name {
        let labels = full.label_count();
        let known = zone.label_count().max(usize::from(self.known)).min(labels);
        if self.is_over || self.steps >= STEPS_MAX {
            return full;
        }
        let left = labels - known;
        let steps_left = usize::from(STEPS_MAX - self.steps);
        let step = match self.steps < STEPS_OF_ONE_LABEL {
            true => 1,
            false => left.div_ceil(steps_left),
        };
        let mut name = ancestor(full, (known + step).min(labels));
        // What begins with an underscore is no name of a zone.
        while name.octets().len() < full.octets().len() && name.octets().get(1) == Some(&b'_') {
            name = ancestor(full, name.label_count() + 1);
        }
        name
    }

    /// A question was answered, in any way but by a failure: `asked` is what [`Minimiser::next`] said.
    pub fn took(&mut self, asked: &Name) {
        self.steps = self.steps.saturating_add(1);
        self.known = self.known.max(asked.label_count() as u8);
    }

    /// The servers of now are known not to refer for an ancestor with so many labels: it is passed over without a question.
    pub fn knows(&mut self, labels: usize) {
        self.known = self.known.max(labels as u8);
    }

    /// A referral came: what is next goes to another zone.
    pub fn referred(&mut self) {
        self.steps = self.steps.saturating_add(1);
    }

    /// The ancestor asked for does not exist, or the server does not want to say: from now on the question itself.
    pub fn give_up(&mut self) {
        self.is_over = true;
    }
}

/// The ancestor of `name` with so many labels, or itself.
fn ancestor(name: &Name, labels: usize) -> &Name {
    let mut left = name.label_count().saturating_sub(labels);
    let mut name = name;
    while left > 0
        && let Some(parent) = name.parent()
    {
        (name, left) = (parent, left - 1);
    }
    name
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    /// What is asked for when each step is answered with NODATA, from `zone` on.
    #[track_caller]
    fn check(zone: &str, full: &str, expected: &[&str]) {
        let [zone, full] = [zone, full].map(|text| NameBuf::from_text(text).unwrap());
        let mut minimiser = Minimiser::new();
        let mut asked = Vec::new();
        loop {
            let name = minimiser.next(&zone, &full);
            asked.push(name.to_string());
            if name == &*full {
                break;
            }
            minimiser.took(name);
        }
        assert_eq!(asked, expected);
        assert!(asked.len() <= usize::from(STEPS_MAX) + 1);
    }

    #[test]
    fn steps() {
        check(".", "www.example.com.", &["com.", "example.com.", "www.example.com."]);
        check("com.", "example.com.", &["example.com."]);
        check("com.", "com.", &["com."]);
        check(".", ".", &["."]);
        check("example.", "_443._tcp.www.example.", &["www.example.", "_443._tcp.www.example."]);
        check("example.", "_443._tcp.example.", &["_443._tcp.example."]);
        check("example.", "a._tcp.example.", &["a._tcp.example."]);
    }

    #[test]
    fn long_names() {
        let reverse = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.";
        let mut minimiser = Minimiser::new();
        let full = NameBuf::from_text(reverse).unwrap();
        let mut labels = Vec::new();
        loop {
            let name = minimiser.next(Name::root(), &full);
            labels.push(name.label_count());
            if name == &*full {
                break;
            }
            minimiser.took(name);
        }
        assert_eq!(labels, [1, 2, 3, 4, 9, 14, 18, 22, 26, 30]);
        check(
            "1.ip6.arpa.",
            &("x.".repeat(120) + "1.ip6.arpa."),
            &{
                let mut all: Vec<String> = Vec::new();
                for labels in [1, 2, 3, 4, 24, 44, 63, 82, 101, 120] {
                    all.push("x.".repeat(labels) + "1.ip6.arpa.");
                }
                all
            }
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
        );
    }

    /// Aliases of ten labels each: ten steps for all of them, the last one of which is a question itself.
    #[test]
    fn aliases() {
        let zone = NameBuf::from_text("example.").unwrap();
        let mut minimiser = Minimiser::new();
        let mut asked = 0;
        for letter in "abcdefghijk".chars() {
            let full = NameBuf::from_text(&(format!("{letter}.").repeat(10) + "example.")).unwrap();
            while minimiser.next(&zone, &full) != &*full {
                asked += 1;
                let next = minimiser.next(&zone, &full);
                minimiser.took(next);
            }
            minimiser = minimiser.of_target(&full, &zone);
        }
        assert_eq!(asked, usize::from(STEPS_MAX) - 1);
    }

    /// An alias to a name below the same ancestors: what they are is known.
    #[test]
    fn aliases_nearby() {
        let [zone, full] = ["example.", "a.b.c.example."].map(|text| NameBuf::from_text(text).unwrap());
        let mut minimiser = Minimiser::new();
        minimiser.took(&NameBuf::from_text("c.example.").unwrap());
        minimiser.took(&NameBuf::from_text("b.c.example.").unwrap());
        for (target, expected) in
            [("x.B.c.example.", "x.B.c.example."), ("x.y.c.example.", "y.c.example."), ("x.y.z.", "z.")]
        {
            let target = NameBuf::from_text(target).unwrap();
            let zone = if expected == "z." { Name::root() } else { &zone };
            let next = minimiser.of_target(&full, &target);
            assert_eq!(next.next(zone, &target).to_string(), expected);
        }
    }

    #[test]
    fn what_ends_it() {
        let full = NameBuf::from_text("a.b.example.com.").unwrap();
        let mut minimiser = Minimiser::new();
        assert_eq!(minimiser.next(Name::root(), &full).to_string(), "com.");
        minimiser.referred();
        let com = NameBuf::from_text("com.").unwrap();
        assert_eq!(minimiser.next(&com, &full).to_string(), "example.com.");
        minimiser.give_up();
        assert_eq!(minimiser.next(&com, &full), &*full);
    }
}
