//! What a check of the syntax of a value returns.

/// The result of a syntax check. The error completes the sentence "…, expected …".
pub type SyntaxResult = Result<(), &'static str>;
