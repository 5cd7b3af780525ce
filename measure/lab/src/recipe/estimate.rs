//! How long a recipe takes, roughly: what its numbers say, and what was seen to come on top.

use ::engine::Data;

use super::{Effort, Form, Measure, Name, Placement, Processes, Recipe, Restart, Row, ZoneKind};
use crate::contender::Role;

/// What a run of the engine takes beside its length: it reads the root zone first, or fills a cache.
const ENGINE_START: f64 = 0.25;
/// See [`ENGINE_START`].
const ENGINE_CACHE: f64 = 1.8;
/// See [`ENGINE_START`]; of zones that are made for the run.
const ENGINE_LARGE: f64 = 3.0;
/// Trials until the steps of a staircase are small.
const APPROACH: f64 = 10.0;
/// The same where it is not the first block: a staircase begins where it ended in that.
const APPROACH_KNOWN: f64 = 4.0;
/// What a trial takes beside its length, and beside half of the time for which lost replies are waited for, as half of the
/// trials lose some.
const TRIAL_MORE: f64 = 0.05;
/// Start and end of a program.
const START: f64 = 1.0;
/// Start and end of a generator, which are most of a run beside a server that is there already.
const LOAD_START: f64 = 0.3;
/// The same with an echo server of its own for the run.
const ECHO_START: f64 = 0.5;
/// Updates of one zone that a server accepts a second, about.
const UPDATES_A_SECOND: f64 = 1500.0;
/// Versions of the longest history that ships with a recipe, and what one takes: change, transfer and comparison.
const VERSIONS: usize = 2576;
const VERSION: f64 = 0.016;
/// What a server takes to load a record, the mean of all six and a little more.
const RECORD: f64 = 4e-6;
/// The same of the four that can be told to read a zone again, which are the quicker ones.
const RELOADED_RECORD: f64 = 2.2e-6;
/// How many times as long it takes to read a zone again under load as to load it, of what outlasts the load.
const RELOAD: f64 = 2.0;
/// What memory takes to settle, and queries that touch a zone.
const SETTLE: f64 = 5.0;
/// Simulations of the recipe `scaling`, in full and in short forms.
const COMPUTED: f64 = 180.0;
const COMPUTED_QUICK: f64 = 25.0;
/// How many times as long as a load it takes to have zones go out, come in and be current again.
const TRANSFERRED: f64 = 6.5;
/// Samples of what is kept of updates: pauses and transfers.
const SAMPLES_SECONDS: f64 = 12.0;
/// Looks at memory after single updates, and what follows them.
const WATCHED_SECONDS: f64 = 10.0;
/// What it takes to ask a resolver for a name that it does not know yet.
const SETTLED: f64 = 3.5e-5;
/// What it takes to see that no more queries arrive at the authoritative servers, and what a trial of a resolver takes beside its length and that.
const LOOKED: f64 = 0.08;
/// Trials of a search for the rate without loss, the shorter ones counted as parts.
const SEARCH_TRIALS: f64 = 10.0;
/// What a check of a rate takes beside its length: dnsperf, kxdpgun with a link to attach to and late replies, and ours.
const DNSPERF_MORE: f64 = 0.1;
/// See [`DNSPERF_MORE`].
const KXDPGUN_MORE: f64 = 2.3;
/// See [`DNSPERF_MORE`].
const CHECK_MORE: f64 = 0.4;
/// Shares of the rate that are offered to see what is answered.
const OFFERS: f64 = 6.0;
/// How long a hit is waited for of those resolvers that have none after a restart, the mean over all.
const NO_HIT: f64 = 3.0;
/// Before and after a flood, and until resolvers have given up on it.
const FLOOD_MORE: f64 = 2.0;
/// What expires before servers go, and what comes late.
const OUTAGE_MORE: f64 = 6.0;
/// The start of a server with the root zone before a flood, and until nothing leaves after it.
const BESIDE_FLOOD: f64 = 1.0;
/// Until it is seen that a server rests, and its memory.
const RESTED: f64 = 2.0;
/// What a server takes to load a zone beside its records, the mean of all.
const ZONE: f64 = 6e-5;
/// Of such a load, what Zonda takes from text, from packs and from a store.
const OWN_LOAD: f64 = 0.25;
const PACKS_LOAD: f64 = 0.1;
const STORE_LOAD: f64 = 2.2;
/// What it takes to put a small zone into a store.
const STORED: f64 = 2e-4;
/// What it takes to ask for the RRset of a record once.
const TOUCHED: f64 = 1e-5;
/// What a name takes whom to ask for it is not known of: two to four round trips of 20 ms.
const NAME_SECONDS: f64 = 0.05;
/// What it takes to see that a resolver asks nothing more, before and after.
const QUIET: f64 = 1.5;
/// What it takes to make and to load the zones of a name.
const NAME_MADE: f64 = 5e-4;
/// How many times as long a start takes under callgrind, and what an answer takes there: of Zonda, and the mean of all others.
const COUNTED_START: f64 = 10.0;
/// See [`COUNTED_START`].
const COUNTED_OWN: f64 = 5e-5;
/// See [`COUNTED_START`].
const COUNTED_OTHER: f64 = 2.3e-4;
/// Echo servers in a block, where workers do not vary.
const ECHOES: usize = 2;

