//! Generates the CustomResourceDefinitions.

use kubefoundry_actor as actor;
use kubefoundry_actor::AsyncActor;
use kubefoundry_deployment::wire::{CONFIGURATION_KIND, InferenceProviderConfig, KIND, ModelDeployment};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use serde_json::{Value, json};

use super::structural;
use crate::Failure;

/// The declaration of a kind: names, scope, schema and printer columns.
struct CrdKind {
    name: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    /// The words with which `kubectl get` lists several kinds.
    categories: &'static [&'static str],
    scope: &'static str,
    shape: Shape,
    /// The columns of `kubectl get`.
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

const AGE: Column = column("Age", "date", ".metadata.creationTimestamp", "Time since creation");

/// Not `all`, which lists what runs.
const CATEGORIES: &[&str] = &["kubefoundry"];

const KINDS: &[CrdKind] = &[
    CrdKind {
        name: CONFIGURATION_KIND,
        plural: "inferenceproviderconfigs",
        short: &["ipc"],
        categories: CATEGORIES,
        scope: "Cluster",
        shape: InferenceProviderConfig::SHAPE,
        columns: &[
            column("Ready", "boolean", ".status.ready", "Whether the provider is ready"),
            column("Version", "string", ".status.version", "Version of the provider's controller"),
            wide(column("CRD", "string", ".status.upstreamCRDVersion", "The CRD version that the provider writes")),
            AGE,
        ],
    },
    CrdKind {
        name: KIND,
        plural: "modeldeployments",
        // Not `md`, which is MachineDeployment of Cluster API.
        short: &["mdep"],
        categories: CATEGORIES,
        scope: "Namespaced",
        shape: ModelDeployment::SHAPE,
        columns: &[
            column("Phase", "string", ".status.phase", "The phase of the deployment"),
            column("Provider", "string", ".status.provider.name", "The selected provider"),
            column("Engine", "string", ".spec.engine.type", "The engine that runs the model"),
            column("Ready", "integer", ".status.replicas.ready", "Ready replicas"),
            column("Desired", "integer", ".status.replicas.desired", "Desired replicas"),
            wide(column("Model", "string", ".spec.model.id", "The model")),
            wide(column("Endpoint", "string", ".status.endpoint.service", "The Service of the model")),
            wide(column("Reason", "string", ".status.provider.selectedReason", "Why this provider was selected")),
            wide(column("Message", "string", ".status.message", "What the phase means, or what is wrong")),
            AGE,
        ],
    },
];

/// The kind of the Asya operator, extended by binding. It keeps all names, columns and fields of the original CRD.
const ACTOR: CrdKind = CrdKind {
    name: actor::KIND,
    plural: "asyncactors",
    short: &["asyncactor", "asya", "asyas"],
    categories: &[],
    scope: "Namespaced",
    shape: AsyncActor::SHAPE,
    columns: &[
        column("Status", "string", ".status.status", "The state in one word"),
        column("Running", "integer", ".status.replicas", "Ready replicas"),
        column("Failing", "integer", ".status.failingPods", "Pods that fail"),
        column("Total", "integer", ".status.totalReplicas", "All replicas"),
        column("Desired", "integer", ".status.desiredReplicas", "Desired replicas"),
        column("Min", "integer", ".spec.scaling.minReplicas", "The minimum number of replicas"),
        column("Max", "integer", ".spec.scaling.maxReplicas", "The maximum number of replicas"),
        column("Last-Scale", "date", ".status.lastScaleTime", "Time since the last scaling"),
        AGE,
        wide(column("Workload", "string", ".spec.workload.kind", "Kind of the workload")),
        wide(column("Mode", "string", ".status.mode", "Whether the actor has its own workload")),
        wide(column("Transport", "string", ".status.transportStatus", "Whether the transport is ready")),
        wide(column("Scaling", "string", ".status.scalingMode", "KEDA or Manual")),
        wide(column("Queued", "integer", ".status.queuedMessages", "Messages in the queue")),
        wide(column("Processing", "integer", ".status.processingMessages", "Messages in processing")),
    ],
};

/// Returns every CRD, with the name of its file.
pub(super) fn all() -> Result<Vec<(String, Value)>, Failure> {
    let mut all = Vec::new();
    for api_group in API_GROUPS.iter().filter(|api_group| api_group.has_crds) {
        for kind in KINDS {
            let (group, version) = (api_group.name, api_group.version);
            all.push((format!("{group}_{}", kind.plural), definition(kind, group, version, api_group)?));
        }
    }
    // AsyncActor belongs to another project and has one group only, so the choice of our group makes no difference.
    if let (Some((group, version)), Some(api_group)) = (actor::API_VERSION.split_once('/'), API_GROUPS.first()) {
        all.push((format!("{group}_{}", ACTOR.plural), definition(&ACTOR, group, version, api_group)?));
    }
    Ok(all)
}

fn definition(kind: &CrdKind, group: &str, version: &str, api_group: &ApiGroup) -> Result<Value, Failure> {
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
    let mut names = json!({
        "kind": kind.name,
        "listKind": format!("{}List", kind.name),
        "plural": kind.plural,
        "singular": kind.name.to_lowercase(),
        "shortNames": kind.short,
    });
    if !kind.categories.is_empty() {
        names["categories"] = json!(kind.categories);
    }
    let mut subresources = json!({"status": {}});
    if kind.name == KIND && api_group.scales {
        subresources["scale"] = json!({
            "specReplicasPath": ".spec.scaling.replicas",
            "statusReplicasPath": ".status.replicas.desired",
            "labelSelectorPath": ".status.selector",
        });
    }
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{group}", kind.plural)},
        "spec": {
            "group": group,
            "names": names,
            "scope": kind.scope,
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": subresources,
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": structural::object(shape, api_group)?},
            }],
        },
    }))
}
