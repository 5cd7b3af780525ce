//! What comes after a serial (RFC 1035 3.3.13, RFC 1982).

/// How the serial of a zone goes on where an update does not bring one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SerialStyle {
    /// One more.
    #[default]
    Increment,
    /// Seconds since 1970.
    UnixTime,
    /// Year, month, day (UTC) and two digits.
    Date,
}

impl SerialStyle {
    /// The serial after `serial`, greater than it in the sense of RFC 1982 and never 0. `now`: seconds since 1970.
    ///
    /// Where what the style wants is not greater, it is one more: of several changes in a second or a hundred in a day, of a clock that was set back, and
    /// after a serial of another style.
    pub fn after(self, serial: u32, now: u64) -> u32 {
        let wanted = match self {
            SerialStyle::Increment => serial,
            SerialStyle::UnixTime => now as u32,
            SerialStyle::Date => date_serial(now),
        };
        if wanted != 0 && is_greater(wanted, serial) { wanted } else { one_more(serial) }
    }
}

/// Passes 0 over, which some take for special (RFC 1982 7).
fn one_more(serial: u32) -> u32 {
    serial.checked_add(1).unwrap_or(1)
}

/// Whether `a` is greater than `b` as serials (RFC 1982 3.2); `false` where they are 2^31 apart, which it leaves undefined.
pub fn is_greater(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

/// YYYYMMDD00 of a time in seconds since 1970.
fn date_serial(now: u64) -> u32 {
    let (year, month, day) = date(now / 86_400);
    ((year * 10_000 + month * 100 + day) * 100) as u32
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. Years begin in March here, so that the day that not all
/// have is the last; 400 of them are an era of 146,097 days.
pub fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // From 0000-03-01.
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (year + 400 * era, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_go_on() {
        use SerialStyle::{Date, Increment, UnixTime};
        // 2026-11-22 00:00:01 UTC.
        let now = 1_795_305_601;
        for (style, before, after) in [
            (Increment, 7, 8),
            (Increment, u32::MAX, 1),
            (UnixTime, 7, 1_795_305_601),
            (UnixTime, 1_795_305_601, 1_795_305_602),
            (UnixTime, 2_026_112_200, 2_026_112_201),
            (UnixTime, 3_000_000_000, 3_000_000_001),
            // Half of all serials ahead is not greater.
            (UnixTime, 1_795_305_601 + (1 << 31), 1_795_305_602 + (1 << 31)),
            // A serial beyond that is before the time again.
            (UnixTime, u32::MAX, 1_795_305_601),
            (Date, 7, 2_026_112_200),
            (Date, 2_026_112_200, 2_026_112_201),
            (Date, 2_026_112_199, 2_026_112_200),
            (Date, 2_026_112_299, 2_026_112_300),
        ] {
            assert_eq!(style.after(before, now), after, "{style:?} after {before}");
            assert!(is_greater(after, before));
        }
        assert_eq!(UnixTime.after(u32::MAX, 1 << 32), 1);
    }

    #[test]
    fn days_are_dates() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_454, (2026, 1, 1)),
            (20_779, (2026, 11, 22)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected, "day {days}");
        }
    }
}
