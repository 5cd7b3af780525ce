//! Updates that bring the signatures of a signed zone, for which the server has no keys: what they cost is not paid by updates of other zones.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server};
use zonda_tests::zone::ZoneFile;

/// Names of the signed zone: with signatures of P-384 as many as one message brings anew. Each takes half a millisecond, and the old ones stand beside them.
const NAMES: usize = 400;

/// What a program says that does as it is asked to.
fn run(command: &mut Command, script: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("programs of the packages bind9-utils and bind9-dnsutils");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{words}");
    words
}

/// The zone `s.test.` with this serial, signed until so many seconds from now: one record a line.
fn signed(folder: &Path, key: &str, serial: u32, until: u32) -> String {
    let mut text = format!("$TTL 60\n@ SOA ns host {serial} 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n");
    (0..NAMES).for_each(|name| text += &format!("n{name} A 192.0.2.2\n"));
    text += &std::fs::read_to_string(folder.join(format!("{key}.key"))).expect("a key");
    let (file, done) = (folder.join(format!("plain.{serial}")), folder.join(format!("signed.{serial}")));
    std::fs::write(&file, text).expect("a text");
    let mut command = Command::new("dnssec-signzone");
    command.current_dir(folder).args(["-z", "-P", "-O", "full", "-o", "s.test.", "-s", "now-3600"]);
    run(command.args(["-e", &format!("now+{until}"), "-f"]).arg(&done).arg(&file), "");
    std::fs::read_to_string(&done).expect("a signed zone")
}

/// The lines of a signed zone that have this type, and signatures over it where it is `RRSIG SOA`.
fn lines<'t>(text: &'t str, what: &str) -> impl Iterator<Item = String> + use<'t> {
    let what: Vec<String> = what.split(' ').map(str::to_owned).collect();
    text.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        (fields.len() > 3 && fields[3..].iter().zip(&what).all(|(field, what)| field == what))
            .then(|| fields.join(" "))
    })
}

/// An update of `z.test.` that adds a name.
fn small(id: u16) -> Vec<u8> {
    let mut message = [&id.to_be_bytes()[..], &[0x28, 0, 0, 1, 0, 0, 0, 1, 0, 0]].concat();
    message.extend(b"\x01z\x04test\0\0\x06\0\x01");
    message.extend(
        [b"\x06", format!("a{id:05}").as_bytes(), b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01"]
            .concat(),
    );
    message
}

fn serial(server: &Server) -> Option<[u8; 4]> {
    let response = ask(server.address, Transport::Udp, &Query::new("s.test.", rtype::SOA));
    let rdata = &response.answer.first()?.rdata;
    rdata[rdata.len() - 20..].first_chunk().copied()
}

#[test]
fn signatures_of_one_zone_do_not_hold_up_another() {
    let files = tempfile::tempdir().expect("a scratch folder");
    let folder = files.path();
    let mut keygen = Command::new("dnssec-keygen");
    let key =
        run(keygen.current_dir(folder).args(["-q", "-f", "KSK", "-a", "ECDSAP384SHA384", "s.test."]), "");
    let key = key.trim();
    let (before, after) = (signed(folder, key, 1, 3_000_000), signed(folder, key, 2, 4_000_000));
    std::fs::write(folder.join("static"), "$TTL 60\n@ SOA ns host 1 3 2 5 5\n@ NS ns\nns A 192.0.2.1\n")
        .expect("a text");
    let path = folder.display();
    let settings = format!(
        "pack-directory = \"{path}/packs\"\n\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.1\"]\n\n[access]\nupdate = [\"here\"]\n\n\
         [[update-policy]]\nname = \"p\"\nrules = [\"grant * zonesub ANY\"]\n\n\
         [[zone]]\nname = \"z.test.\"\nfile = \"{path}/static\"\nupdate-policy = \"p\"\n\n\
         [[zone]]\nname = \"s.test.\"\nfile = \"{path}/signed.1\"\nupdate-policy = \"p\"\n"
    );
    let file = ZoneFile::new("static.test.", folder.join("static"));
    let server = Server::start_with(Kind::Zonda, &[file], &settings);
    await_or(|| server.log(), || serial(&server) == Some([0, 0, 0, 1]));

    let add = |line: String| format!("update add {}\n", line.replacen(" IN ", " ", 1));
    let remove = |line: String| {
        let record = line.split_once(" IN ").expect("a class").1;
        format!("update delete s.test. {record}\n")
    };
    let script = |text: &str| {
        let (soa, over_soa) = (lines(text, "SOA"), lines(text, "RRSIG SOA"));
        let over_names = lines(text, "RRSIG A").filter(|line| line.starts_with('n'));
        let removed = lines(&before, "RRSIG SOA").map(remove);
        let all: String = removed.chain(soa.chain(over_soa).chain(over_names).map(add)).collect();
        format!("server 127.0.0.1 {}\nzone s.test.\n{all}send\n", server.address.port())
    };
    let whole = script(&after);
    // What the signatures over names are of is right, what that over the SOA record is of is not.
    let forged = whole.replace(" 2 3600 600", " 3 3600 600");
    let began = Instant::now();
    let mut command = Command::new("nsupdate");
    let sent = std::thread::spawn(move || {
        run(command.args(["-v", "-t", "60"]), &whole);
        began.elapsed()
    });
    let (mut longest, mut count) = (Duration::ZERO, 0);
    while !sent.is_finished() {
        let began = Instant::now();
        let reply = udp_within(server.address, &small(count), Duration::from_secs(30));
        let reply = reply.expect("a socket").expect("a reply");
        assert_eq!(reply[3] & 15, 0, "update {count}");
        longest = longest.max(began.elapsed());
        count += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    let whole = sent.join().expect("done");
    assert_eq!(serial(&server), Some([0, 0, 0, 2]));
    assert!(longest < whole / 2, "{count} updates, one in {longest:?}, beside one of {whole:?}");

    let mut command = Command::new("nsupdate");
    command.args(["-v", "-t", "60"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("nsupdate");
    child.stdin.take().expect("a pipe").write_all(forged.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && words.contains("REFUSED"), "{words}\n{}", server.log());
    assert_eq!(serial(&server), Some([0, 0, 0, 2]));
}
