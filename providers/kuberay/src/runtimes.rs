//! The vLLM versions in Ray's releases, and the launcher of Ray Serve LLM.

use kubefoundry_deployment::ir::EngineType;
use kubefoundry_engines::flags;
use kubefoundry_engines::flags::FlagTable;
use kubefoundry_engines::{Launcher, Parser, ValueForm};
use kubefoundry_provider::releases::EnginePin::{AtLeast, Exactly};
use kubefoundry_provider::releases::{EnginePin, Release, find_release};

/// The releases, oldest first, with the vLLM that their wheels require. Before 2.56, wheels set a lower bound only.
pub static RELEASES: &[Release] = &[
    Release::new("2.50.0", &[("vllm", AtLeast("0.10.2"))]),
    Release::new("2.50.1", &[("vllm", AtLeast("0.10.2"))]),
    Release::new("2.51.0", &[("vllm", AtLeast("0.11.0"))]),
    Release::new("2.51.1", &[("vllm", AtLeast("0.11.0"))]),
    Release::new("2.51.2", &[("vllm", AtLeast("0.11.0"))]),
    Release::new("2.52.0", &[("vllm", AtLeast("0.11.0"))]),
    Release::new("2.52.1", &[("vllm", AtLeast("0.11.0"))]),
    Release::new("2.53.0", &[("vllm", AtLeast("0.12.0"))]),
    Release::new("2.54.0", &[("vllm", AtLeast("0.15.0"))]),
    Release::new("2.54.1", &[("vllm", AtLeast("0.15.0"))]),
    Release::new("2.55.0", &[("vllm", AtLeast("0.18.0"))]),
    Release::new("2.55.1", &[("vllm", AtLeast("0.18.0"))]),
    Release::new("2.56.0", &[("vllm", Exactly("0.22.0"))]),
    Release::new("2.56.1", &[("vllm", Exactly("0.22.0"))]),
    Release::new("2.57.0", &[("vllm", Exactly("0.25.1"))]),
    Release::new("2.57.1", &[("vllm", Exactly("0.25.1"))]),
    Release::new("2.58.0", &[("vllm", Exactly("0.26.0"))]),
    Release::new("2.58.1", &[("vllm", Exactly("0.26.0"))]),
    Release::new("2.59.0", &[("vllm", Exactly("0.27.0"))]),
    Release::new("2.60.0", &[("vllm", Exactly("0.29.0"))]),
];

/// Returns the launcher `ray.serve.llm` of a Ray release. It takes flags as `engine_kwargs`, whose names cannot be
/// abbreviated. `is_exact` tells whether the image is known to have exactly that release.
pub fn launcher(release: &'static Release, is_exact: bool) -> Launcher {
    let pin = release.engine("vllm");
    let table = pin.map(EnginePin::version).and_then(flags::vllm);
    Launcher {
        parsers: table.map(|table| Parser { table, abbreviates: false }).into_iter().collect(),
        takes_model: false,
        value_form: ValueForm::Keywords,
        api_key_help: None,
        is_exact: is_exact && matches!(pin, Some(Exactly(_))),
        // Ray refuses it with "Unknown engine argument".
        unknown_flag_consequence: "the application does not start",
        ..Launcher::new(format!("Ray {}'s vLLM", release.version))
    }
}

/// Returns the flag tables of a version for an engine.
pub(super) fn flag_tables(engine: EngineType, version: &str) -> Vec<FlagTable> {
    let found = find_release(RELEASES, version).filter(|_| engine == EngineType::Vllm);
    found.map(|found| launcher(found.release, false).tables().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::RUNTIMES;
    use super::*;

    #[test]
    fn every_runtime_has_a_table() {
        for release in RELEASES {
            assert_eq!(launcher(release, true).parsers.len(), 1, "{release:?}");
        }
        let mut runtimes = RUNTIMES.to_vec();
        runtimes.sort_unstable();
        assert_eq!(runtimes, RELEASES.iter().map(|release| release.version).collect::<Vec<_>>());
    }
}
