//! What a change of runtimes brings: flags that the newer ones rename or remove, and releases that are skipped.

use std::collections::BTreeMap;

use super::report::{RemovedFlag, RemovedFlags, RuntimeChange};
use super::run_deployment::RunDeployment;
use kubefoundry_deployment::ir::EngineType;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::runtime_upgrade::{removed_flags, skips_minor_release};
use kubefoundry_yaml as yaml;

/// Lists the changes of runtimes, sorted by provider and version.
pub(super) fn runtime_changes<'r, 'p>(
    composition: &Composition,
    pairs: impl Iterator<Item = (&'p RunDeployment<'r>, &'p RunDeployment<'r>)>,
) -> Vec<RuntimeChange>
where
    'r: 'p,
{
    let mut changes: BTreeMap<(String, String, String), (usize, Vec<EngineType>)> = BTreeMap::new();
    for (old, new) in pairs {
        let (Some(before), Some(after)) = (&old.decision.runtime, &new.decision.runtime) else { continue };
        let Some(provider) = new.decision.provider().filter(|provider| old.decision.provider() == Some(provider))
        else {
            continue;
        };
        if before == after {
            continue;
        }
        let (deployments, engines) = changes.entry((provider.to_owned(), before.clone(), after.clone())).or_default();
        *deployments += 1;
        engines.extend(new.text().and_then(read_engine).filter(|engine| !engines.contains(engine)));
    }
    changes
        .into_iter()
        .filter_map(|((provider, before, after), (deployments, engines))| {
            let info = composition.find_provider(&provider)?.info();
            let listed = |(word, engine): &(&'static str, EngineType)| {
                let removed = removed_flags(info, *engine, &before, &after).into_iter();
                let flags: Vec<_> =
                    removed.map(|flag| RemovedFlag { name: flag.name, replacement: flag.replacement }).collect();
                (engines.contains(engine) && !flags.is_empty()).then_some(RemovedFlags { engine: word, flags })
            };
            Some(RuntimeChange {
                deployments,
                skips_minor_release: skips_minor_release(info, &before, &after),
                removed_flags: EngineType::VARIANTS.iter().filter_map(listed).collect(),
                provider,
                before,
                after,
            })
        })
        .collect()
}

/// Reads the engine of a deployment from its text.
fn read_engine(text: &str) -> Option<EngineType> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let root = &parsed.documents.first()?.root;
    let word = root.at(&ModelDeployment::path().spec().engine().engine_type())?.as_str()?;
    EngineType::VARIANTS.iter().find(|(name, _)| *name == word).map(|(_, engine)| *engine)
}
