//! Engine profiles: the names that each engine has for the settings of a deployment.

pub(crate) mod llamacpp;
pub(crate) mod sglang;
pub(crate) mod trtllm;
pub(crate) mod vllm;

/// The names of an engine's settings. Flag names are canonical: long, in kebab-case, without leading dashes.
#[derive(Debug, Clone)]
pub struct EngineProfile {
    /// The engine's name in messages: `vLLM`.
    pub display_name: &'static str,
    /// Whether every worker needs a GPU.
    pub requires_gpu: bool,
    /// The name of its flag table, or of its table of configuration keys, in
    /// [`flags::tables_by_version`](super::flags::tables_by_version).
    pub table: &'static str,
    /// The program that takes those flags, as the documentation calls it: `llama-server`.
    pub program: &'static str,
    /// Values for the deployments that analyses and tests generate.
    pub examples: Examples,
    /// The flag for the model.
    pub model: &'static str,
    /// The flag for the model's name in the API.
    pub served_name: &'static str,
    /// Whether an engine without a served name answers to the value of its model flag.
    pub answers_to_model: bool,
    /// The flag for the longest context, in tokens.
    pub context_length: &'static str,
    /// The message and the help of the warning about a context length that may not take effect.
    pub context_length_warning: Option<(&'static str, &'static str)>,
    /// Allows code from the model's repository to run.
    pub trust_remote_code: BooleanSetting,
    /// Turns prefix caching on.
    pub prefix_caching_on: BooleanSetting,
    /// Turns prefix caching off.
    pub prefix_caching_off: BooleanSetting,
    /// Turns CUDA graphs off.
    pub enforce_eager: BooleanSetting,
    /// The flags that split the model over GPUs. `None` where the engine splits it without flags.
    pub parallelism: Option<ParallelismFlags>,
}

/// Example values for deployments of an engine. No provider sets these flags itself.
#[derive(Debug, Clone)]
pub struct Examples {
    /// The id of a model that the engine can run.
    pub model: &'static str,
    /// An image, for an engine that has no default image.
    pub image: Option<&'static str>,
    /// A flag that takes a number.
    pub number: &'static str,
    /// A flag that takes text.
    pub text: &'static str,
    /// A flag that takes JSON.
    pub json: &'static str,
    /// A flag that takes a list of texts.
    pub list: &'static str,
}

/// The flags that split a model over GPUs.
#[derive(Debug, Clone)]
pub struct ParallelismFlags {
    /// The tensor parallel size.
    pub tensor: &'static str,
    /// The pipeline parallel size.
    pub pipeline: &'static str,
    /// The data parallel size, if the engine has one.
    pub data: Option<&'static str>,
    /// A switch that makes data parallel ranks share the tensor parallel GPUs.
    pub data_inside_tensor: Option<&'static str>,
}

/// The form in which an engine takes a boolean setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BooleanSetting {
    /// A switch: `--name`.
    Switch(&'static str),
    /// A switch, and the flags with values that replace it in runtimes that deprecate it.
    ReplacedSwitch(&'static str, &'static [(&'static str, &'static str)]),
    /// The off form of a switch: the flag's name, then the off form.
    OffForm(&'static str, &'static str),
    /// A configuration key, as its nested parts, and its value.
    ConfigKey(&'static [&'static str], ConfigValue),
    /// No argument is needed: the engine behaves so by default.
    Default,
    /// The engine has no such setting. The text is the reason in the warning.
    Ignored(&'static str),
}

/// A constant configuration value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigValue {
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}
