//! `kubefoundry-fn`: a ResourceList on standard input, a ResourceList on standard output.
//!
//! It has no flags: clients set its options in functionConfig.

use std::io::{self, Write as _};
use std::process::ExitCode;

const USAGE: &str = "\
Render ModelDeployments as a KRM function of kustomize or kpt

The function reads a ResourceList from standard input and prints the resulting ResourceList. Its options are in
functionConfig: a Render of config.kubefoundry.ai/v1alpha1, or a ConfigMap whose data has keys such as runtimes.dynamo.

Examples:
  kustomize build --enable-alpha-plugins --enable-exec DIR
  kpt fn render DIR --allow-exec
  kpt fn eval DIR --exec kubefoundry-fn -- runtimes.dynamo=1.4.0
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    let text = match arguments.first().map(String::as_str) {
        None => return ExitCode::from(kubefoundry_krm::serve()),
        Some("--help" | "-h") => USAGE.to_owned(),
        Some("--version" | "-V") => format!("kubefoundry-fn {}\n", env!("CARGO_PKG_VERSION")),
        Some(other) => {
            let message = format!("unexpected argument {other:?}; set options in functionConfig");
            return ExitCode::from(kubefoundry_krm::serve_refusal(&message));
        }
    };
    ExitCode::from(if io::stdout().write_all(text.as_bytes()).is_ok() { 0 } else { 2 })
}
