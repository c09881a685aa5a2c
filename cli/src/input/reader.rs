//! Reads files, pipes and standard input, each once for a purpose.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceId};

use super::files::Files;
use super::git::Tree;
use super::walk::{self, Walker};
use super::{Input, InputError, KnownBuilds, MAX_BYTES, Pipes, STDIN};

/// Returns whether a file that is read for a purpose may also be input, where it is an object like others.
pub(super) fn is_apart(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::ClusterNodes | Purpose::ClusterSnapshot | Purpose::Crds | Purpose::ModelConfig | Purpose::Origin
    )
}

/// Collects texts. Each file is read only once for a purpose.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) input: Input,
    /// The files that were read. Dumps of a cluster are keyed by purpose, because such a file can also be
    /// input.
    pub(super) seen: BTreeMap<(Option<Purpose>, PathBuf), SourceId>,
    /// The purpose for which standard input was read.
    pub(super) stdin_purpose: Option<Purpose>,
    /// The canonical paths of directories whose files were read.
    pub(super) directories: BTreeMap<PathBuf, PathBuf>,
    /// If set, files outside of this directory are rejected.
    pub(super) root: Option<PathBuf>,
    /// Where the paths of the input are read from.
    pub(super) files: Files,
    /// The revision that judges: what decides about findings is read from it if it has the file.
    pub(super) base: Option<Rc<Tree>>,
    /// The revision from which a file of `--config` is read if it has the file.
    pub(super) config_base: Option<Rc<Tree>>,
    /// Whether it is reported that a file of `--config` can be changed by the authors of the input.
    pub(super) notes_config: bool,
    /// If set, what became of kustomizations the last time, and is kept for the next reader.
    pub(super) builds: Option<KnownBuilds>,
    /// If set, pipes and standard input are kept here for the next reader.
    pub(super) pipes: Option<Pipes>,
    /// The `config.json` files that each text with options names.
    pub(super) model_configs: Vec<(SourceId, SourceId)>,
}

impl Reader {
    /// Records a file of a directory that cannot be read. A large file without any of our API groups is data, not a
    /// manifest.
    pub(super) fn record_unread(&mut self, error: InputError) {
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
    pub(super) fn read_input_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
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
    pub(super) fn read_from_base(
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
    pub(super) fn read_regular_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(InputError::NotRegular(path.display().to_string()));
        }
        self.read_file(purpose, path)
    }

    pub(super) fn read_path_or_stdin(&mut self, purpose: Purpose, path: &Path) -> Result<(), InputError> {
        if path.as_os_str() == "-" { self.read_stdin(purpose) } else { self.read_path(purpose, path).map(drop) }
    }

    /// Reads a file, or the files of a directory. Returns their texts.
    pub(super) fn read_path(&mut self, purpose: Purpose, path: &Path) -> Result<Vec<SourceId>, InputError> {
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
    pub(super) fn read_crd_directory(&mut self, path: &Path) -> Result<(), InputError> {
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

    pub(super) fn read_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
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
    pub(super) fn identify(&mut self, path: &Path) -> PathBuf {
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
    pub(super) fn read_stdin_unless_terminal(&mut self, purpose: Purpose) -> Result<(), InputError> {
        if io::stdin().is_terminal() { Err(InputError::Terminal) } else { self.read_stdin(purpose) }
    }

    pub(super) fn read_stdin(&mut self, purpose: Purpose) -> Result<(), InputError> {
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

/// Reads up to [`MAX_BYTES`]; more is an error. `size` is the expected number of bytes, or 0 if it is not known.
pub(super) fn read_limited(name: &str, reader: impl Read, size: u64) -> Result<Vec<u8>, InputError> {
    // One byte more than expected, so that the end is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(MAX_BYTES) + 1).unwrap_or(0));
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| InputError::Read(name.to_owned(), error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        let is_foreign = !BUILTIN.may_hold_input(&String::from_utf8_lossy(&bytes));
        return Err(InputError::TooLarge { name: name.to_owned(), is_foreign });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit applies while reading, so that endless input is rejected.
    #[test]
    fn rejects_endless_input() {
        assert!(matches!(read_limited("zero", io::repeat(b' '), 0), Err(InputError::TooLarge { .. })));
    }
}
