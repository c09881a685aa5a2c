//! The schemas of our kinds and reports, as `cargo xtask generate` wrote them to `schemas/`.

use std::borrow::Cow;

/// A schema of one of our kinds or reports.
///
/// ```
/// use kubefoundry::schemas::SCHEMAS;
/// let render = SCHEMAS.iter().find(|schema| schema.name == "render").unwrap();
/// assert!(!render.is_crd);
/// assert!(render.text().starts_with("{\n \"$schema\": \"http://json-schema.org/draft-07/schema#\""));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schema {
    /// What it is called: the name of its file without the extension.
    pub name: &'static str,
    /// What it describes, in one line.
    pub summary: &'static str,
    /// Whether it is a CustomResourceDefinition.
    pub is_crd: bool,
    content: Content,
}

/// The text of a schema, as the program holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// All of it.
    Text(&'static str),
    /// Lines, of which those that consist of `@` and a name stand for the fields of the schema of that name.
    Outline(&'static str),
}

impl Schema {
    /// The text, which can be written to a file as it is: YAML of a CustomResourceDefinition, or a JSON Schema.
    pub fn text(&self) -> Cow<'static, str> {
        match self.content {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Outline(outline) => Cow::Owned(outline.lines().map(expand).collect()),
        }
    }
}

/// How many lines stand before the fields of a JSON Schema that an outline names: the brace, `$schema` and `title`.
const HEAD_LINES: usize = 3;

/// A line of an outline, or what it stands for, indented as it is.
fn expand(line: &str) -> String {
    let (indentation, word) = line.split_at(line.len() - line.trim_start().len());
    let named = word.strip_prefix('@').and_then(|name| SCHEMAS.iter().find(|schema| schema.name == name));
    let Some(Schema { content: Content::Text(text), .. }) = named else { return format!("{line}\n") };
    let fields = text.strip_suffix("\n}\n").unwrap_or(text).lines().skip(HEAD_LINES);
    fields.flat_map(|field| [indentation, field, "\n"]).collect()
}

/// Embeds the file of a schema.
macro_rules! schema {
    ($name:literal, $extension:literal, $summary:literal) => {
        Schema {
            name: $name,
            summary: $summary,
            is_crd: matches!($extension.as_bytes(), b"yaml"),
            content: Content::Text(include_str!(concat!("../schemas/", $name, ".", $extension))),
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
    Schema {
        name: "kubefoundry",
        summary: "any document in an editor: those below are checked by their kind, others let be",
        is_crd: false,
        // It repeats the schemas of all kinds, which the program holds anyway.
        content: Content::Outline(include_str!("schemas/kubefoundry.outline")),
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_expands_to_its_file() {
        let schema = SCHEMAS.iter().find(|schema| schema.name == "kubefoundry").unwrap();
        assert!(matches!(schema.content, Content::Outline(outline) if outline.contains("@modeldeployment\n")));
        assert_eq!(schema.text(), include_str!("../schemas/kubefoundry.json"));
    }
}
