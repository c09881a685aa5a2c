//! Every field of every input kind, with invalid values.

use kubefoundry_actor::options::{ActorOptions, ActorQueueOptions, RabbitMqClusterReference, TransportOptions};
use kubefoundry_compiler::options::render;
use kubefoundry_deployment::wire as model;
use kubefoundry_kubernetes::wire as kubernetes;
use kubefoundry_llamastack::options::LlamaStackSettings;
use kubefoundry_model::gateway::{EndpointPickerOptions, GatewayOptions};
use serde_json::{Value, json};

use super::bounded::run;
use crate::sandbox::{Ran, Sandbox, model};

/// A ModelDeployment that sets every field.
fn deployment() -> Value {
    let resources = json!({
        "requests": {"cpu": "1"}, "limits": {"cpu": "2"}, "claims": [{"name": "c", "request": "r"}],
    });
    let role = json!({
        "replicas": 1, "gpu": {"count": 1, "type": "nvidia.com/gpu"}, "memory": "32Gi", "nodes": 1,
        "engine": {"args": {"seed": "1"}, "extraArgs": ["--x"]}, "env": [{"name": "A", "value": "b"}],
        "resources": resources,
        "probes": {
            "startup": {"httpGet": {"path": "/", "port": 1}}, "readiness": {"exec": {"command": ["a"]}},
            "liveness": {"tcpSocket": {"port": 1}},
        },
        "volumeMounts": [{"name": "x", "mountPath": "/x"}], "securityContext": {"runAsUser": 1},
    });
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {
            "name": "m", "namespace": "n", "labels": {"a": "b"}, "annotations": {"a": "b"}, "uid": "u",
            "generateName": "m-",
        },
        "spec": {
            "model": {
                "id": "org/m", "servedName": "m", "source": "huggingface",
                "storage": {"volumes": [{
                    "name": "v", "purpose": "custom", "mountPath": "/m", "claimName": "c", "size": "1Gi",
                    "storageClassName": "fast", "accessMode": "ReadWriteMany", "readOnly": false,
                }]},
            },
            "provider": {"name": "dynamo", "overrides": {"routerMode": "kv"}},
            "engine": {
                "type": "vllm", "contextLength": 1, "trustRemoteCode": true, "enablePrefixCaching": true,
                "enforceEager": true, "image": "a/b:1", "args": {"seed": "1"}, "extraArgs": ["--x"],
            },
            "serving": {"mode": "aggregated"},
            "scaling": {"replicas": 1, "prefill": role, "decode": role},
            "resources": {
                "gpu": {"count": 1, "type": "nvidia.com/gpu"}, "memory": "1Gi", "cpu": "1", "sharedMemory": "1Mi", "nodes": 1,
                "requests": {"cpu": "1"}, "limits": {"cpu": "2"}, "claims": [{"name": "c", "request": "r"}],
            },
            "image": "a/b:1",
            "env": [{"name": "A", "value": "b", "valueFrom": {
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"},
                "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu", "divisor": "1"},
                "configMapKeyRef": {"name": "c", "key": "k", "optional": true},
                "secretKeyRef": {"name": "s", "key": "k", "optional": true},
                "fileKeyRef": {"volumeName": "v", "path": "p", "key": "k", "optional": true},
            }}],
            "probes": {
                "startup": {"httpGet": {"path": "/", "port": 1}}, "readiness": {"exec": {"command": ["a"]}},
                "liveness": {"tcpSocket": {"port": 1}},
            },
            "volumeMounts": [{"name": "x", "mountPath": "/x"}], "securityContext": {"runAsUser": 1},
            "podTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}},
                "spec": {
                    "affinity": {"podAntiAffinity": {}},
                    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
                    "priorityClassName": "p", "schedulerName": "s", "serviceAccountName": "a", "runtimeClassName": "r",
                    "terminationGracePeriodSeconds": 1, "securityContext": {"fsGroup": 1}, "hostIPC": false,
                    "volumes": [{"name": "x", "emptyDir": {}}],
                    "resourceClaims": [{"name": "c", "resourceClaimName": "c", "resourceClaimTemplateName": "c"}],
                },
            },
            "secrets": {"huggingFaceToken": "s"},
            "imagePullSecrets": [{"name": "s"}],
            "nodeSelector": {"a": "b"},
            "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 1}],
            "frontend": {
                "replicas": 1, "args": {"migration-limit": "1"}, "env": [{"name": "A", "value": "b"}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
            },
            "gateway": {"enabled": true, "httpRouteRef": "r", "modelName": "m"},
        },
    })
}

