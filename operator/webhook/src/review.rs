//! AdmissionReview (admission.k8s.io/v1): the requests of the apiserver, and the responses of the webhooks.

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_controller_runtime::text::truncate;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Maximum number of warnings in a response.
const MAX_WARNINGS: usize = 30;
/// Maximum length of a warning. The apiserver truncates warnings beyond 256 characters, and drops them beyond 4096 in
/// total.
const MAX_WARNING_BYTES: usize = 256;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview {
    api_version: String,
    kind: String,
    request: Option<AdmissionRequest>,
}

/// A kind with its API group; the version does not matter here.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct GroupKind {
    #[serde(default)]
    pub(super) group: String,
    pub(super) kind: String,
}

/// A resource with its API group. With a subresource it is the resource that has it, while the kind is the subresource's.
#[derive(Debug, Clone, Default, Deserialize)]
struct GroupResource {
    #[serde(default)]
    group: String,
    #[serde(default)]
    resource: String,
}

/// A write that the apiserver submits for admission.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionRequest {
    pub(super) uid: String,
    pub(super) kind: GroupKind,
    #[serde(default)]
    resource: GroupResource,
    pub(super) sub_resource: Option<String>,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) operation: String,
    #[serde(default)]
    pub(super) user_info: UserInfo,
    #[serde(default)]
    pub(super) object: Value,
    #[serde(default)]
    pub(super) old_object: Value,
}

impl AdmissionRequest {
    /// Parses the body of a request.
    ///
    /// # Errors
    /// The reason why it is not an AdmissionReview, for the apiserver's log.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let review: AdmissionReview =
            serde_json::from_slice(body).map_err(|error| format!("not a valid {KIND}: {error}"))?;
        if review.api_version != API_VERSION || review.kind != KIND {
            return Err(format!(
                "expected {KIND} of {API_VERSION}, found kind {:?} of {:?}",
                review.kind, review.api_version
            ));
        }
        review.request.ok_or_else(|| format!("the {KIND} has no request"))
    }

    /// Returns the object that would be stored; none for a deletion or a write of a subresource such as the status.
    pub(super) fn new_object(&self) -> Option<&Value> {
        let is_write = matches!(self.operation.as_str(), "CREATE" | "UPDATE");
        let is_whole = self.sub_resource.as_deref().unwrap_or_default().is_empty();
        (is_write && is_whole && self.object.is_object()).then_some(&self.object)
    }

    /// Returns the API group of the ModelDeployment that a write of the scale subresource scales; none for other requests.
    pub(super) fn scaled_group(&self) -> Option<&str> {
        let is_scale = self.operation == "UPDATE" && self.sub_resource.as_deref() == Some("scale");
        (is_scale && self.resource.resource == "modeldeployments").then_some(self.resource.group.as_str())
    }

    /// Returns the update of the ModelDeployment that a write of its scale subresource amounts to.
    pub(super) fn scale(&self, group: &str, stored: Value) -> Self {
        let mut object = stored.clone();
        // The type of the apiserver leaves out a zero.
        let replicas = self.object.pointer("/spec/replicas").cloned().unwrap_or(json!(0));
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            let scaling = spec.entry("scaling").or_insert_with(|| json!({}));
            if let Some(scaling) = scaling.as_object_mut() {
                scaling.insert("replicas".to_owned(), replicas);
            }
        }
        Self {
            kind: GroupKind { group: group.to_owned(), kind: kubefoundry_deployment::wire::KIND.to_owned() },
            sub_resource: None,
            object,
            old_object: stored,
            ..self.clone()
        }
    }

    /// Returns the object before an update; none for a creation.
    pub(super) fn stored(&self) -> Option<&Value> {
        (self.operation == "UPDATE" && self.old_object.is_object()).then_some(&self.old_object)
    }

    /// Whether the request creates the specification or changes it.
    pub(super) fn changes_spec(&self) -> bool {
        self.stored().is_none_or(|stored| stored.get("spec") != self.object.get("spec"))
    }

    /// Whether the object is being deleted. Then updates mostly remove finalizers, and must not be refused.
    pub(super) fn is_terminating(&self) -> bool {
        ObjectView(&self.object).is_terminating()
    }
}

/// The response to an admission request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AdmissionResponse {
    refusal: Option<Value>,
    warnings: Vec<String>,
    patch: Option<Value>,
}

impl AdmissionResponse {
    /// Admits the object.
    pub(super) fn allow() -> Self {
        Self::default()
    }

    /// Admits the object with changes, as a JSON patch.
    pub(super) fn patch(patch: Value) -> Self {
        Self { patch: Some(patch), ..Self::default() }
    }

