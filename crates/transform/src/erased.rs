//! Any transformation, with its settings erased: what a pipeline keeps in one list.

use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_yaml::Node;

use crate::{AllSettings, Object, Section, Set, Sink, Transform};

/// A [`Transform`] that takes the settings of all transformations and picks its own.
pub trait AnyTransform: Sync {
    /// See [`Transform::name`].
    fn name(&self) -> &'static str;
    /// See [`Transform::kind`].
    fn kind(&self) -> (&'static str, &'static str);
    /// See [`Transform::owner_annotation`].
    fn owner_annotation(&self) -> &'static str;
    /// See [`Transform::change_annotation`].
    fn change_annotation(&self) -> Option<&'static str>;
    /// See [`Transform::marks`].
    fn marks(&self) -> &'static [&'static str];
    /// See [`Transform::looks_at`].
    fn looks_at(&self, header: &Header) -> bool;
    /// See [`Transform::takes`].
    fn takes(&self, root: &Node<'_>, settings: &AllSettings) -> bool;
    /// See [`Transform::takes_what`].
    fn takes_what(&self) -> &'static str;
    /// See [`Transform::misnamed`].
    fn misnamed(&self, header: &Header, settings: &AllSettings, findings: &mut Findings<'_>);
    /// See [`Transform::kinds`].
    fn kinds(&self) -> &'static [(&'static str, &'static str)];
    /// See [`Transform::codes`].
    fn codes(&self) -> &'static [&'static Code];
    /// See [`Transform::run`].
    fn run(&self, object: &Object<'_>, set: &Set<'_, '_, AllSettings>, out: &mut Sink<'_>);
    /// See [`Transform::revisit`].
    fn revisit(&self, position: usize, set: &Set<'_, '_, AllSettings>, out: &mut Sink<'_>);
    /// The section of a `Render` document that its settings are read from.
    fn section(&self) -> Section;
}

impl<T: Transform> AnyTransform for T {
    fn name(&self) -> &'static str {
        Transform::name(self)
    }

    fn kind(&self) -> (&'static str, &'static str) {
        Transform::kind(self)
    }

    fn owner_annotation(&self) -> &'static str {
        Transform::owner_annotation(self)
    }

    fn change_annotation(&self) -> Option<&'static str> {
        Transform::change_annotation(self)
    }

    fn marks(&self) -> &'static [&'static str] {
        Transform::marks(self)
    }

    fn looks_at(&self, header: &Header) -> bool {
        Transform::looks_at(self, header)
    }

    fn takes(&self, root: &Node<'_>, settings: &AllSettings) -> bool {
        settings.with(|settings| Transform::takes(self, root, settings))
    }

    fn takes_what(&self) -> &'static str {
        Transform::takes_what(self)
    }

    fn misnamed(&self, header: &Header, settings: &AllSettings, findings: &mut Findings<'_>) {
        settings.with(|settings| Transform::misnamed(self, header, settings, findings));
    }

    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        Transform::kinds(self)
    }

    fn codes(&self) -> &'static [&'static Code] {
        Transform::codes(self)
    }

    fn run(&self, object: &Object<'_>, set: &Set<'_, '_, AllSettings>, out: &mut Sink<'_>) {
        set.settings.with(|settings| Transform::run(self, object, &set.with_settings(settings), out));
    }

    fn revisit(&self, position: usize, set: &Set<'_, '_, AllSettings>, out: &mut Sink<'_>) {
        set.settings.with(|settings| Transform::revisit(self, position, &set.with_settings(settings), out));
    }

    fn section(&self) -> Section {
        Section::of::<T::Settings>()
    }
}