/// A provider configuration that sets every field.
fn configuration() -> Value {
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1",
        "kind": "InferenceProviderConfig",
        "metadata": {"name": "p"},
        "spec": {
            "capabilities": {
                "engines": [{
                    "name": "vllm", "servingModes": ["aggregated"], "cpuSupport": true, "gpuSupport": true, "requiresCRD": true,
                    "apiFormats": ["openai"],
                    "gateway": {
                        "endpointPicker": {"configData": "c", "image": "i"}, "ignoresServedName": true,
                        "inferencePoolNamePattern": "p", "inferencePoolNamespace": "n", "managesInferencePool": true,
                    },
                }],
                "servingModes": ["aggregated"], "cpuSupport": true, "gpuSupport": true,
            },
            "selectionRules": [{"condition": "true", "priority": 1, "reason": "r"}],
            "documentation": "d",
        },
        "status": {"ready": true},
    })
}

/// Options that set every field.
fn options() -> Value {
    json!({
        "apiVersion": "config.kubefoundry.ai/v1alpha1",
        "kind": "Render",
        "metadata": {"name": "o"},
        "crdVersions": {"dynamo": "auto"},
        "runtimes": {"dynamo": "1.4.0"},
        "images": {"a": "b"},
        "providers": [{}],
        "kaito": {"nodeAutoProvisioning": true, "gatewayAPIInferenceExtension": false},
        "gateway": {
            "name": "a", "namespace": "a", "sectionName": "a", "endpointPicker": {"name": "a", "port": 1},
        },
        "llamaStack": {
            "image": "a/b:1", "distributions": {"a": "a/b:1"}, "imageOverrides": {"a": "a/b:1"}, "operatorNamespace": "a",
            "networkPolicy": true, "preflight": "auto", "volumeSizeLimit": "1Gi", "baseConfigPaths": ["/a"], "mergeMode": "init",
            "nativeExtraProviders": true, "initResources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, "clusterRole": "a",
        },
        "actor": {
            "transports": {"a": {
                "type": "rabbitmq", "enabled": true,
                "config": {
                    "host": "a", "port": 1, "username": "a", "passwordSecretRef": {"name": "a", "key": "b"}, "exchange": "a",
                    "region": "a", "actorRoleArn": "a", "accountId": "1", "endpoint": "http://a", "visibilityTimeout": 1,
                    "waitTimeSeconds": 1, "tags": {"a": "b"},
                    "credentials": {
                        "accessKeyIdSecretRef": {"name": "a", "key": "b"}, "secretAccessKeySecretRef": {"name": "a", "key": "b"},
                    },
                    "queues": {"autoCreate": true, "forceRecreate": false, "dlq": {"enabled": true, "maxRetryCount": 1, "retentionDays": 1}},
                },
                "queues": {
                    "provider": "rabbitmq-topology", "type": "quorum",
                    "rabbitmqClusterReference": {"name": "a", "namespace": "a", "connectionSecret": {"name": "a"}},
                },
            }},
            "gatewayURL": "http://a", "sidecarImage": "a/b:1", "runtimeScript": "a", "kserveDefaultMode": "Standard",
            "queues": {
                "provider": "rabbitmq-topology", "type": "quorum",
                "rabbitmqClusterReference": {"name": "a", "namespace": "a", "connectionSecret": {"name": "a"}},
            },
        },
        "root": true, "environments": ["a/*"], "include": ["b"], "exclude": ["c"], "helm": false,
        "kustomize": {"build": true, "enableExec": false, "allowRemote": false},
        "policy": {"podSecurity": "baseline", "allowCapabilities": ["A"], "allowHostPaths": ["/a"], "allowHostIPC": false},
        "output": "generated",
        "prune": false, "ownerReferences": false, "allowEmpty": false, "strict": false,
        "limits": {"documents": 1, "documentBytes": 1, "nodes": 1, "depth": 1, "aliasNodes": 1, "ruleBytes": 1, "ruleSteps": 1},
        "severities": {"idle-gpus": "error"},
    })
}

