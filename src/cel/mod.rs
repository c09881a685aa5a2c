//! CEL selection rules.
