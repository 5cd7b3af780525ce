//! The table of all numbers: what each is called, what it does, and where it comes from.
//!
//! Counters that are declared elsewhere, such as those of workers, are taken over from there, each with its own help: whoever adds one there adds it here.

use std::iter;

use auth::rate::Limited;
use net::WorkerCounters;
use recursive::waiting;

use super::family::{Family, Kind, Put, Read, Value};
use super::readings::Readings;
use crate::answer::{WAITING, rcode_name};
use crate::api::OUTCOMES;
use crate::observing::QUEUED;
use crate::stores::StoreNumbers;

/// What goes down again of the numbers that are declared elsewhere.
const GAUGES: [&str; 5] = ["tcp_open", "later_open", "upstream_sockets", "upstream_streams_open", "waiting"];

/// What `ctl stats` has of its own threads: name there, what it does, help.
#[rustfmt::skip]
const COUNTS: [(&str, Kind, &str); 26] = [
    ("transfers-out", Kind::Counter, "Transfers of zones that were begun (AXFR, IXFR), those of one message included."),
    ("transfers-out-completed", Kind::Counter, "Transfers that were sent to their end."),
    ("transfers-out-broken", Kind::Counter, "Transfers that were not: the client went or was too slow, or the zone could not be read."),
    ("transfers-out-refused", Kind::Counter, "Requests for a transfer that got none."),
    ("transfers-out-records", Kind::Counter, "Records in transfers."),
    ("transfers-out-octets", Kind::Counter, "Octets of transfers."),
    ("notify-out", Kind::Counter, "Messages that tell others of a new serial (NOTIFY), repeated ones too."),
    ("notify-out-told", Kind::Counter, "Times that another server said that it heard of a new serial."),
    ("notify-out-refused", Kind::Counter, "Times that it said something else."),
    ("notify-out-given-up", Kind::Counter, "Times that it said nothing."),
    ("notify-out-left-out", Kind::Counter, "Times that nobody was told, as too many others were to be."),
    ("history-zones", Kind::Gauge, "Zones of which it is kept what led from version to version."),
    ("history-versions", Kind::Counter, "Versions of zones that were written there."),
    ("history-begun-anew", Kind::Counter, "Times that nothing was known of what led to a version."),
    ("history-waiting-octets", Kind::Gauge, "Octets of versions that are not written yet."),
    ("history-condensed", Kind::Counter, "Times that several versions were sent as one difference."),
    ("zones-changed", Kind::Gauge, "Zones that have changed in place and were not stored anew since."),
    ("zones-changed-octets", Kind::Gauge, "Octets of memory of what has changed in them."),
    ("zones-rested", Kind::Counter, "Times that a zone was stored with all that had changed."),
    ("sig0-verified", Kind::Counter, "Updates signed by SIG(0) whose signature is right."),
    ("sig0-failed", Kind::Counter, "Updates whose signature, signer or time is wrong."),
    ("sig0-over-quota", Kind::Counter, "Updates that were refused without a look, as too many came."),
    ("forwarded", Kind::Counter, "Updates that were sent on to a primary."),
    ("forwarded-answered", Kind::Counter, "Updates that a primary has answered."),
    ("forwarded-failed", Kind::Counter, "Updates that no primary has answered."),
    ("forwarded-over-quota", Kind::Counter, "Updates that were not sent on, as too many were under way."),
];

/// All of them, in the order in which they are told.
pub(crate) fn table() -> Vec<Family> {
    iter::empty()
        .chain(server())
        .chain(queries())
        .chain(workers())
        .chain(zones())
        .chain(stores())
        .chain(api())
        .chain(memory())
        .chain(cache())
        .chain(threads())
        .chain(elsewhere("auth", "answers", auth::Counters::default().each(), |readings, at| {
            readings.answers.each().nth(at).map(number)
        }))
        .chain(elsewhere("", "limited", Limited::default().each(), |readings, at| {
            readings.limited.each().nth(at).map(number)
        }))
        .chain(elsewhere("net", "transport", WorkerCounters::default().each(), |readings, at| {
            readings.transport.each().nth(at).map(number)
        }))
        .chain(elsewhere("recursive", "resolver", recursive::Counters::default().each(), |readings, at| {
            readings.recursed.as_ref()?.answers.each().nth(at).map(number)
        }))
        .chain(elsewhere(
            "clients",
            "resolver",
            WAITING.iter().map(|(name, help)| (*name, *help, 0)),
            |readings, at| Some(readings.recursed.as_ref()?.waiting[at]),
        ))
        .chain([waited()])
        .chain(elsewhere("resolver", "resolver", resolve::Counters::default().each(), |readings, at| {
            readings.recursed.as_ref()?.done.each().nth(at).map(number)
        }))
        .chain(observed())
        .collect()
}

