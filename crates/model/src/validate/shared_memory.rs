//! Validation of the size of `/dev/shm`.

use std::cmp::Ordering;

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Amount, Volume, Workload};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::quantity;

/// Checks the size against the memory limits of the workers, and that no volume takes its place.
///
/// A tmpfs counts towards the memory of the container that writes to it, so a worker that fills one of the size of its limit
/// is killed (Kubernetes, Volumes: emptyDir with medium Memory).
pub(super) fn check_shared_memory(size: &str, workload: &Workload, volumes: &[Volume], check: &mut Checker<'_, '_>) {
    let path = ModelDeployment::path().spec().resources().shared_memory();
    for worker in workload.workers() {
        let Some(Amount { quantity: memory, path: limit, .. }) = worker.memory_limit() else { continue };
        if !matches!(quantity::compare(size, memory), Some(Ordering::Greater | Ordering::Equal)) {
            continue;
        }
        let message = format!(
            "{path} is {size}, and {limit} is {memory}: a worker is killed before it fills its shared memory, which \
             counts towards the limit"
        );
        check
            .findings
            .report(&codes::LARGE_SHARED_MEMORY, &path, message)
            .related(limit, "the memory limit")
            .help(format!("raise {limit} above the size of the shared memory and what the engine itself needs"));
    }
    let mount = volumes.iter().position(|volume| volume.mount_path.value.trim_end_matches('/') == "/dev/shm");
    if let Some(index) = mount {
        let volume = ModelDeployment::path().spec().model().storage().volumes().index(index).mount_path();
        let message = format!("{volume} is /dev/shm, but {path} sizes another volume there");
        check
            .findings
            .report(&codes::INVALID_VOLUME, &volume, message)
            .help("mount the volume elsewhere, or remove it");
    }
}
