//! Bad zone files: one clear line each, exit status 1, within moments.

use std::io::Write;
use std::process::Stdio;

use crate::server::{run, zonda, zone};

/// What `check-zone` says to a file of this content: exit status and standard error.
fn check(content: &[u8]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z");
    std::fs::write(&path, content).unwrap();
    let (status, _, errors) = run(&["check-zone", "a.example", path.to_str().unwrap()]);
    (status, errors.replace(path.to_str().unwrap(), "z").trim_end().to_owned())
}

#[test]
fn a_good_zone() {
    let (status, errors) = check(zone(1).as_bytes());
    assert_eq!(
        (status, errors.as_str()),
        (Some(0), "zonda: z:3: notice: a.example. NS: only one name server [ns-single]")
    );
}

#[test]
fn empty_binary_truncated() {
    assert_eq!(
        check(b""),
        (Some(1), "zonda: z:1:1: expected at least one record, found the end of the file".into())
    );
    let (status, errors) = check(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0]);
    assert_eq!(status, Some(1));
    assert!(errors.lines().count() == 1 && errors.contains("z:1:"), "{errors}");
    let text = "@ 60 SOA ns mail ( 1 3600\n";
    let (status, errors) = check(text.as_bytes());
    assert_eq!(status, Some(1));
    assert!(errors.starts_with("zonda: z:1:18: parenthesis is never closed"), "{errors}");
    let no_soa = check(b"www 60 A 192.0.2.1\n");
    assert!(no_soa.0 == Some(1) && no_soa.1.contains("SOA"), "{no_soa:?}");
}

#[test]
fn files_that_cannot_be_read() {
    let said = |path: &str| {
        let (status, _, errors) = run(&["check-zone", "a.example", path]);
        assert_eq!(status, Some(1));
        errors
    };
    assert_eq!(said("/nonexistent/z"), "zonda: /nonexistent/z: cannot open: no such file or directory\n");
    assert!(said("/").starts_with("zonda: /:1:1: cannot read"), "{}", said("/"));
}

#[test]
fn all_problems_at_once() {
    let (status, errors) =
        check(b"@ 60 SOA ns mail 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2\nx 60 AAAA ::g\ny 60 NOPE 1\n");
    assert_eq!(status, Some(1));
    let places: Vec<&str> = errors.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
    assert_eq!(places, ["z:3:9", "z:4:11", "z:5:6"], "{errors}");
}

#[test]
fn an_include_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z");
    std::fs::write(&path, format!("{}$INCLUDE z\n", zone(1))).unwrap();
    let (status, _, errors) = run(&["check-zone", "a.example", path.to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(errors.lines().count() == 1 && errors.contains(":6:10: file includes itself"), "{errors}");
}

#[test]
fn a_line_without_end() {
    let mut child = zonda(&["check-zone", "a.example", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let piece = vec![b'a'; 1 << 20];
    // 4 GiB, were it not that the program gives up after a few pieces and closes the pipe.
    let written = (0..4096).take_while(|_| input.write_all(&piece).is_ok()).count();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("expected a line or parenthesised entry of at most"), "{errors}");
    assert!(written < 4096 || errors.lines().count() < 200, "{written} MiB were read");
}

#[test]
fn print_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z");
    std::fs::write(&path, zone(7)).unwrap();
    let (status, printed, _) = run(&["check-zone", "a.example", path.to_str().unwrap(), "--print"]);
    assert_eq!(status, Some(0));
    assert_eq!(printed.lines().count(), 4);
    assert!(printed.starts_with("a.example."), "{printed}");
    std::fs::write(&path, &printed).unwrap();
    assert_eq!(run(&["check-zone", "a.example", path.to_str().unwrap(), "--print"]).1, printed);
}

#[test]
fn wrong_usage_is_status_2() {
    assert_eq!(run(&["check-zone", "a.example"]).0, Some(2));
    assert_eq!(run(&["serve", "--zone", "nonsense"]).0, Some(2));
    assert_eq!(run(&["nonsense"]).0, Some(2));
    assert_eq!(run(&["--version"]).0, Some(0));
}
