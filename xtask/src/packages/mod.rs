//! `cargo xtask packages`: what the packages of a release say about themselves. Every format has the name, version and
//! description of `cli/Cargo.toml`; `.ci/package` builds the files.

mod archive;
mod checksums;
mod description;
mod homebrew;
mod krew;
mod nfpm;
mod provenance;

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::files::write;
use archive::Archive;
use description::Description;
use kubefoundry_yaml::append_line;
use provenance::Origin;

/// What the packages of a release say about themselves.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Part {
    /// Print the labels of an image
    Labels {
        /// The commit that is built
        #[arg(long)]
        commit: String,
    },
    /// Print the configuration with which nfpm packs the files of an unpacked archive for Debian and RPM
    Nfpm {
        /// The folder with the files
        folder: PathBuf,
        /// The name of the architecture
        #[arg(long, value_name = "NAME")]
        architecture: String,
        /// The time of the files
        #[arg(long)]
        time: String,
    },
    /// Write what belongs to the packages in a folder: the krew manifest, the formula for Homebrew, the provenance
    /// (in-toto, SLSA) and SHA256SUMS
    Describe {
        /// The folder with the packages
        folder: PathBuf,
        #[command(flatten)]
        origin: Origin,
    },
}

pub(super) fn run(part: &Part) -> Result<String, Failure> {
    let description = description::read()?;
    match part {
        Part::Labels { commit } => Ok(labels(&description, commit)),
        Part::Nfpm { folder, architecture, time } => nfpm::configuration(&description, folder, architecture, time),
        Part::Describe { folder, origin } => describe(&description, folder, origin),
    }
}

/// Reads `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
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
fn describe(description: &Description, folder: &Path, origin: &Origin) -> Result<String, Failure> {
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

#[cfg(test)]
mod tests;
