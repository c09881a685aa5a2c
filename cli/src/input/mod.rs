//! Paths and flags to the texts that the library takes.
//!
//! Options come first, from the weakest to the strongest: `kubefoundry.yaml`, `--config`, the flags. Then the input in
//! the order in which it was named, then what `--providers` and `--crds` add.

pub(crate) mod git;
mod walk;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use kubefoundry_compiler::pipeline;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use serde_json::{Map, Value, json};

use crate::args::{Assignment, InputArgs};
use git::{GitError, Tree};

/// The file with options that a directory may have.
const OPTIONS_FILE: &str = "kubefoundry.yaml";

/// What the options from flags are called in findings.
const COMMAND_LINE: &str = "<command line>";

/// What the options from Argo CD's parameters are called in findings.
const PARAMETERS: &str = "<parameters>";

/// What a kustomization is called.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What standard input is called in findings.
const STDIN: &str = "<stdin>";

/// More than this is no manifest. The library has its own limits on each document.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Why the input could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("{0}: {1}")]
    Read(String, io::Error),
    #[error("{0}")]
    Walk(ignore::Error),
    #[error("{0}: not read, since it leads out of the application's directory")]
    Outside(String),
    #[error("{name}: larger than {limit} MiB", limit = MAX_BYTES / (1024 * 1024))]
    TooLarge { name: String, is_foreign: bool },
    #[error("--crds {0}: no .yaml, .yml or .json file in it, expected a dump of CRDs")]
    NoCrds(String),
    #[error("standard input is named twice; expected it as PATH or by --crds")]
    StdinTwice,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("no PATH is given, and standard input is a terminal; name a file or a directory, or pipe manifests in")]
    Terminal,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The texts.
    pub(crate) sources: SourceSet,
    /// The files that they are from, under the paths by which they can be opened.
    pub(crate) files: BTreeMap<SourceId, PathBuf>,
    /// The one that is standard input.
    pub(crate) stdin: Option<SourceId>,
    /// Files of directories that could not be read. The rest was, and is judged.
    pub(crate) unread: Vec<InputError>,
    /// What to tell the user besides: lines for standard error.
    pub(crate) notes: Vec<String>,
    /// Each `--providers` with the texts that were read for it.
    pub(crate) providers: Vec<(PathBuf, Vec<SourceId>)>,
}

/// Reads everything that the arguments name. `options` are options that a command sets on its own.
///
/// A path that was named and cannot be read is an error: whoever typed it meant something. A file that was found in a
/// directory and cannot be read is noted, so that one dead link does not hide what is wrong with all the others.
pub(crate) fn read(args: &InputArgs, options: Map<String, Value>) -> Result<Input, InputError> {
    let mut reader = Reader::default();
    reader.all(args, &args.paths, options)?;
    Ok(reader.input)
}

/// The same, with the last path not as input, but as what is in the cluster.
pub(crate) fn read_with_live(args: &InputArgs) -> Result<Input, InputError> {
    let (live, paths) = args.paths.split_last().map_or((None, &[][..]), |(live, paths)| (Some(live), paths));
    let mut reader = Reader::default();
    reader.all(args, paths, Map::new())?;
    if let Some(live) = live {
        reader.path_or_stdin(Purpose::ClusterSnapshot, live)?;
    }
    Ok(reader.input)
}

/// Reads dumps of a cluster: files, directories, or standard input when none is named.
pub(crate) fn read_dumps(paths: &[PathBuf]) -> Result<Input, InputError> {
    let mut reader = Reader::default();
    if paths.is_empty() {
        reader.stdin_unless_terminal(Purpose::ClusterSnapshot)?;
    }
    for path in paths {
        reader.path_or_stdin(Purpose::ClusterSnapshot, path)?;
    }
    Ok(reader.input)
}

/// What can be read only once, kept for whoever reads it again: standard input, and pipes (`<(command)`).
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    stdin: Option<Vec<u8>>,
    others: BTreeMap<PathBuf, Vec<u8>>,
}