/// How long clients waited whose answers had to be found out.
fn waited() -> Family {
    const HELP: &str = "Seconds from a question that was not in the cache to its answer; those that came too late, or were cut for their sum, are counted elsewhere.";
    family(("zonda_clients_waited_seconds", Kind::Histogram), "resolver", HELP, &["le"], |readings, put| {
        let Some(recursed) = &readings.recursed else { return };
        let mut sum = 0;
        let ends = waiting::WAITED_MS.map(|end| format!("{}", end as f64 / 1000.0));
        for (end, count) in ends.iter().map(String::as_str).chain(["+Inf"]).zip(recursed.waited) {
            sum += count;
            put(&[end], Value::Count(sum));
        }
        put(&["sum"], Value::Real(recursed.waited_ms as f64 / 1000.0));
        put(&["count"], Value::Count(sum));
    })
}

/// What is told of queries, and what of that is lost: each sink below its own name.
fn observed() -> Vec<Family> {
    const FROM: &str = "dnstap and query log";
    let (of_tap, of_sink) = (observe::observer::Counts::default(), observe::queue::Counts::default());
    let tap = elsewhere("tap", FROM, of_tap.each(), |readings, at| {
        readings.observed.tap.each().nth(at).map(number)
    });
    let queued =
        family(("zonda_sink_queued_bytes", Kind::Gauge), FROM, QUEUED, &["sink"], |readings, put| {
            for sink in &readings.observed.sinks {
                put(&[sink.name], Value::Count(sink.queued_octets));
            }
        });
    let dnstap = elsewhere("dnstap", FROM, of_sink.each(), |readings, at| {
        readings.observed.sinks[0].counts.each().nth(at).map(number)
    });
    let query_log = elsewhere("query_log", FROM, of_sink.each(), |readings, at| {
        readings.observed.sinks[1].counts.each().nth(at).map(number)
    });
    tap.into_iter().chain(dnstap).chain(query_log).chain([queued]).collect()
}

fn number((_, _, number): (&'static str, &'static str, u64)) -> u64 {
    number
}

/// A number that is declared here.
fn family(
    (name, kind): (&str, Kind),
    from: &'static str,
    help: &str,
    labels: &'static [&'static str],
    each: fn(&Readings, &mut Put<'_>),
) -> Family {
    Family { name: name.into(), kind, help: help.into(), labels, from, read: Read::Each(each) }
}

/// Numbers that are declared elsewhere, below a name of their own.
fn elsewhere(
    below: &str,
    from: &'static str,
    each: impl Iterator<Item = (&'static str, &'static str, u64)>,
    read: fn(&Readings, usize) -> Option<u64>,
) -> Vec<Family> {
    let of = |(at, (name, help, _)): (usize, (&'static str, &'static str, u64))| Family {
        name: named(below, name),
        kind: if GAUGES.contains(&name) { Kind::Gauge } else { Kind::Counter },
        // Lines of declarations begin with a blank.
        help: help.lines().map(str::trim).collect::<Vec<_>>().join(" "),
        labels: &[],
        from,
        read: Read::At(read, at),
    };
    each.enumerate().map(of).collect()
}

/// A name as others have it: with underscores, and bytes in the place of octets.
fn named(below: &str, name: &str) -> String {
    let name = name.replace('-', "_").replace("octets", "bytes");
    if below.is_empty() { format!("zonda_{name}") } else { format!("zonda_{below}_{name}") }
}

