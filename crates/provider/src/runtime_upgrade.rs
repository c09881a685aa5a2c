//! What an upgrade of a runtime changes: flags that the newer one renames or removes, and releases that it skips.

use super::runtime_version::leading_version;
use crate::ProviderInfo;
use kubefoundry_deployment::ir::EngineType;
use kubefoundry_engines as engines;
use kubefoundry_engines::flags::{FlagTable, Replacement, replacement};

/// A flag that the newer runtime does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedFlag {
    /// The canonical name, without dashes.
    pub name: &'static str,
    /// The flags of the same meaning, as a command line writes them, if there are any.
    pub replacement: Option<&'static str>,
}

/// Returns the flags of an engine that a newer runtime of a provider renames or removes, sorted. Empty if one of the
/// versions is not known.
///
/// ```
/// use kubefoundry_deployment::ir::EngineType;
/// use kubefoundry_provider::Provider;
/// use kubefoundry_dynamo::Dynamo;
/// use kubefoundry_provider::runtime_upgrade::removed_flags;
/// let removed = removed_flags(Dynamo.info(), EngineType::Vllm, "1.1.1", "1.4.0");
/// let prefill = removed.iter().find(|flag| flag.name == "is-prefill-worker").unwrap();
/// assert_eq!(prefill.replacement, Some("--disaggregation-mode=prefill"));
/// ```
pub fn removed_flags(info: &ProviderInfo, engine: EngineType, old: &str, new: &str) -> Vec<RemovedFlag> {
    let (old, new) = ((info.flag_tables)(engine, old), (info.flag_tables)(engine, new));
    if new.is_empty() {
        return Vec::new();
    }
    let has = |name: &str| new.iter().any(|table| table.lookup(name).is_some());
    let mut removed: Vec<RemovedFlag> = old
        .iter()
        .flat_map(FlagTable::names)
        .filter(|name| !has(name))
        .map(|name| RemovedFlag { name, replacement: find_replacement(name, engine, &new) })
        .collect();
    removed.sort_by_key(|flag| flag.name);
    removed
}

fn find_replacement(name: &str, engine: EngineType, new: &[FlagTable]) -> Option<&'static str> {
    let listed = || match replacement(engines::profile(engine).table, name) {
        Some(Replacement::Flags(flags)) => Some(flags),
        _ => None,
    };
    new.iter().find_map(|table| table.replacement(name)).or_else(listed)
}

/// Returns whether an upgrade of the runtime skips a minor release although upstream supports upgrades to the next one
/// only.
///
/// ```
/// use kubefoundry_provider::Provider;
/// use kubefoundry_dynamo::Dynamo;
/// use kubefoundry_provider::runtime_upgrade::skips_minor_release;
/// assert!(skips_minor_release(Dynamo.info(), "1.4.0", "1.6.1"));
/// assert!(!skips_minor_release(Dynamo.info(), "1.5.1", "1.6.1"));
/// assert!(!skips_minor_release(Dynamo.info(), "1.6.1", "1.4.0"));
/// ```
pub fn skips_minor_release(info: &ProviderInfo, old: &str, new: &str) -> bool {
    let minor = |version: &str| -> Option<(u64, u64)> {
        let mut numbers = leading_version(version)?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    match (minor(old), minor(new)) {
        (Some((old_major, old_minor)), Some((new_major, new_minor))) if info.upgrades_by_minor_release => {
            new_major > old_major || (new_major == old_major && new_minor > old_minor.saturating_add(1))
        }
        _ => false,
    }
}
