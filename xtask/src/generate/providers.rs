//! `docs/providers/`: what each provider does with every field, engine and mode, and all of them side by side.

use std::fmt::Write as _;

use kubefoundry_cel as cel;
use kubefoundry_kubernetes::wire::Word;
use kubefoundry_model::catalog::{Candidate, Catalog, EngineSupport};
use kubefoundry_model::provider::{Provider, Reaction};
use kubefoundry_model::providers::PROVIDERS;
use kubefoundry_model::support::{self, Support};
use kubefoundry_model::wire::{EngineType, ServingMode};

use super::Generated;
use crate::Failure;

/// What every page says of itself.
const NOTE: &str = "Written by `cargo xtask generate` from the tables that the program itself works with.";

pub(super) fn generate() -> Result<Vec<Generated>, Failure> {
    let catalog = Catalog::with_builtin(cel::Limits::default());
    let mut pages = vec![Generated { path: "docs/providers/README.md".into(), text: matrix(&catalog)? }];
    for provider in PROVIDERS {
        let text = page(*provider, candidate(&catalog, *provider)?);
        pages.push(Generated { path: format!("docs/providers/{}.md", provider.name()).into(), text });
    }
    Ok(pages)
}

fn candidate<'c>(catalog: &'c Catalog, provider: &dyn Provider) -> Result<&'c Candidate, Failure> {
    let missing = || Failure::Broken(format!("{} has no configuration that can be read", provider.name()));
    catalog.builtin_candidate(provider.name()).ok_or_else(missing)
}

/// A table under a heading.
struct Table(String);

impl Table {
    fn new(columns: &[&str]) -> Self {
        let mut table = Self(String::new());
        table.row(columns);
        let _ = writeln!(table.0, "|{}", "---|".repeat(columns.len()));
        table
    }

    fn row<T: AsRef<str>>(&mut self, cells: &[T]) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
        let _ = writeln!(self.0, "| {} |", cells.join(" | "));
    }
}

fn page(provider: &dyn Provider, candidate: &Candidate) -> String {
    let (name, display) = (provider.name(), provider.display_name());
    let sections = [
        format!(
            "# {display}: what becomes of every field\n\n{NOTE} How {display} is written, with examples: \
             [{display}](../../crates/model/src/providers/{name}/README.md). All providers side by side: [Providers](README.md).\n"
        ),
        capabilities(provider, candidate),
        rules(provider, candidate),
        fields(provider),
        overrides(provider),
        behaviors(provider),
        codes(provider),
    ];
    sections.join("\n")
}

fn capabilities(provider: &dyn Provider, candidate: &Candidate) -> String {
    let mut table = Table::new(&["engine", "aggregated", "disaggregated", "with GPUs", "without GPUs"]);
    for engine in &candidate.engines {
        let mode = |mode| yes(engine.modes.contains(&mode));
        table.row(&[
            engine.name.as_str(),
            mode(ServingMode::Aggregated),
            mode(ServingMode::Disaggregated),
            yes(engine.gpu),
            yes(engine.cpu),
        ]);
    }
    let versions = |versions: &[&str]| match versions {
        [] => "none".to_owned(),
        [default, rest @ ..] => {
            let rest: String = rest.iter().fold(String::new(), |text, version| text + ", `" + version + "`");
            format!("`{default}` (the default){rest}")
        }
    };
    let runtimes = match provider.info().runtimes {
        [] => "Runtimes: none, it brings no image of its own.".to_owned(),
        runtimes => format!("Runtimes whose flags are known: {}.", versions(runtimes)),
    };
    format!("## What it runs\n\n{}\nCRD versions: {}.\n{runtimes}\n", table.0, versions(provider.info().crd_versions))
}

const fn yes(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn rules(provider: &dyn Provider, candidate: &Candidate) -> String {
    let mut text = "## When it is selected\n\n".to_owned();
    if candidate.rules.is_empty() {
        let _ = writeln!(text, "Only by name: `spec.provider.name: {}`. It has no rules.", provider.name());
        return text;
    }
    let _ = writeln!(
        text,
        "By `spec.provider.name: {}`, or by the highest priority among the rules that are true\n\
         ([how](../selection.md)):\n",
        provider.name()
    );
    let mut table = Table::new(&["priority", "rule", "reason"]);
    for rule in &candidate.rules {
        let reason = rule.reason.as_deref().unwrap_or_default();
        table.row(&[&rule.priority.to_string(), &format!("`{}`", rule.condition), reason]);
    }
    text + &table.0
}

fn fields(provider: &dyn Provider) -> String {
    let mut text = "## Fields\n\n**Rendered**: it is in the output. **Partly**: in the output in some forms, and a finding \
                    names it in the others.\n**Ignored**: without effect, and a finding says so. **Refused**: an error. `*` \
                    stands for any key, `[]` for any item.\n\n"
        .to_owned();
    let mut table = Table::new(&["field", "becomes", "as what, or why not"]);
    for row in provider.info().field_support() {
        table.row(&[&format!("`{}`", row.field), word(row.support), &literal(row.note)]);
    }
    text.push_str(&table.0);
    text
}

/// Notes are plain text; `<name>` in one is no tag, and `*` no emphasis.
fn literal(note: &str) -> String {
    note.replace('<', "&lt;").replace('*', "\\*")
}

const fn word(support: Support) -> &'static str {
    match support {
        Support::Rendered => "rendered",
        Support::Partly => "partly",
        Support::Ignored => "ignored",
        Support::Refused => "refused",
    }
}

/// The section of the provider's own documentation.
fn overrides(provider: &dyn Provider) -> String {
    let section = provider.info().readme.split_once("\n## Overrides\n").map(|(_, rest)| rest).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default().trim();
    let section = if section.is_empty() { "It has none." } else { section };
    format!("## Overrides\n\n{section}\n")
}