/// Of the program and its process. The latter have the names that every exporter gives them.
fn server() -> [Family; 9] {
    let of_process = "the system, of the server's process";
    [
        family(
            ("zonda_build_info", Kind::Gauge),
            "the program",
            "The version, as a label.",
            &["version"],
            |_, put| {
                put(&[env!("CARGO_PKG_VERSION")], Value::Count(1));
            },
        ),
        family(
            ("process_start_time_seconds", Kind::Gauge),
            "the server",
            "When the server started, in seconds since 1970.",
            &[],
            |readings, put| put(&[], Value::Real(readings.started)),
        ),
        family(
            ("zonda_settings_refused", Kind::Gauge),
            "the server",
            "1 while the settings of the file are refused, so that those of before are in force; else 0.",
            &[],
            |readings, put| put(&[], Value::Count(readings.are_settings_refused.into())),
        ),
        family(
            ("zonda_log_messages", Kind::Counter),
            "the server",
            "Messages of the log of level `error` and `warn`; `zonda ctl log` has the last ones.",
            &["level"],
            |readings, put| {
                for (level, count) in ["error", "warn"].into_iter().zip(readings.logged) {
                    put(&[level], Value::Count(count));
                }
            },
        ),
        family(
            ("process_cpu_seconds", Kind::Counter),
            of_process,
            "Time of processors that the server has used.",
            &[],
            |readings, put| put(&[], Value::Real(readings.process.cpu_seconds)),
        ),
        family(
            ("process_resident_memory_bytes", Kind::Gauge),
            of_process,
            "Memory that the server has, packs that are mapped among it.",
            &[],
            |readings, put| some(readings.process.resident_octets, put),
        ),
        family(
            ("process_virtual_memory_bytes", Kind::Gauge),
            of_process,
            "Addresses that the server has.",
            &[],
            |readings, put| some(readings.process.virtual_octets, put),
        ),
        family(
            ("process_open_fds", Kind::Gauge),
            of_process,
            "Descriptors that are open; not on kernels before 6.2.",
            &[],
            |readings, put| some(readings.process.open_descriptors, put),
        ),
        family(
            ("process_max_fds", Kind::Gauge),
            of_process,
            "Descriptors that may be open.",
            &[],
            |readings, put| some(readings.process.most_descriptors, put),
        ),
    ]
}

fn some(count: Option<u64>, put: &mut Put<'_>) {
    count.into_iter().for_each(|count| put(&[], Value::Count(count)));
}

/// What was asked and answered, by what operators ask for first.
fn queries() -> [Family; 3] {
    [
        family(
            ("zonda_queries", Kind::Counter),
            "queries",
            "Queries by how they came.",
            &["transport", "family"],
            |readings, put| {
                let counts = &readings.transport;
                let (udp6, tcp6) = (counts.udp_ipv6_queries, counts.tcp_ipv6_queries);
                // A batch may be seen partly added.
                put(&["udp", "ipv4"], Value::Count(counts.udp_queries.saturating_sub(udp6)));
                put(&["udp", "ipv6"], Value::Count(udp6));
                put(&["tcp", "ipv4"], Value::Count(counts.tcp_queries.saturating_sub(tcp6)));
                put(&["tcp", "ipv6"], Value::Count(tcp6));
            },
        ),
        family(
            ("zonda_queries_by_type", Kind::Counter),
            "types",
            "Queries by the type that was asked for: those that were, other types as `others`, messages without a question as `none`.",
            &["type"],
            |readings, put| {
                readings.types.iter().for_each(|(name, count)| put(&[name], Value::Count(*count)));
            },
        ),
        family(
            ("zonda_responses", Kind::Counter),
            "rcodes",
            "Responses by response code.",
            &["rcode"],
            |readings, put| {
                for (code, count) in readings.rcodes().into_iter().enumerate() {
                    put(&[&rcode_name(code)], Value::Count(count));
                }
            },
        ),
    ]
}

