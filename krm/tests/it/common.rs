//! What the tests share: reading a `ResourceList` back.

use kubefoundry_yaml::{Limits, parse};
use serde_json::Value;

/// A `ResourceList` as JSON, read without the function's own reader.
pub(crate) fn resource_list(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).unwrap();
    let parsed = parse(text, &Limits { depth: 250, ..Limits::default() });
    assert!(parsed.failure.is_none(), "{:?}\n{text}", parsed.failure);
    assert_eq!(parsed.documents.len(), 1, "{text}");
    let list = parsed.documents[0].root.to_json();
    assert_eq!(list["kind"], "ResourceList", "{text}");
    list
}

/// Its items.
pub(crate) fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

/// A ModelDeployment as it stands in a list, indented by two, with extra lines of metadata.
pub(crate) fn deployment(name: &str, metadata: &str) -> String {
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1\n  kind: ModelDeployment\n  metadata:\n    name: {name}\n{metadata}  spec:\n    \
         model: {{id: org/model}}\n    engine: {{type: vllm}}\n    resources: {{gpu: {{count: 1}}}}\n"
    )
}
