//! The words of a trace: what a reconciliation asked for, and what came of it.

use serde_json::Value;

use kubefoundry_reconcile::request::{Answer, DeploymentPatch, Mode, Request};

/// Formats a request for a trace.
pub(super) fn title(request: &Request) -> String {
    let name = |object: &Value| {
        format!(
            "{}/{}",
            object["kind"].as_str().unwrap_or_default(),
            object["metadata"]["name"].as_str().unwrap_or_default()
        )
    };
    match request {
        Request::Apply { object, mode: Mode::DryRun, .. } => format!("dry-runs {}", name(object)),
        Request::Apply { object, .. } => format!("applies {}", name(object)),
        Request::Get { name, .. } | Request::GetMetadata { name, .. } => format!("reads {name}"),
        Request::List { labels, .. } => format!("lists {labels}"),
        Request::MergePatch { resource, name, .. } => format!("patches {}/{name}", resource.kind),
        Request::Delete { resource, name, .. } => format!("deletes {}/{name}", resource.kind),
        Request::PatchDeployment { patch: DeploymentPatch::Json(patch), .. } => {
            format!("sets the finalizers {}", patch[2]["value"])
        }
        Request::PatchDeployment { .. } => "patches the deployment".to_owned(),
        Request::ApplyStatus { status, .. } => format!("reports {}", status["phase"]),
        Request::PatchStatus { .. } => "patches the status".to_owned(),
        Request::TakeTurn { .. } => "asks for its turn".to_owned(),
        Request::Publish { .. } | Request::Record(_) => "notes".to_owned(),
    }
}

pub(super) fn outcome(answer: &Answer) -> String {
    answer.as_ref().err().map_or_else(String::new, |error| format!("({error})"))
}
