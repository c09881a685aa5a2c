//! Scans each text for the kinds that it names, before any text is parsed. The result determines the order in which
//! texts are read, and which texts can be skipped. The header of a parsed document is what finally determines its kind.
//!
//! A text may only be skipped if [`Composition::may_hold_input`] rules out every spelling of a relevant object. For the
//! order, the scan reads what follows `kind:`, and misses a kind in another spelling (`"Model\x44eployment"`, a key after
//! `?`). If such a document appears where another order was needed, the run starts again with all texts read first and
//! all objects kept.

use std::collections::BTreeSet;

use super::text_map::TextMap;
use crate::options::Options;
use crate::options::render::OutputMode;
use crate::pipeline::patch_files::kustomizations;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_model::composition::Composition;

/// How a run processes each text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadPlan {
    /// The turn of each text.
    texts: TextMap<ReadTurn>,
    /// Whether objects are kept for transformations that look at other objects.
    pub(crate) keeps_set: bool,
    /// Whether texts are skipped, which is possible only if the input has no object to transform.
    skips: bool,
    /// Whether the input has objects of input kinds. Only then may a kustomization patch one without naming its group.
    pub(crate) has_input_kinds: bool,
}

/// The turn in which a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadTurn {
    /// Before all others, because it may affect them.
    First,
    /// In input order, one document at a time.
    InPlace,
    Never,
}

/// The kinds that each text of a run names. A text that is the same value in the next run is not searched again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scan(TextMap<NamedKinds>);

/// Whether a text is the very value that had its id in an earlier run.
pub(crate) fn is_same_text(before: &SourceSet, id: SourceId, source: &Source) -> bool {
    id.0 < before.len() && std::ptr::eq(before.get(id), source)
}

impl Scan {
    /// Searches texts. `before` are those of the last scan.
    fn update(&mut self, composition: &Composition, sources: &SourceSet, before: &SourceSet) {
        let kinds_of = |(id, source): (SourceId, &Source)| {
            let known = self.0.get(id).filter(|_| is_same_text(before, id, source));
            (id, known.copied().unwrap_or_else(|| NamedKinds::from_source(composition, source)))
        };
        self.0 = sources.iter().map(kinds_of).collect();
    }
}

/// The kinds that a text names.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct NamedKinds {
    /// A kind that is transformed.
    transformed: bool,
    /// A kind whose transformation looks at other objects.
    needs_set: bool,
    /// A kind that must be known before the first object is transformed.
    is_decisive: bool,
    /// A kustomization, which determines the role of other files.
    kustomization: bool,
    /// Any object that kubefoundry handles or reports, in any spelling.
    may_hold_input: bool,
}

impl ReadPlan {
    /// Returns the plan for the first attempt.
    pub(crate) fn new(sources: &SourceSet, options: &Options) -> Self {
        let scanned: Vec<NamedKinds> =
            sources.iter().map(|(_, source)| NamedKinds::from_source(options.composition, source)).collect();
        Self::from_kinds(sources, options, &scanned)
    }

    /// Like [`ReadPlan::new`], but searches only the texts that changed since the last scan, which was of `before`.
    pub(crate) fn again(sources: &SourceSet, options: &Options, scan: &mut Scan, before: &SourceSet) -> Self {
        scan.update(options.composition, sources, before);
        Self::from_kinds(sources, options, &scan.0.iter().map(|(_, kinds)| *kinds).collect::<Vec<_>>())
    }

    fn from_kinds(sources: &SourceSet, options: &Options, scanned: &[NamedKinds]) -> Self {
        let resources = || sources.iter().map(|(_, it)| it).zip(scanned).filter(|(it, _)| it.purpose.has_resources());
        let prints_others = matches!(options.output, Some(OutputMode::Append | OutputMode::Replace));
        // An input without an object to transform is an error, unless it is allowed. The problems of other texts may be
        // the cause, so they are read.
        let needs_all = prints_others || !options.allow_empty;
        let skips = !needs_all && !resources().any(|(_, kinds)| kinds.transformed && kinds.may_hold_input);
        let turn = |(source, kinds): (&Source, &NamedKinds)| {
            if !source.purpose.has_resources() || (skips && !kinds.may_be_relevant()) {
                ReadTurn::Never
            } else if kinds.is_decisive {
                ReadTurn::First
            } else {
                ReadTurn::InPlace
            }
        };
        let keeps_set = resources().any(|(source, kinds)| source.purpose == Purpose::Input && kinds.needs_set);
        let texts = sources.iter().zip(scanned).map(|((id, source), kinds)| (id, turn((source, kinds)))).collect();
        let may_patch = scanned.iter().any(|kinds| kinds.kustomization);
        let has_input_kinds = may_patch && scanned.iter().any(|kinds| kinds.may_hold_input);
        Self { texts, keeps_set, skips, has_input_kinds }
    }

