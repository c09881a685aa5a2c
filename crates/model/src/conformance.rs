//! What is installed in the cluster, as far as a deployment depends on it: which version of a provider's CRDs is written,
//! and whether its objects fit them.

use super::provider::Provider;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_transform::{GroupKind, InstalledSchemas, RunContext, SchemaCheck};
use kubefoundry_yaml::field_path::FieldPath;

/// The kinds of a provider's own objects: those whose behavior on change it describes, without the built-in ones.
pub fn crd_kinds(provider: &dyn Provider) -> Vec<GroupKind> {
    let mut kinds: Vec<GroupKind> = provider.info().kinds.iter().map(|own| (own.group, own.kind)).collect();
    kinds.sort_unstable();
    kinds
}

/// The CRD version to write: as the options say, or the first of the provider's that is served. `None` means that findings
/// say why there is none.
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
        // With a dump that cannot be used nothing comes out; the default finds what else is wrong.
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

/// Checks the objects of a deployment, the main one last, and returns the fingerprint of its schema.
pub(crate) fn check(
    manifests: &[Manifest],
    provider: &'static dyn Provider,
    schemas: &dyn InstalledSchemas,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let mut fingerprint = None;
    // Objects of the core group are not defined by CRDs.
    for manifest in manifests.iter().filter(|manifest| manifest.api_version.contains('/')) {
        match schemas.check(manifest, findings) {
            SchemaCheck::Checked(checked) => fingerprint = Some(checked),
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
