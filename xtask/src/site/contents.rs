//! What the site contains: the pages of `docs/SUMMARY.md`, and everything that these link to, each at a place of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use kubefoundry_yaml::append;

use super::markdown;
use crate::Failure;

const SUMMARY: &str = "docs/SUMMARY.md";
const README: &str = "README.md";
const INDEX: &str = "index.md";
/// What the site has in another form: the front page with the table of contents beside it.
const FRONT: [&str; 2] = [README, SUMMARY];
/// Larger files are copied instead of shown, in bytes.
const MAX_SHOWN: u64 = 32 * 1024;

/// A chapter that the table of contents does not list.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry<'c> {
    /// The path of a Markdown file.
    Page(&'c str),
    /// A folder or a file, which is shown as text.
    Files(&'c str),
}

/// The contents of the site. All paths are relative to the repository and separated by slashes.
#[derive(Debug)]
pub(super) struct Contents {
    root: PathBuf,
    files: BTreeSet<String>,
    /// The pages, and the page below which each of the others belongs.
    pages: BTreeMap<String, Option<String>>,
    /// The folders and files that a page shows, and the page below which it belongs.
    shown: BTreeMap<String, String>,
    /// What was found, in the order in which it is linked.
    found: Vec<String>,
}

impl Contents {
    /// Reads the table of contents, and follows all links. The files are those of git, also new ones.
    pub(super) fn read(root: &Path) -> Result<Contents, Failure> {
        let broken = |problem: String| Failure::Broken(format!("git ls-files: {problem}"));
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| broken(error.to_string()))?;
        if !listed.status.success() {
            return Err(broken(String::from_utf8_lossy(&listed.stderr).into_owned()));
        }
        let names = String::from_utf8(listed.stdout).map_err(|error| broken(error.to_string()))?;
        let files = names.split_terminator('\0').filter(|name| root.join(name).is_file()).map(str::to_owned).collect();
        Contents::follow(root, files).map_err(Failure::Unmet)
    }

    fn follow(root: &Path, files: BTreeSet<String>) -> Result<Contents, String> {
        let mut contents = Contents {
            root: root.to_owned(),
            files,
            pages: BTreeMap::new(),
            shown: BTreeMap::new(),
            found: Vec::new(),
        };
        let mut queue = VecDeque::new();
        for link in markdown::links(&contents.read_text(SUMMARY)?) {
            let page = join("docs", Path::new(&link));
            contents.pages.insert(page.clone(), None);
            queue.push_back(page);
        }
        while let Some(page) = queue.pop_front() {
            for link in markdown::links(&contents.read_text(&page)?) {
                let Some((target, _)) = split(&page, &link) else { continue };
                let Some(target) = contents.find(&target) else { continue };
                if FRONT.contains(&&*target) || contents.is_known(&target) {
                    continue;
                }
                contents.found.push(target.clone());
                if is_markdown(&target) {
                    contents.pages.insert(target.clone(), Some(page.clone()));
                    queue.push_back(target);
                } else {
                    contents.shown.insert(target, page.clone());
                }
            }
        }
        contents.drop_shown_twice();
        contents.choose_parents();
        contents.refuse_cycles()?;
        contents.sort_as_linked()?;
        Ok(contents)
    }

    /// A file whose folder is shown needs no page of its own.
    fn drop_shown_twice(&mut self) {
        let twice = |path: &str| self.files.contains(path) && !is_markdown(path) && self.owner(path).is_some();
        let twice: BTreeSet<String> = self.found.iter().filter(|path| twice(path)).cloned().collect();
        self.found.retain(|path| !twice.contains(path));
        self.shown.retain(|path, _| !twice.contains(path));
    }

    /// Sorts the chapters below a page in the order in which the page links to them. Others come last.
    fn sort_as_linked(&mut self) -> Result<(), String> {
        let mut position = BTreeMap::new();
        for page in self.pages.keys() {
            for (at, link) in markdown::links(&self.read_text(page)?).iter().enumerate() {
                let found = split(page, link).and_then(|(target, _)| self.find(&target));
                position.entry((page.clone(), found)).or_insert(at);
            }
        }
        let position_of = |path: &String| {
            let parent = self.shown.get(path).or_else(|| self.pages.get(path)?.as_ref())?;
            position.get(&(parent.clone(), Some(path.clone()))).copied()
        };
        let mut found = self.found.clone();
        found.sort_by_cached_key(|path| position_of(path).unwrap_or(usize::MAX));
        self.found = found;
        Ok(())
    }

    /// Every chapter must be below a page of the table of contents.
    fn refuse_cycles(&self) -> Result<(), String> {
        for start in &self.found {
            let parent_of = |path: &String| self.shown.get(path).or_else(|| self.pages.get(path)?.as_ref()).cloned();
            if std::iter::successors(Some(start.clone()), parent_of).nth(self.found.len() + 1).is_some() {
                return Err(format!("list {start} in {SUMMARY}: only pages below it link to it"));
            }
        }
        Ok(())
    }

    /// What is in a folder with a README that is a page belongs below it, and everything else below the first page that
    /// links to it.
    fn choose_parents(&mut self) {
        let readme_of = |path: &str| {
            let inside = path.strip_suffix(&format!("/{README}")).unwrap_or(path);
            let mut folders = folders_above(inside).filter(|folder| *folder != "docs");
            folders
                .find_map(|folder| self.pages.get_key_value(&format!("{folder}/{README}")))
                .map(|(page, _)| page.clone())
        };
        let found: Vec<(String, Option<String>)> =
            self.found.iter().map(|path| (path.clone(), readme_of(path))).collect();
        for (path, parent) in found {
            let Some(parent) = parent else { continue };
            if let Some(page) = self.pages.get_mut(&path) {
                *page = Some(parent);
            } else if let Some(shown) = self.shown.get_mut(&path) {
                *shown = parent;
            }
        }
    }

    fn is_known(&self, path: &str) -> bool {
        self.pages.contains_key(path) || self.shown.contains_key(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.files_in(path).next().is_some()
    }

    fn files_in(&self, folder: &str) -> impl Iterator<Item = &String> {
        let start = format!("{folder}/");
        self.files.range(start.clone()..).take_while(move |file| file.starts_with(&start))
    }

    /// Returns what has a page for a file or a folder: a Markdown file, a folder or a file that is shown. Returns `None` for
    /// what mdBook copies itself, and for what does not exist.
    fn find(&self, target: &str) -> Option<String> {
        let readme = format!("{target}/{README}");
        if self.files.contains(&readme) {
            return Some(readme);
        }
        if self.is_folder(target) || is_markdown(target) && self.files.contains(target) {
            return Some(target.to_owned());
        }
        if !self.files.contains(target) || target.starts_with("docs/") {
            return None;
        }
        // A file is shown with the others of its folder if a README above describes the folder.
        let folder = folder_of(target);
        let describes = |folder: &str| self.files.contains(&format!("{folder}/{README}"));
        let is_described = !folder.is_empty() && !describes(folder) && folders_above(folder).any(describes);
        Some(if is_described { folder } else { target }.to_owned())
    }

    /// Returns the link in the site for a link of a page; `None` for one that stays as it is.
    pub(super) fn resolve(&self, page: &str, link: &str) -> Result<Option<String>, String> {
        let Some((target, anchor)) = split(page, link) else { return Ok(None) };
        let from = site_path(page);
        let relative = |to: &Path, anchor: &str| Ok(Some(format!("{}{anchor}", relative(&from, to))));
        if FRONT.contains(&&*target) {
            return relative(Path::new(INDEX), anchor);
        }
        let is_file = self.files.contains(&target) && !is_markdown(&target);
        let owner = self.owner(&target).filter(|_| is_file).map(str::to_owned);
        match owner.or_else(|| self.find(&target)) {
            Some(found) if self.pages.contains_key(&found) => relative(&site_path(&found), anchor),
            Some(found) if self.shown.contains_key(&found) => {
                let place = self.site_path_of_files(&found);
                let file = target.strip_prefix(&format!("{found}/")).map(|file| format!("#{file}"));
                relative(Path::new(&place), file.as_deref().unwrap_or(anchor))
            }
            _ => match target.strip_prefix("docs/").filter(|_| self.files.contains(&target)) {
                Some(copied) => relative(Path::new(copied), anchor),
                None => Err(format!("{link} does not exist")),
            },
        }
    }

    /// Returns the chapters below a page that the table of contents does not list, in the order in which they are linked.
    pub(super) fn entries_below(&self, page: &str) -> impl Iterator<Item = Entry<'_>> {
        self.found.iter().filter_map(move |path| match self.pages.get(path) {
            Some(parent) => (parent.as_deref() == Some(page)).then_some(Entry::Page(path)),
            None => self.shown.get(path).filter(|parent| *parent == page).map(|_| Entry::Files(path)),
        })
    }

    pub(super) fn read_text(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.root.join(path)).map_err(|error| format!("{path}: {error}"))
    }

    pub(super) fn has_playground(&self) -> bool {
        self.root.join("target/web/index.html").is_file()
    }

    fn size(&self, file: &str) -> Result<u64, String> {
        self.root.join(file).metadata().map(|metadata| metadata.len()).map_err(|error| format!("{file}: {error}"))
    }

    /// Returns the innermost folder that is shown with this file or folder in it. A folder with a README that is a page
    /// belongs to none.
    fn owner(&self, path: &str) -> Option<&str> {
        for folder in folders_above(path) {
            if let Some((shown, _)) = self.shown.get_key_value(folder) {
                return Some(shown);
            }
            if self.pages.contains_key(&format!("{folder}/{README}")) {
                return None;
            }
        }
        None
    }

    /// Returns the files that a page shows: those of a folder that no folder inside shows, without Markdown. What the tests
    /// have written comes last.
    fn files_of(&self, shown: &str) -> Vec<&String> {
        if let Some(file) = self.files.get(shown) {
            return vec![file];
        }
        let own = self.files_in(shown).filter(|file| !is_markdown(file) && self.owner(file) == Some(shown));
        let (output, input): (Vec<_>, Vec<_>) = own.partition(|file| has_extension(file, "snap"));
        [input, output].concat()
    }

    /// Returns the place of the page that shows a folder or a file.
    pub(super) fn site_path_of_files(&self, shown: &str) -> String {
        if self.files.contains(shown) { format!("{shown}.md") } else { format!("{shown}/{INDEX}") }
    }

    /// Returns the text of the page for a folder or a file.
    pub(super) fn page_of_files(&self, shown: &str) -> Result<String, String> {
        let mut text = format!("# `{shown}`\n");
        let is_single = self.files.contains(shown);
        for file in self.files_of(shown) {
            let name = file.strip_prefix(&format!("{shown}/")).unwrap_or(file);
            if !is_single {
                append!(text, "\n## `{name}` {{#{name}}}\n");
            }
            let Some(body) = self.shown_text(file)? else {
                let target = relative(Path::new(&self.site_path_of_files(shown)), Path::new(file));
                append!(text, "\n[Open the file]({target}) ({} kB).\n", self.size(file)?.div_ceil(1000));
                continue;
            };
            // A snapshot begins with the name of its test.
            let body =
                body.strip_prefix("---\nsource:").and_then(|rest| rest.split_once("\n---\n")).map_or(&*body, |it| it.1);
            append!(text, "\n{}", markdown::code_block(language(name), body));
        }
        Ok(text)
    }

    /// Returns the text of a file that a page shows. Returns `None` for one that is large or no text, which is copied.
    fn shown_text(&self, file: &str) -> Result<Option<String>, String> {
        if self.size(file)? > MAX_SHOWN {
            return Ok(None);
        }
        let bytes = std::fs::read(self.root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        Ok(String::from_utf8(bytes).ok())
    }

    /// Returns the files that pages link to instead of showing them.
    pub(super) fn copied_files(&self) -> Vec<String> {
        let all = self.shown.keys().flat_map(|shown| self.files_of(shown));
        all.filter(|file| matches!(self.shown_text(file), Ok(None))).cloned().collect()
    }
}

