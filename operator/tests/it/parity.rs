//! The operator applies what `kubefoundry render` prints, for every ModelDeployment of the examples and goldens.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::harness::cluster::kinds::{AIRUNWAY_DEPLOYMENT, DEPLOYMENT};
use crate::harness::cluster::{Kind, Namespace, condition};
use crate::harness::crds::documents;
use crate::harness::operator::Options;
use crate::harness::render::{compile_alone, difference, kind_of};
use crate::harness::{ControlPlane, crds, root};
use futures::stream::{self, StreamExt as _};
use kubefoundry_diagnostics::Severity;
use serde_json::Value;

/// A ModelDeployment of the corpus, in its own namespace.
struct CorpusDeployment {
    file: PathBuf,
    kind: Kind,
    object: Value,
}

/// Every ModelDeployment of the folders without options and CRDs.
fn corpus() -> Vec<CorpusDeployment> {
    let mut folders = folders_in(&root().join("examples"));
    for group in folders_in(&root().join("testdata/golden")) {
        folders.extend(folders_in(&group));
    }
    folders.retain(|folder| !folder.join("crds").is_dir() && !folder.join("kubefoundry.yaml").exists());
    let mut subjects = Vec::new();
    for file in folders.iter().flat_map(|folder| files_in(folder)) {
        for mut object in readable(&file) {
            let kinds = [DEPLOYMENT, AIRUNWAY_DEPLOYMENT];
            let kind = kinds.into_iter().find(|kind| {
                object["apiVersion"] == kind.api_version
                    && object["kind"] == kind.kind
                    && object["metadata"].is_object()
            });
            let Some(kind) = kind else { continue };
            if !object["metadata"]["name"].is_string() {
                continue;
            }
            let metadata = object["metadata"].as_object_mut().unwrap();
            // Metadata of another cluster.
            for field in
                ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"]
            {
                metadata.remove(field);
            }
            object.as_object_mut().unwrap().remove("status");
            object["metadata"]["namespace"] = format!("corpus-{}", subjects.len()).into();
            subjects.push(CorpusDeployment { file: file.strip_prefix(root()).unwrap().to_owned(), kind, object });
        }
    }
    subjects
}

fn folders_in(path: &Path) -> Vec<PathBuf> {
    entries(path).into_iter().filter(|path| path.is_dir()).collect()
}

