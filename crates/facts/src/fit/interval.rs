//! Numbers of bytes that are known within bounds.

use std::fmt;

const GIB: u128 = 1 << 30;

/// A number of bytes: at least `min`, and at most `max` if an upper bound is known.
///
/// ```
/// use kubefoundry_facts::fit::Interval;
/// let files = Interval::between(10 << 30, 20 << 30);
/// assert_eq!(files.plus(Interval::at_least(1 << 30)), Interval::at_least(11 << 30));
/// assert_eq!(files.to_string(), "10.0 to 20.0 GiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The lower bound; 0 if nothing is known.
    pub min: u64,
    /// The upper bound; absent if none is known.
    pub max: Option<u64>,
}

impl Interval {
    /// Of which nothing is known.
    pub const UNKNOWN: Self = Self { min: 0, max: None };

    /// A number that is known exactly.
    pub const fn exactly(bytes: u64) -> Self {
        Self { min: bytes, max: Some(bytes) }
    }

    /// A number of which only a lower bound is known.
    pub const fn at_least(min: u64) -> Self {
        Self { min, max: None }
    }

    /// A number between two others, the smaller of which comes first.
    pub const fn between(min: u64, max: u64) -> Self {
        Self { min, max: Some(max) }
    }

    /// Adds two numbers. Sums stop at the largest number there is.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        let max = match (self.max, other.max) {
            (Some(one), Some(another)) => Some(one.saturating_add(another)),
            _ => None,
        };
        Self { min: self.min.saturating_add(other.min), max }
    }

    /// Multiplies by a number of permille, of which rounding never narrows the bounds.
    #[must_use]
    pub fn permille(self, permille: u32) -> Self {
        let scaled = |bytes: u64, rest: u128| narrow((u128::from(bytes) * u128::from(permille) + rest) / 1000);
        Self { min: scaled(self.min, 0), max: self.max.map(|max| scaled(max, 999)) }
    }

    /// Whether a number may be in both intervals.
    pub(super) fn agrees(self, other: Self) -> bool {
        self.max.is_none_or(|max| other.min <= max) && other.max.is_none_or(|max| self.min <= max)
    }

    /// Returns the narrower bounds of the two. An upper bound is not below the lower one.
    pub(super) fn both(self, other: Self) -> Self {
        let min = self.min.max(other.min);
        let max = match (self.max, other.max) {
            (Some(one), Some(another)) => Some(one.min(another)),
            (one, another) => one.or(another),
        };
        Self { min, max: max.map(|max| max.max(min)) }
    }

    /// Returns the wider bounds of the two.
    pub(super) fn either(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.zip(other.max).map(|(one, another)| one.max(another)) }
    }
}

/// In GiB with one decimal; the lower bound is rounded down and the upper one up.
impl fmt::Display for Interval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = |bytes: u64| u128::from(bytes) * 10;
        let (low, high) = (tenths(self.min) / GIB, self.max.map(|max| tenths(max).div_ceil(GIB)));
        match high {
            Some(high) if high <= low + 1 => write!(formatter, "{}.{} GiB", low / 10, low % 10),
            Some(high) => write!(formatter, "{}.{} to {}.{} GiB", low / 10, low % 10, high / 10, high % 10),
            None => write!(formatter, "at least {}.{} GiB", low / 10, low % 10),
        }
    }
}

/// Returns a number as one of 64 bits, or the largest of those.
pub(super) fn narrow(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn bounds_agree_or_both_are_kept() {
        let (low, high) = (Interval::between(1, 5), Interval::between(4, 9));
        assert!(low.agrees(high) && !low.agrees(Interval::at_least(6)) && low.agrees(Interval::UNKNOWN));
        assert_eq!(low.both(high), Interval::between(4, 5));
        assert_eq!(low.both(Interval::at_least(3)), Interval::between(3, 5));
        assert_eq!(low.both(Interval::between(7, 9)), Interval::exactly(7));
        assert_eq!(low.either(Interval::between(7, 9)), Interval::between(1, 9));
        assert_eq!(low.either(Interval::at_least(6)), Interval::at_least(1));
    }

    #[test]
    fn gibibytes_are_rounded_outwards() {
        assert_eq!(Interval::exactly(15 * GIB + GIB / 2 + 9).to_string(), "15.5 GiB");
        assert_eq!(Interval::at_least(GIB / 3).to_string(), "at least 0.3 GiB");
        assert_eq!(Interval::exactly(u64::MAX).permille(900).max.map(|max| max < u64::MAX), Some(true));
        assert_eq!(Interval::exactly(1001).permille(900), Interval::between(900, 901));
    }
}
