//! CEL validation rules of our CRDs (`x-kubernetes-validations`), with the messages of `lint`: an API server puts the
//! path of the field before a message, as `lint` does. `tests/it/schemas/` compares the two for every rule.
//!
//! Only `lint` checks what needs other objects (selection, collisions), the flag tables (values of `engine.args`,
//! parallelism) or metadata other than the name, and what could exceed the cost limit of rules: labels, image
//! references and the names in `valueFrom`.

mod actor;
mod items;
mod llamastack;
mod model;
mod volumes;
mod workload;

use kubefoundry_deployment::wire::KIND;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::Syntax;

use super::syntax;

/// A validation rule. Rules use only features of Kubernetes 1.27, the first version with message expressions.
#[expect(clippy::struct_field_names, reason = "named as in x-kubernetes-validations")]
pub(super) struct Rule {
    pub(super) rule: String,
    pub(super) message: String,
    /// The CEL expression for the message, if the message contains a value.
    pub(super) expression: Option<String>,
}

impl Rule {
    /// Returns a rule with a constant message.
    fn new(rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self { rule: rule.into(), message: message.into(), expression: None }
    }

    /// Returns a rule that refuses a field for which the expression `wrong` is true, with the message `<field> is
    /// "<value>", expected <expected>`. It accepts absent and empty fields.
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

/// Returns the rules on an object, by the name of its Rust type.
pub(super) fn of_object(name: &str, api_group: &ApiGroup) -> Vec<Rule> {
    match name {
        KIND => vec![model::name()],
        "ModelDeploymentSpec" => [model::presence(), workload::rules()].into_iter().flatten().collect(),
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

/// Returns the rules on a field.
pub(super) fn of_field(object: &str, field: &str) -> Vec<Rule> {
    match (object, field) {
        ("Engine", "args") => items::argument_keys(),
        ("Engine", "extraArgs") => items::extra_arguments(),
        _ => Vec::new(),
    }
}

/// Returns the rules on each item of a list.
pub(super) fn of_items(object: &str, field: &str) -> Vec<Rule> {
    match (object, field) {
        ("Engine", "extraArgs") => items::extra_argument(),
        _ => Vec::new(),
    }
}

/// Returns the rules on the syntax of a string.
pub(super) fn of_syntax(of: Syntax) -> Vec<Rule> {
    if of == Syntax::Image {
        return Vec::new();
    }
    let mut passed = String::new();
    let mut rules = Vec::new();
    for check in syntax::checks(of) {
        let most = check.max_length.map(|most| format!("self.size() <= {most} && ")).unwrap_or_default();
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

/// Returns a CEL expression that shortens a string to 40 characters, as `lint` does in its messages.
fn shortened(text: &str) -> String {
    format!("({text}.size() > 40 ? {text}.substring(0, 37) + '...' : {text})")
}

/// Quotes text as a CEL string.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Quotes a regular expression as a raw CEL string.
fn raw(pattern: &str) -> String {
    format!("r'{pattern}'")
}
