//! Times of signatures (RFC 4034 3.2): `YYYYMMDDHHmmSS` in UTC, or seconds since 1970.

use super::number::decimal;

/// Seconds since 1970, as 32 bits: years 1970 to 2106.
#[inline]
pub(crate) fn time(text: &[u8]) -> Option<u32> {
    if text.len() != 14 {
        return decimal(text, u32::MAX as u64).map(|seconds| seconds as u32);
    }
    let part = |from: usize, to: usize| decimal(&text[from..to], 9999);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_of_month(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = ((days_before(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    u32::try_from(seconds).ok()
}

/// The fields of a time: year, month, day, hour, minute, second.
pub(crate) fn civil(seconds: u32) -> [u32; 6] {
    let (mut days, rest) = (seconds as u64 / 86_400, seconds % 86_400);
    let mut year = 1970 + days / 366;
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    days -= days_before(year, 1);
    let mut month = 1;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    [year as u32, month as u32, days as u32 + 1, rest / 3600, rest / 60 % 60, rest % 60]
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + is_leap(year) as u64,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the start of 1970 to the start of a month; `year` is 1970 or later.
#[inline]
fn days_before(year: u64, month: u64) -> u64 {
    const BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let past = year - 1;
    let leap_days = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    let leap_day = (month > 2 && is_leap(year)) as u64;
    (year - 1970) * 365 + leap_days + BEFORE_MONTH[month as usize - 1] + leap_day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        for (text, seconds) in [
            ("19700101000000", 0),
            ("20040509183619", 1_084_127_779), // RFC 4034 3.3 writes this date
            ("20000229235959", 951_868_799),
            ("21060207062815", u32::MAX),
            ("1084127779", 1_084_127_779),
            ("4294967295", u32::MAX),
        ] {
            assert_eq!(time(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in [
            "21060207062816",
            "20010229000000",
            "20001301000000",
            "20000100000000",
            "20000101240000",
            "20000101006000",
            "2000010100000",
            "4294967296",
            "2000010100000x",
            "19690101000000",
            "",
        ] {
            assert_eq!(time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn there_and_back() {
        let mut seconds = 0u32;
        loop {
            let [year, month, day, hour, minute, second] = civil(seconds);
            let text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}");
            assert_eq!(time(text.as_bytes()), Some(seconds));
            let Some(next) = seconds.checked_add(1_234_567) else { break };
            seconds = next;
        }
    }
}
