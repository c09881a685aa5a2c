//! Reads files, pipes and standard input, each once for a purpose.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};

use super::error::InputError;
use super::files::{Files, read_limited};
use super::kustomize::{KnownBuilds, Origins};
use super::revision::Tree;
use super::walk::{self, Walker};

/// The name of standard input in findings.
const STDIN: &str = "<stdin>";

/// The input of a command.
#[derive(Debug, Default)]
pub struct Input {
    /// The texts.
    pub sources: SourceSet,
    /// The paths of the texts that are files.
    pub files: BTreeMap<SourceId, PathBuf>,
    /// The text from standard input, if it was read as input.
    pub stdin: Option<SourceId>,
    /// Errors for files in directories that could not be read. The other files are checked all the same.
    pub unread: Vec<InputError>,
    /// Notes for the user, one line each, for standard error.
    pub notes: Vec<String>,
    /// The path of each `--providers` with its texts.
    pub providers: Vec<(PathBuf, Vec<SourceId>)>,
    /// The files from which kustomize built texts.
    pub origins: Origins,
    /// Findings about what was not read or not built, with their environments.
    pub findings: Vec<(Option<String>, Diagnostic)>,
}

/// The content of standard input and pipes (`<(command)`), which can be read only once but are part of both sides of a
/// plan.
#[derive(Debug, Default)]
pub struct Pipes {
    stdin: Option<Vec<u8>>,
    others: BTreeMap<PathBuf, Vec<u8>>,
}

/// Returns whether a file that is read for a purpose may also be input, where it is an object like others.
pub(crate) fn is_apart(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::ClusterNodes | Purpose::ClusterSnapshot | Purpose::Crds | Purpose::ModelConfig | Purpose::Origin
    )
}

/// Collects texts. Each file is read only once for a purpose.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) input: Input,
    /// The files that were read. Dumps of a cluster are keyed by purpose, because such a file can also be
    /// input.
    pub(crate) seen: BTreeMap<(Option<Purpose>, PathBuf), SourceId>,
    /// The purpose for which standard input was read.
    pub(crate) stdin_purpose: Option<Purpose>,
    /// The canonical paths of directories whose files were read.
    pub(crate) directories: BTreeMap<PathBuf, PathBuf>,
    /// If set, files outside of this directory are rejected.
    pub(crate) root: Option<PathBuf>,
    /// Where the paths of the input are read from.
    pub(crate) files: Files,
    /// The revision that judges: what decides about findings is read from it if it has the file.
    pub(crate) base: Option<Rc<Tree>>,
    /// The revision from which a file of `--config` is read if it has the file.
    pub(crate) config_base: Option<Rc<Tree>>,
    /// Whether it is reported that a file of `--config` can be changed by the authors of the input.
    pub(crate) notes_config: bool,
    /// If set, what became of kustomizations the last time, and is kept for the next reader.
    pub(crate) builds: Option<KnownBuilds>,
    /// If set, pipes and standard input are kept here for the next reader.
    pub(crate) pipes: Option<Pipes>,
    /// The `config.json` files that each text with options names.
    pub(crate) model_configs: Vec<(SourceId, SourceId)>,
}

impl Reader {
    /// Records a file of a directory that cannot be read. A large file without any of our API groups is data, not a
    /// manifest.
    pub(crate) fn record_unread(&mut self, error: InputError) {
        match error {
            InputError::TooLarge { is_foreign: true, .. }
            | InputError::DanglingLink(_)
            | InputError::LinkOutside(_) => {
                self.input.notes.push(format!("{error}; skipped"));
            }
            error => self.input.unread.push(error),
        }
    }