/// Checks that the documents above set all fields of the wire types, so that new fields are tested.
#[test]
fn documents_set_every_field() {
    let assert_set = |document: &Value, pointer: &str, fields: &[&str], excluded: &[&str]| {
        let object = document.pointer(pointer).and_then(Value::as_object).unwrap();
        for field in fields.iter().filter(|field| !excluded.contains(field)) {
            assert!(object.contains_key(*field), "{pointer} lacks {field}");
        }
    };
    let document = deployment();
    // Fields that only the API server sets are not validated.
    let server_fields = &[
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "selfLink",
        "managedFields",
        "finalizers",
        "ownerReferences",
    ];
    assert_set(&document, "", model::ModelDeployment::FIELDS, &["status"]);
    assert_set(&document, "/metadata", kubernetes::ObjectMeta::FIELDS, server_fields);
    for (pointer, fields) in [
        ("/spec", model::ModelDeploymentSpec::FIELDS),
        ("/spec/model", model::Model::FIELDS),
        ("/spec/model/storage", model::Storage::FIELDS),
        ("/spec/model/storage/volumes/0", model::StorageVolume::FIELDS),
        ("/spec/provider", model::Provider::FIELDS),
        ("/spec/engine", model::Engine::FIELDS),
        ("/spec/serving", model::Serving::FIELDS),
        ("/spec/scaling", model::Scaling::FIELDS),
        ("/spec/scaling/prefill", model::RoleScaling::FIELDS),
        ("/spec/scaling/prefill/engine", model::RoleEngine::FIELDS),
        ("/spec/scaling/prefill/resources", model::RoleResources::FIELDS),
        ("/spec/resources/claims/0", model::ContainerClaim::FIELDS),
        ("/spec/podTemplate/spec/resourceClaims/0", model::PodResourceClaim::FIELDS),
        ("/spec/resources", model::Resources::FIELDS),
        ("/spec/resources/gpu", model::Gpu::FIELDS),
        ("/spec/env/0", kubernetes::EnvVar::FIELDS),
        ("/spec/env/0/valueFrom", kubernetes::EnvVarSource::FIELDS),
        ("/spec/env/0/valueFrom/fieldRef", kubernetes::FieldSelector::FIELDS),
        ("/spec/env/0/valueFrom/resourceFieldRef", kubernetes::ResourceFieldSelector::FIELDS),
        ("/spec/env/0/valueFrom/configMapKeyRef", kubernetes::ConfigMapKeySelector::FIELDS),
        ("/spec/env/0/valueFrom/secretKeyRef", kubernetes::SecretKeySelector::FIELDS),
        ("/spec/env/0/valueFrom/fileKeyRef", kubernetes::FileKeySelector::FIELDS),
        ("/spec/podTemplate", model::PodTemplate::FIELDS),
        ("/spec/podTemplate/metadata", model::PodTemplateMetadata::FIELDS),
        ("/spec/secrets", model::Secrets::FIELDS),
        ("/spec/imagePullSecrets/0", kubernetes::LocalObjectReference::FIELDS),
        ("/spec/tolerations/0", kubernetes::Toleration::FIELDS),
        ("/spec/gateway", model::Gateway::FIELDS),
    ] {
        assert_set(&document, pointer, fields, &[]);
    }
    let document = configuration();
    assert_set(
        &document,
        "/status",
        model::InferenceProviderConfigStatus::FIELDS,
        &["version", "lastHeartbeat", "upstreamCRDVersion", "upstreamSchemaHash", "conditions"],
    );
    for (pointer, fields) in [
        ("", model::InferenceProviderConfig::FIELDS),
        ("/spec", model::InferenceProviderConfigSpec::FIELDS),
        ("/spec/capabilities", model::Capabilities::FIELDS),
        ("/spec/capabilities/engines/0", model::EngineCapability::FIELDS),
        ("/spec/capabilities/engines/0/gateway", model::EngineGateway::FIELDS),
        ("/spec/capabilities/engines/0/gateway/endpointPicker", model::EndpointPicker::FIELDS),
        ("/spec/selectionRules/0", model::SelectionRule::FIELDS),
    ] {
        assert_set(&document, pointer, fields, &[]);
    }
    let document = options();
    assert_set(&document, "", render::Render::FIELDS, &[]);
    assert_set(&document, "/limits", render::Limits::FIELDS, &[]);
    assert_set(&document, "/kaito", &["nodeAutoProvisioning", "gatewayAPIInferenceExtension"], &[]);
    assert_set(&document, "/gateway", GatewayOptions::FIELDS, &[]);
    assert_set(&document, "/gateway/endpointPicker", EndpointPickerOptions::FIELDS, &[]);
    assert_set(&document, "/llamaStack", LlamaStackSettings::FIELDS, &[]);
    assert_set(&document, "/actor", ActorOptions::FIELDS, &[]);
    assert_set(&document, "/actor/transports/a", TransportOptions::FIELDS, &[]);
    assert_set(&document, "/actor/queues", ActorQueueOptions::FIELDS, &[]);
    assert_set(&document, "/actor/queues/rabbitmqClusterReference", RabbitMqClusterReference::FIELDS, &[]);
}

