//! Migration of deployments: to another provider, beside the running one ([`migrate_to_provider`]), or to another API
//! group ([`migrate_to_group`]).

mod group;
mod provider;
mod steps;

use serde::Serialize;
use serde_json::Value;

pub use group::{GroupMigration, RegroupedText, migrate_to_group};
pub use provider::{MigratedDeployment, ProviderMigration, migrate_to_provider};
pub use steps::MigrationStep;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Compilation, compile_as};
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::Endpoint;

/// The address at which a model serves requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceAddress {
    /// The name of the Service.
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// The namespace, if the object has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Compiles documents with the settings of a run: its options, its provider configurations, and the CRDs of its
/// cluster.
fn compile_with(
    composition: &'static Composition,
    settings: &SourceSet,
    documents: &[&Value],
    thoroughness: Thoroughness,
) -> Compilation {
    let mut sources = SourceSet::default();
    for (_, source) in settings.iter().filter(|(_, source)| source.purpose != Purpose::Input) {
        let id = sources.add_for(source.purpose, source.name.clone(), source.text.clone());
        sources.set_found(id, source.is_found);
    }
    for document in documents {
        sources.add("document.json", document.to_string());
    }
    compile_as(composition, &sources, thoroughness)
}

/// Joins the messages of the errors among some findings, each with its code.
fn joined_messages<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> String {
    let errors = diagnostics.into_iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|error| format!("{} ({})", error.message, error.code.id)).collect::<Vec<_>>().join("; ")
}
