//! Choice of the kind: a Workspace serves from one pod, an InferenceSet from any number of pods.

use super::auto_upgrade::choose_upgrades;
use super::codes::{WORKLOAD_KIND_CHANGES, WORKSPACE_REPLICAS};
use super::manifests::AutoUpgrade;
use super::overrides::{self, Overrides, WorkloadKind};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_provider::metadata;
use kubefoundry_yaml::field_path::FieldPath;

/// The kind of the main object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KaitoKind {
    /// One pod, with a Service of the same name.
    Workspace,
    /// Replicas, each a Workspace with its own name, behind a rendered Service.
    InferenceSet,
}

impl KaitoKind {
    /// Returns the kind as objects write it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "Workspace",
            Self::InferenceSet => "InferenceSet",
        }
    }

    /// Returns the kind with an article, for messages.
    const fn with_article(self) -> &'static str {
        match self {
            Self::Workspace => "a KAITO Workspace",
            Self::InferenceSet => "a KAITO InferenceSet",
        }
    }

    /// Returns the maximum length of the deployment's name. Pods of a StatefulSet have the label
    /// `controller-revision-hash: <name>-<10 characters>` of at most 63 characters, and an InferenceSet names its
    /// Workspaces `<name>-<5 characters>`.
    const fn max_name_length(self) -> usize {
        match self {
            Self::Workspace => 52,
            Self::InferenceSet => 46,
        }
    }
}

/// Chooses the kind (docs/design/0011) and checks the length of the name.
pub(super) fn choose_kind(
    deployment: &Deployment,
    worker: &Worker,
    overrides: &Overrides,
    findings: &mut Findings<'_>,
) -> KaitoKind {
    metadata::check_name_start(deployment, "KAITO", findings);
    let replicas = worker.replicas.value;
    let path = worker.replicas_path();
    let kind = match overrides.workload.unwrap_or(WorkloadKind::Auto) {
        WorkloadKind::InferenceSet => KaitoKind::InferenceSet,
        WorkloadKind::Auto if replicas == 1 => KaitoKind::Workspace,
        // The written kind is invalid, which is reported, so no warning about the choice follows.
        WorkloadKind::Auto if overrides.workload.is_none() && overrides::is_written(deployment, "workload") => {
            KaitoKind::InferenceSet
        }
        WorkloadKind::Auto => {
            let message = format!(
                "{path} is {replicas}, which renders an InferenceSet; 1 renders a Workspace, and a change from one to \
                 the other replaces the object"
            );
            findings
                .report(&WORKLOAD_KIND_CHANGES, &path, message)
                .help(format!("set {}: InferenceSet to scale in place", overrides::path().workload()));
            KaitoKind::InferenceSet
        }
        WorkloadKind::Workspace => {
            if replicas != 1 {
                let message = format!("{path} is {replicas}, expected 1: a KAITO Workspace serves from one pod");
                findings
                    .report(&WORKSPACE_REPLICAS, &path, message)
                    .related(overrides::path().workload(), "set here")
                    .help("set spec.provider.overrides.workload to InferenceSet, or remove it");
            }
            KaitoKind::Workspace
        }
    };
    metadata::check_name_length(
        deployment,
        kind.max_name_length(),
        kind.with_article(),
        "shorten it: KAITO derives names of at most 63 characters from it",
        findings,
    );
    kind
}

/// Settings that only an InferenceSet has.
#[derive(Debug)]
pub(super) struct SetSettings {
    /// The largest number of nodes of all replicas.
    pub(super) node_count_limit: Option<u32>,
    /// Automatic upgrades of the replicas.
    pub(super) auto_upgrade: Option<AutoUpgrade>,
}

impl SetSettings {
    /// Reads and checks the settings.
    pub(super) fn choose(overrides: &Overrides, findings: &mut Findings<'_>) -> Self {
        let node_count_limit = overrides.node_count_limit.and_then(|limit| u32::try_from(limit).ok());
        Self { node_count_limit, auto_upgrade: choose_upgrades(overrides, findings) }
    }
}

/// Reports settings that the chosen kind does not have.
pub(super) fn refuse_settings_of_other_kind(kind: KaitoKind, overrides: &Overrides, findings: &mut Findings<'_>) {
    let path = overrides::path;
    let settings: [(bool, KaitoKind, FieldPath); 3] = [
        (overrides.preferred_nodes.is_some(), KaitoKind::Workspace, path().preferred_nodes().into()),
        (overrides.node_count_limit.is_some(), KaitoKind::InferenceSet, path().node_count_limit().into()),
        (overrides.auto_upgrade.is_some(), KaitoKind::InferenceSet, path().auto_upgrade().into()),
    ];
    for (_, owner, path) in settings.into_iter().filter(|(is_written, owner, _)| *is_written && *owner != kind) {
        let message = format!("{path} cannot be rendered: only {} has it", owner.with_article());
        let help = match owner {
            KaitoKind::Workspace => {
                format!("remove it, or select nodes by {}", ModelDeployment::path().spec().node_selector())
            }
            KaitoKind::InferenceSet => format!("set {}: InferenceSet, or remove it", overrides::path().workload()),
        };
        findings.report(&codes::FIELD_NOT_SUPPORTED, FieldRef::key(&path), message).help(help);
    }
}
