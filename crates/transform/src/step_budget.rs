//! The evaluation budget of the selection rules of one object.

/// A budget of CEL steps for one object. Rules that decide nothing have a separate budget of the same size. `render`
/// does not evaluate them, so evaluating them in other commands must not change a decision.
#[derive(Debug, Default)]
pub struct StepBudget {
    limit: u64,
    deciding: u64,
    other: u64,
}

impl StepBudget {
    /// Creates a budget of `limit` steps for each of the two kinds of rules.
    pub fn new(limit: u64) -> Self {
        Self { limit, deciding: limit, other: limit }
    }

    /// Returns the remaining steps for rules that decide the selection, or for the others.
    pub fn remaining_mut(&mut self, decides: bool) -> &mut u64 {
        if decides { &mut self.deciding } else { &mut self.other }
    }

    /// Returns the number of steps spent on the decision, which is the same for every command.
    pub fn spent_on_decision(&self) -> u64 {
        self.limit - self.deciding
    }

    /// Returns the larger of the numbers of steps spent on the two kinds of rules.
    pub fn spent(&self) -> u64 {
        self.limit - self.deciding.min(self.other)
    }

    /// Returns whether one of the budgets is used up, so that some rules may have no value.
    pub fn is_exhausted(&self) -> bool {
        self.deciding == 0 || self.other == 0
    }

    /// Returns the message for a rule that is not evaluated because the budget is used up.
    pub fn exhaustion_message(&self) -> String {
        format!("the rules take more than {} steps for this deployment", self.limit)
    }
}
