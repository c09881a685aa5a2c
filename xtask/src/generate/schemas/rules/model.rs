//! Rules on the name of the deployment and on its model.

use kubefoundry_kubernetes::names;

use super::{Rule, quote, raw, shortened};

const CUSTOM: &str = "(has(self.source) && self.source == 'custom')";

/// Returns the rule that the name is a DNS label; the API server itself would accept a DNS subdomain.
pub(super) fn name() -> Rule {
    let expected = names::dns_1123_label("!").err().unwrap_or_default();
    let value = "self.metadata.name";
    Rule {
        rule: format!("{value}.matches({})", raw("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")),
        message: format!("metadata.name: expected {expected}"),
        expression: Some(format!(
            "'metadata.name is \"' + {} + {}",
            shortened(value),
            quote(&format!("\", expected {expected}"))
        )),
    }
}

/// Returns the rules on required fields of `spec`.
pub(super) fn presence() -> Vec<Rule> {
    let custom = "(has(self.model) && has(self.model.source) && self.model.source == 'custom')";
    let id = "(has(self.model) && has(self.model.id) && self.model.id != '')";
    let image = "(has(self.image) && self.image != '')";
    let engine_image = "(has(self.engine) && has(self.engine.image) && self.engine.image != '')";
    vec![
        Rule::new("has(self.engine) && has(self.engine.type)", "engine.type is required"),
        Rule::new(format!("{custom} || {id}"), "model.id is required when source is huggingface"),
        Rule::new(format!("!{custom} || {image} || {engine_image}"), "image is required when source is custom"),
        Rule::new(
            format!("!{image} || !{engine_image} || self.image == self.engine.image"),
            "spec.engine.image and spec.image differ",
        ),
    ]
}

/// Returns the rules on the syntax of `spec.model.id` and `spec.model.servedName`.
pub(super) fn rules() -> Vec<Rule> {
    let is_path = "self.id.startsWith('/')";
    let spaces = format!("self.id.matches({})", raw(r"[\s\x00-\x1f\x7f]"));
    let up = format!("self.id.matches({})", raw(r"(^|/)\.\.(/|$)"));
    let shape = format!("self.id.matches({})", raw("^([^/]+|[^/]+/[^/]+|[^/]+/[^/]+/[^/]+[.][gG][gG][uU][fF])$"));
    let flag = format!("(self.id.startsWith('-') || {spaces})");
    let part = "[A-Za-z0-9_]([A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?";
    let parts = raw(&format!("^{part}(/{part}(/[A-Za-z0-9_][A-Za-z0-9._-]{{0,254}})?)?$"));
    // "--" is refused in the repository part, but allowed in the file name.
    let dashes = raw("^([^/]*|[^/]*/[^/]*)--");
    // A name with a tag, `gemma2:2b`, is for images that contain the model, which a rule on the model does not see.
    let tagged = raw(&format!("^{part}:{part}$"));
    let fits = format!(
        "(self.id.matches({tagged}) || self.id.matches({parts}) && !self.id.contains('..') && !self.id.matches({dashes}))"
    );
    let repository = format!("!{CUSTOM} && !{is_path}");
    vec![
        Rule::expect(
            "id",
            &format!("{CUSTOM} && !{is_path}"),
            "an absolute path inside the image, or no id, when source is custom",
        ),
        Rule::expect("id", &format!("{is_path} && {spaces}"), "a path without spaces and control characters"),
        Rule::expect("id", &format!("{is_path} && !{spaces} && {up}"), "a path without \"..\""),
        Rule::expect("id", &format!("self.id.matches({})", raw("^/+$")), "a path below \"/\""),
        Rule::expect(
            "id",
            &format!("{repository} && {flag}"),
            "a model id that does not start with '-' and has no spaces",
        ),
        Rule::expect(
            "id",
            &format!("{repository} && !{flag} && !{shape}"),
            "org/name, org/name/file.gguf, a bare name, or an absolute path on a volume of spec.model.storage",
        ),
        Rule::expect(
            "id",
            &format!("{repository} && !{flag} && {shape} && !{fits}"),
            "a HuggingFace id: parts of at most 96 letters, digits, '-', '_' and '.', not starting or ending with '-' or \
             '.', without \"--\" and \"..\"",
        ),
        Rule::expect(
            "servedName",
            &format!("!{CUSTOM} && self.servedName.size() > 253"),
            "a name of at most 253 characters",
        ),
        Rule::expect(
            "servedName",
            &format!(
                "!{CUSTOM} && self.servedName.size() <= 253 && !self.servedName.matches({})",
                raw(r"^[^-,\s\x00-\x1f\x7f][^,\s\x00-\x1f\x7f]*$")
            ),
            "a name without commas, spaces and control characters that does not start with '-'",
        ),
    ]
}
