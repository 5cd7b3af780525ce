//! What is not an answer to the question, and what others would have us keep.

use super::*;
use wire::header::HEADER_OCTETS;

const WWW: &str = "example. wWw.Example. A";
const ANSWER: &str = "www.example. 5 A 192.0.2.1";

fn sent(question: &Question) -> Vec<u8> {
    message(&question.asked(), "AA NOERROR", ANSWER)
}

#[test]
fn mismatches() {
    let question = Question::new(WWW);
    let octets = sent(&question);
    let check = |at: usize, octet: u8, expected: Mismatch| {
        let mut changed = octets.clone();
        changed[at] = octet;
        assert_eq!(
            read(&question.asked(), &changed).map(|reply| reply.kind),
            Err(expected),
            "{at}: {octet:#x}"
        );
    };
    check(0, 0, Mismatch::Id);
    check(2, 0x04, Mismatch::Malformed);
    check(2, 0xa4, Mismatch::Malformed);
    check(5, 2, Mismatch::Malformed);
    check(HEADER_OCTETS, 0xc0, Mismatch::Malformed);
    check(HEADER_OCTETS + 1, b'v', Mismatch::Question);
    check(HEADER_OCTETS + 1, b'W', Mismatch::Case);
    check(HEADER_OCTETS + 14, 28, Mismatch::Question);
    check(HEADER_OCTETS + 16, 3, Mismatch::Question);
    for end in 0..HEADER_OCTETS + 17 {
        assert!(read(&question.asked(), &octets[..end]).is_err(), "{end}");
    }
    // Where letters are not random, or nobody else can answer, their case does not matter.
    let mut changed = octets.clone();
    changed[HEADER_OCTETS + 1] = b'W';
    for change in
        [|asked: &mut Asked<'_>| asked.is_case_random = false, |asked: &mut Asked<'_>| asked.is_stream = true]
    {
        let question = Question::with(WWW, change);
        assert_eq!(read(&question.asked(), &changed).map(|reply| reply.kind), Ok(Kind::Answer));
    }
}

#[test]
fn responses_without_question() {
    let question = Question::new(WWW);
    let bare = |flags: u16| {
        let mut octets = vec![0xab, 0xcd];
        octets.extend((header::QR | flags).to_be_bytes());
        octets.extend([0; 8]);
        read(&question.asked(), &octets).map(|reply| (reply.kind, reply.rcode))
    };
    assert_eq!(bare(rcode::FORMERR), Ok((Kind::NoEdns, rcode::FORMERR)));
    assert_eq!(bare(rcode::REFUSED), Ok((Kind::Failed, rcode::REFUSED)));
    assert_eq!(bare(rcode::SERVFAIL), Ok((Kind::Failed, rcode::SERVFAIL)));
    for flags in [rcode::NOERROR, rcode::NXDOMAIN, rcode::YXDOMAIN, header::TC | rcode::REFUSED] {
        assert_eq!(bare(flags), Err(Mismatch::Question), "{flags:#x}");
    }
}

/// Every octet that is missing is noticed, however the message is cut.
#[test]
fn cut_off() {
    let question = Question::new(WWW);
    let octets = sent(&question);
    for end in HEADER_OCTETS + 17..octets.len() {
        let kind = read(&question.asked(), &octets[..end]).map(|reply| reply.kind);
        assert_eq!(kind, Ok(Kind::Lame(Lame::Malformed)), "{end}");
    }
    // What follows the last record is of no account.
    let trailing = [&octets[..], b"trailing"].concat();
    assert_eq!(read(&question.asked(), &trailing).map(|reply| reply.kind), Ok(Kind::Answer));
}

