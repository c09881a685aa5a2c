//! `kubefoundry-fn`: the program that clients start, which is the command line under another name.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;

use crate::{serve, serve_refusal};

const USAGE: &str = "\
Render ModelDeployments as a KRM function of kustomize or kpt

The function reads a ResourceList from standard input and prints the resulting ResourceList. Its options are in
functionConfig: a Render of config.kubefoundry.ai/v1alpha1, or a ConfigMap whose data has keys such as runtimes.dynamo.

Examples:
  kustomize build --enable-alpha-plugins --enable-exec DIR
  kpt fn render DIR --allow-exec
  kpt fn eval DIR --exec kubefoundry-fn -- runtimes.dynamo=1.4.0
";

/// Returns whether a program that was started by this path or name is the function.
///
/// ```
/// assert!(kubefoundry_krm::is_function("/usr/bin/kubefoundry-fn".as_ref()));
/// assert!(!kubefoundry_krm::is_function("kubefoundry".as_ref()));
/// ```
pub fn is_function(program: &OsStr) -> bool {
    Path::new(program).file_stem().is_some_and(|name| name == "kubefoundry-fn")
}

/// Runs the function as a program with these arguments, and returns the exit status. It has no options, because clients
/// set them in functionConfig; an argument is refused with the whole list, see [`serve_refusal`].
pub fn run_program(arguments: &[String]) -> u8 {
    let text = match arguments.first().map(String::as_str) {
        None => return serve(),
        Some("--help" | "-h") => USAGE.to_owned(),
        Some("--version" | "-V") => format!("kubefoundry-fn {}\n", env!("CARGO_PKG_VERSION")),
        Some(other) => return serve_refusal(&format!("unexpected argument {other:?}; set options in functionConfig")),
    };
    if io::stdout().write_all(text.as_bytes()).is_ok() { 0 } else { 2 }
}
