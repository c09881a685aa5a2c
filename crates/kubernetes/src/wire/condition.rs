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
        /// Its type, in CamelCase.
        condition_type: String = "type" [required()],
        /// `True`, `False` or `Unknown`.
        status: ConditionStatus = "status" [required()],
        /// The generation that it is about.
        observed_generation: i64 = "observedGeneration" [minimum(0)],
        /// When `status` changed last, as RFC 3339.
        last_transition_time: String = "lastTransitionTime" [required(), shape(Timestamp::SHAPE)],
        /// Why, as one CamelCase word.
        reason: String = "reason" [required()],
        /// Why, for people.
        message: String = "message" [required()],
    }
}
string_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// Nobody knows.
        Unknown = "Unknown",
    }
}
