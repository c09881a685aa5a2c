//! Lists the files of the input with the options that apply to each of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::Gitignore;
use kubefoundry_compiler::options::{self, InputOptions};
use kubefoundry_composition::BUILTIN;

use super::args::InputArgs;
use super::environments::name_environment;
use super::error::InputError;
use super::files::Files;
use super::found_options::{
    FoundOptions, OptionsFinder, PatternCompiler, holds_options, innermost_environment, is_matched,
};
use super::kustomize::{self, KnownBuilds, Outcome, Root};
use super::paths::is_kustomization;
use super::program::Permissions;
use super::revision::Tree;
use super::{templates, walk};

/// What the user says about files, with flags and with `--config`.
#[derive(Debug, Default)]
pub(crate) struct NamedOptions {
    exclude: Vec<Gitignore>,
    include: Option<Gitignore>,
    environments: Option<Gitignore>,
    build_kustomizations: Option<bool>,
    pub(crate) permissions: Permissions,
}

impl NamedOptions {
    /// Reads the options of flags and of `--config`, which is that of `base` if it has the file.
    pub(crate) fn read(args: &InputArgs, base: Option<&Tree>) -> Result<Self, InputError> {
        let mut named = Self::default();
        let mut config = InputOptions::default();
        let mut compiler = PatternCompiler::default();
        if let Some(file) = &args.config {
            let of_base = base.filter(|base| base.is_file(file)).map(|base| base.file(file));
            let bytes = of_base.unwrap_or_else(|| Files::default().read(file))?;
            config = InputOptions::read(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
            let directory = file.parent().unwrap_or(Path::new(""));
            let name = file.display().to_string();
            let mut compile = |patterns: &Option<Vec<String>>| {
                patterns.as_deref().map(|patterns| compiler.compile(directory, patterns, &name)).transpose()
            };
            named.exclude.extend(compile(&config.exclude)?);
            named.include = compile(&config.include)?;
            named.environments = compile(&config.environments)?;
        }
        if !args.exclude.is_empty() {
            named.exclude.push(compiler.compile(Path::new(""), &args.exclude, "--exclude")?);
        }
        named.build_kustomizations = if args.build.no_kustomize { Some(false) } else { config.build_kustomizations };
        named.permissions = Permissions {
            exec: args.build.enable_exec || config.enable_exec == Some(true),
            remote: args.build.allow_remote || config.allow_remote == Some(true),
            helm: args.build.helm || config.helm == Some(true),
            unconfined: args.build.no_isolation,
        };
        Ok(named)
    }

    /// What an application of Argo CD says, with the file of a parameter. Whether kustomizations are built is another
    /// parameter, and no file of the repository can allow more than that.
    pub(crate) fn of_application(config: Option<&Path>) -> Result<Self, InputError> {
        let args = InputArgs { config: config.map(Path::to_owned), ..InputArgs::default() };
        let named = Self::read(&args, None)?;
        Ok(Self { build_kustomizations: Some(false), permissions: Permissions::default(), ..named })
    }

    fn selects(&self, file: &Path) -> bool {
        !self.exclude.iter().any(|patterns| is_matched(patterns, file))
            && self.include.as_ref().is_none_or(|patterns| is_matched(patterns, file))
    }
}

/// A file of the input.
#[derive(Debug)]
pub(crate) struct ListedFile {
    pub(crate) path: PathBuf,
    pub(crate) options: Rc<FoundOptions>,
    pub(crate) environment: String,
}

/// A kustomization that was built, or should have been.
#[derive(Debug)]
pub(crate) struct ListedRoot {
    pub(crate) root: Root,
    pub(crate) options: Rc<FoundOptions>,
    pub(crate) environment: String,
}

impl ListedRoot {
    pub(crate) fn is_unbuilt(&self) -> bool {
        matches!(self.root.outcome, Outcome::Unbuilt(_) | Outcome::NotPermitted(_))
    }
}

/// An entry of the input, in the order of the arguments.
#[derive(Debug)]
pub(crate) enum Entry {
    Stdin,
    /// A file that the user named.
    Named(ListedFile),
    /// A file of a directory that the user named.
    Listed(ListedFile),
    Unread(InputError),
}

/// How many files an options file leaves out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeftOut {
    pub(crate) files: usize,
    /// Those that would be judged, or that decide how others are.
    pub(crate) relevant: usize,
}

