//! Checks the page of a diagnostic code against the registry and against the findings of its examples.

use std::collections::BTreeSet;

use kubefoundry_compiler::codes;
use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::{import, migrate};
use kubefoundry_diagnostics::render::{self, LineIndex};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Code, Diagnostic, Severity};

use super::compile_all;
use super::markdown::{Block, blocks, headings, links};

/// The sections of a page, in order. The last one is optional.
const SECTIONS: [&str; 4] = ["Why it matters", "Example", "Corrected", "See also"];

/// The default names of input blocks.
const DEFAULT_NAMES: [(&str, &str); 2] = [("yaml", "example.yaml"), ("json", "example.json")];

/// Returns the mistakes of a page, each with its correction. `exists` returns whether the destination of a link exists.
pub(crate) fn mistakes(code: &Code, page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut mistakes = head_mistakes(code, page);
    for link in links(page).filter(|link| !link.is_empty() && !link.contains("://") && !exists(link)) {
        mistakes.push(format!("the link to {link} leads nowhere"));
    }
    let blocks = blocks(page);
    for block in blocks.iter().filter(|block| !SECTIONS[1..3].contains(&block.heading)) {
        mistakes.push(format!("line {}: a block outside of ## Example and ## Corrected is not checked", block.line));
    }
    if codes::input::CODES.contains(&code) {
        // The command line finds these; its tests run the examples.
        return mistakes;
    }
    let section = |name: &str| Example::read(blocks.iter().filter(|block| block.heading == name).collect());
    match section("Example") {
        Ok(example) => mistakes.extend(example.mistakes(code)),
        Err(mistake) => mistakes.push(format!("## Example: {mistake}")),
    }
    match section("Corrected") {
        Ok(corrected) => mistakes.extend(corrected.remaining_findings(code)),
        Err(mistake) => mistakes.push(format!("## Corrected: {mistake}")),
    }
    mistakes
}

fn head_mistakes(code: &Code, page: &str) -> Vec<String> {
    let mut mistakes = Vec::new();
    let title = format!("# {}: {}", code.id, code.name);
    let mut lines = page.lines();
    if lines.next() != Some(title.as_str()) {
        mistakes.push(format!("line 1: expected the title `{title}`"));
    }
    let mut paragraphs = page.split("\n\n").skip(1);
    let summary = format!("{}. {}.", capitalized(&code.severity.to_string()), capitalized(code.summary));
    // Names of fields may be formatted as code and keep their case.
    let plain = |text: &str| text.replace('`', "").to_lowercase();
    if paragraphs.next().map(plain) != Some(plain(&summary)) {
        mistakes.push(format!("line 3: expected severity and summary as in the registry: `{summary}`"));
    }
    if paragraphs.next().is_none_or(|meaning| meaning.starts_with('#') || meaning.trim().is_empty()) {
        mistakes.push("line 5: expected a paragraph that says what the finding means".to_owned());
    }
    let found = headings(page, 2);
    if found != SECTIONS && found != SECTIONS[..3] {
        mistakes.push(format!("expected the sections {SECTIONS:?} (the last is optional), found {found:?}"));
    }
    for section in SECTIONS {
        let text = page.split_once(&format!("\n## {section}\n")).map(|(_, rest)| rest.trim_start());
        if text.is_some_and(|text| text.is_empty() || text.starts_with("## ")) {
            mistakes.push(format!("## {section}: there is nothing in it"));
        }
    }
    mistakes
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Returns the findings of the command of a code, if that is not `lint`: `import`, `migrate --to kaito` or `migrate
/// --to-group kubefoundry.ai`.
fn findings_of_command(code: &Code, sources: &SourceSet) -> Option<Vec<Diagnostic>> {
    let kaito = kubefoundry_composition::BUILTIN.find_provider("kaito")?;
    if codes::import::CODES.contains(&code) {
        Some(import::import(&BUILTIN, sources).diagnostics)
    } else if codes::migrate::CODES.contains(&code) && code.id < "KF0717" {
        Some(migrate::migrate_to_provider(&BUILTIN, sources, kaito).diagnostics)
    } else {
        let moves = codes::migrate::CODES.contains(&code);
        moves.then(|| {
            migrate::migrate_to_group(&BUILTIN, sources, &kubefoundry_kubernetes::api_group::API_GROUPS[0]).diagnostics
        })
    }
}

/// Returns the input of the failing example on the page of a code; `None` if a command other than `lint` reports the
/// code.
pub(crate) fn example_sources(code: &Code) -> Option<SourceSet> {
    section_sources(code, SECTIONS[1])
}

/// Returns the input of the corrected example, under the same condition.
pub(crate) fn corrected_sources(code: &Code) -> Option<SourceSet> {
    section_sources(code, SECTIONS[2])
}

fn section_sources(code: &Code, section: &str) -> Option<SourceSet> {
    if codes::input::CODES.contains(&code) || findings_of_command(code, &SourceSet::default()).is_some() {
        return None;
    }
    let page = kubefoundry::registry::page(code)?;
    let blocks = blocks(page);
    let example = Example::read(blocks.iter().filter(|block| block.heading == section).collect()).ok()?;
    Some(example.compile(code).0)
}

/// The files of a section and the report that it shows.
struct Example<'t> {
    files: Vec<(&'t str, Block<'t>)>,
    report: Option<Report<'t>>,
}