    /// Refuses an invalid object, with one cause for each error: its field and its message.
    pub(super) fn invalid(request: &AdmissionRequest, causes: &[(String, String)]) -> Self {
        let lines: Vec<String> = causes.iter().map(|(field, message)| format_cause(field, message)).collect();
        let causes = causes
            .iter()
            .map(|(field, message)| json!({"reason": "FieldValueInvalid", "field": field, "message": message}));
        let details = json!({
            "group": request.kind.group, "kind": request.kind.kind, "name": request.name,
            "causes": causes.collect::<Vec<_>>(),
        });
        Self::refuse(422, "Invalid", &lines.join("\n"), Some(details))
    }

    /// Refuses an object that this user or this namespace may not have.
    pub(super) fn forbid(message: &str) -> Self {
        Self::refuse(403, "Forbidden", message, None)
    }

    fn refuse(code: u16, reason: &str, message: &str, details: Option<Value>) -> Self {
        let mut status = json!({"status": "Failure", "code": code, "reason": reason, "message": message});
        if let (Some(status), Some(details)) = (status.as_object_mut(), details) {
            status.insert("details".to_owned(), details);
        }
        Self { refusal: Some(status), ..Self::default() }
    }

    /// Adds warnings for the client.
    #[must_use]
    pub(super) fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Whether the object is admitted.
    pub(super) fn is_allowed(&self) -> bool {
        self.refusal.is_none()
    }

    /// Creates the AdmissionReview that answers the request with this uid.
    pub(super) fn into_review(self, uid: &str) -> Value {
        let mut response = serde_json::Map::new();
        response.insert("uid".to_owned(), uid.into());
        response.insert("allowed".to_owned(), self.refusal.is_none().into());
        response.extend(self.refusal.map(|status| ("status".to_owned(), status)));
        if let Some(patch) = self.patch {
            response.insert("patchType".to_owned(), "JSONPatch".into());
            response.insert("patch".to_owned(), json!(ByteString(patch.to_string().into_bytes())));
        }
        let warnings = limit_warnings(self.warnings);
        if !warnings.is_empty() {
            response.insert("warnings".to_owned(), warnings.into());
        }
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}

/// Formats a field and a message as one line.
pub(super) fn format_cause(field: &str, message: &str) -> String {
    // Many messages begin with their field.
    if field.is_empty() || message.starts_with(field) { message.to_owned() } else { format!("{field}: {message}") }
}

/// Truncates warnings to what clients show. The last one counts those that were dropped.
fn limit_warnings(mut warnings: Vec<String>) -> Vec<String> {
    if warnings.len() > MAX_WARNINGS {
        let dropped = warnings.len() - (MAX_WARNINGS - 1);
        warnings.truncate(MAX_WARNINGS - 1);
        warnings.push(format!("and {dropped} more; run kubefoundry lint to see all"));
    }
    warnings.into_iter().map(|warning| truncate_line(&warning, MAX_WARNING_BYTES)).collect()
}

/// Joins the lines of a text, and truncates it to `max` bytes.
fn truncate_line(text: &str, max: usize) -> String {
    const ELLIPSIS: &str = "...";
    let text = text.replace(['\n', '\r'], " ");
    if text.len() <= max {
        return text;
    }
    format!("{}{ELLIPSIS}", truncate(&text, max - ELLIPSIS.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_fit_into_what_clients_show() {
        let warnings = (0..40).map(|number| format!("{number} {}", "ü".repeat(200)));
        let response = AdmissionResponse::allow().warn(warnings).into_review("u");
        let warnings: Vec<&str> =
            response["response"]["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(warnings.len(), 30);
        assert!(warnings.iter().all(|warning| warning.len() <= 256));
        assert!(warnings[0].ends_with("ü..."), "{}", warnings[0]);
        assert_eq!(warnings[29], "and 11 more; run kubefoundry lint to see all");
        assert_eq!(limit_warnings(vec!["a\nb".to_owned(); 30]), vec!["a b"; 30]);
    }

    #[test]
    fn a_patch_is_sent_as_base64() {
        let response = AdmissionResponse::patch(json!([{"op": "add", "path": "/spec/a", "value": 1}])).into_review("u");
        assert_eq!(response["response"]["patchType"], "JSONPatch");
        let patch: ByteString = serde_json::from_value(response["response"]["patch"].clone()).unwrap();
        assert_eq!(patch.0, br#"[{"op":"add","path":"/spec/a","value":1}]"#);
        assert_eq!(response["response"]["uid"], "u");
    }

    #[test]
    fn rejects_bodies_that_are_not_reviews() {
        let error_of = |text: &str| AdmissionRequest::parse(text.as_bytes()).unwrap_err();
        assert!(error_of("").starts_with("not a valid AdmissionReview: "));
        assert!(error_of("{}").contains("missing field"));
        let other = r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#;
        assert_eq!(
            error_of(other),
            "expected AdmissionReview of admission.k8s.io/v1, found kind \"AdmissionReview\" of \"admission.k8s.io/v1beta1\""
        );
        let empty = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#;
        assert_eq!(error_of(empty), "the AdmissionReview has no request");
    }
}
