//! `kubefoundry schema`: schemas for editors, clusters and readers of reports, and skeletons of upstream's CRDs.

use kubefoundry::schemas::{SCHEMAS, Schema};
use kubefoundry_upstream as upstream;
use kubefoundry_upstream::SkeletonError;

use super::CommandError;
use crate::args::{CRDS, SchemaArgs};
use crate::console;
use crate::exit::ExitStatus;

/// Why a skeleton of an upstream CRD is not printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    #[error("there is no skeleton of {0:?}, expected a kind that `kubefoundry schema --upstream` lists")]
    NotThere(String),
    #[error(transparent)]
    Unreadable(#[from] SkeletonError),
}

pub(super) fn run(args: &SchemaArgs) -> Result<ExitStatus, CommandError> {
    let text = match (&args.upstream, args.name.as_deref()) {
        (Some(Some(kind)), _) => skeleton(kind, args.release.as_deref())?,
        (Some(None), _) => list_upstream(),
        (None, None) => list(),
        (None, Some(CRDS)) => {
            let crds: Vec<_> = SCHEMAS.iter().filter(|schema| schema.is_crd).map(Schema::text).collect();
            crds.join("---\n")
        }
        (None, Some(name)) => SCHEMAS.iter().filter(|schema| schema.name == name).map(Schema::text).collect(),
    };
    console::print([&text])?;
    Ok(ExitStatus::Success)
}

/// Every name with what it stands for.
fn list() -> String {
    let named = [(CRDS, "all CustomResourceDefinitions, for kubectl apply")];
    let rows = named.into_iter().chain(SCHEMAS.iter().map(|schema| (schema.name, schema.summary)));
    in_columns(&rows.map(|(name, summary)| (name.to_owned(), summary.to_owned())).collect::<Vec<_>>())
}

/// Every skeleton with where it comes from.
fn list_upstream() -> String {
    let rows =
        upstream::origins().iter().map(|origin| (format!("{}/{}", origin.group, origin.kind), origin.to_string()));
    in_columns(&rows.collect::<Vec<_>>())
}

fn in_columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect();
    lines.concat()
}

/// The skeleton of a kind, given as `group/Kind`. Comments at its top say which release it is of.
fn skeleton(kind: &str, release: Option<&str>) -> Result<String, UpstreamError> {
    let (group, name) = kind.split_once('/').unwrap_or((kind, ""));
    let skeleton = upstream::skeleton(group, name, release).ok_or_else(|| UpstreamError::NotThere(kind.to_owned()))?;
    Ok(skeleton.to_yaml()?)
}
