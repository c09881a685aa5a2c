//! `cargo measure import-corpus FOLDER [--check]`: imports every object of a corpus, renders the result and compares it with
//! the original, independently of the comparison by which `import` finds the residue.
//!
//! The corpus is optional: it holds manifests of other projects and is not part of the repository.

mod denominator;
mod leaves;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry_compiler::options::render;
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_convert::import::{ImportReport, ImportSettings, ImportedDeployment, import, import_with};
use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_provider::draft::{items_at, string_at};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::append_line;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Failure, broken, workspace};

/// The file that the task writes.
const PAGE: &str = "docs/import-corpus.md";
/// Decides which fifth of the files is held out. Changing it after looking at results defeats its purpose.
const SEED: &str = "kubefoundry import 2026-11";
/// One of this many files is held out.
const HELD_OUT: u8 = 5;
/// The folders of a corpus, each with the kinds that count.
const GROUPS: [(&str, &[&str]); 3] =
    [("dynamo", &["DynamoGraphDeployment"]), ("kaito", &["Workspace", "InferenceSet"]), ("kuberay", &["RayService"])];

/// What became of an object.
enum Outcome {
    /// Imported, with this many entries of residue, and with this many beside raw patches.
    Imported { residue: usize, beside_patches: usize },
    /// Refused, with the reason.
    Refused(String),
}

/// An object of the corpus.
struct Entry {
    file: String,
    name: String,
    /// The rule by which it does not count.
    excluded_by: Option<String>,
    is_held_out: bool,
    outcome: Outcome,
    /// The differences from the rendering that no finding says.
    unsaid: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder with the objects
    folder: PathBuf,
    /// Write nothing, fail when the counts differ
    #[arg(long)]
    check: bool,
}

/// Runs the instrument with its options.
pub(crate) fn run(Options { folder, check }: &Options) -> Result<String, Failure> {
    let mut page = String::from(INTRODUCTION);
    let mut summary = String::new();
    let mut unsaid = Vec::new();
    for (group, kinds) in GROUPS {
        let entries = read_group(&folder.join(group), kinds)?;
        unsaid.extend(entries.iter().flat_map(|entry| {
            entry.unsaid.iter().map(move |difference| format!("{group}/{} {}: {difference}", entry.file, entry.name))
        }));
        describe(group, kinds, &entries, &mut page, &mut summary);
    }
    let path = workspace().join(PAGE);
    if !check {
        fs::write(&path, &page).map_err(|error| broken(&path, &error))?;
    }
    if !unsaid.is_empty() {
        return Err(Failure::Unmet(format!(
            "{} differences that no finding says:\n{}\n{summary}",
            unsaid.len(),
            unsaid.join("\n")
        )));
    }
    if *check && fs::read_to_string(&path).ok() != Some(page) {
        return Err(Failure::Unmet(format!("stale, run `cargo measure import-corpus FOLDER`: {PAGE}")));
    }
    Ok(summary)
}

/// Reads every file of a folder.
fn read_group(folder: &Path, kinds: &[&str]) -> Result<Vec<Entry>, Failure> {
    let broken = |error: std::io::Error| broken(folder, &error);
    let names = fs::read_dir(folder).map_err(broken)?.map(|file| file.map(|file| file.file_name()));
    let names: BTreeSet<std::ffi::OsString> = names.collect::<Result<_, _>>().map_err(broken)?;
    let mut entries = Vec::new();
    for name in names {
        let name = name.to_string_lossy().into_owned();
        let text = fs::read_to_string(folder.join(&name)).map_err(broken)?;
        entries.extend(read_file(&name, &text, kinds));
    }
    Ok(entries)
}

