//! TLS: who connects is shown the certificate before a request is read.
//!
//! ```text
//! connection --> first octet --> ClientHello --> turn: key exchange, signature --> requests
//!                 `-- a letter: HTTP in clear text, which is told so
//! ```
//!
//! A handshake is the dearest that a stranger can have here. It is over in five seconds, its connection is one of those that make room for others until there is a request, and one is computed
//! at a time: what is asked over connections that there are goes before the next one.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::api::frame::Shown;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, watch};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use crate::certificate::{Certificate, Fault};

/// From the connection to the end of its handshake: three round trips and a signature, where clients give up after 5 to 30 s.
pub(super) const HANDSHAKE_WAIT: Duration = Duration::from_secs(5);

/// Octets of a connection: 64 KiB of a handshake message, which is the longest that `rustls` takes, and twice as much of what is to be written, in the clear and sealed.
pub(super) const CONNECTION_OCTETS_MAX: u64 = 192 << 10;

/// Whom clients speak to.
pub(super) struct Identity {
    config: Arc<ServerConfig>,
    /// Names that a request may be for, those of the settings too.
    names: Rc<[String]>,
}

impl Identity {
    /// `names`: those of the settings.
    pub(super) fn of(shown: &Shown<'_>, names: &[String]) -> Result<Identity, Fault> {
        let certificate = Certificate::from_parts(shown.0.iter())?;
        let names = names.iter().cloned().chain(certificate.names()).collect();
        Ok(Identity { config: certificate.config()?, names })
    }
}

/// See the module.
pub(super) struct Secure {
    /// What is shown, once the server has said it.
    shown: watch::Receiver<Option<Rc<Identity>>>,
    /// Of whose handshake something dear is computed next.
    turn: Mutex<()>,
}

/// What a connection has become.
pub(super) enum Begun {
    /// One over TLS.
    Secure(Box<TlsStream<TcpStream>>),
    /// One of who speaks HTTP in clear text.
    Clear(TcpStream),
}

impl Secure {
    pub(super) fn new(shown: watch::Receiver<Option<Rc<Identity>>>) -> Secure {
        Secure { shown, turn: Mutex::new(()) }
    }

    /// Names that a request may be for.
    pub(super) fn names(&self) -> Option<Rc<[String]>> {
        self.shown.borrow().as_ref().map(|identity| Rc::clone(&identity.names))
    }

    /// Has a client know whom it speaks to. `None`: it is cut off.
    pub(super) async fn begin(&self, stream: TcpStream) -> Option<Begun> {
        timeout(HANDSHAKE_WAIT, self.greet(stream)).await.ok().flatten()
    }

    async fn greet(&self, stream: TcpStream) -> Option<Begun> {
        let mut first = [0];
        let count = stream.peek(&mut first).await.ok()?;
        // The name of a method; a record of TLS begins with 22.
        if count == 1 && first[0].is_ascii_alphabetic() {
            return Some(Begun::Clear(stream));
        }
        let config = {
            let mut shown = self.shown.clone();
            let identity = shown.wait_for(Option::is_some).await.ok()?;
            Arc::clone(&identity.as_ref()?.config)
        };
        // What is none is told so by an alert.
        let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await.ok()?;
        Some(Begun::Secure(Box::new(self.shake(start, config).await?)))
    }

    /// Computes what is dear in its turn, and waits for the client.
    async fn shake(
        &self,
        start: StartHandshake<TcpStream>,
        config: Arc<ServerConfig>,
    ) -> Option<TlsStream<TcpStream>> {
        let mut shaking = pin!(start.into_stream(config));
        let first = {
            let _turn = self.turn.lock().await;
            yield_now().await;
            poll_fn(|context| Poll::Ready(shaking.as_mut().poll(context))).await
        };
        match first {
            Poll::Ready(done) => done.ok(),
            Poll::Pending => shaking.await.ok(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ::api::frame::Run;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, RootCertStore};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;
    use tokio_rustls::TlsConnector;

    const OWN: [&str; 2] = [include_str!("../certificates/own.pem"), include_str!("../certificates/own.key")];
    const OTHER: [&str; 2] =
        [include_str!("../certificates/other.pem"), include_str!("../certificates/other.key")];

    fn identity([certificate, key]: [&str; 2]) -> Rc<Identity> {
        let parts = Certificate::from_pem(certificate, key).unwrap().parts();
        Rc::new(Identity::of(&Shown(Run::read(&parts).unwrap()), &["localhost".into()]).unwrap())
    }

    /// A client that believes these certificates.
    fn connector(certificate: &str) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        Arc::new(config.with_root_certificates(roots).with_no_client_auth()).into()
    }

    /// Whether a client that believes this certificate has a word come back.
    async fn is_served(secure: &Secure, certificate: &str) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let serve = async {
            let (stream, _) = listener.accept().await.unwrap();
            if let Some(Begun::Secure(mut stream)) = secure.begin(stream).await {
                let mut word = [0; 4];
                stream.read_exact(&mut word).await.ok()?;
                stream.write_all(&word).await.ok()?;
                stream.flush().await.ok()?;
            }
            Some(())
        };
        let ask = async {
            let stream = TcpStream::connect(at).await.unwrap();
            let name = ServerName::try_from("ns1.test").unwrap();
            let mut stream = connector(certificate).connect(name, stream).await.ok()?;
            stream.write_all(b"word").await.ok()?;
            let mut word = [0; 4];
            stream.read_exact(&mut word).await.ok()?;
            Some(word)
        };
        tokio::join!(serve, ask).1 == Some(*b"word")
    }

    #[test]
    fn what_is_shown_next_is_what_was_said_last() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (sender, shown) = watch::channel(None);
            let secure = Secure::new(shown);
            assert!(secure.names().is_none());
            // Who comes before the server has said it waits.
            let say = async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                sender.send_replace(Some(identity(OWN)));
            };
            assert!(tokio::join!(is_served(&secure, OWN[0]), say).0);
            assert_eq!(*secure.names().unwrap(), ["localhost", "ns1.test", "*.api.test"]);
            assert!(!is_served(&secure, OTHER[0]).await);
            sender.send_replace(Some(identity(OTHER)));
            assert!(is_served(&secure, OTHER[0]).await && !is_served(&secure, OWN[0]).await);
        });
    }

    #[test]
    fn what_is_no_handshake() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let begun = |octets: &'static [u8]| {
            runtime.block_on(async {
                let (_sender, shown) = watch::channel(Some(identity(OWN)));
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
                client.write_all(octets).await.unwrap();
                client.shutdown().await.unwrap();
                let (stream, _) = listener.accept().await.unwrap();
                Secure::new(shown).begin(stream).await
            })
        };
        assert!(matches!(begun(b"GET / HTTP/1.1\r\n"), Some(Begun::Clear(_))));
        for octets in [&b""[..], b"\x16\x03\x01\0\x04\x01\0\0\0", b"\x16\x03", b"\0\0\0\0\0\0"] {
            assert!(begun(octets).is_none(), "{octets:?}");
        }
    }
}
