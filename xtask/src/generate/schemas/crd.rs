//! The CustomResourceDefinitions.

use kubefoundry_actor as actor;
use kubefoundry_actor::AsyncActor;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_model::wire::{CONFIGURATION_KIND, InferenceProviderConfig, KIND, ModelDeployment};
use serde_json::{Value, json};

use super::structural;
use crate::Failure;

/// A kind of ours as a cluster knows it.
struct Kind {
    name: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    scope: &'static str,
    shape: Shape,
    /// Name, type, path, description; what matters less is shown by `-o wide`.
    columns: &'static [Column],
}

#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    description: &'static str,
    wide: bool,
}

const fn column(name: &'static str, kind: &'static str, path: &'static str, description: &'static str) -> Column {
    Column { name, kind, path, description, wide: false }
}

const fn wide(column: Column) -> Column {
    Column { wide: true, ..column }
}

const AGE: Column = column("Age", "date", ".metadata.creationTimestamp", "How long it exists");

const KINDS: &[Kind] = &[
    Kind {
        name: CONFIGURATION_KIND,
        plural: "inferenceproviderconfigs",
        short: &["ipc"],
        scope: "Cluster",
        shape: InferenceProviderConfig::SHAPE,
        columns: &[
            column("Ready", "boolean", ".status.ready", "Whether the provider works"),
            column("Version", "string", ".status.version", "Version of the provider's controller"),
            wide(column("CRD", "string", ".status.upstreamCRDVersion", "The CRD version it writes")),
            AGE,
        ],
    },
    Kind {
        name: KIND,
        plural: "modeldeployments",
        short: &["mdep"],
        scope: "Namespaced",
        shape: ModelDeployment::SHAPE,
        columns: &[
            column("Phase", "string", ".status.phase", "Where the deployment is in its life"),
            column("Provider", "string", ".status.provider.name", "The provider that runs it"),
            column("Engine", "string", ".spec.engine.type", "The engine that runs the model"),
            column("Ready", "integer", ".status.replicas.ready", "Replicas that are ready"),
            wide(column("Model", "string", ".spec.model.id", "The model")),
            wide(column("Endpoint", "string", ".status.endpoint.service", "The Service where the model answers")),
            wide(column("Reason", "string", ".status.provider.selectedReason", "Why this provider was selected")),
            AGE,
        ],
    },
];

/// The kind of the Asya operator with what binding adds. Names, columns and fields of its own CRD are all here.
const ACTOR: Kind = Kind {
    name: actor::KIND,
    plural: "asyncactors",
    short: &["asyncactor", "asya", "asyas"],
    scope: "Namespaced",
    shape: AsyncActor::SHAPE,
    columns: &[
        column("Status", "string", ".status.status", "The state in one word"),
        column("Running", "integer", ".status.replicas", "Ready replicas"),
        column("Failing", "integer", ".status.failingPods", "Pods that fail"),
        column("Total", "integer", ".status.totalReplicas", "All replicas"),
        column("Desired", "integer", ".status.desiredReplicas", "Replicas that are wanted"),
        column("Min", "integer", ".spec.scaling.minReplicas", "At least so many replicas"),
        column("Max", "integer", ".spec.scaling.maxReplicas", "At most so many replicas"),
        column("Last-Scale", "string", ".status.lastScaleFormatted", "When and which way it scaled last"),
        AGE,
        wide(column("Workload", "string", ".spec.workload.kind", "Kind of the workload")),
        wide(column("Mode", "string", ".status.mode", "Whether it has a workload of its own")),
        wide(column("Transport", "string", ".status.transportStatus", "Whether the transport is ready")),
        wide(column("Scaling", "string", ".status.scalingMode", "KEDA or Manual")),
        wide(column("Queued", "integer", ".status.queuedMessages", "Messages that wait")),
        wide(column("Processing", "integer", ".status.processingMessages", "Messages that are worked on")),
    ],
};

/// Every CRD with the name of its file.
pub(super) fn all() -> Result<Vec<(String, Value)>, Failure> {
    let mut all = Vec::new();
    for api_group in API_GROUPS.iter().filter(|api_group| api_group.has_crds) {
        for kind in KINDS {
            let (group, version) = (api_group.name, api_group.version);
            all.push((format!("{group}_{}", kind.plural), definition(kind, group, version, api_group)?));
        }
    }
    // Of a group of another project, which has no API group: what API groups differ in is not in it.
    if let (Some((group, version)), Some(api_group)) = (actor::API_VERSION.split_once('/'), API_GROUPS.first()) {
        all.push((format!("{group}_{}", ACTOR.plural), definition(&ACTOR, group, version, api_group)?));
    }
    Ok(all)
}

fn definition(kind: &Kind, group: &str, version: &str, api_group: &ApiGroup) -> Result<Value, Failure> {
    let Shape::Object(shape) = kind.shape else {
        return Err(Failure::Broken(format!("{} is not an object", kind.name)));
    };
    let columns: Vec<Value> = kind
        .columns
        .iter()
        .map(|column| {
            let mut value = json!({
                "name": column.name, "type": column.kind, "jsonPath": column.path, "description": column.description,
            });
            if let (true, Value::Object(fields)) = (column.wide, &mut value) {
                fields.insert("priority".to_owned(), json!(1));
            }
            value
        })
        .collect();
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{group}", kind.plural)},
        "spec": {
            "group": group,
            "names": {
                "kind": kind.name,
                "listKind": format!("{}List", kind.name),
                "plural": kind.plural,
                "singular": kind.name.to_lowercase(),
                "shortNames": kind.short,
            },
            "scope": kind.scope,
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": structural::object(shape, api_group)?},
            }],
        },
    }))
}