impl Recipe {
    /// Seconds of a form on a machine on which servers have so many cores.
    pub fn estimate(&self, form: Form, cores: usize) -> f64 {
        let effort = self.effort(form);
        let servers = self.contenders.len() as f64;
        let loads = |records: f64| servers * (START + records * RECORD);
        let all: f64 = self.cases.iter().map(|case| loads(records(case, &effort))).sum();
        let run = effort.run_seconds + START;
        match self.measure {
            Measure::Rates => all + self.rates(&effort, all, cores),
            Measure::Caching => self.caching(&effort, cores),
            Measure::Restart => {
                let fill = effort.queries as f64 * SETTLED;
                self.turns(&effort) * (fill + 2.0 * effort.run_seconds + 2.0 * START + NO_HIT)
            }
            Measure::Flood => {
                let is_run = |flood: &&super::Flood| form == Form::Full || !flood.full_only;
                let floods = self.floods.iter().filter(is_run).count() as f64;
                let flood = effort.run_seconds + effort.timeout_ms as f64 / 1000.0 + FLOOD_MORE;
                self.turns(&effort) * (START + effort.warm_seconds + floods * flood)
            }
            Measure::Stale => {
                let outage = effort.run_seconds + effort.warm_seconds / 2.0 + OUTAGE_MORE;
                self.turns(&effort) * (START + 3.0 * outage)
            }
            Measure::ColdCache => self.cold(&effort),
            Measure::Memory => all + servers * self.cases.len() as f64 * SETTLE,
            Measure::Start => self.starts(&effort),
            // Each flood has a server of its own, which is started.
            Measure::RateLimit => {
                let floods = 2.0 * self.sources.len() as f64;
                let flood = effort.run_seconds + BESIDE_FLOOD;
                self.turns(&effort) * (START + effort.warm_seconds + floods * flood)
            }
            Measure::Instructions | Measure::Allocations => all + self.counted(&effort, all),
            Measure::Echo => {
                let run = effort.run_seconds + effort.warm_seconds + ECHO_START;
                self.echo_servers(cores + 1) * effort.runs as f64 * run
            }
            Measure::Engine => self.engine(form, &effort, cores),
            // Each of five protections with as many threads as there are cores, and with twice and four times as many.
            Measure::Scaling => {
                let counts = self.workers.iter().filter(|&&workers| workers <= cores).count() + 2;
                let run = effort.run_seconds + effort.warm_seconds + ENGINE_START;
                // The inputs: profiles of three kinds and what cores share, several times.
                let (computed, times) =
                    if form == Form::Full { (COMPUTED, 7.0) } else { (COMPUTED_QUICK, 2.0) };
                computed + times * (3.0 * run + 0.5) + 5.0 * counts as f64 * effort.runs as f64 * run
            }
            // Every way with a server of its own, and the limit program; ends wait for the disk.
            Measure::UpdateRate => {
                let ways = (self.windows().count() * self.cases.len()) as f64;
                effort.runs as f64 * ways * (self.takers() + 1.0) * run + all
            }
            // Every way with a server that is started for it; PostgreSQL by itself in all of them, by whole seconds, SQLite in each case, and
            // the limit program.
            Measure::Commits => {
                let (windows, cases) = (self.windows().count() as f64, self.cases.len() as f64);
                let alone = cases * (windows + 1.0) * (effort.run_seconds.ceil() + LOAD_START);
                let limit = windows * (effort.run_seconds + LOAD_START);
                effort.runs as f64 * (windows * cases * servers * run + alone + limit) + all
            }
            // For each rate as fast as it goes, and at half of that with updates and without; for none one less.
            Measure::Dynamic => {
                let counts = self.workers.iter().filter(|&&workers| workers <= cores).count().max(1) as f64;
                let rates = (self.changes.rates.len() + 1) as f64;
                let run = effort.run_seconds + LOAD_START;
                let length = (rates * 3.0 - 1.0) * run + all / servers;
                effort.runs as f64 * (counts * self.takers() + 0.5) * length
            }
            // Out, in, again, and what an update of all takes; a server of its own each.
            Measure::Transfer => {
                let updates = effort.updates as f64 / UPDATES_A_SECOND + START;
                effort.runs as f64 * (TRANSFERRED * all + self.takers() * updates)
            }
            // Kept and not: each with pairs of runs at every rate.
            Measure::Secondary => {
                let pairs = (effort.runs * self.changes.rates.len()) as f64;
                let run = effort.run_seconds + LOAD_START;
                let wanted = self.changes.targets.len() * effort.pairs.saturating_sub(effort.runs);
                2.0 * (all + (self.cases.len() as f64 * servers * pairs + wanted as f64 / 2.0) * 2.0 * run)
            }
            Measure::Reload => self.reload(&effort),
            // As many updates as are wanted or fit the time, and samples, of which each takes transfers.
            Measure::Endless => {
                let updates = effort.run_seconds.min(effort.updates as f64 / UPDATES_A_SECOND);
                all + self.takers() * (updates + SAMPLES_SECONDS)
            }
            // Updates one at a time and a zone of millions that is generated and loaded; starts from what was made ready for them take moments.
            Measure::Delta => {
                let records: f64 = self.cases.iter().map(|case| records(case, &effort)).sum();
                let updates = self.takers() * (effort.updates as f64 / UPDATES_A_SECOND + WATCHED_SECONDS);
                let pairs = effort.pairs as f64 * 4.0 * (effort.run_seconds + LOAD_START);
                all + updates + pairs + 4.0 * records * RECORD
            }
            Measure::History => {
                let versions = effort.versions.min(VERSIONS) as f64;
                servers * (START * 2.0 + versions * VERSION)
            }
            // Against two echo servers.
            Measure::Generator => {
                2.0 * self.generators.len() as f64 * effort.runs as f64 * (effort.run_seconds + ECHO_START)
            }
        }
    }

