//! The functions of the engine: a request as JSON in, a report as JSON out.

use std::fmt;

use kubefoundry::plan::{Applier, PlanInput, plan};
use kubefoundry::registry;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::Cache;
use kubefoundry_compiler::pipeline::{OutputForm, YamlText};
use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::import::{ImportSettings, import_with};
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::render;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_editor::completion::{CompletionKind, complete};
use kubefoundry_editor::fixes::{breaks_syntax, compatible_edits};
use kubefoundry_editor::hover::describe;
use kubefoundry_reports::plan::{PlanContext, mark_new};
use kubefoundry_reports::run::{AsWritten, RunResult};
use kubefoundry_reports::{decisions, fit, import, manifests, page, plan as plan_report};
use kubefoundry_yaml::edit::apply_edits;
use kubefoundry_yaml::to_yaml_stream;
use serde_json::{Value, json};

use crate::offsets::{to_bytes, to_units};
use crate::request::{EmptyInput, Request};

/// Reasons why a call has no answer. A mistake in a text is a finding of the report instead.
#[derive(Debug)]
pub enum CallError {
    /// The request does not have the declared form.
    Request(serde_json::Error),
    /// The request has no text with this name.
    NoFile(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => write!(f, "the request is malformed: {error}"),
            Self::NoFile(name) => write!(f, "the request has no text named {name:?}"),
        }
    }
}

/// A JSON text, or the reason why there is none.
pub type Answer = Result<String, CallError>;

/// Answers requests. It keeps the results of documents, so that the next request compiles only what has changed.
#[derive(Debug, Default)]
pub struct Engine {
    render: Cache<YamlText>,
    explain: Cache<Value>,
    /// The last request that `explain` compiled. An editor asks for findings and for decisions of the same texts.
    explained: Option<Explained>,
}

/// A request with what it was compiled to.
#[derive(Debug)]
struct Explained {
    request: String,
    sources: SourceSet,
    compilation: Compilation,
}

impl Engine {
    /// Returns the findings of `lint`, as in schemas/diagnostics.json.
    pub fn lint(&mut self, request: &str) -> Answer {
        let Explained { sources, compilation, .. } = self.explained(request)?;
        let reported: Vec<Diagnostic> =
            compilation.diagnostics.iter().filter(|finding| !finding.suppressed).cloned().collect();
        Ok(render::json(&reported, sources, &compilation.checked_schemas()))
    }

    /// Returns what `render` prints: `manifests`, which are `null` after an error, and the findings. `refusal` is the reason
    /// why an input without errors cannot be copied to the output, as the options ask.
    pub fn render(&mut self, request: &str) -> Answer {
        let sources = read(request)?.sources(EmptyInput::Refused);
        let compilation = self.render.compile(&BUILTIN, &sources, Thoroughness::Needed);
        let mode = compilation.options.output.unwrap_or(OutputMode::Generated);
        let (mut text, mut refusal) = (None, None);
        if !compilation.has_errors() {
            match manifests::yaml(&sources, &compilation, mode) {
                Ok(parts) => text = Some(parts.concat()),
                Err(error) => refusal = Some(error.to_string()),
            }
        }
        let report = parsed(&findings(&compilation, &sources));
        Ok(to_text(&json!({"manifests": text, "refusal": refusal, "diagnostics": report})))
    }

    /// Returns the decisions of `explain`, as in schemas/decisions.json.
    pub fn explain(&mut self, request: &str) -> Answer {
        self.with_decisions(request, decisions::json)
    }

    /// Returns the decisions as a part of an HTML page, for the style sheet of [`picture_style`].
    pub fn picture(&mut self, request: &str) -> Answer {
        self.with_decisions(request, |run| to_text(&Value::from(page::sections(run))))
    }

    /// Returns on which GPUs the models fit, as in schemas/fit.json.
    pub fn fit(&mut self, request: &str) -> Answer {
        self.with_decisions(request, fit::json)
    }

