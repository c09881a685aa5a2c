//! `llamastack validate-provider`: checks provider packages before they are built into an image.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubefoundry_llamastack::package::{self, Bundled, Contents, MetadataError, Package, Wheel};

use super::wheel_archive;
use crate::args::ValidateProviderArgs;
use crate::console;
use crate::exit::ExitStatus;
use crate::run::CommandError;
use crate::style;

/// Reasons why a package cannot be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LlamaStackError {
    #[error("--platform: {0}")]
    Platform(String),
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
}

/// The lines of the report: `PATH: error: ...`.
struct ValidationReport {
    lines: Vec<String>,
    errors: usize,
}

impl ValidationReport {
    fn add_error(&mut self, place: &str, message: &str) {
        self.errors += 1;
        self.lines.push(format!("{place}: error: {message}"));
    }
}

pub(super) fn run(args: &ValidateProviderArgs) -> Result<ExitStatus, CommandError> {
    if let Some(platform) = &args.platform {
        package::check_platform(&[], platform).map_err(LlamaStackError::Platform)?;
    }
    let mut report = ValidationReport { lines: Vec::new(), errors: 0 };
    let mut packages = Vec::new();
    for path in &args.paths {
        packages.push(check_package(path, args.platform.as_deref(), &mut report)?);
    }
    for conflict in package::conflicts(&packages) {
        report.errors += 1;
        report.lines.push(format!("error: dependency conflict: {conflict}"));
    }
    let lines = report
        .lines
        .iter()
        .flat_map(|text| text.lines().map(|line| kubefoundry_yaml::text::printable(line).into_owned() + "\n"));
    console::print(lines)?;
    Ok(if report.errors > 0 { ExitStatus::Findings } else { ExitStatus::Success })
}

fn check_package(
    path: &Path,
    platform: Option<&str>,
    report: &mut ValidationReport,
) -> Result<Package, LlamaStackError> {
    let name = path.display().to_string();
    let is_directory =
        fs::metadata(path).map_err(|source| LlamaStackError::Read { path: path.into(), source })?.is_dir();
    let file = if is_directory { path.join(package::FILE) } else { path.to_owned() };
    let place = file.display().to_string();
    let errors_before = report.errors;
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
            // Print each error on its own line, with the same text as for a single error.
            for error in all {
                report.add_error(&place, &MetadataError::Invalid(vec![error]).to_string());
            }
            None
        }
        Err(error) => {
            report.add_error(&place, &error.to_string());
            None
        }
    };
    let main = metadata.as_ref().and_then(|metadata| wheel_name(&metadata.wheel_path));
    let mut package = Package { name: name.clone(), main, wheels: Vec::new() };
    if is_directory {
        let contents = list_contents(path, metadata.as_ref())?;
        let (parsed_wheels, errors) = contents.wheels();
        let missing = metadata.as_ref().map_or(Vec::new(), |metadata| package::check(metadata, &contents));
        let incompatible = platform.map_or(Vec::new(), |platform| find_incompatible_wheels(&parsed_wheels, platform));
        let module = metadata.as_ref().map(package::provider_module);
        let (mut broken, mut function) = (Vec::new(), None);
        for wheel in parsed_wheels {
            match wheel_archive::open(&path.join("packages").join(wheel.file()), &wheel, module.as_deref()) {
                Ok(summary) => {
                    function = function.or(summary.has_function);
                    package.wheels.push(Bundled { wheel, requirements: summary.requirements });
                }
                Err(problem) => broken.push(problem),
            }
        }
        // A wheel that cannot be read may have what the others lack.
        if errors.is_empty() && missing.is_empty() && broken.is_empty() {
            broken.extend(
                module.filter(|_| function != Some(true)).map(|module| describe_missing_function(&module, function)),
            );
            broken.extend(package.problems());
        }
        for error in errors.iter().chain(&missing).chain(&broken).chain(&incompatible) {
            report.add_error(&name, error);
        }
    }
    if let Some(metadata) = metadata.filter(|_| report.errors == errors_before) {
        let wheels =
            if is_directory { format!(", {}", style::count(package.wheels.len(), "wheel")) } else { String::new() };
        let package::ProviderPackage { name: package, version, provider_type, api, .. } = metadata;
        report.lines.push(format!("{name}: ok: {package} {version}, {provider_type} for {api}{wheels}"));
    }
    Ok(package)
}

/// Returns the name of a wheel at a path.
fn wheel_name(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    Wheel::parse(file).ok().map(|wheel| wheel.name().to_owned())
}

/// Says that llama-stack would not find the function that it calls, in the module or without a module.
fn describe_missing_function(module: &str, function: Option<bool>) -> String {
    let what = match function {
        None => format!("no wheel has {module}.py"),
        Some(_) => format!("{module}.py has no get_provider_spec"),
    };
    format!("spec.packageName: {what}: llama-stack calls get_provider_spec() in {}", module.replace('/', "."))
}

/// Returns an error for each wheel that does not support the platform.
fn find_incompatible_wheels(wheels: &[Wheel], platform: &str) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "`run` has refused an unknown platform")]
    package::check_platform(wheels, platform).unwrap_or_default()
}

/// Lists the files in `packages/` and the existing files that the metadata names.
fn list_contents(directory: &Path, metadata: Option<&package::ProviderPackage>) -> Result<Contents, LlamaStackError> {
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
