//! Which texts need to be read at all. A repository has thousands of files, few of them with models, and a change that
//! touches no model should cost next to nothing.

use super::kustomize;
use crate::composition;
use crate::options::Options;
use crate::options::render::OutputMode;
use kubefoundry_diagnostics::source::{Source, SourceSet};
use kubefoundry_kubernetes::api_group::DIALECTS;

/// Which texts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// All: objects beside ours matter, since ours may collide with them, or are printed.
    All,
    /// Those that may hold something of ours. Without a ModelDeployment, nothing is generated, and nothing collides.
    MayBeOurs,
}

impl Texts {
    /// What a run over these texts has to read, as far as that is known before it reads any.
    pub(super) fn needed(sources: &SourceSet, options: &Options) -> Self {
        let prints_others = matches!(options.output, Some(OutputMode::Append | OutputMode::Replace));
        // Without a model and without leave for that, what is wrong with other texts may be why.
        let every = prints_others || !options.allow_empty;
        let mut texts = sources.iter().filter(|(_, source)| source.purpose.has_resources());
        if every
            || texts.any(|(_, source)| {
                let text = source.text.as_str();
                names_us(text) && (text.contains(KIND) || composition::may_hold_source(text))
            })
        {
            Self::All
        } else {
            Self::MayBeOurs
        }
    }

    /// Kustomizations say which texts are parts of objects, configurations of ours among them.
    pub(super) fn include(self, source: &Source) -> bool {
        let text = source.text.as_str();
        let may_be_ours = || names_us(text) || text.contains(KIND) || may_be_spelt_otherwise(text);
        self == Self::All || may_be_ours() || kustomize::may_be_kustomization(source)
    }
}

const KIND: &str = "ModelDeployment";

fn names_us(text: &str) -> bool {
    DIALECTS.iter().any(|dialect| text.contains(dialect.label_prefix)) || composition::may_hold_source(text)
}

/// Only an escape (`"Model\x44eployment"`) hides a word from a search, and UTF-16, whose letters lie apart.
fn may_be_spelt_otherwise(text: &str) -> bool {
    text.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_diagnostics::source::Purpose;

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
        assert_eq!(Texts::needed(&sources(&[web, model]), &lint), Texts::All);
        assert_eq!(Texts::needed(&sources(&[web, web]), &lint), Texts::MayBeOurs);
        assert_eq!(Texts::needed(&sources(&[web, web]), &Options::default()), Texts::All);
        let append = Options { output: Some(OutputMode::Append), ..lint };
        assert_eq!(Texts::needed(&sources(&[web, web]), &append), Texts::All);
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
        let include = |name: &str, text: &str| {
            let mut sources = SourceSet::default();
            let id = sources.add(name, text);
            Texts::MayBeOurs.include(sources.get(id))
        };
        for text in ["kubefoundry.ai/v1", "kind: ModelDeployment", "kind: \"Model\\x44eployment\"", "k\0i\0n\0d\0"] {
            assert!(include("x.yaml", text), "{text:?}");
        }
        assert!(include("kustomization.yaml", "patches: []\n"));
        assert!(!include("x.yaml", "kind: Service\nmetadata: {name: web}\n"));
    }
}
