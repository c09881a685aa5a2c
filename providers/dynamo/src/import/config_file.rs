//! The configuration file of an engine (`--config FILE` of SGLang and vLLM), for imports: the model and the parallel
//! sizes may be there, in a ConfigMap of the input, instead of among the flags.

use serde_json::Value;

use kubefoundry_deployment::ir::EngineType;
use kubefoundry_engines::{ImportedFlag, flags_from_keywords, profile};
use kubefoundry_provider::draft::{Equivalents, ImportSource, WorkerDraft, items_at, string_at};
use kubefoundry_yaml as yaml;

/// The flag that names the file.
const CONFIG_FLAG: &str = "config";
/// The flag that gives a worker its role.
const MODE_FLAG: &str = "disaggregation-mode";

/// Returns the flags in the configuration file of a worker; none if it has no file, or none that the input has.
pub(crate) fn flags(
    flags: &[ImportedFlag],
    component: &Value,
    pod: &Value,
    container: &Value,
    source: &ImportSource<'_>,
) -> Vec<ImportedFlag> {
    let Some(path) = flags.iter().find(|flag| flag.name == CONFIG_FLAG).and_then(ImportedFlag::value) else {
        return Vec::new();
    };
    let own = items_at(component, "/volumeMounts").iter();
    let mounts = items_at(container, "/volumeMounts").iter().chain(own);
    let text = mounts.into_iter().find_map(|mount| {
        let mount_path = string_at(mount, "/mountPath")?.trim_end_matches('/');
        let file = match string_at(mount, "/subPath") {
            Some(file) => Some(file).filter(|_| path == mount_path),
            None => path.strip_prefix(mount_path)?.strip_prefix('/'),
        }?;
        let name = string_at(mount, "/name")?;
        let volume = items_at(pod, "/volumes").iter().find(|volume| string_at(volume, "/name") == Some(name))?;
        let config_map = string_at(volume, "/configMap/name")?;
        let items = items_at(volume, "/configMap/items");
        let key = match items.iter().find(|item| string_at(item, "/path") == Some(file)) {
            Some(item) => string_at(item, "/key")?,
            None => Some(file).filter(|_| items.is_empty())?,
        };
        let (_, config_map) = source.find_sibling("ConfigMap", config_map)?;
        config_map.get("data")?.get(key)?.as_str()
    });
    let parsed = yaml::parse(text.unwrap_or_default(), &yaml::Limits::default());
    let settings = parsed.documents.first().map(|document| document.root.to_json()).unwrap_or_default();
    settings.as_object().map(flags_from_keywords).unwrap_or_default()
}

/// Adds the flags of a configuration file that decide what a rendering writes to a worker that does not have them. In a
/// rendering they repeat the file.
pub(crate) fn add(
    config: Vec<ImportedFlag>,
    engine: EngineType,
    worker: &mut WorkerDraft,
    equivalents: &mut Equivalents,
) {
    let profile = profile(engine);
    // A rendering derives the tensor parallel size from the GPUs. Other sizes stay in the file alone.
    let tensor = profile.parallelism.as_ref().map(|flags| flags.tensor);
    let names: Vec<&str> = [profile.model, profile.served_name, MODE_FLAG].into_iter().chain(tensor).collect();
    let is_absent = |flag: &ImportedFlag| !worker.flags.iter().any(|other| other.name == flag.name);
    let added: Vec<ImportedFlag> =
        config.into_iter().filter(|flag| names.contains(&flag.name.as_str()) && is_absent(flag)).collect();
    equivalents.default_flags.extend(added.iter().cloned());
    worker.flags.extend(added);
}
