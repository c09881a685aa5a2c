//! Opens the wheels of a provider package, and finds what `pip` would refuse in the init container.
//!
//! A wheel is a ZIP archive with a folder `NAME-VERSION.dist-info`
//! (<https://packaging.python.org/en/latest/specifications/binary-distribution-format/>). Only the list of members and
//! METADATA are read, through a buffer of fixed size, so the size of a wheel does not matter.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use kubefoundry_llamastack::package::{Requirement, Wheel};
use kubefoundry_yaml::text::one_line;
use rawzip::{CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};

/// The most members of a wheel. PyTorch, one of the largest, has 13,000.
const MAX_MEMBERS: usize = 200_000;

/// The most bytes that the members of a wheel may take when they are unpacked.
const MAX_UNPACKED_BYTES: u64 = 32 << 30;

/// The most bytes of METADATA, packed and unpacked.
const MAX_METADATA_BYTES: usize = 1 << 20;

/// The first bytes of a file that Git LFS left in place of the content.
const GIT_LFS_POINTER: &[u8] = b"version https://git-lfs";

/// The most bytes of the module in which `get_provider_spec` is searched.
const MAX_MODULE_BYTES: usize = 1 << 20;

/// What a wheel says of itself.
#[derive(Debug, Default)]
pub(super) struct WheelSummary {
    /// What it requires.
    pub(super) requirements: Vec<Requirement>,
    /// The module of the provider in it, and whether it can have the function that llama-stack calls. `None` if it is
    /// not in this wheel.
    pub(super) has_function: Option<bool>,
}

/// Opens a wheel. `module` is the path of the provider's module without its ending.
///
/// # Errors
/// Returns why it cannot be installed.
pub(super) fn open(path: &Path, wheel: &Wheel, module: Option<&str>) -> Result<WheelSummary, String> {
    read(path, wheel, module).map_err(|problem| format!("{}: {}", one_line(wheel.file()), one_line(&problem)))
}

fn read(path: &Path, wheel: &Wheel, module: Option<&str>) -> Result<WheelSummary, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    check_beginning(&mut file)?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(|error| format!("is not a ZIP archive: {error}"))?;
    let members = read_members(&archive, module, &mut buffer)?;
    let folder = members.dist_info(wheel)?;
    let path = format!("{folder}/METADATA");
    let metadata = members.metadata.ok_or_else(|| format!("has no file {path}"))?;
    let metadata = read_member(&archive, metadata, MAX_METADATA_BYTES)
        .map_err(|error| format!("{path} cannot be read: {error}"))?;
    let (name, version) = (metadata_field(&metadata, "Name"), metadata_field(&metadata, "Version"));
    let (Some(name), Some(version)) = (name, version) else {
        return Err(format!("{path} has no Name and Version"));
    };
    if !wheel.is_release(&name, &version) {
        return Err(format!("{path} is of {name} {version}, expected {} {}", wheel.name(), wheel.version()));
    }
    let requirements = metadata_fields(&metadata, "Requires-Dist").map(|line| Requirement::parse(&line));
    let requirements = requirements.collect::<Result<_, _>>().map_err(|error| format!("{path} {error}"))?;
    let has_function = members.module.map(|module| match module {
        // Only source code can be searched, and a star can import the function.
        ProviderModule::Source(member) => read_member(&archive, member, MAX_MODULE_BYTES)
            .map_or(true, |text| text.contains("get_provider_spec") || text.contains("import *")),
        ProviderModule::Other => true,
    });
    Ok(WheelSummary { requirements, has_function })
}

/// Finds the files that are most often in the place of a wheel.
fn check_beginning(file: &mut File) -> Result<(), String> {
    let mut beginning = Vec::new();
    let length = u64::try_from(GIT_LFS_POINTER.len()).unwrap_or(u64::MAX);
    file.take(length).read_to_end(&mut beginning).map_err(|error| error.to_string())?;
    if beginning.is_empty() {
        return Err("is empty, expected a ZIP archive".to_owned());
    }
    if beginning == GIT_LFS_POINTER {
        return Err("is a pointer of Git LFS, expected the wheel itself: run git lfs pull".to_owned());
    }
    Ok(())
}

/// What the list of members says about a wheel.
#[derive(Default)]
struct Members {
    /// The folders of metadata at the root.
    dist_info: BTreeSet<String>,
    /// Those of WHEEL, METADATA and RECORD that are in such a folder.
    files: BTreeSet<String>,
    metadata: Option<Member>,
    module: Option<ProviderModule>,
}

