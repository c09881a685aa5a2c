//! AdmissionReview (admission.k8s.io/v1): what the apiserver asks, and what it is answered.

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde_json::{Value, json};

/// What an AdmissionReview is known by.
const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Maximum number of warnings in a response, and of bytes of each: the apiserver drops more.
const MAX_WARNINGS: usize = 30;
const MAX_WARNING_BYTES: usize = 256;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

/// A group, a version, and a kind in it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Kind {
    #[serde(default)]
    pub(super) group: String,
    pub(super) kind: String,
}

/// A write that the apiserver asks about.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) uid: String,
    pub(super) kind: Kind,
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

impl Request {
    /// Reads a body.
    ///
    /// # Errors
    /// What it is instead, for the apiserver's log.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let review: Review = serde_json::from_slice(body).map_err(|error| format!("no {KIND}: {error}"))?;
        if review.api_version != API_VERSION || review.kind != KIND {
            return Err(format!(
                "the body is a {:?} of {:?}, expected {KIND} of {API_VERSION}",
                review.kind, review.api_version
            ));
        }
        review.request.ok_or_else(|| format!("the {KIND} has no request"))
    }

    /// The object as it would be stored, when it is written as a whole; nothing of deletions and of the status.
    pub(super) fn written(&self) -> Option<&Value> {
        let is_write = matches!(self.operation.as_str(), "CREATE" | "UPDATE");
        let is_whole = self.sub_resource.as_deref().unwrap_or_default().is_empty();
        (is_write && is_whole && self.object.is_object()).then_some(&self.object)
    }

    /// The object as it is stored, when it is updated.
    pub(super) fn stored(&self) -> Option<&Value> {
        (self.operation == "UPDATE" && self.old_object.is_object()).then_some(&self.old_object)
    }

    /// Whether the specification is not as it was.
    pub(super) fn changes_spec(&self) -> bool {
        self.stored().is_none_or(|stored| stored.get("spec") != self.object.get("spec"))
    }

    /// Whether the object is on its way out: what is done with it then only lets it go.
    pub(super) fn is_going(&self) -> bool {
        self.object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
    }
}

/// What is answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    refusal: Option<Value>,
    warnings: Vec<String>,
    patch: Option<Value>,
}

impl Verdict {
    /// Let it through.
    pub(super) fn allow() -> Self {
        Self::default()
    }

    /// Let it through with changes: a JSON patch.
    pub(super) fn change(patch: Value) -> Self {
        Self { patch: Some(patch), ..Self::default() }
    }

    /// The specification is wrong; one cause for each error, as a field and what is said of it.
    pub(super) fn invalid(request: &Request, causes: &[(String, String)]) -> Self {
        let lines: Vec<String> = causes.iter().map(|(field, message)| line(field, message)).collect();
        let causes = causes
            .iter()
            .map(|(field, message)| json!({"reason": "FieldValueInvalid", "field": field, "message": message}));
        let details = json!({
            "group": request.kind.group, "kind": request.kind.kind, "name": request.name,
            "causes": causes.collect::<Vec<_>>(),
        });
        Self::refuse(422, "Invalid", &lines.join("\n"), Some(details))
    }

    /// It is not for this user, or not in this namespace.
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

    /// With warnings for the client, as many as it gets to see.
    #[must_use]
    pub(super) fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Whether it is let through.
    pub(super) fn is_allowed(&self) -> bool {
        self.refusal.is_none()
    }

    /// The answer to a request.
    pub(super) fn answer(self, uid: &str) -> Value {
        let mut response = serde_json::Map::new();
        response.insert("uid".to_owned(), uid.into());
        response.insert("allowed".to_owned(), self.refusal.is_none().into());
        response.extend(self.refusal.map(|status| ("status".to_owned(), status)));
        if let Some(patch) = self.patch {
            response.insert("patchType".to_owned(), "JSONPatch".into());
            response.insert("patch".to_owned(), json!(ByteString(patch.to_string().into_bytes())));
        }
        let warnings = limited(self.warnings);
        if !warnings.is_empty() {
            response.insert("warnings".to_owned(), warnings.into());
        }
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}

/// A field and what is said of it, as one line.
pub(super) fn line(field: &str, message: &str) -> String {
    // Many messages begin with their field.
    if field.is_empty() || message.starts_with(field) { message.to_owned() } else { format!("{field}: {message}") }
}

/// As many warnings as a client gets to see, the last of them saying how many there are more.
fn limited(mut warnings: Vec<String>) -> Vec<String> {
    if warnings.len() > MAX_WARNINGS {
        let more = warnings.len() - (MAX_WARNINGS - 1);
        warnings.truncate(MAX_WARNINGS - 1);
        warnings.push(format!("and {more} more: see kubefoundry lint"));
    }
    warnings.into_iter().map(|warning| shortened(&warning, MAX_WARNING_BYTES)).collect()
}

/// One line of at most so many bytes.
fn shortened(text: &str, most: usize) -> String {
    const MORE: &str = "...";
    let text = text.replace(['\n', '\r'], " ");
    if text.len() <= most {
        return text;
    }
    let end = (0..=most - MORE.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{MORE}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_fit_into_what_clients_show() {
        let warnings = (0..40).map(|number| format!("{number} {}", "ü".repeat(200)));
        let answer = Verdict::allow().warn(warnings).answer("u");
        let warnings: Vec<&str> =
            answer["response"]["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(warnings.len(), 30);
        assert!(warnings.iter().all(|warning| warning.len() <= 256));
        assert!(warnings[0].ends_with("ü..."), "{}", warnings[0]);
        assert_eq!(warnings[29], "and 11 more: see kubefoundry lint");
        assert_eq!(limited(vec!["a\nb".to_owned(); 30]), vec!["a b"; 30]);
    }

    #[test]
    fn a_patch_is_sent_as_base64() {
        let answer = Verdict::change(json!([{"op": "add", "path": "/spec/a", "value": 1}])).answer("u");
        assert_eq!(answer["response"]["patchType"], "JSONPatch");
        let patch: ByteString = serde_json::from_value(answer["response"]["patch"].clone()).unwrap();
        assert_eq!(patch.0, br#"[{"op":"add","path":"/spec/a","value":1}]"#);
        assert_eq!(answer["response"]["uid"], "u");
    }

    #[test]
    fn what_is_no_review_is_said_to_be_none() {
        let read = |text: &str| Request::read(text.as_bytes()).unwrap_err();
        assert!(read("").starts_with("no AdmissionReview: "));
        assert!(read("{}").contains("missing field"));
        let other = r#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#;
        assert_eq!(
            read(other),
            "the body is a \"AdmissionReview\" of \"admission.k8s.io/v1beta1\", expected AdmissionReview of admission.k8s.io/v1"
        );
        let empty = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#;
        assert_eq!(read(empty), "the AdmissionReview has no request");
    }
}
