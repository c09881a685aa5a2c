//! The names, labels and meanings of all metrics.

/// A metric as the documentation lists it.
#[derive(Debug)]
pub struct Metric {
    /// The name, with its unit.
    pub name: &'static str,
    /// `gauge`, `counter` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it measures.
    pub meaning: &'static str,
}

pub(super) const DEPLOYMENTS: Metric = Metric {
    name: "kubefoundry_modeldeployment_total",
    kind: "gauge",
    labels: &["namespace", "phase"],
    meaning: "Number of ModelDeployments in a phase, by namespace",
};
pub(super) const DURATION: Metric = Metric {
    name: "kubefoundry_reconciliation_duration_seconds",
    kind: "histogram",
    labels: &["provider"],
    meaning: "Duration of reconciliations; `provider` is the controller: `core`, `selector` or a provider",
};
pub(super) const ERRORS: Metric = Metric {
    name: "kubefoundry_reconciliation_errors_total",
    kind: "counter",
    labels: &["provider", "error_type"],
    meaning: "Failed reconciliations, which are requeued",
};
pub(super) const SELECTION: Metric = Metric {
    name: "kubefoundry_provider_selection",
    kind: "counter",
    labels: &["provider", "reason"],
    meaning: "Selections of a provider, by reason",
};
pub(super) const REPLICAS: Metric = Metric {
    name: "kubefoundry_deployment_replicas",
    kind: "gauge",
    labels: &["name", "namespace", "state"],
    meaning: "Replicas of a deployment: `desired`, `ready` or `available`",
};
pub(super) const PHASE: Metric = Metric {
    name: "kubefoundry_deployment_phase",
    kind: "gauge",
    labels: &["name", "namespace", "phase"],
    meaning: "1 for the current phase of a deployment; other phases have no series",
};
pub(super) const EVALUATIONS: Metric = Metric {
    name: "kubefoundry_evaluations_total",
    kind: "counter",
    labels: &["provider"],
    meaning: "Evaluations of ModelDeployments, by the controller that asked first; the others share the result",
};
pub(super) const REQUESTS: Metric = Metric {
    name: "kubefoundry_api_requests_total",
    kind: "counter",
    labels: &["verb", "resource"],
    meaning: "Requests to the API server",
};
pub(super) const LEADER: Metric = Metric {
    name: "kubefoundry_leader",
    kind: "gauge",
    labels: &["role"],
    meaning: "1 if this process holds the lease of a role, 0 if it waits for it",
};
pub(super) const TAKEOVERS: Metric = Metric {
    name: "kubefoundry_status_takeovers_total",
    kind: "counter",
    labels: &["provider"],
    meaning: "Status fields of a deployment that another client had written, and the controller took back",
};
pub(super) const RECREATIONS: Metric = Metric {
    name: "kubefoundry_recreations_total",
    kind: "counter",
    labels: &["provider", "result"],
    meaning: "Recreations that no edit of a deployment caused: `ready`, or `not_ready` within `--recreate-deadline`",
};
pub(super) const BINDING_CONFLICTS: Metric = Metric {
    name: "kubefoundry_binding_conflicts_total",
    kind: "counter",
    labels: &["provider"],
    meaning: "How often another client removed or changed what an actor added to a workload; `provider` is the controller, `actors`",
};
pub(super) const RIGHTS: Metric = Metric {
    name: "kubefoundry_missing_rights",
    kind: "gauge",
    labels: &["provider"],
    meaning: "Number of rights that the controller of a provider needs and lacks, by SelfSubjectAccessReview",
};
pub(super) const HEARTBEAT_AGE: Metric = Metric {
    name: "kubefoundry_heartbeat_age_seconds",
    kind: "gauge",
    labels: &["provider"],
    meaning: "Time since the last heartbeat that the leader of a provider wrote; exported only by the leader of the provider",
};
pub(super) const WATCH_UP: Metric = Metric {
    name: "kubefoundry_watch_up",
    kind: "gauge",
    labels: &["watch"],
    meaning: "1 if the watch of a kind, or of one object of it, works, 0 before its first list and while its attempts fail",
};
pub(super) const QUEUE_DEPTH: Metric = Metric {
    name: "kubefoundry_queue_depth",
    kind: "gauge",
    labels: &["role"],
    meaning: "Number of deployments that wait for the controller of a role; exported only by the leader of the role",
};
pub(super) const OLDEST_WAIT: Metric = Metric {
    name: "kubefoundry_oldest_wait_seconds",
    kind: "gauge",
    labels: &["provider"],
    meaning: "Time for which the reconciliations of a deployment have failed or waited without a success, the longest of all, 0 if none; `provider` is the controller; exported only by the leader of its role",
};
pub(super) const ADMISSIONS: Metric = Metric {
    name: "kubefoundry_admission_requests_total",
    kind: "counter",
    labels: &["webhook", "verdict"],
    meaning: "Requests to the webhooks `mutate`, `validate` and `convert`: `allowed`, `refused` or `error`, which includes those that the client gave up",
};
pub(super) const ADMISSION_DURATION: Metric = Metric {
    name: "kubefoundry_admission_duration_seconds",
    kind: "histogram",
    labels: &["webhook"],
    meaning: "Time from the request to a webhook to its response",
};
pub(super) const BUILD: Metric = Metric {
    name: "kubefoundry_build_info",
    kind: "gauge",
    labels: &["version"],
    meaning: "Version of the operator; the value is always 1",
};

/// All metrics: those of the specification, then the additional ones.
pub const METRICS: &[Metric] = &[
    DEPLOYMENTS,
    DURATION,
    ERRORS,
    SELECTION,
    REPLICAS,
    PHASE,
    EVALUATIONS,
    REQUESTS,
    LEADER,
    RIGHTS,
    HEARTBEAT_AGE,
    WATCH_UP,
    QUEUE_DEPTH,
    OLDEST_WAIT,
    ADMISSIONS,
    ADMISSION_DURATION,
    TAKEOVERS,
    RECREATIONS,
    BINDING_CONFLICTS,
    BUILD,
];
