//! `cargo xtask packages`: what the packages of a release say about themselves. Every format has the name, version and
//! description of `cli/Cargo.toml`; `.ci/package` builds the files.

mod archive;
mod checksums;
mod description;
mod homebrew;
mod krew;
mod nfpm;
mod provenance;

use std::fs;
use std::path::Path;

use crate::Failure;
use archive::Archive;
use description::Description;
use kubefoundry_yaml::append_line;

const EXPECTED: &str = "expected `cargo xtask packages labels --commit COMMIT`, `… nfpm FOLDER --architecture NAME --time \
                        TIME` or `… describe FOLDER --commit COMMIT --builder URI [--tag TAG] [--parameter NAME=VALUE]…`";

pub(super) fn run(arguments: &[&str]) -> Result<String, Failure> {
    let expected = || Failure::Broken(EXPECTED.to_owned());
    let description = description::read()?;
    match arguments {
        ["labels", "--commit", commit] => Ok(labels(&description, commit)),
        ["nfpm", folder, "--architecture", architecture, "--time", time] => {
            nfpm::configuration(&description, Path::new(folder), architecture, time)
        }
        ["describe", folder, "--commit", commit, "--builder", builder, rest @ ..] => {
            let (tag, parameters) = match rest {
                ["--tag", tag, parameters @ ..] => (Some(*tag), parameters),
                parameters => (None, parameters),
            };
            let parameters = pairs(parameters).ok_or_else(expected)?;
            let origin = provenance::Origin { commit, tag, builder, parameters };
            describe(&description, Path::new(folder), &origin)
        }
        _ => Err(expected()),
    }
}

/// Reads `--parameter NAME=VALUE`, any number of times.
fn pairs<'a>(arguments: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
    let chunks = arguments.chunks(2).map(|chunk| match chunk {
        ["--parameter", pair] => pair.split_once('='),
        _ => None,
    });
    chunks.collect()
}

/// The labels of the images, one `NAME=VALUE` on each line.
fn labels(description: &Description, commit: &str) -> String {
    let labels = [
        ("title", description.name.as_str()),
        ("description", &description.summary),
        ("version", &description.version),
        ("licenses", &description.license),
        ("source", &description.repository),
        ("url", &description.repository),
        ("revision", commit),
        ("vendor", &description.maintainer),
    ];
    labels.iter().fold(String::new(), |mut lines, (name, value)| {
        append_line!(lines, "org.opencontainers.image.{name}={value}");
        lines
    })
}

/// Writes the manifest for krew and the formula for Homebrew, both of which name the archives in a folder, and then the
/// provenance and the checksums of everything there.
fn describe(description: &Description, folder: &Path, origin: &provenance::Origin<'_>) -> Result<String, Failure> {
    let archives = archive::find(folder, description)?;
    if archives.is_empty() {
        return Err(Failure::Broken(format!("{}: no archive of version {}", folder.display(), description.version)));
    }
    let written = [
        (format!("{}.krew.yaml", description.name), krew::manifest(description, &archives)),
        (format!("{}.rb", description.name), homebrew::formula(description, &archives)),
    ];
    for (name, text) in written {
        write(&folder.join(name), &text)?;
    }
    let files = checksums::digests(folder)?;
    let statement = provenance::statement(description, &files, &checksums::images(folder)?, origin)?;
    write(&folder.join(provenance::file_name(description)), &statement)?;
    write(&folder.join(checksums::FILE), &checksums::lines(&checksums::digests(folder)?))?;
    Ok(format!("{} archives, {} other files: described in {}\n", archives.len(), files.len(), folder.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Broken(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