    /// Starts of all, each followed until it rests; those of Zonda from packs too, and from a store with packs and without, which is filled before.
    fn starts(&self, effort: &Effort) -> f64 {
        let own = |name: &Name| matches!(name, Name::Zonda | Name::Before);
        let of_case = |case: &super::Case| {
            let zones = match case.zone {
                ZoneKind::Many | ZoneKind::Panel => case.size as f64 * effort.scale,
                _ => 1.0,
            };
            // Loads of zones are bound by files where zones are small.
            let load = START + RESTED + records(case, effort) * RECORD + zones * ZONE;
            let more = self.contenders.iter().filter(|name| own(name)).count() as f64;
            let few = effort.runs.min(effort.peer_runs) as f64;
            let peers = self.contenders.len() as f64 - more;
            let touch = if case.every { records(case, effort) * TOUCHED } else { 0.0 };
            let runs = effort.runs as f64;
            let whole = if zones > 1.0 { few } else { runs };
            let store = if case.store { (whole + 1.0) * STORE_LOAD + runs * PACKS_LOAD } else { 0.0 };
            let stored = if case.store { more * zones * STORED } else { 0.0 };
            (peers + 2.0 * more) * touch
                + stored
                + more * (runs * (OWN_LOAD + PACKS_LOAD) + OWN_LOAD + store) * load
                + peers * few * load
        };
        self.cases.iter().map(of_case).sum()
    }

    /// Contenders that take updates.
    fn takers(&self) -> f64 {
        let can = |name: &&Name| name.cannot(Role::Dynamic { is_signed: true }).is_none();
        self.contenders.iter().filter(can).count() as f64
    }

    /// Servers that are started for a pair of runs, without reloads and with them; the last reload outlasts its run.
    fn reload(&self, effort: &Effort) -> f64 {
        let turn = |case: &super::Case| {
            let records = records(case, effort);
            let zone = if case.zone == ZoneKind::Many { case.records_each as f64 } else { records };
            START
                + (records + RELOAD * zone) * RELOADED_RECORD
                + effort.warm_seconds
                + 2.0 * (effort.run_seconds + LOAD_START)
        };
        self.turns(effort) * self.cases.iter().map(turn).sum::<f64>()
    }

