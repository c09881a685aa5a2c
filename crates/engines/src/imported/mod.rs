//! Reads the command lines of containers back into flags, for imports.

pub(crate) mod command;
pub(crate) mod flags;
pub(crate) mod script;
