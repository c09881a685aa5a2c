//! Reads the inputs that the first deployment already needs: options, CRDs and provider configurations.

use std::collections::BTreeSet;

use crate::cluster_snapshot::nodes::read_nodes;
use crate::codes;
use crate::options::Options;
use crate::options::render;
use crate::reading::{self, report_failure};
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, Location};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::{Configuration, Trust};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// Reads the options of a run and appends their problems.
pub fn read_options(
    composition: &'static Composition,
    sources: &SourceSet,
    diagnostics: &mut Vec<Diagnostic>,
) -> Options {
    let has_crds = sources.iter().any(|(_, source)| source.purpose == Purpose::Crds);
    let mut options = Options { crds: has_crds, ..Options::new(composition) };
    apply_model_configs(sources, &mut options, diagnostics);
    apply_options(sources, &mut options, diagnostics);
    options.settings.fill_defaults(composition.sections());
    options.nodes = read_nodes(composition, sources, diagnostics);
    options
}

/// Applies every `config.json` of a model, before the options, which may override single facts.
fn apply_model_configs(sources: &SourceSet, options: &mut Options, diagnostics: &mut Vec<Diagnostic>) {
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::ModelConfig) {
        let Some(model) = &source.subject else { continue };
        let mut documents = reading::Documents::new(options.composition, source, &yaml::Limits::default());
        for document in documents.by_ref() {
            let (text, root) = (source.text.as_str(), &document.root);
            let scope = DocumentScope { source: id, text, document: document.index, root, object: None };
            let mut findings = Findings::new(scope);
            for problem in &document.problems {
                report_failure(problem, &mut findings);
            }
            for section in options.composition.sections().filter(|section| section.uses_model_configs) {
                let trust = if source.is_found { Trust::Found } else { Trust::Named };
                options.settings.read_model_config(&section, model, root, trust, &mut findings);
            }
            diagnostics.extend(findings.into_diagnostics());
        }
        diagnostics.extend(reading::failure_diagnostics(id, &source.text, 0, &documents.into_failures()));
    }
}

/// Reads the CRDs of the input. Returns `None` if it has none or some are invalid, whose problems are appended.
pub(crate) fn read_crds<'s>(
    sources: &'s SourceSet,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Crds<'s>> {
    options.crds.then(|| Crds::from_sources(sources, options.composition.crd_kinds())).and_then(
        |(crds, mut problems)| {
            // With an unreadable CRD it is unknown what is installed.
            let is_usable = problems.is_empty();
            diagnostics.append(&mut problems);
            is_usable.then_some(crds)
        },
    )
}

/// Applies every text with options. Later texts override earlier ones.
fn apply_options(sources: &SourceSet, options: &mut Options, diagnostics: &mut Vec<Diagnostic>) {
    let mut has_named_policy = false;
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Options) {
        let mut documents = reading::Documents::new(options.composition, source, &yaml::Limits::default());
        let mut is_empty = true;
        for document in documents.by_ref() {
            is_empty = false;
            let scope = DocumentScope {
                source: id,
                text: &source.text,
                document: document.index,
                root: &document.root,
                object: None,
            };
            let mut findings = Findings::new(scope);
            for problem in &document.problems {
                report_failure(problem, &mut findings);
            }
            if source.is_found {
                options.apply_found(&document.root, source.is_added, &mut findings);
            } else {
                has_named_policy |= document.root.get("policy").is_some();
                options.apply(&document.root, &mut findings);
            }
            diagnostics.extend(findings.into_diagnostics());
        }
        let failures = documents.into_failures();
        if is_empty && failures.is_empty() {
            // An empty options file is probably a mistake, such as a substitution without a result or an unsaved file.
            let message = format!("the file has no options, expected a Render of {}", render::API_VERSION);
            let mut finding = Diagnostic::new(&codes::INVALID_OPTION, message);
            finding.location = Some(Location::from_source(id));
            diagnostics.push(finding);
        }
        diagnostics.extend(reading::failure_diagnostics(id, &source.text, 0, &failures));
    }
    if has_named_policy {
        // A policy that the user names replaces that of a file beside the input, which is not a mistake then.
        diagnostics.retain(|diagnostic| diagnostic.code.id != codes::POLICY_FROM_INPUT.id);
    }
}

/// Reads the provider configurations in options. Returns the options that have any, valid or not.
pub(crate) fn configure_inline(
    configuration: &mut dyn Configuration,
    sources: &SourceSet,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeSet<SourceId> {
    let mut configured = BTreeSet::new();
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Options) {
        let parsed = yaml::parse(&source.text, &options.limits);
        for document in &parsed.documents {
            let providers = document.root.get("providers").map(yaml::Node::items).unwrap_or_default();
            for (position, provider) in providers.iter().enumerate() {
                configured.insert(id);
                let (text, root) = (source.text.as_str(), &document.root);
                let object = Some(Header::from_node(provider).object());
                let scope = DocumentScope { source: id, text, document: document.index, root, object };
                let mut findings = Findings::new(scope);
                let path = FieldPath::parse("providers").index(position);
                if check_provider_config(options.composition, provider, &path, &mut findings) {
                    configuration.read(&path, &mut findings);
                }
                diagnostics.extend(findings.into_diagnostics());
            }
        }
    }
    configured
}

/// Checks the `apiVersion` and `kind` of an inline configuration. Returns whether they are right.
fn check_provider_config(
    composition: &Composition,
    node: &yaml::Node<'_>,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> bool {
    let header = Header::from_node(node);
    let is_config = composition.configured_by(&header).is_some();
    if !is_config {
        let (version, kind) = (&header.api_version, &header.kind);
        let message = format!(
            "{path} is a {kind:?} of {version:?}, expected an InferenceProviderConfig of kubefoundry.ai/v1alpha1"
        );
        findings.report(&codes::INVALID_OPTION, path, message);
    }
    is_config
}
