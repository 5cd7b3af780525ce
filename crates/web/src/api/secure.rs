//! TLS: who connects is shown the certificate before a request is read.
//!
//! ```text
//! connection --> first octet --> ClientHello --> turn: key exchange, signature --> requests
//!                 `-- a letter: HTTP in clear text, which is told so
//! ```
//!
//! A handshake is the dearest that a stranger can have here. It is over in five seconds, its connection is one of those that make room for others until there is a request, and one step of one
//! of them is computed at a time: what is asked over connections that there are goes before the next one.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::api::frame::Shown;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, watch};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

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
        let shaking = pin!(TlsAcceptor::from(config).accept(stream));
        Some(Begun::Secure(Box::new(self.shake(shaking).await.ok()?)))
    }

    /// Waits for a handshake, each step of which is computed in its turn: which of them is the dear one is the client's to say, who may leave out its half of the key exchange at first.
    async fn shake<F: Future>(&self, mut shaking: Pin<&mut F>) -> F::Output {
        loop {
            let polled = {
                let _turn = self.turn.lock().await;
                yield_now().await;
                poll_fn(|context| Poll::Ready(shaking.as_mut().poll(context))).await
            };
            match polled {
                Poll::Ready(done) => return done,
                Poll::Pending => until_woken().await,
            }
        }
    }
}

/// Waits until the task is woken, by whatever it has waited for before.
async fn until_woken() {
    let mut has_waited = false;
    poll_fn(|_| if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::certificate::Texts;
    use ::api::frame::Run;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
    use rustls::{ClientConfig, RootCertStore, SignatureAlgorithm, SignatureScheme};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;
    use tokio::task::{JoinHandle, LocalSet, spawn_local};
    use tokio_rustls::TlsConnector;

    const OWN: [&str; 2] = [include_str!("../certificates/own.pem"), include_str!("../certificates/own.key")];
    const OTHER: [&str; 2] =
        [include_str!("../certificates/other.pem"), include_str!("../certificates/other.key")];

    fn identity([certificate, key]: [&str; 2]) -> Rc<Identity> {
        let parts = Certificate::from_pem(&Texts { certificate, key, client_ca: None }).unwrap().parts();
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

    /// Signs as another key does, and counts.
    #[derive(Debug)]
    struct Counting<T>(T, Arc<AtomicUsize>);

    impl SigningKey for Counting<Arc<dyn SigningKey>> {
        fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
            Some(Box::new(Counting(self.0.choose_scheme(offered)?, Arc::clone(&self.1))))
        }

        fn algorithm(&self) -> SignatureAlgorithm {
            self.0.algorithm()
        }
    }

    impl Signer for Counting<Box<dyn Signer>> {
        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.sign(message)
        }

        fn scheme(&self) -> SignatureScheme {
            self.0.scheme()
        }
    }

    /// An identity whose signatures are counted. `has_retries`: it takes a group that clients do not begin with.
    fn counting(has_retries: bool) -> (Rc<Identity>, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let key = PrivateKeyDer::from_pem_slice(OWN[1].as_bytes()).unwrap();
        let key = Counting(rustls::crypto::ring::sign::any_supported_type(&key).unwrap(), Arc::clone(&count));
        let chain = vec![CertificateDer::from_pem_slice(OWN[0].as_bytes()).unwrap()];
        let mut provider = rustls::crypto::ring::default_provider();
        if has_retries {
            provider.kx_groups = vec![rustls::crypto::ring::kx_group::SECP384R1];
        }
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(chain, Arc::new(key)))));
        (Rc::new(Identity { config: Arc::new(config), names: Rc::default() }), count)
    }

    /// However many hellos are there, between two signatures all else has its turn.
    #[test]
    fn one_signature_at_a_time() {
        const CLIENTS: usize = 24;
        for has_retries in [false, true] {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let (identity, count) = counting(has_retries);
            let most = LocalSet::new().block_on(&runtime, async {
                let (_sender, shown) = watch::channel(Some(identity));
                let secure = Rc::new(Secure::new(shown));
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let at = listener.local_addr().unwrap();
                let mut pairs = Vec::new();
                for _ in 0..CLIENTS {
                    let client = TcpStream::connect(at).await.unwrap();
                    pairs.push((client, listener.accept().await.unwrap().0));
                }
                let mut all = Vec::new();
                for (client, stream) in pairs {
                    let (secure, name) = (Rc::clone(&secure), ServerName::try_from("ns1.test").unwrap());
                    all.push(spawn_local(async move { secure.begin(stream).await.is_some() }));
                    all.push(spawn_local(
                        async move { connector(OWN[0]).connect(name, client).await.is_ok() },
                    ));
                }
                let (mut before, mut most) = (0, 0);
                while !all.iter().all(JoinHandle::is_finished) {
                    yield_now().await;
                    let now = count.load(Ordering::Relaxed);
                    (before, most) = (now, most.max(now - before));
                }
                for one in all {
                    assert!(one.await.unwrap());
                }
                most
            });
            assert_eq!((count.load(Ordering::Relaxed), most), (CLIENTS, 1), "retries: {has_retries}");
        }
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
