//! Queries for a zone: names drawn from its master file by [`popularity`](super::popularity), types by a
//! [mix](super::types), a share of names that do not exist, a share of a flood of random names.

use std::{collections::HashSet, path::Path};

use wire::{NameBuf, iana::rtype};

use super::{
    owners,
    popularity::{Popularity, Skew},
    types::Types,
};
use crate::{
    Error, labels,
    query::{Edns, Query},
    random::Random,
};

/// What the queries should be like.
#[derive(Clone, Debug)]
pub struct Mix {
    /// How many.
    pub count: usize,
    /// Share of names that are not in the file, 0 to 1; without, the share that goes with the types.
    pub nxdomain_share: Option<f64>,
    /// Share of queries with DO set, 0 to 1.
    pub dnssec_share: f64,
    /// Share of queries for a name below an owner (`www.OWNER`), as referrals see them, 0 to 1.
    pub below_share: f64,
    /// Types asked for.
    pub types: Types,
    /// How often each owner is asked for.
    pub skew: Skew,
    /// Random names below one.
    pub flood: Option<Flood>,
    /// Start of the random stream.
    pub seed: u64,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            count: 100_000,
            nxdomain_share: None,
            dnssec_share: 0.0,
            below_share: 0.0,
            types: Types::Resolver,
            skew: Skew::Uniform,
            flood: None,
            seed: 1,
        }
    }
}

/// A flood of queries for random names below a victim, each asked once, as attacks through resolvers send them.
#[derive(Clone, Debug)]
pub struct Flood {
    /// Share of all queries, 0 to 1.
    pub share: f64,
    /// Name under attack, with final dot; without, one of the owners.
    pub victim: Option<String>,
}

/// Labels between an owner of many queries and the `www` below it: so many clients ask for different names.
const LABELS_BELOW: usize = 20_000;

/// Draws queries for the zone file `path`, or for all files of that folder, and hands them to `take`.
///
/// `origin`: the apex, where the file does not begin with `$ORIGIN`.
pub fn from_zone(
    path: &Path,
    origin: Option<&str>,
    mix: &Mix,
    mut take: impl FnMut(Query),
) -> Result<(), Error> {
    let mut random = Random::part(mix.seed, 6);
    let owners = owners::read(path, origin, &mut random)?;
    let known: HashSet<&str> = owners.iter().map(String::as_str).collect();
    let popularity = Popularity::new(mix.skew, &owners, mix.seed);
    let below = match mix.skew {
        Skew::Uniform => labels::Labels::default(),
        _ => labels::make(LABELS_BELOW, None, mix.seed)?,
    };
    let has_arpa = known.contains("arpa.");
    let victim = match &mix.flood {
        Some(flood) => flood.victim.clone().unwrap_or_else(|| owners[random.index(owners.len())].clone()),
        None => String::new(),
    };
    for _ in 0..mix.count {
        if mix.flood.as_ref().is_some_and(|flood| random.chance(flood.share)) {
            let text = format!("{}.{victim}", random_label(&mut random));
            if let Ok(name) = NameBuf::from_text(text.strip_suffix("..").unwrap_or(&text)) {
                take(Query { name, rtype: rtype::A, edns: None, rd: false, cd: false });
            }
            continue;
        }
        let (owner, is_favourite) = popularity.draw(&mut random);
        let owner = &owners[owner];
        // Of these types each has a share of failures of its own, so the type comes first.
        let early = mix.types.fails_by_type().then(|| mix.types.draw(&mut random));
        let fails = mix.nxdomain_share.unwrap_or_else(|| mix.types.nxdomain_share(early));
        let text = if !is_favourite && random.chance(fails * popularity.others_factor()) {
            let service = if early == Some(rtype::SRV) { "_ldap._tcp." } else { "" };
            service.to_owned() + &absent(owner, &known, &mut random)
        } else if early == Some(rtype::PTR) && has_arpa {
            let octets = random.next_u64().to_be_bytes();
            format!("{}.{}.{}.{}.in-addr.arpa.", octets[0], octets[1], octets[2], octets[3])
        } else if random.chance(mix.below_share) {
            match below.count() {
                0 => format!("www.{owner}"),
                count => format!("www.{}.{owner}", String::from_utf8_lossy(below.label(random.index(count)))),
            }
        } else {
            owner.clone()
        };
        let edns = random.chance(mix.dnssec_share).then_some(Edns { dnssec_ok: true, ..Edns::default() });
        // Owners near the limits of the DNS cannot take a label more; they are asked as they are.
        let name = NameBuf::from_text(&text).or_else(|_| NameBuf::from_text(owner));
        let Ok(name) = name else { continue };
        let rtype = early.unwrap_or_else(|| mix.types.draw(&mut random));
        take(Query { name, rtype, edns, rd: false, cd: false });
    }
    Ok(())
}

/// A sibling of `owner` that is not among the known names.
fn absent(owner: &str, known: &HashSet<&str>, random: &mut Random) -> String {
    let parent = owner.split_once('.').map_or("", |(_, parent)| parent);
    // Names asked for in error are mostly random or mistyped; both differ from every owner in a few letters.
    loop {
        let mut text = format!("nx{:08x}.{parent}", random.next_u64() as u32);
        if parent.is_empty() || parent == "." {
            text.truncate(11);
        }
        if !known.contains(text.as_str()) {
            return text;
        }
    }
}

