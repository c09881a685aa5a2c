//! Settings of transformations in a `Render` document: typed inside the transformation, type-erased outside.

use std::any::Any;
use std::fmt::Debug;

use crate::codes::OPTION_FROM_INPUT;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::wire::{Describe, Facets, FieldShape, Map, Read, Reader};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// The settings of a transformation or a provider. `Default` gives the settings that apply without options.
pub trait TransformSettings: Debug + Clone + Default + Send + Sync + 'static {
    /// The section of a `Render` document, as written.
    type Section: Read + Describe;

    /// The key of the section: `llamaStack`. Empty if there is no section.
    const KEY: &'static str;

    /// The description of the section in editors.
    const DOC: &'static str;

    /// Whether the settings use the `config.json` of models.
    const USES_MODEL_CONFIGS: bool = false;

    /// Applies a section, which overrides earlier ones, and reports invalid values.
    fn apply(&mut self, section: Self::Section, findings: &mut Findings<'_>);

    /// Applies a section of a file that was found beside the input. Reports what its authors may not set with
    /// [`refuse_found`], and leaves it out.
    fn apply_found(&mut self, section: Self::Section, findings: &mut Findings<'_>) {
        self.apply(section, findings);
    }

    /// Applies the `config.json` of a model, and reports values that cannot be used. All of them are applied before the
    /// first section.
    fn apply_model_config(&mut self, _id: &str, _config: &Node<'_>, _trust: Trust, _findings: &mut Findings<'_>) {}
}

/// Whether the user named a text, or it was found beside the input, whose authors may have written it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user named it.
    Named,
    /// It was found, so it may only tighten what applies.
    Found,
    /// It was found, and the change that is judged brings it, so it lowers no severity either.
    Added,
}

/// Reports an option that a file beside the input may not set. `problem` says what it does, after the option's path.
pub fn refuse_found(path: &FieldPath, problem: &str, findings: &mut Findings<'_>) {
    let message = format!("{path} {problem}, in a file that was found beside the input, whose authors may not do this");
    findings
        .report(&OPTION_FROM_INPUT, path, message)
        .help("read the file, and pass it with --config if you allow this");
}

/// The settings of a transformation without a section in the `Render` document.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSettings;

impl TransformSettings for NoSettings {
    type Section = Map<String>;

    const KEY: &'static str = "";

    const DOC: &'static str = "";

    fn apply(&mut self, _section: Map<String>, _findings: &mut Findings<'_>) {}
}

/// [`TransformSettings`] with the type erased.
pub trait ErasedSettings: Debug + Send + Sync {
    /// Reads a section and applies it.
    fn read(&mut self, node: &Node<'_>, path: &FieldPath, trust: Trust, findings: &mut Findings<'_>);

    /// Applies the `config.json` of a model.
    fn read_model_config(&mut self, id: &str, config: &Node<'_>, trust: Trust, findings: &mut Findings<'_>);

    /// Returns a boxed copy, because `Clone` itself is not object-safe.
    fn boxed_clone(&self) -> Box<dyn ErasedSettings>;

    /// Returns the settings for a downcast by the transformation that they belong to.
    fn as_any(&self) -> &dyn Any;
}

impl<S: TransformSettings> ErasedSettings for S {
    fn read(&mut self, node: &Node<'_>, path: &FieldPath, trust: Trust, findings: &mut Findings<'_>) {
        let Some(section) = S::Section::read(node, path, &mut Reader::strict(findings)) else { return };
        match trust {
            Trust::Named => self.apply(section, findings),
            Trust::Found | Trust::Added => self.apply_found(section, findings),
        }
    }

    fn read_model_config(&mut self, id: &str, config: &Node<'_>, trust: Trust, findings: &mut Findings<'_>) {
        self.apply_model_config(id, config, trust, findings);
    }