/// Collects the JSON pointer of every value below the root.
fn collect_pointers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    let mut below = |key: &str, value: &Value| {
        let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        collect_pointers(value, &pointer, found);
        found.push(pointer);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| below(&index.to_string(), item)),
        _ => {}
    }
}

/// Converts a JSON pointer to a field path in the form of findings.
fn field_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            path += &format!("[{part}]");
        } else if part.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            path += if path.is_empty() { "" } else { "." };
            path += part;
        } else {
            path += &format!("[{part:?}]");
        }
    }
    path
}

/// Returns variants of `whole` that each differ in one value, with the pointer to it and the new value.
fn single_changes(
    whole: &Value,
    is_changed: impl Fn(&str, &Value) -> bool,
    values: &[Value],
) -> Vec<(String, Value, Value)> {
    let mut pointers = Vec::new();
    collect_pointers(whole, "", &mut pointers);
    let mut documents = Vec::new();
    for pointer in pointers.into_iter().filter(|pointer| is_changed(pointer, whole.pointer(pointer).unwrap())) {
        for value in values {
            let mut document = whole.clone();
            *document.pointer_mut(&pointer).unwrap() = value.clone();
            documents.push((pointer.clone(), value.clone(), document));
        }
    }
    documents
}

/// Lints the documents. Returns the code, path and message of each error, by document.
///
/// Each run has 200 documents, because a run may have at most 256 provider configurations.
fn lint(documents: &[(String, Value, Value)], is_options: bool) -> Vec<Vec<(String, String, String)>> {
    documents.chunks(200).flat_map(|part| lint_part(part, is_options)).collect()
}

fn lint_part(documents: &[(String, Value, Value)], is_options: bool) -> Vec<Vec<(String, String, String)>> {
    let text: String = documents.iter().map(|(_, _, document)| format!("{document}\n---\n")).collect();
    let sandbox = Sandbox::new().with("all.yaml", text).with("a.yaml", model("a"));
    let arguments: &[&str] = if is_options {
        &["lint", "a.yaml", "--config", "all.yaml", "-o", "json"]
    } else {
        &["lint", "all.yaml", "-o", "json"]
    };
    let Ran { out, .. } = run(&sandbox, arguments);
    let report: Value = serde_json::from_str(&out).unwrap();
    let mut errors = vec![Vec::new(); documents.len()];
    for finding in report["diagnostics"].as_array().unwrap().iter().filter(|finding| finding["severity"] == "error") {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let Some(document) = finding["document"].as_u64() else { continue };
        assert!(finding["line"].as_u64() > Some(0) && finding["column"].as_u64() > Some(0), "{finding}");
        errors[usize::try_from(document).unwrap()].push((text("code"), text("path"), text("message")));
    }
    errors
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "mapping",
    }
}

