//! What a recipe measures, and who takes part.

use ::engine::ProtectionKind;
use serde::{Deserialize, Deserializer, de::Error as _};

/// What a recipe measures.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Rates without loss, processor time, memory and latency.
    Rates,
    /// Memory after the load of the zones and after queries.
    Memory,
    /// Time from start to the first answer.
    Start,
    /// Limits of the response rate under floods with made-up sources.
    RateLimit,
    /// Instructions an answer takes.
    Instructions,
    /// Allocations, locks and atomic instructions an answer takes.
    Allocations,
    /// Echo servers: rates of many models, processes and cores.
    Echo,
    /// Settings of the generator against one echo server.
    Generator,
    /// A small name server with the locks of the paper, in process.
    Engine,
    /// The engine with more and more threads, and computed for more cores than there are.
    Scaling,
    /// Updates as fast as they are accepted.
    UpdateRate,
    /// Changes over an API as fast as they are done.
    Commits,
    /// Queries beside updates.
    Dynamic,
    /// Zones out and in.
    Transfer,
    /// Versions of a zone, one after the other, into secondaries.
    History,
    /// Queries beside changes that come in.
    Secondary,
    /// Zones that are read again beside queries.
    Reload,
    /// What is kept of updates without end.
    Endless,
    /// One update and a million in a large zone.
    Delta,
    /// Rates of resolvers by the share of queries that their caches answer.
    Caching,
    /// What the cache of a resolver is worth after it was ended and started.
    Restart,
    /// Clients of a resolver beside floods of random names.
    Flood,
    /// Clients of a resolver whose authoritative servers are gone.
    Stale,
    /// Resolvers that know nothing yet: what each name costs them.
    ColdCache,
}

impl Measure {
    /// Whether servers take part.
    pub fn has_contenders(self) -> bool {
        !matches!(self, Measure::Echo | Measure::Generator | Measure::Engine | Measure::Scaling)
    }

    /// Whether they serve zones that are made for them.
    pub fn has_cases(self) -> bool {
        self.has_contenders()
            && !matches!(self, Measure::History | Measure::Restart | Measure::Flood | Measure::Stale)
    }

    /// Whether who takes part resolves, and asks servers of ours.
    pub fn is_of_resolvers(self) -> bool {
        matches!(
            self,
            Measure::Caching | Measure::ColdCache | Measure::Restart | Measure::Flood | Measure::Stale
        )
    }

    /// Whether nothing goes over a network, so that none has to be made.
    pub fn is_in_process(self) -> bool {
        matches!(self, Measure::Engine | Measure::Scaling)
    }
}

/// A contender's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// The server of this project.
    Zonda,
    /// Another build of it, such as the one before a change.
    Before,
    /// It with rate limits that nobody reaches: what counting costs.
    Limited,
    /// It with its zones in a store in SQLite, which its API changes.
    ZondaSqlite,
    /// The same in PostgreSQL.
    ZondaPostgresql,
    /// BIND 9.
    Named,
    /// NSD.
    Nsd,
    /// Knot DNS.
    Knot,
    /// PowerDNS.
    Pdns,
    /// The same with its records in SQLite, which its API changes.
    PdnsSqlite,
    /// The same with its records in PostgreSQL.
    PdnsPostgresql,
    /// Unbound, which serves zones it is given as its own, or resolves.
    Unbound,
    /// Knot Resolver.
    Kresd,
    /// The recursor of PowerDNS.
    Recursor,
    /// The server that locks are compared in, under one of them.
    Engine(ProtectionKind),
    /// The limit program.
    Echo,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = String::deserialize(deserializer)?;
        Name::from_text(&text).ok_or_else(|| D::Error::unknown_variant(&text, &Name::TEXTS))
    }
}
