//! Versions of runtimes: reading them from texts and tags, and finding the known version for one that a user names.

/// The relation between a runtime version that a user names and the known version whose facts are used for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeMatch {
    /// The version itself; a suffix such as `-cuda13` names a variant of its images.
    Same,
    /// The newest known version that is older.
    NearestOlder,
    /// The oldest known version: the named one is older than all.
    Oldest,
}

/// Finds the version of a list whose facts are used for a version or for the tag of a variant. Returns `None` if the
/// text is neither, and for an empty list.
pub(crate) fn find_nearest(
    known: impl Iterator<Item = &'static str> + Clone,
    text: &str,
) -> Option<(&'static str, RuntimeMatch)> {
    let find_same = |version: &str| known.clone().find(|known| *known == version);
    // Most texts are a known version, and need not be read.
    if let Some(same) = find_same(text) {
        return Some((same, RuntimeMatch::Same));
    }
    let version = leading_version(text)?;
    if let Some(same) = find_same(version) {
        return Some((same, RuntimeMatch::Same));
    }
    let older = known.clone().filter(|known| numbers(known) < numbers(version));
    let nearest = older.max_by_key(|known| numbers(known)).map(|known| (known, RuntimeMatch::NearestOlder));
    nearest.or_else(|| known.min_by_key(|known| numbers(known)).map(|known| (known, RuntimeMatch::Oldest)))
}

/// Returns whether a version is older than another. Both are `MAJOR.MINOR.PATCH`.
pub(crate) fn is_before(version: &str, other: &str) -> bool {
    numbers(version) < numbers(other)
}

/// Returns the three numbers of a version, for comparison. A number that is too large counts as the largest.
fn numbers(version: &str) -> [u64; 3] {
    debug_assert!(is_version(version), "{version}");
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(u64::MAX));
    std::array::from_fn(|_| numbers.next().unwrap_or_default())
}

/// Returns the `MAJOR.MINOR.PATCH` at the start of a text, if nothing or a suffix follows it: `1.4.0`, `1.4.0-rc1`,
/// `2.56.0-py312`.
pub fn leading_version(text: &str) -> Option<&str> {
    let (version, suffix) = text.find(['-', '+']).map_or((text, None), |index| {
        let (version, suffix) = text.split_at(index);
        (version, suffix.get(1..))
    });
    (suffix != Some("") && is_version(version)).then_some(version)
}

/// Returns whether a text is `MAJOR.MINOR.PATCH`: three numbers without leading zeros.
pub fn is_version(text: &str) -> bool {
    let is_number = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_three_numbers_and_an_optional_suffix() {
        for text in ["1.4.0", "1.4.0-rc1.cuda13", "1.4.0+build", "1.4.0-0.1"] {
            assert_eq!(leading_version(text), Some("1.4.0"), "{text}");
        }
        for text in ["", "latest", "1.4", "1.4.0.1", "1.04.0", "1.4.0-", "1..0", "v1.4.0", "1.4.x"] {
            assert_eq!(leading_version(text), None, "{text}");
        }
    }
}
