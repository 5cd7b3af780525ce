//! Whatever the octets: no panic, a response that a strict reader takes, within its limit.

use crate::kit;
use auth::fuzz::{check_message, fuzz_message};
use auth::{Client, Server, inspect};
use wire::NameBuf;

/// Numbers that look random; the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

/// Queries of every kind: names of the zones, names beside, above and below them, types that exist and not.
fn corpus(origin: &str, text: &str) -> Vec<Vec<u8>> {
    let origin: NameBuf = origin.parse().unwrap_or_else(|_| unreachable!());
    let contents = inspect::contents(&origin, text).unwrap_or_else(|error| panic!("{error}"));
    let mut queries = Vec::new();
    for node in contents.nodes() {
        let name = node.name();
        let mut names = vec![name.clone()];
        for label in ["x", "*", "0", "zz.y"] {
            names.extend(format!("{label}.{name}").parse::<NameBuf>().ok());
        }
        for name in names {
            for qtype in [1, 2, 5, 6, 15, 16, 28, 33, 39, 43, 46, 47, 50, 65, 255, 4711] {
                for edns in [None, Some((512, true)), Some((1232, true)), Some((4096, false))] {
                    queries.push(inspect::query(0x0100, &name, qtype, edns));
                }
            }
        }
    }
    queries
}

const ZONES: [(&str, &str); 6] = [
    ("test", include_str!("../../../../tests/data/zones/test.zone")),
    ("nsec.test", include_str!("../../../../tests/data/zones/nsec.test.zone")),
    ("nsec3.test", include_str!("../../../../tests/data/zones/nsec3.test.zone")),
    ("optout.test", include_str!("../../../../tests/data/zones/optout.test.zone")),
    ("salted.test", include_str!("../../../../tests/data/zones/salted.test.zone")),
    ("corners.test", include_str!("../../../../tests/data/zones/corners.zone")),
];

#[test]
fn all_questions_to_all_zones() {
    let catalog = inspect::catalog(&ZONES).unwrap_or_else(|error| panic!("{error}"));
    let servers = [
        Server { udp_payload_octets: 4096, full_any_over_tcp: true, ..Server::default() },
        Server { style: auth::Style::MINIMAL, ..Server::default() },
    ];
    let mut count = 0;
    for (origin, text) in ZONES {
        // A part of them that differs from name to name: all would take minutes where tests are not optimised.
        for query in corpus(origin, text).into_iter().step_by(11) {
            check_message(&query, &catalog, &servers[count % 2]);
            count += 1;
        }
    }
    assert!(count > 10_000, "{count}");
}

/// Large answers over TCP, where pointers reach no further: names are written out and everything still reads.
#[test]
fn far_into_a_message() {
    let mut text = "$TTL 60\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n".to_owned();
    for number in 0..1000 {
        text += &format!("many MX {number} mail{}.many\nmany NS host{number}.some.where.many\n", number % 30);
        text += &format!("long PTR ptr{number}.with.a.rather.long.name.that.goes.on.elsewhere\n");
    }
    text += "cut NS a.cut\ncut NS b.a.cut\n";
    (0..255)
        .for_each(|number| text += &format!("a.cut A 192.0.2.{number}\nb.a.cut AAAA 2001:db8::{number:x}\n"));
    let catalog = inspect::catalog(&[("far.test", &text)]).unwrap_or_else(|error| panic!("{error}"));
    let server = Server { full_any_over_tcp: true, ..Server::default() };
    for name in ["many.far.test", "long.far.test", "x.cut.far.test"] {
        let name: NameBuf = name.parse().unwrap_or_else(|_| unreachable!());
        for qtype in [2, 12, 15, 255] {
            check_message(&inspect::query(0, &name, qtype, None), &catalog, &server);
        }
    }
    let name: NameBuf = "long.far.test".parse().unwrap_or_else(|_| unreachable!());
    let kit = kit::Kit { catalog, server };
    let response = kit.raw(&inspect::query(0, &name, 12, None), auth::Transport::Tcp).unwrap_or_default();
    assert!(response.octets > 0x4000 && response.sections[0].len() == 1000, "{}", response.octets);
}