fn files_in(path: &Path) -> Vec<PathBuf> {
    entries(path).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect()
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// The documents of a file; none if it is not UTF-8, as some goldens.
fn readable(file: &Path) -> Vec<Value> {
    if fs::read_to_string(file).is_ok() { documents(file) } else { Vec::new() }
}

/// The result of a comparison.
enum ParityOutcome {
    /// The cluster has the objects as rendered.
    Same,
    /// The deployment has errors, and waits with the same messages.
    Waits,
    /// The provider is a third party's.
    Foreign,
    /// The apiserver refuses the deployment.
    Refused,
}

#[tokio::test]
async fn the_operator_applies_what_render_prints() {
    let Some(plane) = ControlPlane::start().await else { return };
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let options = Options::default().roles("core,selector,kaito,dynamo,kuberay");
    let options = options.flag("--groups", "kubefoundry.ai,kubeairunway.ai").flag("--stale-after", "5m");
    let operator = options.start_ready(&plane, "parity").await;
    let subjects = corpus();
    let outcomes: Vec<(&CorpusDeployment, Result<ParityOutcome, String>)> = stream::iter(&subjects)
        .map(async |subject| (subject, check(&client, subject).await))
        .buffered(8)
        .collect()
        .await;
    let mut wrong = Vec::new();
    let (mut same, mut waits, mut foreign, mut refused) = (0, 0, 0, 0);
    for (subject, outcome) in outcomes {
        match outcome {
            Ok(ParityOutcome::Same) => same += 1,
            Ok(ParityOutcome::Waits) => waits += 1,
            Ok(ParityOutcome::Foreign) => foreign += 1,
            Ok(ParityOutcome::Refused) => refused += 1,
            Err(reason) => wrong.push(format!("{}: {reason}", subject.file.display())),
        }
    }
    println!("{same} as rendered, {waits} wait with their message, {foreign} of others, {refused} refused by the CRD");
    assert!(wrong.is_empty(), "{} of {} differ:\n{}\n", wrong.len(), subjects.len(), wrong.join("\n"));
    assert!(same > 100 && waits > 45, "the corpus is too small: {same} and {waits}");
    drop(operator);
}

async fn check(client: &kube::Client, subject: &CorpusDeployment) -> Result<ParityOutcome, String> {
    let CorpusDeployment { kind, object, .. } = subject;
    let name = object["metadata"]["name"].as_str().unwrap();
    let space = object["metadata"]["namespace"].as_str().unwrap();
    let namespace = Namespace::create(client, space).await;
    let Ok(stored) = namespace.apply(*kind, object).await else { return Ok(ParityOutcome::Refused) };
    let compilation = compile_alone(object);
    let generated: Vec<&Value> =
        compilation.outputs.iter().filter(|output| output.is_generated()).map(|output| &output.object).collect();
    let what = if compilation.has_errors() { "Pending" } else { "as rendered" };
    let stored = stored["metadata"]["name"].as_str().unwrap_or(name).to_owned();
    if !compilation.has_errors() && generated.is_empty() {
        return Ok(ParityOutcome::Foreign);
    }
    let started = std::time::Instant::now();
    let mut last = String::new();
    while started.elapsed() < Duration::from_secs(180) {
        let deployment = namespace.get(*kind, &stored).await;
        let result = if compilation.has_errors() {
            check_waits(&deployment, &compilation)
        } else {
            check_same(&namespace, &deployment, &generated).await
        };
        match result {
            Ok(outcome) => return Ok(outcome),
            Err(reason) => last = reason,
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    Err(format!("not {what} after {:?}: {last}", started.elapsed()))
}

/// Checks that the cluster has the rendered objects.
async fn check_same(namespace: &Namespace, deployment: &Value, generated: &[&Value]) -> Result<ParityOutcome, String> {
    let created = condition(deployment, "ResourceCreated").is_some_and(|condition| condition["status"] == "True");
    if !created {
        return Err(format!("status {}", deployment["status"]));
    }
    for rendered in generated {
        let kind = kind_of(rendered);
        let name = rendered["metadata"]["name"].as_str().unwrap();
        let live = namespace.find(kind, name).await.ok_or_else(|| format!("{} {name} does not exist", kind.kind))?;
        if let Some(difference) = difference(namespace, kind, rendered, &live).await {
            return Err(format!("{} {name}:\n{difference}", kind.kind));
        }
    }
    Ok(ParityOutcome::Same)
}

/// Checks that the phase is Pending, with the messages of rendering.
fn check_waits(deployment: &Value, compilation: &kubefoundry_compiler::Compilation) -> Result<ParityOutcome, String> {
    let status = &deployment["status"];
    let message = status["message"].as_str().unwrap_or_default();
    let errors: Vec<&str> = compilation
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| &*diagnostic.message)
        .collect();
    if status["phase"] == "Pending"
        && errors.iter().all(|error| message.contains(error) || message.contains(&*unquoted(error)))
    {
        Ok(ParityOutcome::Waits)
    } else {
        Err(format!("status {status}\nrendering reports {errors:?}"))
    }
}

/// A message without the text of a value in parentheses, as `is an integer (24)`: that is the text of a file.
fn unquoted(message: &str) -> String {
    let parts = message.split_once(" (").and_then(|(start, rest)| Some((start, rest.split_once(')')?.1)));
    parts.map_or_else(|| message.to_owned(), |(start, end)| format!("{start}{end}"))
}
