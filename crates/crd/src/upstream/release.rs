//! Ordering of releases, and the search for the known release nearest to another one.

use super::skeleton::SkeletonOrigin;

/// The comparable part of an upstream release: `v1.5.0` is `[1, 5]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Release(Vec<u64>);

impl Release {
    /// Parses a version such as `1.5.0` or `v0.5.10.post1`. Suffixes and trailing zeros are ignored. Returns `None` if
    /// the text does not start with a number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers = text.split(['.', '-', '+']).map_while(|part| part.parse().ok());
        let mut numbers: Vec<u64> = numbers.collect();
        if numbers.is_empty() {
            return None;
        }
        while numbers.len() > 1 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        Some(Self(numbers))
    }
}

/// The known items nearest to a release.
pub(super) struct NearestReleases<T> {
    /// The item of the release, or else of the newest one before it. If all are newer, it is the oldest one, and if the
    /// release is not known, the newest one.
    pub(super) nearest: T,
    /// The item of the first release after it, if the nearest one is from before it.
    pub(super) next: Option<T>,
    /// Whether the nearest item is exactly that of the release.
    pub(super) is_exact: bool,
}

/// Returns the items of `known` that are nearest to a release, or `None` if `known` is empty. `known` must be of one
/// kind and sorted from the oldest to the newest.
pub(super) fn find_nearest<T: Copy>(
    known: &[T],
    origin: impl Fn(T) -> &'static SkeletonOrigin,
    release: Option<&str>,
) -> Option<NearestReleases<T>> {
    let newest = *known.last()?;
    let Some(requested) = release.and_then(Release::parse) else {
        return Some(NearestReleases { nearest: newest, next: None, is_exact: false });
    };
    let of = |known: T| origin(known).release.and_then(Release::parse);
    let is_older = |known: &T| of(*known).is_some_and(|release| release <= requested);
    let older = known.iter().copied().rev().find(is_older);
    let newer = known.iter().copied().find(|known| !is_older(known));
    let nearest = older.or(newer)?;
    let is_exact = origin(nearest).is_tagged && of(nearest).as_ref() == Some(&requested);
    let next = newer.filter(|_| older.is_some() && !is_exact);
    Some(NearestReleases { nearest, next, is_exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        let ordered = ["0.4.1", "0.12.0", "1.2", "1.2.3-rc1", "v1.10.0", "2.0.0.post1"];
        let parsed: Vec<Release> = ordered.iter().map(|text| Release::parse(text).unwrap()).collect();
        assert!(parsed.is_sorted_by(|one, two| one < two), "{parsed:?}");
        assert_eq!(Release::parse("1.2.0"), Release::parse("v1.2"));
    }

    #[test]
    fn refuses_a_release_without_a_number() {
        assert!(["main", "", "v", "latest-1.2"].into_iter().all(|text| Release::parse(text).is_none()));
    }
}
