//! Nothing is silently dropped: for every provider and every field of the specification, a different value gives a
//! different output, or a finding names the field. The support table of each provider states which.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::start::{Start, testing};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_kubernetes::wire::Shape;
use kubefoundry_provider::support::Support;
use kubefoundry_reference::find_field;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// The effect of a change of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// The output changes.
    Rendered,
    /// The output stays the same, and a warning or an info names the field.
    Reported,
    /// An error names the field.
    Refused,
    /// The output stays the same, and no finding names the field.
    Silent,
}

/// The options that fields need: a Gateway.
const OPTIONS: &str = "{apiVersion: config.kubefoundry.ai/v1alpha1, kind: Render, gateway: {name: g, endpointPicker: {name: p}}, policy: {allowHostIPC: true}}";

/// Returns two values of a field for a document. `null` omits the field.
fn values(field: &str, start: Start) -> (Value, Value) {
    let argument = start.examples().number;
    let other_image = start.image.map_or("registry.example.com/other:1.4.0".to_owned(), |image| format!("{image}-x"));
    match field {
        "spec.model.id" => {
            let model = start.examples().model;
            (json!(model), json!(model.replace("org/model", "org/other")))
        }
        "spec.model.servedName"
        | "spec.secrets.huggingFaceToken"
        | "spec.gateway.modelName"
        | "spec.podTemplate.spec.priorityClassName"
        | "spec.podTemplate.spec.schedulerName"
        | "spec.podTemplate.spec.serviceAccountName"
        | "spec.podTemplate.spec.runtimeClassName" => (json!("one"), json!("other")),
        // The name only says that the route is the user's own.
        "spec.gateway.httpRouteRef" => (Value::Null, json!("route")),
        "spec.model.source" => (json!("huggingface"), json!("custom")),
        "spec.model.storage.volumes[]" => (
            json!([{"name": "v", "mountPath": "/one", "claimName": "c"}]),
            json!([{"name": "v", "mountPath": "/other", "claimName": "c"}]),
        ),
        "spec.provider.overrides" => match &testing(start.provider).unwrap().overrides {
            Some([one, other]) => (one.clone(), other.clone()),
            // A provider without overrides warns about every key.
            None => (json!({"unknown": "one"}), json!({"unknown": "other"})),
        },
        "spec.engine.type" => (json!(start.engine), json!(if start.engine == "vllm" { "sglang" } else { "vllm" })),
        "spec.engine.contextLength" => (json!(4096), json!(8192)),
        "spec.engine.image" => (Value::Null, json!(other_image)),
        "spec.image" => (start.image.map_or(Value::Null, |image| json!(image)), json!(other_image)),
        "spec.engine.args.*" | "spec.scaling.prefill.engine.args.*" | "spec.scaling.decode.engine.args.*" => {
            (json!({argument: "8"}), json!({argument: "16"}))
        }
        "spec.engine.extraArgs[]"
        | "spec.scaling.prefill.engine.extraArgs[]"
        | "spec.scaling.decode.engine.extraArgs[]" => {
            (json!([format!("--{argument}=8")]), json!([format!("--{argument}=16")]))
        }
        "spec.serving.mode" => {
            let other = if start.mode == "aggregated" { "disaggregated" } else { "aggregated" };
            (json!(start.mode), json!(other))
        }
        "spec.scaling.prefill.gpu.count" | "spec.scaling.decode.gpu.count" | "spec.resources.gpu.count" => {
            (json!(2), json!(4))
        }
        "spec.scaling.prefill.gpu.type" | "spec.scaling.decode.gpu.type" | "spec.resources.gpu.type" => {
            (json!("nvidia.com/gpu"), json!("nvidia.com/mig-1g.10gb"))
        }
        "spec.scaling.prefill.memory" | "spec.scaling.decode.memory" | "spec.resources.memory" => {
            (json!("32Gi"), json!("64Gi"))
        }
        "spec.resources.cpu" => (json!("4"), json!("8")),
        "spec.resources.sharedMemory" => (json!("4Gi"), json!("8Gi")),
        "spec.resources.requests.*"
        | "spec.scaling.prefill.resources.requests.*"
        | "spec.scaling.decode.resources.requests.*" => {
            (json!({"ephemeral-storage": "1Gi"}), json!({"ephemeral-storage": "2Gi"}))
        }
        "spec.resources.limits.*"
        | "spec.scaling.prefill.resources.limits.*"
        | "spec.scaling.decode.resources.limits.*" => (json!({"rdma/ib": 1}), json!({"rdma/ib": 2})),
        "spec.resources.claims[]"
        | "spec.scaling.prefill.resources.claims[]"
        | "spec.scaling.decode.resources.claims[]" => {
            (json!([{"name": "nic"}]), json!([{"name": "nic", "request": "one"}]))
        }
        "spec.podTemplate.spec.resourceClaims[]" => (
            json!([{"name": "nic", "resourceClaimName": "one"}]),
            json!([{"name": "nic", "resourceClaimTemplateName": "other"}]),
        ),
        "spec.env[]" | "spec.frontend.env[]" | "spec.scaling.prefill.env[]" | "spec.scaling.decode.env[]" => {
            (json!([{"name": "A", "value": "1"}]), json!([{"name": "A", "value": "2"}]))
        }
        probe if probe.contains(".probes.") => {
            let probe = |seconds: u32| json!({"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": seconds});
            (probe(5), probe(15))
        }
        "spec.frontend.replicas"
        | "spec.resources.nodes"
        | "spec.scaling.prefill.nodes"
        | "spec.scaling.decode.nodes" => (json!(1), json!(2)),
        "spec.frontend.args.*" => (json!({"migration-limit": "1"}), json!({"migration-limit": "2"})),
        "spec.frontend.resources.requests.*" => (json!({"cpu": "1"}), json!({"cpu": "3"})),
        "spec.frontend.resources.limits.*" => (json!({"cpu": "3"}), json!({"cpu": "4"})),
        "spec.podTemplate.metadata.labels.*" => (json!({"team": "one"}), json!({"team": "other"})),
        "spec.podTemplate.metadata.annotations.*" => (json!({"note": "one"}), json!({"note": "other"})),
        "spec.podTemplate.spec.affinity" => {
            let term = |weight: u32| {
                json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight,
                    "preference": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}}]}})
            };
            (term(1), term(2))
        }
        "spec.podTemplate.spec.topologySpreadConstraints[]" => {
            let constraint = |skew: u32| {
                json!([{"maxSkew": skew, "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "m"}}}])
            };
            (constraint(1), constraint(2))
        }
        "spec.volumeMounts[]" | "spec.scaling.prefill.volumeMounts[]" | "spec.scaling.decode.volumeMounts[]" => {
            (json!([{"name": "v", "mountPath": "/one"}]), json!([{"name": "v", "mountPath": "/other"}]))
        }
        "spec.podTemplate.spec.volumes[]" => {
            let volume = |size: &str| json!([{"name": "v", "emptyDir": {"sizeLimit": size}}]);
            (volume("1Gi"), volume("2Gi"))
        }
        "spec.securityContext"
        | "spec.podTemplate.spec.securityContext"
        | "spec.scaling.prefill.securityContext"
        | "spec.scaling.decode.securityContext" => (json!({"runAsUser": 1000}), json!({"runAsUser": 2000})),
        "spec.imagePullSecrets[]" => (json!([{"name": "one"}]), json!([{"name": "other"}])),
        "spec.nodeSelector.*" => (json!({"pool": "one"}), json!({"pool": "other"})),
        "spec.tolerations[]" => {
            (json!([{"key": "one", "operator": "Exists"}]), json!([{"key": "other", "operator": "Exists"}]))
        }
        other => values_of_shape(other),
    }
}

/// Derives two values from the declaration of a field, so that a new number, switch or enum needs no entry above.
fn values_of_shape(field: &str) -> (Value, Value) {
    let entry = find_field(field).unwrap_or_else(|error| panic!("support::default_rows() has {field}: {error}"));
    match entry.field.map(|field| field.full_shape()) {
        Some(Shape::Integer(_)) => (json!(1), json!(3)),
        Some(Shape::Boolean) => (json!(false), json!(true)),
        Some(Shape::Enum(words)) if words.values.len() > 1 => (json!(words.values[0].0), json!(words.values[1].0)),
        _ => {
            panic!("support::default_rows() has {field}: add two values of it to values() in tests/it/field_support.rs")
        }
    }
}

/// Returns a field without placeholders for keys and items: `spec.engine.args`.
fn parent(field: &str) -> &str {
    field.trim_end_matches(".*").trim_end_matches("[]")
}

fn with(mut start: Start, field: &str, value: &Value) -> Compilation {
    if field == "spec.serving.mode" {
        // Disaggregated mode sizes its workers in other fields.
        start.mode = if value == "aggregated" { "aggregated" } else { "disaggregated" };
    }
    let mut document = start.document();
    if field == "spec.model.source" {
        // The only id that is valid for both sources is a path, which may be in the image or on a volume.
        document["spec"]["model"]["id"] =
            json!(if start.examples().model.contains(".gguf") { "/models/m.gguf" } else { "/models/m" });
        document["spec"]["model"]["storage"] =
            json!({"volumes": [{"name": "v", "mountPath": "/models", "claimName": "c"}]});
        document["spec"]["image"] = json!(start.image.unwrap_or("registry.example.com/image:1.4.0"));
    }
    // In aggregated mode, the fields of a role are ignored.
    let is_ignored = start.mode == "aggregated" && field.contains(".scaling.");
    // A volume and its mount need each other.
    match field {
        mounts if mounts.ends_with(".volumeMounts[]") && !is_ignored => {
            document["spec"]["podTemplate"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        }
        "spec.podTemplate.spec.volumes[]" => {
            document["spec"]["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
        }
        _ => {}
    }
    if field == "spec.engine.image" && !value.is_null() {
        document["spec"].as_object_mut().unwrap().remove("image");
    }
    if field.ends_with(".claims[]") && !is_ignored {
        document["spec"]["podTemplate"]["spec"]["resourceClaims"] =
            json!([{"name": "nic", "resourceClaimName": "nic"}]);
    }
    let mut node = &mut document;
    for key in parent(field).split('.') {
        if !node.is_object() {
            *node = json!({});
        }
        node = node.as_object_mut().unwrap().entry(key.to_owned()).or_insert(Value::Null);
    }
    *node = value.clone();
    let mut text = String::new();
    yaml::to_yaml(&document, &mut text);
    let mut sources = SourceSet::default();
    sources.add("field.yaml", text);
    sources.add_for(Purpose::Options, "options.yaml", OPTIONS);
    compile(&BUILTIN, &sources, Thoroughness::Needed)
}

fn names_field(diagnostic: &Diagnostic, field: &str) -> bool {
    let path = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    // The valid ids depend on the source, so the finding is at the id.
    // An image that cannot run the engine is reported at the image.
    let field = match (field, path.as_str()) {
        ("spec.model.source", "spec.model.id") => "spec.model.id",
        ("spec.engine.type", "spec.image") => "spec.image",
        _ => parent(field),
    };
    let inside = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    path != "spec" && !path.is_empty() && (inside(field, &path) || inside(&path, field))
}

fn fate(start: Start, field: &str) -> Fate {
    let (one, other) = values(field, start);
    let (before, after) = (with(start, field, &one), with(start, field, &other));
    let named = |severity: fn(Severity) -> bool| {
        before
            .diagnostics
            .iter()
            .chain(&after.diagnostics)
            .any(|found| severity(found.severity) && names_field(found, field))
    };
    if named(|severity| severity == Severity::Error) {
        return Fate::Refused;
    }
    let objects = |compilation: &Compilation| {
        let messages: Vec<&str> = compilation.diagnostics.iter().map(|found| found.message.as_str()).collect();
        assert!(!compilation.has_errors(), "{start:?} {field}: {messages:#?}");
        compilation.outputs.iter().map(|output| output.object.clone()).collect::<Vec<_>>()
    };
    if objects(&before) != objects(&after) {
        Fate::Rendered
    } else if named(|_| true) {
        Fate::Reported
    } else {
        Fate::Silent
    }
}

/// Returns whether a field applies in a mode. If it does not, validation reports it for every provider.
fn applies(field: &str, mode: &str) -> bool {
    match mode {
        "aggregated" => !field.starts_with("spec.scaling.prefill") && !field.starts_with("spec.scaling.decode"),
        _ => !field.starts_with("spec.resources") && field != "spec.scaling.replicas",
    }
}

/// Returns every finding of every case, with the provider of its deployment.
fn findings_of_cases() -> Vec<(String, Diagnostic)> {
    let mut said = Vec::new();
    for folder in crate::common::case_folders() {
        let compilation = crate::common::compile_case(&folder);
        for decision in &compilation.decisions {
            let Some(provider) = decision.provider() else { continue };
            let of_it = compilation.diagnostics.iter().filter(|found| found.object.as_ref() == Some(&decision.object));
            said.extend(of_it.map(|found| (provider.to_owned(), found.clone())));
        }
    }
    said
}

#[test]
fn no_field_is_silently_dropped_and_support_tables_are_correct() {
    let mut wrong = Vec::new();
    let said = findings_of_cases();
    for provider in PROVIDERS {
        let starts = match testing(provider.name()) {
            Ok(testing) => &testing.starts,
            Err(missing) => {
                wrong.push(missing.clone());
                continue;
            }
        };
        for row in provider.info().field_support() {
            let field = row.field.as_str();
            let mut fates: BTreeMap<Start, Fate> = BTreeMap::new();
            for start in starts {
                let fate = fate(*start, field);
                if fate == Fate::Silent {
                    wrong.push(format!(
                        "{} drops {field} in silence: {start:?}. Render it, or report a finding at its path",
                        provider.name()
                    ));
                }
                if applies(field, start.mode) {
                    fates.insert(*start, fate);
                }
            }
            let found: BTreeSet<Fate> = fates.values().copied().collect();
            let fits = match row.support {
                Support::Rendered => found.iter().all(|fate| *fate == Fate::Rendered),
                // The values that are not rendered are among the changes here or in a case of the provider.
                Support::Partly => {
                    found.iter().any(|fate| *fate != Fate::Rendered)
                        || said.iter().any(|(name, finding)| name == provider.name() && names_field(finding, field))
                }
                Support::Ignored => found.iter().all(|fate| *fate == Fate::Reported),
                Support::Refused => found.iter().all(|fate| *fate == Fate::Refused),
            };
            // The fields of a role apply to no base deployment of a provider without disaggregated serving.
            let unreachable = fates.is_empty() && row.support == Support::Refused;
            if !fits && !unreachable {
                let found: Vec<String> = fates
                    .iter()
                    .map(|(start, fate)| {
                        let image = start.image.map(|image| format!(" with {image}")).unwrap_or_default();
                        format!("{} in {} mode{image}: {fate:?}", start.engine, start.mode)
                    })
                    .collect();
                let name = provider.name();
                let advice = if row.support == Support::Partly {
                    "Add a golden whose finding shows what is not rendered, or state `Rendered`"
                } else {
                    "Translate it, report it, or state otherwise"
                };
                wrong.push(format!(
                    "{name}: {field} is stated as {:?}, found {}. {advice} in `deviations()` of \
                     providers/{name}/src/support.rs",
                    row.support,
                    found.join("; ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
