//! The input of a run.

/// ```
/// use kubefoundry::{Purpose, SourceSet};
/// let mut sources = SourceSet::default();
/// let model = sources.add("models/phi.yaml", "kind: ModelDeployment\n");
/// sources.add_for(Purpose::Options, "kubefoundry.yaml", "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n");
/// assert_eq!(sources.get(model).name, "models/phi.yaml");
/// assert_eq!(sources.iter().count(), 2);
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::source::SourceSet;

/// ```
/// use kubefoundry::{Purpose, SourceSet};
/// let mut sources = SourceSet::default();
/// let dump = sources.add_for(Purpose::Crds, "crds.yaml", "");
/// assert_eq!(sources.get(dump).purpose, Purpose::Crds);
/// assert!(!Purpose::Crds.has_resources());
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::source::Purpose;

/// ```
/// use kubefoundry::{Source, SourceSet};
/// let mut sources = SourceSet::default();
/// let id = sources.add("phi.yaml", "kind: ModelDeployment\n");
/// let source: &Source = sources.get(id);
/// assert_eq!((source.name.as_str(), source.text.as_str()), ("phi.yaml", "kind: ModelDeployment\n"));
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::source::Source;

/// ```
/// use kubefoundry::SourceSet;
/// let mut sources = SourceSet::default();
/// let ids = [sources.add("a.yaml", ""), sources.add("b.yaml", "")];
/// assert!(sources.iter().map(|(id, _)| id).eq(ids));
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::source::SourceId;
