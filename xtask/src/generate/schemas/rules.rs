//! What CEL can say of our objects (`x-kubernetes-validations`), in the words of the engine's findings: an apiserver puts
//! the field's path before a message, as the engine does. `tests/it/schemas/` compares the two for every rule.
//!
//! Left to the engine: what needs other objects (selection, collisions), the flag tables (values of `engine.args`,
//! parallelism), or more of the metadata than its name; labels, image references and the names in `valueFrom`, of which
//! there may be too many for what a rule may cost.

mod actor;
mod items;
mod llamastack;
mod model;
mod volumes;
mod workload;

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::Syntax;
use kubefoundry_model::wire::KIND;

use super::syntax;

/// One rule. Rules use nothing that Kubernetes 1.27 lacks, where messages became expressions.
#[expect(clippy::struct_field_names, reason = "named as in x-kubernetes-validations")]
pub(super) struct Rule {
    pub(super) rule: String,
    pub(super) message: String,
    /// A CEL expression of the message, where the message names a value.
    pub(super) expression: Option<String>,
}

impl Rule {
    /// What must hold, and what is said when it does not.
    fn new(rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self { rule: rule.into(), message: message.into(), expression: None }
    }

    /// A field must not be `wrong`: `<field> is "<value>", expected <expected>`. Absent and empty fields are fine.
    fn expect(field: &str, wrong: &str, expected: &str) -> Self {
        let value = format!("self.{field}");
        Self {
            rule: format!("!has({value}) || {value} == '' || !({wrong})"),
            message: format!("{field}: expected {expected}"),
            expression: Some(format!(
                "'{field} is \"' + {} + {}",
                shortened(&value),
                quote(&format!("\", expected {expected}"))
            )),
        }
    }
}

/// The rules on an object, by the name of its Rust type.
pub(super) fn of_object(name: &str, api_group: &ApiGroup) -> Vec<Rule> {
    match name {
        KIND => vec![model::name()],
        "ModelDeploymentSpec" => {
            [model::presence(), workload::rules(), workload::provider_rules()].into_iter().flatten().collect()
        }
        "Model" => model::rules(),
        "Storage" => volumes::unique(),
        "StorageVolume" => volumes::rules(),
        "ExternalProviders" => llamastack::unique_ids(),
        "EnvVar" => items::variable(),
        "EnvVarSource" => items::source(),
        "Toleration" => items::toleration(),
        "PodTemplateMetadata" => items::reserved(api_group),
        "AsyncActorSpec" => vec![actor::workload_or_reference()],
        _ => Vec::new(),
    }
}

/// The rules on one field.
pub(super) fn of_field(object: &str, field: &str) -> Vec<Rule> {
    match (object, field) {
        ("Engine", "args") => items::argument_keys(),
        ("Engine", "extraArgs") => items::extra_arguments(),
        _ => Vec::new(),
    }
}

/// The rules on each entry of a list.
pub(super) fn of_items(object: &str, field: &str) -> Vec<Rule> {
    match (object, field) {
        ("Engine", "extraArgs") => items::extra_argument(),
        _ => Vec::new(),
    }
}

/// What a text must look like.
pub(super) fn of_syntax(of: Syntax) -> Vec<Rule> {
    if of == Syntax::Image {
        return Vec::new();
    }
    let mut passed = String::new();
    let mut rules = Vec::new();
    for check in syntax::checks(of) {
        let most = check.most.map(|most| format!("self.size() <= {most} && ")).unwrap_or_default();
        let fits = format!("{most}self.matches({})", raw(&check.pattern));
        let also = if of == Syntax::ExtendedResource {
            " && !self.startsWith('requests.') && !self.split('/')[0].endsWith('kubernetes.io')"
        } else {
            ""
        };
        rules.push(Rule {
            rule: format!("self == '' || {passed}{fits}{also}"),
            message: format!("expected {}", check.expected),
            expression: Some(format!(
                "'is \"' + {} + {}",
                shortened("self"),
                quote(&format!("\", expected {}", check.expected))
            )),
        });
        passed = format!("!({fits}) || ");
    }
    rules
}

/// At most 40 characters of a text, as the engine's messages have them.
fn shortened(text: &str) -> String {
    format!("({text}.size() > 40 ? {text}.substring(0, 37) + '...' : {text})")
}

/// A CEL string.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A CEL string without escapes, for regular expressions.
fn raw(pattern: &str) -> String {
    format!("r'{pattern}'")
}
