//! Which kind runs the model: a Workspace serves from one pod, an InferenceSet from any number.

use super::codes::{WORKLOAD_KIND_CHANGES, WORKSPACE_REPLICAS};
use super::overrides::{self, Overrides, WorkloadKind};
use crate::ir::{Deployment, Worker};
use crate::providers::metadata;
use kubefoundry_diagnostics::Findings;

/// The kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One pod, with a Service of the same name.
    Workspace,
    /// Replicas, each a Workspace with a name of its own, and a Service of ours over them.
    InferenceSet,
}

impl Kind {
    /// The kind as it is written.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "Workspace",
            Self::InferenceSet => "InferenceSet",
        }
    }

    /// The kind in a sentence.
    const fn in_words(self) -> &'static str {
        match self {
            Self::Workspace => "a KAITO Workspace",
            Self::InferenceSet => "a KAITO InferenceSet",
        }
    }

    /// The longest name that the names derived from it leave room for. Pods of a StatefulSet carry the label
    /// `controller-revision-hash: <name>-<10 characters>` in 63; an InferenceSet makes Workspaces `<name>-<5>`.
    const fn longest_name(self) -> usize {
        match self {
            Self::Workspace => 52,
            Self::InferenceSet => 46,
        }
    }
}

/// Chooses the kind (docs/design/0011) and checks that the name fits it.
pub(super) fn choose(
    deployment: &Deployment,
    worker: &Worker,
    overrides: &Overrides,
    findings: &mut Findings<'_>,
) -> Kind {
    let replicas = worker.replicas.value;
    let at = worker.replicas_path();
    let kind = match overrides.workload.unwrap_or(WorkloadKind::Auto) {
        WorkloadKind::InferenceSet => Kind::InferenceSet,
        WorkloadKind::Auto if replicas == 1 => Kind::Workspace,
        // Which kind was meant is not known.
        WorkloadKind::Auto if overrides.workload.is_none() && overrides::is_written(deployment, "workload") => {
            Kind::InferenceSet
        }
        WorkloadKind::Auto => {
            let message = format!(
                "{at} is {replicas}, which renders an InferenceSet; 1 renders a Workspace, and a change from one to \
                 the other replaces the object"
            );
            findings
                .report(&WORKLOAD_KIND_CHANGES, &at, message)
                .help(format!("set {}: InferenceSet to scale in place", overrides::path().workload()));
            Kind::InferenceSet
        }
        WorkloadKind::Workspace => {
            if replicas != 1 {
                let message = format!("{at} is {replicas}, expected 1: a KAITO Workspace serves from one pod");
                findings
                    .report(&WORKSPACE_REPLICAS, &at, message)
                    .related(overrides::path().workload(), "set here")
                    .help("set workload to InferenceSet, or remove it");
            }
            Kind::Workspace
        }
    };
    metadata::name_fits(
        deployment,
        kind.longest_name(),
        kind.in_words(),
        "shorten it: KAITO derives names of at most 63 characters from it",
        findings,
    );
    kind
}
