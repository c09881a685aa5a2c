//! The names of the components of a graph, which the overrides may give.

use std::collections::BTreeMap;

use crate::MAX_NAMES_LENGTH;
use crate::codes::NAMES_TOO_LONG_FOR_GROVE;
use crate::component::FRONTEND;
use crate::overrides;
use crate::settings::DynamoSettings;
use crate::settings::component::worker_path;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Role};
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

/// Returns the names that overrides give components, each with its field.
pub(crate) fn written_names(settings: &DynamoSettings) -> Vec<(&str, FieldPath)> {
    let frontend = settings.frontend_component.name.as_deref().into_iter();
    let mut names: Vec<(&str, FieldPath)> =
        frontend.map(|name| (name, overrides::path().frontend().name().into())).collect();
    let workers = settings.workers.0.iter();
    names.extend(workers.filter_map(|(role, own)| Some((own.name.as_deref()?, worker_path(*role).name().into()))));
    names
}

/// Warns about names that only a cluster without Grove accepts: Dynamo's operator uses Grove wherever it is installed
/// (`validateComponentNameLength` in `internal/webhook/validation/dynamographdeployment.go`).
pub(crate) fn warn_about_long_names(deployment: &Deployment, names: &[(&str, FieldPath)], findings: &mut Findings<'_>) {
    let graph = &deployment.metadata.name;
    for (name, path) in names.iter().filter(|(name, _)| graph.len() + name.len() > MAX_NAMES_LENGTH) {
        let message = format!(
            "{path} and metadata.name have {} characters together, expected at most {MAX_NAMES_LENGTH} where Grove runs \
             the pods",
            graph.len() + name.len()
        );
        findings.report(&NAMES_TOO_LONG_FOR_GROVE, path, message).help("shorten one of them");
    }
}

/// Reports components with the same name. Dynamo's operator compares names without regard to case.
pub(crate) fn check_unique_names(settings: &DynamoSettings, names: &[(Role, String)], findings: &mut Findings<'_>) {
    if settings.frontend_component.name.is_none() && settings.workers.0.iter().all(|(_, own)| own.name.is_none()) {
        // The names that are derived differ.
        return;
    }
    let path = overrides::path;
    let frontend = settings.frontend_component.name.as_deref().unwrap_or(FRONTEND).to_lowercase();
    let mut first: BTreeMap<String, FieldPath> = BTreeMap::from([(frontend, path().frontend().name().into())]);
    for (role, name) in names {
        let at = FieldPath::from(worker_path(*role).name());
        if let Some(other) = first.get(&name.to_lowercase()) {
            let message = format!("two components are named {name:?}, which are one for Dynamo's operator");
            // The name that is written is the one to change.
            let is_written = settings.workers.of(*role).is_some_and(|settings| settings.name.is_some());
            let place = if is_written { &at } else { other };
            findings.report(&codes::INVALID_NAME, place, message).help("give each component a name of its own");
        } else {
            first.insert(name.to_lowercase(), at);
        }
    }
}
