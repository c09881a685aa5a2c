//! Import: from objects of providers to ModelDeployments.

#[doc(inline)]
pub use kubefoundry_compiler::import::import;

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
pub use kubefoundry_compiler::import::ImportReport;
