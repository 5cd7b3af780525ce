//! Whether access lists let a client ask, zone by zone, as they decide for queries (`auth::admission`).

use auth::access::{Access, Asker, Decision, Kind};
use wire::{NameBuf, Transport};
use zone::CatalogView;
use zone::catalog::Group;

use super::walk::{ancestor, nearest};
use super::{Question, Step, step};

/// What is said of the client of a question at the zones of these names, and at the resolver where it goes there. Nothing where nobody is meant.
pub(super) fn steps(
    view: &CatalogView<'_>,
    access: &Access,
    question: &Question,
    names: &[NameBuf],
    is_elsewhere: bool,
) -> Vec<Step> {
    let Some(address) = question.from else { return Vec::new() };
    let (transport, is_proved) =
        if question.is_tcp { (Transport::Tcp, true) } else { (Transport::Udp, false) };
    let asker = Asker { address, transport, is_proved, key: None };
    let say = |kind, group, what: &str| {
        let words = match access.decide(kind, group, &asker) {
            Decision::Allowed => "let in",
            Decision::Unproved => {
                "let in once it has shown that it receives there: until then TC, or BADCOOKIE where it sends a cookie"
            }
            // For it there is no resolver.
            Decision::Denied if kind == Kind::Recursion => "not let in: it gets the response below",
            Decision::Denied => "not let in: REFUSED (extended error 18)",
        };
        step("access", format!("{what}: {address} is {words}"))
    };
    let mut steps: Vec<Step> = Vec::new();
    for name in names {
        let hit = nearest(view, name, question.rtype);
        let said = match hit {
            Some(hit) => {
                let (group, apex) =
                    (view.group_of(hit.found.version().slot), ancestor(name, usize::from(hit.found.labels)));
                let (group, by) = match group.is_for_some() {
                    true => (group, "`allow-query` of the zone"),
                    false => (Group::default(), "`query` in [access]"),
                };
                say(Kind::Query, group, &format!("zone {apex}, by {by}"))
            }
            None if is_elsewhere => continue,
            None => say(Kind::Query, Group::default(), "no zone, by `query` in [access]"),
        };
        if !steps.contains(&said) {
            steps.push(said);
        }
    }
    if is_elsewhere {
        steps.push(say(Kind::Recursion, Group::default(), "the resolver, by `recursion` in [access]"));
    }
    steps
}