/// The files of the input.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    pub(crate) notes: Vec<String>,
    /// The options for standard input, and for a directory without any other file.
    default_options: Option<Rc<FoundOptions>>,
    /// What options files that were found leave out.
    pub(crate) left_out: BTreeMap<PathBuf, LeftOut>,
    /// The directory below which environments have names.
    base: PathBuf,
    /// The last directory with its options: most files are in the directory of the one before.
    last_directory: Option<(PathBuf, Rc<FoundOptions>)>,
}

impl Listing {
    pub(crate) fn of(
        paths: &[PathBuf],
        files: &Files,
        finder: &mut OptionsFinder,
        named: &NamedOptions,
    ) -> Result<Self, InputError> {
        let base = match paths {
            [directory] if files.is_directory(directory) => directory.clone(),
            [file] => file.parent().unwrap_or(Path::new("")).to_owned(),
            _ => PathBuf::new(),
        };
        let mut listing = Self { base, ..Self::default() };
        if paths.is_empty() || paths.iter().any(|path| path.as_os_str() == "-") {
            listing.default_options = Some(finder.find(Path::new(""), files)?);
        }
        for path in paths {
            if path.as_os_str() == "-" {
                listing.entries.push(Entry::Stdin);
            } else if files.is_directory(path) {
                listing.add_directory(path, files, finder, named)?;
            } else if let Some(tree) = files.revision().filter(|tree| !tree.is_file(path)) {
                // It was added later, or deleted.
                listing.notes.push(format!("{}: not in {}", path.display(), tree.revision.name));
            } else {
                let file = listing.file(path.clone(), files, finder, named)?;
                listing.entries.push(Entry::Named(file));
            }
        }
        Ok(listing)
    }

    fn add_directory(
        &mut self,
        directory: &Path,
        files: &Files,
        finder: &mut OptionsFinder,
        named: &NamedOptions,
    ) -> Result<(), InputError> {
        let listed = files.list(directory);
        if listed.is_empty() {
            self.notes.push(walk::describe_empty(directory));
        }
        for entry in listed {
            let path = match entry {
                Ok(path) => path,
                Err(error) => {
                    self.entries.push(Entry::Unread(error));
                    continue;
                }
            };
            if is_options_file(&path, files)? {
                continue;
            }
            let file = self.file(path, files, finder, named)?;
            if !named.selects(&file.path) {
                continue;
            }
            match file.options.left_out_by(&file.path) {
                Some(options) if !finder.is_touched(&file.path, files)? => {
                    let left_out = self.left_out.entry(options.to_owned()).or_default();
                    left_out.files += 1;
                    left_out.relevant += usize::from(is_relevant(&file.path, files));
                }
                _ => self.entries.push(Entry::Listed(file)),
            }
        }
        if self.default_options.is_none() {
            self.default_options = Some(finder.find(directory, files)?);
        }
        Ok(())
    }

