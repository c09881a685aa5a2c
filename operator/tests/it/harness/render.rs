//! Renders deployments as `kubefoundry render` does, and compares the result with the objects of the cluster.

use std::sync::OnceLock;

use kube::api::{Patch, PatchParams};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use serde_json::{Value, json};

use super::cluster::{Kind, Namespace};
use super::crds;

/// Annotations that only the operator writes, without their prefix.
const OWN_ANNOTATIONS: [&str; 3] = ["identity-hash", "rendered-hash", "deployment-uid"];

/// Renders a ModelDeployment on its own, as `kubefoundry render --crds` does with the CRDs that tests install.
pub fn compile_alone(deployment: &Value) -> Compilation {
    static CRDS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let mut sources = SourceSet::default();
    sources.add("input.yaml", deployment.to_string());
    for (name, text) in CRDS.get_or_init(installed_crds) {
        sources.add_for(Purpose::Crds, name.clone(), text.clone());
    }
    compile(&BUILTIN, &sources, Thoroughness::Needed)
}

/// Returns the provider that the command line selects for a ModelDeployment beside a provider configuration.
pub fn provider_with(config: &Value, deployment: &Value) -> String {
    let mut sources = SourceSet::default();
    sources.add("input.yaml", format!("{config}\n---\n{deployment}"));
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let provider = compilation.decisions.first().and_then(|decision| decision.provider());
    provider.unwrap_or_else(|| panic!("{deployment}: {:?}", compilation.diagnostics)).to_owned()
}

/// The CRDs that tests install, by the names under which the operator's messages show them.
fn installed_crds() -> Vec<(String, String)> {
    let all = [crds::KAITO, crds::DYNAMO, crds::KUBERAY].concat();
    let named = all.into_iter().map(|crd| {
        let definition = crds::definition(crd);
        let name = definition["metadata"]["name"].as_str().unwrap();
        (format!("{name}.json"), definition.to_string())
    });
    named.collect()
}

/// The objects that a ModelDeployment of the cluster renders to, supporting ones first.
pub fn render(deployment: &Value) -> Vec<Value> {
    let metadata = &deployment["metadata"];
    let mut source = json!({
        "apiVersion": deployment["apiVersion"], "kind": deployment["kind"], "spec": deployment["spec"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    });
    for field in ["labels", "annotations"] {
        if !metadata[field].is_null() {
            source["metadata"][field] = metadata[field].clone();
        }
    }
    let compilation = compile_alone(&source);
    assert!(!compilation.has_errors(), "{source}: {:?}", compilation.diagnostics);
    compilation.outputs.into_iter().map(|output| output.object).collect()
}

/// Compares an object of the cluster with the rendered one, and describes a difference. Owners, the operator's annotations
/// and server metadata are ignored. The defaults of the server are taken from a dry run of the rendered object under
/// another name.
pub async fn difference(namespace: &Namespace, kind: Kind, rendered: &Value, live: &Value) -> Option<String> {
    let mut copy = rendered.clone();
    // Short, because some kinds limit the length of names.
    copy["metadata"]["name"] = "dry-run-copy".into();
    copy["metadata"]["namespace"] = namespace.name.clone().into();
    let parameters = PatchParams::apply("a-dry-run").dry_run().validation_strict();
    let expected = namespace.api(kind).patch("dry-run-copy", &parameters, &Patch::Apply(&copy)).await;
    let expected = match expected {
        Ok(expected) => serde_json::to_value(expected).unwrap(),
        Err(error) => return Some(format!("the server refuses the rendered object: {error}")),
    };
    let (expected, actual) = (comparable(&expected, rendered), comparable(live, rendered));
    (expected != actual).then(|| format!("rendered {expected}\nfound    {actual}"))
}

/// An object without the fields that depend on the cluster.
fn comparable(object: &Value, rendered: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].take();
    let fields = object.as_object_mut().unwrap();
    fields.remove("status");
    let mut annotations = metadata["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|key, _| !OWN_ANNOTATIONS.iter().any(|own| key.ends_with(&format!("/{own}"))));
    object["metadata"] = json!({
        "name": rendered["metadata"]["name"], "labels": metadata["labels"], "annotations": annotations,
    });
    if object["kind"] == "Service" {
        // The server assigns the addresses.
        for field in ["clusterIP", "clusterIPs"] {
            object["spec"].as_object_mut().unwrap().remove(field);
        }
    }
    object
}

/// The kind of an object, among those that providers write.
pub fn kind_of(object: &Value) -> Kind {
    use super::cluster::kinds::{BETA_GRAPH, CLAIM, CONFIG_MAP, GRAPH, INFERENCE_SET, RAY_SERVICE, SERVICE, WORKSPACE};
    let known = [BETA_GRAPH, CLAIM, CONFIG_MAP, GRAPH, INFERENCE_SET, RAY_SERVICE, SERVICE, WORKSPACE];
    let kind = known.into_iter().find(|kind| object["apiVersion"] == kind.api_version && object["kind"] == kind.kind);
    kind.unwrap_or_else(|| panic!("{} {}", object["apiVersion"], object["kind"]))
}
