//! `--cluster`: the nodes of a cluster.

use crate::sandbox::{PINNED, Sandbox};

/// A model that asks for `gpus` GPUs on the nodes of a pool.
fn model(gpus: u32) -> String {
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: a}}\nspec:\n  model: {{id: \
         meta-llama/Llama-3.3-70B-Instruct}}\n  secrets: {{huggingFaceToken: token}}\n  engine: {{type: vllm, \
         contextLength: 8192}}\n  nodeSelector: {{pool: l4}}\n  resources: {{gpu: {{count: {gpus}}}}}\n"
    )
}

const NODES: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {
    "name": "gpu-a", "labels": {"pool": "l4", "nvidia.com/gpu.product": "NVIDIA-L4"}},
    "status": {"allocatable": {"cpu": "47", "memory": "180Gi", "nvidia.com/gpu": "4"}}}]}"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new().with("m/a.yaml", model(4)).with("big.yaml", model(8)).with("o.yaml", PINNED);
    sandbox.with("m/kubefoundry.yaml", PINNED).with("dump/nodes.json", NODES)
}

/// The nodes tell the GPU: a 70B model does not fit four L4. Every command that renders finds it.
#[test]
fn nodes_tell_the_gpu() {
    let sandbox = sandbox();
    sandbox.run(&["lint", "m"]).exits(0);
    for command in ["lint", "render", "explain", "images"] {
        for dump in ["dump", "dump/nodes.json"] {
            let ran = sandbox.run(&[command, "m", "--cluster", dump]).exits(1);
            let found = [ran.out, ran.err].concat();
            assert!(found.contains("KF0320") && found.contains("NVIDIA-L4 (nodes of the cluster)"), "{found}");
        }
    }
    let ran = sandbox.pipe(&["lint", "m", "--cluster", "-"], NODES).exits(1);
    assert!(ran.out.contains("KF0320"), "{}", ran.out);
}

/// The nodes belong to the new side of a plan: the old side runs already.
#[test]
fn nodes_apply_to_the_new_side_of_a_plan() {
    let sandbox = sandbox().with("small.yaml", model(4).replace("Llama-3.3-70B", "Llama-3.2-1B"));
    let plan = |old: &str, new: &str| {
        sandbox.run(&["plan", old, new, "--config", "o.yaml", "--cluster", "dump", "--diagnostics", "concise"])
    };
    plan("m/a.yaml", "small.yaml").exits(0);
    let ran = plan("small.yaml", "m/a.yaml");
    assert!(ran.err.contains("KF0320"), "{}", ran.err);
    let ran = plan("small.yaml", "big.yaml").exits(0);
    assert!(ran.err.contains("KF0225") && ran.err.contains("offers 4 nvidia.com/gpu"), "{}", ran.err);
}

/// A worker on two nodes needs room for two pods, on one node or on two.
#[test]
fn a_worker_on_several_nodes_needs_room_for_all_its_pods() {
    let on_two = |gpus: u32| model(gpus).replace("}}\n", "}, nodes: 2}\n");
    let sandbox = sandbox().with("two.yaml", on_two(4)).with("halves.yaml", on_two(2));
    let lint = |file: &str| sandbox.run(&["lint", file, "--config", "o.yaml", "--cluster", "dump"]).out;
    let found = lint("two.yaml");
    assert!(found.contains("KF0225") && found.contains("can run only 1 of the 2 pods"), "{found}");
    assert!(!lint("halves.yaml").contains("KF0225"), "{}", lint("halves.yaml"));
}

/// A dump that cannot be used is wrong usage, and so is standard input that is read for two things.
#[test]
fn unusable_nodes_are_wrong_usage() {
    let sandbox = sandbox().with("pods.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n");
    let ran = sandbox.run(&["render", "m", "--cluster", "pods.yaml"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0806]"), "{}", ran.err);
    let ran = sandbox.run(&["render", "m", "--cluster", "none.yaml"]).exits(2);
    assert!(ran.err.contains("none.yaml"), "{}", ran.err);
    for arguments in [
        &["lint", "-", "--cluster", "-"][..],
        &["lint", "m", "--crds", "-", "--cluster", "-"],
        &["plan", "-", "m", "--cluster", "-"],
        &["plan", "m", "m/a.yaml", "--crds", "-", "--cluster", "-"],
    ] {
        let ran = sandbox.pipe(arguments, NODES).exits(2);
        assert!(ran.err.contains("standard input is used twice"), "{arguments:?}: {}", ran.err);
    }
}
