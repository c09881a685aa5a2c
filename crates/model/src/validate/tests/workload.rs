//! Modes, roles, GPUs.

use super::{assert_fields, run, valid};
use kubefoundry_deployment::ir::{FieldOrigin, Leaf, Role, Worker, Workload};

const ROLE: &str = "{gpu: {count: 1}, memory: 64Gi}";

fn disaggregated(prefill: &str, decode: &str, rest: &str) -> String {
    format!(
        "engine: {{type: vllm}}\nserving: {{mode: disaggregated}}\nscaling:\n  prefill: {prefill}\n  decode: {decode}\n{rest}"
    )
}

#[test]
fn requires_gpus_for_gpu_engines() {
    for engine in ["vllm", "sglang", "trtllm"] {
        assert_fields(&[
            (&format!("engine: {{type: {engine}}}"), &["KF0202 4:1 spec.resources.gpu.count"]),
            (
                &format!("engine: {{type: {engine}}}\nresources: {{memory: 1Gi}}"),
                &["KF0202 6:3 spec.resources.gpu.count"],
            ),
            (
                &format!("engine: {{type: {engine}}}\nresources: {{gpu: {{count: 0}}}}"),
                &["KF0202 6:28 spec.resources.gpu.count"],
            ),
            (&format!("engine: {{type: {engine}}}\nresources: {{gpu: {{count: 1}}}}"), &[]),
        ]);
    }
    assert_fields(&[("engine: {type: llamacpp}", &[]), ("resources: {gpu: {count: 0}}", &[])]);
}

#[test]
fn checks_counts_and_quantities() {
    assert_fields(&[
        ("engine: {type: vllm}\nresources: {gpu: {count: -1}}", &["KF0116 6:28 spec.resources.gpu.count"]),
        ("scaling: {replicas: -1}", &["KF0116 5:23 spec.scaling.replicas"]),
        ("scaling: {replicas: 0}", &[]),
        (
            "resources: {memory: 64GB, cpu: \"0\"}",
            &["KF0118 5:23 spec.resources.memory", "KF0118 5:34 spec.resources.cpu"],
        ),
        ("resources: {gpu: {count: 1, type: nvidia}}", &["KF0117 5:37 spec.resources.gpu.type"]),
        (
            &disaggregated("{replicas: -2, gpu: {count: -3}, memory: -1Gi}", ROLE, ""),
            &[
                "KF0116 8:25 spec.scaling.prefill.replicas",
                "KF0116 8:42 spec.scaling.prefill.gpu.count",
                "KF0118 8:55 spec.scaling.prefill.memory",
            ],
        ),
    ]);
    let (_, diagnostics) = run(&super::document("resources: {memory: 64 GB}"));
    assert_eq!(diagnostics[0].help.as_deref(), Some("did you mean \"64G\"?"));
}

#[test]
fn requires_both_roles_in_disaggregated_mode() {
    assert_fields(&[
        (&disaggregated(ROLE, ROLE, ""), &[]),
        ("engine: {type: vllm}\nserving: {mode: disaggregated}", &["KF0204 4:1 spec.scaling"]),
        (&disaggregated(ROLE, "", ""), &["KF0204 7:3 spec.scaling"]),
        (
            &disaggregated("{}", "{gpu: {}, memory: \"\"}", ""),
            &[
                "KF0205 8:5 spec.scaling.prefill.gpu.count",
                "KF0231 8:5 spec.scaling.prefill.memory",
                "KF0205 9:14 spec.scaling.decode.gpu.count",
                "KF0231 9:31 spec.scaling.decode.memory",
            ],
        ),
        (&disaggregated("{gpu: {count: 0}, memory: 1Gi}", ROLE, ""), &["KF0202 8:28 spec.scaling.prefill.gpu.count"]),
        (
            "serving: {mode: disaggregated}\nscaling: {prefill: {gpu: {count: 0}, memory: 1Gi}, decode: {gpu: {count: 0}, memory: 1Gi}}",
            &[],
        ),
    ]);
}

#[test]
fn refuses_resources_in_disaggregated_mode() {
    assert_fields(&[
        (
            &disaggregated(ROLE, ROLE, "resources: {gpu: {count: 1}, memory: 1Gi, cpu: \"4\"}"),
            &[
                "KF0203 10:15 spec.resources.gpu",
                "KF0206 10:32 spec.resources.memory",
                "KF0206 10:45 spec.resources.cpu",
            ],
        ),
        (&disaggregated(ROLE, ROLE, "resources: {gpu: {}}"), &["KF0203 10:15 spec.resources.gpu"]),
    ]);
}

#[test]
fn ignores_scaling_of_the_other_mode() {
    assert_fields(&[
        (
            "scaling: {prefill: {replicas: 1}, decode: {}}",
            &["KF0211 5:13 spec.scaling.prefill", "KF0211 5:37 spec.scaling.decode"],
        ),
        (
            "engine: {type: vllm}\nserving: {mode: disaggregated}\nscaling: {replicas: 2, prefill: {gpu: {count: 1}, memory: 1Gi}, decode: {gpu: {count: 1}, memory: 1Gi}}",
            &["KF0211 7:13 spec.scaling.replicas"],
        ),
        // The default, which the CRD of this group writes into every object.
        (
            "engine: {type: vllm}\nserving: {mode: disaggregated}\nscaling: {replicas: 1, prefill: {gpu: {count: 1}, memory: 1Gi}, decode: {gpu: {count: 1}, memory: 1Gi}}",
            &[],
        ),
    ]);
}

#[test]
fn requires_one_gpu_vendor() {
    let role = |gpu_type: &str| format!("{{gpu: {{count: 1, type: {gpu_type}}}, memory: 1Gi}}");
    assert_fields(&[
        (&disaggregated(&role("nvidia.com/mig-1g.10gb"), ROLE, ""), &[]),
        (&disaggregated(&role("amd.com/gpu"), &role("amd.com/gpu"), ""), &[]),
        (&disaggregated(ROLE, &role("amd.com/gpu"), ""), &["KF0212 9:36 spec.scaling.decode.gpu.type"]),
        (&disaggregated(&role("gpu.intel.com/xe"), ROLE, ""), &["KF0212 8:37 spec.scaling.prefill.gpu.type"]),
    ]);
}

#[test]
fn applies_defaults() {
    let deployment = valid("resources: {memory: 1Gi, cpu: 500m}");
    assert_eq!(deployment.mode_origin, FieldOrigin::Defaulted);
    let Workload::Aggregated(worker) = deployment.workload else { panic!("aggregated") };
    assert_eq!(
        (worker.role, worker.replicas, worker.gpu_count),
        (Role::Aggregated, Leaf::defaulted(1), Leaf::defaulted(0))
    );
    assert_eq!(worker.gpu_type, Leaf::defaulted("nvidia.com/gpu".to_owned()));
    assert_eq!((worker.memory.as_deref(), worker.cpu.as_deref()), (Some("1Gi"), Some("500m")));
    let deployment = valid(&disaggregated("{replicas: 3, gpu: {count: 2}, memory: 1Gi}", ROLE, ""));
    assert_eq!(deployment.mode_origin, FieldOrigin::Written);
    let counts = |worker: &&Worker| (worker.replicas.value, worker.gpu_count.value);
    assert_eq!(deployment.workload.workers().iter().map(counts).collect::<Vec<_>>(), [(3, 2), (1, 1)]);
}
