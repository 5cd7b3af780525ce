//! What is printed of a zone, as a row of a list or with all that is known of it.

use control::command::{ByCommand, Changes, NoticeLine, ZoneLine};
use control::findings::summary;
use control::text::{Seconds, count, grouped, octets};

use super::server::expiry;
use super::transfers::{transfers_in_text, transfers_text};

fn serial(zone: &ZoneLine) -> String {
    zone.serial.map_or_else(|| "-".into(), |serial| serial.to_string())
}

pub(super) fn zone_row(zone: &ZoneLine) -> String {
    let signed = zone.signed.as_deref().unwrap_or("-");
    let (records, name) = (grouped(zone.records), &zone.zone);
    let (source, notes) = (source(zone), notes(zone));
    format!("{:<7} {:>10} {records:>12} {signed:<6} {name:<40} {source}{notes}\n", zone.state, serial(zone))
}

/// Where a zone comes from, and whether that is what the settings say.
fn source(zone: &ZoneLine) -> String {
    match zone.by_command {
        None if zone.made_by.is_some() => "API".into(),
        None => zone.source.clone(),
        Some(ByCommand::Added) => format!("{} (added by command)", zone.source),
        Some(ByCommand::Removed) => "settings (removed by command)".into(),
    }
}

/// What a list says of a zone behind its source.
fn notes(zone: &ZoneLine) -> String {
    let expired = zone.expired.then(|| "signatures expired".to_owned());
    let frozen = zone.frozen.then(|| "frozen".to_owned());
    let fault = zone.fault.is_some().then(|| "takes no updates".to_owned());
    let notes: Vec<String> =
        expired.into_iter().chain(frozen).chain(fault).chain(summary(zone.errors, zone.warnings)).collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}

pub(super) fn zone_text(zone: &ZoneLine) -> String {
    let state = match zone.state.as_str() {
        "stale" => "stale: served as it was before its file became broken",
        "removed" => "removed by command until the next start; the settings have it",
        "absent" => {
            "absent: queries for it get SERVFAIL, or the answers of the zone above it if it is new; of a mirror its servers are asked"
        }
        state => state,
    };
    let mut text = format!(
        "zone      {}\nstate     {state}\nserial    {}\nnames     {}\nrecords   {}\nsigned    {}\nsource    {}\n",
        zone.zone,
        serial(zone),
        grouped(u64::from(zone.names)),
        grouped(zone.records),
        zone.signed.as_deref().unwrap_or("no"),
        source(zone)
    );
    if let Some(expires) = zone.expires {
        text += &format!("expiry    {}\n", expiry(expires));
    }
    for problem in &zone.problems {
        text += &format!("problem   {problem}\n");
    }
    if let Some(summary) = summary(zone.errors, zone.warnings) {
        text += &format!("found     {summary}\n");
    }
    for finding in &zone.findings {
        text += &format!("finding   {finding}\n");
    }
    for line in &zone.store {
        text += &format!("store     {line}\n");
    }
    if let Some(key) = &zone.made_by {
        text += &format!("made by   key {key} over the API; its first version is {}\n", zone.source);
    }
    if let Some(catalog) = &zone.member_of {
        text += &format!("member of {catalog}\n");
    }
    text += &zone.changes.as_ref().map_or_else(String::new, |changes| changes_text(changes, zone.serial));
    if zone.frozen {
        text += "frozen    it takes no updates; `zonda ctl thaw` reads its text and lets them in again\n";
    }
    if let Some(fault) = &zone.fault {
        text += &format!("fault     {fault}: it takes no updates until `zonda ctl thaw --accept-loss`\n");
    }
    if let Some(secondary) = &zone.secondary {
        text += &format!("secondary {secondary}\n");
    }
    text += &zone.transfers_in.as_deref().map_or_else(String::new, transfers_in_text);
    text += &zone.transfers.as_ref().map_or_else(String::new, transfers_text);
    for NoticeLine { remote, serial, state, seconds } in &zone.notices {
        text += &format!("notify    {remote}: serial {serial}, {state}, {} ago\n", Seconds(*seconds));
    }
    text
}

/// What has changed since the text.
fn changes_text(changes: &Changes, serial: Option<u32>) -> String {
    let Changes { text_serial, versions, octets: memory } = changes;
    let text = match (text_serial, serial) {
        (Some(text), Some(serial)) if *text == serial => "the text says the same".into(),
        (Some(text), _) => format!("the text has serial {text}"),
        (None, _) => "the text is older".into(),
    };
    format!("changed   {}; {text}; {}\n", count(*versions as usize, "version"), octets(*memory))
}