    /// Two runs of all under callgrind, with so many queries and with twice as many; starts take `loads` without it.
    fn counted(&self, effort: &Effort, loads: f64) -> f64 {
        let asked = (self.cases.len() * effort.counted * 3) as f64;
        let each = |name: &Name| if name.is_this_build() { COUNTED_OWN } else { COUNTED_OTHER };
        let answers = asked * self.contenders.iter().map(each).sum::<f64>();
        effort.runs as f64 * (2.0 * loads * COUNTED_START + answers)
    }

    /// Blocks and latencies, beside the load for the comparison of answers, which takes `loads`.
    fn rates(&self, effort: &Effort, loads: f64, cores: usize) -> f64 {
        let counts = self.workers.iter().filter(|&&workers| workers <= cores).count().max(1);
        let spots = (counts * self.cases.len()) as f64;
        let echoes = effort.echo_servers + usize::from(self.workers.len() > 1);
        let subjects = (self.contenders.len() + echoes) as f64;
        let staircase = |approach: f64, row: &Row| {
            let trial = effort.trial_seconds * row.longer + TRIAL_MORE + effort.timeout_ms as f64 / 2000.0;
            let trials = row.trials.unwrap_or(effort.trials) as f64;
            (trials + approach) * trial + effort.warm_seconds + 2.0 * LOAD_START
        };
        let blocks = |row: &Row| {
            staircase(APPROACH, row) + (effort.blocks as f64 - 1.0) * staircase(APPROACH_KNOWN, row)
        };
        // Other ways of asking have echoes of their own.
        let row = |row: &Row| {
            let asked = self.contenders.iter().filter(|&&contender| row.is_for(contender)).count();
            (effort.echo_servers + asked) as f64 * blocks(row)
        };
        let rows = self.cases.len() as f64 * self.rows.iter().map(row).sum::<f64>();
        let blocks = spots * subjects * blocks(&Row::default()) + rows;
        let search = effort.loss_free_seconds * SEARCH_TRIALS;
        let checked = self.checks(effort, spots);
        let searched =
            if self.loss_free.is_empty() { self.contenders.len() + 1 } else { self.loss_free.len() };
        let offered = effort.beyond_seconds + if effort.beyond_seconds > 0.0 { LOAD_START } else { 0.0 };
        let beyond = (subjects - 1.0) * effort.beyond_runs as f64 * OFFERS * offered;
        let more = spots * (searched as f64 * search + beyond);
        let latency =
            2.0 * (subjects - 1.0) * effort.latency_runs as f64 * (effort.latency_seconds + LOAD_START);
        let reloads = match effort.restart {
            Restart::Block => effort.blocks as f64 * loads * counts as f64,
            Restart::Case => loads * (counts as f64 - 1.0),
        };
        blocks + checked + more + spots * latency + reloads
    }

    /// Checks by dnsperf, and ours beside it: once a block for each contender, and dnsperf's limit. Of the usual way of asking kxdpgun does so once more.
    fn checks(&self, effort: &Effort, spots: f64) -> f64 {
        let seconds = effort.cross_seconds;
        if seconds <= 0.0 {
            return 0.0;
        }
        let asked = |row: &Row| self.contenders.iter().filter(|&&name| row.is_for(name)).count();
        let of_rows = (self.cases.len() * self.rows.iter().map(asked).sum::<usize>()) as f64;
        let of_usual = spots * self.contenders.len() as f64;
        let limits = spots + (self.cases.len() * self.rows.len()) as f64;
        let one = |start: f64, limits: f64, contenders: f64| {
            (limits + contenders) * (seconds + start) + contenders * (seconds + CHECK_MORE)
        };
        effort.blocks as f64 * one(DNSPERF_MORE, limits, of_usual + of_rows)
            + one(KXDPGUN_MORE, spots, of_usual)
    }

    /// Resolvers, started and settled once for each number of workers, and blocks of all cases with two relays each.
    fn caching(&self, effort: &Effort, cores: usize) -> f64 {
        let counts = self.workers.iter().filter(|&&workers| workers <= cores).count().max(1) as f64;
        let names = self.cases.first().map_or(0.0, |case| records(case, effort)) / 2.0;
        let servers = self.contenders.len() as f64;
        let subjects = servers + ECHOES as f64;
        let relays = ECHOES as f64 * (effort.warm_seconds + LOAD_START);
        let block = |approach: f64| {
            let trials = effort.trials as f64 + approach;
            self.cases.len() as f64 * (subjects * trials * (effort.trial_seconds + LOOKED) + relays + START)
        };
        let begin = servers * (START + names * SETTLED + effort.warm_seconds);
        counts * (begin + block(APPROACH) + (effort.blocks as f64 - 1.0) * block(APPROACH_KNOWN))
    }

