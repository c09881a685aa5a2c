//! The schemas of our kinds and reports, as `cargo xtask generate` wrote them to `schemas/`.

/// A schema, as text that can be written to a file as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// What it is called: the name of its file without the extension.
    pub name: &'static str,
    /// What it describes, in one line.
    pub summary: &'static str,
    /// The text: YAML of a CustomResourceDefinition, or a JSON Schema.
    pub text: &'static str,
    /// Whether it is a CustomResourceDefinition.
    pub is_crd: bool,
}

/// Embeds the file of a schema.
macro_rules! schema {
    ($name:literal, $extension:literal, $summary:literal) => {
        Schema {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../schemas/", $name, ".", $extension)),
            is_crd: matches!($extension.as_bytes(), b"yaml"),
        }
    };
}

/// Every schema: those for editors, those of reports, CustomResourceDefinitions.
///
/// ```
/// use kubefoundry::schemas::SCHEMAS;
/// let crds: Vec<&str> = SCHEMAS.iter().filter(|schema| schema.is_crd).map(|schema| schema.name).collect();
/// assert_eq!(crds.len(), 5);
/// assert!(crds.contains(&"kubefoundry.ai_modeldeployments"));
/// ```
pub static SCHEMAS: &[Schema] = &[
    schema!("kubefoundry", "json", "any document in an editor: those below are checked by their kind, others let be"),
    schema!("modeldeployment", "json", "a ModelDeployment in an editor"),
    schema!("inferenceproviderconfig", "json", "an InferenceProviderConfig in an editor"),
    schema!("asyncactor", "json", "an AsyncActor in an editor"),
    schema!("render", "json", "the options, kubefoundry.yaml, in an editor"),
    schema!("diagnostics", "json", "what `lint --output json` prints"),
    schema!("decisions", "json", "what `explain --output json` prints"),
    schema!("traces", "json", "what `explain --trace --output json` prints"),
    schema!("rule-analysis", "json", "what `explain --rules --output json` prints"),
    schema!("why-not", "json", "what `explain --why-not PROVIDER --output json` prints"),
    schema!("plan", "json", "what `plan --output json` prints"),
    schema!("images", "json", "what `images --output json` prints"),
    schema!("import", "json", "what `import --output json` prints"),
    schema!("migration", "json", "what `migrate --output json` prints"),
    schema!("status", "json", "what `status --output json` prints"),
    schema!("drift", "json", "what `drift --output json` prints"),
    schema!("kubefoundry.ai_modeldeployments", "yaml", "CustomResourceDefinition of ModelDeployment"),
    schema!("kubefoundry.ai_inferenceproviderconfigs", "yaml", "CustomResourceDefinition of InferenceProviderConfig"),
    schema!("kubeairunway.ai_modeldeployments", "yaml", "CustomResourceDefinition of ModelDeployment, other group"),
    schema!(
        "kubeairunway.ai_inferenceproviderconfigs",
        "yaml",
        "CustomResourceDefinition of InferenceProviderConfig, other group"
    ),
    schema!("asya.sh_asyncactors", "yaml", "CustomResourceDefinition of AsyncActor, with what binding adds"),
];
