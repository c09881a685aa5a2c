//! Diagnostic codes, and the macro with which a crate declares those that it reports.

use super::Severity;

/// The stable identifier of a kind of finding. A released code keeps its number and its meaning.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Code {
    /// `KFnnnn`.
    pub id: &'static str,
    /// The readable name: `unknown-field`.
    pub name: &'static str,
    /// The severity, unless the render options set another one.
    pub severity: Severity,
    /// The flagged problem as a noun phrase on one line, without a period.
    pub summary: &'static str,
    /// Properties of every finding with this code.
    pub attributes: &'static [Attribute],
}

/// A property of every finding with a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// Equal findings are reported once per run instead of once per object. They are about the run or a namespace, and
    /// a fleet of a thousand models would repeat them a thousand times.
    OncePerRun,
    /// The finding is about a value that should be ASCII. The message names characters that merely look like ASCII.
    AsciiValue,
    /// The finding is about a key that should be ASCII, likewise.
    AsciiKey,
    /// No fix is offered in a document with this finding. A fix could silently decide what the user must decide, such
    /// as which of two equal keys is meant.
    WithholdsFixes,
    /// The finding says that a part of the input was left out, so that nothing in it was judged. Only the user can change
    /// its severity, and no run with `strict` succeeds with it.
    NotJudged,
}

impl Code {
    /// Creates a code. Crates declare theirs with [`declare_codes!`](crate::declare_codes).
    pub const fn new(
        id: &'static str,
        name: &'static str,
        severity: Severity,
        summary: &'static str,
        attributes: &'static [Attribute],
    ) -> Self {
        Self { id, name, severity, summary, attributes }
    }

    /// Whether the code has an attribute.
    pub fn has(&self, attribute: Attribute) -> bool {
        self.attributes.contains(&attribute)
    }
}

/// Declares the codes of a module as statics, and the list `CODES` in order of declaration.
///
/// A list of [`Attribute`]s may follow the summary.
///
/// ```
/// use kubefoundry_diagnostics::Attribute;
/// mod codes {
///     kubefoundry_diagnostics::declare_codes! {
///         TOO_LATE = "KF9901" "too-late" Warning "a reply after the deadline";
///         TOO_SOON = "KF9902" "too-soon" Info "a reply before the question" [OncePerRun];
///     }
/// }
/// assert_eq!(codes::CODES.len(), 2);
/// assert!(codes::TOO_SOON.has(Attribute::OncePerRun) && codes::TOO_LATE.attributes.is_empty());
/// ```
#[macro_export]
macro_rules! declare_codes {
    ($($(#[$doc:meta])* $constant:ident = $id:literal $name:literal $severity:ident $summary:literal $([$($attribute:ident),+])?;)*) => {
        $(#[doc = concat!("`", $id, "` ", $name, ": ", $summary, ".")] $(#[$doc])*
        pub static $constant: $crate::Code = $crate::Code::new(
            $id,
            $name,
            $crate::Severity::$severity,
            $summary,
            &[$($($crate::Attribute::$attribute),+)?],
        );)*
        /// The codes declared here, in order of declaration.
        pub static CODES: &[&$crate::Code] = &[$(&$constant),*];
    };
}

declare_codes! {
    LIMIT_EXCEEDED = "KF0104" "limit-exceeded" Error "a document larger or deeper than the limits" [NotJudged];
}
