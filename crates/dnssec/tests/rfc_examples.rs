//! Examples that RFCs print: keys with their tags and digests, signatures, zone digests.
#![allow(clippy::unwrap_used)]

mod common;

use common::Zone;
use dnssec::digest::is_ds_digest;
use dnssec::key::{Dnskey, Ds};
use dnssec::verify::{Fault, Source};
use wire::NameBuf;
use wire::iana::rtype;

/// Reads a text with a DNSKEY record and its DS record at one owner, and compares the two.
#[track_caller]
fn check_digest(apex: &str, text: &str) {
    let zone = Zone::read(apex, text);
    let owner = NameBuf::from_text(apex).unwrap();
    let dnskey = zone.rdatas(&owner, rtype::DNSKEY)[0];
    let ds = Ds::parse(zone.rdatas(&owner, rtype::DS)[0]).unwrap();
    let key = Dnskey::parse(dnskey).unwrap();
    assert_eq!((key.tag, key.algorithm), (ds.key_tag, ds.algorithm));
    assert_eq!(is_ds_digest(ds.digest_type, ds.digest, &owner, dnskey), Ok(true));
}

/// RFC 4034 5.4 and RFC 4509 2.3: SHA-1 and SHA-256 of the same key.
#[test]
fn digests_of_a_key() {
    let key = "dskey.example.com. 86400 IN DNSKEY 256 3 5 (AQOeiiR0GOMYkDshWoSKz9Xz fwJr1AYtsmx3TGkJaNXVbfi/
        2pHm822aJ5iI9BMzNXxeYCmZ DRD99WYwYqUSdjMmmAphXdvx egXd/M5+X7OrzKBaMbCVdFLU Uh6DhweJBjEVv5f2wwjM9Xzc
        nOf+EPbtG9DMBmADjFDc2w/r ljwvFw==)\n";
    let apex = "dskey.example.com.";
    let sha1 = "@ 1 DS 60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118\n";
    check_digest(apex, &format!("{key}{sha1}"));
    let sha256 = "@ 1 DS 60485 5 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A\n";
    check_digest(apex, &format!("{key}{sha256}"));
}

/// RFC 6605 6: ECDSA on both curves, SHA-384.
#[test]
fn ecdsa() {
    let p256 = "example.net. 3600 IN DNSKEY 257 3 13 (GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edb
          krSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==)
        example.net. 3600 IN DS 55648 13 2 (b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17)
        www.example.net. 3600 IN A 192.0.2.1
        www.example.net. 3600 IN RRSIG A 13 3 3600 20100909100439 20100812100439 55648 example.net. (
          qx6wLYqmh+l9oCKTN6qIc+bw6ya+KJ8oMz0YP107epXAyGmt+3SNruPFKG7tZoLBLlUzGGus7ZwmwWep666VCw==)\n";
    let p384 = "example.net. 3600 IN DNSKEY 257 3 14 (xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1
          w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40)
        example.net. 3600 IN DS 10771 14 4 (72d7b62976ce06438e9c0bf319013cf801f09ecc84b8d7e9495f27e305c6a9b0
          563a9b5f4d288405c3008a946df983d6)
        www.example.net. 3600 IN A 192.0.2.1
        www.example.net. 3600 IN RRSIG A 14 3 3600 20100909102025 20100812102025 10771 example.net. (
          /L5hDKIvGDyI1fcARX3z65qrmPsVz73QD1Mr5CEqOiLP95hxQouuroGCeZOvzFaxsT8Glr74hbavRKayJNuydCuz
          WTSSPdz7wnqXL5bdcJzusdnI0RSMROxxwGipWcJm)\n";
    for text in [p256, p384] {
        let text = unindent(text);
        check_digest("example.net.", &text);
        let now = 1_283_000_000; // 2010-08-28
        assert_eq!(Zone::read("example.net.", &text).verify(now), [Ok(Source::Owner)]);
        let forged = text.replace("192.0.2.1", "192.0.2.2");
        assert_eq!(Zone::read("example.net.", &forged).verify(now), [Err(Fault::BadSignature)]);
    }
}