/// A `text` block: findings in the form of `--output concise`.
struct Report<'t> {
    text: &'t str,
    line: usize,
    /// Whether it replaces marks (`text findings`).
    complete: bool,
}

/// A finding or a mark: file, line and code.
type Found = BTreeSet<(String, usize, String)>;

impl<'t> Example<'t> {
    fn read(blocks: Vec<&Block<'t>>) -> Result<Self, String> {
        let mut example = Self { files: Vec::new(), report: None };
        for block in blocks {
            let attributes = block.attributes.clone();
            let copy = Block { attributes, ..*block };
            let name = DEFAULT_NAMES.iter().find(|(language, _)| *language == block.language).map(|(_, name)| *name);
            if let Some(name) = block.attribute("file").or(name) {
                if example.files.iter().any(|(known, _)| *known == name) {
                    return Err(format!("two blocks are {name}; name the second: ```yaml file=other.yaml"));
                }
                example.files.push((name, copy));
            } else if block.language == "text" && example.report.is_none() {
                let complete = block.attributes.contains(&"findings");
                example.report = Some(Report { text: block.text, line: block.line, complete });
            } else {
                let (line, language) = (block.line, block.language);
                return Err(format!("line {line}: a `{language}` block that is neither a file nor the one report"));
            }
        }
        if example.files.is_empty() { Err("no block with an example".to_owned()) } else { Ok(example) }
    }