/// Imports the objects of a file.
fn read_file(file: &str, text: &str, kinds: &[&str]) -> Vec<Entry> {
    let mut sources = SourceSet::default();
    sources.add(file, text);
    let report = import(&BUILTIN, &sources);
    let patched = import_with(&BUILTIN, &sources, &ImportSettings { with_patches: true, ..ImportSettings::default() });
    let objects = objects(text);
    let counted = objects.iter().filter(|object| kinds.contains(&string_at(object, "/kind").unwrap_or_default()));
    let is_held_out = Sha256::digest(format!("{SEED} {file}")).first().is_some_and(|byte| byte % HELD_OUT == 0);
    counted
        .map(|object| {
            let (kind, name) = (string_at(object, "/kind"), string_at(object, "/metadata/name"));
            let is_part = !items_at(object, "/metadata/ownerReferences").is_empty();
            let of_object = |report: &'_ ImportReport| -> Vec<ImportedDeployment> {
                let is_of_object = |imported: &&ImportedDeployment| {
                    Some(&*imported.object.kind) == kind && Some(&*imported.object.name) == name
                };
                report.imported.iter().filter(is_of_object).cloned().collect()
            };
            let residue = |imported: &[ImportedDeployment]| imported.iter().map(|it| it.residue.len()).sum();
            let (imported, with_patches) = (of_object(&report), of_object(&patched));
            let (outcome, unsaid) = if imported.is_empty() {
                (Outcome::Refused(refusal(&report, name.unwrap_or_default())), Vec::new())
            } else {
                let own = imported.iter().flat_map(|imported| unsaid(object, &objects, imported, &report));
                let of_patched = with_patches.iter().flat_map(|imported| unsaid(object, &objects, imported, &patched));
                let of_patched = of_patched.map(|difference| format!("with patches: {difference}"));
                let unsaid = own.chain(of_patched).collect();
                (Outcome::Imported { residue: residue(&imported), beside_patches: residue(&with_patches) }, unsaid)
            };
            let is_owned = is_part.then(|| "belongs to another object".to_owned());
            Entry {
                file: file.to_owned(),
                name: name.unwrap_or_default().to_owned(),
                excluded_by: is_owned.or_else(|| denominator::excluded_by(object)),
                is_held_out,
                outcome,
                unsaid,
            }
        })
        .collect()
}

/// Returns every object of a text; none if it is not YAML.
fn objects(text: &str) -> Vec<Value> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let mut objects = Vec::new();
    for document in parsed.documents {
        let value = document.root.to_json();
        if string_at(&value, "/kind").is_some_and(|kind| kind.ends_with("List")) {
            objects.extend(items_at(&value, "/items").iter().cloned());
        } else {
            objects.push(value);
        }
    }
    objects
}

/// Returns why an object was refused.
fn refusal(report: &ImportReport, name: &str) -> String {
    let errors = report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
    let marker = format!(" {name} cannot be imported: ");
    let own = errors.clone().find_map(|error| Some(error.message.split_once(&marker)?.1.to_owned()));
    own.or_else(|| errors.map(|error| error.message.clone()).next()).unwrap_or_else(|| "no reason".to_owned())
}

/// Renders an imported object and returns the differences that neither residue nor a finding says.
fn unsaid(object: &Value, objects: &[Value], imported: &ImportedDeployment, report: &ImportReport) -> Vec<String> {
    let rendered = match render(object, &imported.model_deployment) {
        Ok(rendered) => rendered,
        Err(errors) => return vec![format!("the result does not render: {errors}")],
    };
    let originals = std::iter::once(object).chain(imported.parts.iter().filter_map(|part| {
        objects.iter().find(|object| {
            string_at(object, "/kind") == Some(&part.kind) && string_at(object, "/metadata/name") == Some(&part.name)
        })
    }));
    let messages: Vec<&str> = report.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    let mut rest: Vec<&Value> = rendered.iter().collect();
    let mut unsaid = Vec::new();
    for original in originals {
        let kind = string_at(original, "/kind");
        let Some(position) = rest.iter().position(|other| string_at(other, "/kind") == kind) else {
            unsaid.push(format!("{} is not rendered", kind.unwrap_or_default()));
            continue;
        };
        let residue: Vec<&kubefoundry_convert::import::Residue> =
            imported.residue.iter().filter(|entry| Some(&*entry.object.kind) == kind).collect();
        unsaid.extend(leaves::unsaid(original, rest.remove(position), objects, &residue, &messages));
    }
    for other in rest {
        let kind = string_at(other, "/kind");
        let added = format!(
            "rendering the import adds {} {}",
            kind.unwrap_or_default(),
            string_at(other, "/metadata/name").unwrap_or_default()
        );
        let is_said = messages.contains(&added.as_str())
            || imported.residue.iter().any(|entry| {
                entry.path.is_empty() && entry.rendered.as_ref().is_some_and(|added| string_at(added, "/kind") == kind)
            });
        if !is_said {
            unsaid.push(format!("{} is added", kind.unwrap_or_default()));
        }
    }
    unsaid
}