/// Of each worker: enough to see one that has more to do than the others.
fn workers() -> [Family; 4] {
    macro_rules! of_worker {
        ($name:literal, $kind:ident, $help:literal, $count:expr) => {
            family(($name, Kind::$kind), "each worker", $help, &["worker"], |readings, put| {
                let count: fn(&WorkerCounters) -> u64 = $count;
                for (worker, counts) in readings.workers.iter().enumerate() {
                    put(&[&worker.to_string()], Value::Count(count(counts)));
                }
            })
        };
    }
    [
        of_worker!("zonda_worker_queries", Counter, "Queries of a worker.", |counts| {
            counts.udp_queries + counts.tcp_queries
        }),
        of_worker!(
            "zonda_worker_udp_batches",
            Counter,
            "Receive calls of a worker that brought datagrams: its queries over UDP divided by these are how many wait for it at a time.",
            |counts| counts.udp_batches
        ),
        of_worker!(
            "zonda_worker_udp_receive_overflows",
            Counter,
            "Datagrams the system dropped because a receive buffer of a worker was full.",
            |counts| counts.udp_receive_overflows
        ),
        of_worker!("zonda_worker_tcp_open", Gauge, "Connections of a worker that are open.", |counts| {
            counts.tcp_open
        }),
    ]
}

/// Of each store: whether it can be read, and what of it is not served as it has it.
fn stores() -> [Family; 5] {
    macro_rules! of_store {
        ($name:literal, $kind:ident, $help:literal, $count:expr) => {
            family(($name, Kind::$kind), "each store", $help, &["store"], |readings, put| {
                let count: fn(&StoreNumbers) -> u64 = $count;
                for store in &readings.stores {
                    put(&[store.name.as_str()], Value::Count(count(store)));
                }
            })
        };
    }
    [
        of_store!("zonda_store_zones", Gauge, "Zones that are of a store.", |store| store.zones),
        of_store!(
            "zonda_store_away",
            Gauge,
            "Whether the database of a store cannot be read, or is another one than before: 1, else 0.",
            |store| u64::from(store.is_away)
        ),
        of_store!(
            "zonda_store_zones_refused",
            Gauge,
            "Zones that are not served as their store has them.",
            |store| store.refused
        ),
        of_store!(
            "zonda_store_zones_waiting",
            Gauge,
            "Zones that a store has no more, or older ones of, and that are served as they were.",
            |store| store.waiting
        ),
        of_store!(
            "zonda_store_versions",
            Counter,
            "Versions of zones of a store that were served since the start.",
            |store| store.served
        ),
    ]
}

/// How many zones there are in which state.
fn zones() -> [Family; 13] {
    let (list, look) = ("the list of zones", "the last look at all zones");
    [
        family(
            ("zonda_zones", Kind::Gauge),
            list,
            "Zones by whether they have data: `served`, or `absent`, which get SERVFAIL.",
            &["state"],
            |readings, put| {
                put(&["served"], Value::Count(readings.zones.served));
                put(&["absent"], Value::Count(readings.zones.absent));
            },
        ),
        family(
            ("zonda_zones_made", Kind::Gauge),
            "the file `made`",
            "Zones that were made over the HTTP API.",
            &[],
            |readings, put| put(&[], Value::Count(readings.made)),
        ),
        family(
            ("zonda_zones_broken", Kind::Gauge),
            list,
            "Zones whose file could not be loaded when that was tried last, or whose list could not be read.",
            &[],
            |readings, put| put(&[], Value::Count(readings.zones.broken)),
        ),
        family(
            ("zonda_zones_stale", Kind::Gauge),
            list,
            "Broken zones that are served from older data.",
            &[],
            |readings, put| put(&[], Value::Count(readings.zones.stale)),
        ),
        family(
            ("zonda_zones_with_findings", Kind::Gauge),
            look,
            "Zones that are served and in which something was found, by the worst of it.",
            &["severity"],
            |readings, put| {
                if let Some(looked) = &readings.looked {
                    put(&["error"], Value::Count(looked.with_errors));
                    put(&["warning"], Value::Count(looked.with_warnings));
                }
            },
        ),
        family(
            ("zonda_zones_expired", Kind::Gauge),
            look,
            "Zones with signatures that have expired.",
            &[],
            |readings, put| some(readings.looked.as_ref().map(|looked| looked.expired), put),
        ),
        family(
            ("zonda_zones_expire_soon", Kind::Gauge),
            look,
            "Zones whose signatures expire in less than `warn-expiry-days` of `[server]`.",
            &[],
            |readings, put| some(readings.looked.as_ref().map(|looked| looked.soon), put),
        ),
        family(
            ("zonda_next_expiry_timestamp_seconds", Kind::Gauge),
            look,
            "When the next signatures of a zone expire, in seconds since 1970; not where no zone is signed.",
            &[],
            |readings, put| some(readings.looked.as_ref().and_then(|looked| looked.next), put),
        ),
        family(
            ("zonda_zone_records", Kind::Gauge),
            look,
            "Records of all zones that are served.",
            &[],
            |readings, put| some(readings.looked.as_ref().map(|looked| looked.records), put),
        ),
        family(
            ("zonda_zones_looked_at_timestamp_seconds", Kind::Gauge),
            look,
            "When all zones were looked at last, in seconds since 1970: once an hour, after each reload, and for `zonda ctl status` where that takes a moment.",
            &[],
            |readings, put| some(readings.looked.as_ref().map(|looked| looked.at), put),
        ),
        family(
            ("zonda_zones_pinned", Kind::Gauge),
            "zones",
            "Zones held in one state for what takes long, such as a transfer.",
            &[],
            |readings, put| put(&[], Value::Count(readings.pins.now as u64)),
        ),
        family(
            ("zonda_zones_pinned_bytes", Kind::Gauge),
            "zones",
            "Packs and changes that are held so and served no more.",
            &[],
            |readings, put| put(&[], Value::Count(readings.pins.octets)),
        ),
        family(
            ("zonda_zone_pins", Kind::Counter),
            "zones",
            "Times that a zone was to be held so, by what came of it: `made`, `refused` as a bound was reached, or later `cut`.",
            &["outcome"],
            |readings, put| {
                put(&["made"], Value::Count(readings.pins.made));
                put(&["refused"], Value::Count(readings.pins.refused));
                put(&["cut"], Value::Count(readings.pins.cut));
            },
        ),
    ]
}

