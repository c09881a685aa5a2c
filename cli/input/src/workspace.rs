//! Reads the files of a folder that an editor has open.
//!
//! An editor opens repositories of strangers, so nothing outside of the folder is read, whatever links lead to it.

use std::path::{Path, PathBuf};

use kubefoundry_compiler::options;
use kubefoundry_diagnostics::source::Purpose;

use super::error::InputError;
use super::files::Files;
use super::found_options::OptionsFinder;
use super::model_config::{check_is_below, named_configs};
use super::paths::KUSTOMIZATION_NAMES;
use super::reader::{Input, Reader};

pub use super::paths::{is_kustomization, is_manifest};

/// Reads every manifest below a folder, as `lint` does for a directory. Unreadable files are recorded in
/// [`Input::unread`].
pub fn read_folder(root: &Path) -> Result<Input, InputError> {
    let mut reader = reader_of(root)?;
    reader.read_path(Purpose::Input, root)?;
    Ok(reader.input)
}

/// Reads one file of a folder. Returns `None` if it is not a regular file, which might never end, or if its bytes are not
/// UTF-8.
pub fn read_folder_file(root: &Path, file: &Path) -> Result<Option<String>, InputError> {
    if !file.is_file() {
        return Ok(None);
    }
    let mut reader = reader_of(root)?;
    let id = reader.read_file(Purpose::Input, file)?;
    let source = reader.input.sources.get(id);
    Ok(source.encoding_error.is_none().then(|| source.text.clone()))
}

/// Creates a reader that refuses files outside of a folder.
fn reader_of(root: &Path) -> Result<Reader, InputError> {
    let canonical = root.canonicalize().map_err(|error| InputError::Read(root.display().to_string(), error))?;
    Ok(Reader { root: Some(canonical), ..Reader::default() })
}

/// Returns the `config.json` files that options name, each with the id of its model.
///
/// # Errors
/// Fails if one of them lies outside of the directory of the options, or does not exist.
pub fn model_configs(options: &str, folder: &Path) -> Result<Vec<(String, PathBuf)>, InputError> {
    let named = named_configs(options, folder)?;
    named.iter().try_for_each(|config| check_is_below(&config.file, folder))?;
    Ok(named.into_iter().map(|config| (config.model, config.file)).collect())
}

/// Returns the files in a directory that could be its kustomization.
pub fn kustomizations_of(directory: &Path) -> impl Iterator<Item = PathBuf> {
    KUSTOMIZATION_NAMES.map(|name| directory.join(name)).into_iter()
}

/// Returns whether a file has the name of an options file.
pub fn is_options(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == options::FILE_NAME)
}

/// Finds the options files that apply to a document of a workspace folder, as the command line does: up to the root of the
/// repository, the nearest last.
pub fn find_options(document: &Path, folder: &Path) -> Vec<PathBuf> {
    let directory = document.parent().unwrap_or(Path::new(""));
    let found = OptionsFinder::default().find(directory, &Files::on_disk(&[folder.to_owned()]));
    #[expect(clippy::disallowed_methods, reason = "the command line reports what cannot be read; the editor goes on")]
    let files = found.map(|found| found.files.clone()).unwrap_or_default();
    files
}

/// Reads an options file that was found.
pub fn read_options(file: &Path) -> Option<String> {
    let bytes = Files::default().read(file).ok().flatten()?;
    String::from_utf8(bytes.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    #[test]
    fn options_apply_up_to_the_root_of_the_repository() {
        let options = "kind: Render\n";
        let directory = folder(&[
            ("kubefoundry.yaml", options),
            ("repo/.git/HEAD", ""),
            ("repo/kubefoundry.yaml", options),
            ("repo/prod/kubefoundry.yaml", options),
        ]);
        let repository = directory.path().join("repo");
        let (outer, inner) = (repository.join("kubefoundry.yaml"), repository.join("prod/kubefoundry.yaml"));
        assert_eq!(find_options(&repository.join("a/m.yaml"), directory.path()), std::slice::from_ref(&outer));
        assert_eq!(find_options(&repository.join("prod/m.yaml"), directory.path()), [outer, inner]);
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_of_the_folder() {
        let outside = folder(&[("secret.yaml", "kind: ModelDeployment\n")]);
        let inside = folder(&[("m.yaml", "a: 1\n")]);
        let link = inside.path().join("link.yaml");
        std::os::unix::fs::symlink(outside.path().join("secret.yaml"), &link).unwrap();
        assert!(matches!(read_folder_file(inside.path(), &link), Err(InputError::Outside(_))));
        let input = read_folder(inside.path()).unwrap();
        assert_eq!((input.sources.iter().count(), input.unread.len()), (1, 1));
    }
}