/// Renders a ModelDeployment in the CRD version of the object that it was imported from.
fn render(object: &Value, deployment: &Value) -> Result<Vec<Value>, String> {
    let mut sources = SourceSet::default();
    let mut options =
        json!({"apiVersion": render::API_VERSION, "kind": "Render", "strict": false, "ownerReferences": false});
    // An import names the policy that its result needs, and does not write it.
    options["policy"] = json!({"podSecurity": "privileged"});
    let version = string_at(object, "/apiVersion").unwrap_or_default();
    let kind = string_at(object, "/kind").unwrap_or_default();
    let group = version.split('/').next().unwrap_or_default();
    let provider = PROVIDERS.iter().find(|provider| provider.info().has_kind(group, kind));
    if let Some(provider) = provider.filter(|provider| provider.info().crd_versions.contains(&version)) {
        options["crdVersions"] = Value::Object(Map::from_iter([(provider.name().to_owned(), json!(version))]));
    }
    sources.add_for(Purpose::Options, "options.json", options.to_string());
    sources.add("import.json", deployment.to_string());
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    if compilation.has_errors() {
        let errors = compilation.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        return Err(errors.map(|error| error.message.clone()).collect::<Vec<_>>().join("; "));
    }
    Ok(compilation.outputs.into_iter().map(|output| output.object).collect())
}

/// Adds a group to the page and to the summary.
fn describe(group: &str, kinds: &[&str], entries: &[Entry], page: &mut String, summary: &mut String) {
    let whole: Vec<&Entry> = entries.iter().filter(|entry| entry.excluded_by.is_none()).collect();
    append_line!(page, "\n## {}\n", kinds.join(", "));
    append_line!(page, "| | whole | imported | without residue | equal with `--patches` |\n|---|---|---|---|---|");
    for (label, is_held_out) in [("all", None), ("developed with", Some(false)), ("held out", Some(true))] {
        let has_part = |entry: &&Entry| is_held_out.is_none_or(|held_out| entry.is_held_out == held_out);
        let part: Vec<&&Entry> = whole.iter().filter(|entry| has_part(entry)).collect();
        let number = |matches: &dyn Fn(&Outcome) -> bool| part.iter().filter(|entry| matches(&entry.outcome)).count();
        let imported = number(&|outcome| matches!(outcome, Outcome::Imported { .. }));
        let clean = number(&|outcome| matches!(outcome, Outcome::Imported { residue: 0, .. }));
        let equal = number(&|outcome| matches!(outcome, Outcome::Imported { beside_patches: 0, .. }));
        let count = part.len();
        let shares = [imported, clean, equal].map(|part| share(part, count)).join(" | ");
        let row = format!("{count} | {shares}");
        append_line!(page, "| {label} | {row} |");
        append_line!(
            summary,
            "{group:8} {label:15} whole {}",
            row.replacen(" | ", ", imported ", 1)
                .replacen(" | ", ", without residue ", 1)
                .replacen(" | ", ", equal ", 1)
        );
    }
    append_line!(page, "\n| file | name | result |\n|---|---|---|");
    for entry in &whole {
        let held_out = if entry.is_held_out { " (held out)" } else { "" };
        let result = match &entry.outcome {
            Outcome::Imported { residue: 0, .. } => "imported".to_owned(),
            Outcome::Imported { residue, beside_patches } => {
                let differences = |count: usize| match count {
                    0 => "none".to_owned(),
                    1 => "1 difference".to_owned(),
                    count => format!("{count} differences"),
                };
                let rest = differences(*beside_patches);
                format!("imported, {}; with `--patches` {rest}", differences(*residue))
            }
            Outcome::Refused(why) => format!("refused: {}", cell(why)),
        };
        append_line!(page, "| `{}`{held_out} | `{}` | {result} |", entry.file, entry.name);
    }
    append_line!(page, "\nObjects that do not count:\n\n| file | name | rule |\n|---|---|---|");
    for entry in entries {
        if let Some(rule) = &entry.excluded_by {
            append_line!(page, "| `{}` | `{}` | {} |", entry.file, entry.name, cell(rule));
        }
    }
}

/// Returns a text as it is written in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

fn share(part: usize, whole: usize) -> String {
    let tenths = (part * 1000).checked_div(whole).unwrap_or(0);
    format!("{part} ({}.{} %)", tenths / 10, tenths % 10)
}

const INTRODUCTION: &str = "\
# How much of upstream's manifests is imported

Written by `cargo measure import-corpus FOLDER`; do not edit. [Importing existing objects](import.md) explains the rules by
which an object counts. A file in the list is named by its path in upstream's repository, with `-` for `/`.
";
