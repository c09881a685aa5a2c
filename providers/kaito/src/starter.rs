//! The fields that a first deployment on KAITO needs: which nodes it runs on, and an image where there is no preset.

use kubefoundry_transform::TransformSettings as _;
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Value, json};

use super::settings::{KaitoInstallation, KaitoSettings};
use kubefoundry_deployment::ir::EngineType;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_engines::{flags, profile};
use kubefoundry_provider::starter::{Starter, StarterField, StarterRequest};

const NODES: &str = "Whether KAITO provisions nodes. With false, models run on nodes that the cluster has. With true, every model \
                     names an instance type in spec.provider.overrides.instanceType, and needs no nodeSelector.";
const SELECTOR: &str = "The nodes on which the model runs. KAITO's webhook looks at all of them and rejects the model if one has no \
                        GPUs, or if their GPUs differ. NVIDIA's GPU feature discovery sets this label on nodes with GPUs.";
const VLLM_IMAGE: &str =
    "The image of vLLM. Without an image, KAITO runs a preset on one GPU, or on all GPUs of an instance type.";
const LLAMACPP_IMAGE: &str =
    "The image of llama.cpp, which has no default. Write the digest of the one that you have tested.";

/// llama.cpp's server for CPUs, as its project publishes it.
const LLAMACPP_CPU_IMAGE: &str = "ghcr.io/ggml-org/llama.cpp:server";

/// Returns the fields that a first deployment needs on KAITO.
pub(super) fn starter(request: StarterRequest) -> Starter {
    let field = |path: FieldPath, value: Value, comment| StarterField { path, value, comment };
    let section = FieldPath::root().with_key(KaitoInstallation::KEY);
    let nodes =
        FieldPath::from(kubefoundry_kubernetes::wire::typed_path::<KaitoSettings>(&section).node_auto_provisioning());
    let spec = || ModelDeployment::path().spec();
    let image = |image: String, comment| field(spec().image().into(), image.into(), comment);
    let newest = |engine| flags::tables_by_version(profile(engine).table).last().map(|(version, _)| version);
    let deployment = match (request.engine, request.gpus) {
        (EngineType::Llamacpp, 0) => vec![image(LLAMACPP_CPU_IMAGE.to_owned(), LLAMACPP_IMAGE)],
        (EngineType::Llamacpp, _) => {
            let example = profile(EngineType::Llamacpp).examples.image;
            example.map(|example| image(example.to_owned(), LLAMACPP_IMAGE)).into_iter().collect()
        }
        // A preset uses the GPUs of its node, whatever the deployment counts.
        (EngineType::Vllm, 2..) => {
            let version = newest(EngineType::Vllm);
            version.map(|version| image(format!("vllm/vllm-openai:v{version}"), VLLM_IMAGE)).into_iter().collect()
        }
        (EngineType::Vllm, _) => {
            vec![field(spec().node_selector().into(), json!({"nvidia.com/gpu.present": "true"}), SELECTOR)]
        }
        // KAITO refuses the other engines, which the compilation reports.
        _ => Vec::new(),
    };
    Starter { deployment, options: vec![field(nodes, false.into(), NODES)] }
}
