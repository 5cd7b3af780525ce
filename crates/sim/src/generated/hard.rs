//! What is not in every zone, and questions of all kinds.

use std::fmt::Write;

use wire::NameBuf;
use wire::iana::rtype;

use super::names::above;
use super::zones::Generator;

/// A type that nobody knows (RFC 3597).
const UNKNOWN_TYPE: u16 = 65_280;

/// What names are asked for, and how many of a hundred questions are for it: those of browsers, and all that is treated in a way of its own.
const ASKED: [(u16, u64); 17] = [
    (rtype::A, 40),
    (rtype::AAAA, 16),
    (rtype::HTTPS, 10),
    (rtype::TXT, 5),
    (rtype::MX, 5),
    (rtype::NS, 4),
    (rtype::SOA, 4),
    (rtype::DS, 4),
    (rtype::DNSKEY, 3),
    (rtype::SRV, 1),
    (rtype::PTR, 1),
    (rtype::CNAME, 2),
    (rtype::ANY, 1),
    (UNKNOWN_TYPE, 1),
    (rtype::CAA, 1),
    (rtype::NSEC, 1),
    (rtype::DNAME, 1),
];

impl Generator {
    /// Adds a question about a name of the lists.
    pub(super) fn ask_about(&mut self, name: &NameBuf) {
        let mut left = self.random.below(ASKED.iter().map(|(_, share)| share).sum());
        for (qtype, share) in ASKED {
            if left < share {
                return self.questions.push((name.clone(), qtype));
            }
            left -= share;
        }
    }

    /// What is not in every zone: wildcards, empty non-terminals, redirections, aliases into other zones, large answers, rare types; and questions about
    /// these, about what is not there, and about the zone itself.
    pub(super) fn hard(&mut self, zone: &str) -> String {
        // Aliases lead to zones further on in the order only, so that none comes back.
        let later = self.all.partition_point(|other| other.as_str() <= zone);
        let target = (later < self.all.len())
            .then(|| self.all[later + self.random.index(self.all.len() - later)].clone());
        match self.random.below(28) {
            kind @ 0..8 => self.names_made(kind, zone, target.as_deref()),
            kind @ 8..13 => self.rare_records(kind, zone),
            kind => self.only_questions(kind, zone),
        }
    }

    /// Wildcards, empty non-terminals, aliases.
    fn names_made(&mut self, kind: u64, zone: &str, target: Option<&str>) -> String {
        let mut text = String::new();
        let address = self.data_address();
        match (kind, target) {
            (0, _) => {
                let _ = writeln!(text, "*.any 300 A {address}\n*.any 300 TXT any");
                self.ask(&format!("one.any.{zone}"), rtype::A);
                self.ask(&format!("two.any.{zone}"), rtype::MX);
                self.ask(&format!("a.three.any.{zone}"), rtype::TXT);
                self.ask(&format!("*.any.{zone}"), rtype::A);
                self.ask(&format!("any.{zone}"), rtype::A);
            }
            (1, _) => {
                let _ = writeln!(text, "a.b.ent 300 A {address}");
                self.ask(&format!("b.ent.{zone}"), rtype::A);
                self.ask(&format!("c.ent.{zone}"), rtype::A);
                self.ask(&format!("a.b.ent.{zone}"), rtype::AAAA);
            }
            (2, Some(target)) => {
                let _ = writeln!(text, "moved 300 DNAME {target}");
                self.ask(&format!("mail.moved.{zone}"), rtype::A);
                self.ask(&format!("none.moved.{zone}"), rtype::A);
                self.ask(&format!("moved.{zone}"), rtype::DNAME);
            }
            (3 | 4, Some(target)) => {
                let _ = writeln!(text, "chain 300 CNAME chain.{target}");
                self.ask(&format!("chain.{zone}"), rtype::A);
                self.ask(&format!("chain.{zone}"), rtype::CNAME);
            }
            (5, _) => {
                let _ = writeln!(text, "*.to 300 CNAME mail");
                self.ask(&format!("one.to.{zone}"), rtype::A);
                self.ask(&format!("one.to.{zone}"), rtype::TXT);
            }
            (6, _) => {
                // A name that is made longer than names can be (RFC 6672 2.2: YXDOMAIN).
                let (label, long) = ("x".repeat(60), "y".repeat(60));
                let _ = writeln!(text, "short 300 DNAME {long}.{long}.{long}");
                self.ask(&format!("{label}.short.{zone}"), rtype::A);
                self.ask(&format!("z.short.{zone}"), rtype::A);
            }
            (7, _) => {
                // An alias to a name that is not there, in the same zone.
                let _ = writeln!(text, "chain 300 CNAME none.{zone}");
                self.ask(&format!("chain.{zone}"), rtype::AAAA);
            }
            _ => {}
        }
        text
    }

    /// Types that few names have, and large sets.
    fn rare_records(&mut self, kind: u64, zone: &str) -> String {
        let mut text = String::new();
        match kind {
            8 => {
                let part = format!("\"{}\" ", "x".repeat(200)).repeat(7);
                let _ = writeln!(text, "large 300 TXT {part}");
                self.ask(&format!("large.{zone}"), rtype::TXT);
            }
            9 => {
                for number in 0..60 {
                    let _ = writeln!(text, "many 300 A 192.0.2.{number}");
                }
                self.ask(&format!("many.{zone}"), rtype::A);
            }
            10 => {
                let _ = writeln!(text, "_sip._tcp 300 SRV 0 5 5060 mail");
                self.ask(&format!("_sip._tcp.{zone}"), rtype::SRV);
                self.ask(&format!("_tcp.{zone}"), rtype::SRV);
            }
            11 => {
                let _ = writeln!(text, "odd 300 TYPE65280 \\# 3 000102\nodd 300 CAA 0 issue \"ca.example\"");
                self.ask(&format!("odd.{zone}"), UNKNOWN_TYPE);
                self.ask(&format!("odd.{zone}"), UNKNOWN_TYPE + 1);
                self.ask(&format!("odd.{zone}"), rtype::CAA);
            }
            _ => {
                let _ = writeln!(text, "service 300 HTTPS 0 mail\nservice 300 SVCB 1 mail port=853");
                self.ask(&format!("service.{zone}"), rtype::HTTPS);
                self.ask(&format!("service.{zone}"), rtype::SVCB);
                self.ask(&format!("service.{zone}"), rtype::ANY);
            }
        }
        text
    }

    /// What is in every zone, and what is in none.
    fn only_questions(&mut self, kind: u64, zone: &str) -> String {
        let tld = above(zone);
        let (name, qtype) = match kind {
            13 => (format!("none.{zone}"), rtype::A),
            14 => (format!("a.b.none.{zone}"), rtype::AAAA),
            15 => (zone.to_owned(), rtype::DNSKEY),
            16 => (zone.to_owned(), rtype::DS),
            17 => (zone.to_owned(), rtype::SOA),
            18 => (zone.to_owned(), rtype::NS),
            19 => (zone.to_owned(), rtype::MX),
            20 => (format!("mail.{zone}"), rtype::TXT),
            // Below the TLD, where delegations without DS are left out of the proof (opt-out).
            21 => (format!("none-{}.{tld}", &zone[..1]), rtype::A),
            22 => (format!("none-{}.{tld}", &zone[..1]), rtype::DS),
            23 => (format!("{zone}not-there."), rtype::A),
            _ => return String::new(),
        };
        self.ask(&name, qtype);
        String::new()
    }
}