/// The same as [`read`], with the paths of the input as they are in a revision, when there is one; everything else is
/// what is there now.
pub(crate) fn read_at(
    args: &InputArgs,
    options: Map<String, Value>,
    tree: Option<Tree>,
    pipes: &mut Pipes,
) -> Result<Input, InputError> {
    let mut reader = Reader { tree, pipes: Some(std::mem::take(pipes)), ..Reader::default() };
    reader.all(args, &args.paths, options)?;
    *pipes = reader.pipes.unwrap_or_default();
    Ok(reader.input)
}

/// Reads an application's directory, which is the working directory: the options in it, then either the text that was
/// built from it, or its files. Nothing is read that lies outside of it, whatever links say.
pub(crate) fn read_application(
    config: Option<&Path>,
    options: Map<String, Value>,
    built: Option<(&str, String)>,
) -> Result<Input, InputError> {
    let here = Path::new(".");
    let within = here.canonicalize().map_err(|error| InputError::Read(here.display().to_string(), error))?;
    let mut reader = Reader { within: Some(within), ..Reader::default() };
    for file in [Path::new(OPTIONS_FILE)].into_iter().filter(|file| file.is_file()).chain(config) {
        reader.file(Purpose::Options, file)?;
    }
    let none = InputArgs::default();
    if let Some(render) = flags(&none, options) {
        reader.input.sources.add_for(Purpose::Options, PARAMETERS, render);
    }
    match built {
        Some((name, text)) => drop(reader.input.sources.add(name, text)),
        None => drop(reader.path(Purpose::Input, here)?),
    }
    Ok(reader.input)
}

/// The flags as a `Render` document, when there is anything to say.
fn flags(args: &InputArgs, mut options: Map<String, Value>) -> Option<String> {
    let by_provider = |assignments: &[Assignment]| -> Map<String, Value> {
        assignments.iter().map(|said| (said.provider.clone(), Value::from(said.version.as_str()))).collect()
    };
    for (field, assignments) in [("crdVersions", &args.crd_version), ("runtimes", &args.runtime)] {
        if !assignments.is_empty() {
            options.insert(field.to_owned(), by_provider(assignments).into());
        }
    }
    if args.strict {
        options.insert("strict".to_owned(), Value::Bool(true));
    }
    if options.is_empty() {
        return None;
    }
    let mut render = json!({"apiVersion": kubefoundry_compiler::options::render::API_VERSION, "kind": "Render"});
    render.as_object_mut()?.append(&mut options);
    Some(format!("{render:#}\n"))
}

/// Collects texts, each file once for a purpose.
#[derive(Default)]
struct Reader {
    input: Input,
    /// CRDs and dumps may be files that are input, too.
    seen: BTreeMap<(Option<Purpose>, PathBuf), SourceId>,
    stdin_read: Option<Purpose>,
    /// The directory that nothing may be read from outside of.
    within: Option<PathBuf>,
    /// Where the input is read from, when it is not the file system.
    tree: Option<Tree>,
    /// What is kept of what can be read only once, when somebody will read it again.
    pipes: Option<Pipes>,
}

impl Reader {
    /// Reads all that the arguments name, and these paths as input.
    fn all(&mut self, args: &InputArgs, paths: &[PathBuf], options: Map<String, Value>) -> Result<(), InputError> {
        if let ([directory], Some(tree)) = (paths, &self.tree) {
            let options = tree.options(directory).map(|(name, bytes)| (name.to_owned(), bytes.map(<[u8]>::to_vec)));
            if let Some((name, bytes)) = options {
                self.of_revision(Purpose::Options, name, bytes)?;
            }
        } else if let [directory] = paths
            && directory.is_dir()
            && directory.join(OPTIONS_FILE).is_file()
        {
            self.file(Purpose::Options, &walk::tidy(&directory.join(OPTIONS_FILE)))?;
        }
        if let Some(file) = &args.config {
            self.file(Purpose::Options, file)?;
        }
        if let Some(render) = flags(args, options) {
            self.input.sources.add_for(Purpose::Options, COMMAND_LINE, render);
        }
        if paths.is_empty() {
            self.stdin_unless_terminal(Purpose::Input)?;
        }
        for path in paths {
            self.path_or_stdin(Purpose::Input, path)?;
        }
        for path in &args.providers {
            let texts = self.path(Purpose::Providers, path)?;
            self.input.providers.push((path.clone(), texts));
        }
        for path in &args.crds {
            if path.is_dir() {
                self.crds_of(path)?;
            } else {
                self.path_or_stdin(Purpose::Crds, path)?;
            }
        }
        Ok(())
    }

