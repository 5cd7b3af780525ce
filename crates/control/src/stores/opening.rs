//! What a feeder is told of where its store is, as it is now: it opens no file for that, and asks nobody for addresses.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use feed::address::{Address, HOSTS_MAX, Host, Network, PASSWORD_OCTETS_MAX, Password, Place, Tls};
use feed::frame::{Frame, REST_OCTETS_MAX, ROOTS_OCTETS_MAX};

use crate::recursion::trusted_text;
use crate::settings::{
    Listens, PostgresAddress, PostgresTerms, Settings, StorePlace, StoreTerms, closed_text, machine_addresses,
};

/// How long it may take to look hosts up: as long as connecting may. Nobody who ends the server waits for more.
const LOOKUP_WAIT: Duration = Duration::from_secs(5);

/// All that is said first. The error: what cannot be had at present.
pub(super) fn frames(terms: &StoreTerms) -> Result<Vec<Frame>, String> {
    let mut frames: Vec<Frame> = terms.patterns.iter().cloned().map(Frame::Names).collect();
    frames.extend(terms.powerdns.map(Frame::PowerDns));
    let address = match &terms.place {
        StorePlace::File(path) => Address::File(path.to_string_lossy().into_owned()),
        StorePlace::Postgres(terms) => {
            let network = network(terms)?;
            if network.tls.verifies() {
                let text = trusted_text(&terms.authorities)?;
                if text.len() > ROOTS_OCTETS_MAX {
                    return Err(format!("tls-authorities: expected at most {ROOTS_OCTETS_MAX} octets"));
                }
                frames.extend(
                    text.as_bytes().chunks(REST_OCTETS_MAX).map(|piece| Frame::Roots(piece.to_vec())),
                );
            }
            Address::Postgres(network)
        }
    };
    frames.push(Frame::Open(address));
    Ok(frames)
}

/// The same by a thread of its own, for who cannot wait; `None`: there is none to be had.
pub(super) fn look_up(terms: StoreTerms) -> Option<Receiver<Result<Vec<Frame>, String>>> {
    let (said, found) = channel();
    let lookup = thread::Builder::new().name("store-lookup".into());
    // Nobody may want to know any more.
    lookup.spawn(move || drop(said.send(frames(&terms)))).ok()?;
    Some(found)
}

/// Files of stores that cannot be read as they should, or can be read by others, as lines.
pub(crate) fn unreadable(settings: &Settings) -> Vec<String> {
    let mut lines = Vec::new();
    for store in settings.stores() {
        let StorePlace::Postgres(terms) = &store.place else { continue };
        let mut add = |problem: String| lines.push(format!("[[store]] {}: {problem}", store.name));
        password(&terms.password_file).err().into_iter().for_each(&mut add);
        if !terms.authorities.as_os_str().is_empty() {
            trusted_text(&terms.authorities).err().into_iter().for_each(&mut add);
        }
    }
    lines
}

fn network(terms: &PostgresTerms) -> Result<Network, String> {
    let PostgresAddress { user, listens, database } = &terms.address;
    let place = match listens {
        Listens::Socket(folder, port) => Place::Socket(folder.clone(), *port),
        Listens::Tcp(names, port) => Place::Tcp(addresses(names)?, *port),
    };
    Ok(Network {
        // Who names authorities means them to be asked.
        tls: terms.tls.unwrap_or_else(|| match &place {
            Place::Tcp(..) if !terms.authorities.as_os_str().is_empty() => Tls::VerifyFull,
            place => usual_tls(place, &machine_addresses()),
        }),
        place,
        user: user.clone(),
        database: database.clone(),
        password: password(&terms.password_file)?,
        poll: terms.poll,
        statement_timeout: terms.statement_timeout,
    })
}

/// Where the settings say nothing: what leaves this machine is kept from others, and goes to who has the name. A name is not this machine because DNS says so.
fn usual_tls(place: &Place, own: &[IpAddr]) -> Tls {
    let is_said = |host: &Host| host.name == "localhost" || host.name.parse::<IpAddr>().is_ok();
    let is_here = |host: &Host| is_said(host) && (host.address.is_loopback() || own.contains(&host.address));
    match place {
        Place::Tcp(hosts, _) if !hosts.iter().all(is_here) => Tls::VerifyFull,
        Place::Tcp(..) | Place::Socket(..) => Tls::Prefer,
    }
}

/// The addresses of hosts, in their order: as many as may be. A host that is not found is left out if another one is.
fn addresses(names: &[String]) -> Result<Vec<Host>, String> {
    let literal = |name: &String| name.parse::<IpAddr>().ok().map(|address| Ok(vec![address]));
    let mut found: Vec<Option<std::io::Result<Vec<IpAddr>>>> = names.iter().map(literal).collect();
    let (said, answers) = channel();
    for (at, name) in names.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
        let (said, name) = (said.clone(), name.clone());
        // Each by itself, as the system's resolver waits as long as it likes.
        let lookup = thread::Builder::new().name("store-lookup".into());
        let spawned = lookup.spawn(move || drop(said.send((at, lookup_one(&name)))));
        spawned.map_err(|error| format!("a thread cannot be started: {error}"))?;
    }
    drop(said);
    let until = Instant::now() + LOOKUP_WAIT;
    // Ends with the last answer, or when it takes too long.
    while let Ok((at, answer)) = answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
        found[at] = Some(answer);
    }
    let (mut hosts, mut faults) = (Vec::new(), Vec::new());
    for (name, found) in names.iter().zip(found) {
        match found {
            Some(Ok(addresses)) => {
                hosts.extend(addresses.into_iter().map(|address| Host { name: name.clone(), address }))
            }
            Some(Err(error)) => faults.push(format!("host {name}: {error}")),
            None => faults.push(format!("host {name}: not found in {} s", LOOKUP_WAIT.as_secs())),
        }
    }
    hosts.truncate(HOSTS_MAX);
    if hosts.is_empty() { Err(faults.join("; ")) } else { Ok(hosts) }
}

