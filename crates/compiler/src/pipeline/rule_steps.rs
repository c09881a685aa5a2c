//! What the selection rules of a run may cost, all together.

use kubefoundry_cel::Limits;

/// As many times the steps of one evaluation may the rules take for one deployment,
const OF_DEPLOYMENT: u64 = 4;

/// and for all deployments of a run, before they get less each,
const OF_RUN: u64 = 16;

/// and one part in so many is what each gets however many there are: no run of ordinary rules needs more.
const LEAST: u64 = 500;

/// Steps that the rules may take for each of some deployments, when those before them took `spent`.
pub(super) fn allowance(limits: Limits, spent: u64, deployments: usize) -> u64 {
    let left = limits.steps.saturating_mul(OF_RUN).saturating_sub(spent);
    let each = left / u64::try_from(deployments).unwrap_or(u64::MAX).max(1);
    each.max(limits.steps / LEAST).max(1).min(limits.steps.saturating_mul(OF_DEPLOYMENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deployment_gets_its_part() {
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
