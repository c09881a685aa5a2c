//! Input texts with their names. The core reads no files; front ends pass in what they read.

use std::collections::BTreeSet;
use std::sync::Arc;

use kubefoundry_yaml::text::escape_unprintable;

/// Index of a [`Source`] in its [`SourceSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SourceId(pub usize);

/// The purpose of an input text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Purpose {
    /// Resources: ModelDeployments, provider configurations and any other objects.
    #[default]
    Input,
    /// Provider configurations only (`--providers`).
    Providers,
    /// A dump of CRDs, against which the output is checked (`--crds`).
    Crds,
    /// A cluster snapshot (`kubectl get -o yaml`), with which output is compared. Nothing is rendered from it.
    ClusterSnapshot,
    /// The nodes of the cluster (`--cluster`): the output of `kubectl get nodes -o yaml`.
    ClusterNodes,
    /// Render options: a `Render` document. Later ones override earlier ones.
    Options,
    /// The `config.json` of a model, whose id is the [subject](Source::subject).
    ModelConfig,
    /// A file from which another text was built, such as the base or a patch of a kustomization. Nothing is read from
    /// it, but findings in the built text can point into it.
    Origin,
}

impl Purpose {
    /// Whether resources are read from a text with this purpose.
    pub fn has_resources(self) -> bool {
        matches!(self, Self::Input | Self::Providers)
    }
}

/// One input text: a file, standard input, or an item of a KRM `ResourceList`.
#[derive(Debug, Clone)]
pub struct Source {
    /// The purpose of the text.
    pub purpose: Purpose,
    /// How diagnostics name it, such as `models/llama.yaml` or `<stdin>`.
    pub name: String,
    /// YAML or JSON text, one or more documents.
    pub text: String,
    /// Set if the bytes are not UTF-8. The text is then not parsed, and `text` holds the bytes decoded with U+FFFD, for
    /// display.
    pub encoding_error: Option<EncodingError>,
    /// Whether the text is YAML although its name may end in `.json`; see [`SourceSet::set_rewritten`].
    pub is_rewritten: bool,
    /// The directory argument, if the source was read as one of its files.
    pub directory: Option<String>,
    /// Whether the text was found beside the input instead of named by the user; see [`SourceSet::set_found`].
    pub is_found: bool,
    /// Whether the change that is judged brings the text, so that it does not decide what is reported of it.
    pub is_added: bool,
    /// What the text describes, if it does not say so itself: the id of a model.
    pub subject: Option<String>,
    /// What should have built what is applied from this text, but was not run: a kustomization. The objects in a cluster
    /// can then differ from those in the text.
    pub unbuilt: Option<String>,
}

/// The reason why bytes are not UTF-8 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingError {
    /// The bytes are not UTF-8 from this offset on.
    NotUtf8(usize),
    /// The bytes start with the byte order mark of UTF-16.
    Utf16,
}

/// The part of an input that makes up one cluster or stage, such as what one kustomization builds. Each environment is
/// compiled on its own, so names must be unique within an environment only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// How reports name it: the directory that it was found in, such as `clusters/prod`. It is empty for the texts that
    /// are in no such directory.
    pub name: Arc<str>,
    members: BTreeSet<SourceId>,
}

impl Environment {
    /// Returns the name, if reports show one.
    pub fn label(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    /// Returns whether a text belongs to the environment.
    pub fn contains(&self, id: SourceId) -> bool {
        self.members.contains(&id)
    }
}

/// All input texts of one run, in order.
///
/// ```
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// let id = sources.add("models/llama.yaml", "kind: ModelDeployment\n");
/// assert_eq!(sources.get(id).name, "models/llama.yaml");
/// ```
#[derive(Debug, Clone, Default)]
pub struct SourceSet {
    /// Shared with the [views](SourceSet::in_environment) of environments.
    sources: Vec<Arc<Source>>,
    environments: Vec<Environment>,
    /// The texts that belong to any environment.
    divided: BTreeSet<SourceId>,
    /// The texts that a view leaves out.
    hidden: BTreeSet<SourceId>,
}

impl SourceSet {
    /// Adds a text with resources and returns its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.add_for(Purpose::Input, name, text)
    }

