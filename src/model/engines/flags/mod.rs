//! Flag tables.
