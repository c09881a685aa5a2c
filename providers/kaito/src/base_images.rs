//! The vLLM versions in KAITO's base images, which run presets.

use kubefoundry_deployment::ir::EngineType;
use kubefoundry_engines::flags;
use kubefoundry_engines::flags::FlagTable;
use kubefoundry_engines::{Launcher, Parser, ValueForm};
use kubefoundry_provider::releases::EnginePin::{AtLeast, Exactly};
use kubefoundry_provider::releases::{EnginePin, FoundRelease, Release, find_release};
use kubefoundry_provider::{RuntimeMatch, TranslationContext};

/// The base images, oldest first, by their tags (the tag history in presets/workspace/models/base_images.yaml of
/// kaito-project/kaito). The history and the `runtimeVersion` of 0.5 disagree, so its vLLM is a lower bound.
pub(crate) static RELEASES: &[Release] = &[
    Release::new("0.1.0", VLLM_0_12),
    Release::new("0.1.1", VLLM_0_12),
    Release::new("0.1.2", VLLM_0_12),
    Release::new("0.2.0", VLLM_0_12),
    Release::new("0.2.1", VLLM_0_12),
    Release::new("0.2.2", VLLM_0_14),
    Release::new("0.2.3", VLLM_0_14),
    Release::new("0.2.4", VLLM_0_14),
    Release::new("0.2.5", VLLM_0_14),
    Release::new("0.2.6", VLLM_0_14),
    Release::new("0.2.7", VLLM_0_17),
    Release::new("0.2.8", VLLM_0_17),
    Release::new("0.3.0", VLLM_0_19),
    Release::new("0.3.1", VLLM_0_19),
    Release::new("0.3.2", VLLM_0_19),
    Release::new("0.3.3", VLLM_0_19),
    Release::new("0.4.0", VLLM_0_22),
    Release::new("0.4.1", VLLM_0_22),
    Release::new("0.4.2", VLLM_0_22),
    Release::new("0.4.3", VLLM_0_22),
    Release::new("0.4.4", VLLM_0_22),
    Release::new("0.4.5", VLLM_0_22),
    Release::new("0.5.0", VLLM_0_25),
    Release::new("0.5.1", VLLM_0_25),
    Release::new("0.5.2", VLLM_0_25),
    Release::new("0.5.3", VLLM_0_25),
    Release::new("0.5.4", VLLM_0_25),
];

type Engines = &'static [(&'static str, EnginePin)];

const VLLM_0_12: Engines = &[("vllm", Exactly("0.12.0"))];
const VLLM_0_14: Engines = &[("vllm", Exactly("0.14.1"))];
const VLLM_0_17: Engines = &[("vllm", Exactly("0.17.1"))];
const VLLM_0_19: Engines = &[("vllm", Exactly("0.19.1"))];
const VLLM_0_22: Engines = &[("vllm", Exactly("0.22.1"))];
const VLLM_0_25: Engines = &[("vllm", AtLeast("0.25.1"))];

/// The tags of the base images, the newest first. The newest is assumed where the options pin none.
pub(super) const RUNTIMES: &[&str] = &[
    "0.5.4", "0.5.3", "0.5.2", "0.5.1", "0.5.0", "0.4.5", "0.4.4", "0.4.3", "0.4.2", "0.4.1", "0.4.0", "0.3.3",
    "0.3.2", "0.3.1", "0.3.0", "0.2.8", "0.2.7", "0.2.6", "0.2.5", "0.2.4", "0.2.3", "0.2.2", "0.2.1", "0.2.0",
    "0.1.2", "0.1.1", "0.1.0",
];

/// Returns the launcher of presets. KAITO names the model, splits it over the GPUs of the instance type whatever the
/// deployment counts, and passes each setting as `--key str(value)`, so numbers must keep their spelling. Without a
/// pinned base image, the version of vLLM is an assumption.
pub(super) fn launcher(context: &TranslationContext<'_>) -> Launcher {
    let found = find_release(RELEASES, context.runtime).filter(|_| context.runtime_pinned);
    launcher_of(found)
}

/// Returns the launcher of a base image, or of the newest one if none is known.
pub fn launcher_of(found: Option<FoundRelease>) -> Launcher {
    let release = found.map(|found| found.release).or(RELEASES.last());
    let pin = release.and_then(|release| release.engine("vllm"));
    let table = pin.map(EnginePin::version).and_then(flags::vllm);
    let is_same = found.is_some_and(|found| found.relation == RuntimeMatch::Same);
    Launcher {
        parsers: table.map(|table| Parser { table, abbreviates: true }).into_iter().collect(),
        takes_model: false,
        value_form: ValueForm::BareNumbers,
        splits_model: false,
        is_exact: is_same && matches!(pin, Some(Exactly(_))),
        api_key_help: Some(
            "remove the flag, set spec.image, and set VLLM_API_KEY in spec.env from a Secret: a preset has no \
             environment",
        ),
        // The ConfigMap refuses KAITO's own keys (`config_map`).
        provider_prefix: Some("kaito-"),
        unknown_flag_consequence: "vLLM does not start",
        ..Launcher::new("KAITO's vLLM")
    }
}

/// Returns the flag tables of a base image for an engine.
pub(super) fn flag_tables(engine: EngineType, version: &str) -> Vec<FlagTable> {
    let found = find_release(RELEASES, version).filter(|_| engine == EngineType::Vllm);
    found.map(|found| launcher_of(Some(found)).tables().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base_image_has_a_table() {
        for release in RELEASES {
            let found = FoundRelease { release, relation: RuntimeMatch::Same };
            assert_eq!(launcher_of(Some(found)).parsers.len(), 1, "{release:?}");
        }
        let listed: Vec<&str> = RELEASES.iter().rev().map(|release| release.version).collect();
        assert_eq!(listed, RUNTIMES);
    }
}
