//! `lint --git`: what judges the new side of a change comes from the old one.

use std::path::Path;

use kubefoundry_compiler::pipeline::{IgnoringObject, ignoring_objects};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_input::Sides;

use super::baseline::Baseline;
use crate::run::CommandError;

/// Reads a baseline: that of the old side if the repository has the file.
pub(super) fn read_baseline(path: &Path, sides: Option<&Sides>) -> Result<Baseline, CommandError> {
    match sides.map(|sides| sides.old.text(path)).transpose()?.flatten() {
        Some(text) => Ok(Baseline::parse(path, &text)?),
        None => Ok(Baseline::read(path)?),
    }
}

/// Whether the old side has the annotation, too, that suppresses a finding.
pub(super) fn is_ignored_in_base(finding: &Diagnostic, sources: &SourceSet, sides: &Sides) -> bool {
    let Some(location) = &finding.location else { return false };
    let source = sources.get(location.source);
    let covers = |object: &IgnoringObject| {
        let span = object.span;
        object.document == location.document && (span.start..=span.end).contains(&location.span.start)
    };
    // The innermost object that has the annotation: an item of a list is in the list.
    let Some(ignoring) = ignoring_objects(&BUILTIN, &source.text).into_iter().filter(covers).last() else {
        return false;
    };
    // What the old side has and cannot be read is not believed.
    let Ok(Some(before)) = sides.old.text(Path::new(&source.name)) else { return false };
    let mut objects = ignoring_objects(&BUILTIN, &before).into_iter();
    objects.any(|object| object.object == ignoring.object && object.codes.contains(&finding.code.id))
}
