//! `--queries` and `--generate`.

use bench::{
    Error,
    load::Settings,
    mmsg,
    query::{MadeNames, Query, QuerySet},
    source,
};

use super::options::{Arguments, Generate};

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
    if made && (arguments.loops.is_some() || arguments.record_sizes.is_some()) {
        return Err(Error::Option {
            option: "--generate",
            rule: "random=NAME has no end: --loops and --record-sizes need one",
        });
    }
    Ok(match arguments.trains {
        // Runs as long for each worker as a burst.
        true => queries.in_runs(arguments.burst.min(mmsg::TRAIN_MAX) * settings.threads, RUNS_SEED),
        false => queries,
    })
}
