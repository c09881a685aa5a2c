//! Compares the engine versions in `RELEASES` with the pins of wheels, which `cargo xtask flags` extracts.

use std::path::Path;

use crate::engines::flags;

/// Returns the differences between the releases of a provider and the wheels of its package, one line for each.
/// `stated` returns the engines of a release with their versions.
#[expect(clippy::disallowed_methods, reason = "a test reads the facts of the workspace")]
pub(super) fn differences(
    package: &str,
    provider: &str,
    stated: impl Fn(&str) -> Option<Vec<(&'static str, &'static str)>>,
) -> Vec<String> {
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/facts/flags/pins.txt");
    let facts = std::fs::read_to_string(facts).unwrap();
    let releases: Vec<Vec<&str>> = facts.lines().map(|line| line.split(' ').collect()).collect();
    let package_releases: Vec<&Vec<&str>> = releases.iter().filter(|words| words[0] == package).collect();
    assert!(!package_releases.is_empty(), "{package} has no line in xtask/facts/flags/pins.txt");
    let mut differences = Vec::new();
    let file = format!("crates/model/src/providers/{provider}/runtimes.rs");
    for words in package_releases {
        let (release, pinned) = (words[1], &words[2..]);
        let Some(engines) = stated(release) else {
            differences.push(format!(
                "{package} {release} was read from its wheel and is not in RELEASES of {file}: add it there and to RUNTIMES, \
                 with {}",
                pinned.join(" ")
            ));
            continue;
        };
        for (engine, version) in engines {
            let pin = pinned.iter().find_map(|pin| pin.strip_prefix(engine)?.strip_prefix('='));
            if pin != Some(version) {
                differences.push(format!(
                    "{file} says that {package} {release} has {engine} {version}, its wheel pins {pin:?}: correct RELEASES, \
                     or state here why its images have another version"
                ));
            }
            if !flags::tables_by_version(engine).any(|(known, _)| known == version) {
                differences.push(format!(
                    "{engine} {version} of {package} {release} has no table of flags: run `cargo xtask flags --engine \
                     {engine} --version {version}`"
                ));
            }
        }
    }
    differences
}