/// The module of the provider.
#[derive(Clone, Copy)]
enum ProviderModule {
    Source(Member),
    /// Compiled code.
    Other,
}

/// A member whose content can be read.
#[derive(Clone, Copy)]
struct Member {
    position: ZipArchiveEntryWayfinder,
    compression: CompressionMethod,
}

impl Members {
    /// Returns the folder of the metadata. `pip` requires exactly one, with these files in it.
    fn dist_info(&self, wheel: &Wheel) -> Result<&str, String> {
        let expected = format!("{}-{}.dist-info", wheel.name(), wheel.version());
        let mut folders = self.dist_info.iter();
        let folder = match (folders.next(), folders.next()) {
            (Some(folder), None) => folder,
            (None, _) => return Err(format!("has no folder {expected}")),
            (Some(one), Some(other)) => return Err(format!("has the folders {one} and {other}, expected one")),
        };
        let missing = ["METADATA", "RECORD", "WHEEL"].into_iter().find(|file| !self.files.contains(*file));
        missing.map_or(Ok(folder), |file| Err(format!("has no file {folder}/{file}")))
    }
}

fn read_members(archive: &ZipArchive<FileReader>, module: Option<&str>, buffer: &mut [u8]) -> Result<Members, String> {
    let mut members = Members::default();
    let (mut count, mut bytes) = (0, 0_u64);
    let mut entries = archive.entries(buffer);
    while let Some(entry) = entries.next_entry().map_err(|error| format!("has an invalid list of members: {error}"))? {
        count += 1;
        bytes = bytes.saturating_add(entry.uncompressed_size_hint());
        if count > MAX_MEMBERS {
            return Err(format!("has more than {MAX_MEMBERS} members"));
        }
        if bytes > MAX_UNPACKED_BYTES {
            return Err(format!("has members of more than {MAX_UNPACKED_BYTES} bytes when they are unpacked"));
        }
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        if name.starts_with('/') || name.contains(['\\', '\0']) || name.split('/').any(|part| part == "..") {
            return Err(format!("has the member {name:?}, expected a path below the root"));
        }
        let member = Member { position: entry.wayfinder(), compression: entry.compression_method() };
        match module.and_then(|module| name.strip_prefix(module)) {
            Some(".py" | "/__init__.py") => members.module = Some(ProviderModule::Source(member)),
            Some(rest) if rest.starts_with('.') && [".so", ".pyc"].iter().any(|ending| rest.ends_with(ending)) => {
                members.module = members.module.or(Some(ProviderModule::Other));
            }
            _ => {}
        }
        let Some((folder, file)) = name.split_once('/').filter(|(folder, _)| folder.ends_with(".dist-info")) else {
            continue;
        };
        members.dist_info.insert(folder.to_owned());
        if matches!(file, "METADATA" | "RECORD" | "WHEEL") {
            members.files.insert(file.to_owned());
        }
        if file == "METADATA" {
            members.metadata = Some(member);
        }
    }
    Ok(members)
}

fn read_member(archive: &ZipArchive<FileReader>, member: Member, max_bytes: usize) -> Result<String, String> {
    let entry = archive.get_entry(member.position).map_err(|error| error.to_string())?;
    let mut packed = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    entry.reader().take(limit + 1).read_to_end(&mut packed).map_err(|error| error.to_string())?;
    let too_long = || format!("it has more than {max_bytes} bytes");
    if packed.len() > max_bytes {
        return Err(too_long());
    }
    let bytes = match member.compression {
        CompressionMethod::STORE => packed,
        CompressionMethod::DEFLATE => {
            use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};
            decompress_to_vec_with_limit(&packed, max_bytes).map_err(|error| match error.status {
                TINFLStatus::HasMoreOutput => too_long(),
                _ => error.to_string(),
            })?
        }
        _ => return Err("it is neither stored nor deflated".to_owned()),
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns a field in the header of METADATA.
fn metadata_field(metadata: &str, key: &str) -> Option<String> {
    metadata_fields(metadata, key).next()
}

/// Returns all values of a field in the header of METADATA, which has the form of an e-mail message.
fn metadata_fields<'m>(metadata: &'m str, key: &'m str) -> impl Iterator<Item = String> + 'm {
    let header = metadata.lines().take_while(|line| !line.trim().is_empty());
    let fields = header.filter_map(|line| line.split_once(':'));
    fields.filter(move |(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.trim().to_owned())
}
