//! `llamastack validate-provider`: packages of providers, before they are in an image.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubefoundry_llamastack::package::{self, Contents, MetadataError, Package, Wheel};

use super::super::CommandError;
use crate::args::ValidateProviderArgs;
use crate::console;
use crate::exit::ExitStatus;
use crate::style;

/// A package could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LlamaStackError {
    #[error("--platform: {0}")]
    Platform(String),
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
}

/// What was found, as lines: `PATH: error: ...`.
struct Report {
    lines: Vec<String>,
    errors: usize,
}

impl Report {
    fn error(&mut self, place: &str, message: &str) {
        self.errors += 1;
        self.lines.push(format!("{place}: error: {message}"));
    }
}

pub(super) fn run(args: &ValidateProviderArgs) -> Result<ExitStatus, CommandError> {
    if let Some(platform) = &args.platform {
        package::check_platform(&[], platform).map_err(LlamaStackError::Platform)?;
    }
    let mut report = Report { lines: Vec::new(), errors: 0 };
    let mut packages = Vec::new();
    for path in &args.paths {
        packages.push(check(path, args.platform.as_deref(), &mut report)?);
    }
    for conflict in package::conflicts(&packages) {
        report.errors += 1;
        report.lines.push(format!("error: dependency conflict: {conflict}"));
    }
    let lines =
        report.lines.iter().flat_map(|text| text.lines().map(|line| style::printable(line).into_owned() + "\n"));
    console::print(lines)?;
    Ok(if report.errors > 0 { ExitStatus::Findings } else { ExitStatus::Success })
}

fn check(path: &Path, platform: Option<&str>, report: &mut Report) -> Result<Package, LlamaStackError> {
    let name = path.display().to_string();
    let is_directory =
        fs::metadata(path).map_err(|source| LlamaStackError::Read { path: path.into(), source })?.is_dir();
    let file = if is_directory { path.join(package::FILE) } else { path.to_owned() };
    let place = file.display().to_string();
    let before = report.errors;
    let metadata = match fs::read_to_string(&file) {
        Ok(text) => package::read(&text),
        Err(error) => Err(MetadataError::Unreadable(error.to_string())),
    };
    let metadata = match metadata {
        Ok(read) => {
            report.lines.extend(read.warnings.iter().map(|warning| format!("{place}: warning: {warning}")));
            Some(read.package)
        }
        Err(MetadataError::Invalid(all)) => {
            // Each on a line of its own, in the words of the one that stands alone.
            for error in all {
                report.error(&place, &MetadataError::Invalid(vec![error]).to_string());
            }
            None
        }
        Err(error) => {
            report.error(&place, &error.to_string());
            None
        }
    };
    let mut wheels = Vec::new();
    if is_directory {
        let contents = contents(path, metadata.as_ref())?;
        let (found, errors) = contents.wheels();
        let missing = metadata.as_ref().map_or(Vec::new(), |metadata| package::check(metadata, &contents));
        let unfit = platform.map_or(Vec::new(), |platform| unfit(&found, platform));
        for error in errors.iter().chain(&missing).chain(&unfit) {
            report.error(&name, error);
        }
        wheels = found;
    }
    if let Some(metadata) = metadata.filter(|_| report.errors == before) {
        let wheels = if is_directory { format!(", {}", style::count(wheels.len(), "wheel")) } else { String::new() };
        let package::ProviderPackage { name: package, version, provider_type, api, .. } = metadata;
        report.lines.push(format!("{name}: ok: {package} {version}, {provider_type} for {api}{wheels}"));
    }
    Ok(Package { name, wheels })
}

fn unfit(wheels: &[Wheel], platform: &str) -> Vec<String> {
    // The platform was looked up before.
    package::check_platform(wheels, platform).unwrap_or_default()
}

/// The files that count: those of `packages`, and those that the metadata names.
fn contents(directory: &Path, metadata: Option<&package::ProviderPackage>) -> Result<Contents, LlamaStackError> {
    let packages = directory.join("packages");
    let failed = |source| LlamaStackError::Read { path: packages.clone(), source };
    let mut contents = Contents { has_packages: packages.is_dir(), files: Vec::new() };
    if contents.has_packages {
        for entry in fs::read_dir(&packages).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().is_file() {
                contents.files.push(format!("packages/{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    let named = metadata.into_iter().flat_map(|it| std::iter::once(&it.wheel_path).chain(&it.dependency_wheels));
    for path in named.filter_map(|path| Contents::relative(path)) {
        if directory.join(&path).is_file() && !contents.files.contains(&path) {
            contents.files.push(path);
        }
    }
    contents.files.sort();
    Ok(contents)
}
