//! One look at each text, before any is parsed: the kinds that it names. It says in which order texts are read, and which
//! of them need not be read at all; what a document is, its header says once it is read.
//!
//! A kind that is written in other letters (`"Model\x44eployment"`) does not show here. When such a document turns up where
//! another order would have been needed, the run starts again with everything read first and everything kept.

use super::kustomize;
use crate::composition::{self, TRANSFORMS};
use crate::options::Options;
use crate::options::render::OutputMode;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};

/// What a run does with each text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadPlan {
    /// By the number of the text.
    texts: Vec<ReadTurn>,
    /// Whether objects are kept that transformations may need to see.
    pub(super) keeps_set: bool,
    /// Whether texts are skipped. Without an object to transform they do not matter; beside one they do.
    skips: bool,
    /// Whether the input has objects of ours; known where a kustomization may patch one without naming its group.
    pub(super) is_among_ours: bool,
}

/// When a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadTurn {
    /// Before all others: it may say something about them.
    First,
    /// In its place, a document at a time.
    InPlace,
    Never,
}

/// Which kinds a text names.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that exclude none of the others")]
struct NamedKinds {
    /// One that is transformed.
    transformed: bool,
    /// One that is transformed and needs to see others.
    needs_set: bool,
    /// One that must be known before the first object is transformed.
    telling: bool,
    /// That of a kustomization, which says what the texts beside it are.
    kustomization: bool,
}

impl ReadPlan {
    /// What is done first.
    pub(super) fn new(sources: &SourceSet, options: &Options) -> Self {
        let scanned: Vec<NamedKinds> = sources.iter().map(|(_, source)| NamedKinds::of(source)).collect();
        let resources = || sources.iter().map(|(_, it)| it).zip(&scanned).filter(|(it, _)| it.purpose.has_resources());
        let prints_others = matches!(options.output, Some(OutputMode::Append | OutputMode::Replace));
        // Without an object to transform and without leave for that, what is wrong with other texts may be why.
        let matters = prints_others || !options.allow_empty;
        let skips = !matters
            && !resources().any(|(source, kinds)| kinds.transformed && composition::mentions_input_kinds(&source.text));
        let turn = |(source, kinds): (&Source, &NamedKinds)| {
            if !source.purpose.has_resources() || (skips && !may_be_ours(source, *kinds)) {
                ReadTurn::Never
            } else if kinds.telling {
                ReadTurn::First
            } else {
                ReadTurn::InPlace
            }
        };
        let keeps_set = resources().any(|(source, kinds)| source.purpose == Purpose::Input && kinds.needs_set);
        let texts = sources.iter().map(|(_, source)| source).zip(&scanned).map(turn).collect();
        let may_patch = scanned.iter().any(|kinds| kinds.kustomization);
        Self { texts, keeps_set, skips, is_among_ours: may_patch && is_among_ours(sources) }
    }

    /// Everything is read first, and everything is kept: what is done when a document came too late.
    pub(super) fn everything(sources: &SourceSet) -> Self {
        let turn = |source: &Source| if source.purpose.has_resources() { ReadTurn::First } else { ReadTurn::Never };
        let texts = sources.iter().map(|(_, source)| turn(source)).collect();
        Self { texts, keeps_set: true, skips: false, is_among_ours: is_among_ours(sources) }
    }

    /// Whether a text is read before the others.
    pub(super) fn is_first(&self, id: SourceId) -> bool {
        self.texts.get(id.0) == Some(&ReadTurn::First)
    }

    /// Whether a text is read.
    pub(super) fn includes(&self, id: SourceId) -> bool {
        self.texts.get(id.0).is_some_and(|turn| *turn != ReadTurn::Never)
    }

    /// Whether what came out cannot be used, given what turned up.
    pub(super) fn is_refuted_by(&self, late: LateDocuments) -> bool {
        late.configuration || (late.needs_set && !self.keeps_set) || (late.transformed && self.skips)
    }
}

/// What turned up while texts were read in their places.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LateDocuments {
    /// A configuration or a kustomization in a text that was not read first.
    pub(super) configuration: bool,
    /// An object that needs to see the others.
    pub(super) needs_set: bool,
    /// Any object that is transformed.
    pub(super) transformed: bool,
}

impl LateDocuments {
    pub(super) fn add(&mut self, other: Self) {
        self.configuration |= other.configuration;
        self.needs_set |= other.needs_set;
        self.transformed |= other.transformed;
    }
}

impl NamedKinds {
    fn of(source: &Source) -> Self {
        let mut kinds = Self::default();
        if !source.purpose.has_resources() {
            return kinds;
        }
        kinds.kustomization = kustomize::is_kustomization(&source.name, "", "");
        for word in kind_words(&source.text) {
            let word = word.strip_suffix("List").unwrap_or(word);
            kinds.kustomization |= kustomize::KINDS.contains(&word);
            for transform in TRANSFORMS {
                let is_own = transform.kind().1 == word;
                kinds.transformed |= is_own;
                kinds.needs_set |= is_own && transform.needs_set();
                kinds.telling |= transform.configuration_kind() == Some(word);
            }
        }
        kinds.telling |= kinds.kustomization || source.purpose == Purpose::Providers;
        kinds
    }
}

