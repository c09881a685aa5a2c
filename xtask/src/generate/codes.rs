//! Generates `docs/codes/README.md`, the index of the code pages, and `src/registry/pages.rs`, which embeds the pages.

use kubefoundry::registry;
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_diagnostics::Code;
use kubefoundry_yaml::append_line;

use super::Generated;
use crate::Failure;
use crate::files::{broken, workspace};

/// The folder of the pages, relative to the project root.
const FOLDER: &str = "docs/codes";

const INDEX_HEAD: &str = "\
# Diagnostic codes

Written by `cargo xtask generate` from the registry of codes. `kubefoundry explain KF0113` prints a page in the terminal.
The severity of a warning or an info can be changed under `severities` in the [options](../options.md).
";

/// The shared areas: the block of a hundred numbers, and its title. A provider and a transformation have a block of their own,
/// whose title is their name: providers from KF10 on, transformations from KF20 on.
const AREAS: &[(&str, &str)] = &[
    ("KF01", "Reading: text, fields and their values"),
    ("KF02", "Models: what the fields say together"),
    ("KF03", "Engines: arguments, memory, models"),
    ("KF04", "Selection of the provider, and its rules"),
    ("KF05", "Rendering: what a provider, a gateway or a CRD does not take"),
    ("KF06", "Patches and policy"),
    ("KF07", "Import and migration"),
    ("KF08", "Options"),
];

const TABLE_HEAD: &str = "\
//! The pages of the diagnostic codes. Written by `cargo xtask generate`.

/// Every page of `docs/codes` by its code, sorted.
pub(super) static PAGES: &[(&str, &str)] = &[
";

pub(super) fn generate() -> Result<Vec<Generated>, Failure> {
    Ok(vec![
        Generated { path: format!("{FOLDER}/README.md").into(), text: index_page()? },
        Generated { path: "src/registry/pages.rs".into(), text: page_table()? },
    ])
}

/// Returns the text of the index: one table per title.
fn index_page() -> Result<String, Failure> {
    let mut codes: Vec<&Code> = registry::codes().collect();
    codes.sort_by_key(|code| code.id);
    let mut text = INDEX_HEAD.to_owned();
    let mut last = None;
    for code in codes {
        let (id, name, severity, summary) = (code.id, code.name, code.severity, code.summary);
        let title = title(code)?;
        if last != Some(title) {
            last = Some(title);
            append_line!(text, "\n## {title}\n\n| code | name | severity | what it flags |\n|---|---|---|---|");
        }
        append_line!(text, "| [{id}]({id}.md) | {name} | {severity} | {summary} |");
    }
    Ok(text)
}

/// Returns the title under which the index lists a code.
fn title(code: &Code) -> Result<&'static str, Failure> {
    let shared = AREAS.iter().find(|(block, _)| code.id.starts_with(block)).map(|(_, title)| *title);
    let owner = PROVIDERS.iter().find(|provider| provider.info().codes.contains(&code)).map(|it| it.display_name());
    let transform =
        BUILTIN.transforms().iter().find(|transform| transform.codes().contains(&code)).map(|it| it.kind().1);
    shared.or(owner).or(transform).ok_or_else(|| {
        let place = "AREAS in xtask/src/generate/codes.rs";
        Failure::Broken(format!("{} has no title: add one to {place}", code.id))
    })
}

/// Returns a table of the areas: how many codes each has, and the number that the next one takes.
pub(crate) fn next_numbers() -> Result<String, Failure> {
    let mut codes: Vec<&Code> = registry::codes().collect();
    codes.sort_by_key(|code| code.id);
    let mut text = String::new();
    for area in codes.chunk_by(|one, other| one.id[..4] == other.id[..4]) {
        let title = title(area[0])?;
        let last = area[area.len() - 1].id;
        let number: u32 = last[2..].parse().map_err(|error| Failure::Broken(format!("{last}: {error}")))?;
        append_line!(text, "KF{:04}  after {:3} codes  {title}", number + 1, area.len());
    }
    Ok(text)
}

/// Returns the source of `pages.rs`. It lists the files in the folder instead of the registered codes, so that a code
/// whose page is not written yet does not break the build.
fn page_table() -> Result<String, Failure> {
    let folder = workspace().join(FOLDER);
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| broken(&folder, error))? {
        let name = entry.map_err(|error| broken(&folder, error))?.file_name();
        ids.extend(name.to_str().and_then(|name| name.strip_suffix(".md")).map(str::to_owned));
    }
    ids.retain(|id| id != "README");
    ids.sort();
    let mut text = TABLE_HEAD.to_owned();
    for id in ids {
        append_line!(text, "    ({id:?}, include_str!(\"../../{FOLDER}/{id}.md\")),");
    }
    text.push_str("];\n");
    Ok(text)
}
