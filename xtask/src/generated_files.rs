//! Committed files that a command generates: writes the stale ones, or fails if one is stale.

use std::fs;
use std::path::PathBuf;

use kubefoundry_yaml::append_line;

use crate::Failure;

/// Writes every stale file, and reports which were.
pub(crate) fn write_stale_files(generated: &[(PathBuf, String)]) -> Result<String, Failure> {
    let mut report = String::new();
    for (path, text) in generated {
        let is_fresh = fs::read_to_string(path).is_ok_and(|old| old == *text);
        if !is_fresh {
            fs::write(path, text).map_err(|error| Failure::Broken(format!("{}: {error}", path.display())))?;
        }
        append_line!(report, "{} {}", if is_fresh { "unchanged" } else { "wrote    " }, path.display());
    }
    Ok(report)
}

/// Fails if [`write_stale_files`] would change a file, and names the command that does.
pub(crate) fn refuse_stale_files(generated: &[(PathBuf, String)], command: &str) -> Result<(), Failure> {
    let stale: Vec<String> = generated
        .iter()
        .filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::Unmet(format!("stale, run `cargo xtask {command}`: {}", stale.join(", "))))
}
