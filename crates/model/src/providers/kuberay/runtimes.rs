//! The vLLM versions in Ray's releases, and the launcher of Ray Serve LLM.

use crate::engines::flags;
use crate::engines::{Launcher, Parser, ValueForm};

/// The Ray releases with their vLLM versions, oldest first.
const RELEASES: &[(&str, &str)] = &[("2.56.0", "0.22.0"), ("2.60.0", "0.29.0")];

/// Returns the launcher `ray.serve.llm` of a Ray version. It takes flags as `engine_kwargs`, whose names cannot be
/// abbreviated.
pub(crate) fn launcher(version: &str) -> Launcher {
    let vllm = RELEASES.iter().find(|(release, _)| *release == version).and_then(|(_, vllm)| flags::vllm(vllm));
    Launcher {
        parsers: vllm.map(|table| Parser { table, abbreviates: false }).into_iter().collect(),
        takes_model: false,
        value_form: ValueForm::Keywords,
        api_key_help: None,
        // Ray refuses it with "Unknown engine argument".
        unknown_flag_consequence: ", and the application does not start if its vLLM does not know it",
        ..Launcher::new(format!("Ray {version}'s vLLM"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::RUNTIMES;
    use super::*;
    use crate::providers::wheel_pins;

    #[test]
    fn releases_are_those_that_were_read_from_wheels() {
        let stated = |version: &str| {
            let (_, vllm) = RELEASES.iter().find(|(release, _)| *release == version)?;
            Some(vec![("vllm", *vllm)])
        };
        assert_eq!(wheel_pins::differences("ray", "kuberay", stated), Vec::<String>::new());
    }

    #[test]
    fn every_runtime_has_a_table() {
        for version in RUNTIMES.iter().chain(RELEASES.iter().map(|(release, _)| release)) {
            assert_eq!(launcher(version).parsers.len(), 1, "{version}");
        }
    }
}
