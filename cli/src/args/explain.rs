//! Arguments of `explain`.

use clap::{Arg, Args as ClapArgs};
use kubefoundry_input::InputArgs;

use super::{DiagnosticsArgs, ExplanationFormat};

pub(super) const EXAMPLES: &str = "\
For a diagnostic code or its name, the page of that diagnostic is printed. A name such as syntax is never read as a \
path; write ./syntax to name the file. For a field, such as spec.engine.type or asyncactor.spec.scaling, its \
description is printed, unless a file or directory has that name.

Examples:
  kubefoundry explain llama.yaml
  kubefoundry explain KF0113
  kubefoundry explain unknown-field
  kubefoundry explain spec.engine.type
  kubefoundry explain models/ --output html > models.html
  kubefoundry explain llama.yaml --trace --field spec.engine.contextLength
  kubefoundry explain llama.yaml --why-not kaito
  kubefoundry explain providers/ --rules
  kubefoundry explain models/ --output json |
    jq '.decisions[] | [.object.name, .selection.reason]'";

/// Lets `explain` take diagnostic codes and fields in place of paths.
fn accept_codes_and_fields(paths: Arg) -> Arg {
    const HELP: &str = "Files and directories to read (standard input if `-` or omitted), diagnostic codes, or fields";
    let long =
        paths.get_long_help().map(|long| long.to_string().replacen("Files", "Diagnostic codes, fields, or files", 1));
    paths.value_name("PATH|CODE|FIELD").help(HELP).long_help(long.unwrap_or_default())
}

#[derive(Debug, ClapArgs)]
#[command(mut_arg("paths", accept_codes_and_fields))]
pub(crate) struct ExplainArgs {
    /// Output format; JSON and HTML include the findings
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: ExplanationFormat,

    /// Show where each input field goes and where each output field comes from
    ///
    /// Each field is given other values, the deployment is rendered again, and the outputs are compared. Supports text
    /// and JSON.
    #[arg(long, conflicts_with_all = ["rules", "why_not"])]
    pub(crate) trace: bool,

    /// With --trace: show only this input or output field, such as spec.engine.contextLength
    #[arg(long, value_name = "FIELD", requires = "trace", conflicts_with_all = ["rules", "why_not"])]
    pub(crate) field: Option<String>,

    /// Find selection rules that never decide, and providers that are never selected
    ///
    /// The analysis covers the built-in providers and the InferenceProviderConfigs of the input, and gives an example
    /// ModelDeployment for each problem. Supports text and JSON.
    #[arg(long, conflicts_with = "why_not")]
    pub(crate) rules: bool,

    /// With --rules: exclude the built-in providers
    #[arg(long, requires = "rules", conflicts_with_all = ["trace", "why_not"])]
    pub(crate) no_builtins: bool,

    /// Show which changes would make PROVIDER selected, or what prevents it
    ///
    /// Supports text and JSON.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) why_not: Option<String>,

    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) diagnostics: DiagnosticsArgs,
}