#[test]
fn flipped_cut_and_joined_queries() {
    let (origin, text) = ZONES[1];
    let corpus = corpus(origin, text);
    let mut random = Random(0x5eed);
    for _ in 0..20_000 {
        let mut query = corpus[random.next(corpus.len())].clone();
        for _ in 0..=random.next(3) {
            match random.next(4) {
                0 => query.truncate(random.next(query.len() + 1)),
                1 => query.extend_from_slice(&corpus[random.next(corpus.len())][12..]),
                _ if query.is_empty() => {}
                2 => {
                    let at = random.next(query.len());
                    query[at] = random.next(256) as u8;
                }
                _ => {
                    let bit = random.next(8 * query.len());
                    query[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
        fuzz_message(&query);
    }
}

/// Answers that are kept fit other questions: the same name errors and referrals for names of other lengths, with other
/// letters, within other limits, with other options and none.
#[test]
fn kept_answers_fit_other_questions() {
    use auth::{Responder, Transport};
    let mut root =
        ". 60 SOA a.net h. 1 2 3 4 5\n. 60 NS a.net.\norg. 60 NS ns.org.\nns.org. 60 A 192.0.2.1\n"
            .to_owned();
    for server in ["a", "bb", "ccc", "dddd", "e", "f", "g", "h"] {
        root += &format!(
            "com. 60 NS {server}.net.\n{server}.net. 60 A 192.0.2.1\n{server}.net. 60 AAAA 2001:db8::1\n"
        );
        root += &format!(
            "in. 60 NS {server}.in.\n{server}.in. 60 AAAA 2001:db8::2\n{server}.in. 60 AAAA 2001:db8::3\n"
        );
    }
    root += "net. 60 NS a.net.\n";
    let zones = [&ZONES[..], &[(".", &root)]].concat();
    let catalog = inspect::catalog(&zones).unwrap_or_else(|error| panic!("{error}"));
    let server = Server {
        full_any_over_tcp: true,
        nsid: Some([7; 20].into()),
        cookies: wire::cookie::Secrets::new(&[[3; 16]]),
        ..Server::default()
    };
    // What a client can put into its OPT record: nothing, a cookie, NSID and what nobody knows, all of them.
    let options: [&[u8]; 4] = [
        b"",
        b"\0\x0a\0\x08clientxx",
        b"\0\x03\0\0\xff\xff\0\x02ab",
        b"\0\x0c\0\x03\0\0\0\0\x0a\0\x08clientxx\0\x03\0\0",
    ];
    let mut reader = catalog.reader();
    let (mut fresh, mut used) = (Responder::new(), Responder::new());
    let (mut expected, mut found) = (vec![0; 65535], vec![0; 65535]);
    let mut random = Random(0xcafe);
    for round in 0..40_000 {
        let of_root = ["com", "in", "org", "local", "x--.com", "ns.org"];
        let origin = match random.next(3) {
            0 => of_root[random.next(of_root.len())],
            _ => ZONES[random.next(ZONES.len())].0,
        };
        let parent = ["", "cut.", "signed.", "ent.", "b.c.d.deep.", "host.wild.", "www."][random.next(7)];
        let prefix = [
            "",
            "x.",
            "abcdefg.",
            "sixteen-octets--.",
            "Y.z.",
            "a-long-label-before-the-others.and.another.",
            "0.",
            "zzz.",
        ][random.next(8)];
        let name = format!("{prefix}{parent}{origin}").parse::<NameBuf>().unwrap_or_else(|_| unreachable!());
        let qtype = [1, 2, 15, 16, 28, 33, 43, 46, 65, 255][random.next(10)];
        let transport = if random.next(4) == 0 { Transport::Tcp } else { Transport::Udp };
        let octets_max = [512, 1232, random.next(1400) as u16][random.next(3)];
        let edns = [None, Some((octets_max, true)), Some((octets_max, false))][random.next(3)];
        let mut query = inspect::query(0, &name, qtype, edns);
        if edns.is_some() {
            let options = options[random.next(4)];
            *query.last_mut().unwrap_or_else(|| unreachable!()) = options.len() as u8;
            query.extend(options);
        }
        fresh.forget();
        let octets = reader
            .with(|view| fresh.answer(&query, view, &server, &Client::unknown(transport), &mut expected));
        let octets_used =
            reader.with(|view| used.answer(&query, view, &server, &Client::unknown(transport), &mut found));
        let read =
            |message: &[u8]| inspect::read(message).unwrap_or_else(|error| panic!("{name} {qtype}: {error}"));
        assert_eq!(read(&expected[..octets]), read(&found[..octets_used]), "{name} {qtype} in round {round}");
        assert!(expected[..octets] == found[..octets_used], "{name} {qtype} in round {round}");
    }
}

/// A pack may be damaged in ways that its checksums do not see, for they are made anew here: answers may be wrong then, but
/// nothing panics and nothing is written beyond the limit.
#[test]
fn damaged_packs() {
    use auth::{Responder, Transport};
    use zone::catalog::ViewSource;
    use zone::section::{HEADER_OCTETS, checksum, decode_header, encode_header};
    use zone::{Backing, Catalog, Pack, PackBuilder, TextStamp};
    let origin: NameBuf = "example".parse().unwrap_or_else(|_| unreachable!());
    let mut builder = PackBuilder::new(9);
    // The same name three times, so that one pack has all sections; what is asked is one of them in turn.
    for text in [
        include_str!("../../../../tests/data/zones/rfc5155.signed.zone"),
        include_str!("../../../../tests/data/zones/rfc4035.signed.zone"),
        "@ 1 SOA . . 1 2 3 4 5\n@ 1 NS c\nc 1 A 192.0.2.1\ns 1 SRV 0 0 53 c\ns 1 SRV 0 0 53 x.w\n",
    ] {
        let contents = inspect::contents(&origin, text).unwrap_or_else(|error| panic!("{error}"));
        assert!(builder.add_zone(&contents, TextStamp::default()).is_ok());
    }
    let Ok(backing) = builder.finish() else { panic!("crowded") };
    let Ok(sound) = Pack::open(backing) else { panic!("not sound") };
    let queries = corpus(
        "example",
        "@ 1 SOA . . 1 2 3 4 5\nx.w 1 A 192.0.2.1\nc 1 A 192.0.2.1\na 1 A 192.0.2.1\ns 1 SRV 0 0 53 c\n",
    );
    let mut random = Random(0xdead);
    let mut opened = 0;
    for round in 0..2000 {
        let mut octets = sound.octets().to_vec();
        let Ok(mut header) = decode_header(&octets) else { panic!("the header is sound") };
        for _ in 0..=random.next(4) {
            // The last, of servers, is asked by no answer.
            let (range, _) = &header.sections[random.next(header.sections.len() - 1)];
            octets[range.start + random.next(range.len())] = random.next(256) as u8;
        }
        for (range, sum) in &mut header.sections {
            *sum = checksum(&octets[range.clone()]);
        }
        octets[..HEADER_OCTETS].copy_from_slice(&encode_header(&header));
        let Ok(pack) = Pack::open(Backing::Memory(octets)) else { continue };
        opened += 1;
        let catalog = Catalog::new(1);
        let hold = catalog.add_pack(pack.into());
        catalog.insert(&[(&*origin, ViewSource::Pack(hold.number(), round % 3))]);
        let mut reader = catalog.reader();
        let mut responder = Responder::new();
        let mut buffer = vec![0; 65535];
        for _ in 0..40 {
            let query = &queries[random.next(queries.len())];
            for transport in [Transport::Udp, Transport::Tcp] {
                let server = Server::default();
                reader.with(|view| {
                    responder.answer(query, view, &server, &Client::unknown(transport), &mut buffer)
                });
            }
        }
    }
    assert!(opened > 1000, "{opened}");
}
