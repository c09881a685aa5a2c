//! Import: from objects of providers to ModelDeployments.

use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::import::ImportSettings;

use crate::SourceSet;

/// Converts the objects of serving stacks among the input to the ModelDeployments that render them.
pub fn import(sources: &SourceSet) -> ImportReport {
    kubefoundry_convert::import::import(&BUILTIN, sources)
}

/// Imports like [`import`], and objects that no ModelDeployment renders for another provider, which is named. Only Dynamo
/// can take over such an object: KAITO's `MultiRoleInference`.
pub fn import_to(sources: &SourceSet, provider_to: Option<&str>) -> ImportReport {
    let settings = ImportSettings { provider_to, ..ImportSettings::default() };
    kubefoundry_convert::import::import_with(&BUILTIN, sources, &settings)
}

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::import::{ImportReport, import};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kaito.sh/v1beta1
/// kind: Workspace
/// metadata: {name: phi}
/// resource: {count: 1, instanceType: Standard_NC24ads_A100_v4, labelSelector: {matchLabels: {apps: phi}}}
/// inference: {preset: {name: microsoft/Phi-4-mini-instruct}}
/// ");
/// let import: ImportReport = import(&sources);
/// assert!(!import.has_errors());
/// assert_eq!(import.imported[0].model_deployment["spec"]["model"]["id"], "microsoft/Phi-4-mini-instruct");
/// assert!(import.imported[0].residue.is_empty(), "the ModelDeployment says everything");
/// ```
#[doc(inline)]
pub use kubefoundry_convert::import::ImportReport;