#[test]
fn cookies() {
    const CLIENT: &[u8; 8] = b"clientco";
    let option = |data: &[u8]| [&[0, 10, 0, data.len() as u8], data].concat();
    let check = |is_required: bool, options: &[u8], expected: Result<Option<&[u8]>, Mismatch>| {
        let question = Question::new(WWW);
        let mut asked = question.asked();
        asked.cookie = Some(ClientCookie { client: *CLIENT, is_required });
        let reply = read(&asked, &with_opt(sent(&question), 0, options));
        let found = reply.as_ref().map(|reply| reply.server_cookie());
        assert_eq!(found, expected.as_ref().map(|cookie| *cookie), "{options:?}");
    };
    for is_required in [false, true] {
        check(is_required, &option(b"clientcoserver-c"), Ok(Some(b"server-c")));
        check(is_required, &option(&[&CLIENT[..], &[7; 32]].concat()), Ok(Some(&[7; 32])));
        check(is_required, &option(CLIENT), Ok(None));
        check(is_required, &option(b"clientc0server-c"), Err(Mismatch::Cookie));
        check(is_required, &option(b"clientcoserver"), Err(Mismatch::Cookie));
        check(is_required, &option(b"client"), Err(Mismatch::Cookie));
    }
    check(false, b"", Ok(None));
    check(true, b"", Err(Mismatch::Cookie));
    // Required, and nothing can be read of a cookie; over a stream nobody else can answer.
    let question = Question::new(WWW);
    let mut asked = question.asked();
    asked.cookie = Some(ClientCookie { client: *CLIENT, is_required: true });
    let octets = sent(&question);
    assert_eq!(read(&asked, &octets[..octets.len() - 1]).map(|_| ()), Err(Mismatch::Cookie));
    asked.is_stream = true;
    assert_eq!(read(&asked, &octets).map(|reply| reply.kind), Ok(Kind::Answer));
}

#[test]
fn edns() {
    let question = Question::new(WWW);
    let check = |upper: u8, words: &str, options: &[u8], expected: (Kind, u16)| {
        let mut asked = question.asked();
        asked.cookie = Some(ClientCookie { client: *b"clientco", is_required: false });
        let octets = with_opt(message(&asked, words, ""), upper, options);
        let reply = read(&asked, &octets).unwrap();
        assert_eq!((reply.kind, reply.rcode), expected, "{words} {upper}");
        assert_eq!(reply.udp_payload_octets, Some(1232));
    };
    check(1, "NOERROR", b"", (Kind::BadVersion, rcode::BADVERS));
    check(1, "YXRRSET", b"\0\x0a\0\x10clientcoserver-c", (Kind::BadCookie, rcode::BADCOOKIE));
    check(1, "YXRRSET", b"\0\x0a\0\x08clientco", (Kind::Failed, rcode::BADCOOKIE));
    check(0, "FORMERR", b"", (Kind::Failed, rcode::FORMERR));
    check(0, "NOTIMP", b"", (Kind::Failed, rcode::NOTIMP));
    // Our own OPT record, sent back: that server has not read it.
    check(0, "FORMERR", b"\0\x0a\0\x08clientco", (Kind::NoEdns, rcode::FORMERR));
    let asked = question.asked();
    let reply =
        read(&asked, &with_opt(sent(&question), 0, b"\0\x0f\0\x04\0\x12ab\0\x0f\0\x02\0\x01")).unwrap();
    assert_eq!((reply.kind, reply.ede, reply.has_edns()), (Kind::Answer, Some(18), true));
    let reply = read(&asked, &sent(&question)).unwrap();
    assert_eq!((reply.ede, reply.has_edns(), reply.is_authoritative), (None, false, true));
    // Two OPT records, one elsewhere, one whose options are cut off.
    let malformed = Ok(Kind::Lame(Lame::Malformed));
    let twice = with_opt(with_opt(sent(&question), 0, b""), 0, b"");
    assert_eq!(read(&asked, &twice).map(|reply| reply.kind), malformed);
    assert_eq!(read(&asked, &with_opt(sent(&question), 0, b"\0\x0a\0")).map(|reply| reply.kind), malformed);
    let mut elsewhere = with_opt(message(&asked, "NOERROR", ""), 0, b"");
    (elsewhere[7], elsewhere[11]) = (1, 0);
    assert_eq!(read(&asked, &elsewhere).map(|reply| reply.kind), malformed);
}

/// The letters that were mixed do not come back in owners and targets that point at the question.
#[test]
fn mixed_letters_are_left_behind() {
    check(
        "example. wWw.eXaMpLe. A",
        "AA NOERROR",
        "wWw.eXaMpLe. 5 CNAME Cdn.eXaMpLe.\nCdn.eXaMpLe. 5 A 192.0.2.1",
        "Answer cdn.example.
         an www.example. 5 CNAME Cdn.example.
         an Cdn.example. 5 A 192.0.2.1",
    );
    // Nor in owners that stand in full.
    let question = Question::new("example. wWw.eXaMpLe. A");
    let asked = question.asked();
    let mut octets = message(&asked, "AA NOERROR", "---");
    octets.extend(b"\x03wWw\x07eXaMpLe\0\0\x01\0\x01\0\0\0\x05\0\x04abcd");
    octets[7] = 1;
    let reply = read(&asked, &octets).unwrap();
    assert_eq!(print(&reply), "Answer www.example.\nan www.example. 5 A 97.98.99.100\n");
}