    fn file(
        &mut self,
        path: PathBuf,
        files: &Files,
        finder: &mut OptionsFinder,
        named: &NamedOptions,
    ) -> Result<ListedFile, InputError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let options = match &self.last_directory {
            Some((last, options)) if last == directory => Rc::clone(options),
            _ => {
                let options = finder.find(directory, files)?;
                self.last_directory = Some((directory.to_owned(), Rc::clone(&options)));
                options
            }
        };
        let named_directory = named.environments.as_ref().and_then(|patterns| innermost_environment(patterns, &path));
        let candidates = [options.nearest.clone(), options.environment_of(&path), named_directory];
        let innermost = candidates.into_iter().flatten().max_by_key(|directory| directory.components().count());
        let environment = innermost.map(|directory| name_environment(&directory, &self.base)).unwrap_or_default();
        Ok(ListedFile { path, options, environment })
    }

    /// Returns the options files that apply to any file.
    pub(crate) fn option_files(&self) -> impl Iterator<Item = &PathBuf> {
        let of_files = self.entries.iter().filter_map(|entry| match entry {
            Entry::Named(file) | Entry::Listed(file) => Some(&file.options),
            Entry::Stdin | Entry::Unread(_) => None,
        });
        // Most files have the options of the one before.
        let mut last = None;
        let is_new = move |options: &&Rc<FoundOptions>| last.replace(Rc::as_ptr(options)) != Some(Rc::as_ptr(options));
        of_files.chain(&self.default_options).filter(is_new).flat_map(|options| &options.files)
    }

    /// Returns the options files that apply to standard input.
    pub(crate) fn stdin_options(&self) -> &[PathBuf] {
        self.default_options.as_ref().map_or(&[], |options| &options.files)
    }

    /// Builds the kustomizations among the files, unless they are `known`.
    pub(crate) fn build_kustomizations(
        &self,
        files: &Files,
        finder: &mut OptionsFinder,
        named: &NamedOptions,
        known: Option<&mut KnownBuilds>,
    ) -> Result<Vec<ListedRoot>, InputError> {
        let listed = self.entries.iter().filter_map(|entry| match entry {
            Entry::Listed(file) if is_kustomization(&file.path) => Some(file.path.clone()),
            _ => None,
        });
        let listed: Vec<PathBuf> = listed.collect();
        // Only the user decides that nothing is built.
        if listed.is_empty() || named.build_kustomizations == Some(false) {
            return Ok(Vec::new());
        }
        let boundary = |directory: &Path| boundary_of(directory, files);
        let roots = kustomize::build_roots(&listed, files, named.permissions, &boundary, known)?;
        let listed_root = |root: Root| {
            let options = finder.find(&root.directory, files)?;
            let environment = name_environment(&root.directory, &self.base);
            Ok(ListedRoot { root, options, environment })
        };
        roots.into_iter().map(listed_root).collect()
    }
}

/// Whether a file would be judged, or decides how others are. What cannot be read may be either.
fn is_relevant(path: &Path, files: &Files) -> bool {
    let may_hold_input = || match files.read(path) {
        Ok(bytes) => BUILTIN.may_hold_input(&String::from_utf8_lossy(&bytes.unwrap_or_default())),
        Err(InputError::TooLarge { is_foreign, .. }) => !is_foreign,
        Err(_) => true,
    };
    is_kustomization(path) || may_hold_input()
}

/// Returns the directory that a kustomization may not lead out of: the root of the repository.
pub(crate) fn boundary_of(directory: &Path, files: &Files) -> PathBuf {
    files.directories_to(directory).into_iter().next().unwrap_or_else(|| directory.to_owned())
}

fn is_options_file(path: &Path, files: &Files) -> Result<bool, InputError> {
    if path.file_name().is_none_or(|name| name != options::FILE_NAME) {
        return Ok(false);
    }
    Ok(files.read(path)?.is_some_and(|bytes| holds_options(&String::from_utf8_lossy(&bytes))))
}

/// The templates of Helm charts, by the directory of the chart.
#[derive(Debug, Default)]
pub(crate) struct Charts(BTreeMap<PathBuf, Vec<ListedFile>>);

/// A chart with templates that name one of our API groups.
#[derive(Debug)]
pub(crate) struct RelevantChart {
    pub(crate) directory: PathBuf,
    /// How many of its templates do.
    pub(crate) count: usize,
    /// Those of its first template.
    pub(crate) options: Rc<FoundOptions>,
}

impl Charts {
    /// Records a file that is a template of a chart, and returns any other.
    pub(crate) fn claim(&mut self, file: ListedFile, files: &Files) -> Option<ListedFile> {
        // Few paths have such a directory, so most files need no look at the file system.
        let Some(chart) = templates::chart_of(&file.path, files) else { return Some(file) };
        self.0.entry(chart).or_default().push(file);
        None
    }

    /// Returns the charts with templates that name one of our API groups.
    pub(crate) fn relevant(self, files: &Files) -> Result<Vec<RelevantChart>, InputError> {
        let mut relevant = Vec::new();
        for (directory, templates) in self.0 {
            let mut count = 0;
            for template in &templates {
                let bytes = files.read(&template.path)?.unwrap_or_default();
                count += usize::from(BUILTIN.may_hold_input(&String::from_utf8_lossy(&bytes)));
            }
            if let Some(first) = templates.into_iter().next().filter(|_| count > 0) {
                relevant.push(RelevantChart { directory, count, options: first.options });
            }
        }
        Ok(relevant)
    }
}
