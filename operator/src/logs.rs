//! Log lines: text or JSON.
