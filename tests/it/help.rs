//! Every help leads to an input that passes, in one step.
//!
//! A help is tried where a golden case or the page of a code prints it: what it says is done to the input, and nothing
//! else, and the input is compiled again. Then the finding must be gone, and no other
//! error or warning may be there. How a help is
//! followed comes from its words where they are an instruction ([`instructed`]), and from `testdata/help.yaml`
//! otherwise.
//! `import` and `migrate` are not among the cases: their helps are about their output.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry::registry;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::edit::{EditError, TextEditor};
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use crate::common::code_page::{corrected_sources, example_sources};
use crate::common::{case_folders, compile_all, read_case};

/// Lines that a correction may change: a help that asks for more is not a single step.
const MAX_CHANGED_LINES: usize = 12;

/// One change of the input.
#[derive(Debug, Clone)]
enum Step {
    /// The other steps change another document of the text than that of the finding.
    In(usize),
    Remove(FieldPath),
    Set(FieldPath, Value),
    Rename(FieldPath, String),
    /// Adds fields to the options.
    Options(Value),
    /// Adds a file.
    Add(String),
}

/// An input, and a finding in it with a help.
struct Case {
    name: String,
    sources: SourceSet,
    finding: Diagnostic,
}

#[test]
fn every_help_leads_to_an_input_that_passes() {
    let table = table();
    let mut used = BTreeSet::new();
    let mut report = String::new();
    for ((code, template), cases) in cases() {
        let listed_at = [code.as_str(), "any"]
            .into_iter()
            .find_map(|of| Some((of, table.get(of)?.iter().find(|(key, _)| template.starts_with(*key))?)));
        let mut failures = Vec::new();
        if let Some((of, (key, entry))) = listed_at {
            used.insert((of.to_owned(), key.clone()));
            if entry["information"].is_string() {
                continue;
            }
            let allowed = entry["warns"].as_str().unwrap_or_default();
            let wanted = entry["case"].as_str().unwrap_or_default();
            let found = cases.iter().filter(|case| case.name.contains(wanted));
            if entry["page"] == true {
                if cases.iter().any(|case| corrected_by_page(case, &mut failures)) {
                    continue;
                }
            } else if found.clone().any(|case| attempt(case, &listed(entry, case), allowed, &mut failures)) {
                continue;
            }
        } else if cases.iter().any(|case| instructed(case).iter().any(|way| attempt(case, way, "", &mut failures))) {
            continue;
        }
        let _ = writeln!(report, "{code}: {template}");
        for failure in failures.iter().take(3) {
            let _ = writeln!(report, "    {failure}");
        }
        if failures.is_empty() {
            let _ = writeln!(report, "    in {}: say in testdata/help.yaml how it is followed", cases[0].name);
        }
    }
    for (code, entries) in &table {
        for key in entries.keys().filter(|key| !used.contains(&(code.clone(), (*key).clone()))) {
            let _ = writeln!(report, "testdata/help.yaml: no case prints {code}: {key}");
        }
    }
    assert!(report.is_empty(), "helps that do not lead to an input that passes:\n{report}");
}

/// Every help that the golden cases and the pages of the codes print, without its values, and where.
fn cases() -> BTreeMap<(String, String), Vec<Case>> {
    let mut inputs: Vec<(String, SourceSet)> =
        case_folders().iter().map(|folder| (folder.display().to_string(), read_case(folder))).collect();
    inputs.extend(
        registry::codes().filter_map(|code| Some((format!("docs/codes/{}.md", code.id), example_sources(code)?))),
    );
    let mut cases: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for (name, sources) in inputs {
        for finding in compile_all(&sources).diagnostics {
            let Some(help) = &finding.help else { continue };
            let key = (finding.code.id.to_owned(), template(help));
            let case = Case { name: name.clone(), sources: sources.clone(), finding };
            cases.entry(key).or_default().push(case);
        }
    }
    cases
}

/// A help with `_` for each value in quotes and each number.
fn template(help: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for c in help.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' => {
                quote = Some(c);
                out.push('_');
            }
            None if c.is_ascii_digit() => {
                if !out.ends_with('_') {
                    out.push('_');
                }
            }
            None => out.push(c),
        }
    }
    out
}

