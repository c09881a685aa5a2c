//! What goes in: texts with a name. The core reads no file; front ends hand in what they read.

/// Index of a [`Source`] in its [`SourceSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SourceId(pub usize);

/// What a text is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Purpose {
    /// Resources: ModelDeployments, provider configurations, and whatever stands beside them.
    #[default]
    Input,
    /// Provider configurations only (`--providers`).
    Providers,
    /// A dump of CRDs, by which the output is checked (`--crds`).
    Crds,
    /// Objects as they are in a cluster (`kubectl get -o yaml`), which output is compared with; nothing is rendered from it.
    ClusterSnapshot,
    /// Options: a `Render` document. Later ones win over earlier ones.
    Options,
}

impl Purpose {
    /// Whether resources are read from it.
    pub fn has_resources(self) -> bool {
        matches!(self, Self::Input | Self::Providers)
    }
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
    /// Why it is not read, when its bytes are not text: then `text` is what can be shown of them.
    pub encoding_error: Option<EncodingError>,
    /// Whether it is YAML whatever its name ends in: a client's own writing of a file, not the file.
    pub is_rewritten: bool,
    /// The directory that was named, when it was read as one of its files.
    pub directory: Option<String>,
}

/// Why bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingError {
    /// They are not UTF-8 from this offset on.
    NotUtf8(usize),
    /// They start with the byte order mark of UTF-16.
    Utf16,
}

/// All input texts of one run, in the order in which they were given.
///
/// ```
/// use kubefoundry_diagnostics::source::SourceSet;
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
        let name = printable(name.into());
        self.sources.push(Source {
            purpose,
            name,
            text: text.into(),
            encoding_error: None,
            is_rewritten: false,
            directory: None,
        });
        SourceId(self.sources.len() - 1)
    }

    /// Puts another text in the place of a source's own: it was mended, say. An id of another set changes nothing.
    pub fn set_text(&mut self, id: SourceId, text: impl Into<String>) {
        if let Some(source) = self.sources.get_mut(id.0) {
            source.text = text.into();
        }
    }

    /// Says that a source's text is not its file's, but what a client wrote anew: YAML, though the file may be JSON. kpt
    /// adds annotations without quotes to an object of a `.json` file. An id of another set changes nothing.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// let id = sources.add("llama.json", "{\"kind\": ModelDeployment}\n");
    /// sources.set_rewritten(id);
    /// assert!(sources.get(id).is_rewritten);
    /// ```
    pub fn set_rewritten(&mut self, id: SourceId) {
        if let Some(source) = self.sources.get_mut(id.0) {
            source.is_rewritten = true;
        }
    }

    /// Says that a source is one of the files of a directory that was named. An id of another set changes nothing.
    ///
    /// Of a dump of CRDs one file may be about something else (`kustomization.yaml`), a directory may not.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// let id = sources.add_for(Purpose::Crds, "crds/kustomization.yaml", "resources: [ray.yaml]");
    /// sources.set_directory(id, "crds");
    /// assert_eq!(sources.get(id).directory.as_deref(), Some("crds"));
    /// ```
    pub fn set_directory(&mut self, id: SourceId, directory: impl Into<String>) {
        if let Some(source) = self.sources.get_mut(id.0) {
            source.directory = Some(printable(directory.into()));
        }
    }

    /// Adds bytes that should be UTF-8, such as those of a file, and returns their id. Bytes that are not are a finding,
    /// in the line where they stop being text.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{EncodingError, Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// let id = sources.add_bytes(Purpose::Input, "latin.yaml", b"name: Gr\xf6\xdfe\n".to_vec());
    /// assert_eq!(sources.get(id).encoding_error, Some(EncodingError::NotUtf8(8)));
    /// ```
    pub fn add_bytes(&mut self, purpose: Purpose, name: impl Into<String>, bytes: Vec<u8>) -> SourceId {
        let (text, not_text) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let bytes = error.as_bytes();
                let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
                let why =
                    if utf16 { EncodingError::Utf16 } else { EncodingError::NotUtf8(error.utf8_error().valid_up_to()) };
                // The bytes before the first bad one keep their places.
                (String::from_utf8_lossy(bytes).into_owned(), Some(why))
            }
        };
        let id = self.add_for(purpose, name, text);
        if let Some(source) = self.sources.last_mut() {
            source.encoding_error = not_text;
        }
        id
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

/// A name as it is printed in front of findings: it may neither break a line nor speak to a terminal.
fn printable(name: String) -> String {
    if name.contains(char::is_control) { name.escape_debug().to_string() } else { name }
}
