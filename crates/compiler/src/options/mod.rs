//! The options of a run, resolved from any number of [`render::Render`] documents.

mod input_options;
mod policy;
pub mod render;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::input_options::{FILE_NAME, InputOptions};
use self::render::{CodeSeverity, OutputMode, Render, SeverityOrOff};
use crate::codes;
use crate::registry;
use kubefoundry_diagnostics::{Attribute, Diagnostic, FieldRef, Findings, Severity};
use kubefoundry_kubernetes::cluster_node::ClusterNode;
use kubefoundry_kubernetes::image::image_reference;
use kubefoundry_kubernetes::pod_security::PodPolicy;
use kubefoundry_kubernetes::wire::Reader;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::{Provider, RuntimeMatch};
use kubefoundry_transform::{AllSettings, Trust, refuse_found};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, one_of};

/// The options of a run, and the composition of the program, whose providers and transformations have sections of their own
/// in them.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the Render kind")]
pub struct Options {
    /// The providers and transformations of the program.
    pub composition: &'static Composition,
    /// Whether CRDs are given, from which CRD versions can be chosen.
    pub crds: bool,
    /// The nodes of the cluster, if they are given.
    pub nodes: Option<Arc<[ClusterNode]>>,
    /// CRD version by provider name. When it is absent or `auto`, the dump of CRDs decides.
    pub crd_versions: BTreeMap<String, String>,
    /// Runtime version by provider name.
    pub runtimes: BTreeMap<String, String>,
    /// Image prefixes and their replacements.
    pub images: Vec<(String, String)>,
    /// What pods may do.
    pub policy: PodPolicy,
    /// Settings from the sections of providers and transformations.
    pub settings: AllSettings,
    /// Which objects are printed. `None` leaves the default to the front end.
    pub output: Option<OutputMode>,
    /// Whether objects that are no longer generated are removed.
    pub prune: bool,
    /// Whether ownerReferences are set.
    pub owner_references: bool,
    /// Whether an input without a ModelDeployment is accepted.
    pub allow_empty: bool,
    /// Whether warnings are reported as errors.
    pub strict: bool,
    /// Limits on the size and nesting of documents.
    pub limits: yaml::Limits,
    /// Limits on the CEL expressions of selection rules.
    pub rule_limits: kubefoundry_cel::Limits,
    /// Severity by code id; `None` turns a code off.
    pub severities: BTreeMap<&'static str, Option<Severity>>,
}

impl Options {
    /// Creates the options of a run without any `Render` document.
    pub fn new(composition: &'static Composition) -> Self {
        Self {
            composition,
            crds: false,
            nodes: None,
            crd_versions: BTreeMap::new(),
            runtimes: BTreeMap::new(),
            images: Vec::new(),
            policy: PodPolicy::default(),
            settings: AllSettings::default(),
            output: None,
            prune: false,
            owner_references: false,
            allow_empty: false,
            strict: false,
            limits: yaml::Limits::default(),
            rule_limits: kubefoundry_cel::Limits::default(),
            severities: BTreeMap::new(),
        }
    }

    /// Applies a `Render` document that was found beside the input, like [`Options::apply`]. The authors of the input may
    /// have written it too, so it cannot set the policy, and what it sets may only tighten what applies.
    /// With `is_added`, the change that is judged brings the document, which then lowers no severity.
    pub fn apply_found(&mut self, root: &yaml::Node<'_>, is_added: bool, findings: &mut Findings<'_>) {
        let policy = std::mem::take(&mut self.policy);
        let strict = self.strict;
        self.apply_trusted(root, if is_added { Trust::Added } else { Trust::Found }, findings);
        self.strict |= is_added && strict;
        self.policy = policy;
        policy::refuse_policy(root, findings);
        input_options::refuse_restricted(root, findings);
    }

    /// Applies a `Render` document over the options so far: its fields win. Reports each field that is invalid.
    pub fn apply(&mut self, root: &yaml::Node<'_>, findings: &mut Findings<'_>) {
        self.apply_trusted(root, Trust::Named, findings);
    }

