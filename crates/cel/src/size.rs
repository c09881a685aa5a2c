//! Sizes of values in steps, that is, the cost of copying or comparing them.

use cel::Value;
use cel::objects::Key;
use serde_json::Value as Json;

/// Number of nesting levels that a [`Size`] distinguishes.
const LEVELS: usize = 4;

/// Upper bounds on the size of a value, of any of its elements, of any element of these, and so on. The last number
/// applies to all deeper levels.
///
/// Bounds by level let the estimator charge `list.all(x, x.name == '')` for the largest element rather than for the
/// whole list in each iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size([u64; LEVELS]);

/// Returns the steps for reading or writing a text.
pub(super) fn text_steps(bytes: usize) -> u64 {
    const BYTES_PER_STEP: usize = 16;
    1 + u64::try_from(bytes / BYTES_PER_STEP).unwrap_or(u64::MAX)
}

impl Size {
    /// The size of a scalar of constant size, such as a number.
    pub(super) const ONE: Self = Self([1, 0, 0, 0]);

    /// Returns the size of a text of the given length.
    pub(super) fn from_text(bytes: usize) -> Self {
        Self([text_steps(bytes), 0, 0, 0])
    }

    /// Returns the size of a JSON value, or `None` if it is nested deeper than `depth`.
    pub(super) fn from_json(json: &Json, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => Some(Self::ONE),
            Json::String(text) => Some(Self::from_text(text.len())),
            Json::Array(elements) => elements
                .iter()
                .try_fold(Self::ONE, |whole, element| Some(whole.and_element(Self::from_json(element, depth)?))),
            Json::Object(entries) => entries.iter().try_fold(Self::ONE, |whole, (key, value)| {
                Some(whole.and_element(Self::from_json(value, depth)?.plus(text_steps(key.len()))))
            }),
        }
    }

    /// Returns the size of the whole value.
    pub(super) fn total(self) -> u64 {
        self.0[0]
    }

    /// Returns an upper bound on the size of any element.
    pub(super) fn element(self) -> Self {
        let [_, second, third, last] = self.0;
        Self([second, third, last, last])
    }

    /// Returns the size after adding an element to a list or map.
    pub(super) fn and_element(self, element: Self) -> Self {
        let [first, second, third, _] = element.0;
        let [total, one, two, three] = self.0;
        Self([total.saturating_add(first), one.max(first), two.max(second), three.max(third)])
    }

    /// Returns the size of a list of `count` elements, capped at `max_total`.
    pub(super) fn list(count: u64, element: Self, max_total: u64) -> Self {
        let [_, one, two, three] = Self::ONE.and_element(element).0;
        Self([count.saturating_mul(one).saturating_add(1).min(max_total), one, two, three])
    }

    /// Returns the size increased by `steps`.
    pub(super) fn plus(self, steps: u64) -> Self {
        let [total, one, two, three] = self.0;
        Self([total.saturating_add(steps), one, two, three])
    }

    /// Returns the maximum of both sizes on each level.
    pub(super) fn max(self, other: Self) -> Self {
        let mut larger = self;
        for (own, other) in larger.0.iter_mut().zip(other.0) {
            *own = other.max(*own);
        }
        larger
    }

    /// Returns the size of two texts or lists joined by `+`.
    pub(super) fn join(self, other: Self) -> Self {
        let mut joined = self.max(other);
        joined.0[0] = self.total().saturating_add(other.total());
        joined
    }
}

/// Returns the steps and bytes of an actual value, to charge for its creation.
pub(super) fn measure(value: &Value) -> (u64, u64) {
    /// Overhead of a value in memory, in bytes.
    const VALUE_OVERHEAD: u64 = 32;
    let cost_of = |bytes: usize| {
        let length = u64::try_from(bytes).unwrap_or(u64::MAX);
        (text_steps(bytes), VALUE_OVERHEAD.saturating_add(length))
    };
    let add = |(steps, bytes): (u64, u64), (more_steps, more_bytes): (u64, u64)| {
        (steps.saturating_add(more_steps), bytes.saturating_add(more_bytes))
    };
    match value {
        Value::String(text) => cost_of(text.len()),
        Value::Bytes(bytes) => cost_of(bytes.len()),
        Value::List(elements) => elements.iter().map(measure).fold(cost_of(0), add),
        Value::Map(entries) => entries.map.iter().fold(cost_of(0), |sum, (key, value)| {
            let key = if let Key::String(text) = key { cost_of(text.len()) } else { cost_of(0) };
            add(add(sum, key), measure(value))
        }),
        _ => cost_of(0),
    }
}
