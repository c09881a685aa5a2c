//! The rule of ADR-001 of the Asya project, word for word.

use super::Rule;

/// Returns the rule that an actor either creates its workload or binds to an existing one.
pub(super) fn workload_or_reference() -> Rule {
    Rule::new(
        "(has(self.workload) && !has(self.workloadRef)) || (!has(self.workload) && has(self.workloadRef))",
        "Exactly one of 'workload' or 'workloadRef' must be set",
    )
}