    /// Returns the plan after a late document: all texts are read first, and all objects are kept.
    pub(crate) fn everything(composition: &Composition, sources: &SourceSet) -> Self {
        let mut resources = sources.iter().filter(|(_, source)| source.purpose.has_resources());
        let has_input_kinds = resources.any(|(_, source)| composition.may_hold_input(&source.text));
        let turn = |source: &Source| if source.purpose.has_resources() { ReadTurn::First } else { ReadTurn::Never };
        let texts = sources.iter().map(|(id, source)| (id, turn(source))).collect();
        Self { texts, keeps_set: true, skips: false, has_input_kinds }
    }

    /// Returns the plan that reads some texts and ignores all others.
    pub(crate) fn only(sources: &SourceSet, read: &BTreeSet<SourceId>) -> Self {
        let turn = |id| if read.contains(&id) { ReadTurn::First } else { ReadTurn::Never };
        let texts = sources.iter().map(|(id, _)| (id, turn(id))).collect();
        Self { texts, keeps_set: false, skips: false, has_input_kinds: false }
    }

    /// Returns whether a text is read before the others.
    pub(crate) fn is_first(&self, id: SourceId) -> bool {
        self.texts.get(id) == Some(&ReadTurn::First)
    }

    /// Returns whether a text is read.
    pub(crate) fn includes(&self, id: SourceId) -> bool {
        self.texts.get(id).is_some_and(|turn| *turn != ReadTurn::Never)
    }

    /// Returns whether late documents make the result of the plan invalid.
    pub(crate) fn is_invalidated_by(&self, late: LateDocuments) -> bool {
        late.configuration || (late.needs_set && !self.keeps_set) || (late.transformed && self.skips)
    }
}

/// Documents that appeared while texts were read in their turns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LateDocuments {
    /// Whether there was a configuration or a kustomization in a text that was not read first.
    pub(crate) configuration: bool,
    /// Whether there was an object whose transformation looks at others.
    pub(crate) needs_set: bool,
    /// Whether there was any object to transform.
    pub(crate) transformed: bool,
}

impl LateDocuments {
    pub(crate) fn add(&mut self, other: Self) {
        self.configuration |= other.configuration;
        self.needs_set |= other.needs_set;
        self.transformed |= other.transformed;
    }
}

impl NamedKinds {
    /// Searches a text for the kinds that it names, without parsing it.
    fn from_source(composition: &Composition, source: &Source) -> Self {
        let mut kinds = Self::default();
        if !source.purpose.has_resources() {
            return kinds;
        }
        kinds.kustomization = kustomizations::is_kustomization(&source.name, "", "");
        for word in kind_words(&source.text) {
            let word = word.strip_suffix("List").unwrap_or(word);
            kinds.kustomization |= kustomizations::KINDS.contains(&word);
            for transform in composition.transforms() {
                let is_own = transform.kind().1 == word;
                kinds.transformed |= is_own;
                kinds.needs_set |= is_own && transform.needs_set();
                kinds.is_decisive |= transform.configuration_kind() == Some(word);
            }
        }
        kinds.is_decisive |= kinds.kustomization || source.purpose == Purpose::Providers;
        kinds.may_hold_input = composition.may_hold_input(&source.text);
        kinds
    }

    /// Returns whether the text must be read even if no text names an object to transform.
    fn may_be_relevant(self) -> bool {
        self.is_decisive || self.transformed || self.may_hold_input
    }
}

/// Returns the words after each `kind:` of a text.
fn kind_words(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(KEY).filter_map(|(at, _)| {
        let after = text.get(at + KEY.len()..)?;
        let value = after.trim_start_matches(['"', '\'']).trim_start_matches(' ').strip_prefix(':')?;
        let value = value.trim_start_matches([' ', '"', '\'']);
        let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
        value.get(..end).filter(|word| !word.is_empty())
    })
}

