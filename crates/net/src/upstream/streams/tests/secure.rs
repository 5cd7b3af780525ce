//! Servers with certificates, good and bad.

use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion, version};

use super::*;

const AUTHORITY: &[u8] = include_bytes!("../certificates/authority.pem");
const SERVER: [&[u8]; 2] =
    [include_bytes!("../certificates/server.pem"), include_bytes!("../certificates/server.key")];
const STRANGER: [&[u8]; 2] =
    [include_bytes!("../certificates/stranger.pem"), include_bytes!("../certificates/stranger.key")];
const PIN: &[u8; 32] = include_bytes!("../certificates/server.pin");

/// How a handshake went, and which protocol and name were asked for in it.
type Shown = (Option<HandshakeKind>, Option<Vec<u8>>, Option<String>);

/// Echoes over TLS; says of each connection how its handshake went and what was asked for in it.
fn secure(
    [certificate, key]: [&[u8]; 2],
    versions: &[&'static SupportedProtocolVersion],
) -> (SocketAddr, Receiver<Shown>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = rustls::pki_types::CertificateDer::from_pem_slice(certificate).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"dot".to_vec()];
    let (config, (sender, receiver)) = (Arc::new(config), channel());
    let address = server(move |stream| {
        let (config, sender) = (Arc::clone(&config), sender.clone());
        thread::spawn(move || {
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
            while let Some(message) = read_message(&mut stream) {
                if message == b"how did it go" {
                    let tls = &stream.conn;
                    let seen = (tls.handshake_kind(), tls.alpn_protocol(), tls.server_name());
                    let _ = sender.send((seen.0, seen.1.map(<[u8]>::to_vec), seen.2.map(str::to_owned)));
                }
                if stream.write_all(&framed(&message)).is_err() {
                    return;
                }
            }
        });
    });
    (address, receiver)
}

fn by_name(name: &str) -> Authentication {
    Authentication::Name { name: name.into(), roots: Roots::from_pem(AUTHORITY).unwrap() }
}

fn by_pins(hashes: &[[u8; 32]]) -> Authentication {
    Authentication::Pins { name: None, hashes: hashes.into() }
}

fn protocol(authentication: &Authentication) -> Protocol {
    Protocol::Tls(Arc::new(TlsServer::new(authentication).unwrap()))
}

/// How a stream to a server with this certificate ends, if it does not open.
fn check(certificate: [&[u8]; 2], authentication: &Authentication, expected: Result<(), Closed>) {
    for version in [&version::TLS13, &version::TLS12] {
        let (address, _handshakes) = secure(certificate, &[version]);
        let mut client = Client::new(UpstreamSettings::default());
        let id = client.upstream.connect(address, &protocol(authentication)).unwrap();
        client.upstream.send(id, b"secret question").unwrap();
        let told = match expected {
            Ok(()) => vec![Told::Connected(id), Told::Message(id, b"secret question".into())],
            Err(why) => vec![Told::Closed(id, why)],
        };
        assert_eq!(client.told(told.len()), told, "{authentication:?} {version:?}");
    }
}

#[test]
fn who_is_believed() {
    check(SERVER, &by_name("dns.example"), Ok(()));
    check(SERVER, &by_name("127.0.0.1"), Ok(()));
    check(SERVER, &by_name("other.example"), Err(Closed::Certificate));
    check(STRANGER, &by_name("dns.example"), Err(Closed::Certificate));
    check(SERVER, &by_pins(&[[7; 32], *PIN]), Ok(()));
    check(STRANGER, &by_pins(&[[7; 32], *PIN]), Err(Closed::Certificate));
    check(STRANGER, &Authentication::Opportunistic, Ok(()));
}

#[test]
fn what_cannot_be_set_up() {
    assert_eq!(Roots::from_pem(b"").unwrap_err(), TlsFault::NoRoots);
    assert_eq!(Roots::from_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap_err(), TlsFault::Pem);
    let odd = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(Roots::from_pem(odd).unwrap_err(), TlsFault::NoRoots);
    assert_eq!(Roots::from_pem(&[&odd[..], AUTHORITY].concat()).unwrap().count(), 1);
    assert_eq!(TlsServer::new(&by_pins(&[])).unwrap_err(), TlsFault::NoPins);
    assert_eq!(TlsServer::new(&by_name("no name")).unwrap_err(), TlsFault::Name);
}

#[test]
fn many_and_long_messages() {
    let (address, _handshakes) = secure(SERVER, &[&version::TLS13]);
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.upstream.connect(address, &protocol(&by_name("dns.example"))).unwrap();
    assert_eq!(client.told(1), [Told::Connected(id)]);
    for octets in [12, 16_383, 16_384, 16_385, 65_535, 100] {
        let message = vec![octets as u8; octets];
        client.upstream.send(id, &message).unwrap();
        assert!(client.told(1) == [Told::Message(id, message)], "{octets}");
    }
    for round in 0..3 {
        let messages: Vec<Vec<u8>> = (0..100).map(|number| vec![number + round; 100]).collect();
        for message in &messages {
            client.upstream.send(id, message).unwrap();
        }
        let told: Vec<_> = messages.into_iter().map(|message| Told::Message(id, message)).collect();
        assert_eq!(client.told(100), told);
    }
    client.upstream.close(id);
    assert_eq!(client.counts(), (1, 0));
}

#[test]
fn sessions_are_resumed() {
    let (address, handshakes) = secure(SERVER, &[&version::TLS13]);
    let (mut client, protocol) =
        (Client::new(UpstreamSettings::default()), protocol(&by_name("dns.example")));
    let mut handshake = || {
        let id = client.upstream.connect(address, &protocol).unwrap();
        client.upstream.send(id, b"how did it go").unwrap();
        assert_eq!(client.told(2).len(), 2);
        client.upstream.close(id);
        handshakes.recv().unwrap()
    };
    let asked = (Some(b"dot".to_vec()), Some("dns.example".to_owned()));
    let (first, alpn, name) = handshake();
    assert_eq!((first, (alpn, name)), (Some(HandshakeKind::Full), asked.clone()));
    let (second, alpn, name) = handshake();
    assert_eq!((second, (alpn, name)), (Some(HandshakeKind::Resumed), asked));
}

#[test]
fn no_tls_at_all() {
    let mut client = Client::new(UpstreamSettings::default());
    let protocol = protocol(&Authentication::Opportunistic);
    let no_tls = server(|mut stream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap();
        let _ = stream.read(&mut [0; 1_024]);
    });
    let id = client.upstream.connect(no_tls, &protocol).unwrap();
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Handshake)]);
    let id = client.upstream.connect(server(drop), &protocol).unwrap();
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Peer)]);
    let (address, _accepted) = silent();
    let id = client.upstream.connect(address, &protocol).unwrap();
    // TCP is there at once; TLS never is.
    assert!(client.upstream.send(id, &vec![7; 65_535]).is_ok());
    assert_eq!(client.upstream.send(id, &[7; 12]), Err(Unsent::Busy));
    client.pass(Duration::from_secs(3));
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Slow)]);
}
