//! The block scanner equals the reference.

use proptest::prelude::*;

use super::*;

/// Scans `text` both ways from every start. With very many fields either may call an entry odd before the other
/// does, which is no error: the general way reads it too.
fn check(text: &[u8]) {
    let mut octets = text.to_vec();
    octets.extend_from_slice(&[b' '; PADDING]);
    let (mut reference, mut blocks) = ([0; EDGES_MAX], [0; EDGES_MAX]);
    for start in 0..text.len() {
        let expected = Chosen::Scalar.line(&octets, start, text.len(), &mut reference);
        let line = Scanner::Best.choose().line(&octets, start, text.len(), &mut blocks);
        // Octets bound fields: a shorter text cannot reach the limit of either scanner.
        let many = text.len() - start > EDGES_MAX - 2 * PADDING;
        if many && line != expected && (line == Line::Odd || expected == Line::Odd) {
            continue;
        }
        // A block is looked at whole, so that an odd octet may be seen before the text is found to end.
        if expected == Line::Unended && line == Line::Odd {
            continue;
        }
        assert_eq!(line, expected, "{} from {start}", text.escape_ascii());
        if let Line::Plain { edges, .. } = line {
            assert_eq!(blocks[..edges], reference[..edges], "{} from {start}", text.escape_ascii());
        }
    }
}

#[test]
fn shapes() {
    for text in [
        "",
        "\n",
        "a\n",
        " a\n",
        "a b\tc \n",
        "a\r\n",
        "\r\n",
        "a\rb\n",
        "a;b\n",
        "a\n;",
        "(\n",
        "a\0b\n",
        "no end",
    ] {
        check(text.as_bytes());
    }
    for length in 55..75 {
        check(format!("{} b\n", "a".repeat(length)).as_bytes());
        check(format!("{}b\n", " ".repeat(length)).as_bytes());
        check(format!("{}\r\nb\n", "a".repeat(length)).as_bytes());
        check(format!("{}\\\n", "a".repeat(length)).as_bytes());
        check(format!("{}(a\n b;c\n)d\n", "a".repeat(length)).as_bytes());
        check(format!("a ({};{}\n)\n", "a".repeat(length), "b".repeat(70)).as_bytes());
        check(format!("a ({};{}\0\n)\n", "a".repeat(length), "b".repeat(70)).as_bytes());
    }
    check("a ".repeat(400).as_bytes());
    check(("a ".repeat(300) + "\n").as_bytes());
}

#[test]
fn fields() {
    let mut tape = [0; EDGES_MAX];
    let text = b"a.  86400\tNS b\nnext";
    let mut octets = text.to_vec();
    octets.extend_from_slice(&[b' '; PADDING]);
    for scanner in [Scanner::Scalar, Scanner::Best] {
        let line = scanner.choose().line(&octets, 0, text.len(), &mut tape);
        assert_eq!(line, Line::Plain { edges: 8, end: 15, lines: 1 });
        assert_eq!(tape[..8], [0, 2, 4, 9, 10, 12, 13, 14]);
        assert_eq!(scanner.choose().line(&octets, 15, text.len(), &mut tape), Line::Unended);
    }
}

proptest! {
    #[test]
    fn as_the_reference(text in prop::collection::vec(
        prop_oneof![8 => 0x21u8..=0xff, 3 => Just(b' '), 1 => Just(b'\t'), 1 => Just(b'\n'), 1 => any::<u8>(),
            2 => prop::sample::select(&b"(();)\r"[..])], 0..200,
    )) {
        check(&text);
    }

    #[test]
    fn as_the_reference_in_parentheses(text in "([a-z(;]{1,30}[ \\n)]{1,3}){1,12}\\)\\)\n") {
        check(text.as_bytes());
    }

    #[test]
    fn as_the_reference_on_plain_text(text in "[a-z0-9.]{1,20}([ \t]{1,3}[A-Za-z0-9+/]{1,90}){0,5}\n[a-z \n]{0,80}") {
        check(text.as_bytes());
    }
}