/// The words behind each `kind:` of a text.
fn kind_words(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(KEY).filter_map(|(at, _)| {
        let behind = text.get(at + KEY.len()..)?;
        let value = behind.trim_start_matches(['"', '\'']).trim_start_matches(' ').strip_prefix(':')?;
        let value = value.trim_start_matches([' ', '"', '\'']);
        let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
        value.get(..end).filter(|word| !word.is_empty())
    })
}

const KEY: &str = "kind";

/// Whether a text may hold something that matters where no object to transform shows.
fn may_be_ours(source: &Source, kinds: NamedKinds) -> bool {
    kinds.telling
        || kinds.transformed
        || composition::mentions_input_kinds(&source.text)
        || may_be_spelt_otherwise(&source.text)
}

/// Only an escape (`"Model\x44eployment"`) hides a word from a search, and UTF-16, whose letters lie apart.
fn may_be_spelt_otherwise(text: &str) -> bool {
    text.contains(['\\', '\0'])
}

/// Whether the input has objects of ours.
fn is_among_ours(sources: &SourceSet) -> bool {
    let mut texts = sources.iter().map(|(_, source)| source).filter(|source| source.purpose.has_resources());
    texts.any(|source| composition::mentions_input_kinds(&source.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> SourceSet {
        let mut sources = SourceSet::default();
        for text in texts {
            sources.add("x.yaml", *text);
        }
        sources
    }

    /// One model is enough for all of it to matter.
    #[test]
    fn other_texts_matter_beside_a_model() {
        let (model, web) = ("apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n", "kind: Service\n");
        let lint = Options { allow_empty: true, ..Options::default() };
        let skips = |texts: &[&str], options: &Options| ReadPlan::new(&sources(texts), options).skips;
        assert!(!skips(&[web, model], &lint));
        assert!(skips(&[web, web], &lint));
        assert!(!skips(&[web, web], &Options::default()));
        let append = Options { output: Some(OutputMode::Append), ..lint };
        assert!(!skips(&[web, web], &append));
    }

    /// Where nothing is ours and nothing has to be, no text is read: not one document of it becomes an input.
    #[test]
    fn texts_of_others_are_not_read() {
        let mut sources = SourceSet::default();
        sources.add_for(
            Purpose::Options,
            "o.yaml",
            "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nallowEmpty: true\n",
        );
        for text in ["kind: Service\nmetadata: {name: web}\n", ": : [", "a: 1\na: 2\n", "{{ if .Values.on }}"] {
            sources.add("x.yaml", text);
        }
        let run = |sources: &SourceSet| crate::compile(sources, crate::Thoroughness::EveryRule);
        let compilation = run(&sources);
        assert!(compilation.inputs.is_empty() && compilation.diagnostics.is_empty(), "{compilation:?}");
        sources.add("m.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\n");
        assert!(run(&sources).inputs.len() > 1, "beside a model they matter");
    }

    /// Whatever could turn out to be ours is read.
    #[test]
    fn nothing_of_ours_is_left_out() {
        let lint = Options { allow_empty: true, ..Options::default() };
        let include = |name: &str, text: &str| {
            let mut sources = SourceSet::default();
            let id = sources.add(name, text);
            ReadPlan::new(&sources, &lint).includes(id)
        };
        for text in ["kubefoundry.ai/v1", "kind: ModelDeployment", "kind: \"Model\\x44eployment\"", "k\0i\0n\0d\0"] {
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

    /// Only what must be known before the rest is read first.
    #[test]
    fn texts_that_say_something_about_others_are_read_first() {
        for (name, text, first) in [
            ("x.yaml", "kind: ModelDeployment\n", false),
            ("x.yaml", "kind: InferenceProviderConfig\n", true),
            ("x.yaml", "{\"kind\": \"InferenceProviderConfigList\"}\n", true),
            ("x.yaml", "kind: Component\n", true),
            ("kustomization.yaml", "patches: []\n", true),
        ] {
            let mut sources = SourceSet::default();
            let id = sources.add(name, text);
            assert_eq!(ReadPlan::new(&sources, &Options::default()).is_first(id), first, "{name}: {text}");
        }
    }

    /// A run whose order was wrong is repeated once, with everything read first and kept: nothing refutes that.
    #[test]
    fn nothing_comes_late_when_everything_is_read_first() {
        let all = ReadPlan::everything(&sources(&["kind: Service\n"]));
        let late = LateDocuments { configuration: false, needs_set: true, transformed: true };
        assert!(!all.is_refuted_by(late));
    }
}
