//! The measured runs and their inputs.

use std::fs;
use std::path::Path;

use crate::{Failure, broken as write_failure, corpus};
use kubefoundry_crd::upstream;

/// A run of a program.
pub(super) struct Run {
    /// The name of its count in the record.
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    input: RunInput,
    /// Two numbers of documents. The difference of the runs gives the count of one more document. Without them, the
    /// whole run of one document is counted.
    pub(super) documents: Option<(usize, usize)>,
}

/// What a run reads.
#[derive(Clone, Copy)]
enum RunInput {
    /// The example with one model, passed to this command.
    Example(&'static str),
    /// The example, checked against the CRD of Dynamo.
    ExampleWithCrds,
    /// Documents of the quiet corpus, passed to this command.
    Quiet(&'static str),
    /// Documents of the corpus with findings, passed to this command.
    Findings(&'static str),
    /// Two trees of the quiet corpus with other memory in one third of the documents, passed to `plan`.
    Plan,
    /// The quiet corpus as the items of a ResourceList.
    Function,
    /// Files without a ModelDeployment, passed to `lint`.
    Foreign,
}

const CLI: &str = "kubefoundry";

/// The numbers of documents in the runs that the aims of docs/performance.md are about.
const MANY: Option<(usize, usize)> = Some((500, 1_500));

/// The numbers of documents in the other runs.
const FEWER: Option<(usize, usize)> = Some((200, 600));

/// All measured runs, in the order of the record.
pub(super) static RUNS: [Run; 11] = [
    Run { name: "render-findings-document", program: CLI, input: RunInput::Findings("render"), documents: MANY },
    Run { name: "render-quiet-document", program: CLI, input: RunInput::Quiet("render"), documents: MANY },
    Run { name: "render-one", program: CLI, input: RunInput::Example("render"), documents: None },
    Run { name: "render-one-with-crds", program: CLI, input: RunInput::ExampleWithCrds, documents: None },
    Run { name: "lint-one", program: CLI, input: RunInput::Example("lint"), documents: None },
    Run { name: "lint-findings-document", program: CLI, input: RunInput::Findings("lint"), documents: FEWER },
    Run { name: "lint-foreign-file", program: CLI, input: RunInput::Foreign, documents: FEWER },
    Run { name: "explain-one", program: CLI, input: RunInput::Example("explain"), documents: None },
    Run { name: "explain-findings-document", program: CLI, input: RunInput::Findings("explain"), documents: FEWER },
    Run { name: "plan-document", program: CLI, input: RunInput::Plan, documents: FEWER },
    Run { name: "fn-document", program: "kubefoundry-fn", input: RunInput::Function, documents: FEWER },
];

/// What a program is started with.
pub(super) struct Invocation {
    pub(super) arguments: Vec<String>,
    /// The file that is its standard input.
    pub(super) stdin: Option<String>,
}

impl Run {
    /// Writes the inputs of the run to `folder`.
    pub(super) fn prepare(&self, root: &Path, folder: &Path, documents: usize) -> Result<Invocation, Failure> {
        let example = || root.join("examples/llama-8b/model.yaml").display().to_string();
        let arguments = match self.input {
            RunInput::Example(command) => vec![command.to_owned(), example()],
            RunInput::ExampleWithCrds => {
                let crds = folder.join("crds");
                fs::create_dir_all(&crds).map_err(|error| write_failure(&crds, &error))?;
                write_crds(&crds)?;
                vec!["render".to_owned(), "--crds".to_owned(), crds.display().to_string(), example()]
            }
            RunInput::Quiet(command) => {
                vec![command.to_owned(), write(folder, "quiet.yaml", &corpus::quiet(0..documents))?]
            }
            RunInput::Findings(command) => {
                vec![command.to_owned(), write(folder, "findings.yaml", &corpus::with_findings(0..documents))?]
            }
            RunInput::Plan => {
                let old = corpus::quiet(0..documents);
                let new = old.replace("memory: 32Gi", "memory: 48Gi");
                vec!["plan".to_owned(), write(folder, "old.yaml", &old)?, write(folder, "new.yaml", &new)?]
            }
            RunInput::Function => {
                let list = write(folder, "list.yaml", &resource_list(&corpus::quiet(0..documents)))?;
                return Ok(Invocation { arguments: Vec::new(), stdin: Some(list) });
            }
            RunInput::Foreign => {
                let foreign = folder.join(format!("foreign-{documents}"));
                corpus::write_foreign_files(documents, &foreign)?;
                vec!["lint".to_owned(), foreign.display().to_string()]
            }
        };
        Ok(Invocation { arguments, stdin: None })
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<String, Failure> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| write_failure(&path, &error))?;
    Ok(path.display().to_string())
}

/// Writes every skeleton as a CustomResourceDefinition.
fn write_crds(folder: &Path) -> Result<(), Failure> {
    for (number, skeleton) in upstream::skeletons().enumerate() {
        let text = skeleton.to_yaml().map_err(|error| Failure::Broken(error.to_string()))?;
        write(folder, &format!("{number:03}.yaml"), &text)?;
    }
    Ok(())
}

/// Returns a stream of documents as the items of a ResourceList.
fn resource_list(stream: &str) -> String {
    let mut text = String::from("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n");
    for document in stream.split("---\n") {
        for (number, line) in document.lines().enumerate() {
            text.push_str(if number == 0 { "- " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