    fn path_or_stdin(&mut self, purpose: Purpose, path: &Path) -> Result<(), InputError> {
        if path.as_os_str() == "-" { self.stdin(purpose) } else { self.path(purpose, path).map(drop) }
    }

    /// Reads a file, or the files of a directory, and returns which texts they are.
    fn path(&mut self, purpose: Purpose, path: &Path) -> Result<Vec<SourceId>, InputError> {
        if purpose == Purpose::Input && self.tree.is_some() {
            return self.path_of_revision(path);
        }
        if !path.is_dir() {
            let text = self.file(purpose, path)?;
            if purpose == Purpose::Input && pipeline::may_hold_input(&self.input.sources.get(text).text) {
                self.kustomizations_above(path)?;
            }
            return Ok(vec![text]);
        }
        let mut texts = Vec::new();
        let files = walk::files(path);
        if files.is_empty() {
            self.input.notes.push(format!("{}: no .yaml, .yml or .json file in it", path.display()));
        }
        for file in files {
            match file.and_then(|file| self.file(purpose, &file)) {
                Ok(text) => texts.push(text),
                // Somebody's data: as little of our business as any other text that never speaks of us.
                Err(error @ InputError::TooLarge { is_foreign: true, .. }) if purpose != Purpose::ClusterSnapshot => {
                    self.input.notes.push(format!("{error}, and skipped"));
                }
                Err(error) => self.input.unread.push(error),
            }
        }
        Ok(texts)
    }

    /// Reads a file of a revision, or the files of a directory. What a revision does not have it has not yet, or not
    /// any more.
    fn path_of_revision(&mut self, path: &Path) -> Result<Vec<SourceId>, InputError> {
        let Some(tree) = &self.tree else { return Ok(Vec::new()) };
        let owned = |(name, bytes): (&str, Option<&[u8]>)| (name.to_owned(), bytes.map(<[u8]>::to_vec));
        let file = tree.file(path).map(owned);
        let files = if let Some(file) = file {
            let above =
                path.ancestors().skip(1).take(2).flat_map(|folder| KUSTOMIZATIONS.map(|name| folder.join(name)));
            let above = above.filter_map(|place| tree.file(&place)).map(owned);
            std::iter::once(file).chain(above).collect()
        } else {
            tree.below(path).into_iter().map(owned).collect::<Vec<_>>()
        };
        if files.is_empty() {
            self.input.notes.push(format!("{}: not in {}", path.display(), tree.revision.name));
        }
        let mut texts = Vec::new();
        for (name, bytes) in files {
            texts.push(self.of_revision(Purpose::Input, name, bytes)?);
        }
        Ok(texts)
    }

    /// Adds a file of a revision, each once.
    fn of_revision(&mut self, purpose: Purpose, name: String, bytes: Option<Vec<u8>>) -> Result<SourceId, InputError> {
        let identity = (None, PathBuf::from(&name));
        if let Some(text) = self.seen.get(&identity) {
            return Ok(*text);
        }
        // What is in it is not known, so whether it is ours is not, either.
        let Some(bytes) = bytes else { return Err(InputError::TooLarge { name, is_foreign: false }) };
        let text = self.input.sources.add_bytes(purpose, name, bytes);
        self.seen.insert(identity, text);
        Ok(text)
    }

    /// Reads a dump that is a directory. Without a file in it nothing would be checked, and nobody be told.
    fn crds_of(&mut self, path: &Path) -> Result<(), InputError> {
        let unread = self.input.unread.len();
        let texts = self.path(Purpose::Crds, path)?;
        if texts.is_empty() && self.input.unread.len() == unread {
            return Err(InputError::NoCrds(path.display().to_string()));
        }
        for text in texts {
            self.input.sources.set_directory(text, path.display().to_string());
        }
        Ok(())
    }

