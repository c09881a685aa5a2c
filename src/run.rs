//! A single run over all texts: its output, decisions and findings.

use kubefoundry_compiler::pipeline;
use kubefoundry_composition::BUILTIN;

use crate::SourceSet;

/// Runs the whole pipeline. It never fails: every mistake in the input is a diagnostic.
///
/// ```
/// use kubefoundry::{SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// assert!(!compilation.has_errors());
/// assert_eq!(&*compilation.outputs[0].identity.kind, "DynamoGraphDeployment");
/// assert_eq!(compilation.decisions[0].reason(), Some("default → dynamo (GPU inference default)"));
/// ```
pub fn compile(sources: &SourceSet, thoroughness: Thoroughness) -> Compilation {
    pipeline::compile(&BUILTIN, sources, thoroughness)
}

/// Like [`compile()`], with each object in the form that the caller needs: for many objects, text takes a tenth of the
/// memory of values.
///
/// ```
/// use kubefoundry::{SourceSet, Thoroughness, YamlText, compile_as};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile_as::<YamlText>(&sources, Thoroughness::Needed);
/// assert!(compilation.outputs[0].object.as_str().starts_with("apiVersion: nvidia.com/v1alpha1\n"));
/// ```
pub fn compile_as<O: OutputForm>(sources: &SourceSet, thoroughness: Thoroughness) -> Compilation<O> {
    pipeline::compile_as(&BUILTIN, sources, thoroughness)
}

/// ```
/// use kubefoundry::{SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let needed = compile(&sources, Thoroughness::Needed);
/// let everything = compile(&sources, Thoroughness::Everything);
/// assert!(needed.decisions[0].fields.is_empty() && !everything.decisions[0].fields.is_empty());
/// assert_eq!(needed.outputs, everything.outputs);
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::Thoroughness;

/// ```
/// use kubefoundry::{Severity, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// assert!(compilation.has_errors() && compilation.outputs.is_empty());
/// assert_eq!(compilation.count(Severity::Error), 1);
/// assert_eq!(compilation.diagnostics[0].message, "vLLM engine requires GPU (set resources.gpu.count > 0)");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::Compilation;

/// ```
/// use kubefoundry::{Output, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi, namespace: ml}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// let output: &Output = &compilation.outputs[0];
/// assert!(output.is_generated());
/// assert_eq!(output.object["metadata"]["namespace"], "ml");
/// assert_eq!(&*compilation.decisions[output.decision].object.name, "phi");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::Output;

/// ```
/// use kubefoundry::{OutputRole, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// assert_eq!(compilation.outputs[0].role, OutputRole::Generated);
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::pipeline::OutputRole;

/// ```
/// use kubefoundry::{OutputForm, SourceSet, Thoroughness, compile_as};
///
/// /// Keeps only the kind of an object.
/// #[derive(Clone)]
/// struct Kind(String);
///
/// impl OutputForm for Kind {
///     fn from_value(object: serde_json::Value) -> Self {
///         Self(object["kind"].as_str().unwrap_or_default().to_owned())
///     }
/// }
///
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile_as::<Kind>(&sources, Thoroughness::Needed);
/// assert_eq!(compilation.outputs[0].object.0, "DynamoGraphDeployment");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::pipeline::OutputForm;

/// ```
/// use kubefoundry::{SourceSet, Thoroughness, YamlText, compile_as};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile_as::<YamlText>(&sources, Thoroughness::Needed);
/// assert!(compilation.outputs[0].object.as_str().contains("kind: DynamoGraphDeployment\n"));
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::pipeline::YamlText;

/// ```
/// use kubefoundry::{SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// let decision = &compilation.decisions[0];
/// assert_eq!(decision.provider(), Some("dynamo"));
/// assert_eq!(decision.reason(), Some("default → dynamo (GPU inference default)"));
/// assert_eq!(decision.endpoint.as_ref().unwrap().service, "phi-frontend");
/// ```
///
/// The assessment of every candidate, which [`Thoroughness::Everything`] keeps:
///
/// ```
/// use kubefoundry::{SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Everything);
/// let selection = compilation.decisions[0].selection.as_ref().unwrap();
/// assert!(!selection.explicit);
/// let candidates: Vec<&str> = selection.candidates.iter().map(|candidate| candidate.provider.as_str()).collect();
/// assert_eq!(candidates, ["dynamo", "kaito", "kuberay"]);
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::Decision;

/// ```
/// use kubefoundry::{Diagnostic, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engin: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// let unknown: &Diagnostic = compilation.diagnostics.iter().find(|found| found.code.name == "unknown-field").unwrap();
/// assert_eq!(unknown.help.as_deref(), Some("did you mean \"engine\"?"));
/// assert_eq!(unknown.object.as_ref().unwrap().to_string(), "ModelDeployment phi");
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::Diagnostic;

/// ```
/// use kubefoundry::Severity;
/// assert!(Severity::Error < Severity::Info, "ordered from the most to the least severe");
/// assert_eq!(Severity::Warning.to_string(), "warning");
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::Severity;

/// ```
/// use kubefoundry::{Code, Severity, registry};
/// let code: &Code = registry::code("unknown-field").unwrap();
/// assert_eq!((code.id, code.severity), ("KF0113", Severity::Error));
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::Code;

/// ```
/// use kubefoundry::{Location, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// let phi = sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engin: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// let unknown = compilation.diagnostics.iter().find(|found| found.code.name == "unknown-field").unwrap();
/// let location: &Location = unknown.location.as_ref().unwrap();
/// assert_eq!((location.source, location.path.to_string().as_str()), (phi, "spec.engin"));
/// assert_eq!(&sources.get(phi).text[location.span.start..location.span.end], "engin");
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::Location;

/// ```
/// use kubefoundry::ObjectRef;
/// let object = ObjectRef {
///     api_version: "ray.io/v1".into(),
///     kind: "RayService".into(),
///     namespace: Some("ml".into()),
///     name: "phi".into(),
/// };
/// assert_eq!(object.to_string(), "RayService ml/phi");
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::ObjectRef;

/// ```
/// use kubefoundry::{Fix, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engin: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// let fixes: Vec<&Fix> = compilation.diagnostics.iter().filter_map(|found| found.fix.as_ref()).collect();
/// assert_eq!(fixes[0].edits[0].replacement, "engine");
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::Fix;
