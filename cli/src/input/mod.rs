//! Paths and flags to the texts that the library takes.
//!
//! Options come first, from the weakest to the strongest: `kubefoundry.yaml`, `--config`, the flags. Then the input in
//! the order in which it was named, then what `--providers` adds.

mod walk;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use kubefoundry::{Purpose, SourceSet};
use serde_json::{Map, Value, json};

use crate::args::{Assignment, InputArgs};

/// The file with options that a directory may have.
const OPTIONS_FILE: &str = "kubefoundry.yaml";

/// What the options from flags are called in findings.
const COMMAND_LINE: &str = "<command line>";

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
    #[error("{0}: line {1} is not UTF-8")]
    NotUtf8(String, usize),
    #[error("{0}: larger than {limit} MiB", limit = MAX_BYTES / (1024 * 1024))]
    TooLarge(String),
    #[error("no PATH is given, and standard input is a terminal; name a file or a directory, or pipe manifests in")]
    Terminal,
}

/// Reads everything that the arguments name. `options` are options that a command sets on its own.
pub(crate) fn read(args: &InputArgs, options: Map<String, Value>) -> Result<SourceSet, InputError> {
    let mut reader = Reader::default();
    if let [directory] = args.paths.as_slice()
        && directory.is_dir()
        && directory.join(OPTIONS_FILE).is_file()
    {
        reader.file(Purpose::Options, &walk::tidy(&directory.join(OPTIONS_FILE)))?;
    }
    if let Some(file) = &args.config {
        reader.file(Purpose::Options, file)?;
    }
    if let Some(render) = flags(args, options) {
        reader.sources.add_for(Purpose::Options, COMMAND_LINE, render);
    }
    if args.paths.is_empty() {
        if io::stdin().is_terminal() {
            return Err(InputError::Terminal);
        }
        reader.stdin()?;
    }
    for path in &args.paths {
        if path.as_os_str() == "-" { reader.stdin()? } else { reader.path(Purpose::Input, path)? }
    }
    for path in &args.providers {
        reader.path(Purpose::Providers, path)?;
    }
    Ok(reader.sources)
}

/// The flags as a `Render` document, when there is anything to say.
fn flags(args: &InputArgs, mut options: Map<String, Value>) -> Option<String> {
    let by_provider = |assignments: &[Assignment]| -> Map<String, Value> {
        assignments.iter().map(|said| (said.provider.clone(), Value::from(said.version.as_str()))).collect()
    };
    for (field, assignments) in [("targets", &args.target), ("runtimes", &args.runtime)] {
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
    let mut render = json!({"apiVersion": kubefoundry::wire::RENDER_API_VERSION, "kind": "Render"});
    render.as_object_mut()?.append(&mut options);
    Some(format!("{render:#}\n"))
}

/// Collects texts, each file once.
#[derive(Default)]
struct Reader {
    sources: SourceSet,
    seen: BTreeSet<PathBuf>,
    stdin_read: bool,
}

impl Reader {
    fn path(&mut self, purpose: Purpose, path: &Path) -> Result<(), InputError> {
        if !path.is_dir() {
            return self.file(purpose, path);
        }
        for file in walk::files(path)? {
            self.file(purpose, &file)?;
        }
        Ok(())
    }

    fn file(&mut self, purpose: Purpose, path: &Path) -> Result<(), InputError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| InputError::Read(name.clone(), error))?;
        // A pipe (`<(command)`) has no real path; its own does as well.
        let identity = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(identity) {
            return Ok(());
        }
        let text = text(&name, file)?;
        self.sources.add_for(purpose, name, text);
        Ok(())
    }

    fn stdin(&mut self) -> Result<(), InputError> {
        if !self.stdin_read {
            self.stdin_read = true;
            let text = text(STDIN, io::stdin().lock())?;
            self.sources.add(STDIN, text);
        }
        Ok(())
    }
}

fn text(name: &str, reader: impl Read) -> Result<String, InputError> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| InputError::Read(name.to_owned(), error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(InputError::TooLarge(name.to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(good).filter(|byte| **byte == b'\n').count() + 1;
        InputError::NotUtf8(name.to_owned(), line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags are data: what a user types cannot become another option.
    #[test]
    fn flags_are_one_render_document() {
        let target = vec![Assignment { provider: "dynamo\"\nstrict: true".into(), version: "v\u{7}\"".into() }];
        let args = InputArgs { target, ..InputArgs::default() };
        let text = flags(&args, Map::new()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"apiVersion": "config.kubefoundry.ai/v1alpha1", "kind": "Render",
                   "targets": {"dynamo\"\nstrict: true": "v\u{7}\""}})
        );
    }

    #[test]
    fn without_flags_nothing_is_said() {
        assert_eq!(flags(&InputArgs::default(), Map::new()), None);
    }

    /// The limit is on what is read, so an endless input ends.
    #[test]
    fn endless_input_is_refused() {
        assert!(matches!(text("zero", io::repeat(b' ')), Err(InputError::TooLarge(_))));
    }
}
