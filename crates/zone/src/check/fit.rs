//! Whether the zone fits into a pack, which is what is served: found out by building one and throwing it away.

use wire::iana::rtype;

use super::{Check, Detail, Finding, Summary};
use crate::build::{PackBuilder, Problem, TextStamp};
use crate::contents::{Contents, SourcePosition};

/// Reports why a server would refuse the zone although [`super::check`] finds nothing fatal; each finding goes to
/// `report`. Costs time and memory of a load. Of a zone with fatal findings nothing is to be asked: it may fail for the
/// same reasons.
pub fn fit(contents: &Contents, report: &mut dyn FnMut(Finding)) -> Summary {
    let mut summary = Summary::default();
    // The seed is of the index, which is never made.
    let Err(problems) = PackBuilder::new(0).add_zone(contents, TextStamp::default()) else { return summary };
    for problem in problems {
        let apex = || contents.apex().to_owned();
        let (check, owner, rtype) = match problem {
            Problem::RRsetTooLarge { owner, rtype } => (Check::RRsetTooLarge, owner, Some(rtype)),
            Problem::NoSoa => (Check::SoaMissing, apex(), Some(rtype::SOA)),
            Problem::Nsec3Parameters => (Check::Nsec3Parameters, apex(), Some(rtype::NSEC3PARAM)),
            Problem::TooManyTypes { owner } => (Check::TypesTooMany, owner, None),
            // Nothing is copied here, so nothing can be damaged.
            Problem::PackFull | Problem::Damaged => (Check::ZoneTooLarge, apex(), None),
        };
        let position = position_of(contents, &owner, rtype);
        let severity = check.severity();
        summary.add(check, severity);
        report(Finding { check, severity, owner, rtype, position, detail: Detail::None });
    }
    summary
}

/// Where the first record of the RRset stands.
fn position_of(contents: &Contents, owner: &wire::Name, rtype: Option<u16>) -> Option<SourcePosition> {
    let set = contents.find_name(owner)?.rrset(rtype?)?;
    set.records().next().map(|record| record.position)
}
