//! Diagnostics as text: rustc-like snippets, one line each, or JSON.

mod concise;
mod json;
mod position;
mod text;

pub use concise::concise;
pub use json::json;
pub use position::{LineIndex, Position};
pub use text::{Style, text};
