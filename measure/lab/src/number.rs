//! Numbers as people read them.

/// Prefixes of thousands, from none on.
const PREFIXES: [&str; 5] = ["", "k", "M", "G", "T"];

/// Three digits that count, with `k`, `M`, `G` or `T`: for axes and for bars.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let mut scaled = value;
    let mut prefix = 0;
    // From 999.5 on three digits would round to 1000.
    while scaled.abs() >= 999.5 && prefix + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    match scaled.abs() {
        0.0 => "0".to_owned(),
        magnitude if !(1e-4..1e6).contains(&magnitude) => format!("{value:.1e}"),
        _ => trimmed(digits(scaled, 3)) + PREFIXES[prefix],
    }
}

/// Whole, with thousands apart, from 100 on; below with four digits that count: for tables and for text.
pub fn long(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        magnitude if !(1e-4..1e15).contains(&magnitude) => format!("{value:.3e}"),
        magnitude if magnitude >= 99.995 => thousands(value.round()),
        _ => digits(value, if value.abs() < 9.9995 { 4 } else { 3 }),
    }
}

/// With a decimal point so that `count` digits count; none behind it where the whole part has as many.
fn digits(value: f64, count: i32) -> String {
    let power = value.abs().log10().floor() as i32;
    let behind = (count - 1 - power).clamp(0, 8) as usize;
    format!("{value:.behind$}")
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `value`: whole and below 10^15.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The number that [`long`] or a person wrote: thousands may be apart.
pub fn parsed(text: &str) -> Option<f64> {
    let is_digits =
        !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit() || ",.".contains(letter));
    text.replace(',', "").parse().ok().filter(|_| is_digits)
}

#[cfg(test)]
mod tests {
    use super::{long, parsed, short};

    #[test]
    fn as_people_read_them() {
        let texts =
            [0.0, 1.0, 2.5, 0.125, 999.0, 999.7, 50_000.0, 1_234_567.0, -1500.0, 1e30, 1e-9].map(short);
        assert_eq!(
            texts,
            ["0", "1", "2.5", "0.125", "999", "1k", "50k", "1.23M", "-1.5k", "1.0e30", "1.0e-9"]
        );
        let texts = [0.0, 0.9312, 1.0, 43.25, 99.999, 123.4, 1_234_567.8, -1000.0, f64::NAN].map(long);
        assert_eq!(texts, ["0", "0.9312", "1.000", "43.2", "100", "123", "1,234,568", "-1,000", "–"]);
    }

    #[test]
    fn read_back() {
        assert_eq!(
            [parsed("8,541,503"), parsed("0.97"), parsed("5")],
            [Some(8_541_503.0), Some(0.97), Some(5.0)]
        );
        assert!(["", "about 0.5", "-1", "1e3", "inf", "."].iter().all(|text| parsed(text).is_none()));
    }
}
