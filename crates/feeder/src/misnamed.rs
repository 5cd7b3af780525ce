//! Zones whose names the database has in another text than their one form (`\097.test.` for `a.test.`), or in one that is no name: nobody finds a zone by that, so it is not served, and that is said.

use std::collections::BTreeSet;
use std::fmt::Write;

use store::Fault;
use store::source::Moment;
use transfer::catalog_zone::Allowed;
use wire::NameBuf;

use feed::frame::Frame;

/// Names that are remembered: of more it is counted how many there are.
const KEPT_MAX: usize = 10_000;
/// Names that are said: the others are mended like these.
const SAID_MAX: usize = 8;
/// Zones that are asked for at a time, each by a statement of its own.
const ASKED_MAX: usize = 256;

/// See the module.
#[derive(Default)]
pub(crate) struct Misnamed {
    /// Of the list, and of what changed since; and how many more the list had.
    listed: BTreeSet<String>,
    more: usize,
    /// Of changes that can be no version.
    unfit: BTreeSet<String>,
    /// Of which it is not known whether they came or went.
    asked: BTreeSet<String>,
    /// What was said of them last.
    said: (u32, String),
}

/// The name of a zone, as all know it; `None`: the text is another one, or none.
pub(crate) fn name_of(text: &str) -> Option<NameBuf> {
    meant(text).filter(|name| name.to_string() == text)
}

/// The name that somebody may have meant by a text.
fn meant(text: &str) -> Option<NameBuf> {
    NameBuf::from_text(text).ok().map(|name| name.to_lowercase())
}

/// Whether a text could be of a zone that is wanted: what is no name could be.
fn is_wanted(text: &str, wanted: &Allowed) -> bool {
    meant(text).is_none_or(|name| wanted.allows(&name))
}

impl Misnamed {
    /// The list begins.
    pub(crate) fn begin_list(&mut self) {
        (self.listed, self.asked, self.more) = (BTreeSet::new(), BTreeSet::new(), 0);
    }

    /// A zone that is there has this name.
    pub(crate) fn is_there(&mut self, text: &str, wanted: &Allowed) {
        match is_wanted(text, wanted) {
            true if self.listed.len() < KEPT_MAX => drop(self.listed.insert(text.to_owned())),
            true => self.more += 1,
            false => {}
        }
    }

    /// A zone of this name has changed, or is gone.
    pub(crate) fn changed(&mut self, text: &str, wanted: &Allowed) {
        if self.asked.len() < KEPT_MAX && is_wanted(text, wanted) {
            self.asked.insert(text.to_owned());
        }
    }

    /// Zones of these faults have changes that can be no version; no others have.
    pub(crate) fn unfit<'f>(&mut self, faults: impl Iterator<Item = &'f Fault>, wanted: &Allowed) {
        let texts = faults.filter_map(Fault::zone).filter(|text| name_of(text).is_none());
        let wanted = texts.filter(|text| is_wanted(text, wanted));
        self.unfit = wanted.take(KEPT_MAX).map(ToOwned::to_owned).collect();
    }

    /// Whether it is to be asked of zones whether they are there.
    pub(crate) fn has_questions(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Asks of some of them.
    pub(crate) fn ask(&mut self, moment: &mut dyn Moment) -> Result<(), Fault> {
        for _ in 0..ASKED_MAX {
            let Some(text) = self.asked.pop_first() else { break };
            let newest = moment.newest(&text)?;
            match newest.is_some_and(|newest| newest.kind != store::Kind::Removed) {
                true if self.listed.len() < KEPT_MAX => drop(self.listed.insert(text)),
                true => {}
                false => drop(self.listed.remove(&text)),
            }
        }
        Ok(())
    }

    /// What is to be said of them, if that is something else than before.
    pub(crate) fn news(&mut self) -> Option<Frame> {
        let count = self.listed.union(&self.unfit).count() + self.more;
        let mut words = String::new();
        for text in self.listed.union(&self.unfit).take(SAID_MAX) {
            let between = if words.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = match meant(text) {
                Some(name) => write!(words, "{between}{text} (expected {name})"),
                None => write!(words, "{between}{text} (no name)"),
            };
        }
        let news = (u32::try_from(count).unwrap_or(u32::MAX), words);
        if news == self.said {
            return None;
        }
        self.said.clone_from(&news);
        Some(Frame::Misnamed(news.0, news.1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said() {
        let (mut misnamed, wanted) = (Misnamed::default(), Allowed::default());
        assert_eq!(misnamed.news(), None);
        for text in ["\\097.test.", "a..test.", "A.test.", "test\\.", "\\116est."] {
            assert_eq!(name_of(text), None, "{text}");
            misnamed.is_there(text, &wanted);
        }
        // Names of one label are not meant.
        let words = "A.test. (expected a.test.), \\097.test. (expected a.test.), a..test. (no name)";
        assert_eq!(misnamed.news(), Some(Frame::Misnamed(3, words.into())));
        assert_eq!(misnamed.news(), None, "once");
        let fault = |zone: &str| Fault::Refused { zone: zone.into(), words: "no".into() };
        misnamed.begin_list();
        misnamed.unfit([fault("fine.test."), fault("x..test.")].iter(), &wanted);
        assert_eq!(misnamed.news(), Some(Frame::Misnamed(1, "x..test. (no name)".into())));
        misnamed.unfit([].iter(), &wanted);
        assert_eq!(misnamed.news(), Some(Frame::Misnamed(0, String::new())));
    }

    #[test]
    fn they_have_a_bound() {
        let (mut misnamed, wanted) = (Misnamed::default(), Allowed::default());
        (0..KEPT_MAX + 5).for_each(|number| misnamed.is_there(&format!("{number}..test."), &wanted));
        assert!(matches!(misnamed.news(), Some(Frame::Misnamed(count, _)) if count as usize == KEPT_MAX + 5));
        assert_eq!(misnamed.listed.len(), KEPT_MAX);
    }
}
