//! Updates that are worked out together: what one of them asks for in vain does not cost the others.

use zonda_tests::exchange;
use zonda_tests::server::{Kind, Server};
use zonda_tests::zone::ZoneFile;

/// Types of one name: more than fit into a delta, and no more records than a name may have.
const TYPES: u16 = 950;
/// Updates that are sent before an answer is read.
const SENT: u16 = 40;

fn wire(name: &str) -> Vec<u8> {
    let labels = name.trim_end_matches('.').split('.');
    labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).chain([0]).collect()
}

/// An update that adds records of these types to a name.
fn message(id: u16, name: &str, types: std::ops::Range<u16>) -> Vec<u8> {
    let mut message =
        [&id.to_be_bytes()[..], &[0x28, 0, 0, 1, 0, 0], &types.len().to_be_bytes()[6..], &[0, 0]].concat();
    message.extend([&wire("z.test.")[..], &[0, 6, 0, 1]].concat());
    for rtype in types {
        message.extend(wire(&format!("{name}.z.test.")));
        message.extend(rtype.to_be_bytes());
        message.extend([0, 1, 0, 0, 0, 60, 0, 1, 7]);
    }
    message
}

#[test]
fn what_does_not_fit_fails_alone() {
    let files = tempfile::tempdir().expect("a scratch folder");
    let text = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n";
    std::fs::write(files.path().join("zone"), text).expect("a text");
    let more = format!(
        "pack-directory = \"{}/packs\"\n\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.1\"]\n\n[access]\nupdate = [\"here\"]\n",
        files.path().display()
    );
    let zone = ZoneFile::new("z.test.", files.path().join("zone"));
    let server = Server::start_with(Kind::Zonda, &[zone], &more);
    let mut stream = exchange::tcp_stream(server.address).expect("a connection");
    // Each fifth is one that nobody can have.
    for id in 0..SENT {
        let types = if id % 5 == 4 { 65_280 - TYPES..65_280 } else { 65_280..65_281 };
        exchange::write_framed(&mut stream, &message(id, &format!("n{id}"), types))
            .expect("an update by TCP");
    }
    for _ in 0..SENT {
        let answer = exchange::read_framed(&mut stream).expect("an answer by TCP");
        let id = u16::from_be_bytes([answer[0], answer[1]]);
        assert_eq!(answer[3] & 15, if id % 5 == 4 { 2 } else { 0 }, "update {id}");
    }
}
