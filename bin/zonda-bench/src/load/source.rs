//! `--queries` and `--generate`.

use std::{path::PathBuf, str::FromStr};

use bench::{
    Error,
    load::Settings,
    mmsg,
    query::{MadeNames, Query, QuerySet},
    source,
};

use clap::Args;

use super::options::Arguments;

/// Where queries come from.
#[derive(Args)]
#[command(next_help_heading = "Queries")]
pub struct SourceArguments {
    /// Query file, or capture (pcap, pcapng) whose queries over UDP and TCP are sent as they were recorded; known by its
    /// first octets.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["generate", "updates", "join"])]
    pub queries: Option<PathBuf>,
    /// Queries without a file: random=NAME for names below NAME that no cache has seen, zone=FILE for 100000 queries
    /// drawn from a zone file as `gen queries` does.
    #[arg(long, value_name = "KIND", conflicts_with = "queries")]
    pub generate: Option<Generate>,
    /// With --generate random=NAME: type asked for.
    #[arg(long = "type", value_name = "TYPE", default_value = "A", requires = "generate")]
    pub rtype: String,
    /// Start of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// All queries with EDNS and this payload size.
    #[arg(long, value_name = "OCTETS", conflicts_with = "no_edns")]
    pub edns_size: Option<u16>,
    /// All queries with EDNS and DO.
    #[arg(long = "do", conflicts_with = "no_edns")]
    pub dnssec_ok: bool,
    /// All queries with EDNS and a client cookie (RFC 7873).
    #[arg(long, conflicts_with = "no_edns")]
    pub cookie: bool,
    /// All queries without EDNS.
    #[arg(long)]
    pub no_edns: bool,
    /// All queries with RD.
    #[arg(long)]
    pub rd: bool,
}

/// Queries that are made.
#[derive(Clone, Debug)]
pub enum Generate {
    /// Random names below this one.
    Random(String),
    /// Drawn from a zone.
    Zone(PathBuf),
}

impl FromStr for Generate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Generate, &'static str> {
        match text.split_once('=') {
            Some(("random", name)) => Ok(Generate::Random(name.to_owned())),
            Some(("zone", path)) if !path.is_empty() => Ok(Generate::Zone(path.into())),
            _ => Err("expected random=NAME or zone=FILE"),
        }
    }
}

/// Order of the runs of equal length: any fixed one, so that all contenders get the same.
const RUNS_SEED: u64 = 1;
/// Queries drawn from a zone: enough that caches of answers are as good as with a day of traffic.
const DRAWN: usize = 100_000;

/// The queries to send.
pub fn queries(arguments: &Arguments, settings: &Settings) -> Result<QuerySet, Error> {
    let (input, overrides) = (&arguments.input, arguments.overrides());
    let queries = match (&input.queries, &input.generate) {
        (Some(path), _) => source::read(path, &overrides)?,
        (None, Some(Generate::Zone(path))) => source::draw(path, DRAWN, input.seed, &overrides)?,
        (None, Some(Generate::Random(name))) => {
            let fault = |rule| Error::Option { option: "--generate", rule };
            let line = format!("{name} {}", input.rtype);
            let query = Query::from_line(line.as_bytes()).ok().flatten();
            let mut query = query.ok_or(fault("random=NAME needs a domain name, and --type an RR type"))?;
            overrides.apply(&mut query);
            QuerySet::made(
                MadeNames::new(&query, input.seed).ok_or(fault("random=NAME: the name is too long"))?,
            )
        }
        (None, None) => return Err(Error::Option { option: "--queries", rule: "or --generate is needed" }),
    };
    if arguments.replay && queries.times_ns().is_empty() {
        return Err(Error::Option {
            option: "--replay",
            rule: "needs --queries with a capture: others have no times",
        });
    }
    let made = queries.kept() == 0;
    if made && (arguments.loops.is_some() || arguments.records()) {
        return Err(Error::Option {
            option: "--generate",
            rule: "random=NAME has no end: --loops and recording need one",
        });
    }
    Ok(match arguments.trains {
        // Runs as long for each worker, of all agents where there are some, as a burst.
        true => {
            let workers = settings.threads.saturating_mul(arguments.joining.agents.unwrap_or(1));
            queries.in_runs(arguments.burst.min(mmsg::TRAIN_MAX).saturating_mul(workers), RUNS_SEED)
        }
        false => queries,
    })
}
