//! Arguments of the commands that bring models here and elsewhere: `import` and `migrate`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use super::{DiagnosticsArgs, InputArgs, ObjectFormat};

pub(super) const IMPORT_EXAMPLES: &str = "\
Reads Workspace, InferenceSet, DynamoGraphDeployment and RayService, and the ConfigMaps and claims beside them.
What a ModelDeployment cannot say is found by rendering it and comparing, field by field, and goes to standard error.

Examples:
  kubefoundry import old/dgd.yaml > model.yaml
  kubectl get dgd,workspaces,rayservices -A -o yaml | kubefoundry import -
  kubefoundry import old/ --output json | jq '.imported[].residue'";

pub(super) const MIGRATE_EXAMPLES: &str = "\
With --to, the new ModelDeployment has a name of its own, so that both run until the traffic has gone over.
With --to-group, objects keep their text: comments, order, quotes.

Examples:
  kubefoundry migrate --to kaito model.yaml
  kubefoundry migrate --to kuberay model.yaml --output yaml > model-kuberay.yaml
  kubefoundry migrate --to-group kubefoundry.ai models/ --in-place";

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Files and directories to read; `-`, or no PATH at all, is standard input
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// File with the options (kind Render) of the run that will render what comes out
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How the ModelDeployments are printed; JSON contains the residue and the findings
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ObjectFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// The provider to move to
    #[arg(long, value_name = "PROVIDER", value_parser = provider_names(), required_unless_present = "to_group")]
    pub(crate) to: Option<String>,

    /// The API group to move to
    #[arg(long, value_name = "GROUP", value_parser = group_names(), conflicts_with = "to")]
    pub(crate) to_group: Option<String>,

    /// Change the files instead of printing their new text; with --to-group
    #[arg(long, conflicts_with_all = ["to", "output"])]
    pub(crate) in_place: bool,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// How the migration is printed
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: MigrationFormat,
}

fn provider_names() -> PossibleValuesParser {
    PossibleValuesParser::new(kubefoundry_model::providers::PROVIDERS.iter().map(|provider| provider.name()))
}

fn group_names() -> PossibleValuesParser {
    PossibleValuesParser::new(kubefoundry_kubernetes::api_group::API_GROUPS.iter().map(|api_group| api_group.name))
}

/// How a migration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum MigrationFormat {
    /// For people: what is lost, the new ModelDeployment, the steps; of a group, the new text
    #[default]
    Text,
    /// The new ModelDeployments as a stream of YAML documents
    Yaml,
    /// One JSON document, with what the new ModelDeployments become
    Json,
}