/// Poison: whatever stands beside a sound answer or referral, nothing of it is kept (CVE-2008-1447 and the like, GHSA-83hf-93m4-rgwq).
#[test]
fn poison() {
    let nothing_more = "Answer www.example.\nan www.example. 5 A 192.0.2.1";
    for beside in [
        "---\nexample. 9 NS evil.test.\n---\nevil.test. 9 A 192.0.2.66",
        "---\nexample. 9 NS ns.example.\n---\nns.example. 9 A 192.0.2.66",
        "---\ntest. 9 NS evil.test.",
        "---\nsub.example. 9 NS evil.test.",
        "---\n. 9 NS evil.test.\n. 9 SOA . . 1 2 3 4 5",
        "---\nexample. 9 DS 1 8 99 00",
        "bank.example. 9 A 192.0.2.66\nwww.bank.test. 9 A 192.0.2.66",
        "---\n---\nbank.example. 9 A 192.0.2.66\nwww.example. 9 AAAA 2001:db8::66",
    ] {
        check(
            "example. www.example. A",
            "AA NOERROR",
            &format!("www.example. 5 A 192.0.2.1\n{beside}"),
            nothing_more,
        );
    }
    // A denial with a delegation beside it.
    check(
        "example. x.example. A",
        "AA NXDOMAIN",
        "---\nexample. 9 SOA . . 1 2 3 4 5\nexample. 9 NS evil.test.\nbank.example. 9 NS evil.test.\nx.example. 9 DS 1 8 99 00\n---\nevil.test. 9 A 192.0.2.66",
        "NameError x.example.\nau example. 5 SOA . . 1 2 3 4 5",
    );
    // A referral with siblings, parents and addresses of others beside it.
    check(
        "example. x.a.example. A",
        "NOERROR",
        "---\na.example. 9 NS ns.a.example.\nb.example. 9 NS evil.test.\nexample. 9 NS evil.test.\na.example. 9 CNAME evil.test.\n---\nns.a.example. 9 A 192.0.2.1\nns.b.example. 9 A 192.0.2.66\nevil.test. 9 A 192.0.2.66\nns.a.example. 9 TXT evil",
        "Referral a.example.\nre a.example. 9 NS ns.a.example.\ngl ns.a.example. 9 A 192.0.2.1",
    );
}

#[test]
fn addresses_of_no_server() {
    let referral = "---\na.example. 9 NS ns.a.example.\n---\nns.a.example. 9 A 0.0.0.0\nns.a.example. 9 A 127.0.0.1\nns.a.example. 9 A 192.0.2.1
         ns.a.example. 9 A 224.0.0.1\nns.a.example. 9 AAAA ::\nns.a.example. 9 AAAA ::1\nns.a.example. 9 AAAA ff02::1";
    check(
        "example. x.a.example. A",
        "NOERROR",
        referral,
        "Referral a.example.\nre a.example. 9 NS ns.a.example.\ngl ns.a.example. 9 A 192.0.2.1",
    );
    // As settings say.
    let question = Question::with("example. x.a.example. A", |asked| asked.not_servers = &[]);
    let asked = question.asked();
    let reply = read(&asked, &message(&asked, "NOERROR", referral)).unwrap();
    assert_eq!(reply.glue.list().iter().map(|set| set.rdatas.count()).collect::<Vec<_>>(), [4, 3]);
    // A server with more addresses than anybody asks.
    let many: String = (0..40).map(|n| format!("ns.a.example. 9 A 192.0.2.{n}\n")).collect();
    let referral = format!("---\na.example. 9 NS ns.a.example.\n---\n{many}");
    let reply = read(&asked, &message(&asked, "NOERROR", &referral)).unwrap();
    assert_eq!(
        reply.glue.list().iter().map(|set| set.rdatas.count()).sum::<usize>(),
        limits::GLUE_RECORDS_MAX
    );
}

