//! Requests of the control socket to replies.

mod cache;
mod explain;
mod servers;
mod stats;
mod status;
mod texts;
mod top;
mod zones;

use std::io;
use std::path::Path;
use std::time::Instant;

use wire::iana::rtype;
use wire::{Name, NameBuf};

pub(crate) use self::cache::{entries as cache_entries, security as security_word, stats as cache_stats};
pub(crate) use self::servers::servers_of;
pub(crate) use self::stats::{Recursed, WAITING, of_threads, rcode_name, stats, types};
use self::status::status;
pub(crate) use self::status::{brief_status, status_line};
pub(crate) use self::top::{asked, numbers};
use self::zones::all_zones;
use crate::command::{CatalogLine, ChangeLine, LogLevel, Reply, Request, StoreLine, ZoneLine};
use crate::controller::{Change, Controller};
use crate::limited;
use crate::locks;
use crate::log;
use crate::observing::Channel;
use crate::recursion::Recursion;
use crate::reload;
use crate::secondaries::Command;
use crate::wanted::{Listing, zone_name};
use crate::why::Question;

/// Why a request came to nothing.
enum Failure {
    /// It cannot be obeyed, in words for who asked.
    Refused(String),
    /// The replies cannot be given.
    Unheard(io::Error),
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Refused(why)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Unheard(error)
    }
}

