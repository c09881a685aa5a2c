//! What each provider does with a field of a ModelDeployment.

use kubefoundry_composition::PROVIDERS;
use kubefoundry_provider::support::{FieldSupport, Support};

/// What a provider does with a field, or with the fields below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSupport {
    /// The name of the provider in messages.
    pub provider: &'static str,
    /// The treatment of the field, or the different treatments of the fields below it.
    pub treatments: Vec<Support>,
    /// The place in the output or the reason why there is none; for an object, what is not rendered.
    pub note: String,
}

impl ProviderSupport {
    /// Formats the treatments: `rendered`, or `rendered, refused` for an object.
    pub fn label(&self) -> String {
        self.treatments.iter().map(|treatment| treatment.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns what each provider does with a field of a ModelDeployment. Empty for fields that no provider reads: those of
/// the status, most metadata, and what only selects a provider.
///
/// ```
/// use kubefoundry_reference::provider_support;
/// let all = provider_support("spec.engine.contextLength");
/// assert_eq!(all.iter().map(|it| it.provider).collect::<Vec<_>>(), ["KAITO", "Dynamo", "KubeRay"]);
/// assert_eq!(all[1].label(), "rendered");
/// assert!(provider_support("status.phase").is_empty());
/// ```
pub fn provider_support(path: &str) -> Vec<ProviderSupport> {
    PROVIDERS
        .iter()
        .filter_map(|provider| {
            let rows = provider.info().field_support();
            let (treatments, note) = match rows.iter().find(|row| is_at_or_below(path, row_path(row))) {
                Some(row) => (vec![row.support], row.note.to_owned()),
                None => summarize(path, &rows)?,
            };
            Some(ProviderSupport { provider: provider.display_name(), treatments, note })
        })
        .collect()
}

/// Returns the path of a row without the marks for keys and items.
fn row_path(row: &FieldSupport) -> &str {
    row.field.trim_end_matches("[]").trim_end_matches(".*")
}

fn is_at_or_below(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Summarizes the rows below an object. Returns `None` if there is no such row.
fn summarize(path: &str, rows: &[FieldSupport]) -> Option<(Vec<Support>, String)> {
    let below: Vec<&FieldSupport> =
        rows.iter().filter(|row| row_path(row) != path && is_at_or_below(row_path(row), path)).collect();
    let mut treatments: Vec<Support> = Vec::new();
    for row in &below {
        if !treatments.contains(&row.support) {
            treatments.push(row.support);
        }
    }
    let [first, ..] = below.as_slice() else { return None };
    if treatments.len() == 1 {
        let is_shared = below.iter().all(|row| row.note == first.note);
        return Some((treatments, if is_shared { first.note.to_owned() } else { "all fields".to_owned() }));
    }
    let others = treatments.iter().filter(|treatment| **treatment != Support::Rendered);
    let notes: Vec<String> = others
        .map(|treatment| {
            let names = below
                .iter()
                .filter(|row| row.support == *treatment)
                .filter_map(|row| row_path(row).strip_prefix(path).map(|rest| rest.trim_start_matches('.')));
            format!("{}: {}", treatment.as_str(), names.collect::<Vec<_>>().join(", "))
        })
        .collect();
    Some((treatments, notes.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_treatment_of_the_row_above_it() {
        assert_eq!(provider_support("spec.env.name"), provider_support("spec.env"));
        let frontend = provider_support("spec.frontend");
        let kaito = frontend.iter().find(|it| it.provider == "KAITO").unwrap();
        assert_eq!(kaito.label(), "refused");
        assert!(kaito.note.contains("no frontend"), "{}", kaito.note);
    }

    #[test]
    fn an_object_lists_what_is_not_rendered() {
        let engine = provider_support("spec.engine");
        let dynamo = engine.iter().find(|it| it.provider == "Dynamo").unwrap();
        assert_eq!(dynamo.treatments, [Support::Rendered, Support::Partly]);
        assert!(dynamo.note.contains("partly: args, extraArgs"), "{}", dynamo.note);
        assert_eq!(provider_support("metadata.labels"), []);
        assert_eq!(provider_support("spec.provider.name"), []);
    }
}
