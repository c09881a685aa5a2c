//! Transforms one object with the environment of a run.

pub(crate) mod attempt;
pub(crate) mod environment;
pub(crate) mod kept_choices;
pub(crate) mod output_form;
pub(crate) mod output_role;
pub(crate) mod rule_step_allowance;
pub(crate) mod transform_object;
