//! The options from flags, as a `Render` document.

use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_yaml::field_path::Segment;
use serde_json::{Map, Value, json};

use crate::args::{Assignment, InputArgs};

/// The name of the options from flags in findings.
pub const COMMAND_LINE: &str = "<command line>";

/// The options that a flag sets for one provider each, and the flags.
const ASSIGNMENT_FLAGS: [(&str, &str); 2] = [("crdVersions", "--crd-version"), ("runtimes", "--runtime")];

/// Converts flags to a `Render` document. Returns `None` if there are no flags and no options.
pub(crate) fn flags_to_render(args: &InputArgs, mut options: Map<String, Value>) -> Option<String> {
    let by_provider = |assignments: &[Assignment]| -> Map<String, Value> {
        assignments.iter().map(|it| (it.provider.clone(), Value::from(it.version.as_str()))).collect()
    };
    for ((field, _), assignments) in ASSIGNMENT_FLAGS.into_iter().zip([&args.crd_version, &args.runtime]) {
        if !assignments.is_empty() {
            options.insert(field.to_owned(), by_provider(assignments).into());
        }
    }
    if args.strict {
        options.insert("strict".to_owned(), Value::Bool(true));
    }
    if options.is_empty() {
        return None;
    }
    let mut render = json!({"apiVersion": kubefoundry_compiler::options::render::API_VERSION, "kind": "Render"});
    render.as_object_mut()?.append(&mut options);
    Some(format!("{render:#}\n"))
}

/// Gives findings in the options from flags the flag instead of a place in a text that the user did not write. Returns
/// whether one of them is an error.
pub fn name_flags(sources: &SourceSet, findings: &mut [Diagnostic]) -> bool {
    let mut is_wrong = false;
    for finding in findings {
        let Some(location) = &finding.location else { continue };
        let source = sources.get(location.source);
        if source.purpose != Purpose::Options || source.name != COMMAND_LINE {
            continue;
        }
        #[expect(clippy::disallowed_methods, reason = "this program wrote the text; without it, the flag has no value")]
        let options: Value = serde_json::from_str(&source.text).unwrap_or_default();
        let mut keys = location.path.segments().iter().filter_map(Segment::as_key);
        let flag = match (keys.next(), keys.next()) {
            (Some(field), Some(provider)) => {
                ASSIGNMENT_FLAGS.iter().find(|(name, _)| *name == field).map(|(_, flag)| {
                    let version = options.get(field).and_then(|field| field.get(provider)).and_then(Value::as_str);
                    format!("{flag} {provider}={}", version.unwrap_or_default())
                })
            }
            _ => None,
        };
        // Options that a command sets for itself have no flag.
        let Some(flag) = flag else { continue };
        finding.message = format!("{flag}: {}", finding.message);
        finding.location = None;
        finding.fix = None;
        is_wrong |= finding.severity == Severity::Error;
    }
    is_wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a flag must not be able to set another option.
    #[test]
    fn flags_become_a_render_document() {
        let crd_version = vec![Assignment { provider: "dynamo\"\nstrict: true".into(), version: "v\u{7}\"".into() }];
        let args = InputArgs { crd_version, ..InputArgs::default() };
        let text = flags_to_render(&args, Map::new()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"apiVersion": "config.kubefoundry.ai/v1alpha1", "kind": "Render",
                   "crdVersions": {"dynamo\"\nstrict: true": "v\u{7}\""}})
        );
    }

    #[test]
    fn no_flags_become_no_document() {
        assert_eq!(flags_to_render(&InputArgs::default(), Map::new()), None);
    }
}