    fn apply_trusted(&mut self, root: &yaml::Node<'_>, trust: Trust, findings: &mut Findings<'_>) {
        let mut reader = Reader { renamed_fields: render::RENAMED_FIELDS, ..Reader::strict(findings) };
        let Some(render) = Render::read_except(root, &FieldPath::root(), &self.composition.section_keys(), &mut reader)
        else {
            return;
        };
        let is_render =
            render.api_version.as_deref() == Some(render::API_VERSION) && render.kind.as_deref() == Some("Render");
        if !is_render {
            let expected = format!("expected apiVersion {} and kind Render", render::API_VERSION);
            findings.report(&codes::INVALID_OPTION, &FieldPath::root(), format!("these are not options, {expected}"));
            return;
        }
        for (name, crd_version) in render.crd_versions.unwrap_or_default().0 {
            let path = FieldPath::parse("crdVersions").key(name.clone());
            if let Some(provider) = check_provider_name(self.composition, &name, &path, findings)
                && check_known_value(&crd_version, "auto", provider.info().crd_versions, &path, findings)
                && self.check_can_choose(&crd_version, &path, findings)
            {
                self.crd_versions.insert(name, crd_version);
            }
        }
        for (name, version) in render.runtimes.unwrap_or_default().0 {
            let path = FieldPath::parse("runtimes").key(name.clone());
            if let Some(provider) = check_provider_name(self.composition, &name, &path, findings)
                && check_runtime(&version, provider, &path, findings)
            {
                self.runtimes.insert(name, version);
            }
        }
        for (prefix, replacement) in render.images.unwrap_or_default().0 {
            let path = FieldPath::parse("images").key(prefix.clone());
            let check_name = |text: &str| image_reference(text.strip_suffix('/').unwrap_or(text));
            if let Err(expected) = check_name(&prefix).and_then(|()| check_name(&replacement)) {
                let message = format!("{path} is {replacement:?}, expected image names on both sides: {expected}");
                findings.report(&codes::INVALID_OPTION, &path, message);
                continue;
            }
            self.images.retain(|(known, _)| *known != prefix);
            self.images.push((prefix, replacement));
        }
        for section in self.composition.sections() {
            if let Some(node) = root.get(section.field.key).filter(|node| node.value != yaml::Value::Null) {
                self.settings.read(&section, node, trust, findings);
            }
        }
        if let Some(policy) = render.policy {
            policy::apply_policy(&mut self.policy, policy, findings);
        }
        self.output = render.output.or(self.output);
        self.prune = render.prune.unwrap_or(self.prune);
        self.owner_references = render.owner_references.unwrap_or(self.owner_references);
        self.allow_empty = render.allow_empty.unwrap_or(self.allow_empty);
        self.strict = render.strict.unwrap_or(self.strict);
        if let Some(limits) = render.limits {
            self.apply_limits(&limits, trust, findings);
        }
        let mut seen_codes = Vec::new();
        for (name, CodeSeverity(severity)) in render.severities.unwrap_or_default().0 {
            self.apply_severity(&name, severity, trust, &mut seen_codes, findings);
        }
    }

