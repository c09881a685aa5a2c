//! What an engine calls the settings that a deployment has fields for.

/// The names of one engine's settings. Flag names are canonical: long, kebab-case, without dashes.
#[derive(Debug)]
pub struct EngineProfile {
    /// The engine's name in messages: `vLLM`.
    pub display_name: &'static str,
    /// Whether every worker needs a GPU.
    pub requires_gpu: bool,
    /// The table of its flags, or of its configuration keys, as [`flags::tables_by_version`](super::flags::tables_by_version) calls it.
    pub table: &'static str,
    /// The program that takes those flags, in documentation: `llama-server`.
    pub program: &'static str,
    /// What analyses and tests put into the deployments that they make up.
    pub examples: Examples,
    /// The model.
    pub model: &'static str,
    /// The name in the API.
    pub served_name: &'static str,
    /// Whether an engine that is told no such name answers to what it is told as the model.
    pub answers_to_model: bool,
    /// Longest context, in tokens.
    pub context_length: &'static str,
    /// The warning about a context length that may not take effect, and its help.
    pub context_length_warning: Option<(&'static str, &'static str)>,
    /// Code in the model's repository may run.
    pub trust_remote_code: BooleanSetting,
    /// Prefixes are cached.
    pub prefix_caching_on: BooleanSetting,
    /// Prefixes are not cached.
    pub prefix_caching_off: BooleanSetting,
    /// CUDA graphs are off.
    pub enforce_eager: BooleanSetting,
    /// How the model is split; none when the engine splits it itself.
    pub parallelism: Option<ParallelismFlags>,
}

/// Values for a deployment that an engine runs. Flags are those that no provider sets itself.
#[derive(Debug)]
pub struct Examples {
    /// The id of a model.
    pub model: &'static str,
    /// An image, where the engine cannot be run without one.
    pub image: Option<&'static str>,
    /// A flag that takes a number.
    pub number: &'static str,
    /// A flag that takes text.
    pub text: &'static str,
    /// A flag that takes JSON.
    pub json: &'static str,
    /// A flag that takes several texts.
    pub list: &'static str,
}

/// The flags that say how a model is split over GPUs.
#[derive(Debug)]
pub struct ParallelismFlags {
    /// Tensor parallel size.
    pub tensor: &'static str,
    /// Pipeline parallel size.
    pub pipeline: &'static str,
    /// Data parallel size.
    pub data: Option<&'static str>,
    /// A switch that makes data parallel ranks share the tensor parallel GPUs.
    pub data_inside_tensor: Option<&'static str>,
}

/// How an engine is told something that is either so or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BooleanSetting {
    /// By a switch: `--name`.
    Switch(&'static str),
    /// By a switch, and where the runtime has deprecated it, by these flags with these values.
    ReplacedSwitch(&'static str, &'static [(&'static str, &'static str)]),
    /// By the off-spelling of a switch: name, then spelling.
    Off(&'static str, &'static str),
    /// By a configuration key, nested, with a JSON value.
    Key(&'static [&'static str], ConfigValue),
    /// It is so without being told.
    Default,
    /// It cannot be told; why, for a warning.
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
