//! Conditions (meta/v1 Condition).

use super::shape::{Describe, Shape};
use crate::{string_enum, wire_object};

/// A time as RFC 3339, such as `2026-01-30T09:50:00Z`.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp;

impl Describe for Timestamp {
    const SHAPE: Shape = Shape::Timestamp;
}

wire_object! {
    /// One aspect of an object's state (meta/v1 Condition).
    pub struct Condition {
        /// The condition's type, in CamelCase.
        condition_type: String = "type" [required()],
        /// `True`, `False` or `Unknown`.
        status: ConditionStatus = "status" [required()],
        /// The generation of the object that the condition describes.
        observed_generation: i64 = "observedGeneration" [minimum(0)],
        /// The time of the last change of `status`, as RFC 3339.
        last_transition_time: String = "lastTransitionTime" [required(), shape(Timestamp::SHAPE)],
        /// The reason for the status, as one CamelCase word.
        reason: String = "reason" [required()],
        /// The reason for the status, in prose.
        message: String = "message" [required()],
    }
}
string_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// The condition holds.
        True = "True",
        /// The condition does not hold.
        False = "False",
        /// The controller cannot tell.
        Unknown = "Unknown",
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}
