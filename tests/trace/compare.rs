//! Counts of a capture, by `zonda-bench trace` and by tshark.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use zonda_tests::server::bench_program;

/// Messages by what they are: `requests`, `responses`, `type 28`, `rcode 3`.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<String, u64>);

/// A count that differs.
pub struct Difference {
    /// What is counted.
    pub what: String,
    /// By `zonda-bench trace`.
    pub ours: u64,
    /// By tshark.
    pub theirs: u64,
}

/// What tshark is to look at: the DNS on its port, not what is quoted in error messages of ICMP.
const FILTER: &str = "dns && (udp.port == 53 || tcp.port == 53) && !icmp && !icmpv6";

impl Counts {
    /// Requests.
    pub fn requests(&self) -> u64 {
        self.of("requests")
    }

    /// Responses.
    pub fn responses(&self) -> u64 {
        self.of("responses")
    }

    /// As our program counts.
    pub fn of_zonda_bench(capture: &Path) -> Counts {
        let output = Command::new(bench_program()).args(["trace", "--json"]).arg(capture).output();
        let output = output.expect("the program zonda-bench");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{}: {errors}", capture.display());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|fault| panic!("{}: {fault}: {errors}", capture.display()));
        let mut counts = Counts::default();
        let number = |value: &serde_json::Value| value.as_u64().expect("a count");
        // Where there are no requests, replies stand for them; tshark counts what is there.
        if !json["rebuilt"].as_bool().expect("a flag") {
            counts.add("requests", number(&json["requests"]));
            for (name, count) in json["types"].as_object().expect("types by name") {
                counts.add(&format!("type {}", type_number(name)), number(&count["count"]));
            }
        }
        counts.add("responses", number(&json["responses"]));
        for (name, count) in json["rcodes"].as_object().expect("response codes by name") {
            counts.add(&format!("rcode {}", rcode_number(name)), number(count));
        }
        counts
    }

    /// As tshark counts, each message of a TCP packet on its own.
    pub fn of_tshark(capture: &Path) -> Counts {
        let mut command = Command::new("tshark");
        command.args(["-n", "-2", "-o", "tcp.reassemble_out_of_order:TRUE", "-Y", FILTER, "-T", "fields"]);
        for field in ["dns.flags.response", "dns.qry.type", "dns.flags.rcode", "dns.resp.ext_rcode"] {
            command.args(["-e", field]);
        }
        let output = match command.arg("-r").arg(capture).output() {
            Ok(output) => output,
            Err(fault) => panic!("tshark: {fault}; it is in the Debian package tshark (tests/setup.sh)"),
        };
        let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
        let mut counts = Counts::default();
        for line in text.lines() {
            let fields: Vec<Vec<u32>> = line.split('\t').map(values).collect();
            let [responses, types, rcodes, upper] = &fields[..] else { panic!("fields of tshark: {line}") };
            // All messages of a packet go the same way.
            let is_response = responses.first() == Some(&1);
            counts.add(if is_response { "responses" } else { "requests" }, responses.len() as u64);
            if !is_response {
                types.iter().for_each(|rtype| counts.add(&format!("type {rtype}"), 1));
            }
            let upper = if rcodes.len() == 1 { upper.first().copied().unwrap_or(0) } else { 0 };
            rcodes.iter().for_each(|rcode| counts.add(&format!("rcode {}", rcode | upper << 4), 1));
        }
        counts
    }

    /// Counts that are not the same.
    pub fn differences(&self, theirs: &Counts) -> Vec<Difference> {
        let mut all: Vec<&String> = self.0.keys().chain(theirs.0.keys()).collect();
        all.sort();
        all.dedup();
        let difference =
            |what: &String| Difference { what: what.clone(), ours: self.of(what), theirs: theirs.of(what) };
        all.into_iter().map(difference).filter(|found| found.ours != found.theirs).collect()
    }

    fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    fn add(&mut self, what: &str, count: u64) {
        if count > 0 {
            *self.0.entry(what.to_owned()).or_default() += count;
        }
    }
}

/// Values of a field, one for each time it occurs in a packet, as decimal or hexadecimal numbers or words for flags.
fn values(field: &str) -> Vec<u32> {
    let number = |text: &str| match text {
        "True" => 1,
        "False" => 0,
        _ => match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).expect("a hexadecimal number"),
            None => text.parse().expect("a number"),
        },
    };
    field.split(',').filter(|text| !text.is_empty()).map(number).collect()
}

/// The number of a type that our program names.
fn type_number(name: &str) -> u16 {
    let more = || MORE_TYPES.iter().find(|entry| entry.0 == name).map(|entry| entry.1);
    zonda_tests::rtype::number(name).or_else(more).unwrap_or_else(|| panic!("unknown type {name}"))
}

/// Types that no other test names (registry of RR types).
const MORE_TYPES: [(&str, u16); 24] = [
    ("NSAP-PTR", 23),
    ("SIG", 24),
    ("KEY", 25),
    ("NXT", 30),
    ("EID", 31),
    ("NIMLOC", 32),
    ("ATMA", 34),
    ("A6", 38),
    ("SINK", 40),
    ("NINFO", 56),
    ("RKEY", 57),
    ("TALINK", 58),
    ("DSYNC", 66),
    ("HHIT", 67),
    ("BRID", 68),
    ("UINFO", 100),
    ("UID", 101),
    ("GID", 102),
    ("UNSPEC", 103),
    ("AVC", 258),
    ("DOA", 259),
    ("WALLET", 262),
    ("CLA", 263),
    ("TA", 32768),
];

/// The number of a response code that our program names (RFC 6895 2.3 and the registry).
fn rcode_number(name: &str) -> u16 {
    const NAMES: [(&str, u16); 20] = [
        ("NOERROR", 0),
        ("FORMERR", 1),
        ("SERVFAIL", 2),
        ("NXDOMAIN", 3),
        ("NOTIMP", 4),
        ("REFUSED", 5),
        ("YXDOMAIN", 6),
        ("YXRRSET", 7),
        ("NXRRSET", 8),
        ("NOTAUTH", 9),
        ("NOTZONE", 10),
        ("DSOTYPENI", 11),
        ("BADVERS", 16),
        ("BADKEY", 17),
        ("BADTIME", 18),
        ("BADMODE", 19),
        ("BADNAME", 20),
        ("BADALG", 21),
        ("BADTRUNC", 22),
        ("BADCOOKIE", 23),
    ];
    match name.strip_prefix("RCODE") {
        Some(digits) => digits.parse().expect("a number after RCODE"),
        None => NAMES.iter().find(|entry| entry.0 == name).expect("a known response code").1,
    }
}
