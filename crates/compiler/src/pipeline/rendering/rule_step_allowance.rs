//! The step budget of selection rules, shared by all deployments of a run. It bounds the cost of hostile rules for any
//! number of deployments.

use kubefoundry_cel::Limits;

/// Budget of one deployment, as a multiple of the steps of one evaluation.
const DEPLOYMENT_FACTOR: u64 = 4;

/// Budget of all deployments of a run, as a multiple of the steps of one evaluation.
const RUN_FACTOR: u64 = 16;

/// Divisor of the steps of one evaluation that gives the minimum for each deployment, however many there are. Ordinary
/// rules need less.
const MINIMUM_DIVISOR: u64 = 500;

/// Returns the step budget for each of the next `deployments`, after earlier ones took `spent` steps.
pub(crate) fn allowance(limits: Limits, spent: u64, deployments: usize) -> u64 {
    let left = limits.steps.saturating_mul(RUN_FACTOR).saturating_sub(spent);
    let each = left / u64::try_from(deployments).unwrap_or(u64::MAX).max(1);
    each.max(limits.steps / MINIMUM_DIVISOR).max(1).min(limits.steps.saturating_mul(DEPLOYMENT_FACTOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_the_budget_among_deployments() {
        let limits = Limits::default();
        assert_eq!(allowance(limits, 0, 1), 4_000_000);
        assert_eq!(allowance(limits, 0, 16), 1_000_000);
        assert_eq!(allowance(limits, 8_000_000, 16), 500_000);
        assert_eq!(allowance(limits, u64::MAX, 16), 2000);
        assert_eq!(allowance(limits, 0, usize::MAX), 2000);
        assert_eq!(allowance(limits, 0, 0), 4_000_000);
        assert_eq!(allowance(Limits { steps: 1, ..limits }, 100, 1), 1);
        assert_eq!(allowance(Limits { steps: u64::MAX, ..limits }, 0, 1), u64::MAX);
    }
}