fn is_markdown(path: &str) -> bool {
    has_extension(path, "md")
}

fn has_extension(path: &str, expected: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == expected)
}

/// Returns the language in which a file is highlighted.
fn language(name: &str) -> &'static str {
    // The findings in a snapshot are text.
    match name.rsplit('/').next().unwrap_or(name).rsplit_once('.') {
        Some(("output", "snap") | (_, "yaml" | "yml")) => "yaml",
        Some((_, "json")) => "json",
        Some((_, "toml")) => "toml",
        Some((_, "py")) => "python",
        // mdBook adds lines to other Rust.
        Some((_, "rs")) => "rust,noplayground",
        Some((_, "sh")) => "bash",
        _ => "text",
    }
}

/// Returns the folders around a path, the innermost first, without the root.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder_of(path)), |folder| Some(folder_of(folder)))
        .take_while(|folder| !folder.is_empty())
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the path of a file that is given relative to a folder, without `.` and `..`.
pub(super) fn join(folder: &str, path: &Path) -> String {
    let mut parts: Vec<String> = folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => drop(parts.pop()),
            std::path::Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    parts.join("/")
}

/// Splits the link of a page into a path and an anchor with `#`. Returns `None` for a link to another site or into the page.
fn split<'l>(page: &str, link: &'l str) -> Option<(String, &'l str)> {
    let at = link.find('#').unwrap_or(link.len());
    let (path, anchor) = link.split_at(at);
    let is_external = path.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    (!path.is_empty() && !is_external).then(|| (join(folder_of(page), Path::new(path)), anchor))
}