const KEY: &str = "kind";

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_composition::BUILTIN;

    fn sources(texts: &[&str]) -> SourceSet {
        let mut sources = SourceSet::default();
        for text in texts {
            sources.add("x.yaml", *text);
        }
        sources
    }

    /// If there is one model, all texts are read.
    #[test]
    fn all_texts_are_read_if_there_is_a_model() {
        let (model, web) = ("apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n", "kind: Service\n");
        let lint = Options { allow_empty: true, ..Options::new(&BUILTIN) };
        let skips = |texts: &[&str], options: &Options| ReadPlan::new(&sources(texts), options).skips;
        assert!(!skips(&[web, model], &lint));
        assert!(skips(&[web, web], &lint));
        assert!(!skips(&[web, web], &Options::new(&BUILTIN)));
        let append = Options { output: Some(OutputMode::Append), ..lint };
        assert!(!skips(&[web, web], &append));
    }

    /// If no text has an input kind and `allowEmpty` accepts that, no text is read.
    #[test]
    fn irrelevant_texts_are_not_read() {
        let mut sources = SourceSet::default();
        sources.add_for(
            Purpose::Options,
            "o.yaml",
            "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nallowEmpty: true\n",
        );
        for text in ["kind: Service\nmetadata: {name: web}\n", ": : [", "a: 1\na: 2\n", "{{ if .Values.on }}"] {
            sources.add("x.yaml", text);
        }
        let run = |sources: &SourceSet| crate::compile(&BUILTIN, sources, crate::Thoroughness::EveryRule);
        let compilation = run(&sources);
        assert!(compilation.inputs.is_empty() && compilation.diagnostics.is_empty(), "{compilation:?}");
        sources.add("m.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\n");
        assert!(run(&sources).inputs.len() > 1, "texts beside a model are read");
    }

    /// A text that may contain an input kind is read.
    #[test]
    fn possibly_relevant_texts_are_read() {
        let lint = Options { allow_empty: true, ..Options::new(&BUILTIN) };
        let include = |name: &str, text: &str| {
            let mut sources = SourceSet::default();
            let id = sources.add(name, text);
            ReadPlan::new(&sources, &lint).includes(id)
        };
        for text in [
            "kubefoundry.ai/v1",
            "kind: ModelDeployment",
            "kind: \"Model\\x44eployment\"",
            "M\0o\0d\0e\0l\0D\0e\0p\0l\0o\0y\0m\0e\0n\0t\0",
        ] {
            assert!(include("x.yaml", text), "{text:?}");
        }
        assert!(include("kustomization.yaml", "patches: []\n"));
        assert!(!include("x.yaml", "kind: Service\nmetadata: {name: web}\n"));
    }

    #[test]
    fn kinds_are_found_however_their_keys_are_laid_out() {
        let text = "kind: A\n{\"kind\":\"B\", 'kind' : 'C'}\nkindness: D\nkind:\n  type: x\n- kind: E # F\n";
        assert_eq!(kind_words(text).collect::<Vec<_>>(), ["A", "B", "C", "E"]);
    }

    /// Only texts that affect others are read first.
    #[test]
    fn texts_that_affect_others_are_read_first() {
        for (name, text, first) in [
            ("x.yaml", "kind: ModelDeployment\n", false),
            ("x.yaml", "kind: InferenceProviderConfig\n", true),
            ("x.yaml", "{\"kind\": \"InferenceProviderConfigList\"}\n", true),
            ("x.yaml", "kind: Component\n", true),
            ("kustomization.yaml", "patches: []\n", true),
        ] {
            let mut sources = SourceSet::default();
            let id = sources.add(name, text);
            assert_eq!(ReadPlan::new(&sources, &Options::new(&BUILTIN)).is_first(id), first, "{name}: {text}");
        }
    }

    /// A run with a wrong order is repeated once with the plan for late documents, which is never invalid.
    #[test]
    fn the_plan_for_late_documents_is_never_invalid() {
        let all = ReadPlan::everything(&BUILTIN, &sources(&["kind: Service\n"]));
        let late = LateDocuments { configuration: false, needs_set: true, transformed: true };
        assert!(!all.is_invalidated_by(late));
    }
}
