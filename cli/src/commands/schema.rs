//! `kubefoundry schema`: prints schemas of inputs and reports, and skeletons of upstream CRDs.

use kubefoundry::schemas::{SCHEMAS, Schema};
use kubefoundry_crd::upstream;
use kubefoundry_crd::upstream::SkeletonError;

use crate::args::{CRDS, SchemaArgs};
use crate::console;
use crate::exit::ExitStatus;
use crate::run::CommandError;

/// The group of another project, whose kind is extended here.
const FOREIGN_GROUP: &str = "asya.sh";

/// Reasons why the skeleton of an upstream CRD cannot be printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamError {
    #[error("there is no schema of {0:?}; run `kubefoundry schema --upstream` to list the available kinds")]
    UnknownKind(String),
    #[error(transparent)]
    Unreadable(#[from] SkeletonError),
}

pub(super) fn run(args: &SchemaArgs) -> Result<ExitStatus, CommandError> {
    let text = match (&args.upstream, args.name.as_deref()) {
        (Some(Some(kind)), _) => format_skeleton(kind, args.release.as_deref())?,
        (Some(None), _) => format_upstream_list(),
        (None, None) => format_list(),
        (None, Some(CRDS)) => {
            // The CRD of AsyncActor has the name of Asya's own one, which it must not replace unasked.
            let own = |schema: &&Schema| schema.is_crd && !schema.name.starts_with(FOREIGN_GROUP);
            let crds: Vec<_> = SCHEMAS.iter().filter(own).map(Schema::text).collect();
            crds.join("---\n")
        }
        (None, Some(name)) => SCHEMAS.iter().filter(|schema| schema.name == name).map(Schema::text).collect(),
    };
    console::print_as_is([&text])?;
    Ok(ExitStatus::Success)
}

/// Lists the names of the schemas with their summaries.
fn format_list() -> String {
    let named = [(CRDS, "the CustomResourceDefinitions of ModelDeployments and providers, for kubectl apply")];
    let rows = named.into_iter().chain(SCHEMAS.iter().map(|schema| (schema.name, schema.summary)));
    format_columns(&rows.map(|(name, summary)| (name.to_owned(), summary.to_owned())).collect::<Vec<_>>())
}

/// Lists the upstream kinds with the projects and releases that their skeletons come from.
fn format_upstream_list() -> String {
    let rows =
        upstream::origins().iter().map(|origin| (format!("{}/{}", origin.group, origin.kind), origin.to_string()));
    format_columns(&rows.collect::<Vec<_>>())
}

fn format_columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect();
    lines.concat()
}

/// Returns the skeleton of `kind`, written as `group/Kind`, as YAML: for `release` or the nearest known one, by default
/// the newest. Comments at the top name the release it comes from.
fn format_skeleton(kind: &str, release: Option<&str>) -> Result<String, UpstreamError> {
    let (group, name) = kind.split_once('/').unwrap_or((kind, ""));
    let skeleton =
        upstream::skeleton(group, name, release).ok_or_else(|| UpstreamError::UnknownKind(kind.to_owned()))?;
    Ok(skeleton.to_yaml()?)
}
