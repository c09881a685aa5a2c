//! The options about which files are input. Front ends that read files apply them; the pipeline only checks them.

use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use crate::codes;

/// The name of the file in which options are found.
pub const FILE_NAME: &str = "kubefoundry.yaml";

/// What options say about files and about the programs that build input. A field is `None` where a file does not set it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputOptions {
    /// Whether the search for options ends at the file.
    pub root: Option<bool>,
    /// Patterns of directories, each of which is an environment.
    pub environments: Option<Vec<String>>,
    /// Patterns of the only files to read.
    pub include: Option<Vec<String>>,
    /// Patterns of files and directories not to read.
    pub exclude: Option<Vec<String>>,
    /// Whether kustomizations are built.
    pub build_kustomizations: Option<bool>,
    /// Whether kustomizations may run programs.
    pub enable_exec: Option<bool>,
    /// Whether kustomizations may read from the network.
    pub allow_remote: Option<bool>,
    /// Whether Helm charts are rendered.
    pub helm: Option<bool>,
}

/// Settings that allow more than reading the files of the repository, or that have less judged, with the value that does.
const RESTRICTED: &[(&str, bool)] =
    &[("kustomize.enableExec", true), ("kustomize.allowRemote", true), ("kustomize.build", false), ("helm", true)];

impl InputOptions {
    /// Reads the options about files from a `Render` document. What is not of the expected type is left out; the run
    /// reports it.
    ///
    /// ```
    /// use kubefoundry_compiler::options::InputOptions;
    /// let options = InputOptions::read("kind: Render\nexclude: [vendor/]\nkustomize: {build: false}\n");
    /// assert_eq!(options.exclude.as_deref(), Some(&["vendor/".to_owned()][..]));
    /// assert_eq!((options.build_kustomizations, options.helm), (Some(false), None));
    /// ```
    pub fn read(text: &str) -> Self {
        let mut options = Self::default();
        for document in &yaml::parse(text, &yaml::Limits::default()).documents {
            let root = &document.root;
            let kustomize = |key: &str| root.get("kustomize").and_then(|section| flag(section, key));
            options = options.merged_with(Self {
                root: flag(root, "root"),
                environments: patterns(root, "environments"),
                include: patterns(root, "include"),
                exclude: patterns(root, "exclude"),
                build_kustomizations: kustomize("build"),
                enable_exec: kustomize("enableExec"),
                allow_remote: kustomize("allowRemote"),
                helm: flag(root, "helm"),
            });
        }
        options
    }

    /// Returns these options with those that `nearer` sets in their place.
    #[must_use]
    pub fn merged_with(self, nearer: Self) -> Self {
        Self {
            root: nearer.root.or(self.root),
            environments: nearer.environments.or(self.environments),
            include: nearer.include.or(self.include),
            exclude: nearer.exclude.or(self.exclude),
            build_kustomizations: nearer.build_kustomizations.or(self.build_kustomizations),
            enable_exec: nearer.enable_exec.or(self.enable_exec),
            allow_remote: nearer.allow_remote.or(self.allow_remote),
            helm: nearer.helm.or(self.helm),
        }
    }

    /// Returns these options without those that a file beside the input may not set, because CI also checks pull
    /// requests of strangers.
    #[must_use]
    pub fn restricted(self) -> Self {
        Self { build_kustomizations: None, enable_exec: None, allow_remote: None, helm: None, ..self }
    }
}

fn flag(node: &Node<'_>, key: &str) -> Option<bool> {
    match node.get(key)?.value {
        Value::Bool(value) => Some(value),
        _ => None,
    }
}

fn patterns(node: &Node<'_>, key: &str) -> Option<Vec<String>> {
    let Value::Sequence(items) = &node.get(key)?.value else { return None };
    Some(items.iter().filter_map(Node::as_str).map(str::to_owned).collect())
}

/// Reports options that only the user may set, in a file that was found beside the input.
pub(super) fn refuse_restricted(root: &Node<'_>, findings: &mut Findings<'_>) {
    for (field, restricted) in RESTRICTED {
        let path = FieldPath::parse(field);
        if root.at(&path).is_some_and(|node| node.value == Value::Bool(*restricted)) {
            let message = format!(
                "{path} is {restricted} in a file that was found beside the input, whose authors may not set this"
            );
            findings
                .report(&codes::OPTION_FROM_INPUT, FieldRef::key(&path), message)
                .help("read the file, and pass it with --config if you allow this, or use the flag");
        }
    }
}