/// What is asked over the HTTP API.
fn api() -> [Family; 3] {
    const FROM: &str = "the HTTP API";
    [
        family(
            ("zonda_api_asks", Kind::Counter),
            FROM,
            "Requests of clients that the server decided, by what came of them: `done`; `unknown_key`; `denied`, as the key may not or sees no such zone; `refused`, as they cannot be done; `full`, as there was no place (429); `failed`, for now or for all that is known.",
            &["outcome"],
            |readings, put| {
                for (outcome, count) in OUTCOMES.iter().zip(readings.api.outcomes) {
                    put(&[outcome], Value::Count(count));
                }
            },
        ),
        family(
            ("zonda_api_asks_held", Kind::Gauge),
            FROM,
            "Requests that have a place now, of 192.",
            &[],
            |readings, put| put(&[], Value::Count(readings.api.held)),
        ),
        family(
            ("zonda_api_searches_cut", Kind::Counter),
            FROM,
            "Searches that ended before all was looked at.",
            &[],
            |readings, put| put(&[], Value::Count(readings.api.cut)),
        ),
    ]
}

fn memory() -> [Family; 1] {
    [family(
        ("zonda_memory_bytes", Kind::Gauge),
        "memory",
        "Memory by what it is for, as far as that is known without a look at all of it; `zonda ctl stats` has all.",
        &["part"],
        |readings, put| {
            readings.memory.iter().for_each(|(part, octets)| put(&[part], Value::Count(*octets)));
        },
    )]
}

/// What the resolver has learned.
fn cache() -> [Family; 6] {
    const FROM: &str = "`zonda ctl cache stats`";
    macro_rules! of_cache {
        ($name:literal, $kind:ident, $help:literal, $count:expr) => {
            family(($name, Kind::$kind), FROM, $help, &[], |readings, put| {
                let count: fn(&crate::recursion::CacheNumbers) -> u64 = $count;
                some(readings.cache.as_ref().map(count), put);
            })
        };
    }
    [
        of_cache!("zonda_cache_entries", Gauge, "Entries of the cache.", |cache| cache.counts.entries),
        of_cache!("zonda_cache_bytes", Gauge, "Octets of these.", |cache| cache.counts.octets),
        of_cache!("zonda_cache_limit_bytes", Gauge, "Octets that the cache may take.", |cache| cache
            .octets_max),
        of_cache!("zonda_cache_puts", Counter, "Entries that were put into the cache.", |cache| {
            cache.counts.puts
        }),
        family(
            ("zonda_cache_left", Kind::Counter),
            FROM,
            "Entries that had to go: `unread` ones, ones that were `read`, for want of a place in the `index`, or as they had `expired`.",
            &["why"],
            |readings, put| {
                let Some(cache) = &readings.cache else { return };
                put(&["unread"], Value::Count(cache.counts.evicted_unread));
                put(&["read"], Value::Count(cache.counts.evicted));
                put(&["index"], Value::Count(cache.counts.evicted_index));
                put(&["expired"], Value::Count(cache.counts.expired));
            },
        ),
        of_cache!(
            "zonda_resolver_network_out",
            Gauge,
            "1 while no name server answers, nor those of the root; else 0.",
            |cache| u64::from(cache.is_network_out)
        ),
    ]
}

