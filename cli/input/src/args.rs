//! The arguments that name the input, and the flags that change how it is rendered.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};

// Neither struct has a documentation comment: it would become the description of every command with these flags.
#[derive(Debug, Default, Clone, ClapArgs)]
#[command(next_help_heading = "Input")]
#[expect(missing_docs, reason = "see above")]
pub struct InputArgs {
    /// Files and directories to read; standard input if `-` or omitted
    ///
    /// In a directory, every .yaml, .yml and .json file is read, except hidden files and files ignored by git. What git
    /// tracks is always read.
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = None::<&str>)]
    pub paths: Vec<PathBuf>,

    /// Options file (kind Render)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Ignore every kubefoundry.yaml
    ///
    /// Otherwise, a kubefoundry.yaml in the directory of a file or above it, up to the root of the repository, supplies
    /// options.
    #[arg(long)]
    pub isolated: bool,

    /// Do not read files and directories that match this pattern of a .gitignore; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    #[command(flatten)]
    pub build: BuildArgs,

    /// File or directory with InferenceProviderConfigs; can be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub providers: Vec<PathBuf>,

    /// File or directory with the CRDs of the cluster, or `-` for standard input; can be repeated
    ///
    /// Every object is checked against these CRDs and written in a version that they serve. Use the CRDs that the
    /// upstream project publishes, or the output of `kubectl get crd -o yaml`.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub crds: Vec<PathBuf>,

    /// File or directory with the nodes of the cluster, or `-` for standard input; can be repeated
    ///
    /// Use the output of `kubectl get nodes -o yaml`. It tells on which GPUs a deployment runs, and whether a node has
    /// what its pods ask for.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub cluster: Vec<PathBuf>,

    /// Directory with the config.json of models of your own, in the form DIR/ORG/NAME/config.json; can be repeated
    ///
    /// Deployments of the model ORG/NAME are then checked like those of public models. The options can name single files,
    /// too: `models: {ORG/NAME: {config: PATH}}`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub model_config: Vec<PathBuf>,

    /// CRD version to write for a provider, such as dynamo=nvidia.com/v1beta1 or dynamo=auto; can be repeated
    #[arg(long, value_name = "PROVIDER=APIVERSION", value_parser = parse_assignment)]
    pub crd_version: Vec<Assignment>,

    /// The former name of `--crd-version`; rejected with the new name.
    #[arg(long, hide = true, value_name = "PROVIDER=APIVERSION", value_parser = reject_target_flag)]
    pub target: Option<String>,

    /// Runtime version that determines images and flags, such as dynamo=1.4.0; can be repeated
    #[arg(long, value_name = "PROVIDER=VERSION", value_parser = parse_assignment)]
    pub runtime: Vec<Assignment>,

    /// Treat warnings as errors
    #[arg(long, help_heading = "Findings")]
    pub strict: bool,
}

#[derive(Debug, Clone, Copy, Default, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[expect(missing_docs, reason = "see above")]
pub struct BuildArgs {
    /// Read the files of kustomizations instead of building them
    #[arg(long)]
    pub no_kustomize: bool,

    /// Let kustomizations run programs: plugins and functions
    #[arg(long)]
    pub enable_exec: bool,

    /// Let kustomizations read from the network
    #[arg(long)]
    pub allow_remote: bool,

    /// Render Helm charts with helm instead of skipping their templates
    #[arg(long)]
    pub helm: bool,

    /// Run kustomize, helm and what they start with the rights of the user
    ///
    /// Otherwise they reach no file but a copy of what they are given, and no network without --allow-remote.
    #[arg(long)]
    pub no_isolation: bool,
}

/// A `PROVIDER=VERSION` argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The name of the provider.
    pub provider: String,
    /// A runtime version or a CRD version, as the flag has it.
    pub version: String,
}

fn reject_target_flag(_: &str) -> Result<String, String> {
    Err("--target has been renamed to --crd-version".to_owned())
}

/// Parses a `PROVIDER=VERSION` argument.
///
/// # Errors
/// Says what is expected.
pub fn parse_assignment(text: &str) -> Result<Assignment, String> {
    match text.split_once('=') {
        Some((provider, version)) if !provider.is_empty() && !version.is_empty() => {
            Ok(Assignment { provider: provider.to_owned(), version: version.to_owned() })
        }
        _ => Err("expected PROVIDER=VERSION, such as dynamo=1.4.0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Assignment, parse_assignment};

    #[test]
    fn an_assignment_needs_a_provider_and_a_version() {
        assert_eq!(parse_assignment("a=b=c").unwrap(), Assignment { provider: "a".into(), version: "b=c".into() });
        for text in ["", "a", "a=", "=b"] {
            assert!(parse_assignment(text).is_err(), "{text:?}");
        }
    }
}
