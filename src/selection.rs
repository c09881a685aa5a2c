//! Analysis of the rules by which providers are selected: problems of the rules, and why a provider is not selected.

use kubefoundry_analysis::selection_analysis;
use kubefoundry_composition::BUILTIN;

use crate::{Diagnostic, Providers, SourceSet};

/// Analyzes the selection rules of the input and, with [`Providers::All`], the built-in ones.
///
/// # Errors
/// The errors of options or configurations, because invalid ones could change the selection.
pub fn analyze(sources: &SourceSet, providers: Providers) -> Result<Analysis, Vec<Diagnostic>> {
    selection_analysis::analyze(&BUILTIN, sources, providers)
}

/// Explains for every ModelDeployment of the input why a provider is not selected, and which changes would select it.
///
/// # Errors
/// [`UnknownProvider`] if no configuration has this name.
pub fn why_not(sources: &SourceSet, provider: &str) -> Result<Vec<WhyNot>, UnknownProvider> {
    selection_analysis::why_not(&BUILTIN, sources, provider)
}

/// ```
/// use kubefoundry::selection::{Analysis, analyze};
/// use kubefoundry::{Providers, SourceSet};
/// let analysis: Analysis = analyze(&SourceSet::default(), Providers::All).unwrap();
/// assert!(analysis.complete);
/// assert!(analysis.providers.iter().any(|provider| provider.provider == "dynamo" && provider.wins > 0));
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::selection_analysis::Analysis;

/// ```
/// use kubefoundry::selection::{Flaw, FlawKind, analyze};
/// use kubefoundry::{Providers, SourceSet};
/// let flaws: Vec<Flaw> = analyze(&SourceSet::default(), Providers::All).unwrap().flaws;
/// let kuberay = flaws.iter().find(|flaw| flaw.provider == "kuberay").unwrap();
/// assert_eq!(kuberay.kind, FlawKind::NamedOnly);
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::selection_analysis::{Flaw, FlawKind};

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::selection::{WhyNot, why_not};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let answer: WhyNot = why_not(&sources, "kuberay").unwrap().remove(0);
/// assert_eq!(answer.selected.as_deref(), Some("dynamo"));
/// assert_eq!(answer.by_name.unwrap()[0].value.as_deref(), Some("\"kuberay\""));
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::selection_analysis::WhyNot;

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::selection::{UnknownProvider, why_not};
/// let unknown: UnknownProvider = why_not(&SourceSet::default(), "kubray").unwrap_err();
/// assert!(unknown.to_string().ends_with("; did you mean \"kuberay\"?"));
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::selection_analysis::UnknownProvider;
