//! The characterisation as JSON: counts by name, so that other programs can be compared with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    capture::SECOND,
    report::{Report, class_name, opcode_name, rcode_name, rtype_name},
    tally::{Count, Kind},
};

impl Report {
    /// The report as an object. `types` counts each type in all classes; `types_by_class` each class but IN apart.
    pub fn json(&self) -> Value {
        let Report { packets, rates, tcp, damage, .. } = self;
        json!({
            "start": packets.first as f64 / SECOND as f64,
            "duration_seconds": self.duration_seconds(),
            "requests": self.requests.count,
            "failed": self.requests.failed,
            "responses": self.responses,
            "rebuilt": self.is_rebuilt,
            "requests_per_second": {
                "average": rates.average,
                "percentile_95": rates.burst_95,
                "max": rates.burst_max,
            },
            "recursive": count(&self.recursive),
            "authoritative": self.authoritative,
            "truncated": self.truncated,
            "requests_tcp": self.requests_tcp,
            "types": self.types(),
            "types_by_class": self.types_by_class(),
            "no_question": self.kind(Kind::Nothing),
            "question_not_readable": self.kind(Kind::Unreadable),
            "classes": named(self.classes.iter().map(|(class, all)| (class_name(*class), count(all)))),
            "rcodes": named(self.rcodes.iter().map(|(code, all)| (rcode_name(*code), json!(all)))),
            "opcodes": named(self.opcodes.iter().map(|(code, all)| (opcode_name(*code), json!(all)))),
            "packets": packets.all,
            "datagrams": packets.datagrams,
            "tcp": {
                "packets": tcp.packets,
                "sessions": tcp.sessions,
                "never_closed": tcp.never_closed,
                "retransmitted": tcp.retransmitted,
                "not_analysed": tcp.not_analysed,
            },
            "damage": {
                "messages_damaged": damage.damaged,
                "messages_too_short": damage.short,
                "messages_cut": damage.cut,
                "fragments": damage.fragments,
                "packets_from_fragments": damage.fragmented,
                "packets_lacking_fragments": damage.fragmented_given_up,
                "packets_of_unknown_link": packets.unknown_link,
            },
            "faults": self.faults,
        })
    }

    fn types(&self) -> Value {
        let mut types: BTreeMap<u16, Count> = BTreeMap::new();
        for (kind, count) in &self.kinds {
            let Kind::Question { rtype, .. } = *kind else { continue };
            let sum = types.entry(rtype).or_default();
            sum.count += count.count;
            sum.failed += count.failed;
        }
        named(types.iter().map(|(rtype, all)| (rtype_name(*rtype), count(all))))
    }

    fn types_by_class(&self) -> Value {
        let others = self.classes.iter().filter(|(class, _)| *class != wire::iana::class::IN);
        named(others.map(|(wanted, _)| {
            let of_class = self.kinds.iter().filter_map(|(kind, all)| match *kind {
                Kind::Question { class, rtype } if class == *wanted => Some((rtype_name(rtype), count(all))),
                _ => None,
            });
            (class_name(*wanted), named(of_class))
        }))
    }

    fn kind(&self, wanted: Kind) -> Value {
        let found = self.kinds.iter().find(|(kind, _)| *kind == wanted);
        count(&found.map(|(_, count)| *count).unwrap_or_default())
    }
}

fn count(count: &Count) -> Value {
    json!({ "count": count.count, "failed": count.failed })
}

fn named(entries: impl Iterator<Item = (String, Value)>) -> Value {
    Value::Object(entries.collect::<Map<_, _>>())
}
