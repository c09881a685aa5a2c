//! The parts of a dump that may define a kind. They are parsed when the kind is first looked up.

use std::borrow::Cow;
use std::sync::OnceLock;

use memchr::memmem;

use super::{CrdDefinition, CrdOrigin, CrdProblem};
use crate::codes;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::spelling::SpelledText;
use kubefoundry_yaml::{Limits, Span};

/// Limits for CRDs, which are larger and deeper than manifests: the deepest upstream CRD nests 34 collections.
pub(super) const LIMITS: Limits =
    Limits { documents: 250_000, document_bytes: 64 * 1024 * 1024, nodes: 4_000_000, depth: 100, alias_nodes: 50_000 };

/// A kind, and the parts of the dump that may define it.
#[derive(Debug)]
pub(super) struct KindCandidates<'t> {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) candidates: Vec<(CrdOrigin, Cow<'t, str>)>,
    pub(super) definition: OnceLock<Result<Option<CrdDefinition>, CrdProblem>>,
}

impl KindCandidates<'_> {
    pub(super) fn new(group: &'static str, kind: &'static str) -> Self {
        Self { group, kind, candidates: Vec::new(), definition: OnceLock::new() }
    }

    /// Returns the same candidates with their own copies of the texts.
    pub(super) fn into_owned(self) -> KindCandidates<'static> {
        let Self { group, kind, candidates, definition } = self;
        let candidates = candidates.into_iter().map(|(origin, text)| (origin, Cow::Owned(text.into_owned())));
        KindCandidates { group, kind, candidates: candidates.collect(), definition }
    }

    /// Returns whether a text may define the kind: it must contain the group and the kind in some notation. A CRD that
    /// ends before its versions is also a candidate, so that the parser reports it as incomplete.
    pub(super) fn may_be_defined_in(&self, text: &str, spelled: &SpelledText<'_>) -> bool {
        let contains = |word: &str| memmem::find(text.as_bytes(), word.as_bytes()).is_some();
        let is_cut_off = || contains("CustomResourceDefinition") && !contains("versions");
        may_contain_word(spelled, self.group) && (may_contain_word(spelled, self.kind) || is_cut_off())
    }

    /// Parses the candidates and returns the definition of the kind, or `None` if no candidate defines it. It is an error
    /// if a candidate cannot be read, or if two definitions differ.
    pub(super) fn parse_definition(&self) -> Result<Option<CrdDefinition>, CrdProblem> {
        let mut first: Option<CrdDefinition> = None;
        for (origin, text) in &self.candidates {
            let parsed = yaml::parse(text, &LIMITS);
            let failures = parsed.failure.iter().chain(parsed.documents.iter().flat_map(|document| &document.problems));
            if let Some(failure) = failures.min_by_key(|failure| failure.span.start) {
                let start = origin.span.start;
                let span = Span { start: start + failure.span.start, end: start + failure.span.end };
                let origin = CrdOrigin { span, ..origin.clone() };
                let message = format!("the CRD of {} cannot be read: {}", self.kind, failure.sentence());
                return Err(CrdProblem::new(&codes::UNUSABLE_CRD, &origin, message));
            }
            for document in &parsed.documents {
                let Some(result) = CrdDefinition::find(&document.root, self.group, self.kind, origin) else { continue };
                let definition = result?;
                match &first {
                    Some(first) if !first.is_equivalent(&definition) => {
                        let message = format!("the CRD of {} differs from the one in {}", self.kind, first.origin.file);
                        return Err(CrdProblem::new(&codes::DUPLICATE_CRD, origin, message));
                    }
                    Some(_) => {}
                    None => first = Some(definition),
                }
            }
        }
        Ok(first)
    }
}

/// Returns whether a text may contain a word as a value, in any spelling. The answer `false` is always right; `true`
/// may be wrong.
pub(super) fn may_contain_word(text: &SpelledText<'_>, word: &str) -> bool {
    text.may_spell(|bytes| {
        let is_separate = |at: usize| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let after = bytes.get(at + word.len());
            ![before, after].into_iter().flatten().any(u8::is_ascii_alphanumeric)
        };
        memmem::find_iter(bytes, word).any(is_separate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_contain_word(text: &str, word: &str) -> bool {
        super::may_contain_word(&SpelledText::new(text.as_bytes()), word)
    }

    #[test]
    fn finds_a_word_in_any_spelling() {
        for text in [
            "kind: X.y",
            "\"kind\":\t\"X.y\"",
            "kind:\n  X.y",
            "kind: !!str X.y",
            r#""X\u002ey""#,
            r#""X\x2Ey""#,
            "\"X\\\n.y\"",
        ] {
            assert!(may_contain_word(text, "X.y"), "{text}");
        }
        for text in ["", "kind: X", "kind: X.yz", "kind: aX.y", r"\u003cX", r"\d\.\u00e9\x", "\\"] {
            assert!(!may_contain_word(text, "X.y"), "{text}");
        }
    }
}
