//! ConversionReview (apiextensions.k8s.io/v1): there is one version, so that nothing is converted yet (OP-7.4).

use kubefoundry_kubernetes::api_group::ApiGroup;
use serde::Deserialize;
use serde_json::{Value, json};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

#[derive(Deserialize)]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    objects: Vec<Value>,
}

/// Answers a body.
///
/// # Errors
/// What the body is instead of a review.
pub(super) fn convert(body: &[u8]) -> Result<Value, String> {
    let review: Review = serde_json::from_slice(body).map_err(|error| format!("no {KIND}: {error}"))?;
    if review.api_version != API_VERSION || review.kind != KIND {
        return Err(format!(
            "the body is a {:?} of {:?}, expected {KIND} of {API_VERSION}",
            review.kind, review.api_version
        ));
    }
    let Request { uid, desired, objects } = review.request.ok_or_else(|| format!("the {KIND} has no request"))?;
    let response = match refusal(&desired, &objects) {
        None => json!({"uid": uid, "result": {"status": "Success"}, "convertedObjects": objects}),
        Some(message) => {
            json!({"uid": uid, "result": {"status": "Failure", "message": message}, "convertedObjects": []})
        }
    };
    Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "response": response}))
}

/// Why objects cannot be had in a version.
fn refusal(desired: &str, objects: &[Value]) -> Option<String> {
    let api_group = desired.split_once('/').and_then(|(group, _)| ApiGroup::find(group));
    let Some(api_group) = api_group.filter(|api_group| api_group.api_version() == desired) else {
        return Some(format!("no conversion to {desired:?} is known"));
    };
    let other = objects.iter().map(|object| object.get("apiVersion").and_then(Value::as_str).unwrap_or_default());
    let other = other.into_iter().find(|version| *version != desired)?;
    Some(format!("no conversion from {other:?} to {:?} is known", api_group.api_version()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(desired: &str, version: &str) -> Value {
        let objects =
            json!([{"apiVersion": version, "kind": "ModelDeployment", "metadata": {"name": "a"}, "spec": {"x": 1.50}}]);
        let request = json!({"uid": "u", "desiredAPIVersion": desired, "objects": objects});
        let review = json!({"apiVersion": API_VERSION, "kind": KIND, "request": request});
        convert(review.to_string().as_bytes()).unwrap()["response"].clone()
    }

    #[test]
    fn the_same_version_stays_as_it_is() {
        for version in ["kubefoundry.ai/v1alpha1", "kubeairunway.ai/v1alpha1"] {
            let response = ask(version, version);
            assert_eq!(response["uid"], "u");
            assert_eq!(response["result"]["status"], "Success");
            assert_eq!(response["convertedObjects"][0]["spec"]["x"], 1.5);
        }
    }

    #[test]
    fn an_unknown_version_is_a_failure() {
        let cases = [
            ("kubefoundry.ai/v1", "kubefoundry.ai/v1alpha1", "no conversion to \"kubefoundry.ai/v1\" is known"),
            ("v1", "v1", "no conversion to \"v1\" is known"),
            (
                "kubefoundry.ai/v1alpha1",
                "kubefoundry.ai/v1",
                "no conversion from \"kubefoundry.ai/v1\" to \"kubefoundry.ai/v1alpha1\" is known",
            ),
        ];
        for (desired, version, message) in cases {
            let response = ask(desired, version);
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
