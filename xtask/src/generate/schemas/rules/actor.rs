//! The rule of ADR-001 of the Asya project, word for word.

use kubefoundry_actor::wire::ONE_WORKLOAD;

use super::Rule;

/// Returns the rule that an actor either creates its workload or binds to an existing one.
pub(super) fn workload_or_reference() -> Rule {
    Rule::new(
        "(has(self.workload) && !has(self.workloadRef)) || (!has(self.workload) && has(self.workloadRef))",
        ONE_WORKLOAD,
    )
}
