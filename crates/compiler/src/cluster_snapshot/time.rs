//! RFC 3339 times with a resolution of one second. Code here has no clock: callers pass the current time.

use std::fmt;

/// A point in time, in seconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Parses an RFC 3339 time and discards fractions of a second. Returns `None` for any other text.
    ///
    /// ```
    /// use kubefoundry_compiler::cluster_snapshot::time::Time;
    /// let time = Time::parse("2026-01-30T10:00:00Z").unwrap();
    /// assert_eq!(time, Time::parse("2026-01-30T11:00:00.5+01:00").unwrap());
    /// assert_eq!(time.to_string(), "2026-01-30T10:00:00Z");
    /// assert_eq!(Time::parse("1970-01-01T00:00:00Z"), Some(Time(0)));
    /// for text in ["", "now", "2026-01-30", "2026-01-30T10:00:00", "2026-02-30T10:00:00Z", "2026-01-30T24:00:00Z"] {
    ///     assert_eq!(Time::parse(text), None, "{text}");
    /// }
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_once(['T', 't'])?;
        let [year, month, day] = parse_numbers(date, '-', [4, 2, 2])?;
        let zone = rest.find(['Z', 'z', '+', '-'])?;
        let (clock, zone) = rest.split_at(zone);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let [hour, minute, second] = parse_numbers(clock, ':', [2, 2, 2])?;
        // Kubernetes writes no leap seconds, but RFC 3339 allows them: second 60 counts as 59.
        let is_time = hour < 24 && minute < 60 && second <= 60 && is_number(fraction);
        let is_date = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        let offset = parse_offset(zone)?;
        (is_time && is_date).then(|| {
            Self(days_before(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second.min(59) - offset)
        })
    }

    /// Seconds since an earlier time; 0 if `earlier` is later.
    ///
    /// ```
    /// use kubefoundry_compiler::cluster_snapshot::time::Time;
    /// assert_eq!((Time(90).seconds_since(Time(30)), Time(30).seconds_since(Time(90))), (60, 0));
    /// ```
    pub fn seconds_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

const SECONDS_PER_DAY: i64 = 86_400;

/// Days from 0000-03-01, the start of the calendar used here, to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

/// Days in 400 years, after which the Gregorian calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0.div_euclid(SECONDS_PER_DAY), self.0.rem_euclid(SECONDS_PER_DAY));
        let (year, month, day) = date_from_days(days);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

/// Formats a duration as kubectl does: `45s`, `12m`, `3h5m`, `2d`.
///
/// ```
/// use kubefoundry_compiler::cluster_snapshot::time::format_age;
/// assert_eq!([45, 130, 700, 11_100, 90_000, 900_000].map(format_age), ["45s", "2m10s", "11m", "3h5m", "25h", "10d"]);
/// ```
pub fn format_age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two_units = |large: u64, unit: char, small: u64, rest: char| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{rest}") }
    };
    // The ranges are those of HumanDuration in k8s.io/apimachinery/pkg/util/duration.
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two_units(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two_units(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two_units(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses three numbers, each with the given number of digits.
fn parse_numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut next = |length: usize| {
        let part = parts.next().filter(|part| part.len() == length && is_number(part))?;
        part.parse().ok()
    };
    let [first, second, third] = digits;
    let numbers = [next(first)?, next(second)?, next(third)?];
    parts.next().is_none().then_some(numbers)
}

/// Parses a UTC offset in seconds, positive east of Greenwich.
fn parse_offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let parse_two_digits =
        |text: &str| (text.len() == 2 && is_number(text)).then(|| text.parse::<i64>().ok()).flatten();
    let seconds = parse_two_digits(hours).filter(|hours| *hours < 24)? * 3600
        + parse_two_digits(minutes).filter(|minutes| *minutes < 60)? * 60;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is the
/// last day of a year.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    // From March on, every five months have 153 days, so this counts the days of the months before.
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - DAYS_TO_EPOCH
}

/// Converts days since 1970-01-01 to a date: the inverse of [`days_before`].
fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_EPOCH;
    let (era, day) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    // The divisions count the leap days before `day`: one every four years, none at the end of a century, one at the
    // end of the era. Without them, every year has 365 days.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over more than 400 years, every day has its own number and converts back to its date.
    #[test]
    fn converts_every_day_both_ways() {
        let mut expected = days_before(1899, 12, 31);
        for year in 1900..2310 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    expected += 1;
                    assert_eq!(days_before(year, month, day), expected);
                    assert_eq!(date_from_days(expected), (year, month, day));
                }
            }
        }
        assert_eq!(days_before(1970, 1, 1), 0);
    }

    #[test]
    fn applies_time_zones() {
        let seconds = |text: &str| Time::parse(text).map(|time| time.0);
        assert_eq!(seconds("2000-03-01T00:00:00Z"), Some(951_868_800));
        assert_eq!(seconds("2000-03-01T01:30:00+01:30"), Some(951_868_800));
        assert_eq!(seconds("2000-02-29T22:00:00.123-02:00"), Some(951_868_800));
        assert_eq!(seconds("2000-02-29T23:59:60z"), Some(951_868_799));
        for text in ["2000-03-01T00:00:00+1:00", "2000-03-01T00:00:00+24:00", "2000-03-01T00:00Z", "2000-3-1T00:00:00Z"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