    /// Reads a file of the input, from the revision if there is one.
    pub(crate) fn read_input_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        let Some(tree) = self.files.revision() else { return self.read_file(purpose, path) };
        let identity = tree.link_target(path).unwrap_or(path).to_owned();
        let key = (Some(purpose).filter(|it| is_apart(*it)), identity);
        if let Some(text) = self.seen.get(&key) {
            return Ok(*text);
        }
        let name = path.display().to_string();
        let Some(bytes) = tree.file(path)? else {
            return Err(InputError::Read(name, io::ErrorKind::NotFound.into()));
        };
        let text = self.input.sources.add_bytes(purpose, name, bytes.to_vec());
        self.seen.insert(key, text);
        Ok(text)
    }

    /// Reads a file that decides about findings from a revision, if there is one that has it.
    pub(crate) fn read_from_base(
        &mut self,
        purpose: Purpose,
        path: &Path,
        base: Option<Rc<Tree>>,
    ) -> Result<Option<SourceId>, InputError> {
        let Some(base) = base.filter(|base| base.is_file(path)) else { return Ok(None) };
        let Some(bytes) = base.file(path)? else { return Ok(None) };
        let name = path.display().to_string();
        let key = (Some(purpose), Path::new("<base>").join(path));
        if let Some(text) = self.seen.get(&key) {
            return Ok(Some(*text));
        }
        if self.files.differs_from(&base, path)? {
            self.input.notes.push(format!(
                "{name}: read from {}; what the change does to it does not apply to this run",
                base.revision.name
            ));
        }
        let text = self.input.sources.add_bytes(purpose, name, bytes.to_vec());
        self.seen.insert(key, text);
        Ok(Some(text))
    }

    /// Reads a file that options name. It must be a regular file: opening a pipe could wait forever.
    pub(crate) fn read_regular_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(InputError::NotRegular(path.display().to_string()));
        }
        self.read_file(purpose, path)
    }

    pub(crate) fn read_path_or_stdin(&mut self, purpose: Purpose, path: &Path) -> Result<(), InputError> {
        if path.as_os_str() == "-" { self.read_stdin(purpose) } else { self.read_path(purpose, path).map(drop) }
    }

    /// Reads a file, or the files of a directory. Returns their texts.
    pub(crate) fn read_path(&mut self, purpose: Purpose, path: &Path) -> Result<Vec<SourceId>, InputError> {
        if !path.is_dir() {
            return self.read_file(purpose, path).map(|text| vec![text]);
        }
        let mut texts = Vec::new();
        let files = match &self.files {
            Files::Disk(_, walker) => walker.find_manifests(path),
            // These are read from the file system all the same.
            Files::Revision(_) => Walker::default().find_manifests(path),
        };
        if files.is_empty() {
            self.input.notes.push(walk::describe_empty(path));
        }
        for file in files {
            match file.and_then(|file| self.read_file(purpose, &file)) {
                Ok(text) => texts.push(text),
                Err(error @ InputError::TooLarge { is_foreign: true, .. })
                    if matches!(purpose, Purpose::ClusterNodes | Purpose::ClusterSnapshot) =>
                {
                    self.input.unread.push(error);
                }
                Err(error) => self.record_unread(error),
            }
        }
        Ok(texts)
    }

    /// Reads the CRDs in a directory. A directory without files is an error, because nothing would be checked.
    pub(crate) fn read_crd_directory(&mut self, path: &Path) -> Result<(), InputError> {
        let unread = self.input.unread.len();
        let texts = self.read_path(Purpose::Crds, path)?;
        if texts.is_empty() && self.input.unread.len() == unread {
            return Err(InputError::NoCrds(path.display().to_string()));
        }
        for text in texts {
            self.input.sources.set_directory(text, path.display().to_string());
        }
        Ok(())
    }

    pub(crate) fn read_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| InputError::Read(name.clone(), error))?;
        let identity = self.identify(path);
        if self.root.as_ref().is_some_and(|directory| !identity.starts_with(directory)) {
            return Err(InputError::Outside(name));
        }
        // The input directory may contain the CRDs, too: there they are objects like others.
        let identity = (Some(purpose).filter(|it| is_apart(*it)), identity);
        if let Some(text) = self.seen.get(&identity) {
            return Ok(*text);
        }
        // A pipe is empty when it is opened a second time, so its content is kept.
        let size = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
        let cache = self.pipes.as_mut().filter(|_| size.is_none()).map(|pipes| &mut pipes.others);
        let size = size.unwrap_or_default();
        let bytes = match cache {
            None => read_limited(&name, file, size)?,
            Some(cache) => match cache.get(path) {
                Some(bytes) => bytes.clone(),
                None => cache.entry(path.to_owned()).or_insert(read_limited(&name, file, size)?).clone(),
            },
        };
        let text = self.input.sources.add_bytes(purpose, name, bytes);
        self.input.files.insert(text, path.to_owned());
        self.seen.insert(identity, text);
        Ok(text)
    }

    /// Returns the canonical path of a file, or the path as given for a pipe (`<(command)`), which has none. That of a
    /// directory is looked up only once, because a system call for each part of the path of each file is slower than
    /// reading the file.
    pub(crate) fn identify(&mut self, path: &Path) -> PathBuf {
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        let is_link = || path.symlink_metadata().map_or(true, |metadata| metadata.is_symlink());
        let (Some(parent), Some(name), false) = (parent, path.file_name(), is_link()) else {
            return path.canonicalize().unwrap_or_else(|_| path.to_owned());
        };
        if let Some(directory) = self.directories.get(parent) {
            return directory.join(name);
        }
        match parent.canonicalize() {
            Ok(directory) => self.directories.entry(parent.to_owned()).or_insert(directory).join(name),
            Err(_) => path.to_owned(),
        }
    }

    /// Reads standard input if no path was given. A terminal is an error, because the command would seem to hang.
    pub(crate) fn read_stdin_unless_terminal(&mut self, purpose: Purpose) -> Result<(), InputError> {
        if io::stdin().is_terminal() { Err(InputError::Terminal) } else { self.read_stdin(purpose) }
    }

    pub(crate) fn read_stdin(&mut self, purpose: Purpose) -> Result<(), InputError> {
        match self.stdin_purpose {
            Some(before) if before != purpose => return Err(InputError::StdinTwice),
            Some(_) => {}
            None => {
                self.stdin_purpose = Some(purpose);
                let bytes = match self.pipes.as_mut().map(|pipes| &mut pipes.stdin) {
                    None => read_limited(STDIN, io::stdin().lock(), 0)?,
                    Some(Some(bytes)) => bytes.clone(),
                    Some(empty) => empty.insert(read_limited(STDIN, io::stdin().lock(), 0)?).clone(),
                };
                let id = self.input.sources.add_bytes(purpose, STDIN, bytes);
                self.input.stdin = Some(id).filter(|_| purpose == Purpose::Input);
            }
        }
        Ok(())
    }
}
