//! Compares the releases of a provider with the requirements of wheels, which `cargo xtask flags` extracts.

use std::path::Path;

use kubefoundry_engines::flags;
use kubefoundry_provider::releases::{EnginePin, Release};

#[test]
fn releases_are_those_that_were_read_from_wheels() {
    let none = Vec::<String>::new();
    assert_eq!(differences("ai-dynamo", "dynamo", kubefoundry_dynamo::runtimes::RELEASES), none);
    assert_eq!(differences("ray", "kuberay", kubefoundry_kuberay::runtimes::RELEASES), none);
}

/// Returns the differences between the releases of a provider and the wheels of its package, one line for each.
fn differences(package: &str, provider: &str, releases: &[Release]) -> Vec<String> {
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("xtask/facts/flags/pins.txt");
    let facts = std::fs::read_to_string(facts).unwrap();
    let wheels: Vec<Vec<&str>> = facts.lines().map(|line| line.split(' ').collect()).collect();
    let wheels: Vec<&Vec<&str>> = wheels.iter().filter(|words| words[0] == package).collect();
    assert!(!wheels.is_empty(), "{package} has no line in xtask/facts/flags/pins.txt");
    let file = format!("providers/{provider}/src/runtimes.rs");
    let mut differences: Vec<String> = releases
        .iter()
        .filter(|release| !wheels.iter().any(|words| words[1] == release.package))
        .map(|release| format!("{file}: no wheel of {package} {} was read", release.package))
        .collect();
    for words in wheels {
        let (version, pins) = (words[1], &words[2..]);
        let Some(release) = releases.iter().find(|release| release.package == version) else {
            differences.push(format!(
                "{package} {version} was read from its wheel and is not in RELEASES of {file}: add it there and to \
                 RUNTIMES, with {}",
                pins.join(" ")
            ));
            continue;
        };
        for (engine, pin) in release.engines {
            let stated = match pin {
                EnginePin::Exactly(version) => format!("{engine}={version}"),
                EnginePin::AtLeast(version) => format!("{engine}>={version}"),
            };
            if !pins.contains(&stated.as_str()) {
                differences.push(format!(
                    "{file} says that {package} {version} has {stated}, its wheel has {pins:?}: correct RELEASES, or \
                     state here why its images have another version"
                ));
            }
            let has_table = |(known, _): (&str, _)| known == pin.version();
            if *engine != "tensorrt-llm" && !flags::tables_by_version(engine).any(has_table) {
                differences.push(format!(
                    "{stated} of {package} {version} has no table of flags: run `cargo xtask flags --engine {engine} \
                     --version {}`",
                    pin.version()
                ));
            }
        }
    }
    differences
}
