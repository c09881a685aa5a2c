//! Rules on the name of the deployment and on its model.

use kubefoundry_kubernetes::names;

use kubefoundry_model::validate::messages::{self, model_id};

use super::{Rule, quote, raw, shortened};

const CUSTOM: &str = "(has(self.source) && self.source == 'custom')";

/// Returns the rule that the name is a DNS label; the API server itself would accept a DNS subdomain.
#[expect(clippy::expect_used, reason = "no check of labels accepts an exclamation mark")]
pub(super) fn name() -> Rule {
    let expected = names::dns_1123_label("!").expect_err("an exclamation mark is not a label");
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
        Rule::new("has(self.engine) && has(self.engine.type)", messages::ENGINE_TYPE_REQUIRED),
        Rule::new(format!("{custom} || {id}"), messages::MODEL_ID_REQUIRED),
        Rule::new(format!("!{custom} || {image} || {engine_image}"), messages::IMAGE_REQUIRED),
        Rule::new(format!("!{image} || !{engine_image} || self.image == self.engine.image"), messages::IMAGES_DIFFER),
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
        Rule::expect("id", &format!("{CUSTOM} && !{is_path}"), model_id::IN_IMAGE),
        Rule::expect("id", &format!("{is_path} && {spaces}"), model_id::PATH_WITHOUT_SPACES),
        Rule::expect("id", &format!("{is_path} && !{spaces} && {up}"), messages::PATH_UPWARDS),
        Rule::expect("id", &format!("self.id.matches({})", raw("^/+$")), model_id::PATH_BELOW_ROOT),
        Rule::expect("id", &format!("{repository} && {flag}"), model_id::NO_FLAG),
        Rule::expect("id", &format!("{repository} && !{flag} && !{shape}"), model_id::FORM),
        Rule::expect("id", &format!("{repository} && !{flag} && {shape} && !{fits}"), model_id::PARTS),
        Rule::expect(
            "servedName",
            &format!("!{CUSTOM} && self.servedName.size() > 253"),
            messages::SERVED_NAME_TOO_LONG,
        ),
        Rule::expect(
            "servedName",
            &format!(
                "!{CUSTOM} && self.servedName.size() <= 253 && !self.servedName.matches({})",
                raw(r"^[^-,\s\x00-\x1f\x7f][^,\s\x00-\x1f\x7f]*$")
            ),
            messages::SERVED_NAME,
        ),
    ]
}
