use control::command::{
    Count, Frequent, FrequentEntry, Percentile, ResolverStatus, TimeRange, Took, TopAsked, WorkerCounts,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::state::Key;
use super::*;

fn counts(counts: &[(&str, u64)]) -> Vec<Count> {
    counts
        .iter()
        .map(|(name, count)| Count { name: (*name).into(), count: *count, help: String::new() })
        .collect()
}

fn frequent(sum: f64, most: &[(&str, f64, f64)]) -> Frequent {
    let entry = |(key, count, error): &(&str, f64, f64)| FrequentEntry {
        key: (*key).into(),
        count: *count,
        error: *error,
    };
    Frequent { sum, most: most.iter().map(entry).collect() }
}

fn took(percentiles: &[(f64, Option<f64>)]) -> Took {
    let percentile = |(percent, microseconds): &(f64, Option<f64>)| Percentile {
        percent: *percent,
        microseconds: *microseconds,
    };
    let ranges = vec![TimeRange { microseconds: Some(12.288), answers: 1000.0 }];
    Took { answers: 1000.0, percentiles: percentiles.iter().map(percentile).collect(), ranges }
}

/// A server that has been up for so many seconds, in each of which a thousand queries came, and from the tenth on ten thousand more.
fn reading(second: u64) -> Top {
    let udp = 1000 * second;
    let tcp = 10_000 * second.saturating_sub(10);
    let worker = WorkerCounts {
        queries: (udp + tcp) / 2,
        udp_queries: udp / 2,
        udp_batches: udp / 20,
        udp_receive_overflows: 0,
        tcp_open: 7,
    };
    Top {
        version: "0.1.0".into(),
        pid: 4711,
        uptime_seconds: second,
        clock_seconds: 500.0 + second as f64,
        cpu_seconds: 0.5 * second as f64,
        queries: counts(&[("udp-ipv4", udp), ("udp-ipv6", 0), ("tcp-ipv4", tcp), ("tcp-ipv6", 0)]),
        types: counts(&[("A", udp), ("AAAA", tcp)]),
        rcodes: counts(&[("NOERROR", udp), ("NXDOMAIN", tcp)]),
        transport: counts(&[("udp-queries", udp), ("udp-send-failures", 0)]),
        limited: Vec::new(),
        workers: vec![worker.clone(), worker],
        zones: counts(&[("served", 3), ("absent", 1), ("broken", 1), ("stale", 0)]),
        memory: counts(&[("catalog", 1 << 20), ("told", 8 << 20)]),
        resident_octets: Some(170 << 20),
        asked: TopAsked {
            seconds: 14.2,
            samples: 12_345,
            one_in: 4,
            names: frequent(
                1000.0,
                &[("www.example.com.", 123.0, 3.0), ("\\027[2j.example.net.", 50.0, 0.0)],
            ),
            missing: frequent(20.0, &[("example.net.", 20.0, 1.0)]),
            failed: frequent(10.0, &[("broken.example.org.", 10.0, 0.0)]),
            clients: frequent(1000.0, &[("192.0.2.7", 500.0, 0.0), ("2001:db8::/64", 250.0, 0.0)]),
            zones: frequent(900.0, &[("example.com.", 800.0, 0.0)]),
            took: took(&[(50.0, Some(12.288)), (90.0, Some(20.48)), (99.0, Some(1_310.72)), (99.9, None)]),
        },
        ..Top::default()
    }
}

fn history(seconds: std::ops::RangeInclusive<u64>) -> History {
    let mut history = History::default();
    seconds.for_each(|second| history.add(reading(second)));
    history
}

fn state(view: View) -> State {
    State::new(history(1..=30), view)
}

/// What a terminal of this size shows, line by line.
fn shown(state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(state, &Theme::without_colour(), frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

fn text(state: &State, width: u16, height: u16) -> String {
    shown(state, width, height).join("\n")
}

/// Whether all of these words are in a line each, whatever space is between them.
#[track_caller]
fn assert_has(text: &str, words: &[&str]) {
    let squeezed: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for words in words {
        assert!(squeezed.iter().any(|line| line.contains(words)), "{words:?} in\n{text}");
    }
}

#[test]
fn rates_are_of_two_readings() {
    let history = history(1..=30);
    let rates = history.rates(|top| &top.queries);
    assert_eq!((rates[0].now, rates[0].minute), (Some(1000.0), Some(1000.0)));
    // 200,000 in the last 29 s.
    assert_eq!((rates[2].now, rates[2].minute.map(f64::round)), (Some(10_000.0), Some(6897.0)));
    assert_eq!(history.seconds(), 29.0);
    assert_eq!(history.most_rates(|top| &top.types)[0].name, "AAAA", "that of which there is most");
    let first = self::history(1..=1);
    assert_eq!(first.rates(|top| &top.queries)[0].now, None, "one reading makes no rate");
}

#[test]
fn no_more_than_a_minute_is_kept() {
    let history = history(1..=300);
    assert_eq!(history.seconds(), 60.0);
    assert_eq!(history.rates(|top| &top.types)[1].minute, Some(10_000.0), "what was before is forgotten");
}

/// Counts of another process are not less than those before, nor is a rate ever.
#[test]
fn a_server_that_begins_anew() {
    let mut history = history(1..=30);
    history.add(Top { pid: 4712, ..reading(31) });
    assert_eq!(history.rate(|top| top.cpu_seconds).now, None);
    history.add(Top { pid: 4712, cpu_seconds: 0.0, ..reading(32) });
    assert_eq!(history.rate(|top| top.cpu_seconds).now, Some(0.0));
    history.add(reading(1));
    assert_eq!(history.seconds(), 0.0, "and one that has the number of the one before");
}

#[test]
fn an_overview() {
    let text = text(&state(View::Overview), 80, 24);
    assert_has(
        &text,
        &[
            "queries 11,000/s processors 0.50 memory 170 MiB up 30 s",
            "one query in 4 is looked at: 12,345 in 14 s",
            "tcp-ipv4 10,000 6,897",
            "all 11,000 7,897",
            "AAAA 10,000 6,897",
            "NXDOMAIN 10,000 6,897",
            "12.3% www.example.com. 50.0% 192.0.2.7",
            "q quit 1-5 views",
        ],
    );
    assert_has(
        &self::text(&state(View::Overview), 140, 40),
        &["12.3% 1,353 www.example.com.", "80.0% 8,800 example.com."],
    );
}

#[test]
fn each_view() {
    assert_has(
        &text(&state(View::Names), 80, 24),
        &[
            "12.3% 1,353 12.0% www.example.com.",
            "above names that do not exist",
            "example.net.",
            "names that got SERVFAIL",
            "1.0% 110 1.0% broken.example.org.",
        ],
    );
    assert_has(&text(&state(View::Clients), 80, 24), &["2001:db8::/64", "example.com."]);
    assert_has(
        &text(&state(View::Workers), 80, 24),
        &[
            "time in the server 50% 90% 99% 99.9%",
            "answered at once 12 us 20 us 1.3 ms > 50 ms",
            "worker 1",
            "5,500",
            "at a time",
            "10.0",
        ],
    );
    let server = text(&state(View::Server), 80, 24);
    assert_has(&server, &["there is none", "8.00 MiB", "absent", "udp-queries"]);
    assert!(!server.contains("udp-send-failures"), "what is 0: {server}");
}

/// A terminal of the least size has room for all that a view is about, with as many of each kind as there is room for.
#[test]
fn a_small_terminal() {
    let many: Vec<String> = (0..100).map(|number| format!("host{number}.example.")).collect();
    let of = |name: &str| -> Vec<(String, f64, f64)> {
        many.iter().map(|host| (format!("{name}-{host}"), 10.0, 0.0)).collect()
    };
    let frequent_of = |name: &str| {
        let all = of(name);
        let most: Vec<_> = all.iter().map(|(key, count, error)| (&**key, *count, *error)).collect();
        frequent(1000.0, &most)
    };
    let mut full = reading(30);
    (full.asked.names, full.asked.missing) = (frequent_of("asked"), frequent_of("missing"));
    full.asked.failed = frequent_of("failed");
    full.workers = vec![WorkerCounts::default(); 64];
    let mut history = history(1..=29);
    history.add(full);
    let lines = shown(&State::new(history.clone(), View::Names), 80, 24);
    for (kind, lines_min) in [("asked-host", 5), ("missing-host", 5), ("failed-host", 5)] {
        assert!(lines.iter().filter(|line| line.contains(kind)).count() >= lines_min, "{kind}: {lines:#?}");
    }
    let workers = text(&State::new(history, View::Workers), 80, 24);
    assert_has(&workers, &["answered at once 12 us", "worker 14", "and 49 more", "q quit"]);
}

#[test]
fn a_resolver() {
    let mut history = History::default();
    for second in 1..=10 {
        let resolver = counts(&[("hits", 90 * second), ("misses", 10 * second), ("stale", 0)]);
        let status = ResolverStatus {
            cache_entries: 1234,
            cache_entry_octets: 25,
            cache_octets: 100,
            is_network_out: true,
            ..ResolverStatus::default()
        };
        history.add(Top { resolver, resolver_status: Some(status), ..self::reading(second) });
    }
    let text = text(&State::new(history, View::Server), 80, 24);
    assert_has(&text, &["out", "90.0%", "1,234", "25.0%", "misses"]);
}

/// Whatever the size, nothing is written where there is no room.
#[test]
fn every_size_and_view() {
    let sizes = (1..=12).chain([39, 40, 59, 60, 80, 119, 120, 200]);
    let states = |view| [state(view), State::new(history(1..=1), view), State::new(History::default(), view)];
    let states: Vec<State> = View::ALL.into_iter().flat_map(|(view, _)| states(view)).collect();
    for width in sizes {
        for height in (1..=8).chain([13, 20, 24, 60]) {
            for state in &states {
                assert_eq!(shown(state, width, height).len(), usize::from(height));
            }
        }
    }
}

/// Numbers have room to grow: what stands beside them does not move.
#[test]
fn nothing_moves() {
    let place = |seconds: u64| {
        let lines = shown(&State::new(history(seconds - 3..=seconds), View::Overview), 80, 24);
        let of = |words: &str| lines.iter().find_map(|line| line.find(words)).unwrap();
        [of("processors"), of("memory"), of("now"), of("AAAA"), of("192.0.2.7")]
    };
    // 1,000 queries a second, then 11,000.
    assert_eq!(place(9), place(30));
}

#[test]
fn what_is_not_there_is_said() {
    let mut state = State::new(History::default(), View::Overview);
    assert_has(&text(&state, 80, 24), &["asking the server"]);
    state.hear(Err("is the server running?".into()));
    assert_has(&text(&state, 80, 24), &["no answer, trying again: is the server running?"]);
    state.hear(Ok(Top { asked: TopAsked::default(), ..reading(1) }));
    let text = text(&state, 80, 24);
    assert_has(&text, &["no samples yet", "each query is looked at: 0 in less than 1 s"]);
    assert!(!text.contains("trying again"), "it is there again");
}

#[test]
fn keys_do_what_they_say() {
    let mut state = state(View::Overview);
    for (key, view) in [('2', View::Names), ('5', View::Server), ('9', View::Server), ('1', View::Overview)] {
        assert!(state.press(Key::Character(key)));
        assert_eq!(state.view, view);
    }
    state.press(Key::Character('p'));
    state.hear(Ok(reading(31)));
    assert_has(&text(&state, 80, 24), &["PAUSED", "up 30 s"]);
    state.press(Key::Character('p'));
    assert_has(&text(&state, 80, 24), &["up 31 s"]);
    // Letters of a filter do nothing else.
    for character in "/NETq\u{7}\u{e9}".chars() {
        assert!(state.press(Key::Character(character)));
    }
    assert_has(&text(&state, 80, 24), &["filter: netq_", "none that the filter lets through"]);
    state.press(Key::Backspace);
    state.press(Key::Enter);
    let filtered = text(&state, 80, 24);
    assert!(filtered.contains("example.net.") && !filtered.contains("www.example.com."), "{filtered}");
    state.press(Key::Escape);
    assert_has(&text(&state, 80, 24), &["www.example.com."]);
    assert!(!state.press(Key::Character('q')));
}

/// Whatever a server says, cells hold characters and nothing that a terminal obeys.
#[test]
fn nothing_reaches_the_terminal_but_characters() {
    let mut hostile = reading(30);
    hostile.asked.names = frequent(1.0, &[("\u{1b}]0;title\u{7}\u{9b}2J.example.", 1.0, 0.0)]);
    hostile.version = "\u{1b}c".into();
    let mut history = history(1..=29);
    history.add(hostile);
    for (view, _) in View::ALL {
        let mut state = State::new(history.clone(), view);
        state.hear(Err("\u{1b}[31m".into()));
        let text = shown(&state, 140, 40).concat();
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}

#[test]
fn names_too_long_keep_their_ends() {
    let mut long = reading(30);
    long.asked.names = frequent(1000.0, &[(&format!("{}.example.", "a".repeat(100)), 1000.0, 0.0)]);
    let mut history = history(1..=29);
    history.add(long);
    let text = text(&State::new(history, View::Overview), 80, 24);
    assert_has(&text, &["...aaa", "a.example."]);
}

#[test]
fn colours_are_left_out() {
    let colours = |theme: &Theme| {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
        let mut state = state(View::Overview);
        state.hear(Err("gone".into()));
        screen::draw(&state, theme, &mut buffer);
        buffer.content().iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(colours(&Theme::without_colour()), 0);
    assert!(colours(&Theme::coloured()) > 0);
}

#[test]
fn an_object() {
    let object = as_json(&history(1..=30));
    assert_eq!(object["rates"]["queries"]["tcp-ipv4"]["now"], 10_000.0);
    assert_eq!(object["rates"]["types"]["A"]["minute"], 1000.0);
    assert_eq!(object["processors"], 0.5);
    assert_eq!(object["reading"]["asked"]["names"]["most"][0]["key"], "www.example.com.");
}

#[test]
fn a_screen_as_text_has_no_keys() {
    let text = as_text(state(View::Overview));
    assert!(text.contains("www.example.com.") && !text.contains("q quit"), "{text}");
    assert!(text.lines().all(|line| line.len() <= usize::from(size().0)), "{text}");
}
