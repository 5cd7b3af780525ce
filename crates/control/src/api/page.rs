//! Where the page is, for who may use the control socket: an address with a code in it, which signs its reader in once.

use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use nix::unistd::Uid;
use sha2::{Digest, Sha256};

use super::certificate::Shown;
use super::inbox::Event;
use super::sessions::{CODE_TIME, Code};
use crate::command::PageAddress;
use crate::controller::Controller;
use crate::settings::host_name;
use crate::text::count;

/// Ports at the operator's end of a tunnel: below those that systems give out by themselves (32,768 and more on Linux), and above those that services have.
const PORTS_FROM: u16 = 20_000;
const PORTS: u16 = 10_000;

/// How long the thread of the API may take to sign everybody out: it waits for nothing itself.
const END_WAIT: Duration = Duration::from_secs(5);

impl Controller {
    /// Signs everybody out, and has codes that were printed let nobody in any more. What was done, in words; the error: there is no page, or nothing is known of it.
    pub(crate) fn end_page_sessions(&self) -> Result<String, String> {
        let is_there = self.api.terms.get().is_some_and(|terms| terms.page);
        let Some(inbox) = self.api.inbox.get().filter(|_| is_there) else {
            return Err("there is no page, and nobody has signed in".to_owned());
        };
        let (tell, told) = sync_channel(1);
        inbox.tell(Event::EndSessions(tell));
        let sessions = told.recv_timeout(END_WAIT).map_err(|_| {
            "the API takes its time: whether sessions have ended is not known, ask again".to_owned()
        })?;
        tracing::info!(sessions, "everybody was signed out of the page of the API by a command");
        Ok(match sessions {
            0 => "nobody had signed in; codes that were printed let nobody in any more".to_owned(),
            _ => format!(
                "{} ended; codes that were printed let nobody in any more",
                count(sessions, "session")
            ),
        })
    }

    /// Prints a code. The error: there is no page, and what is to be done for one. By what the server was started with: a reload that takes long holds nobody up who wants to look.
    pub(crate) fn page_address(&self) -> Result<PageAddress, String> {
        if Uid::effective().is_root() {
            return Err("there is no page, as this server runs as root: set `user` in [server] of the settings, and start it anew".to_owned());
        }
        let listening = self.api.terms.get().zip(self.api.listeners.get());
        let Some((terms, listeners)) = listening.filter(|(terms, _)| terms.page) else {
            return Err(what_to_write(listening.is_some()));
        };
        let (Some(inbox), Some(at)) = (self.api.inbox.get(), listeners.first().map(|one| one.address)) else {
            return Err("there is no page yet: the server has not begun with its API".to_owned());
        };
        let name = match terms.is_secure {
            true => Some(self.name_of_certificate(at)?),
            false => None,
        };
        let (code, text) =
            Code::new(Instant::now()).map_err(|error| format!("cannot have random numbers: {error}"))?;
        inbox.tell(Event::Code(code));
        tracing::info!("a code for the page of the API was printed by a command");
        let (address, tunnel) = match name {
            Some(name) => (format!("https://{name}:{}/#in={text}", at.port()), None),
            None => {
                let port = port_of(self.api.called.get().map_or("", String::as_str));
                let tunnel = format!("ssh -L {port}:{at} {}", host_name());
                (format!("http://127.0.0.1:{port}/#in={text}"), Some(tunnel))
            }
        };
        Ok(PageAddress { address, tunnel, seconds: CODE_TIME.as_secs() })
    }

    /// The name by which clients are to ask: the first of the certificate that is one, or else the address.
    fn name_of_certificate(&self, at: SocketAddr) -> Result<String, String> {
        let shown = self.api.shown.lock();
        let now = shown.as_ref().and_then(Shown::now);
        let Some(certificate) = now else {
            let problem = shown.as_ref().and_then(Shown::problem);
            return Err(problem.unwrap_or_else(|| "there is no certificate to be shown".to_owned()));
        };
        let name = certificate.names().into_iter().find(|name| !name.starts_with("*."));
        Ok(name.unwrap_or_else(|| match at.ip().is_unspecified() {
            true => host_name(),
            false => SocketAddr::new(at.ip(), 0).to_string().trim_end_matches(":0").to_owned(),
        }))
    }
}

/// The operator's port of a tunnel to a server of this name: each server has another, or a browser would give the second one what it has of the first.
fn port_of(name: &str) -> u16 {
    let digest = Sha256::digest(name.as_bytes());
    PORTS_FROM + u16::from_be_bytes([digest[0], digest[1]]) % PORTS
}

fn what_to_write(is_listening: bool) -> String {
    let listen = match is_listening {
        true => "",
        false => {
            "listen = [\"127.0.0.1:8443\"]   # beyond this machine with `certificate` and `certificate-key`\n"
        }
    };
    format!(
        "there is no page: write in the settings, and start the server anew\n\n[api]\n{listen}page = true"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::path::Path;

    #[test]
    fn ports_are_of_names() {
        let ports: Vec<u16> = (0..100).map(|number| port_of(&format!("ns{number}"))).collect();
        assert!(ports.iter().all(|port| (PORTS_FROM..PORTS_FROM + PORTS).contains(port)));
        assert_eq!(port_of("ns1"), ports[1]);
        assert_ne!(ports[1], ports[2]);
    }

    #[test]
    fn what_is_to_be_written() {
        for is_listening in [false, true] {
            let text = what_to_write(is_listening);
            let settings = text.split_once("\n\n").map_or("", |(_, settings)| settings);
            assert_eq!(settings.contains("listen"), !is_listening);
            let more = if is_listening { "\nlisten = [\"127.0.0.1:8081\"]" } else { "" };
            let settings = Settings::parse(Path::new("f"), &format!("{settings}{more}\n"));
            assert!(settings.is_ok_and(|settings| settings.api.page));
        }
    }
}