/// Whether a field has the structure of Kubernetes, against which `pipeline::skeletons` checks it.
fn is_free_form(pointer: &str) -> bool {
    let fields = [
        "/spec/podTemplate/spec/affinity",
        "/spec/podTemplate/spec/topologySpreadConstraints/",
        "/spec/probes/startup",
        "/spec/probes/readiness",
        "/spec/probes/liveness",
        "/spec/volumeMounts/",
        "/spec/securityContext",
        "/spec/podTemplate/spec/securityContext",
        "/spec/podTemplate/spec/volumes/",
        "/spec/scaling/prefill/probes/",
        "/spec/scaling/prefill/volumeMounts/",
        "/spec/scaling/prefill/securityContext",
        "/spec/scaling/decode/probes/",
        "/spec/scaling/decode/volumeMounts/",
        "/spec/scaling/decode/securityContext",
    ];
    fields.iter().any(|field| pointer.starts_with(field))
}

/// A value of another type is an error at its field. Null counts as an absent field, as in an API server.
#[test]
fn wrong_types_in_every_field() {
    let values = [
        json!(true),
        json!(7),
        json!(1.5),
        json!("text"),
        json!([]),
        json!({}),
        json!([null]),
        json!({"a": {}}),
        Value::Null,
    ];
    for (whole, is_options) in [(deployment(), false), (configuration(), false), (options(), true)] {
        // Another header makes it a different kind, and overrides are validated by the provider.
        let is_checked = |pointer: &str, _: &Value| {
            !matches!(pointer, "/apiVersion" | "/kind") && !pointer.contains("/overrides/") && !is_free_form(pointer)
        };
        let documents = single_changes(&whole, is_checked, &values);
        assert!(documents.len() > 200, "{}", documents.len());
        let errors = lint(&documents, is_options);
        for ((pointer, value, _), errors) in documents.iter().zip(&errors) {
            let right = whole.pointer(pointer).unwrap();
            let is_fine = match pointer.as_str() {
                "/spec/model/storage/volumes/0/size"
                | "/spec/env/0/valueFrom/resourceFieldRef/divisor"
                | "/spec/resources/requests/cpu"
                | "/spec/resources/limits/cpu"
                | "/spec/scaling/prefill/resources/requests/cpu"
                | "/spec/scaling/prefill/resources/limits/cpu"
                | "/spec/scaling/decode/resources/requests/cpu"
                | "/spec/scaling/decode/resources/limits/cpu"
                | "/spec/frontend/resources/requests/cpu"
                | "/spec/frontend/resources/limits/cpu"
                | "/llamaStack/volumeSizeLimit"
                | "/llamaStack/initResources/requests/cpu"
                | "/llamaStack/initResources/limits/cpu" => kind(value) == "integer",
                // The specification also allows a bare name.
                "/spec/capabilities/engines/0" => kind(value) == "string",
                // Checked only if the other options have no error.
                "/providers/0" => true,
                _ => false,
            };
            if kind(value) == kind(right) || value.is_null() || is_fine {
                continue;
            }
            let path = field_path(pointer);
            let is_reported = errors
                .iter()
                .any(|(code, at, _)| at.starts_with(&path) && matches!(code.as_str(), "KF0112" | "KF0801"));
            assert!(is_reported, "{path} = {value}: {errors:?}");
        }
    }
}

#[test]
fn wrong_types_in_place_of_an_inline_configuration() {
    for value in [json!(true), json!(7), json!("text"), json!([]), json!({})] {
        let mut render = json!({"apiVersion": "config.kubefoundry.ai/v1alpha1", "kind": "Render"});
        render["providers"] = json!([value]);
        let sandbox = Sandbox::new().with("options.yaml", render.to_string()).with("a.yaml", model("a"));
        let ran = run(&sandbox, &["render", "a.yaml", "--config", "options.yaml", "--diagnostics", "concise"]).exits(2);
        assert!(ran.err.contains("options.yaml:1:77: error[KF0801] providers[0] is"), "{}", ran.err);
        assert_eq!(ran.out, "");
    }
}

