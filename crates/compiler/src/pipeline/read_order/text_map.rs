//! A map from texts to values. Ids are positions, so it is a vector.

use kubefoundry_diagnostics::source::SourceId;

/// Values by text. A fleet has tens of thousands of texts, and a run looks most of them up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextMap<T>(Vec<Option<T>>);

impl<T> Default for TextMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> TextMap<T> {
    /// Sets the value of a text.
    pub(crate) fn insert(&mut self, id: SourceId, value: T) {
        if self.0.len() <= id.0 {
            self.0.resize_with(id.0 + 1, || None);
        }
        if let Some(slot) = self.0.get_mut(id.0) {
            *slot = Some(value);
        }
    }

    /// Returns the value of a text.
    pub(crate) fn get(&self, id: SourceId) -> Option<&T> {
        self.0.get(id.0)?.as_ref()
    }

    /// Iterates over the texts with a value, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SourceId, &T)> {
        self.0.iter().enumerate().filter_map(|(index, value)| Some((SourceId(index), value.as_ref()?)))
    }
}

impl<T> FromIterator<(SourceId, T)> for TextMap<T> {
    fn from_iter<I: IntoIterator<Item = (SourceId, T)>>(values: I) -> Self {
        let values = values.into_iter();
        let mut map = Self(Vec::with_capacity(values.size_hint().0));
        values.for_each(|(id, value)| map.insert(id, value));
        map
    }
}
