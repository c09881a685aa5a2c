//! Conformance with the CRDs that are installed in the cluster: which version of a provider's CRDs is written, and
//! whether the rendered objects fit its schema.

use super::gateway;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::header::{group_of, is_builtin_group};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_provider::{ObjectKind, Provider};
use kubefoundry_transform::{GroupKind, InstalledSchemas, PatchedObject, RunContext, SchemaCheck};
use kubefoundry_yaml::field_path::FieldPath;

/// Returns the kinds that a provider's CRDs define, sorted.
pub fn crd_kinds(provider: &dyn Provider) -> Vec<GroupKind> {
    let mut kinds: Vec<GroupKind> =
        provider.info().kinds.iter().filter(|kind| kind.is_custom()).map(ObjectKind::group_kind).collect();
    kinds.sort_unstable();
    kinds
}

/// Chooses the CRD version to write: the one in the options; or the one that the cluster stores, or else the provider's
/// first that it serves; or, where the cluster's CRDs are unknown or none defines its kinds, the default for the
/// runtime. Returns `None` after reporting that the cluster serves none.
pub fn choose_crd_version(
    provider: &'static dyn Provider,
    context: &RunContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let info = provider.info();
    let default = info.default_crd_version(context.runtimes.get(provider.name()).map(String::as_str));
    let wanted =
        context.crd_versions.get(provider.name()).map(String::as_str).filter(|crd_version| *crd_version != "auto");
    let wanted = wanted.or_else(|| default.filter(|_| !context.schemas_choose_crd_version));
    let kinds = crd_kinds(provider);
    let Some(schemas) = context.schemas.filter(|_| !kinds.is_empty()) else {
        // An unusable CRD dump already has an error. The default version lets the run find the other mistakes too.
        return wanted.or(default).map(str::to_owned);
    };
    let served = if let Some(crd_version) = wanted {
        Some(crd_version).filter(|crd_version| schemas.serves(&kinds, crd_version))
    } else {
        let stored = schemas.stored_version(&kinds);
        let stored = info.crd_versions.iter().copied().find(|known| stored.as_deref() == Some(*known));
        stored.or_else(|| info.crd_versions.iter().copied().find(|version| schemas.serves(&kinds, version)))
    };
    if served.is_none() {
        let expected = wanted.map_or_else(|| provider.info().crd_versions.join(" or "), str::to_owned);
        report_missing(provider, None, &expected, schemas, findings);
    }
    served.map(str::to_owned)
}

/// Checks the objects of a deployment against the installed schemas. Returns the schema fingerprint of the main object,
/// which is the last one.
pub(crate) fn check_manifests(
    manifests: &[Manifest],
    patched: &[PatchedObject],
    provider: &'static dyn Provider,
    schemas: &dyn InstalledSchemas,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let mut fingerprint = None;
    // No CRD defines the kinds of Kubernetes itself.
    let is_custom = |manifest: &Manifest| !is_builtin_group(group_of(&manifest.api_version));
    for (position, manifest) in manifests.iter().enumerate().filter(|(_, manifest)| is_custom(manifest)) {
        let patched = patched.iter().find(|patched| patched.position == position);
        match schemas.check(manifest, patched, findings) {
            SchemaCheck::Checked(schema) => fingerprint = Some(schema),
            SchemaCheck::Unusable => {}
            SchemaCheck::NotInstalled => {
                let expected = format!("{} {}", manifest.api_version, manifest.kind);
                if let Some(kind) = gateway::KINDS.iter().find(|kind| kind.kind == manifest.kind) {
                    let place = ModelDeployment::path().spec().gateway().into();
                    let message = format!("CRD of {} is not installed in the cluster", kind.kind);
                    schemas.report_missing(&[kind.group_kind()], &expected, &place, &message, findings);
                    continue;
                }
                report_missing(provider, Some(&manifest.kind), &expected, schemas, findings);
            }
        }
    }
    fingerprint
}

/// Reports that the CRDs of a provider are not installed, or only that of one kind, which the message then names.
fn report_missing(
    provider: &'static dyn Provider,
    kind: Option<&str>,
    expected: &str,
    schemas: &dyn InstalledSchemas,
    findings: &mut Findings<'_>,
) {
    let name = FieldPath::from(ModelDeployment::path().spec().provider().name());
    let is_named = findings.scope().root.at(&name).is_some();
    let place = if is_named { name } else { ModelDeployment::path().spec().into() };
    let mut message = format!("Provider '{}' CRD not installed in cluster", provider.name());
    if let Some(kind) = kind {
        message = format!("{message}: {kind}");
    }
    schemas.report_missing(&crd_kinds(provider), expected, &place, &message, findings);
}
