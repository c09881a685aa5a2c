//! Writes objects to files.

mod file_change;
pub(crate) mod file_replacement;
pub(crate) mod input_changes;
mod object_files;
mod out_dir;
mod output_object;
mod stale_files;
mod written_files;

pub(crate) use file_change::DirectoryChanges;
pub(crate) use object_files::OutDirError;
pub(crate) use out_dir::{plan_changed_files, plan_changes, write_changes, write_imports, write_new_files};
pub(crate) use output_object::OutputObject;
pub(crate) use written_files::WrittenFiles;
