//! What updates that are not done are told: an extended error with words (RFC 8914).

use zonda_tests::exchange::udp_within;
use zonda_tests::server::{Kind, Server, ctl};
use zonda_tests::zone::ZoneFile;

use crate::kit::SOUND;

/// An update of `a.test.` that adds an address to a name, with an OPT record.
fn update(name: &[u8]) -> Vec<u8> {
    const ZONE: &[u8] = b"\x01a\x04test\0";
    let mut message = vec![0, 7, 0x28, 0, 0, 1, 0, 0, 0, 1, 0, 1];
    message.extend([ZONE, &[0, 6, 0, 1]].concat());
    message.extend([name, &[0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 9]].concat());
    message.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    message
}

#[test]
fn who_sends_an_update_that_is_not_done_is_told_why() {
    let files = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(files.path().join("zone"), SOUND).expect("a text");
    let more = format!(
        "pack-directory = \"{}/packs\"\n\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.1\"]\n\n[access]\nupdate = [\"here\"]\n",
        files.path().display()
    );
    let zone = ZoneFile::new("a.test.", files.path().join("zone"));
    let server = Server::start_with(Kind::Zonda, &[zone], &more);
    let send = |name: &[u8]| -> (u8, Vec<u8>) {
        let answer = udp_within(server.address, &update(name), std::time::Duration::from_secs(10));
        let answer = answer.expect("a socket").expect("an answer");
        (answer[3] & 15, answer)
    };
    let has = |answer: &[u8], code: u8, words: &str| {
        let option = [&[0, 15, 0, words.len() as u8 + 2, 0, code], words.as_bytes()].concat();
        assert!(answer.ends_with(&option), "{words}: {answer:02x?}");
    };
    let (rcode, answer) = send(b"\x03new\x01a\x04test\0");
    assert!(rcode == 0 && answer.ends_with(&[0; 6]), "nothing to say: {answer:02x?}");
    assert!(ctl(&server, &["freeze", "a.test."]).status.success(), "{}", server.log());
    let (rcode, answer) = send(b"\x03new\x01a\x04test\0");
    assert_eq!(rcode, 5);
    has(&answer, 18, "the zone is frozen by its operator");
    assert!(ctl(&server, &["thaw", "a.test."]).status.success(), "{}", server.log());
    // A deletion that has a TTL.
    let mut wrong = update(b"\x03new\x01a\x04test\0");
    let class = wrong.windows(4).rposition(|octets| octets == [0, 1, 0, 1]).expect("the record") + 3;
    wrong[class] = 254;
    let answer = udp_within(server.address, &wrong, std::time::Duration::from_secs(10));
    let answer = answer.expect("a socket").expect("an answer");
    assert_eq!(answer[3] & 15, 1);
    assert!(String::from_utf8_lossy(&answer).contains("update 1: "), "{answer:02x?}");
}
