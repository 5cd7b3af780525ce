//! Names that end in the zone's name twice, such as `mail.example.com.example.com.`: so does one that was written in full
//! without the dot at its end. Nothing breaks, but nobody asks for such a name.

use wire::iana::rtype;
use wire::rdata::{Names, has_names};
use wire::{Name, NameBuf};

use super::{At, Check, Facts, Reporter, name_detail, nothing};

/// Least labels of a zone's name: below `com.` there may well be a `com.com.`, and below the root every name ends in it.
const APEX_LABELS_MIN: usize = 2;

/// Checks owners and all names in RDATA.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let apex = facts.contents.apex();
    let Some(twice) = twice(apex) else { return };
    for node in facts.contents.nodes() {
        if node.key().starts_with(facts.contents.apex_key())
            && let Some(set) = node.rrsets().next()
        {
            reporter.add(Check::OriginRepeated, At::set(node, set), nothing);
        }
        // What signers make repeats what they found.
        let made = [rtype::RRSIG, rtype::NSEC];
        for set in node.rrsets().filter(|set| has_names(set.rtype()) && !made.contains(&set.rtype())) {
            for record in set.records().filter(|record| record.rdata.len() >= twice.octets().len()) {
                let at = At::record(node, set.rtype(), record.position);
                let names = Names::of(set.rtype(), record.rdata).map_while(Result::ok);
                let names =
                    names.filter_map(|field| Name::from_wire(&record.rdata[field.at..field.end]).ok());
                for name in names.filter(|name| name.is_at_or_below(&twice)) {
                    reporter.add(Check::OriginRepeated, at, name_detail(name));
                }
            }
        }
    }
}

/// The zone's name below itself; `None` where that is no sign of a mistake, or too long for a name.
fn twice(apex: &Name) -> Option<NameBuf> {
    if apex.label_count() < APEX_LABELS_MIN {
        return None;
    }
    let (_, labels) = apex.octets().split_last()?;
    Some(Name::from_wire(&[labels, apex.octets()].concat()).ok()?.to_owned())
}