/// The ways to follow a help that its own words give: `remove …`, `did you mean "…"?`, `set … to …`, `add to
/// kubefoundry.yaml: …` and the like.
fn instructed(case: &Case) -> Vec<Vec<Step>> {
    let help = case.finding.help.clone().unwrap_or_default();
    let at = case.finding.location.as_ref().map(|location| location.path.clone()).unwrap_or_default();
    let mut ways = Vec::new();
    for start in ["did you mean ", "write ", "rename it to ", "change it to ", "rename "] {
        let Some(rest) = help.strip_prefix(start) else { continue };
        let end = rest.find([',', ':', '?', ' ']).unwrap_or(rest.len());
        let text = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None if start == "change it to " => rest,
            None => &rest[..end],
        };
        if start != "write " {
            ways.push(vec![Step::Rename(at.clone(), text.to_owned())]);
        }
        ways.push(vec![Step::Set(at.clone(), Value::from(text))]);
    }
    if ["remove it", "remove the", "remove this", "remove them"].iter().any(|start| help.starts_with(start)) {
        ways.push(vec![Step::Remove(at.clone())]);
    }
    let words: Vec<&str> = help.split([' ', ',']).collect();
    if let ["remove", path, ..] = words.as_slice()
        && let Some(path) = FieldPath::try_parse(path.trim_end_matches(':'))
    {
        ways.push(vec![Step::Remove(path)]);
    }
    if let Some(rest) = help.split_once("set ").map(|(_, rest)| rest)
        && let [path, value, ..] = rest.replacen(" to ", " ", 1).split([' ', ',']).collect::<Vec<_>>().as_slice()
        && let Some(path) = FieldPath::try_parse(path.trim_end_matches(':'))
    {
        ways.push(vec![Step::Set(path, scalar(value.trim_end_matches(':')))]);
    }
    if let Some((_, options)) = help.split_once("add to kubefoundry.yaml: ") {
        ways.push(vec![Step::Options(read(options))]);
    }
    ways
}

