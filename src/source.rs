//! What goes in: texts with a name. The core reads no file; front ends hand in what they read.

/// Index of a [`Source`] in its [`SourceSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SourceId(pub usize);

/// What a text is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Purpose {
    /// Resources: ModelDeployments, provider configurations, and whatever stands beside them.
    #[default]
    Input,
    /// Provider configurations only (`--providers`).
    Providers,
    /// Options: a `Render` document. Later ones win over earlier ones.
    Options,
}

/// One input text: a file, standard input, or an item of a KRM `ResourceList`.
#[derive(Debug, Clone)]
pub struct Source {
    /// What it is read for.
    pub purpose: Purpose,
    /// How diagnostics name it, such as `models/llama.yaml` or `<stdin>`.
    pub name: String,
    /// YAML or JSON text, one or more documents.
    pub text: String,
}

/// All input texts of one run, in the order in which they were given.
///
/// ```
/// use kubefoundry::source::SourceSet;
/// let mut sources = SourceSet::default();
/// let id = sources.add("models/llama.yaml", "kind: ModelDeployment\n");
/// assert_eq!(sources.get(id).name, "models/llama.yaml");
/// ```
#[derive(Debug, Clone, Default)]
pub struct SourceSet {
    sources: Vec<Source>,
}

impl SourceSet {
    /// Adds a text with resources and returns its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.add_for(Purpose::Input, name, text)
    }

    /// Adds a text for a purpose and returns its id.
    pub fn add_for(&mut self, purpose: Purpose, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        // A name is printed in front of findings: it may neither break a line nor speak to a terminal.
        let name: String = name.into();
        let name = if name.contains(char::is_control) { name.escape_debug().to_string() } else { name };
        self.sources.push(Source { purpose, name, text: text.into() });
        SourceId(self.sources.len() - 1)
    }

    /// The source with this id.
    ///
    /// # Panics
    /// If `id` comes from another set.
    #[expect(clippy::indexing_slicing, reason = "ids are made by `add` only; one of another set is a bug")]
    pub fn get(&self, id: SourceId) -> &Source {
        &self.sources[id.0]
    }

    /// All sources with their ids, in input order.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources.iter().enumerate().map(|(index, source)| (SourceId(index), source))
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}