    /// Resolvers that begin with nothing: a start, as many names as are outstanding in each of their times, and a comparison.
    fn cold(&self, effort: &Effort) -> f64 {
        let run = |case: &super::Case| {
            let names = case.size as f64 * effort.scale;
            START + QUIET + names * NAME_SECONDS / effort.window as f64
        };
        let runs: f64 = self.cases.iter().map(run).sum();
        let started = self.cases.iter().map(|case| START + case.size as f64 * effort.scale * NAME_MADE);
        runs * self.turns(effort) + started.sum::<f64>()
    }

    /// Runs of all contenders: those that no target is about have fewer.
    fn turns(&self, effort: &Effort) -> f64 {
        let few = effort.runs.min(effort.peer_runs);
        self.contenders
            .iter()
            .map(|&name| if self.is_in_targets(name) { effort.runs } else { few })
            .sum::<usize>() as f64
    }

    /// Runs of the engine.
    fn engine(&self, form: Form, effort: &Effort, cores: usize) -> f64 {
        let run = |cell: super::Cell| {
            let start = match cell.options.data {
                Some(Data::Cache) => ENGINE_CACHE,
                Some(Data::Net | Data::Many) => ENGINE_LARGE,
                _ => ENGINE_START,
            };
            let runs = self.panels[cell.panel].runs.map_or(effort.runs, |runs| runs.min(effort.runs));
            runs as f64 * (effort.run_seconds + effort.warm_seconds + start)
        };
        super::cells(self, form != Form::Full, cores).into_iter().map(run).sum()
    }

    /// Kinds of echo servers.
    fn echo_servers(&self, cores: usize) -> f64 {
        let count = |group: &super::EchoGroup| match (group.cores, &group.processes) {
            (Placement::Server, Processes::One) => 1,
            (Placement::Server, Processes::EachToCores) | (Placement::EachCore, _) => cores,
            (placement, _) => placement.sets(&(0..cores).collect::<Vec<_>>()).len(),
        };
        self.echoes.iter().map(count).sum::<usize>() as f64
    }
}

/// Records of a case, roughly.
fn records(case: &super::Case, effort: &Effort) -> f64 {
    let size = case.size as f64 * effort.scale;
    match case.zone {
        ZoneKind::Root => 25_000.0,
        ZoneKind::Many => size * case.records_each as f64,
        ZoneKind::Panel => size * 124.0,
        ZoneKind::Caching => size * 203.0,
        ZoneKind::Internet => size * 5.0,
        // With signatures: each delegation has a signed NSEC3 record.
        ZoneKind::Com if case.dnssec == super::Dnssec::Nsec3 => size * 5.0,
        ZoneKind::Com => size * 2.5,
        // With signatures: each owner has three times as many.
        ZoneKind::Net | ZoneKind::Flat if case.dnssec == super::Dnssec::Nsec => size * 3.0,
        ZoneKind::Net | ZoneKind::Flat | ZoneKind::Dynamic => size,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::recipe::{find, names};

    /// Cores of the servers on a machine with two: one beside the generator's, and both where workers vary.
    fn cores(recipe: &Recipe) -> usize {
        if recipe.uses_all_cores() { 2 } else { 1 }
    }

    /// Those that measure more than one thing of all contenders, or load much in every round, in minutes.
    const LONGER: [(&str, f64); 3] = [("root", 25.0), ("threads-zones", 17.0), ("transfer", 20.0)];

    #[test]
    fn full_forms_end_within_a_quarter_of_an_hour_on_two_cores() {
        let (mut said, mut is_short) = (String::new(), true);
        for name in names() {
            let recipe = find(name).unwrap();
            let [full, quick, check] = [Form::Full, Form::Quick, Form::Check]
                .map(|form| recipe.estimate(form, cores(&recipe)) / 60.0);
            said += &format!("{name}: {full:.1} min, quick {quick:.1}, check {check:.1}\n");
            let most = LONGER.iter().find(|(long, _)| *long == name).map_or(15.0, |&(_, most)| most);
            is_short &= full <= most;
            assert!(quick < full && check < quick, "{name}: {full:.1}, {quick:.1}, {check:.1}");
            // Those of the engine start no servers and make no zones.
            assert!(recipe.panels.is_empty() || quick < 1.0, "{name}: {quick:.1}");
        }
        assert!(is_short, "{said}");
        println!("{said}");
    }
}