    /// Adds a text for a purpose and returns its id.
    pub fn add_for(&mut self, purpose: Purpose, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let name = escape_unprintable(&name.into()).into_owned();
        self.sources.push(Arc::new(Source {
            purpose,
            name,
            text: text.into(),
            encoding_error: None,
            is_rewritten: false,
            directory: None,
            is_found: false,
            is_added: false,
            subject: None,
            unbuilt: None,
        }));
        SourceId(self.sources.len() - 1)
    }

    /// Changes the purpose of a source, for example if its text turns out not to be input. Does nothing for an id of
    /// another set.
    pub fn set_purpose(&mut self, id: SourceId, purpose: Purpose) {
        if let Some(source) = self.source_mut(id) {
            source.purpose = purpose;
        }
    }

    /// Replaces the text of a source, for example after fixes were applied. Does nothing for an id of another set.
    pub fn set_text(&mut self, id: SourceId, text: impl Into<String>) {
        if let Some(source) = self.source_mut(id) {
            source.text = text.into();
        }
    }

    /// Marks the text of a source as rewritten by a client. It is then YAML although the file may be JSON: kpt adds
    /// annotations without quotes to the objects of a `.json` file. Does nothing for an id of another set.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// let id = sources.add("llama.json", "{\"kind\": ModelDeployment}\n");
    /// sources.set_rewritten(id);
    /// assert!(sources.get(id).is_rewritten);
    /// ```
    pub fn set_rewritten(&mut self, id: SourceId) {
        if let Some(source) = self.source_mut(id) {
            source.is_rewritten = true;
        }
    }

    /// Marks a source as one of the files of a directory argument. Does nothing for an id of another set.
    ///
    /// In a directory of CRDs, single files may contain something else (`kustomization.yaml`), but not all of them.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// let id = sources.add_for(Purpose::Crds, "crds/kustomization.yaml", "resources: [ray.yaml]");
    /// sources.set_directory(id, "crds");
    /// assert_eq!(sources.get(id).directory.as_deref(), Some("crds"));
    /// ```
    pub fn set_directory(&mut self, id: SourceId, directory: impl Into<String>) {
        if let Some(source) = self.source_mut(id) {
            source.directory = Some(escape_unprintable(&directory.into()).into_owned());
        }
    }

    /// Says whether options were found beside the input. The authors of the input may have written them too, so they
    /// cannot set the policy. Does nothing for an id of another set.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// let id = sources.add_for(Purpose::Options, "models/kubefoundry.yaml", "strict: true");
    /// sources.set_found(id, true);
    /// assert!(sources.get(id).is_found);
    /// ```
    pub fn set_found(&mut self, id: SourceId, is_found: bool) {
        if let Some(source) = self.source_mut(id) {
            source.is_found = is_found;
        }
    }

    /// Says that the change that is judged brings the options. Does nothing for an id of another set.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// let id = sources.add_for(Purpose::Options, "models/kubefoundry.yaml", "severities: {KF0503: off}");
    /// sources.set_added(id);
    /// assert!(sources.get(id).is_added);
    /// ```
    pub fn set_added(&mut self, id: SourceId) {
        if let Some(source) = self.source_mut(id) {
            source.is_added = true;
        }
    }

    /// Says what a text describes, such as the model to which a `config.json` belongs. Does nothing for an id of another
    /// set.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// let mut sources = SourceSet::default();
    /// let id = sources.add_for(Purpose::ModelConfig, "coder/config.json", "{\"num_attention_heads\": 28}");
    /// sources.set_subject(id, "acme/coder");
    /// assert_eq!(sources.get(id).subject.as_deref(), Some("acme/coder"));
    /// ```
    pub fn set_subject(&mut self, id: SourceId, subject: impl Into<String>) {
        if let Some(source) = self.source_mut(id) {
            source.subject = Some(escape_unprintable(&subject.into()).into_owned());
        }
    }

