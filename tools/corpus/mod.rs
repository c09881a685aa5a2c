//! `cargo measure corpus N [--findings] [--out PATH]`: generates a fleet of ModelDeployments for measurements. With
//! `--foreign` it generates files that contain none.

mod documents;
mod findings;
mod foreign;

use std::fs;
use std::path::{Path, PathBuf};

use super::{Failure, broken};

pub(super) use documents::documents as quiet;
pub(super) use findings::documents as with_findings;

/// Returns a YAML stream of the documents with these numbers.
type Generator = fn(std::ops::Range<usize>) -> String;

/// The number of documents in each file of a folder. The command line reads files of at most 64 MiB.
const DOCUMENTS_PER_FILE: usize = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The number of documents, or of files with --foreign
    count: usize,
    /// Documents with 1.5 findings each instead of 0.2
    #[arg(long)]
    findings: bool,
    /// Files that contain no ModelDeployment, in a folder
    #[arg(long, requires = "out", conflicts_with = "findings")]
    foreign: bool,
    /// The file to write, or an existing folder for files of 10,000 documents
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

/// Writes the documents to a file, or to files of 10,000 in an existing folder. Without a path it returns them.
pub(super) fn run(options: &Options) -> Result<String, Failure> {
    let Options { count, findings, foreign, ref out } = *options;
    let generate: Generator = if findings { with_findings } else { quiet };
    let path = match out {
        Some(folder) if foreign => return write_foreign_files(count, folder),
        path => path.as_deref(),
    };
    let Some(path) = path else { return Ok(generate(0..count)) };
    if path.is_dir() {
        for start in (0..count).step_by(DOCUMENTS_PER_FILE) {
            let file = path.join(format!("corpus-{start:06}.yaml"));
            write(&file, &generate(start..count.min(start + DOCUMENTS_PER_FILE)))?;
        }
    } else {
        write(path, &generate(0..count))?;
    }
    Ok(format!("{}: {count} documents\n", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| broken(path, &error))
}

/// Writes files without a ModelDeployment to a folder.
pub(super) fn write_foreign_files(count: usize, folder: &Path) -> Result<String, Failure> {
    for number in 0..count {
        let (name, text) = foreign::file(number);
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Failure::Broken(format!("{}: {error}", parent.display())))?;
        }
        write(&path, &text)?;
    }
    Ok(format!("{}: {count} files\n", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_analysis::trace;
    use kubefoundry_compiler::{Thoroughness, compile};
    use kubefoundry_composition::BUILTIN;
    use kubefoundry_diagnostics::source::SourceSet;

    /// Each shape of document selects the provider that its generator names, and all of them are rendered.
    #[test]
    fn every_document_selects_its_provider() {
        let mut sources = SourceSet::default();
        sources.add("corpus.yaml", quiet(0..120));
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        assert!(!compilation.has_errors(), "{:?}", compilation.diagnostics);
        assert_eq!(compilation.decisions.len(), 120);
        let kinds = [("dynamo", false), ("dynamo", false), ("kaito", false), ("kaito", true), ("kuberay", true)];
        for (decision, (provider, explicit)) in compilation.decisions.iter().zip(kinds.iter().cycle()) {
            let selection = decision.selection.as_ref().unwrap();
            assert_eq!((selection.provider.as_deref(), selection.explicit), (Some(*provider), *explicit));
        }
    }

    /// Reports are a large part of a run, so a corpus without findings makes measurements look better than they are.
    #[test]
    fn two_documents_with_findings_have_three() {
        let mut sources = SourceSet::default();
        sources.add("corpus.yaml", with_findings(0..120));
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        assert!(!compilation.has_errors(), "{:?}", compilation.diagnostics);
        assert_eq!((compilation.decisions.len(), compilation.diagnostics.len()), (120, 180));
    }

    /// A corpus with fields that reach nothing would make measurements look better than they are.
    #[test]
    fn every_field_is_accounted_for() {
        let mut sources = SourceSet::default();
        sources.add("corpus.yaml", quiet(0..60));
        let traces = trace::trace(&BUILTIN, &sources);
        assert_eq!(traces.len(), 60);
        for trace in traces {
            assert!(trace.fields.len() > 10, "{trace:#?}");
            let silent: Vec<_> = trace.fields.iter().filter(|field| field.fate == trace::Fate::Nothing).collect();
            assert!(silent.is_empty(), "{}: {silent:#?}", trace.object);
        }
        let mut sources = SourceSet::default();
        sources.add("corpus.yaml", quiet(0..2000));
        let found = compile(&BUILTIN, &sources, Thoroughness::EveryRule).diagnostics;
        assert!(!found.iter().any(|found| found.code.name == "field-reaches-nothing"), "{found:#?}");
    }

    /// A measurement of skipped files needs files that are valid YAML and hold no document of kubefoundry.
    #[test]
    fn foreign_files_hold_no_document_of_kubefoundry() {
        for number in 0..250 {
            let (name, text) = foreign::file(number);
            assert!(!BUILTIN.may_hold_input(&text), "{name}");
            let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
            assert!(parsed.failure.is_none() && !parsed.documents.is_empty(), "{name}: {:?}", parsed.failure);
        }
    }

    #[test]
    fn the_same_number_gives_the_same_documents() {
        assert_eq!(quiet(0..7), quiet(0..7));
        assert_eq!(quiet(0..8), format!("{}---\n{}", quiet(0..7), quiet(7..8)));
    }
}
