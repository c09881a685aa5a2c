//! How large values are, in steps: what it costs to copy or compare them.

use cel::Value;
use cel::objects::Key;
use serde_json::Value as Json;

const LEVELS: usize = 4;

/// The greatest size of a value, of its elements, of theirs, and so on; the last stands for all deeper ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size([u64; LEVELS]);

/// Steps for a text.
pub(super) fn text(bytes: usize) -> u64 {
    const BYTES_OF_A_STEP: usize = 16;
    1 + u64::try_from(bytes / BYTES_OF_A_STEP).unwrap_or(u64::MAX)
}

impl Size {
    /// A number.
    pub(super) const ONE: Self = Self([1, 0, 0, 0]);

    pub(super) fn of_text(bytes: usize) -> Self {
        Self([text(bytes), 0, 0, 0])
    }

    /// The size of a JSON value; None if it nests deeper than `depth`.
    pub(super) fn of(json: &Json, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        match json {
            Json::Null | Json::Bool(_) | Json::Number(_) => Some(Self::ONE),
            Json::String(text) => Some(Self::of_text(text.len())),
            Json::Array(elements) => {
                elements.iter().try_fold(Self::ONE, |whole, element| Some(whole.and_element(Self::of(element, depth)?)))
            }
            Json::Object(entries) => entries.iter().try_fold(Self::ONE, |whole, (key, value)| {
                Some(whole.and_element(Self::of(value, depth)?.plus(text(key.len()))))
            }),
        }
    }

    /// All of it.
    pub(super) fn total(self) -> u64 {
        self.0[0]
    }

    /// The largest element.
    pub(super) fn element(self) -> Self {
        let [_, second, third, last] = self.0;
        Self([second, third, last, last])
    }

    /// A list or map with one more element.
    pub(super) fn and_element(self, element: Self) -> Self {
        let [first, second, third, _] = element.0;
        let [total, one, two, three] = self.0;
        Self([total.saturating_add(first), one.max(first), two.max(second), three.max(third)])
    }

    /// A list of this many elements.
    pub(super) fn list(count: u64, element: Self, most: u64) -> Self {
        let [_, one, two, three] = Self::ONE.and_element(element).0;
        Self([count.saturating_mul(one).saturating_add(1).min(most), one, two, three])
    }

    pub(super) fn plus(self, steps: u64) -> Self {
        let [total, one, two, three] = self.0;
        Self([total.saturating_add(steps), one, two, three])
    }

    /// At least as large as both.
    pub(super) fn max(self, other: Self) -> Self {
        let mut larger = self;
        for (mine, theirs) in larger.0.iter_mut().zip(other.0) {
            *mine = theirs.max(*mine);
        }
        larger
    }

    /// Both joined by `+`.
    pub(super) fn join(self, other: Self) -> Self {
        let mut both = self.max(other);
        both.0[0] = self.total().saturating_add(other.total());
        both
    }
}

/// Steps and bytes of a value that was made.
pub(super) fn measure(value: &Value) -> (u64, u64) {
    const BYTES_OF_A_VALUE: u64 = 32;
    let of_bytes = |bytes: usize| {
        let length = u64::try_from(bytes).unwrap_or(u64::MAX);
        (text(bytes), BYTES_OF_A_VALUE.saturating_add(length))
    };
    let add = |(steps, bytes): (u64, u64), (more_steps, more_bytes): (u64, u64)| {
        (steps.saturating_add(more_steps), bytes.saturating_add(more_bytes))
    };
    match value {
        Value::String(text) => of_bytes(text.len()),
        Value::Bytes(bytes) => of_bytes(bytes.len()),
        Value::List(elements) => elements.iter().map(measure).fold(of_bytes(0), add),
        Value::Map(entries) => entries.map.iter().fold(of_bytes(0), |sum, (key, value)| {
            let key = if let Key::String(text) = key { of_bytes(text.len()) } else { of_bytes(0) };
            add(add(sum, key), measure(value))
        }),
        _ => of_bytes(0),
    }
}