/// Negative and out-of-range numbers are errors, except for seconds of tolerations.
#[test]
fn negative_and_huge_numbers_in_every_number_field() {
    let values: Vec<Value> = ["-1", "-2147483649", "-9223372036854775808", "99999999999999999999", "1e308", "-0.5"]
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect();
    for (whole, is_options) in [(deployment(), false), (configuration(), false), (options(), true)] {
        let documents = single_changes(&whole, |pointer, value| value.is_i64() && !is_free_form(pointer), &values);
        assert!(!documents.is_empty());
        for ((pointer, value, _), errors) in documents.iter().zip(lint(&documents, is_options)) {
            let is_fine = pointer.ends_with("/tolerationSeconds") && value.is_i64();
            let path = field_path(pointer);
            assert!(is_fine || errors.iter().any(|(_, at, _)| *at == path), "{path} = {value}: {errors:?}");
        }
        let huge = single_changes(
            &whole,
            |pointer, value| value.is_i64() && !is_free_form(pointer),
            &[json!(2_147_483_648_u32), json!(u64::MAX)],
        );
        for ((pointer, value, _), errors) in huge.iter().zip(lint(&huge, is_options)) {
            let is_fine = pointer.ends_with("/tolerationSeconds") || pointer.starts_with("/limits/");
            let path = field_path(pointer);
            assert!(is_fine || errors.iter().any(|(_, at, _)| *at == path), "{path} = {value}: {errors:?}");
        }
    }
}

/// Messages about very long strings must stay short.
#[test]
fn long_strings_in_every_string_field() {
    let long = [json!("a".repeat(10_000)), json!("\u{e9} ".repeat(5_000))];
    for (whole, is_options) in [(deployment(), false), (configuration(), false), (options(), true)] {
        let documents = single_changes(&whole, |_, value| value.is_string(), &long);
        for ((pointer, _, _), errors) in documents.iter().zip(lint(&documents, is_options)) {
            for (code, _, message) in errors {
                let length = message.chars().count();
                assert!(length < 1000, "{pointer}: {code} has {length} characters");
            }
        }
    }
}

/// Control characters, directional marks and invisible characters in any field must not reach the terminal, a log or a
/// report.
#[test]
fn control_characters_in_every_string_field() {
    // A message shows a text whole, so that several characters share one. Those that end a text or a line for some reader have
    // their own.
    let values = [json!("a\u{7}\u{1b}[31m\u{9b}\u{7f}\u{202e}\u{2028}\u{200b}b"), json!("a\u{0}b"), json!("a\r\nb")];
    for (whole, config) in [(deployment(), "none.yaml"), (configuration(), "none.yaml"), (options(), "all.yaml")] {
        let documents = single_changes(&whole, |_, value| value.is_string(), &values);
        let text: String = documents.iter().map(|(_, _, document)| format!("{document}\n---\n")).collect();
        let sandbox = Sandbox::new()
            .with("all.yaml", text)
            .with("none.yaml", "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n");
        let lint =
            ["text", "concise", "github", "json", "sarif", "gitlab", "junit"].map(|format| ["lint", "-o", format]);
        let explain = ["text", "json", "mermaid", "html"].map(|format| ["explain", "-o", format]);
        for arguments in lint.iter().chain(&explain).chain(&[["render", "-o", "yaml"]]) {
            let ran = run(&sandbox, &[&arguments[..], &["all.yaml", "--config", config]].concat());
            let is_refused = |c: &char| c.is_control() && *c != '\n' || "\u{202e}\u{2028}\u{200b}".contains(*c);
            let refused = (ran.out + &ran.err).chars().find(is_refused);
            assert_eq!(refused, None, "{arguments:?}");
        }
    }
    // Keys are escaped, too.
    let sandbox = Sandbox::new().with("a.yaml", model("a") + "  \"x\\u001b[31m\\u009b\": 1\n");
    let ran = run(&sandbox, &["lint", "a.yaml"]).exits(1);
    assert!(!ran.out.contains(['\u{1b}', '\u{9b}']), "{}", ran.out);
}
