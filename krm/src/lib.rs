//! kubefoundry as a KRM function: a `ResourceList` in, the same list with what its ModelDeployments become out.
//!
//! A pure function of the bytes on standard input, as the engine is: no file, no environment, no clock. Clients
//! (kustomize, kpt) write to disk whatever comes back, and delete whatever does not; so every item that is not ours
//! comes back byte for byte, and an error comes back with the whole list.
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
mod prune;
mod results;
mod sources;

use std::fmt::Write as _;

use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_diagnostics::Severity;

pub use process::{serve, serve_refusal};

use changes::Changes;
use envelope::{Envelope, EnvelopeError};
use function_config::FunctionConfig;
use results::Finding;
use sources::Sources;

/// What a client is to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For standard output: a `ResourceList`, whatever happened. Of a text that is none, that text.
    pub stdout: Vec<u8>,
    /// For standard error: errors, one a line; of some clients it is all that they show.
    pub stderr: String,
    /// The exit status: 0, or 1 where there is an error; then no client writes anything.
    pub status: u8,
}

/// Runs the function on what a client wrote to its standard input (KRM functions specification, `ResourceList` v1,
/// v1beta1 or v1alpha1, YAML or JSON).
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
    let answered = match std::str::from_utf8(input) {
        Ok(text) => answer(text),
        Err(error) => Err(EnvelopeError::NotUtf8(error.valid_up_to())),
    };
    answered.unwrap_or_else(|error| Answer {
        stdout: echo(input, &error),
        stderr: format!("error: kubefoundry-fn: {error}\n"),
        status: 1,
    })
}

/// Answers without running, because the function was started wrongly: the whole list, with the message as a result.
///
/// ```
/// let list = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {kind: A}\n";
/// let answer = kubefoundry_krm::refuse(list, "argument \"x\", expected none");
/// assert!(answer.stdout.starts_with(list) && answer.status == 1);
/// assert_eq!(answer.stderr, "error: kubefoundry-fn: argument \"x\", expected none\n");
/// ```
pub fn refuse(input: &[u8], message: &str) -> Answer {
    let refused = std::str::from_utf8(input).map_err(|error| EnvelopeError::NotUtf8(error.valid_up_to()));
    let stdout = refused.and_then(Envelope::read).map(|envelope| {
        let findings = [Finding::error(message.to_owned())];
        let changes = Changes { results: plan::results(&envelope, &findings), ..Changes::default() };
        changes::write(&envelope, &changes).map_or_else(|_| input.to_vec(), String::into_bytes)
    });
    Answer {
        stdout: stdout.unwrap_or_else(|error| echo(input, &error)),
        stderr: format!("error: kubefoundry-fn: {message}\n"),
        status: 1,
    }
}

/// In place of nothing at all.
const EMPTY_LIST: &[u8] = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

/// What stands for a list that cannot be read: the same bytes. Never nothing, which clients take for "delete all".
fn echo(input: &[u8], error: &EnvelopeError) -> Vec<u8> {
    match error {
        EnvelopeError::Empty => EMPTY_LIST.to_vec(),
        _ => input.to_vec(),
    }
}

fn answer(text: &str) -> Result<Answer, EnvelopeError> {
    let envelope = Envelope::read(text)?;
    let config = FunctionConfig::read(&envelope);
    let sources = Sources::new(&envelope, &config);
    let compilation = compile(&sources.set, Thoroughness::Needed);
    let mut own = config.diagnostics;
    own.extend(plan::refusals(&compilation, &sources, &envelope));
    let mut findings = results::findings(&compilation, &own, &sources, &envelope, config.from_config_map);
    let earlier = results::errors_of_others(&envelope);
    let mut failed = !earlier.is_empty() || findings.iter().any(|finding| finding.severity == Severity::Error);
    let mut stdout = None;
    if !failed {
        let (mut changes, said) = plan::plan(&compilation, &sources, &envelope);
        findings.extend(said);
        changes.results = plan::results(&envelope, &findings);
        match changes::write(&envelope, &changes) {
            Ok(text) => stdout = Some(text),
            Err(error) => {
                failed = true;
                findings.insert(0, Finding::error(error.to_string()));
            }
        }
    }
    let stdout = stdout.unwrap_or_else(|| {
        let only = Changes { results: plan::results(&envelope, &findings), ..Changes::default() };
        changes::write(&envelope, &only).unwrap_or_else(|_| text.to_owned())
    });
    let mut stderr = stderr(&findings, failed, &envelope);
    for message in earlier {
        let _ = writeln!(stderr, "error: {}", message.escape_debug());
    }
    Ok(Answer { stdout: stdout.into_bytes(), stderr, status: u8::from(failed) })
}

/// Errors, for every client. Warnings only where results are not shown: kpt shows them beside standard error.
fn stderr(findings: &[Finding], failed: bool, envelope: &Envelope<'_>) -> String {
    let is_kpt = envelope.items().iter().any(|object| item::annotation(object, item::KPT_INDENT).is_some());
    let least = if failed || is_kpt { Severity::Error } else { Severity::Warning };
    findings.iter().filter(|finding| finding.severity <= least).map(Finding::line).collect()
}