#[test]
fn ttls() {
    for (ttl, expected) in
        [(0, 0), (1, 1), (2_147_483_647, 2_147_483_647_u32), (2_147_483_648, 0), (4_294_967_295, 0)]
    {
        let question = Question::new(WWW);
        let asked = question.asked();
        let mut octets = message(&asked, "AA NOERROR", ANSWER);
        let at = octets.len() - 10;
        octets[at..at + 4].copy_from_slice(&u32::to_be_bytes(ttl));
        let reply = read(&asked, &octets).unwrap();
        assert_eq!(reply.answer.list().iter().map(|set| set.ttl).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn more_than_the_limits_say() {
    let kind = |records: &str| {
        let question = Question::new("example. www.example. A");
        let asked = question.asked();
        read(&asked, &message(&asked, "AA NOERROR", records)).unwrap().kind
    };
    let records = |count: usize| {
        (0..count).map(|n| format!("www.example. 5 A 10.0.{}.{}\n", n / 256, n % 256)).collect::<String>()
    };
    assert_eq!(kind(&records(limits::RECORDS_MAX)), Kind::Answer);
    assert_eq!(kind(&records(limits::RECORDS_MAX + 1)), Kind::Lame(Lame::Excess));
    // Twice the same is once.
    assert_eq!(kind(&(records(limits::RECORDS_MAX) + &records(limits::RECORDS_MAX / 2))), Kind::Answer);
    let sets = |count: usize| {
        let others: String = (1..count).map(|n| format!("n{n}.example. 5 A 192.0.2.1\n")).collect();
        format!("{ANSWER}\n{others}")
    };
    assert_eq!(kind(&sets(limits::SETS_MAX)), Kind::Answer);
    assert_eq!(kind(&sets(limits::SETS_MAX + 1)), Kind::Lame(Lame::Excess));
    // Those of other zones and of the additional section do not count.
    let others: String = (0..1000).map(|n| format!("n{n}.test. 5 A 192.0.2.1\n")).collect();
    assert_eq!(kind(&format!("{ANSWER}\n{others}\n---\n---\n{}", sets(1000))), Kind::Answer);
    let signatures = |count: usize| {
        let line =
            |n| format!("www.example. 5 RRSIG A 8 2 300 20300101000000 20200101000000 {n} example. AAAA\n");
        format!("{ANSWER}\n{}", (0..count).map(line).collect::<String>())
    };
    assert_eq!(kind(&signatures(limits::SIGNATURES_MAX)), Kind::Answer);
    assert_eq!(kind(&signatures(1000)), Kind::Answer);
}

/// A referral to more servers than anybody asks, with an address each (NXNSAttack).
#[test]
fn many_servers() {
    let lines =
        |line: fn(usize) -> String| (0..usize::from(limits::SERVERS_SOUND)).map(line).collect::<String>();
    let servers = lines(|n| format!("a.example. 9 NS n{n}.a.example.\n"));
    let addresses = lines(|n| format!("n{n}.a.example. 9 A 10.0.{}.{}\n", n / 256, n % 256));
    let question = Question::new("example. x.a.example. A");
    let asked = question.asked();
    let octets = message(&asked, "NOERROR", &format!("---\n{servers}---\n{addresses}"));
    let reply = read(&asked, &octets).unwrap();
    let counts = [&reply.referral, &reply.glue]
        .map(|list| list.list().iter().map(|set| set.rdatas.count()).sum::<usize>());
    assert_eq!((reply.kind, counts), (Kind::Referral, [limits::SERVERS_MAX, limits::SERVERS_MAX]));
    // Addresses of the last servers alone are addresses of none that is kept.
    let last = addresses.lines().rev().take(10).collect::<Vec<_>>().join("\n");
    let reply = read(&asked, &message(&asked, "NOERROR", &format!("---\n{servers}---\n{last}"))).unwrap();
    assert!(reply.glue.list().is_empty());
}

/// RDATA that is not of its type's form where the type is one that we read ourselves.
#[test]
fn rdata() {
    let question = Question::new(WWW);
    let asked = question.asked();
    let mut octets = message(&asked, "AA NOERROR", ANSWER);
    let length_at = octets.len() - 5;
    octets[length_at] = 3;
    octets.pop();
    assert_eq!(read(&asked, &octets).map(|reply| reply.kind), Ok(Kind::Lame(Lame::Malformed)));
}

/// Records of other classes, and of types that are in messages only, are passed over.
#[test]
fn not_data() {
    let question = Question::new(WWW);
    let asked = question.asked();
    let records = "www.example. 5 A 192.0.2.1\nwww.example. 5 A 192.0.2.2\nwww.example. 5 A 192.0.2.3";
    let mut octets = message(&asked, "AA NOERROR", records);
    // Records of sixteen octets: type at 2, class at 4.
    let first = HEADER_OCTETS + 17;
    octets[first + 5] = 3;
    octets[first + 16 + 3] = 250;
    let reply = read(&asked, &octets).unwrap();
    assert_eq!(print(&reply), "Answer www.example.\nan www.example. 5 A 192.0.2.3\n");
}