/// Eight to sixteen letters and digits.
fn random_label(random: &mut Random) -> String {
    const SET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    (0..8 + random.index(9)).map(|_| SET[random.index(SET.len())] as char).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ZONE: &str = "$ORIGIN Example.\n$TTL 5\n@ SOA a b (\n 1 2 3 4 5 )\n; note\nhost A 192.0.2.1\n\tAAAA 2001:db8::1\nother.example. 5 IN A 192.0.2.2\n";

    fn draw(mix: &Mix) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ZONE).unwrap();
        let mut lines = Vec::new();
        from_zone(file.path(), None, mix, |query| lines.push(query.to_string())).unwrap();
        lines
    }

    fn mix(nxdomain_share: f64, below_share: f64) -> Mix {
        let nxdomain_share = Some(nxdomain_share);
        Mix { count: 10_000, nxdomain_share, dnssec_share: 0.5, below_share, ..Mix::default() }
    }

    fn share(lines: &[String], wanted: impl Fn(&str) -> bool) -> f64 {
        lines.iter().filter(|line| wanted(line)).count() as f64 / lines.len() as f64
    }

    #[test]
    fn shares_are_kept() {
        let lines = draw(&mix(0.4, 0.25));
        assert_eq!(lines.len(), 10_000);
        let absent = share(&lines, |line| line.starts_with("nx"));
        assert!((0.38..0.42).contains(&absent), "{absent}");
        let below = share(&lines, |line| line.starts_with("www."));
        assert!((0.13..0.17).contains(&below), "{below}");
        assert!((0.48..0.52).contains(&share(&lines, |line| line.contains(" do"))));
        assert!((0.59..0.65).contains(&share(&lines, |line| line.split(' ').nth(1) == Some("A"))));
    }

    #[test]
    fn owners_of_the_file_and_nothing_else() {
        let mut names: Vec<_> =
            draw(&mix(0.0, 0.0)).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names, ["example.", "host.example.", "other.example."]);
        assert!(draw(&mix(0.5, 0.5)) == draw(&mix(0.5, 0.5)));
    }

    /// A root zone with some top-level domains, and queries for it.
    fn draw_root(mix: &Mix) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut text = ". 5 IN NS a.\n".to_owned();
        for label in ["br", "com", "net", "org", "arpa", "de", "uk", "jp", "fr", "cn", "ru", "nl"] {
            text += &format!("{label}. 5 IN NS ns.{label}.\n");
        }
        std::fs::write(file.path(), text).unwrap();
        let mut lines = Vec::new();
        from_zone(file.path(), None, mix, |query| lines.push(query.to_string())).unwrap();
        lines
    }

    #[test]
    fn f_root_types_and_failures() {
        let mix = Mix { count: 50_000, types: Types::FRoot, below_share: 0.9, ..Mix::default() };
        let lines = draw_root(&mix);
        let of = |rtype: &str| share(&lines, |line| line.split(' ').nth(1) == Some(rtype));
        assert!((0.597..0.617).contains(&of("A")), "{}", of("A"));
        assert!((0.095..0.105).contains(&of("PTR")) && (0.045..0.055).contains(&of("A6")));
        let failed = share(&lines, |line| line.starts_with("nx") || line.starts_with("_ldap"));
        assert!((0.37..0.41).contains(&failed), "{failed}");
        assert!(share(&lines, |line| line.contains(".in-addr.arpa. PTR")) > 0.07);
    }

    #[test]
    fn skew_of_the_paper() {
        let mix = Mix {
            count: 50_000,
            below_share: 1.0,
            skew: Skew::Paper,
            nxdomain_share: Some(0.2),
            ..Mix::default()
        };
        let lines = draw_root(&mix);
        let below = |label: &str| share(&lines, |line| line.contains(&format!(".{label}. ")));
        // The other owners, br among them, share what is left.
        assert!((0.223..0.235).contains(&below("br")), "{}", below("br"));
        let six: f64 = ["br", "com", "net", "org", "arpa", "de"].into_iter().map(below).sum();
        assert!((0.51..0.53).contains(&six), "{six}");
        let absent = share(&lines, |line| line.starts_with("nx"));
        assert!((0.19..0.21).contains(&absent), "{absent}");
    }

    #[test]
    fn floods_ask_each_name_once() {
        let flood = Flood { share: 0.5, victim: Some("victim.example.".to_owned()) };
        let lines = draw_root(&Mix { count: 4_000, flood: Some(flood), ..Mix::default() });
        let mut names: Vec<_> = lines.iter().filter(|line| line.ends_with(".victim.example. A")).collect();
        assert!((1_850..2_150).contains(&names.len()), "{}", names.len());
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        let flood = Flood { share: 1.0, victim: Some(".".to_owned()) };
        let lines = draw_root(&Mix { count: 10, flood: Some(flood), ..Mix::default() });
        assert!(lines.len() == 10 && lines.iter().all(|line| line.matches('.').count() == 1), "{lines:?}");
    }

    #[test]
    fn absent_names_of_the_root() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ".\t5\tIN\tNS\ta.\ncom.\t5\tIN\tNS\ta.\n").unwrap();
        let mut lines = Vec::new();
        from_zone(file.path(), None, &mix(1.0, 0.0), |query| lines.push(query.to_string())).unwrap();
        assert!(
            lines.iter().all(|line| line.starts_with("nx") && line.split(' ').next().unwrap().len() == 11)
        );
    }
}