/// RFC 8080 6.1 as corrected by erratum 4935, and the Ed448 key of 6.2, whose digest alone can be checked.
#[test]
fn eddsa() {
    let first = "example.com. 3600 IN DNSKEY 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=
        example.com. 3600 IN DS 3613 15 2 3aa5ab37efce57f737fc1627013fee07bdf241bd10f3b1964ab55c78e79a304b
        example.com. 3600 IN MX 10 mail.example.com.
        example.com. 3600 IN RRSIG MX 15 2 3600 1440021600 1438207200 3613 example.com. (
          oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg==)\n";
    let second = "example.com. 3600 IN DNSKEY 257 3 15 zPnZ/QwEe7S8C5SPz2OfS5RR40ATk2/rYnE9xHIEijs=
        example.com. 3600 IN DS 35217 15 2 401781b934e392de492ec77ae2e15d70f6575a1c0bc59c5275c04ebe80c6614c
        example.com. 3600 IN MX 10 mail.example.com.
        example.com. 3600 IN RRSIG MX 15 2 3600 1440021600 1438207200 35217 example.com. (
          zXQ0bkYgQTEFyfLyi9QoiY6D8ZdYo4wyUhVioYZXFdT410QPRITQSqJSnzQoSm5poJ7gD7AQR0O7KuI5k2pcBg==)\n";
    for text in [first, second] {
        let text = unindent(text);
        check_digest("example.com.", &text);
        let zone = Zone::read("example.com.", &text);
        assert_eq!(zone.verify(1_438_207_200), [Ok(Source::Owner)]);
        assert_eq!(zone.verify(1_438_207_199), [Err(Fault::NotYetValid)]);
        assert_eq!(zone.verify(1_440_021_600), [Ok(Source::Owner)]);
        assert_eq!(zone.verify(1_440_021_601), [Err(Fault::Expired)]);
    }
    let ed448 = "example.com. 3600 IN DNSKEY 257 3 16 (
          3kgROaDjrh0H2iuixWBrc8g2EpBBLCdGzHmn+G2MpTPhpj/OiBVHHSfPodx1FYYUcJKm1MDpJtIA)
        example.com. 3600 IN DS 9713 16 2 6ccf18d5bc5d7fc2fceb1d59d17321402f2aa8d368048db93dd811f5cb2b19c7\n";
    check_digest("example.com.", &unindent(ed448));
}

/// Master files give meaning to a blank at the start of a line.
fn unindent(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

const SIMPLE: &str = "example. 86400 IN SOA ns1 admin 2018031900 1800 900 604800 86400
example. 86400 IN NS ns1
example. 86400 IN NS ns2
ns1 3600 IN A 203.0.113.63
";

/// RFC 8976 A.1.
#[test]
fn simple_zone() {
    let rest = "ns2 3600 IN AAAA 2001:db8::63\n\
        example. 86400 IN ZONEMD 2018031900 1 1 c68090d90a7aed716bc459f9340e3d7c\
        1370d4d24b7e2fc3a1ddc0b9a87153b9a9713b3c9ae5cc27777f98b8e730044c\n";
    assert_eq!(Zone::read("example.", &format!("{SIMPLE}{rest}")).digests(), [Some(true)]);
    let changed = rest.replace("::63", "::64");
    assert_eq!(Zone::read("example.", &format!("{SIMPLE}{changed}")).digests(), [Some(false)]);
}

/// RFC 8976 A.2: occluded data, a duplicate, data of another zone, upper case, a wildcard, order, ZONEMD
/// below the apex.
#[test]
fn complex_zone() {
    let rest = "NS2 3600 IN AAAA 2001:db8::63
occluded.sub 7200 IN TXT \"I'm occluded but must be digested\"
sub 7200 IN NS ns1
duplicate 300 IN TXT \"I must be digested just once\"
duplicate 300 IN TXT \"I must be digested just once\"
foo.test. 555 IN TXT \"out-of-zone data must be excluded\"
UPPERCASE 3600 IN TXT \"canonicalize uppercase owner names\"
* 777 IN PTR dont-forget-about-wildcards
mail 3600 IN MX 20 MAIL1
mail 3600 IN MX 10 Mail2.Example.
sortme 3600 IN AAAA 2001:db8::5:61
sortme 3600 IN AAAA 2001:db8::3:62
sortme 3600 IN AAAA 2001:db8::4:63
sortme 3600 IN AAAA 2001:db8::1:65
sortme 3600 IN AAAA 2001:db8::2:64
non-apex 900 IN ZONEMD 2018031900 1 1 (616c6c6f776564206275742069676e6f7265642e20616c6c
  6f776564206275742069676e6f7265642e20616c6c6f7765)
example. 86400 IN ZONEMD 2018031900 1 1 (a3b69bad980a3504e1cffcb0fd6397f93848071c93151f55
  2ae2f6b1711d4bd2d8b39808226d7b9db71e34b72077f8fe)
";
    assert_eq!(Zone::read("example.", &format!("{SIMPLE}{rest}")).digests(), [Some(true)]);
}

/// RFC 8976 A.3: both algorithms, and a private one. The example's private scheme has a digest of 20 octets
/// for SHA-384, which readers of zone files may refuse; that it parses is tested beside the parser.
#[test]
fn several_digests() {
    let rest = "ns2 86400 IN TXT \"This example has multiple digests\"
NS2 3600 IN AAAA 2001:db8::63
example. 86400 IN ZONEMD 2018031900 1 1 (62e6cf51b02e54b9b5f967d547ce43136792901f9f88e637
  493daaf401c92c279dd10f0edb1c56f8080211f8480ee306)
example. 86400 IN ZONEMD 2018031900 1 2 (08cfa1115c7b948c4163a901270395ea226a930cd2cbcf2fa9a5e6eb85f37c8a
  4e114d884e66f176eab121cb02db7d652e0cc4827e7a3204f166b47e5613fd27)
example. 86400 IN ZONEMD 2018031900 1 240 e2d523f654b9422a96c5a8f44607bbee
";
    let digests = Zone::read("example.", &format!("{SIMPLE}{rest}")).digests();
    assert_eq!(digests, [Some(true), Some(true), None]);
}
