//! What the selection rules of one object may cost.

/// Steps that are left for one object. Rules that decide nothing have their own, so that evaluating them, which
/// `render` does not, changes no decision.
#[derive(Debug, Default)]
pub struct StepBudget {
    most: u64,
    deciding: u64,
    other: u64,
}

impl StepBudget {
    /// At most as many.
    pub fn new(most: u64) -> Self {
        Self { most, deciding: most, other: most }
    }

    /// What is left.
    pub fn remaining_mut(&mut self, decides: bool) -> &mut u64 {
        if decides { &mut self.deciding } else { &mut self.other }
    }

    /// How many were taken for the decision, which are the same for every command.
    pub fn spent_on_decision(&self) -> u64 {
        self.most - self.deciding
    }

    /// How many were taken of either kind, at the most.
    pub fn spent(&self) -> u64 {
        self.most - self.deciding.min(self.other)
    }

    /// Whether rules were left without a value for want of steps.
    pub fn is_exhausted(&self) -> bool {
        self.deciding == 0 || self.other == 0
    }

    /// What is said of a rule that cannot be evaluated any more.
    pub fn exhaustion_message(&self) -> String {
        format!("the rules take more than {} steps for this deployment", self.most)
    }
}