    fn file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| InputError::Read(name.clone(), error))?;
        // A pipe (`<(command)`) has no real path; its own does as well.
        let identity = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.within.as_ref().is_some_and(|directory| !identity.starts_with(directory)) {
            return Err(InputError::Outside(name));
        }
        // CRDs may lie in the directory that is read: there they are objects like others.
        let identity = (Some(purpose).filter(|it| matches!(it, Purpose::Crds | Purpose::ClusterSnapshot)), identity);
        if let Some(text) = self.seen.get(&identity) {
            return Ok(*text);
        }
        // A pipe is empty when it is read again.
        let is_pipe = !file.metadata().is_ok_and(|metadata| metadata.is_file());
        let kept = self.pipes.as_mut().filter(|_| is_pipe).map(|pipes| &mut pipes.others);
        let bytes = match kept {
            None => bytes(&name, file)?,
            Some(kept) => match kept.get(path) {
                Some(bytes) => bytes.clone(),
                None => kept.entry(path.to_owned()).or_insert(bytes(&name, file)?).clone(),
            },
        };
        let text = self.input.sources.add_bytes(purpose, name, bytes);
        self.input.files.insert(text, path.to_owned());
        self.seen.insert(identity, text);
        Ok(text)
    }

    /// Reads what says of a file that was named alone, by a hook for instance, that it is a patch: a kustomization in
    /// its directory or the one above.
    fn kustomizations_above(&mut self, path: &Path) -> Result<(), InputError> {
        for folder in path.ancestors().skip(1).take(2) {
            for name in KUSTOMIZATIONS {
                let file = folder.join(name);
                if file.is_file() {
                    self.file(Purpose::Input, &walk::tidy(&file))?;
                }
            }
        }
        Ok(())
    }

    /// Standard input, since nothing was named. Nobody types a manifest.
    fn stdin_unless_terminal(&mut self, purpose: Purpose) -> Result<(), InputError> {
        if io::stdin().is_terminal() { Err(InputError::Terminal) } else { self.stdin(purpose) }
    }

    fn stdin(&mut self, purpose: Purpose) -> Result<(), InputError> {
        match self.stdin_read {
            Some(before) if before != purpose => return Err(InputError::StdinTwice),
            Some(_) => {}
            None => {
                self.stdin_read = Some(purpose);
                let bytes = match self.pipes.as_mut().map(|pipes| &mut pipes.stdin) {
                    None => bytes(STDIN, io::stdin().lock())?,
                    Some(Some(kept)) => kept.clone(),
                    Some(empty) => empty.insert(bytes(STDIN, io::stdin().lock())?).clone(),
                };
                let id = self.input.sources.add_bytes(purpose, STDIN, bytes);
                self.input.stdin = Some(id).filter(|_| purpose == Purpose::Input);
            }
        }
        Ok(())
    }
}

fn bytes(name: &str, reader: impl Read) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| InputError::Read(name.to_owned(), error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        let is_foreign = !pipeline::may_hold_input(&String::from_utf8_lossy(&bytes));
        return Err(InputError::TooLarge { name: name.to_owned(), is_foreign });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags are data: what a user types cannot become another option.
    #[test]
    fn flags_are_one_render_document() {
        let crd_version = vec![Assignment { provider: "dynamo\"\nstrict: true".into(), version: "v\u{7}\"".into() }];
        let args = InputArgs { crd_version, ..InputArgs::default() };
        let text = flags(&args, Map::new()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"apiVersion": "config.kubefoundry.ai/v1alpha1", "kind": "Render",
                   "crdVersions": {"dynamo\"\nstrict: true": "v\u{7}\""}})
        );
    }

    #[test]
    fn without_flags_nothing_is_said() {
        assert_eq!(flags(&InputArgs::default(), Map::new()), None);
    }

    /// The limit is on what is read, so an endless input ends.
    #[test]
    fn endless_input_is_refused() {
        assert!(matches!(bytes("zero", io::repeat(b' ')), Err(InputError::TooLarge { .. })));
    }
}