    fn with_decisions(&mut self, request: &str, report: impl FnOnce(RunResult<'_>) -> String) -> Answer {
        let Explained { sources, compilation, .. } = self.explained(request)?;
        Ok(report(RunResult { sources, origins: &AsWritten, compilation }))
    }

    /// Compiles a request, unless it is the last one again.
    fn explained(&mut self, request: &str) -> Result<&Explained, CallError> {
        let explained = match self.explained.take() {
            Some(explained) if explained.request == request => explained,
            _ => {
                let sources = read(request)?.sources(EmptyInput::Allowed);
                let compilation = self.explain.compile(&BUILTIN, &sources, Thoroughness::Everything);
                Explained { request: request.to_owned(), sources, compilation }
            }
        };
        Ok(self.explained.insert(explained))
    }

    /// Compares two requests. Returns `plan`, as in schemas/plan.json, which is `null` if one of them has errors, and the
    /// findings of both.
    pub fn plan(&self, old: &str, new: &str, diff: bool) -> Answer {
        let (old_sources, new_sources) =
            (read(old)?.sources(EmptyInput::Allowed), read(new)?.sources(EmptyInput::Allowed));
        let compile = |sources| kubefoundry::compile_as::<YamlText>(sources, Thoroughness::Needed);
        let (before, after) = (compile(&old_sources), compile(&new_sources));
        let is_new = mark_new(&before.diagnostics, &after.diagnostics);
        let inputs = (
            PlanInput { sources: &old_sources, compilation: &before },
            PlanInput { sources: &new_sources, compilation: &after },
        );
        // Without a plan, the findings say why.
        let report = plan(inputs.0, inputs.1, Applier::Apply).map_or(Value::Null, |plan| {
            let old = RunResult { sources: &old_sources, origins: &AsWritten, compilation: &before };
            let new = RunResult { sources: &new_sources, origins: &AsWritten, compilation: &after };
            parsed(&plan_report::json(&PlanContext { plan: &plan, old, new, is_new: &is_new, diff }))
        });
        Ok(to_text(&json!({
            "plan": report,
            "oldDiagnostics": parsed(&findings(&before, &old_sources)),
            "diagnostics": parsed(&findings(&after, &new_sources)),
        })))
    }

    /// Converts objects of providers. Returns `report`, as in schemas/import.json, and the ModelDeployments as
    /// `manifests`.
    pub fn import(&self, request: &str, provider_to: Option<&str>, with_patches: bool) -> Answer {
        let sources = read(request)?.sources(EmptyInput::Allowed);
        let imported = import_with(&BUILTIN, &sources, &ImportSettings { provider_to, with_patches });
        let deployments = imported.imported.iter().map(|imported| &imported.model_deployment);
        Ok(to_text(&json!({
            "manifests": to_yaml_stream(deployments),
            "report": parsed(&import::json(&imported, &sources)),
        })))
    }

    /// Returns what can stand at an offset of a text, in UTF-16 units, the likeliest first.
    pub fn complete(&self, request: &str, file: &str, offset: usize) -> Answer {
        let request = read(request)?;
        let text = request.text(file).ok_or_else(|| CallError::NoFile(file.to_owned()))?;
        let session = session(&request);
        let completions = complete(text, to_bytes(text, offset), session.as_ref()).into_iter().map(|completion| {
            let kind = match completion.kind {
                CompletionKind::Field => "field",
                CompletionKind::Property => "property",
                CompletionKind::Constant => "constant",
                CompletionKind::Value => "value",
            };
            json!({
                "label": completion.label,
                "kind": kind,
                "detail": completion.detail,
                "documentation": completion.documentation,
                "deprecated": completion.deprecated,
                "from": to_units(text, completion.span.start),
                "to": to_units(text, completion.span.end),
                "text": completion.new_text,
            })
        });
        Ok(to_text(&completions.collect()))
    }

    /// Describes what stands at an offset of a text, in UTF-16 units; `null` if there is nothing to say.
    pub fn hover(&self, request: &str, file: &str, offset: usize) -> Answer {
        let request = read(request)?;
        let text = request.text(file).ok_or_else(|| CallError::NoFile(file.to_owned()))?;
        let description = describe(text, to_bytes(text, offset), session(&request).as_ref());
        Ok(to_text(&description.map_or(Value::Null, |description| {
            json!({
                "markdown": description.markdown,
                "from": to_units(text, description.span.start),
                "to": to_units(text, description.span.end),
            })
        })))
    }

    /// Returns a text with all fixes that can be applied together, and how many findings of it had one: `text`, `fixes`.
    pub fn fix_all(&mut self, request: &str, file: &str) -> Answer {
        let texts = read(request)?;
        let text = texts.text(file).ok_or_else(|| CallError::NoFile(file.to_owned()))?;
        let Explained { sources, compilation, .. } = self.explained(request)?;
        let source = texts.source(sources, file);
        let is_here = |finding: &&Diagnostic| {
            !finding.suppressed && finding.location.as_ref().map(|location| location.source) == source
        };
        let fixable: Vec<&Diagnostic> =
            compilation.diagnostics.iter().filter(is_here).filter(|finding| finding.fix.is_some()).collect();
        let fixed = apply_edits(text, &compatible_edits(text, fixable.iter().copied()));
        let fixed = if breaks_syntax(text, &fixed) { text.to_owned() } else { fixed };
        Ok(to_text(&json!({"text": fixed, "fixes": fixable.len()})))
    }
}

/// Returns the style sheet of the pictures.
pub fn picture_style() -> &'static str {
    page::STYLE
}

/// Returns the page of a code in Markdown, by its id or its name.
pub fn code_page(code: &str) -> Option<&'static str> {
    registry::code(code).and_then(registry::page)
}

fn read(request: &str) -> Result<Request, CallError> {
    serde_json::from_str(request).map_err(CallError::Request)
}

/// Returns a session with the options and the provider configurations of a request. If the options have an error, the
/// default ones apply.
fn session(request: &Request) -> Option<Session> {
    let session = Session::new(&BUILTIN, &request.sources(EmptyInput::Allowed), Providers::All);
    session.or_else(|_| Session::new(&BUILTIN, &SourceSet::default(), Providers::All)).ok()
}

fn findings<O: OutputForm>(compilation: &Compilation<O>, sources: &SourceSet) -> String {
    render::json(&compilation.diagnostics, sources, &compilation.checked_schemas())
}

fn to_text(value: &Value) -> String {
    value.to_string()
}

/// Reads one of our reports again, in order to put it into an answer. One that is not JSON would be put into it as text.
fn parsed(report: &str) -> Value {
    serde_json::from_str(report).unwrap_or_else(|_| Value::from(report))
}
