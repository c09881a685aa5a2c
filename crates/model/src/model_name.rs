//! The name of a model in requests, read from the objects that a deployment renders to.

use kubefoundry_engines::{ImportedFlag, profile};
use kubefoundry_provider::Provider;
use kubefoundry_provider::draft::ImportSource;
use serde_json::Value;

/// Returns the name of the model in requests: the one that the provider gives it, or else the served name among the
/// flags of the engine, or the model id if there is none. It is unknown if an image names the model itself.
pub fn requested_model_name(provider: &dyn Provider, objects: &[&Value]) -> Option<String> {
    let object = objects.last()?;
    if let Some(name) = provider.assigned_model_name(object) {
        return Some(name);
    }
    let draft = provider.import(&ImportSource { object, siblings: objects }).ok()?;
    let profile = profile(draft.engine);
    let flag = |name: &str| {
        let mut flags = draft.workers.iter().flat_map(|worker| &worker.flags);
        flags.find(|flag| flag.name == name).and_then(ImportedFlag::value).map(str::to_owned)
    };
    let served_name = draft.served_name.clone().or_else(|| flag(profile.served_name));
    served_name.or_else(|| flag(profile.model).filter(|_| profile.answers_to_model))
}
