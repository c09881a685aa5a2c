//! Arguments of the commands that write ModelDeployments: `import` and `migrate`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args as ClapArgs, ValueEnum, ValueHint};
use kubefoundry_input::InputArgs;

use super::{DiagnosticsArgs, ObjectFormat};

pub(super) const IMPORT_EXAMPLES: &str = "\
import converts Workspaces, InferenceSets, DynamoGraphDeployments and RayServices, with their ConfigMaps and claims. \
It renders the result and reports each field that differs from the original (the residue) on standard error.

Examples:
  kubefoundry import old/dgd.yaml > model.yaml
  kubectl get dgd,workspaces,rayservices -A -o yaml | kubefoundry import -
  kubefoundry import old/ --out-dir models/
  kubefoundry import old/ --output json | jq '.imported[].residue'";

pub(super) const MIGRATE_EXAMPLES: &str = "\
With --to, the new ModelDeployment gets its own name, so that both run until the traffic has moved. With --to-group, \
the rest of the text is kept: comments, order and quotes.

Examples:
  kubefoundry migrate --to kaito model.yaml
  kubefoundry migrate --to kuberay model.yaml --output yaml > model-kuberay.yaml
  kubefoundry migrate --to-group kubefoundry.ai models/ --in-place";

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Files and directories to read; standard input if `-` or omitted
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Options file (kind Render) of the run that will render the result
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Output format; JSON includes the residue and the findings
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ObjectFormat,

    /// Provider for objects that no ModelDeployment renders: dynamo for KAITO's MultiRoleInference
    #[arg(long, value_name = "PROVIDER", value_parser = PossibleValuesParser::new(["dynamo"]))]
    pub(crate) to: Option<String>,

    /// Write each ModelDeployment to DIR/NAMESPACE/modeldeployment_NAME.yaml instead of standard output
    ///
    /// A file that exists with another content is not overwritten, and then nothing is written.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out_dir: Option<PathBuf>,

    /// Exit with status 1 if an import has residue
    #[arg(long)]
    pub(crate) strict: bool,

    /// Write raw patches for what no field can express, so that a rendering of the result equals the imported objects
    #[arg(long)]
    pub(crate) patches: bool,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

#[derive(Debug, ClapArgs)]
#[command(group = ArgGroup::new("destination").args(["to", "to_group"]).required(true))]
pub(crate) struct MigrateArgs {
    /// Provider to move to
    #[arg(long, value_name = "PROVIDER", value_parser = provider_names())]
    pub(crate) to: Option<String>,

    /// API group to move to
    #[arg(long, value_name = "GROUP", value_parser = group_names())]
    pub(crate) to_group: Option<String>,

    /// With --to-group: change the files instead of printing their new text
    #[arg(long, conflicts_with_all = ["to", "output"])]
    pub(crate) in_place: bool,

    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: MigrationFormat,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}

pub(super) fn provider_names() -> PossibleValuesParser {
    PossibleValuesParser::new(kubefoundry_composition::PROVIDERS.iter().map(|provider| provider.name()))
}

fn group_names() -> PossibleValuesParser {
    PossibleValuesParser::new(kubefoundry_kubernetes::api_group::API_GROUPS.iter().map(|api_group| api_group.name))
}

/// Format of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum MigrationFormat {
    /// Human-readable text: what is lost, the new ModelDeployment and the steps; with --to-group, the new text
    #[default]
    Text,
    /// The new ModelDeployments as a stream of YAML documents
    Yaml,
    /// One JSON document, including the rendered objects
    Json,
}
