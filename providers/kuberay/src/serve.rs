//! The Serve configuration in `serveConfigV2`, YAML text in a string.
//!
//! Sources: `ray.serve.llm` of Ray 2.56.0 (`LLMConfig`, `LLMServingArgs`, `DPOpenAiServingArgs`, `PDServingArgs`; all
//! refuse unknown keys), docs/design/0013.

use serde::Serialize;
use serde_json::{Map, Value};

use super::flags;
use super::overrides::AcceleratorType;
use super::worker::WorkerGroup;
use kubefoundry_deployment::ir::{Deployment, Worker};
use kubefoundry_yaml as yaml;

/// The Serve configuration, with one application.
#[derive(Debug, Serialize)]
struct ServeConfig {
    applications: [Application; 1],
}

/// An application: the function that builds it, with the function's arguments.
#[derive(Debug, Serialize)]
struct Application {
    name: String,
    import_path: &'static str,
    route_prefix: &'static str,
    args: BuilderArgs,
}

/// The arguments of the function that builds the application.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum BuilderArgs {
    /// For `build_openai_app`.
    Models { llm_configs: Vec<LlmConfig> },
    /// For `build_dp_openai_app`, where each replica is a gang of data-parallel ranks.
    DataParallel { llm_config: Box<LlmConfig> },
    /// For `build_pd_openai_app`.
    PrefillDecode { prefill_config: Box<LlmConfig>, decode_config: Box<LlmConfig> },
}

impl BuilderArgs {
    /// Returns the function that takes these arguments.
    fn import_path(&self) -> &'static str {
        match self {
            Self::Models { .. } => "ray.serve.llm:build_openai_app",
            Self::DataParallel { .. } => "ray.serve.llm:build_dp_openai_app",
            Self::PrefillDecode { .. } => "ray.serve.llm:build_pd_openai_app",
        }
    }
}

/// A model with its engine: `LLMConfig`.
#[derive(Debug, Clone, Serialize)]
struct LlmConfig {
    model_loading_config: ModelLoadingConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    accelerator_type: Option<AcceleratorType>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    engine_kwargs: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement_group_config: Option<PlacementGroupConfig>,
    deployment_config: DeploymentConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_engine_metrics: Option<bool>,
}

/// The model's name in the API and the source of its weights.
#[derive(Debug, Clone, Serialize)]
struct ModelLoadingConfig {
    model_id: String,
    model_source: String,
}

/// The resources that each rank of a replica reserves.
#[derive(Debug, Clone, Serialize)]
struct PlacementGroupConfig {
    bundle_per_worker: Map<String, Value>,
}

impl PlacementGroupConfig {
    /// Reserves one GPU for each rank, on a pod that offers the custom Ray resource `ray_resource`.
    fn new(ray_resource: &str) -> Self {
        let bundle = [("GPU", 1), (ray_resource, 1)].map(|(name, amount)| (name.to_owned(), Value::from(amount)));
        Self { bundle_per_worker: bundle.into_iter().collect() }
    }
}

/// The number of replicas, fixed or as a range. Serve refuses `num_replicas: 0`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
enum DeploymentConfig {
    NumReplicas(u32),
    AutoscalingConfig(AutoscalingConfig),
}

#[derive(Debug, Clone, Serialize)]
struct AutoscalingConfig {
    #[serde(rename = "min_replicas")]
    min: u32,
    #[serde(rename = "initial_replicas")]
    initial: u32,
    #[serde(rename = "max_replicas")]
    max: u32,
}

impl DeploymentConfig {
    fn new(worker: &Worker) -> Self {
        match worker.replicas.value {
            0 => Self::AutoscalingConfig(AutoscalingConfig { min: 0, initial: 0, max: 1 }),
            replicas => Self::NumReplicas(replicas),
        }
    }
}

impl LlmConfig {
    fn new(deployment: &Deployment, id: &str, group: &WorkerGroup<'_>, accelerator: Option<AcceleratorType>) -> Self {
        // A custom model has no served name. vLLM then uses the path as the name, and so does this configuration.
        let served_name = deployment.model.served_name.as_ref().map_or(id, |name| &name.value);
        Self {
            model_loading_config: ModelLoadingConfig { model_id: served_name.to_owned(), model_source: id.to_owned() },
            accelerator_type: accelerator,
            engine_kwargs: group.invocation.keyword_arguments(),
            placement_group_config: WorkerGroup::role_resource(group.worker.role).map(PlacementGroupConfig::new),
            deployment_config: DeploymentConfig::new(group.worker),
            log_engine_metrics: flags::has_statistics_off(&group.invocation).then_some(false),
        }
    }
}

/// Builds the text of `serveConfigV2`, with one application named after the deployment. Returns `None` if the model has
/// no id.
pub(super) fn build_config(
    deployment: &Deployment,
    groups: &[WorkerGroup<'_>],
    accelerator: Option<AcceleratorType>,
) -> Option<String> {
    let id = deployment.model.id.as_deref()?;
    let llm_config = |group| LlmConfig::new(deployment, id, group, accelerator);
    let args = match groups {
        [prefill, decode] => BuilderArgs::PrefillDecode {
            prefill_config: Box::new(llm_config(prefill)),
            decode_config: Box::new(llm_config(decode)),
        },
        [group] if group.invocation.parallelism.data > 1 => {
            BuilderArgs::DataParallel { llm_config: Box::new(llm_config(group)) }
        }
        _ => BuilderArgs::Models { llm_configs: groups.iter().map(llm_config).collect() },
    };
    let application = Application {
        name: deployment.metadata.name.clone(),
        import_path: args.import_path(),
        route_prefix: "/",
        args,
    };
    let value = kubefoundry_yaml::infallible::to_json(&ServeConfig { applications: [application] });
    let mut text = String::new();
    yaml::to_yaml(&value, &mut text);
    Some(text)
}