    fn boxed_clone(&self) -> Box<dyn ErasedSettings> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A section of a `Render` document, and the settings that it configures.
#[derive(Debug, Clone, Copy)]
pub struct SettingsSection {
    /// The field of the document: key, documentation and shape.
    pub field: FieldShape,
    /// Creates the settings that apply without the section.
    pub default: fn() -> Box<dyn ErasedSettings>,
    /// Whether the settings use the `config.json` of models.
    pub uses_model_configs: bool,
}

impl SettingsSection {
    /// Returns the section of a settings type.
    pub fn from_settings<S: TransformSettings>() -> Self {
        let field = FieldShape { key: S::KEY, doc: S::DOC, shape: S::Section::SHAPE, facets: Facets::NONE };
        Self { field, default: || Box::new(S::default()), uses_model_configs: S::USES_MODEL_CONFIGS }
    }
}

/// The settings of all transformations and providers of a run, by section key. Without an entry, the defaults apply.
#[derive(Debug, Default)]
pub struct AllSettings {
    sections: Vec<(&'static str, Box<dyn ErasedSettings>)>,
}

impl Clone for AllSettings {
    fn clone(&self) -> Self {
        Self { sections: self.sections.iter().map(|(key, section)| (*key, section.boxed_clone())).collect() }
    }
}

impl AllSettings {
    /// Reads a section and applies it on top of earlier documents.
    pub fn read(&mut self, section: &SettingsSection, node: &Node<'_>, trust: Trust, findings: &mut Findings<'_>) {
        let path = FieldPath::root().key(section.field.key);
        self.change(section, |settings| settings.read(node, &path, trust, findings));
    }

    /// Applies the `config.json` of a model to the settings of a section.
    pub fn read_model_config(
        &mut self,
        section: &SettingsSection,
        id: &str,
        config: &Node<'_>,
        trust: Trust,
        findings: &mut Findings<'_>,
    ) {
        self.change(section, |settings| settings.read_model_config(id, config, trust, findings));
    }

    /// Builds the defaults of sections that no document has set, so that [`AllSettings::with`] does not build them for
    /// every object that it is called for.
    pub fn fill_defaults(&mut self, sections: impl Iterator<Item = SettingsSection>) {
        for section in sections {
            self.change(&section, |_| {});
        }
    }

    /// Changes the settings of a section, which are the defaults before the first change.
    fn change(&mut self, section: &SettingsSection, change: impl FnOnce(&mut dyn ErasedSettings)) {
        let key = section.field.key;
        if let Some((_, settings)) = self.sections.iter_mut().find(|(known, _)| *known == key) {
            change(&mut **settings);
            return;
        }
        let mut settings = (section.default)();
        change(&mut *settings);
        self.sections.push((key, settings));
    }

    /// Calls `use_settings` with the settings of a transformation, or with its defaults. A closure avoids a clone where
    /// only the defaults exist.
    ///
    /// ```
    /// # use kubefoundry_transform::{AllSettings, TransformSettings};
    /// # use kubefoundry_kubernetes::wire::Map;
    /// #[derive(Debug, Clone, Default)]
    /// struct Names(Vec<String>);
    /// impl TransformSettings for Names {
    ///     type Section = Map<String>;
    ///     const KEY: &'static str = "names";
    ///     const DOC: &'static str = "Names.";
    ///     fn apply(&mut self, section: Map<String>, _: &mut kubefoundry_diagnostics::Findings<'_>) {
    ///         self.0.extend(section.0.into_iter().map(|(name, _)| name));
    ///     }
    /// }
    /// assert_eq!(AllSettings::default().with(|names: &Names| names.0.len()), 0);
    /// ```
    pub fn with<S: TransformSettings, R>(&self, use_settings: impl FnOnce(&S) -> R) -> R {
        let section = self.sections.iter().find(|(key, _)| *key == S::KEY);
        match section.and_then(|(_, section)| section.as_any().downcast_ref::<S>()) {
            Some(settings) => use_settings(settings),
            None => use_settings(&S::default()),
        }
    }
}