/// Returns the place of a page in the site: `codes/index.md` for `docs/codes/README.md`.
pub(super) fn site_path(page: &str) -> PathBuf {
    let path = Path::new(page.strip_prefix("docs/").unwrap_or(page));
    if path.file_name().is_some_and(|name| name == README) { path.with_file_name(INDEX) } else { path.to_owned() }
}

/// Returns the name of a folder below a page, relative to the page's folder if it is inside.
pub(super) fn short_name(shown: &str, page: &str) -> String {
    shown.strip_prefix(&format!("{}/", folder_of(page))).unwrap_or(shown).to_owned()
}

/// Returns the link from a page of the site to a file of the site.
fn relative(from: &Path, to: &Path) -> String {
    let from: Vec<_> = from.parent().map(|folder| folder.components().collect()).unwrap_or_default();
    let to: Vec<_> = to.components().collect();
    let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let down = to[shared..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a repository with these files.
    fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Contents, String>) {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let contents = Contents::follow(root.path(), files.iter().map(|(path, _)| (*path).to_owned()).collect());
        (root, contents)
    }

    const FILES: &[(&str, &str)] = &[
        ("README.md", ""),
        ("LICENSE", "All rights"),
        (
            "docs/SUMMARY.md",
            "[Front](README.md)\n\n- [A](a.md)\n  - [Tool](../tool/README.md)\n- [Codes](codes/README.md)\n",
        ),
        ("docs/README.md", ""),
        (
            "docs/a.md",
            "[s](../deploy/x/s.yaml) [x](../deploy/x) [one](codes/K1.md) [p](p.png) [l](../LICENSE) [g](../tool/g.rs)",
        ),
        ("docs/p.png", ""),
        ("docs/codes/README.md", "[2](K2.md) [1](K1.md)"),
        ("docs/codes/K1.md", "# K1: one"),
        (
            "docs/codes/K2.md",
            "[home](../../README.md#top) [outside](https://example.com) [here](#k2) [all](../SUMMARY.md)",
        ),
        ("deploy/x/s.yaml", "a: 1\n"),
        ("deploy/x/in/t.json", "{}\n"),
        ("tool/README.md", "[example](examples/e/m.yaml) [in](inner/README.md) [all](examples) [f](examples/f)"),
        ("tool/examples/f/n.yaml", "n: 1\n"),
        ("tool/g.rs", "fn g() {}\n"),
        ("tool/examples/e/m.yaml", "m: 1\n"),
        ("tool/examples/e/a.snap", "a\n"),
        ("tool/examples/e/output.snap", "---\nsource: t.rs\n---\no: 1\n"),
        ("tool/inner/README.md", ""),
    ];

    fn names(contents: &Contents, page: &str) -> Vec<String> {
        contents
            .entries_below(page)
            .map(|entry| match entry {
                Entry::Page(path) | Entry::Files(path) => path.to_owned(),
            })
            .collect()
    }

    #[test]
    fn everything_that_is_linked_has_a_place() {
        let (_root, contents) = repository(FILES);
        let contents = contents.expect("contents");
        assert_eq!(names(&contents, "docs/a.md"), ["deploy/x", "LICENSE"]);
        assert_eq!(names(&contents, "docs/codes/README.md"), ["docs/codes/K2.md", "docs/codes/K1.md"]);
        assert_eq!(
            names(&contents, "tool/README.md"),
            ["tool/examples/e", "tool/inner/README.md", "tool/examples", "tool/examples/f", "tool/g.rs"]
        );
        let resolve = |page: &str, link: &str| contents.resolve(page, link);
        for (page, link, expected) in [
            ("docs/a.md", "codes/K1.md#x", "codes/K1.md#x"),
            ("docs/a.md", "../deploy/x/s.yaml", "deploy/x/index.md#s.yaml"),
            ("docs/a.md", "../deploy/x/in/t.json", "deploy/x/index.md#in/t.json"),
            ("docs/a.md", "../LICENSE", "LICENSE.md"),
            ("docs/a.md", "p.png", "p.png"),
            ("docs/codes/K2.md", "../../README.md#top", "../index.md#top"),
            ("docs/codes/K2.md", "../a.md", "../a.md"),
            ("docs/codes/K2.md", "../SUMMARY.md", "../index.md"),
            ("docs/codes/K2.md", "README.md", "index.md"),
            ("tool/README.md", "examples/e/m.yaml", "examples/e/index.md#m.yaml"),
            ("tool/README.md", "../docs/a.md", "../a.md"),
            ("tool/README.md", "inner", "inner/index.md"),
            ("tool/README.md", "examples/f", "examples/f/index.md"),
        ] {
            assert_eq!(resolve(page, link), Ok(Some(expected.to_owned())), "{page} {link}");
        }
        assert_eq!(resolve("docs/codes/K2.md", "https://example.com"), Ok(None));
        assert_eq!(resolve("docs/codes/K2.md", "#k2"), Ok(None));
        assert_eq!(resolve("docs/a.md", "b.md"), Err("b.md does not exist".to_owned()));
    }

    #[test]
    fn a_page_shows_the_files_of_a_folder() {
        let (root, contents) = repository(FILES);
        let contents = contents.expect("contents");
        let page = contents.page_of_files("tool/examples/e").expect("a page");
        let expected = "# `tool/examples/e`\n\n## `m.yaml` {#m.yaml}\n\n```yaml\nm: 1\n```\n\n\
                        ## `a.snap` {#a.snap}\n\n```text\na\n```\n\n## `output.snap` {#output.snap}\n\n```yaml\no: 1\n```\n";
        assert_eq!(page, expected);
        assert_eq!(contents.page_of_files("LICENSE").expect("a page"), "# `LICENSE`\n\n```text\nAll rights\n```\n");
        std::fs::write(root.path().join("LICENSE"), "a".repeat(40_000)).expect("a file");
        let page = contents.page_of_files("LICENSE").expect("a page");
        assert_eq!(page, "# `LICENSE`\n\n[Open the file](LICENSE) (40 kB).\n");
        assert_eq!(contents.copied_files(), ["LICENSE"]);
        std::fs::write(root.path().join("LICENSE"), [0xff]).expect("a file");
        assert_eq!(contents.copied_files(), ["LICENSE"]);
    }

    #[test]
    fn a_page_that_only_its_own_pages_link_to_must_be_listed() {
        let (_root, contents) = repository(&[
            ("docs/SUMMARY.md", "- [A](a.md)\n"),
            ("docs/a.md", "[x](../t/x.md)"),
            ("t/x.md", "[t](README.md)"),
            ("t/README.md", ""),
        ]);
        let problem = contents.expect_err("a cycle");
        assert_eq!(problem, "list t/x.md in docs/SUMMARY.md: only pages below it link to it");
    }
}