/// What threads count beside the workers.
fn threads() -> Vec<Family> {
    let family = |(at, (name, kind, help)): (usize, &(&str, Kind, &str))| Family {
        name: named("", name),
        kind: *kind,
        help: (*help).into(),
        labels: &[],
        from: "zones",
        read: Read::At(|readings, at| readings.count(COUNTS[at].0), at),
    };
    COUNTS.iter().enumerate().map(family).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::stats;
    use crate::command::Count;
    use crate::controller::{Controller, Overrides};
    use crate::metrics::Exporter;
    use crate::settings::Settings;
    use std::collections::HashSet;
    use web::pair::Format;

    fn controller() -> Controller {
        let mut settings = Settings::default();
        settings.resolver.enabled = true;
        Controller::new(settings, Overrides::default()).unwrap()
    }

    #[test]
    fn names_are_as_formats_want_them() {
        let (mut names, mut samples) = (HashSet::new(), HashSet::new());
        for family in table() {
            let Family { name, help, labels, .. } = &family;
            assert!(names.insert(name.clone()) && samples.insert(family.sample()), "{name} twice");
            let starts = ["zonda_", "process_"];
            assert!(starts.iter().any(|start| name.starts_with(start)), "{name}");
            assert!(
                name.bytes()
                    .all(|octet| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'_')
            );
            for end in ["_total", "_count", "_sum", "_bucket", "_octets"] {
                assert!(!name.ends_with(end), "{name}");
            }
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}: {help}");
            assert!(labels.len() <= 2);
        }
    }

    /// Whatever `ctl stats` counts is told here too.
    #[test]
    fn each_count_is_there() {
        let (controller, table) = (controller(), table());
        let stats = stats(&controller);
        let is_there = |count: &Count, below: &[&str]| {
            below.iter().any(|below| table.iter().any(|family| family.name == named(below, &count.name)))
        };
        // All queries together are those by how they came; pins have labels.
        let is_in_another = |name: &str| name == "queries" || name.starts_with("pin");
        for (counts, below) in [
            (&stats.answers, &["auth"][..]),
            (&stats.limited, &[""]),
            (&stats.transport, &["net"]),
            (&stats.resolver, &["recursive", "clients", "resolver"]),
            (&stats.zones, &[""]),
        ] {
            assert!(!counts.is_empty());
            for count in counts.iter().filter(|count| !is_in_another(&count.name)) {
                assert!(is_there(count, below), "{}", count.name);
            }
        }
        let threads: HashSet<&str> = stats.zones.iter().map(|count| &*count.name).collect();
        assert!(COUNTS.iter().all(|(name, ..)| threads.contains(name)));
    }

    /// What goes down is no counter.
    #[test]
    fn what_is_now_is_a_gauge() {
        for family in table().iter().filter(|family| family.kind == Kind::Counter) {
            assert!(!family.help.ends_with(" now."), "{}: {}", family.name, family.help);
        }
    }

    #[test]
    fn each_is_told() {
        let controller = controller();
        let text = Exporter::default().render(&controller, Format::OpenMetrics);
        for family in table() {
            // Before workers, a look at the zones and questions there is nothing to be said.
            let is_later =
                ["each worker", "each store", "types", "the last look at all zones"].contains(&family.from);
            let is_there = text.contains(&format!("\n# HELP {} ", family.name));
            assert!(is_there || is_later || family.name == "process_open_fds", "{}", family.name);
        }
        assert!(text.contains("\nzonda_zones{state=\"served\"} 0\n"), "{text}");
    }
}
