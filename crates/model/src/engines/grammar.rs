//! What an engine calls the settings that a deployment has fields for.

/// The names of one engine's settings. Flag names are canonical: long, kebab-case, without dashes.
#[derive(Debug)]
pub struct Grammar {
    /// The engine's name in messages: `vLLM`.
    pub display_name: &'static str,
    /// The model.
    pub model: &'static str,
    /// The name in the API.
    pub served_name: &'static str,
    /// Longest context, in tokens.
    pub context_length: &'static str,
    /// Code in the model's repository may run.
    pub trust_remote_code: Setting,
    /// Prefixes are cached.
    pub prefix_caching_on: Setting,
    /// Prefixes are not cached.
    pub prefix_caching_off: Setting,
    /// CUDA graphs are off.
    pub enforce_eager: Setting,
    /// How the model is split; none when the engine splits it itself.
    pub parallelism: Option<ParallelismFlags>,
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
pub enum Setting {
    /// By a switch: `--name`.
    Switch(&'static str),
    /// By a switch, and where the runtime has deprecated it, by these flags with these values.
    SwitchBefore(&'static str, &'static [(&'static str, &'static str)]),
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