    /// Compiles the files as `kubefoundry lint .` does. The page of the code that only other commands report is an
    /// exception: it has an input without a ModelDeployment.
    fn compile(&self, code: &Code) -> (SourceSet, Vec<Diagnostic>) {
        let mut sources = SourceSet::default();
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(name, _)| (purpose(name) != Purpose::Options, purpose(name) == Purpose::Providers, *name));
        for (name, block) in files {
            let id = sources.add_for(purpose(name), *name, block.text);
            sources.set_found(id, name.starts_with("found/"));
            if let Some(model) = name.strip_suffix("/config.json") {
                sources.set_subject(id, model);
            }
        }
        if let Some(found) = findings_of_command(code, &sources) {
            return (sources, found);
        }
        if *code != codes::NO_MODEL_DEPLOYMENT {
            let lint = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nallowEmpty: true\n";
            sources.add_for(Purpose::Options, "<command line>", lint);
        }
        let found = compile_all(&sources).diagnostics;
        (sources, found)
    }

    /// Returns the mistakes of a failing example: every finding must have a mark or be in the report, and no others may
    /// be there.
    fn mistakes(&self, code: &Code) -> Vec<String> {
        let (sources, found) = self.compile(code);
        let said = |diagnostic: &&Diagnostic| diagnostic.severity != Severity::Info || diagnostic.code == code;
        let counted: Vec<Diagnostic> = found.iter().filter(said).cloned().collect();
        let (all, concise) = (&found, render::concise(&counted, &sources));
        let mut mistakes = Vec::new();
        if !all.iter().any(|diagnostic| diagnostic.code == code) {
            mistakes.push(format!("## Example: it has no {}, it has\n{}", code.id, render::concise(all, &sources)));
        }
        if let Some(report) = &self.report
            && report.text != concise
            && report.text != render::concise(all, &sources)
        {
            let line = report.line;
            mistakes
                .push(format!("line {line}: the example has other findings than the text says, expected\n{concise}"));
        }
        let (marks, places) = (self.marks(), located(all, &sources));
        for (file, line, id) in marks.difference(&places) {
            mistakes.push(format!("line {}: marked {id}, which is not found there", self.page_line(file, *line)));
        }
        if self.report.as_ref().is_some_and(|report| report.complete) {
            return mistakes;
        }
        for (file, line, id) in located(&counted, &sources).difference(&marks) {
            let at = self.page_line(file, *line);
            mistakes.push(format!("line {at}: {id} is found here, mark it with `# {id}` at the end of the line"));
        }
        if counted.iter().any(|diagnostic| diagnostic.location.is_none()) {
            let way = "replace the marks by a block ```text findings that says";
            mistakes.push(format!("## Example: a finding has no line to be marked, {way}\n{concise}"));
        }
        mistakes
    }

    /// Returns the remaining findings of a corrected example, which may have no error, no warning, and not the code of
    /// the page.
    fn remaining_findings(&self, code: &Code) -> Vec<String> {
        let (sources, found) = self.compile(code);
        let wrong = |diagnostic: &&Diagnostic| diagnostic.severity != Severity::Info || diagnostic.code == code;
        let remains: Vec<Diagnostic> = found.iter().filter(wrong).cloned().collect();
        let mut mistakes = Vec::new();
        if !remains.is_empty() {
            mistakes.push(format!("## Corrected: it has findings\n{}", render::concise(&remains, &sources)));
        }
        for (file, line, id) in self.marks() {
            mistakes.push(format!("line {}: marked {id}, in what is corrected", self.page_line(&file, line)));
        }
        mistakes
    }

    /// Returns the marks: codes in a comment at the end of a line, such as `# KF0113` or `# KF0113, KF0115: …`.
    fn marks(&self) -> Found {
        let mut marks = Found::new();
        for (name, block) in &self.files {
            for (index, line) in block.text.lines().enumerate() {
                let comment = line.split_once("# KF").map_or(String::new(), |(_, rest)| format!("KF{rest}"));
                let words = comment.split(|c: char| !c.is_ascii_alphanumeric());
                for word in words.take_while(|word| word.is_empty() || is_id(word)).filter(|word| !word.is_empty()) {
                    marks.insert(((*name).to_owned(), index + 1, word.to_owned()));
                }
            }
        }
        marks
    }

    /// Returns the line of the page that contains a line of a file.
    fn page_line(&self, file: &str, line: usize) -> usize {
        self.files.iter().find(|(name, _)| *name == file).map_or(0, |(_, block)| block.line + line - 1)
    }
}

fn is_id(word: &str) -> bool {
    word.strip_prefix("KF").is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn purpose(name: &str) -> Purpose {
    match name {
        "kubefoundry.yaml" | "found/kubefoundry.yaml" => Purpose::Options,
        name if name.starts_with("providers/") => Purpose::Providers,
        name if name.starts_with("crds/") => Purpose::Crds,
        name if name.starts_with("cluster/") => Purpose::ClusterNodes,
        name if name.ends_with("/config.json") => Purpose::ModelConfig,
        _ => Purpose::Input,
    }
}

/// Returns the positions of findings that have one.
fn located(diagnostics: &[Diagnostic], sources: &SourceSet) -> Found {
    let place = |diagnostic: &Diagnostic| {
        let location = diagnostic.location.as_ref()?;
        let source = sources.get(location.source);
        let line = LineIndex::new(&source.text).position(location.span.start).line;
        Some((source.name.clone(), line, diagnostic.code.id.to_owned()))
    };
    diagnostics.iter().filter_map(place).collect()
}
