use proptest::prelude::*;

use super::*;
use crate::record::{Point, Series};

fn series(name: &str, role: Role, points: &[Point]) -> Series {
    Series { name: name.to_owned(), role, points: points.to_vec() }
}

fn chart(kind: ChartKind, categories: &[&str], series: Vec<Series>) -> Chart {
    Chart {
        title: "Queries per second".to_owned(),
        kind,
        x_label: "workers".to_owned(),
        y_label: "queries per second".to_owned(),
        y_log: false,
        categories: categories.iter().map(|&name| name.to_owned()).collect(),
        series,
    }
}

fn lines() -> Chart {
    let measured = [Point::at(1.0, 100.0).between(90.0, 120.0), Point::at(2.0, 190.0).between(180.0, 195.0)];
    let target = [Point::at(1.0, 100.0), Point::at(2.0, 150.0)];
    let named = [Point::at(1.0, 40.0), Point::at(2.0, 60.0)];
    chart(
        ChartKind::Lines,
        &[],
        vec![
            series("zonda", Role::Measured, &measured),
            series("target, zonda", Role::Target, &target),
            series("BIND 9, 2006", Role::Published, &named),
        ],
    )
}

/// Compares with the file of that name, or makes it anew where `GOLDEN` is set.
fn check(name: &str, svg: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("GOLDEN").is_some() {
        std::fs::write(&path, svg).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(expected == svg, "{path} differs from what is drawn; look at it, then run with GOLDEN=1:\n{svg}");
}

#[test]
fn golden_lines() {
    check("lines.svg", &svg(&lines(), "a"));
}

/// What is simulated is dotted, of the colour of what it simulates, and its marks are hollow.
#[test]
fn golden_simulated() {
    let mut chart = lines();
    chart.series[0].name = "paper, measured".to_owned();
    let points = [Point::at(1.0, 100.0), Point::at(2.0, 185.0), Point::at(4.0, 300.0)];
    chart.series.push(series("paper, simulated", Role::Simulated, &points));
    assert_eq!(data::drawn(&chart)[3].slot, data::drawn(&chart)[0].slot);
    check("simulated.svg", &svg(&chart, "s"));
}

#[test]
fn golden_bars() {
    let measured = [Point::at(0.0, 60_000.0).between(50_000.0, 64_000.0), Point::at(1.0, 93_000.0)];
    let bars = chart(
        ChartKind::Bars,
        &["core 0", "core 1"],
        vec![
            series("echo", Role::Measured, &measured),
            series("published", Role::Published, &[Point::at(0.0, 30_000.0)]),
            series("target", Role::Target, &[Point::at(0.0, 70_000.0), Point::at(1.0, 70_000.0)]),
        ],
    );
    check("bars.svg", &svg(&bars, "b"));
}

#[test]
fn roles_and_colours() {
    let chart = lines();
    let drawn = data::drawn(&chart);
    assert_eq!(
        drawn.iter().map(|series| series.slot).collect::<Vec<_>>(),
        [0, 0, 1],
        "a target is of its series"
    );
    let mut quoted = lines();
    quoted.series.remove(0);
    assert_eq!(data::drawn(&quoted)[1].role, Role::Measured, "what stands alone is not faint");
    let names = ["echo", "a", "named", "b", "zonda, old", "zonda"];
    let all = names.map(|name| series(name, Role::Measured, &[Point::at(1.0, 1.0)]));
    let chart = self::chart(ChartKind::Lines, &[], all.to_vec());
    let slots: Vec<_> = data::drawn(&chart).iter().map(|series| series.slot).collect();
    assert_eq!(slots, [7, 2, 1, 3, 0, 4]);
}

#[test]
fn nothing_to_draw() {
    let nan = series("x", Role::Measured, &[Point::at(f64::NAN, 1.0), Point::at(1.0, f64::INFINITY)]);
    for kind in [ChartKind::Lines, ChartKind::Bars] {
        for series in [vec![], vec![nan.clone()], vec![series("y", Role::Target, &[])]] {
            assert!(svg(&chart(kind, &[], series), "n").contains(">no values<"));
        }
    }
    let mut log = chart(ChartKind::Lines, &[], vec![series("x", Role::Measured, &[Point::at(1.0, 0.0)])]);
    log.y_log = true;
    assert!(svg(&log, "n").contains(">no values<"));
}

#[test]
fn text_is_escaped() {
    let mut chart = lines();
    chart.title = "<script>".to_owned();
    chart.series[0].name = "\"><script>alert(1)</script>".to_owned();
    chart.x_label = "a & b".to_owned();
    let svg = svg(&chart, "e");
    assert!(!svg.contains("<script") && svg.contains("a &amp; b"));
    let file = document(&chart);
    assert!(
        !file.contains("<script") && file.contains("class=\"c-head\">&lt;script") && file.contains("<style>")
    );
}

#[test]
fn long_texts_stay_inside() {
    let name =
        "a name so long that no legend of any width could ever hold it in a single row of a chart".repeat(3);
    let mut chart = lines();
    chart.series[0].name = name.clone();
    chart.y_label = name.clone();
    assert!(inside(&svg(&chart, "l")).is_ok());
    assert!(svg(&chart, "l").contains("…"));
    let bars = self::chart(
        ChartKind::Bars,
        &[&name, "b"],
        vec![series("x", Role::Measured, &[Point::at(0.0, 3.0)])],
    );
    assert!(inside(&svg(&bars, "l")).is_ok());
}

/// That every number is one, and every place inside the chart.
fn inside(svg: &str) -> Result<(), String> {
    let visible = svg.split("</desc>").nth(1).unwrap_or_default();
    for word in ["NaN", "inf", "-0.0\""] {
        if visible.contains(&format!("\"{word}")) || visible.contains(&format!(" {word}")) {
            return Err(format!("{word} in {svg}"));
        }
    }
    let height: f64 =
        svg.split("viewBox=\"0 0 460 ").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    for (attribute, most) in [(" x=\"", WIDTH), (" y=\"", height)] {
        for value in visible.split(attribute).skip(1) {
            let value: f64 = value.split('"').next().unwrap().parse().unwrap();
            if !(-1.0..=most + 1.0).contains(&value) {
                return Err(format!("{attribute}{value} of {most} in {svg}"));
            }
        }
    }
    Ok(())
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        -1e3..1e6f64,
        any::<f64>(),
        (0..5u8).prop_map(f64::from),
    ]
}

fn any_point() -> impl Strategy<Value = Point> {
    let end = || proptest::option::of(any_value());
    (any_value(), any_value(), end(), end()).prop_map(|(x, y, low, high)| Point {
        low,
        high,
        ..Point::at(x, y)
    })
}

proptest! {
    #[test]
    fn whatever_comes_is_drawn(
        kind in prop_oneof![Just(ChartKind::Lines), Just(ChartKind::Bars)],
        y_log: bool,
        categories in 0..6usize,
        all in proptest::collection::vec((0..4u8, proptest::collection::vec(any_point(), 0..8)), 0..12),
    ) {
        let names: Vec<_> = (0..categories).map(|place| format!("category {place}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let roles = [Role::Measured, Role::Target, Role::Published, Role::Simulated];
        let all = all.iter().enumerate().map(|(place, (role, points))| {
            series(&format!("series {place}"), roles[usize::from(*role)], points)
        });
        let mut chart = chart(kind, &names, all.collect());
        chart.y_log = y_log;
        prop_assert_eq!(inside(&svg(&chart, "p")), Ok(()));
    }
}
