//! `cargo xtask site`: the preprocessor with which mdBook makes the site from the Markdown of the repository.
//!
//! The Markdown must also read well on a code host, so its links are relative to the repository, lead out of `docs/`, and
//! name files and folders. mdBook knows only the chapters of `docs/SUMMARY.md`. The preprocessor adds a chapter for
//! everything else that is linked (`contents`), and rewrites the links (`markdown`).

mod book;
mod contents;
mod markdown;

use std::fs;
use std::path::Path;

use book::{Book, Chapter, Item};
use contents::{Contents, Entry};
use kubefoundry_yaml::append_line;
use serde::de::IgnoredAny;

use crate::Failure;

/// The front page. Its part between these comments is a picture of the playground on a code host, and the playground in the
/// site.
const FRONT_PAGE: &str = "docs/README.md";
const PLAYGROUND_START: &str = "<!-- playground -->";
const PLAYGROUND_END: &str = "<!-- /playground -->";
const PLAYGROUND: &str = "<iframe class=\"try\" src=\"playground/index.html\" title=\"Playground: edit a ModelDeployment and \
                          see its manifests\" loading=\"lazy\"></iframe>";

pub(crate) fn run(arguments: &[&str]) -> Result<String, Failure> {
    match arguments {
        [] => {
            let input: (IgnoredAny, Book) = serde_json::from_reader(std::io::stdin().lock())
                .map_err(|error| Failure::Broken(format!("the book on standard input: {error}")))?;
            let book = prepare(input.1, &Contents::read(project_root())?)?;
            serde_json::to_string(&book).map_err(|error| Failure::Broken(error.to_string()))
        }
        // mdBook asks which renderers the preprocessor supports; the exit status answers.
        ["supports", "html"] => Ok(String::new()),
        ["supports", renderer] => Err(Failure::Unmet(format!("no support for {renderer}, expected html"))),
        ["--copy-files", folder] => copy_files(&Contents::read(project_root())?, Path::new(folder)),
        _ => Err(Failure::Broken("expected no option, or `--copy-files FOLDER`".to_owned())),
    }
}

fn project_root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Moves the chapters to their places in the site, adds the others, and rewrites the links of all. Reports all links without
/// a destination at once.
fn prepare(mut book: Book, contents: &Contents) -> Result<Book, Failure> {
    let mut problems = Vec::new();
    for item in &mut book.items {
        prepare_item(item, contents, &mut problems);
    }
    if problems.is_empty() { Ok(book) } else { Err(Failure::Unmet(problems.join("\n"))) }
}

fn prepare_item(item: &mut Item, contents: &Contents, problems: &mut Vec<String>) {
    let Item::Chapter(chapter) = item else { return };
    let Some(path) = &chapter.path else {
        problems.push(format!("docs/SUMMARY.md: {} has no page", chapter.name));
        return;
    };
    let path = contents::join("docs", path);
    prepare_page(chapter, &path, contents, problems);
    for inner in &mut chapter.sub_items {
        prepare_item(inner, contents, problems);
    }
    add_entries(chapter, &path, contents, problems);
}

/// Sets the content of a chapter and its place in the site.
fn prepare_page(chapter: &mut Chapter, path: &str, contents: &Contents, problems: &mut Vec<String>) {
    let content = embed_playground(std::mem::take(&mut chapter.content), path, contents, problems);
    chapter.content = markdown::rewrite(&content, |link| contents.resolve(path, link)).unwrap_or_else(|found| {
        problems.extend(found.into_iter().map(|problem| format!("{path}: {problem}")));
        content
    });
    chapter.path = Some(contents::site_path(path));
    chapter.source_path.clone_from(&chapter.path);
}

/// Adds the chapters that belong below a page: pages that the table of contents does not list, and files.
fn add_entries(parent: &mut Chapter, path: &str, contents: &Contents, problems: &mut Vec<String>) {
    for entry in contents.entries_below(path) {
        let mut chapter = match entry {
            Entry::Page(page) => match contents.read_text(page) {
                Ok(text) => {
                    let mut chapter = parent.new_child(&markdown::title(&text).unwrap_or_else(|| page.to_owned()));
                    chapter.content = text;
                    prepare_page(&mut chapter, page, contents, problems);
                    chapter
                }
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            },
            Entry::Files(folder) => {
                let mut chapter = parent.new_child(&contents::short_name(folder, path));
                match contents.page_of_files(folder) {
                    Ok(content) => chapter.content = content,
                    Err(problem) => problems.push(problem),
                }
                chapter.path = Some(contents.site_path_of_files(folder).into());
                chapter.source_path.clone_from(&chapter.path);
                chapter
            }
        };
        if let Entry::Page(page) = entry {
            add_entries(&mut chapter, page, contents, problems);
        }
        parent.sub_items.push(Item::Chapter(chapter));
    }
}

/// Replaces the picture of the playground on the front page by the playground, if it is built.
fn embed_playground(text: String, path: &str, contents: &Contents, problems: &mut Vec<String>) -> String {
    if path != FRONT_PAGE {
        return text;
    }
    let parts = text.split_once(PLAYGROUND_START).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(PLAYGROUND_END)?;
        Some(format!("{before}{PLAYGROUND}{after}"))
    });
    match parts {
        None => problems.push(format!("{path}: expected {PLAYGROUND_START} and {PLAYGROUND_END}")),
        Some(embedded) if contents.has_playground() => return embedded,
        Some(_) => eprintln!("target/web does not exist, so the front page has a picture instead of the playground"),
    }
    text
}

/// Copies the files that pages link to instead of showing them.
fn copy_files(contents: &Contents, folder: &Path) -> Result<String, Failure> {
    let mut report = String::new();
    for file in contents.copied_files() {
        let target = folder.join(&file);
        let broken = |error: std::io::Error| Failure::Broken(format!("{}: {error}", target.display()));
        fs::create_dir_all(target.parent().unwrap_or(folder)).map_err(broken)?;
        fs::copy(project_root().join(&file), &target).map_err(broken)?;
        append_line!(report, "copied {file}");
    }
    Ok(report)
}
