//! Base deployments for tests: one for each combination that a provider runs. Each provider lists its own in the file
//! `testing.yaml` of its folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use kubefoundry_cel as cel;
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::{EngineType, ServingMode};
use kubefoundry_engines::profile;
use kubefoundry_engines::profile::Examples;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_provider::Provider;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// A base deployment: an engine and a mode, with or without an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Start {
    pub(crate) provider: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) image: Option<&'static str>,
}

/// The content of `testing.yaml` of a provider.
#[derive(Debug)]
pub(crate) struct Testing {
    pub(crate) starts: Vec<Start>,
    /// Two values of `spec.provider.overrides` that are rendered differently; `None` for a provider without overrides.
    pub(crate) overrides: Option<[Value; 2]>,
}

/// The test data of each provider, or an error message about its file.
static TESTING: LazyLock<BTreeMap<&'static str, Result<Testing, String>>> =
    LazyLock::new(|| PROVIDERS.iter().map(|provider| (provider.name(), read(*provider))).collect());

/// The base deployments of every provider, in the order of [`PROVIDERS`].
pub(crate) static STARTS: LazyLock<Vec<Start>> = LazyLock::new(|| {
    let known = PROVIDERS.iter().filter_map(|provider| testing(provider.name()).ok());
    known.flat_map(|testing| testing.starts.iter().copied()).collect()
});

/// Returns the test data of a provider. The error states what to write in which file.
pub(crate) fn testing(provider: &str) -> Result<&'static Testing, &'static String> {
    TESTING[provider].as_ref()
}

/// Returns the engines and modes that the `config.yaml` of a provider lists.
pub(crate) fn cells(provider: &dyn Provider) -> Vec<(&'static str, &'static str)> {
    let catalog = BUILTIN.configuration(cel::Limits::default());
    let own = catalog.builtin_candidate(provider.name());
    let all = EngineType::VARIANTS
        .iter()
        .flat_map(|(engine, _)| ServingMode::VARIANTS.iter().map(move |mode| (*engine, mode)));
    let runs = |engine: &str, mode: &ServingMode| {
        let engines = own.into_iter().flat_map(|candidate| &candidate.engines);
        engines.into_iter().any(|support| support.name == engine && support.modes.contains(mode))
    };
    all.filter(|(engine, (_, mode))| runs(engine, mode)).map(|(engine, (word, _))| (engine, *word)).collect()
}

fn read(provider: &dyn Provider) -> Result<Testing, String> {
    let name = provider.name();
    let file = format!("providers/{name}/testing.yaml");
    // `cargo xtask fuzz` includes this module, too, so the repository may be a parent of the package.
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = folders.find(|folder| folder.join("crates/model").is_dir()).unwrap();
    let text = fs::read_to_string(root.join(&file)).map_err(|error| {
        format!(
            "{file}: {error}. Write it, as providers/kuberay/testing.yaml is written: `starts` with an \
             engine and a mode for each of {:?}, and `overrides` with two values that are rendered differently, if \
             it has any",
            cells(provider)
        )
    })?;
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    let value = parsed.documents.first().map(|document| document.root.to_json()).unwrap_or_default();
    let word = |start: &Value, key: &str| -> Option<&'static str> { Some(start[key].as_str()?.to_owned().leak()) };
    let starts: Option<Vec<Start>> = value["starts"].as_array().and_then(|starts| {
        let start = |start: &Value| {
            Some(Start {
                provider: name,
                engine: word(start, "engine")?,
                mode: word(start, "mode")?,
                image: word(start, "image"),
            })
        };
        starts.iter().map(start).collect()
    });
    let known = |start: &Start| EngineType::VARIANTS.iter().any(|(word, _)| *word == start.engine);
    let starts = starts.filter(|starts| starts.iter().all(known)).ok_or_else(|| {
        format!("{file}: `starts` must be a list of mappings with engine and mode, each an engine that is known")
    })?;
    for cell in cells(provider) {
        if !starts.iter().any(|start| (start.engine, start.mode) == cell) {
            let (engine, mode) = cell;
            return Err(format!(
                "{file}: config.yaml lists {engine} in {mode} mode, and no start shows it: add \
                 `- {{engine: {engine}, mode: {mode}}}` to `starts`"
            ));
        }
    }
    let overrides = match value["overrides"].as_array().map(Vec::as_slice) {
        Some([one, other]) => Some([one.clone(), other.clone()]),
        None if value["overrides"].is_null() => None,
        _ => return Err(format!("{file}: `overrides` must be a list of two values of spec.provider.overrides")),
    };
    Ok(Testing { starts, overrides })
}

impl Start {
    /// Returns example models and flags of the engine.
    pub(crate) fn examples(self) -> &'static Examples {
        &profile(engine_of(self.engine)).examples
    }

    /// Returns a ModelDeployment with required fields only.
    pub(crate) fn document(self) -> Value {
        let mut document = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1",
            "kind": "ModelDeployment",
            "metadata": {"name": "m", "namespace": "default"},
            "spec": {
                "model": {"id": self.examples().model},
                "provider": {"name": self.provider},
                "engine": {"type": self.engine},
                "serving": {"mode": self.mode},
            },
        });
        if self.mode == "aggregated" {
            document["spec"]["resources"] = json!({"gpu": {"count": 2}, "memory": "32Gi", "cpu": "4"});
        } else {
            let role = json!({"replicas": 1, "gpu": {"count": 2, "type": "nvidia.com/gpu"}, "memory": "32Gi"});
            document["spec"]["scaling"] = json!({"prefill": role, "decode": role});
        }
        if let Some(image) = self.image {
            document["spec"]["image"] = json!(image);
        }
        document
    }
}

/// Returns the engine with this name.
pub(crate) fn engine_of(word: &str) -> EngineType {
    EngineType::VARIANTS.iter().find(|(known, _)| *known == word).map(|(_, engine)| *engine).unwrap()
}