fn lookup_one(name: &str) -> std::io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = (name, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    addresses.dedup();
    Ok(addresses)
}

/// The one line of a file that is closed to others; without a file there is none.
fn password(path: &Path) -> Result<Password, String> {
    if path.as_os_str().is_empty() {
        return Ok(Password::default());
    }
    let problem = |text: String| format!("password-file {}: {text}", path.display());
    let text = closed_text(path, PASSWORD_OCTETS_MAX as u64 + 2).map_err(problem)?;
    let line = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    match line {
        "" => Err(problem("expected a password, found none".into())),
        _ if line.contains(['\n', '\0']) => Err(problem("expected one line, found several".into())),
        _ if line.len() > PASSWORD_OCTETS_MAX => {
            Err(problem(format!("expected a password of at most {PASSWORD_OCTETS_MAX} octets, found more")))
        }
        _ => Ok(Password(line.to_owned())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn terms(listens: Listens, password_file: &Path) -> PostgresTerms {
        PostgresTerms {
            address: PostgresAddress { user: "zonda".into(), listens, database: "dns".into() },
            password_file: password_file.to_owned(),
            tls: None,
            authorities: "".into(),
            poll: Duration::from_millis(5),
            statement_timeout: Duration::from_secs(60),
        }
    }

    #[test]
    fn addresses_and_passwords_are_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "  geheim #1\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let names = vec!["127.0.0.1".to_owned(), "no.such.host.invalid".to_owned()];
        let network = network(&terms(Listens::Tcp(names, 5_433), &file)).unwrap();
        let host = Host { name: "127.0.0.1".into(), address: IpAddr::from([127, 0, 0, 1]) };
        assert_eq!(network.place, Place::Tcp(vec![host], 5_433));
        assert_eq!((network.password, network.tls), (Password("  geheim #1".into()), Tls::Prefer));
        for (text, mode, expected) in [
            ("a\n", 0o644, "closed to others, found mode 0644"),
            ("", 0o600, "expected a password, found none"),
            ("a\nb\n", 0o600, "expected one line"),
            (&"x".repeat(PASSWORD_OCTETS_MAX + 1), 0o600, "at most 4096 octets"),
            (&"x".repeat(PASSWORD_OCTETS_MAX + 9), 0o600, "expected at most"),
        ] {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let problem = password(&file).unwrap_err();
            assert!(problem.contains(expected) && problem.contains("password-file"), "{problem}");
        }
        let listens = Listens::Tcp(vec!["no.such.host.invalid".into()], 1);
        let problem = super::network(&terms(listens, Path::new(""))).unwrap_err();
        assert!(problem.contains("no.such.host.invalid"), "{problem}");
    }

    #[test]
    fn what_leaves_the_machine_is_kept_from_others() {
        let place = |addresses: &[&str]| {
            let host = |text: &&str| match text.split_once('=') {
                Some((name, text)) => Host { name: name.into(), address: text.parse().unwrap() },
                None => Host { name: (*text).into(), address: text.parse().unwrap() },
            };
            Place::Tcp(addresses.iter().map(host).collect(), 1)
        };
        let own = ["192.0.2.7".parse().unwrap()];
        for (addresses, expected) in [
            (&["127.0.0.1", "::1", "192.0.2.7"][..], Tls::Prefer),
            (&["192.0.2.8"], Tls::VerifyFull),
            (&["127.0.0.1", "192.0.2.8"], Tls::VerifyFull),
            (&["localhost=127.0.0.1"], Tls::Prefer),
            (&["db=127.0.0.1"], Tls::VerifyFull),
        ] {
            assert_eq!(usual_tls(&place(addresses), &own), expected, "{addresses:?}");
        }
        assert_eq!(usual_tls(&Place::Socket("/run".into(), 1), &own), Tls::Prefer);
    }

    /// Certificates are said before it is said where the database is, in pieces, and where they are looked at alone.
    #[test]
    fn what_is_said_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authorities.pem");
        let text = "certificate ".repeat(10_000);
        std::fs::write(&file, &text).unwrap();
        let mut place = terms(Listens::Socket("/run".into(), 1), Path::new(""));
        (place.authorities, place.tls) = (file, Some(Tls::VerifyCa));
        let mut terms = StoreTerms {
            name: crate::stores::StoreName::new("own").unwrap(),
            url: "postgres://zonda@/dns".into(),
            place: StorePlace::Postgres(place.clone()),
            powerdns: None,
            zones: Default::default(),
            patterns: vec!["*.test".parse().unwrap()],
            write: false,
            remove_max: Default::default(),
            zones_max: 1,
            rules: Default::default(),
        };
        let said = frames(&terms).unwrap();
        assert!(matches!(said.first(), Some(Frame::Names(_))) && matches!(said.last(), Some(Frame::Open(_))));
        let pieces = said.iter().filter_map(|frame| match frame {
            Frame::Roots(piece) => Some(&piece[..]),
            _ => None,
        });
        let pieces: Vec<&[u8]> = pieces.collect();
        assert_eq!((pieces.len(), pieces.concat()), (2, text.into_bytes()));
        place.authorities = "/nowhere/authorities.pem".into();
        terms.place = StorePlace::Postgres(place.clone());
        let problem = frames(&terms).unwrap_err();
        assert!(problem.contains("tls-authorities /nowhere/authorities.pem"), "{problem}");
        place.tls = Some(Tls::Require);
        terms.place = StorePlace::Postgres(place);
        assert_eq!(frames(&terms).unwrap().len(), 2);
    }
}
