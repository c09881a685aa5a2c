//! What runs on the cluster: the Serve configuration in `serveConfigV2`, a YAML text in a string.
//!
//! Sources: `ray.serve.llm` of Ray 2.56.0 (`LLMConfig`, `LLMServingArgs`, `DPOpenAiServingArgs`, `PDServingArgs`; all
//! refuse unknown keys), docs/design/0013.

use serde::Serialize;
use serde_json::{Map, Value};

use super::flags;
use super::overrides::AcceleratorType;
use super::worker::Group;
use crate::ir::{Deployment, Worker};
use kubefoundry_yaml as yaml;

/// The whole configuration: one application.
#[derive(Debug, Serialize)]
struct ServeConfig {
    applications: [Application; 1],
}

/// An application: a function that builds it, and the function's argument.
#[derive(Debug, Serialize)]
struct Application {
    name: String,
    import_path: &'static str,
    route_prefix: &'static str,
    args: Args,
}

/// The argument of the function that builds the application.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Args {
    /// `build_openai_app`.
    Models { llm_configs: Vec<LlmConfig> },
    /// `build_dp_openai_app`: each replica is a gang of data-parallel ranks.
    DataParallel { llm_config: Box<LlmConfig> },
    /// `build_pd_openai_app`.
    PrefillDecode { prefill_config: Box<LlmConfig>, decode_config: Box<LlmConfig> },
}

impl Args {
    /// The function that takes this.
    fn import_path(&self) -> &'static str {
        match self {
            Self::Models { .. } => "ray.serve.llm:build_openai_app",
            Self::DataParallel { .. } => "ray.serve.llm:build_dp_openai_app",
            Self::PrefillDecode { .. } => "ray.serve.llm:build_pd_openai_app",
        }
    }
}

/// One model with its engine: `LLMConfig`.
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

/// The name in the API, and where the weights are.
#[derive(Debug, Clone, Serialize)]
struct ModelLoadingConfig {
    model_id: String,
    model_source: String,
}

/// What each rank of a replica reserves.
#[derive(Debug, Clone, Serialize)]
struct PlacementGroupConfig {
    bundle_per_worker: Map<String, Value>,
}

impl PlacementGroupConfig {
    /// A GPU for each rank, where there is this custom resource.
    fn on(resource: &str) -> Self {
        let bundle = [("GPU", 1), (resource, 1)].map(|(name, amount)| (name.to_owned(), Value::from(amount)));
        Self { bundle_per_worker: bundle.into_iter().collect() }
    }
}

/// How many replicas: a number, or a range. Serve takes no `num_replicas: 0`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
enum DeploymentConfig {
    NumReplicas(u32),
    AutoscalingConfig(AutoscalingConfig),
}

#[derive(Debug, Clone, Serialize)]
struct AutoscalingConfig {
    #[serde(rename = "min_replicas")]
    least: u32,
    #[serde(rename = "initial_replicas")]
    initial: u32,
    #[serde(rename = "max_replicas")]
    most: u32,
}

impl DeploymentConfig {
    fn of(worker: &Worker) -> Self {
        match worker.replicas.value {
            0 => Self::AutoscalingConfig(AutoscalingConfig { least: 0, initial: 0, most: 1 }),
            replicas => Self::NumReplicas(replicas),
        }
    }
}

impl LlmConfig {
    fn of(deployment: &Deployment, id: &str, group: &Group<'_>, accelerator: Option<AcceleratorType>) -> Self {
        // A custom model has no served name: it is then called what vLLM calls it without one, its path.
        let served_name = deployment.model.served_name.as_ref().map_or(id, |name| &name.value);
        Self {
            model_loading_config: ModelLoadingConfig { model_id: served_name.to_owned(), model_source: id.to_owned() },
            accelerator_type: accelerator,
            engine_kwargs: group.invocation.keyword_arguments(),
            placement_group_config: Group::resource(group.worker.role).map(PlacementGroupConfig::on),
            deployment_config: DeploymentConfig::of(group.worker),
            log_engine_metrics: flags::without_statistics(&group.invocation).then_some(false),
        }
    }
}

/// The text of `serveConfigV2`: one application, named after the deployment. `None` when the model has no id.
pub(super) fn config(
    deployment: &Deployment,
    groups: &[Group<'_>],
    accelerator: Option<AcceleratorType>,
) -> Option<String> {
    let id = deployment.model.id.as_deref()?;
    let llm_config = |group| LlmConfig::of(deployment, id, group, accelerator);
    let args = match groups {
        [prefill, decode] => Args::PrefillDecode {
            prefill_config: Box::new(llm_config(prefill)),
            decode_config: Box::new(llm_config(decode)),
        },
        [group] if group.invocation.parallelism.data > 1 => {
            Args::DataParallel { llm_config: Box::new(llm_config(group)) }
        }
        _ => Args::Models { llm_configs: groups.iter().map(llm_config).collect() },
    };
    let application = Application {
        name: deployment.metadata.name.clone(),
        import_path: args.import_path(),
        route_prefix: "/",
        args,
    };
    let value = serde_json::to_value(ServeConfig { applications: [application] }).ok()?;
    let mut text = String::new();
    yaml::to_yaml(&value, &mut text);
    Some(text)
}
