//! Whether somebody may change something by an update, and which rule says so: in words, for operators.

use std::net::IpAddr;

use auth::access::{Access, Asker, Decision, Kind};
use wire::iana::rtype;
use wire::{Name, NameBuf, Transport};
use zone::catalog::Group;

use crate::command::{Explained, Request};
use crate::controller::Controller;
use crate::settings::access::Lists;
use crate::settings::{Names, Settings};
use crate::wanted::zone_name;

/// What is asked.
struct Asked {
    zone: NameBuf,
    address: IpAddr,
    key: Option<NameBuf>,
    transport: Transport,
    name: NameBuf,
    types: Vec<u16>,
}

impl Asked {
    fn read(request: &Request) -> Result<Asked, String> {
        let Request::ExplainUpdate { zone, from, key, tcp, name, types } = request else {
            return Err("expected a question about an update".into());
        };
        let named = |text: &str| NameBuf::from_text(text).map_err(|_| format!("{text:?} is no domain name"));
        let rtype = |text: &String| {
            rtype::from_text(text.to_ascii_uppercase().as_bytes())
                .ok_or_else(|| format!("{text:?} is no type"))
        };
        Ok(Asked {
            zone: zone_name(zone)?,
            address: from.parse().map_err(|_| format!("{from:?} is no address"))?,
            key: key.as_deref().map(named).transpose()?,
            transport: if *tcp { Transport::Tcp } else { Transport::Udp },
            name: named(name)?,
            types: types.iter().map(rtype).collect::<Result<_, _>>()?,
        })
    }
}

/// Answers `explain-update`.
pub(super) fn update(controller: &Controller, request: &Request) -> Result<Explained, String> {
    let asked = Asked::read(request)?;
    if !controller.has_zone(&asked.zone) {
        return Err(format!("there is no zone {}", asked.zone));
    }
    if !asked.name.is_at_or_below(&asked.zone) {
        return Err(format!("{} is not in zone {}", asked.name, asked.zone));
    }
    let mut explained = Explained { granted: true, lines: Vec::new() };
    state(controller, &asked.zone, &mut explained);
    {
        // Not held for longer: it waits for a reload that is under way, whose settings are those that count.
        let changing = controller.change();
        access(controller, &changing.settings, &asked, &mut explained);
    }
    policy(controller, &asked, &mut explained);
    explained.lines.push(match explained.granted {
        true => "granted".into(),
        false => "refused".into(),
    });
    Ok(explained)
}

/// What keeps updates from the zone, whoever sends them.
fn state(controller: &Controller, zone: &Name, explained: &mut Explained) {
    let mut refuse = |line: String| {
        explained.granted = false;
        explained.lines.push(line);
    };
    let lower = zone.to_lowercase();
    if !controller.dynamic.is_running() {
        refuse("no zone is changed by updates: there is no pack-directory that can be written".into());
    }
    if let Err(line) = controller.expect_of_no_store(zone) {
        refuse(line);
    } else if controller.is_secondary(zone) {
        refuse(format!("zone {zone} is transferred from others: updates are for its primary"));
    }
    if controller.texts.of(&lower).is_frozen {
        refuse(format!("zone {zone} is frozen; `zonda ctl thaw {zone}` lets updates in again"));
    }
    if let Some(fault) = controller.fault_of(&lower) {
        refuse(format!("zone {zone}: {fault}; `zonda ctl thaw --accept-loss {zone}` lets updates in again"));
    }
}

/// Whether access lists let the sender in.
fn access(controller: &Controller, settings: &Settings, asked: &Asked, explained: &mut Explained) {
    let own = controller.own_update_lists(&asked.zone);
    let (key, names) = match &own {
        Some(names) => ("allow-update of the zone", names),
        None => ("update in [access]", &settings.access.update),
    };
    let asker = Asker {
        address: asked.address,
        transport: asked.transport,
        // A request that is signed need not come again over TCP.
        is_proved: asked.transport.is_stream() || asked.key.is_some(),
        key: asked.key.as_deref(),
    };
    let who = match &asked.key {
        Some(key) => format!("{} with key {key}", asked.address),
        None => format!("{}, unsigned", asked.address),
    };
    let mut best = Decision::Denied;
    if names.is_empty() {
        explained.lines.push(format!("{key}: nobody"));
    }
    for name in names.texts() {
        let decision = decide(settings, name, &asker);
        let what = match decision {
            Decision::Allowed => "lets it in",
            Decision::Unproved => "lets it in over TCP alone, or signed",
            Decision::Denied => "does not let it in",
        };
        let place = place_of(settings, "acl", settings.acls.iter().position(|acl| *acl.name == **name));
        explained.lines.push(format!("{key}: list {name:?}{place} {what}: {who}"));
        best = best.max(decision);
        if best == Decision::Allowed {
            break;
        }
    }
    if let Some(key) = &asked.key
        && !settings
            .keys
            .iter()
            .any(|known| known.name.as_deref().is_some_and(|name| name.eq_ignore_case(key)))
    {
        explained.lines.push(format!(
            "there is no [[key]] {key}: signed by TSIG the request gets NOTAUTH (BADKEY), by SIG(0) the key is looked for in the zone"
        ));
    }
    explained.granted &= best == Decision::Allowed;
}

/// What one list says.
fn decide(settings: &Settings, name: &str, asker: &Asker<'_>) -> Decision {
    let lists = Lists::of(settings);
    let rule = lists.rule(&Names::one(name));
    let rules = std::array::from_fn(|_| rule.clone());
    Access::new(lists.lists, rules, Vec::new())
        .map_or(Decision::Denied, |access| access.decide(Kind::Update, Group::default(), asker))
}

/// Which rules of the policy decide.
fn policy(controller: &Controller, asked: &Asked, explained: &mut Explained) {
    let terms = controller.update_terms(&asked.zone);
    let Some(policy) = terms.policy else {
        let line = "the zone has no update-policy: whoever the lists let in may change all";
        return explained.lines.push(line.into());
    };
    let (name, place) = {
        let changing = controller.change();
        let name = controller.update_policy_name(&asked.zone);
        let mut policies = changing.settings.update_policies.iter();
        let place =
            place_of(&changing.settings, "update-policy", policies.position(|policy| policy.name == name));
        (name, place)
    };
    explained.lines.push(format!("update-policy {name:?}{place}:"));
    let asker =
        change::Asker { address: asked.address, transport: asked.transport, key: asked.key.as_deref() };
    for rtype in &asked.types {
        let said = policy.explain(&asker, &asked.name, *rtype);
        explained.granted &= said.is_granted;
        explained.lines.extend(said.lines.into_iter().map(|line| format!("  {line}")));
    }
}

/// ` (FILE:LINE)` of the section of this number; nothing where there is no file, or it is not as it was read.
fn place_of(settings: &Settings, section: &str, at: Option<usize>) -> String {
    let place = || {
        let file = settings.file.as_ref()?;
        let text = std::fs::read_to_string(file).ok()?;
        let heading = format!("[[{section}]]");
        let mut lines = text.lines().zip(1..).filter(|(line, _)| line.trim_start().starts_with(&heading));
        let (_, line) = lines.nth(at?)?;
        Some(format!(" ({}:{line})", file.display()))
    };
    place().unwrap_or_default()
}