    /// Applies limits, whose range the reader has checked. A file that was found may only lower them.
    fn apply_limits(&mut self, limits: &render::Limits, trust: Trust, findings: &mut Findings<'_>) {
        let mut set = |value: Option<i64>, field: &'static str, limit: &mut usize| {
            let Some(value) = value.and_then(|value| usize::try_from(value).ok()) else { return };
            if trust != Trust::Named && value > *limit {
                let path = FieldPath::parse("limits").key(field);
                refuse_found(&path, &format!("raises the limit from {limit} to {value}"), findings);
            } else {
                *limit = value;
            }
        };
        set(limits.documents, "documents", &mut self.limits.documents);
        set(limits.document_bytes, "documentBytes", &mut self.limits.document_bytes);
        set(limits.nodes, "nodes", &mut self.limits.nodes);
        set(limits.depth, "depth", &mut self.limits.depth);
        set(limits.alias_nodes, "aliasNodes", &mut self.limits.alias_nodes);
        set(limits.rule_bytes, "ruleBytes", &mut self.rule_limits.expression_bytes);
        let mut steps = usize::try_from(self.rule_limits.steps).unwrap_or(usize::MAX);
        set(limits.rule_steps, "ruleSteps", &mut steps);
        self.rule_limits.steps = u64::try_from(steps).unwrap_or(u64::MAX);
    }

    /// Reports `auto` when there is no dump of CRDs to choose from. Returns whether the version can be used.
    fn check_can_choose(&self, crd_version: &str, path: &FieldPath, findings: &mut Findings<'_>) -> bool {
        let is_resolvable = crd_version != "auto" || self.crds;
        if !is_resolvable {
            let message = format!("{path} is auto, which needs CRDs to choose from");
            findings
                .report(&codes::INVALID_OPTION, path, message)
                .help("pass one with --crds, or set it to the version that the cluster serves");
        }
        is_resolvable
    }

    /// Applies one entry of `severities`. `seen_codes` are those of the earlier entries, by id.
    fn apply_severity(
        &mut self,
        name: &str,
        severity: SeverityOrOff,
        trust: Trust,
        seen_codes: &mut Vec<&'static str>,
        findings: &mut Findings<'_>,
    ) {
        let path = FieldPath::parse("severities").key(name.to_owned());
        let Some(code) = registry::code(self.composition, name) else {
            let reported = findings.report(
                &codes::INVALID_OPTION,
                FieldRef::key(&path),
                format!("there is no diagnostic {name:?}, expected a code or its name"),
            );
            if let Some(meant) = closest(name, registry::codes(self.composition).map(|code| code.name)) {
                reported.help(format!("did you mean {meant:?}?"));
            }
            return;
        };
        if seen_codes.contains(&code.id) {
            let message = format!("{} is set twice, by its code and by its name", code.id);
            findings.report(&codes::INVALID_OPTION, FieldRef::key(&path), message);
            return;
        }
        seen_codes.push(code.id);
        let severity = match severity {
            SeverityOrOff::Error => Some(Severity::Error),
            SeverityOrOff::Warning => Some(Severity::Warning),
            SeverityOrOff::Info => Some(Severity::Info),
            SeverityOrOff::Off => None,
        };
        if code.severity == Severity::Error && severity != Some(Severity::Error) {
            findings
                .report(
                    &codes::INVALID_OPTION,
                    &path,
                    format!("{} is an error, and its severity cannot be changed", code.id),
                )
                .help("remove the entry: only warnings and infos can be changed");
            return;
        }
        let applies = self.severities.get(code.id).copied().unwrap_or(Some(code.severity));
        let is_hidden = severity.is_none_or(|severity| applies.is_some_and(|applies| severity > applies));
        if trust != Trust::Named && code.has(Attribute::NotJudged) && is_hidden {
            return refuse_found(&path, "hides what was not judged", findings);
        }
        if trust == Trust::Added && is_hidden {
            return;
        }
        self.severities.insert(code.id, severity);
    }

    /// Applies severities and `strict` to a diagnostic. Returns `None` when its code is off. With `strict`, what was not
    /// judged is an error whatever its severity is.
    pub fn adjust(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        if self.strict && diagnostic.code.has(Attribute::NotJudged) {
            diagnostic.severity = Severity::Error;
            return Some(diagnostic);
        }
        if let Some(severity) = self.severities.get(diagnostic.code.id) {
            diagnostic.severity = (*severity)?;
        }
        if self.strict && diagnostic.severity == Severity::Warning {
            diagnostic.severity = Severity::Error;
        }
        Some(diagnostic)
    }
}

/// Finds a provider by name, or reports that there is none.
fn check_provider_name(
    composition: &Composition,
    name: &str,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> Option<&'static dyn Provider> {
    let provider = composition.find_provider(name);
    if provider.is_none() {
        let names: Vec<&str> = composition.providers().iter().map(|provider| provider.name()).collect();
        let reported = findings.report(
            &codes::INVALID_OPTION,
            FieldRef::key(path),
            format!("{path} is not a provider of kubefoundry, expected {}", one_of(&names)),
        );
        if let Some(meant) = closest(name, names.iter().copied()) {
            reported.help(format!("did you mean {meant:?}?"));
        }
    }
    provider
}

/// Reports a runtime version that cannot be used, or whose facts are only those of an older one. Returns whether it can
/// be used.
fn check_runtime(
    version: &str,
    provider: &'static dyn Provider,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> bool {
    let runtimes = provider.info().runtimes;
    match provider.info().find_runtime(version) {
        Some((_, RuntimeMatch::Same)) => true,
        Some((nearest, RuntimeMatch::NearestOlder)) => {
            let message = format!(
                "{path} is {version}, which this version of kubefoundry does not know; engine flags are checked and \
                 written as for {nearest}"
            );
            findings
                .report(&codes::UNKNOWN_RUNTIME, path, message)
                .help("upgrade kubefoundry, or check the flags against the release notes of the runtime");
            true
        }
        Some((_, RuntimeMatch::Oldest)) | None => check_known_value(version, "", runtimes, path, findings),
    }
}

/// Reports a value that is neither one of `known` nor `extra`. Returns whether it is one of them. An empty `extra`
/// allows no further value.
fn check_known_value(value: &str, extra: &str, known: &[&str], path: &FieldPath, findings: &mut Findings<'_>) -> bool {
    let is_known = known.contains(&value) || (!extra.is_empty() && value == extra);
    if !is_known {
        let mut allowed = known.to_vec();
        if !extra.is_empty() {
            allowed.push(extra);
        }
        let expected = if allowed.is_empty() {
            "no entry: this provider has no versions to choose from".to_owned()
        } else {
            one_of(&allowed)
        };
        findings.report(&codes::INVALID_OPTION, path, format!("{path} is {value:?}, expected {expected}"));
    }
    is_known
}