fn behaviors(provider: &dyn Provider) -> String {
    let display = provider.display_name();
    let mut text = format!(
        "## What {display} does on change\n\nOf the output, when it is applied again. What is below a path behaves as the path \
         does, unless a longer one says otherwise;\n`*` stands for any key or item.\n\n"
    );
    let mut table = Table::new(&["kind", "path", "on change", "how that is known"]);
    for row in provider.info().behaviors {
        table.row(&[row.kind, &format!("`{}`", row.path), reaction(row.reaction), &literal(row.source)]);
    }
    text.push_str(&table.0);
    text
}

const fn reaction(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::None => "stored; nothing that runs depends on it",
        Reaction::InPlace => "applied to what runs",
        Reaction::Grows => "applied when it grows, rejected when it shrinks",
        Reaction::RollingRestart => "pods are replaced one after the other",
        Reaction::BlueGreen => "a second cluster is started beside the first",
        Reaction::NoEffect => "accepted, without effect",
        Reaction::Refused => "rejected",
    }
}

fn codes(provider: &dyn Provider) -> String {
    let mut text = "## Diagnostics of its own\n\n".to_owned();
    let mut table = Table::new(&["code", "name", "severity", "what it flags"]);
    for code in provider.info().codes {
        let link = format!("[{0}](../codes/{0}.md)", code.id);
        table.row(&[link.as_str(), code.name, &code.severity.to_string(), &literal(code.summary)]);
    }
    text.push_str(&table.0);
    text.push_str("\nAll others: [Diagnostic codes](../codes/README.md).\n");
    text
}

/// Engines, modes and fields against providers.
fn matrix(catalog: &Catalog) -> Result<String, Failure> {
    let candidates: Vec<&Candidate> =
        PROVIDERS.iter().map(|provider| candidate(catalog, *provider)).collect::<Result<_, _>>()?;
    let links: Vec<String> = PROVIDERS.iter().map(|it| format!("[{}]({}.md)", it.display_name(), it.name())).collect();
    let head = |first: &[&str]| -> Vec<String> {
        first.iter().map(|&column| column.to_owned()).chain(links.iter().cloned()).collect()
    };
    let head = |first: &[&str]| {
        let columns = head(first);
        Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>())
    };

    let mut engines = head(&["engine", "mode"]);
    for (engine, _) in EngineType::WORDS {
        for (word, mode) in ServingMode::WORDS {
            let cells = candidates.iter().map(|it| runs(it.engines.iter().find(|entry| entry.name == *engine), *mode));
            engines.row(&[*engine, *word].into_iter().chain(cells).collect::<Vec<_>>());
        }
    }

    let mut fields = head(&["field"]);
    for field in support::default_rows().into_iter().map(|row| row.field) {
        let support = PROVIDERS.iter().map(|provider| {
            let mut rows = provider.info().field_support().into_iter();
            rows.find(|row| row.field == field).map_or("", |row| word(row.support))
        });
        let name = format!("`{field}`");
        fields.row(&std::iter::once(name.as_str()).chain(support).collect::<Vec<_>>());
    }

    let mut versions = head(&[""]);
    let list = |versions: &[&str]| if versions.is_empty() { "–".to_owned() } else { versions.join(", ") };
    let row = |name: &str, cells: Vec<String>| std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>();
    versions.row(&row("CRD versions", PROVIDERS.iter().map(|provider| list(provider.info().crd_versions)).collect()));
    versions.row(&row("runtimes", PROVIDERS.iter().map(|provider| list(provider.info().runtimes)).collect()));
    let selected =
        candidates.iter().map(|it| if it.rules.is_empty() { "by name only" } else { "by rules, or by name" });
    versions.row(&row("selected", selected.map(str::to_owned).collect()));

    Ok(format!(
        "# Providers\n\n{NOTE} A provider's page has every field with where it goes, or why it does not.\n\
         \n## Versions\n\n{}\nThe first of several is the default; [options](../options.md) choose another.\n\
         \n## Engines and modes\n\n{}\n## Fields\n\n**Partly**: rendered in some forms, and a finding names it in the \
         others; the provider's page says which.\n\n{}",
        versions.0, engines.0, fields.0
    ))
}

/// What of a mode a provider's engine runs on.
fn runs(engine: Option<&EngineSupport>, mode: ServingMode) -> &'static str {
    match engine.filter(|engine| engine.modes.contains(&mode)) {
        None => "–",
        Some(engine) => match (engine.gpu, engine.cpu) {
            (true, true) => "GPU, CPU",
            (true, false) => "GPU",
            (false, true) => "CPU",
            (false, false) => "–",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        let root = crate::generate::root();
        let pages = generate().unwrap();
        assert_eq!(pages.len(), PROVIDERS.len() + 1);
        for page in &pages {
            for link in page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let path = page.path.parent().unwrap().join(link);
                let known = pages.iter().any(|other| other.path == path) || root.join(&path).exists();
                assert!(known, "{} links to {link}", page.path.display());
            }
        }
    }

    #[test]
    fn every_field_and_override_has_a_row() {
        for provider in PROVIDERS {
            let text = page(*provider, candidate(&Catalog::with_builtin(cel::Limits::default()), *provider).unwrap());
            for support::FieldSupport { field, .. } in support::default_rows() {
                assert_eq!(text.matches(&format!("| `{field}` |")).count(), 1, "{}: {field}", provider.name());
            }
            assert!(!text.contains("It has none."), "{}", provider.name());
        }
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        let mut table = Table::new(&["a"]);
        table.row(&["x || y"]);
        assert_eq!(table.0, "| a |\n|---|\n| x \\|\\| y |\n");
    }
}