    /// Says that a text is only a part of what is applied, because what builds the rest was not run. Does nothing for an
    /// id of another set.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// let id = sources.add("base/llama.yaml", "kind: ModelDeployment\n");
    /// sources.set_unbuilt(id, "overlays/prod");
    /// assert_eq!(sources.get(id).unbuilt.as_deref(), Some("overlays/prod"));
    /// ```
    pub fn set_unbuilt(&mut self, id: SourceId, kustomization: impl Into<String>) {
        if let Some(source) = self.source_mut(id) {
            source.unbuilt = Some(escape_unprintable(&kustomization.into()).into_owned());
        }
    }

    /// Adds bytes that should be UTF-8, such as those of a file, and returns their id. Bytes that are not UTF-8 are
    /// reported at the first invalid byte.
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
                // Positions before the first invalid byte stay valid.
                (String::from_utf8_lossy(bytes).into_owned(), Some(why))
            }
        };
        let id = self.add_for(purpose, name, text);
        if let Some(source) = self.source_mut(id) {
            source.encoding_error = not_text;
        }
        id
    }

    /// Returns the source with this id.
    ///
    /// # Panics
    /// If `id` comes from another set.
    #[expect(clippy::indexing_slicing, reason = "ids are made by `add` only; one of another set is a bug")]
    pub fn get(&self, id: SourceId) -> &Source {
        &self.sources[id.0]
    }

    /// Iterates over all sources with their ids, in input order; in a view, over those of its environment.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        let all = self.sources.iter().enumerate().map(|(index, source)| (SourceId(index), &**source));
        all.filter(|(id, _)| self.hidden.is_empty() || !self.hidden.contains(id))
    }

    /// Returns the number of sources, including those that a view leaves out. Every id is less than it.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether the set has no sources.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Divides the texts: adds an environment with these texts. A text that belongs to no environment, such as options
    /// from flags, belongs to all of them.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// let mut sources = SourceSet::default();
    /// let (dev, prod) = (sources.add("dev/m.yaml", ""), sources.add("prod/m.yaml", ""));
    /// let shared = sources.add("providers.yaml", "");
    /// sources.add_environment("dev", [dev]);
    /// sources.add_environment("prod", [prod]);
    /// let view = sources.in_environment(&sources.environments()[1]);
    /// assert_eq!(view.iter().map(|(id, _)| id).collect::<Vec<_>>(), [prod, shared]);
    /// ```
    pub fn add_environment(&mut self, name: &str, members: impl IntoIterator<Item = SourceId>) {
        let members: BTreeSet<SourceId> = members.into_iter().collect();
        self.divided.extend(&members);
        self.environments.push(Environment { name: escape_unprintable(name).into(), members });
    }

    /// Returns the environments, in order; none if the input is not divided.
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// Returns a view of the texts of one environment. Ids and texts are those of this set, and texts are not copied.
    #[must_use]
    pub fn in_environment(&self, environment: &Environment) -> Self {
        let hidden = self.divided.difference(&environment.members).copied().collect();
        Self { sources: self.sources.clone(), hidden, ..Self::default() }
    }

    /// Returns a view of each environment with the name that reports show, or one of everything if the input is not
    /// divided.
    pub fn views(&self) -> Vec<(Option<Arc<str>>, Self)> {
        let view = |it: &Environment| (it.label().map(|_| Arc::clone(&it.name)), self.in_environment(it));
        match self.environments.as_slice() {
            [] => vec![(None, self.clone())],
            environments => environments.iter().map(view).collect(),
        }
    }

    /// Returns whether a view shows a text.
    pub fn shows(&self, id: SourceId) -> bool {
        !self.hidden.contains(&id)
    }

    fn source_mut(&mut self, id: SourceId) -> Option<&mut Source> {
        self.sources.get_mut(id.0).map(Arc::make_mut)
    }
}