/// Carries out a request; says whether all went well. Fails if the replies cannot be given.
pub(crate) fn answer(
    request: &Request,
    controller: &Controller,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<bool> {
    match carry_out(request, controller, reply) {
        Ok(is_well) => Ok(is_well),
        Err(Failure::Refused(message)) => reply(Reply::Error { message }).map(|()| false),
        Err(Failure::Unheard(error)) => Err(error),
    }
}

/// The resolver; what is asked of one is refused where there is none.
fn recursion(controller: &Controller) -> Result<&Recursion, String> {
    controller
        .recursion
        .as_deref()
        .ok_or_else(|| "there is no resolver: `enabled` in [resolver] is false".into())
}

fn carry_out(
    request: &Request,
    controller: &Controller,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, Failure> {
    let named = |text: &String| zone_name(text);
    let all_named = |texts: &mut dyn Iterator<Item = &String>| -> Result<Vec<NameBuf>, String> {
        texts.map(named).collect()
    };
    let started = Instant::now();
    let change = match request {
        Request::Status => {
            let status = status(controller);
            let is_well = status.problems.is_empty();
            reply(Reply::Status(Box::new(status)))?;
            return Ok(is_well);
        }
        Request::Stats => return said(reply(Reply::Stats(stats(controller)))),
        Request::Top { seconds } => {
            let top = top::top(controller, seconds.unwrap_or(0))?;
            return said(reply(Reply::Top(Box::new(top))));
        }
        Request::Locks { on, clear } => {
            return said(reply(Reply::Locks(locks::command(controller, *on, *clear))));
        }
        Request::RateLimit => return said(reply(Reply::RateLimit(limited::current(controller)))),
        Request::Dnstap { switch } => {
            let text = controller.observing.command(controller, Channel::Dnstap, *switch)?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::QueryLog { switch } => {
            let text = controller.observing.command(controller, Channel::QueryLog, *switch)?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::Log => {
            for line in log::lately::lines() {
                reply(Reply::LogLine(line))?;
            }
            return Ok(true);
        }
        Request::LogLevel { level } => {
            let was = level.as_deref().map_or_else(|| Ok(log::level()), log::change_level)?;
            return said(reply(Reply::LogLevel(LogLevel { level: log::level(), was })));
        }
        // Seen to by whoever speaks with the client.
        Request::Stop | Request::Upgrade { .. } => return Ok(true),
        Request::Cache { cache } => return cache::answer(cache, recursion(controller)?, reply),
        Request::NegativeAnchor { anchor } => {
            return cache::negative_anchors(anchor, recursion(controller)?, reply);
        }
        Request::Anchors => {
            for line in recursion(controller)?.anchor_lines() {
                reply(Reply::Anchor(line))?;
            }
            return Ok(true);
        }
        Request::Requests => {
            for line in recursion(controller)?.requests() {
                reply(Reply::Request(line))?;
            }
            return Ok(true);
        }
        Request::Explain { name, rtype } => {
            return cache::explain((name, rtype), recursion(controller)?, reply);
        }
        Request::Why { name, rtype, tcp, dnssec, from } => {
            let question = Question { from: *from, ..question((name, rtype), *tcp, *dnssec)? };
            let why = controller.why(&question, |_| true, true);
            let is_well = why.is_well();
            reply(Reply::Why(why))?;
            return Ok(is_well);
        }
        Request::Servers { name } => return servers::servers(name, recursion(controller)?, reply),
        Request::Zones { zone: None, state } => return Ok(all_zones(controller, *state, reply)?),
        Request::Zones { zone: Some(name), .. } => {
            let line = zone_line(controller, &named(name)?)?;
            let is_well = !line.is_wrong();
            reply(Reply::Zone(Box::new(line)))?;
            return Ok(is_well);
        }
        Request::Catalogs { catalog } => {
            let only = catalog.as_ref().map(named).transpose()?;
            return catalogs(controller, only.as_deref(), reply);
        }
        Request::ConfirmCatalog { catalog } => {
            let text = controller.catalogs.confirm(&named(catalog)?)?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::Stores { store } => return stores(controller, store.as_deref(), reply),
        Request::ConfirmStore { store } => {
            let text = controller.confirm_store(store)?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::RevokeApiKey { key } => {
            let text = controller.revoke_api_key(key)?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::Page => return said(reply(Reply::Page(controller.page_address()?))),
        Request::EndPageSessions => {
            let text = controller.end_page_sessions()?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::ConfirmApiKeys => {
            let text = controller.confirm_api_keys()?;
            return said(reply(Reply::Confirmed { text }));
        }
        Request::Reload { zone: None, zones, force } if zones.is_empty() => {
            reload::reload_all(controller, *force)
        }
        Request::Reload { zone, zones, force } => {
            reload::reload_zones(controller, &all_named(&mut zone.iter().chain(zones))?, *force)
        }
        Request::Reconfigure => reload::reconfigure(controller),
        Request::Refresh { zone } => {
            let name = named(zone)?;
            controller.expect_of_no_store(&name)?;
            controller.secondaries.command(&name, Command::Refresh)?;
            return Ok(true);
        }
        Request::Retransfer { zone } => {
            let name = named(zone)?;
            controller.expect_of_no_store(&name)?;
            controller.secondaries.command(&name, Command::Retransfer)?;
            return Ok(true);
        }
        Request::Sync { zones, all, force } => {
            let names = all_named(&mut zones.iter())?;
            return Ok(texts::sync(controller, &names, (*all, *force), reply)?);
        }
        Request::Freeze { zone, force } => {
            let line = texts::freeze(controller, &named(zone)?, *force)?;
            return said(reply(Reply::Text(line)));
        }
        Request::Thaw { zone, accept_loss: true } => {
            controller.accept_loss(&named(zone)?)?;
            return Ok(true);
        }
        Request::Thaw { zone, .. } => {
            let name = named(zone)?;
            controller.expect_of_no_store(&name)?;
            controller.thaw(&mut controller.change(), &name)?
        }
        Request::ExplainUpdate { .. } => {
            let explained = explain::update(controller, request)?;
            let is_granted = explained.granted;
            reply(Reply::Explained(explained))?;
            return Ok(is_granted);
        }
        Request::AddZone { zone, file, catalog, groups } => {
            let catalog = catalog.as_ref().map(named).transpose()?;
            let listing = catalog.map(|catalog| Listing {
                catalog: catalog.to_lowercase(),
                groups: groups.clone().into(),
                coo: None,
            });
            reload::add_zone(controller, named(zone)?, Path::new(file), listing)
        }
        Request::RemoveZone { zone } => reload::remove_zone(controller, &named(zone)?),
    };
    let is_well = change.errors.is_empty();
    reply(Reply::Change(change_line(change, started)))?;
    Ok(is_well)
}

/// A question as clients ask it.
fn question((name, of): (&str, &str), is_tcp: bool, dnssec_ok: bool) -> Result<Question, String> {
    let rtype = rtype::from_text(of.as_bytes()).filter(|of| *of == rtype::ANY || !rtype::is_meta(*of));
    let rtype = rtype.ok_or_else(|| format!("expected a type of records, found {of:?}"))?;
    Ok(Question { name: cache::name_of(name)?, rtype, is_tcp, dnssec_ok, from: None })
}

/// All is well where it was heard.
fn said(heard: io::Result<()>) -> Result<bool, Failure> {
    Ok(heard.map(|()| true)?)
}

/// A zone with all that is known of it.
pub(crate) fn zone_line(controller: &Controller, name: &Name) -> Result<ZoneLine, String> {
    let line = controller.zones.read().line_named(controller, name);
    let mut line = line.ok_or_else(|| format!("there is no zone {name}"))?;
    controller.note_maker(&mut line);
    // Without the lock, as another thread says it.
    let stands = controller.is_secondary(name).then(|| controller.secondaries.words(name)).flatten();
    let (secondary, transfers_in) = stands.map(|(words, lines)| (words, Box::new(lines))).unzip();
    Ok(ZoneLine { secondary, transfers_in, store: controller.store_words(name), ..line })
}

/// Shows stores; says whether all of these are well.
fn stores(
    controller: &Controller,
    only: Option<&str>,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, Failure> {
    let lines = controller.store_lines(only);
    if let Some(name) = only.filter(|_| lines.is_empty()) {
        return Err(Failure::Refused(format!("there is no [[store]] {name:?} in the settings")));
    }
    let are_well = !lines.iter().any(StoreLine::is_wrong);
    lines.into_iter().try_for_each(|line| reply(Reply::Store(Box::new(line))))?;
    Ok(are_well)
}

/// Shows catalogs; says whether all of these are well.
fn catalogs(
    controller: &Controller,
    only: Option<&Name>,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, Failure> {
    let lines = controller.catalog_lines(only);
    if let Some(name) = only.filter(|_| lines.is_empty()) {
        return Err(Failure::Refused(format!("there is no catalog {name} in the settings")));
    }
    let are_well = !lines.iter().any(CatalogLine::is_wrong);
    lines.into_iter().try_for_each(|line| reply(Reply::Catalog(line)))?;
    Ok(are_well)
}

fn change_line(change: Change, started: Instant) -> ChangeLine {
    ChangeLine {
        summary: reload::summary(&change),
        loaded: change.loaded,
        unchanged: change.unchanged,
        added: change.added,
        removed: change.removed,
        failed: change.failed.iter().map(ToString::to_string).collect(),
        errors: change.errors,
        warnings: change.warnings,
        milliseconds: started.elapsed().as_secs_f64() * 1e3,
    }
}
