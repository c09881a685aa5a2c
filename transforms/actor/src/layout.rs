//! The kinds to which actors can bind, and the position of the pod template in each.

/// The position of the pod template in objects of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// API group.
    pub(super) group: &'static str,
    /// Kind.
    pub(super) kind: &'static str,
    /// The path of the pod spec.
    pub(super) pod_spec: &'static [&'static str],
    /// The path of the metadata with the pods' labels.
    pub(super) pod_metadata: &'static [&'static str],
    /// Whether autoscalers set `spec.replicas`.
    pub(super) scales_by_replicas: bool,
    /// Whether Knative runs the pods.
    pub(super) knative: Knative,
}

/// Whether Knative runs the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knative {
    Never,
    Always,
    /// It depends on KServe's deployment mode.
    ByMode,
}

const TEMPLATE_SPEC: &[&str] = &["spec", "template", "spec"];
const TEMPLATE_METADATA: &[&str] = &["spec", "template", "metadata"];

/// All kinds to which actors can bind.
pub(super) static LAYOUTS: &[Layout] = &[
    Layout {
        group: "apps",
        kind: "Deployment",
        pod_spec: TEMPLATE_SPEC,
        pod_metadata: TEMPLATE_METADATA,
        scales_by_replicas: true,
        knative: Knative::Never,
    },
    Layout {
        group: "apps",
        kind: "StatefulSet",
        pod_spec: TEMPLATE_SPEC,
        pod_metadata: TEMPLATE_METADATA,
        scales_by_replicas: true,
        knative: Knative::Never,
    },
    Layout {
        group: "serving.knative.dev",
        kind: "Service",
        pod_spec: TEMPLATE_SPEC,
        pod_metadata: TEMPLATE_METADATA,
        scales_by_replicas: false,
        knative: Knative::Always,
    },
    Layout {
        group: "kaito.sh",
        kind: "Workspace",
        pod_spec: &["inference", "template", "spec"],
        pod_metadata: &["inference", "template", "metadata"],
        scales_by_replicas: false,
        knative: Knative::Never,
    },
    Layout {
        group: "serving.kserve.io",
        kind: "InferenceService",
        // KServe's predictor is a pod spec with labels and annotations beside its fields.
        pod_spec: &["spec", "predictor"],
        pod_metadata: &["spec", "predictor"],
        scales_by_replicas: false,
        knative: Knative::ByMode,
    },
    Layout {
        group: "ray.io",
        kind: "RayService",
        pod_spec: &["spec", "rayClusterConfig", "headGroupSpec", "template", "spec"],
        pod_metadata: &["spec", "rayClusterConfig", "headGroupSpec", "template", "metadata"],
        scales_by_replicas: false,
        knative: Knative::Never,
    },
    Layout {
        group: "ray.io",
        kind: "RayCluster",
        pod_spec: &["spec", "headGroupSpec", "template", "spec"],
        pod_metadata: &["spec", "headGroupSpec", "template", "metadata"],
        scales_by_replicas: false,
        knative: Knative::Never,
    },
];

impl Layout {
    /// Returns the layout of a kind, if actors can bind to it.
    pub(super) fn find(group: &str, kind: &str) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.group == group && layout.kind == kind)
    }
}
