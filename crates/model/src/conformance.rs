//! Conformance with the CRDs that are installed in the cluster: which version of a provider's CRDs is written, and
//! whether the rendered objects fit its schema.

use super::provider::Provider;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_transform::{GroupKind, InstalledSchemas, RunContext, SchemaCheck};
use kubefoundry_yaml::field_path::FieldPath;

/// Returns the kinds that a provider's CRDs define, sorted.
pub fn crd_kinds(provider: &dyn Provider) -> Vec<GroupKind> {
    let mut kinds: Vec<GroupKind> = provider.info().kinds.iter().map(|crd| (crd.group, crd.kind)).collect();
    kinds.sort_unstable();
    kinds
}

/// Chooses the CRD version to write: the one in the options, or the provider's first version that the cluster serves.
/// Returns `None` after reporting that the cluster serves none.
pub fn choose_crd_version(
    provider: &'static dyn Provider,
    context: &RunContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let first = provider.info().crd_versions.first().copied();
    let wanted =
        context.crd_versions.get(provider.name()).map(String::as_str).filter(|crd_version| *crd_version != "auto");
    let wanted = wanted.or_else(|| first.filter(|_| !context.schemas_choose_crd_version));
    let Some(schemas) = context.schemas else {
        // An unusable CRD dump already has an error. The default version lets the run find the other mistakes too.
        return wanted.or(first).map(str::to_owned);
    };
    let kinds = crd_kinds(provider);
    let served = match wanted {
        Some(crd_version) => Some(crd_version).filter(|crd_version| schemas.serves(&kinds, crd_version)),
        None => provider.info().crd_versions.iter().copied().find(|crd_version| schemas.serves(&kinds, crd_version)),
    };
    if served.is_none() {
        let expected = wanted.map_or_else(|| provider.info().crd_versions.join(" or "), str::to_owned);
        report_missing(provider, &expected, schemas, findings);
    }
    served.map(str::to_owned)
}

/// Checks the objects of a deployment against the installed schemas. Returns the schema fingerprint of the main object,
/// which is the last one.
pub(crate) fn check_manifests(
    manifests: &[Manifest],
    provider: &'static dyn Provider,
    schemas: &dyn InstalledSchemas,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let mut fingerprint = None;
    // Objects of the core group are not defined by CRDs.
    for manifest in manifests.iter().filter(|manifest| manifest.api_version.contains('/')) {
        match schemas.check(manifest, findings) {
            SchemaCheck::Checked(schema) => fingerprint = Some(schema),
            SchemaCheck::Unusable => {}
            SchemaCheck::NotInstalled => {
                let expected = format!("{} {}", manifest.api_version, manifest.kind);
                report_missing(provider, &expected, schemas, findings);
            }
        }
    }
    fingerprint
}

fn report_missing(
    provider: &'static dyn Provider,
    expected: &str,
    schemas: &dyn InstalledSchemas,
    findings: &mut Findings<'_>,
) {
    let name = FieldPath::from(ModelDeployment::path().spec().provider().name());
    let is_named = findings.scope().root.at(&name).is_some();
    let place = if is_named { name } else { ModelDeployment::path().spec().into() };
    let message = format!("Provider '{}' CRD not installed in cluster", provider.name());
    schemas.report_missing(&crd_kinds(provider), expected, &place, &message, findings);
}
