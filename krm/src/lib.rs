//! kubefoundry as a KRM function: adds the objects generated from the ModelDeployments of a `ResourceList` to it.
//!
//! The output depends only on standard input: the function reads no file, no environment and no clock. Clients
//! (kustomize, kpt) write every returned item to disk and delete all others. Therefore all foreign items are returned
//! byte for byte, and an error is returned together with the whole list.
//!
//! ```text
//! envelope ─ function_config ─ sources ─ kubefoundry_compiler::compile ─ plan (─ prune) ─ results ─ changes
//! ```

mod block;
mod changes;
mod envelope;
mod function_config;
mod generated;
mod item;
mod plan;
mod process;
mod program;
mod prune;
mod results;
mod sources;

use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::Severity;
use kubefoundry_yaml::append_line;

pub use process::{serve, serve_refusal};
pub use program::{is_function, run_program};

use changes::Changes;
use envelope::{Envelope, EnvelopeError};
use function_config::FunctionConfig;
use results::Finding;
use sources::Sources;

/// Returns the options in a ConfigMap that configures the function, as the text of a `Render` document; `None` if the
/// function would refuse them.
///
/// ```
/// use kubefoundry_krm::config_map_options;
/// let parsed = kubefoundry_yaml::parse("kind: ConfigMap\ndata: {strict: 'true'}\n", &kubefoundry_yaml::Limits::default());
/// assert!(config_map_options(&parsed.documents[0].root).unwrap().contains("\"strict\":true"));
/// ```
pub fn config_map_options(config_map: &kubefoundry_yaml::Node<'_>) -> Option<String> {
    FunctionConfig::from_config_map(config_map)
}

/// The output of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Standard output: a `ResourceList` even after an error. If the input is not a `ResourceList`, the input itself.
    pub stdout: Vec<u8>,
    /// Standard error: one line for each error. Some clients show nothing else.
    pub stderr: String,
    /// The exit status: 0, or 1 for an error, after which clients write nothing.
    pub status: u8,
}

/// Runs the function on the standard input from a client (KRM functions specification, `ResourceList` v1, v1beta1 or
/// v1alpha1, YAML or JSON).
///
/// ```
/// let answer = kubefoundry_krm::run(b"\
/// apiVersion: config.kubernetes.io/v1
/// kind: ResourceList
/// items:
/// - apiVersion: kubefoundry.ai/v1alpha1
///   kind: ModelDeployment
///   metadata: {name: phi} # kept as it is
///   spec:
///     model: {id: microsoft/Phi-4-mini-instruct}
///     engine: {type: vllm}
///     resources: {gpu: {count: 1}}
/// ");
/// let out = String::from_utf8(answer.stdout).unwrap();
/// assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
/// assert!(out.contains("metadata: {name: phi} # kept as it is") && out.contains("kind: DynamoGraphDeployment"));
/// ```
pub fn run(input: &[u8]) -> Answer {
    let result = match std::str::from_utf8(input) {
        Ok(text) => run_on_text(text),
        Err(error) => Err(EnvelopeError::NotUtf8(error.valid_up_to())),
    };
    result.unwrap_or_else(|error| Answer {
        stdout: echo_input(input, &error),
        stderr: format!("error: kubefoundry-fn: {error}\n"),
        status: 1,
    })
}

/// Returns the whole list with an error as a result, without running the function, because it was started wrongly.
///
/// ```
/// let list = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {kind: A}\n";
/// let answer = kubefoundry_krm::refuse(list, "argument \"x\", expected none");
/// assert!(answer.stdout.starts_with(list) && answer.status == 1);
/// assert_eq!(answer.stderr, "error: kubefoundry-fn: argument \"x\", expected none\n");
/// ```
pub fn refuse(input: &[u8], message: &str) -> Answer {
    let text = std::str::from_utf8(input).map_err(|error| EnvelopeError::NotUtf8(error.valid_up_to()));
    let stdout = text.and_then(Envelope::parse).map(|envelope| {
        let findings = [Finding::error(message.to_owned())];
        let changes = Changes { results: plan::merge_results(&envelope, &findings), ..Changes::default() };
        changes::apply(&envelope, &changes).map_or_else(|_| input.to_vec(), String::into_bytes)
    });
    Answer {
        stdout: stdout.unwrap_or_else(|error| echo_input(input, &error)),
        stderr: format!("error: kubefoundry-fn: {message}\n"),
        status: 1,
    }
}

/// The output for empty input.
const EMPTY_LIST: &[u8] = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

/// Returns the output for input that cannot be read: the same bytes. It is never empty, because clients would delete
/// everything.
fn echo_input(input: &[u8], error: &EnvelopeError) -> Vec<u8> {
    match error {
        EnvelopeError::Empty => EMPTY_LIST.to_vec(),
        _ => input.to_vec(),
    }
}

fn run_on_text(text: &str) -> Result<Answer, EnvelopeError> {
    let envelope = Envelope::parse(text)?;
    let config = FunctionConfig::read(&envelope);
    let sources = Sources::new(&envelope, &config);
    let compilation = compile(&BUILTIN, &sources.set, Thoroughness::Needed);
    let mut diagnostics = config.diagnostics;
    diagnostics.extend(plan::check_output_mode(&compilation, &sources, &envelope));
    let mut findings = results::to_findings(&compilation, &diagnostics, &sources, &envelope, config.from_config_map);
    // An error of an earlier function must not be hidden by the success of this one.
    let earlier_errors = results::errors_of_others(&envelope);
    let mut failed = !earlier_errors.is_empty() || findings.iter().any(|finding| finding.severity == Severity::Error);
    let mut stdout = None;
    if !failed {
        let (mut changes, plan_findings) = plan::plan_changes(&compilation, &sources, &envelope);
        findings.extend(plan_findings);
        changes.results = plan::merge_results(&envelope, &findings);
        match changes::apply(&envelope, &changes) {
            Ok(text) => stdout = Some(text),
            Err(error) => {
                failed = true;
                findings.insert(0, Finding::error(error.to_string()));
            }
        }
    }
    let stdout = stdout.unwrap_or_else(|| {
        let results_only = Changes { results: plan::merge_results(&envelope, &findings), ..Changes::default() };
        changes::apply(&envelope, &results_only).unwrap_or_else(|_| text.to_owned())
    });
    let mut stderr = format_stderr(&findings, failed, &envelope);
    for message in earlier_errors {
        append_line!(stderr, "error: {}", message.escape_debug());
    }
    Ok(Answer { stdout: stdout.into_bytes(), stderr, status: u8::from(failed) })
}

/// Formats the findings for standard error. Warnings are omitted for kpt, which also shows the results, and after an
/// error.
fn format_stderr(findings: &[Finding], failed: bool, envelope: &Envelope<'_>) -> String {
    let is_kpt = envelope.items().iter().any(|object| item::annotation(object, item::KPT_INDENT).is_some());
    let threshold = if failed || is_kpt { Severity::Error } else { Severity::Warning };
    findings.iter().filter(|finding| finding.severity <= threshold).map(Finding::to_line).collect()
}
