//! The partition of a replica: a slice of a GPU, or some of the GPUs of a node.
//!
//! KAITO's webhook checks it (api/v1beta1/workspace_validation.go, `validateCreateWithInference` and
//! `validatePartition`). The feature gates `enableMIG` and `enableAccelerator`, which KAITO needs, are not in the options.

use super::codes::PARTITION_REFUSED;
use super::manifests::Partition;
use super::overrides::{self, Overrides, PartitionMode};
use super::settings::KaitoInstallation;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_provider::TranslationContext;
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// The key of the partition in the overrides.
const PARTITION: &str = "partition";

/// Returns the partition of a replica. Reports one that KAITO rejects.
pub(super) fn choose_partition(
    deployment: &Deployment,
    overrides: &Overrides,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<Partition> {
    let written = overrides.partition.as_ref()?;
    let path = || overrides::path().partition();
    let mode = written.mode?;
    let provisions = context.settings.with(|kaito: &KaitoInstallation| kaito.node_auto_provisioning) == Some(true);
    if provisions || overrides.instance_type.is_some() {
        let message = format!("{} is for nodes that exist: KAITO provisions nodes without partitions", path());
        let finding = findings.report(&PARTITION_REFUSED, FieldRef::key(&path().into()), message);
        finding.help(format!(
            "for nodes that exist, remove {} and set the option kaito.nodeAutoProvisioning: false; or remove the partition",
            overrides::path().instance_type()
        ));
    }
    let (needed, foreign, has_foreign) = match mode {
        PartitionMode::Mig => (FieldPath::from(path().profile()), path().count().into(), written.count.is_some()),
        PartitionMode::Accelerator => (path().count().into(), path().profile().into(), written.profile.is_some()),
    };
    if !is_written(deployment, &needed) {
        let help = match mode {
            PartitionMode::Mig => "set it to the profile of a slice, such as 1g.10gb",
            PartitionMode::Accelerator => "set it to the number of GPUs of a replica",
        };
        findings
            .report(&PARTITION_REFUSED, &needed, format!("{needed} is required for the mode {}", mode.as_str()))
            .help(help);
    }
    if has_foreign {
        findings
            .report(
                &PARTITION_REFUSED,
                FieldRef::key(&foreign),
                format!("{foreign} does not exist in the mode {}", mode.as_str()),
            )
            .help("remove it");
    }
    let count = written.count.and_then(|count| u32::try_from(count).ok());
    Some(Partition { mode: mode.as_str(), profile: written.profile.clone(), count })
}

/// Returns whether a field of the partition is written, even with a value that cannot be read, which is reported.
fn is_written(deployment: &Deployment, path: &FieldPath) -> bool {
    let overrides = deployment.provider.overrides.as_ref();
    let partition = overrides.and_then(|overrides| overrides.get(PARTITION));
    let key = path.segments().last().and_then(Segment::as_key);
    partition
        .zip(key)
        .and_then(|(partition, key)| partition.get(key))
        .is_some_and(|node| node.value != Value::Null && node.as_str() != Some(""))
}
