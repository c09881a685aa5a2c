//! A cache that compiles the same texts again after edits: the result equals that of a fresh run.
//!
//! Unlike in the tests of sessions, a text that no edit touches stays the same value in memory, and is not read again.

use kubefoundry_compiler::pipeline::{Cache, Compilation, YamlText, compile_as};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use proptest::prelude::*;

use crate::session::{Edit, apply, edits, texts, thoroughness};

/// The texts of an input, chosen from [`texts`].
struct Input {
    texts: Vec<(&'static str, Purpose, String)>,
    chosen: Vec<usize>,
    /// Whether every other text belongs to an environment of its own.
    is_divided: bool,
    sources: SourceSet,
}

impl Input {
    fn new(chosen: Vec<usize>, is_divided: bool) -> Self {
        let mut input = Self { texts: texts(), chosen, is_divided, sources: SourceSet::default() };
        input.read_all();
        input
    }

    /// Applies an edit. Only a text that keeps its place, its name and its purpose can change alone.
    fn edit(&mut self, edit: &Edit) {
        let before = self.chosen.clone();
        apply(edit, &mut self.chosen);
        let is_same_file = |(one, other): (&usize, &usize)| {
            let ((name, purpose, _), (other_name, other_purpose, _)) = (&self.texts[*one], &self.texts[*other]);
            name == other_name && purpose == other_purpose
        };
        if before.len() != self.chosen.len() || !before.iter().zip(&self.chosen).all(is_same_file) {
            return self.read_all();
        }
        for (place, (text, before)) in self.chosen.iter().zip(&before).enumerate() {
            if text != before {
                self.sources.set_text(SourceId(place), self.texts[*text].2.clone());
            }
        }
    }

    fn read_all(&mut self) {
        self.sources = SourceSet::default();
        for text in &self.chosen {
            let (name, purpose, text) = &self.texts[*text];
            let id = self.sources.add_for(*purpose, *name, text);
            if *purpose == Purpose::ModelConfig {
                self.sources.set_subject(id, "org/m");
            }
        }
        if self.is_divided {
            for (number, name) in ["dev", "prod"].into_iter().enumerate() {
                self.sources.add_environment(name, (number..self.chosen.len()).step_by(3).map(SourceId));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cache_gives_what_a_fresh_run_gives_after_any_edits(
        start in proptest::collection::vec(0..texts().len(), 0..8),
        edits in proptest::collection::vec(edits(texts().len()), 1..8),
        thoroughness in thoroughness(),
        is_divided in any::<bool>(),
    ) {
        let mut input = Input::new(start, is_divided);
        let mut cache = Cache::<YamlText>::default();
        for edit in [None].into_iter().chain(edits.iter().map(Some)) {
            if let Some(edit) = edit {
                input.edit(edit);
            }
            let fresh: Compilation<YamlText> = compile_as(&BUILTIN, &input.sources, thoroughness);
            for _ in 0..2 {
                let again = cache.compile(&BUILTIN, &input.sources, thoroughness);
                prop_assert_eq!(format!("{again:?}"), format!("{fresh:?}"));
            }
        }
    }
}
