//! `/convert`: answers ConversionReviews (apiextensions.k8s.io/v1). There is only one version, so objects are returned
//! unchanged (OP-7.4).

use kubefoundry_kubernetes::api_group::ApiGroup;
use serde::Deserialize;
use serde_json::{Value, json};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConversionReview {
    api_version: String,
    kind: String,
    request: Option<ConversionRequest>,
}

#[derive(Deserialize)]
struct ConversionRequest {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    objects: Vec<Value>,
}

/// Answers the body of a request.
///
/// # Errors
/// The reason why the body is not a ConversionReview.
pub(super) fn convert(body: &[u8]) -> Result<Value, String> {
    let review: ConversionReview =
        serde_json::from_slice(body).map_err(|error| format!("not a valid {KIND}: {error}"))?;
    if review.api_version != API_VERSION || review.kind != KIND {
        return Err(format!(
            "expected a {KIND} of {API_VERSION}, found kind {:?} of {:?}",
            review.kind, review.api_version
        ));
    }
    let ConversionRequest { uid, desired, objects } =
        review.request.ok_or_else(|| format!("the {KIND} has no request"))?;
    let response = match refusal(&desired, &objects) {
        None => json!({"uid": uid, "result": {"status": "Success"}, "convertedObjects": objects}),
        Some(message) => {
            json!({"uid": uid, "result": {"status": "Failure", "message": message}, "convertedObjects": []})
        }
    };
    Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "response": response}))
}

/// Returns the reason why objects cannot be converted to a version; none if all of them have it already.
fn refusal(desired: &str, objects: &[Value]) -> Option<String> {
    let api_group = desired.split_once('/').and_then(|(group, _)| ApiGroup::find(group));
    let Some(api_group) = api_group.filter(|api_group| api_group.api_version() == desired) else {
        return Some(format!("cannot convert to {desired:?}: unknown version"));
    };
    let versions = objects.iter().map(|object| object.get("apiVersion").and_then(Value::as_str).unwrap_or_default());
    let other = versions.into_iter().find(|version| *version != desired)?;
    Some(format!("cannot convert from {other:?} to {:?}", api_group.api_version()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert_one(desired: &str, version: &str) -> Value {
        let objects =
            json!([{"apiVersion": version, "kind": "ModelDeployment", "metadata": {"name": "a"}, "spec": {"x": 1.50}}]);
        let request = json!({"uid": "u", "desiredAPIVersion": desired, "objects": objects});
        let review = json!({"apiVersion": API_VERSION, "kind": KIND, "request": request});
        convert(review.to_string().as_bytes()).unwrap()["response"].clone()
    }

    #[test]
    fn objects_of_the_desired_version_are_returned_unchanged() {
        for version in ["kubefoundry.ai/v1alpha1", "kubeairunway.ai/v1alpha1"] {
            let response = convert_one(version, version);
            assert_eq!(response["uid"], "u");
            assert_eq!(response["result"]["status"], "Success");
            assert_eq!(response["convertedObjects"][0]["spec"]["x"], 1.5);
        }
    }

    #[test]
    fn an_unknown_version_is_a_failure() {
        let cases = [
            (
                "kubefoundry.ai/v1",
                "kubefoundry.ai/v1alpha1",
                "cannot convert to \"kubefoundry.ai/v1\": unknown version",
            ),
            ("v1", "v1", "cannot convert to \"v1\": unknown version"),
            (
                "kubefoundry.ai/v1alpha1",
                "kubefoundry.ai/v1",
                "cannot convert from \"kubefoundry.ai/v1\" to \"kubefoundry.ai/v1alpha1\"",
            ),
        ];
        for (desired, version, message) in cases {
            let response = convert_one(desired, version);
            assert_eq!(response["result"], json!({"status": "Failure", "message": message}));
            assert_eq!(response["convertedObjects"], json!([]));
        }
    }

    #[test]
    fn other_bodies_are_refused() {
        assert!(convert(b"[]").is_err());
        assert!(convert(br#"{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "ConversionReview"}"#).is_err());
    }
}
