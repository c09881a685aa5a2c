//! Repeated evaluation, for programs that keep running.

/// The providers and transformations of this package, with which a [`Session`] and a
/// [`StatusReport`](crate::status::StatusReport) read.
///
/// ```
/// use kubefoundry::{BUILTIN, Providers, Session, SourceSet};
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
/// assert_eq!(session.provider_names().collect::<Vec<_>>(), ["dynamo", "kaito", "kuberay"]);
/// ```
#[doc(inline)]
pub use kubefoundry_composition::BUILTIN;

/// ```
/// use kubefoundry::{BUILTIN, Providers, Session, SourceSet};
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
/// let phi = serde_json::json!({
///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
/// });
/// assert_eq!(session.evaluate(&phi, None).objects.last().unwrap()["kind"], "DynamoGraphDeployment");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::session::Session;

/// ```
/// use kubefoundry::{BUILTIN, Providers, Session, SourceSet};
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::Configured).unwrap();
/// assert_eq!(session.provider_names().count(), 0, "no provider is configured");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::session::Providers;

/// ```
/// use kubefoundry::{BUILTIN, Evaluation, Providers, Session, SourceSet};
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
/// let phi = serde_json::json!({
///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}},
/// });
/// let evaluation: Evaluation = session.evaluate(&phi, None);
/// assert!(evaluation.has_errors() && evaluation.objects.is_empty());
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::session::Evaluation;

/// ```
/// use kubefoundry::{BUILTIN, PriorChoice, Providers, Session, SourceSet};
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
/// let phi = serde_json::json!({
///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
///     "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
/// });
/// let chosen = PriorChoice { provider: "kuberay".to_owned(), reason: "it was the only one".to_owned() };
/// assert_eq!(session.evaluate(&phi, Some(&chosen)).provider(), Some("kuberay"));
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::session::PriorChoice;