/// What `testdata/help.yaml` says about a help; see there.
fn listed(entry: &Value, case: &Case) -> Vec<Step> {
    let at = case.finding.location.as_ref().map(|location| location.path.clone()).unwrap_or_default();
    let path = |text: &str| {
        let text = text.replace("$^", &at.parent().to_string()).replace('$', &at.to_string());
        FieldPath::try_parse(&text).unwrap_or_else(|| panic!("{text} is not a path"))
    };
    let entries = |field: &str| entry[field].as_object().into_iter().flatten().map(|(key, value)| (path(key), value));
    let removed = entry["remove"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let document = entry["document"].as_u64().and_then(|it| usize::try_from(it).ok());
    let mut steps: Vec<Step> = document.map(Step::In).into_iter().collect();
    steps.extend(entries("set").map(|(path, value)| Step::Set(path, value.clone())));
    steps.extend(removed.map(|text| Step::Remove(path(text))));
    steps.extend(
        entries("rename").map(|(path, value)| Step::Rename(path, value.as_str().unwrap_or_default().to_owned())),
    );
    steps.extend(entry.get("options").map(|options| Step::Options(options.clone())));
    steps.extend(entry["add"].as_str().map(|text| Step::Add(text.to_owned())));
    steps
}

/// Whether the corrected example on the page of a code does what the help of the failing one says.
fn corrected_by_page(case: &Case, failures: &mut Vec<String>) -> bool {
    let code = case.finding.code;
    if !case.name.ends_with(&format!("{}.md", code.id)) {
        return false;
    }
    let corrected = corrected_sources(code).expect("the page has a corrected example");
    passes(case, &corrected, "", "the corrected example", failures)
}

/// Follows a help, and tells whether its finding is gone and no error is new.
fn attempt(case: &Case, steps: &[Step], allowed: &str, failures: &mut Vec<String>) -> bool {
    let Case { name, sources, finding } = case;
    let edited = match edited(sources, finding, steps) {
        Ok(edited) => edited,
        Err(error) => {
            failures.push(format!("in {name}: {steps:?}: {error}"));
            return false;
        }
    };
    passes(case, &edited, allowed, &format!("{steps:?}"), failures)
}

/// Whether a corrected input differs in a few lines, no longer has the finding, and has no new error or warning.
fn passes(case: &Case, edited: &SourceSet, allowed: &str, what: &str, failures: &mut Vec<String>) -> bool {
    let Case { name, sources, finding } = case;
    let changed = changed_lines(sources, edited);
    if changed == 0 || changed > MAX_CHANGED_LINES {
        failures.push(format!("in {name}: {what} changes {changed} lines"));
        return false;
    }
    let written: String = edited.iter().map(|(_, source)| plain(&source.text)).collect();
    for example in examples(finding.help.as_deref().unwrap_or_default()) {
        if !written.contains(&plain(&example)) {
            failures.push(format!("in {name}: {what} does not write {example}, the example of the help"));
            return false;
        }
    }
    let (before, after) = (compile_all(sources).diagnostics, compile_all(edited).diagnostics);
    let same = |it: &&Diagnostic| it.code == finding.code && it.help == finding.help;
    if after.iter().filter(same).count() >= before.iter().filter(same).count() {
        failures.push(format!("in {name}: {what} leaves {}: {}", finding.code.id, finding.message));
        return false;
    }
    let wrong = |all: &[Diagnostic]| -> BTreeSet<String> {
        let wrong = all.iter().filter(|it| it.severity != Severity::Info);
        wrong.filter(|it| it.code.id != allowed).map(|it| format!("{} {}", it.code.id, template(&it.message))).collect()
    };
    match wrong(&after).difference(&wrong(&before)).next() {
        Some(new) => {
            failures.push(format!("in {name}: {what} leads to {new}"));
            false
        }
        None => true,
    }
}

fn edited(sources: &SourceSet, finding: &Diagnostic, steps: &[Step]) -> Result<SourceSet, EditError> {
    let mut texts: Vec<Source> = sources.iter().map(|(_, source)| source.clone()).collect();
    let place = finding.location.as_ref();
    for (index, (id, _)) in sources.iter().enumerate() {
        let is_place = |it: &kubefoundry_diagnostics::Location| it.source == id;
        let Some(place) = place.filter(|it| is_place(it)) else { continue };
        let other = steps.iter().find_map(|step| if let Step::In(document) = step { Some(*document) } else { None });
        let edited = with_steps(&texts[index].text, other.unwrap_or(place.document), steps)?;
        texts[index].text = edited;
    }
    let mut out = SourceSet::default();
    let options: Vec<&Value> =
        steps.iter().filter_map(|step| if let Step::Options(options) = step { Some(options) } else { None }).collect();
    if !options.is_empty() && !texts.iter().any(|text| text.purpose == Purpose::Options) {
        let head = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n";
        out.add_for(Purpose::Options, "kubefoundry.yaml", with_options(head, &options)?);
    }
    for source in texts {
        let text = match source.purpose {
            Purpose::Options => with_options(&source.text, &options)?,
            _ => source.text.clone(),
        };
        let id = out.add_for(source.purpose, source.name.clone(), text);
        out.set_found(id, source.is_found);
        if let Some(subject) = source.subject {
            out.set_subject(id, subject);
        }
    }
    for step in steps {
        if let Step::Add(text) = step {
            out.add_for(Purpose::Input, "zz-added.yaml", text.clone());
        }
    }
    Ok(out)
}

fn with_steps(text: &str, document: usize, steps: &[Step]) -> Result<String, EditError> {
    let limits = yaml::Limits::default();
    let parsed = yaml::parse(text, &limits);
    let mut editor = TextEditor::new(text, &parsed.documents, document);
    for step in steps {
        match step {
            Step::Remove(path) => {
                editor.remove(path)?;
            }
            Step::Set(path, value) => editor.set(path, value.clone())?,
            Step::Rename(path, key) => editor.rename(path, key.clone())?,
            Step::Options(_) | Step::Add(_) | Step::In(_) => {}
        }
    }
    Ok(editor.finish(&limits)?.text)
}

fn with_options(text: &str, options: &[&Value]) -> Result<String, EditError> {
    let limits = yaml::Limits::default();
    let parsed = yaml::parse(text, &limits);
    let mut editor = TextEditor::new(text, &parsed.documents, 0);
    for (path, value) in options.iter().flat_map(|options| leaves(options)) {
        editor.set(&path, value)?;
    }
    Ok(editor.finish(&limits)?.text)
}

fn leaves(value: &Value) -> Vec<(FieldPath, Value)> {
    let node: yaml::Node<'_> = value.into();
    node.leaves().into_iter().map(|(path, leaf)| (path, leaf.to_json())).collect()
}

/// What a help gives as an example: the text behind `such as`.
fn examples(help: &str) -> Vec<String> {
    let behind = help.split("such as ").skip(1);
    behind.map(|text| text.split([',', ';', ')', ' ']).next().unwrap_or_default().to_owned()).collect()
}

/// A text without what may be written in several ways: spaces, quotes and brackets.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !r#""'[]{}"#.contains(*c)).collect()
}

fn changed_lines(before: &SourceSet, after: &SourceSet) -> usize {
    let lines = |sources: &SourceSet| {
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for (_, source) in sources.iter() {
            source.text.lines().for_each(|line| *lines.entry(line.to_owned()).or_default() += 1);
        }
        lines
    };
    let (before, after) = (lines(before), lines(after));
    let more = |left: &BTreeMap<String, usize>, right: &BTreeMap<String, usize>| -> usize {
        left.iter().map(|(line, count)| count.saturating_sub(right.get(line).copied().unwrap_or(0))).sum()
    };
    more(&before, &after).max(more(&after, &before))
}

fn scalar(text: &str) -> Value {
    text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from)
}

fn read(text: &str) -> Value {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    parsed.documents.first().map(|document| document.root.to_json()).unwrap_or_default()
}

fn table() -> BTreeMap<String, BTreeMap<String, Value>> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/help.yaml");
    serde_json::from_value(read(&fs::read_to_string(path).unwrap())).unwrap()
}
