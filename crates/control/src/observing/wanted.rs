//! What the settings want to be told, and what is wrong with them.

use std::net::SocketAddr;

use observe::query_log::{Filter, Format};
use observe::{Output, dnstap, query_log, sink};
use wire::NameBuf;

use super::Channel;
use crate::settings::Settings;

/// What is told, and to whom.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) sink: sink::Terms,
    pub(super) told: Terms,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Terms {
    Dnstap(dnstap::Terms),
    QueryLog(query_log::Terms),
}

/// An output as the settings name it; a path begins at their folder.
fn output_of(settings: &Settings, text: &str) -> Option<Output> {
    Some(match Output::parse(text)? {
        Output::Unix(path) => Output::Unix(settings.path(&path)),
        Output::File(path) => Output::File(settings.path(&path)),
        tcp => tcp,
    })
}

pub(super) fn dnstap_wanted(settings: &Settings) -> Option<Wanted> {
    let dnstap = &settings.dnstap;
    let sink = sink::Terms {
        name: Channel::Dnstap.name(),
        output: output_of(settings, &dnstap.output)?,
        queue_octets: dnstap.queue_octets,
        bounds: observe::FileBounds {
            octets_max: dnstap.file_octets_max,
            files_max: dnstap.files_max,
            free_octets_min: dnstap.free_octets_min,
        },
    };
    let told = dnstap::Terms {
        kinds: dnstap::Kinds::named(dnstap.messages.texts().iter().map(|word| &**word)).ok()?,
        identity: dnstap.identity.clone().into_bytes(),
        version: dnstap.version.clone().into_bytes(),
        one_in: dnstap.one_in,
        is_masked: dnstap.mask,
        has_resolver: settings.resolver.enabled,
    };
    Some(Wanted { sink, told: Terms::Dnstap(told) })
}

pub(super) fn query_log_wanted(settings: &Settings) -> Option<Wanted> {
    let log = &settings.query_log;
    let sink = sink::Terms {
        name: Channel::QueryLog.name(),
        output: output_of(settings, &log.output)?,
        queue_octets: log.queue_octets,
        bounds: observe::FileBounds {
            octets_max: log.file_octets_max,
            files_max: log.files_max,
            free_octets_min: log.free_octets_min,
        },
    };
    let told = query_log::Terms {
        format: if log.format == "json" { Format::Json } else { Format::Text },
        one_in: log.one_in,
        filter: filter_of(settings).ok()?,
    };
    Some(Wanted { sink, told: Terms::QueryLog(told) })
}

/// What picks lines; what is none of it otherwise: a name or a code.
fn filter_of(settings: &Settings) -> Result<Filter, (&'static str, &str)> {
    let log = &settings.query_log;
    let names = log.zones.texts().iter().map(|text| NameBuf::from_text(text).map_err(|_| ("zones", &**text)));
    let names: Vec<NameBuf> = names.collect::<Result<_, _>>()?;
    Filter::new(&names, log.rcodes.texts().iter().map(|word| &**word)).map_err(|word| ("rcodes", word))
}

/// What is wrong with the sections although each value is of its kind: section, key, and what was expected.
pub(crate) fn problems(settings: &Settings) -> Vec<(&'static str, &'static str, String)> {
    let mut problems = Vec::new();
    let (dnstap, log) = (&settings.dnstap, &settings.query_log);
    match (dnstap.output.as_str(), Output::parse(&dnstap.output)) {
        ("", _) => {}
        (text, None) => {
            let text =
                format!("expected \"unix:PATH\", \"file:PATH\" or \"tcp:ADDRESS:PORT\", found {text:?}");
            problems.push(("dnstap", "output", text));
        }
        (_, Some(Output::Tcp(address))) if !dnstap.clear_text && !is_loopback(address) => {
            let text = format!(
                "expected an address of this machine, or `clear-text = true`, found {address}: anybody on the way can read along"
            );
            problems.push(("dnstap", "output", text));
        }
        (_, Some(_)) => {}
    }
    if let Err(word) = dnstap::Kinds::named(dnstap.messages.texts().iter().map(|word| &**word)) {
        let words: Vec<_> = dnstap::Kinds::words().collect();
        let text = format!("expected some of {}, found {word:?}", words.join(", "));
        problems.push(("dnstap", "messages", text));
    }
    if !log.output.is_empty()
        && !matches!(Output::parse(&log.output), Some(Output::Unix(_) | Output::File(_)))
    {
        let text = format!("expected \"file:PATH\" or \"unix:PATH\", found {:?}", log.output);
        problems.push(("query-log", "output", text));
    }
    match filter_of(settings) {
        Err((key @ "zones", text)) => {
            problems.push(("query-log", key, format!("expected names of zones, found {text:?}")));
        }
        Err((key, text)) => {
            let text =
                format!("expected response codes, \"dropped\", \"stream\" or \"gone\", found {text:?}");
            problems.push(("query-log", key, text));
        }
        Ok(_) => {}
    }
    problems
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
