//! Arguments of `config`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

use super::{DiagnosticsArgs, TextFormat};

pub(super) const EXAMPLES: &str = "\
A kubefoundry.yaml applies to the files in its directory and below. The nearest one wins for each key; --config
overrides all of them.

Examples:
  kubefoundry config
  kubefoundry config clusters/prod
  kubefoundry config models/llama.yaml --output json";

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// File or directory; the working directory if omitted
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    /// Options file (kind Render)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Ignore every kubefoundry.yaml
    #[arg(long)]
    pub(crate) isolated: bool,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,

    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: TextFormat,
}
