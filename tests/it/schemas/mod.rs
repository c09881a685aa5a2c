//! The generated schemas against `lint`: both accept the same documents and report the same messages.

mod crd;
mod editor;
mod facets;
mod rules;
mod structural;
mod syntax;

use std::path::Path;

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_yaml as yaml;
use serde_json::Value;

/// Reads a generated file.
fn schema_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the documents of a text as JSON, without null fields, which count as absent.
fn documents(text: &str) -> Vec<Value> {
    yaml::parse(text, &yaml::Limits::default())
        .documents
        .iter()
        .map(|document| {
            let mut value = document.root.to_json();
            prune(&mut value);
            value
        })
        .collect()
}

/// Removes null fields, as an API server does.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(prune);
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

/// Returns the API group and the kind of an object, if its kind is one of kubefoundry.
fn kind_of(object: &Value) -> Option<(&'static ApiGroup, &str)> {
    let (group, version) = object.get("apiVersion")?.as_str()?.split_once('/')?;
    let api_group = ApiGroup::find(group).filter(|api_group| api_group.version == version)?;
    Some((api_group, object.get("kind")?.as_str()?))
}
