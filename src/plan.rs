//! The effects of a change on running models. [`plan()`] compares two runs.

#[doc(inline)]
pub use kubefoundry_analysis::plan::plan;

/// ```
/// use kubefoundry::plan::{Applier, PlanInput, plan};
/// use kubefoundry::{SourceSet, Thoroughness, compile_as};
/// let sources = SourceSet::default();
/// let compilation = compile_as(&sources, Thoroughness::Needed);
/// let run = PlanInput { sources: &sources, compilation: &compilation };
/// // A run over nothing is refused, unless the options say that there may be nothing.
/// assert!(plan(run, run, Applier::Apply).is_err());
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::plan::PlanInput;

/// ```
/// use kubefoundry::plan::Applier;
/// assert_eq!(Applier::default(), Applier::Apply);
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::plan::Applier;

/// ```
/// use kubefoundry::plan::{Applier, Plan, PlanInput, plan};
/// use kubefoundry::{SourceSet, Thoroughness, compile_as};
/// let text = "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ";
/// let (mut old, mut new) = (SourceSet::default(), SourceSet::default());
/// old.add("phi.yaml", text);
/// new.add("phi.yaml", text.replace("count: 1", "count: 2"));
/// let (before, after) = (compile_as(&old, Thoroughness::Needed), compile_as(&new, Thoroughness::Needed));
/// let old = PlanInput { sources: &old, compilation: &before };
/// let new = PlanInput { sources: &new, compilation: &after };
/// let plan: Plan = plan(old, new, Applier::Apply).unwrap();
/// assert_eq!(plan.summary.to_string(), "1 restart; GPUs 1 → 2");
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::plan::Plan;

/// ```
/// use kubefoundry::plan::{Applier, DeploymentPlan, PlanInput, plan};
/// use kubefoundry::{SourceSet, Thoroughness, compile_as};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile_as(&sources, Thoroughness::Needed);
/// let run = PlanInput { sources: &sources, compilation: &compilation };
/// let unchanged: DeploymentPlan = plan(run, run, Applier::Apply).unwrap().deployments.remove(0);
/// assert_eq!(unchanged.class, None);
/// assert!(unchanged.changes.is_empty() && unchanged.objects.is_empty());
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::plan::DeploymentPlan;

/// ```
/// use kubefoundry::plan::ChangeClass;
/// assert!(ChangeClass::InPlace < ChangeClass::Recreate, "ordered from the least to the most severe");
/// assert_eq!(ChangeClass::RollingRestart.to_string(), "rolling-restart");
/// assert_eq!(ChangeClass::RollingRestart.meaning(), "pods are replaced one after the other");
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::plan::ChangeClass;

/// ```
/// use kubefoundry::plan::PlanError;
/// let message = PlanError::NewHasErrors.to_string();
/// assert_eq!(message, "NEW has errors: it renders nothing, so it changes nothing");
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::plan::PlanError;
