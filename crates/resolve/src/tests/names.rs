//! Aliases without end, and names of which servers do not like the parts.

use super::example::{EXAMPLE, ROOT, TEST, check_fails, check_www, scene};
use super::scripted::{Record, Response, Scene, lines, name};
use crate::limits::ALIASES_MAX;
use crate::settings::Minimisation;
use wire::iana::{ede, rcode, rtype};

#[test]
fn aliases_without_end() {
    let mut scene = scene(|question, mut response| {
        let first = question.name.labels().next().unwrap().len() as u8;
        if question.name.label_count() == 3 {
            let target = format!("{}.example.test.", "x".repeat(usize::from(first) + 1));
            let record =
                Record(question.name.to_lowercase(), rtype::CNAME, 60, name(&target).octets().to_vec());
            response = Response {
                sections: [vec![record], vec![], vec![]],
                is_authoritative: true,
                ..Response::rcode(0)
            };
        }
        Some(response)
    });
    let outcome = scene.resolve("x.example.test.", rtype::A);
    assert_eq!(outcome.rcode, rcode::SERVFAIL);
    assert!(scene.seen(3) <= usize::from(ALIASES_MAX) + 1, "{}", scene.seen(3));
}

#[test]
fn aliases_in_a_circle() {
    let mut scene = Scene::new(ROOT);
    scene.serve(2, &[("test.", "one.test. 3600 NS ns.test.\ntwo.test. 3600 NS ns.test.")]);
    scene.serve(
        2,
        &[
            ("test.", "one.test. 3600 NS ns.test.\ntwo.test. 3600 NS ns.test.\nns.test. 3600 A 192.0.9.2"),
            ("one.test.", "a.one.test. 60 CNAME a.two.test."),
            ("two.test.", "a.two.test. 60 CNAME a.one.test."),
        ],
    );
    check_fails(&mut scene, "a.one.test.", ede::OTHER);
    assert!(scene.seen(2) < 10);
}

/// Servers that deny names that have others below them, and fail on parts of names (RFC 9156 2.3).
#[test]
fn minimised_names_that_servers_do_not_like() {
    for code in [rcode::NXDOMAIN, rcode::REFUSED, rcode::SERVFAIL] {
        let mut scene = Scene::new(ROOT);
        scene.serve(2, &[("test.", TEST)]);
        scene.serve_so(
            3,
            &[("example.test.", "a.b.c.example.test. 60 A 203.0.113.9")],
            move |question, response| {
                let is_part = question.name.label_count() < 5;
                Some(if is_part {
                    Response { is_authoritative: true, ..Response::rcode(code) }
                } else {
                    response
                })
            },
        );
        assert_eq!(
            lines(&scene.resolve("a.b.c.example.test.", rtype::A)),
            ["a.b.c.example.test. A 203.0.113.9"]
        );
        assert!(scene.seen(3) <= 4, "{}", scene.seen(3));
        scene.check_nothing_held();
    }
}

#[test]
fn without_minimisation() {
    let mut scene = Scene::with(ROOT, |settings| settings.minimisation = Minimisation::Off);
    scene.serve(2, &[("test.", TEST)]);
    scene.serve(3, &[("example.test.", EXAMPLE)]);
    check_www(&mut scene);
    assert_eq!(scene.server(1).seen[1].name.to_lowercase(), name("www.example.test."));
}

/// An alias to a special name ends there.
#[test]
fn aliases_to_special_names() {
    let mut scene = Scene::new(ROOT);
    scene.serve(2, &[("test.", &format!("{TEST}\nto.test. 60 CNAME x.onion.\nd.test. 60 DNAME onion."))]);
    scene.net.inside = Some(name("onion."));
    for _ in 0..2 {
        let sent = scene.net.sent;
        let outcome = scene.resolve("to.test.", rtype::A);
        assert_eq!(outcome.rcode, rcode::NXDOMAIN);
        assert_eq!(lines(&outcome), ["to.test. CNAME x.onion."]);
        assert!(outcome.is_fact && outcome.security == Some(cache::Security::Insecure));
        assert!(scene.net.sent == sent || sent == 0);
    }
    assert_eq!(scene.resolve("a.d.test.", rtype::A).rcode, rcode::NXDOMAIN);
    assert_eq!(scene.seen(1), 2, "nobody asked the root about the target");
    scene.check_nothing_held();
}

#[test]
fn meta_types_are_not_resolved() {
    let mut scene = scene(|_, response| Some(response));
    assert_eq!(scene.ask("www.example.test.", 255), Err(crate::Refused::Meta));
}
