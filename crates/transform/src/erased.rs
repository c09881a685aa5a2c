//! Transformations with their settings type erased, so that the pipeline can keep all of them in one list.

use std::fmt::Debug;

use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_yaml::Node;

use crate::{
    AllSettings, GroupKind, InputObject, ObjectSet, SettingsSection, Transform, TransformOutput, TransformSettings as _,
};

/// A [`Transform`] that receives the settings of all transformations and picks its own.
pub trait AnyTransform: Debug + Sync {
    /// See [`Transform::name`].
    fn name(&self) -> &'static str;
    /// See [`Transform::kind`].
    fn kind(&self) -> (&'static str, &'static str);
    /// See [`Transform::has_group`].
    fn has_group(&self, group: &str) -> bool;
    /// See [`Transform::version`].
    fn version(&self, group: &str) -> &'static str;
    /// See [`Transform::configuration_kind`].
    fn configuration_kind(&self) -> Option<&'static str>;
    /// See [`Transform::owns_groups`].
    fn owns_groups(&self) -> bool;
    /// See [`Transform::needs_set`].
    fn needs_set(&self) -> bool;
    /// See [`Transform::mark_groups`].
    fn mark_groups(&self) -> &'static [ApiGroup];
    /// See [`Transform::is_passed_on`].
    fn is_passed_on(&self, root: &Node<'_>) -> bool;
    /// See [`Transform::check_patch`].
    fn check_patch(&self, kind: &str, root: &Node<'_>, findings: &mut Findings<'_>);
    /// See [`Transform::owner_annotation`].
    fn owner_annotation(&self) -> &'static str;
    /// See [`Transform::change_annotation`].
    fn change_annotation(&self) -> Option<&'static str>;
    /// See [`Transform::marker_texts`].
    fn marker_texts(&self) -> &'static [&'static str];
    /// See [`Transform::needs_object`].
    fn needs_object(&self, header: &Header) -> bool;
    /// See [`Transform::handles`].
    fn handles(&self, root: &Node<'_>, settings: &AllSettings) -> bool;
    /// See [`Transform::handled_description`].
    fn handled_description(&self) -> &'static str;
    /// See [`Transform::report_misnamed`].
    fn report_misnamed(&self, header: &Header, settings: &AllSettings, findings: &mut Findings<'_>);
    /// See [`Transform::schema_kinds`].
    fn schema_kinds(&self) -> &'static [GroupKind];
    /// See [`Transform::codes`].
    fn codes(&self) -> &'static [&'static Code];
    /// See [`Transform::run`].
    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_, AllSettings>, out: &mut TransformOutput<'_>);
    /// See [`Transform::revisit`].
    fn revisit(&self, position: usize, set: &ObjectSet<'_, '_, AllSettings>, out: &mut TransformOutput<'_>);
    /// Returns the section of a `Render` document that the settings are read from, if there is one.
    fn section(&self) -> Option<SettingsSection>;
}

impl<T: Transform> AnyTransform for T {
    fn name(&self) -> &'static str {
        Transform::name(self)
    }

    fn kind(&self) -> (&'static str, &'static str) {
        Transform::kind(self)
    }

    fn has_group(&self, group: &str) -> bool {
        Transform::has_group(self, group)
    }

    fn version(&self, group: &str) -> &'static str {
        Transform::version(self, group)
    }

    fn configuration_kind(&self) -> Option<&'static str> {
        Transform::configuration_kind(self)
    }

    fn owns_groups(&self) -> bool {
        Transform::owns_groups(self)
    }

    fn needs_set(&self) -> bool {
        Transform::needs_set(self)
    }

    fn mark_groups(&self) -> &'static [ApiGroup] {
        Transform::mark_groups(self)
    }

    fn is_passed_on(&self, root: &Node<'_>) -> bool {
        Transform::is_passed_on(self, root)
    }

    fn check_patch(&self, kind: &str, root: &Node<'_>, findings: &mut Findings<'_>) {
        Transform::check_patch(self, kind, root, findings);
    }

    fn owner_annotation(&self) -> &'static str {
        Transform::owner_annotation(self)
    }

    fn change_annotation(&self) -> Option<&'static str> {
        Transform::change_annotation(self)
    }

    fn marker_texts(&self) -> &'static [&'static str] {
        Transform::marker_texts(self)
    }

    fn needs_object(&self, header: &Header) -> bool {
        Transform::needs_object(self, header)
    }

    fn handles(&self, root: &Node<'_>, settings: &AllSettings) -> bool {
        settings.with(|settings| Transform::handles(self, root, settings))
    }

    fn handled_description(&self) -> &'static str {
        Transform::handled_description(self)
    }

    fn report_misnamed(&self, header: &Header, settings: &AllSettings, findings: &mut Findings<'_>) {
        settings.with(|settings| Transform::report_misnamed(self, header, settings, findings));
    }

    fn schema_kinds(&self) -> &'static [GroupKind] {
        Transform::schema_kinds(self)
    }

    fn codes(&self) -> &'static [&'static Code] {
        Transform::codes(self)
    }

    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_, AllSettings>, out: &mut TransformOutput<'_>) {
        set.settings.with(|settings| Transform::run(self, object, &set.with_settings(settings), out));
    }

    fn revisit(&self, position: usize, set: &ObjectSet<'_, '_, AllSettings>, out: &mut TransformOutput<'_>) {
        set.settings.with(|settings| Transform::revisit(self, position, &set.with_settings(settings), out));
    }

    fn section(&self) -> Option<SettingsSection> {
        (!T::Settings::KEY.is_empty()).then(SettingsSection::from_settings::<T::Settings>)
    }
}
