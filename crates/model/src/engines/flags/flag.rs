//! One flag and what is known of it.

/// How a flag is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// `--flag=value`.
    Value,
    /// `--flag`; there is no way to say no.
    Switch,
    /// `--flag`, or its [off form](Flag::off).
    Pair,
    /// `--flag` or `--flag=value`.
    OptionalValue,
}

/// What a value must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Any text.
    Text,
    /// A path of a file or directory.
    Path,
    /// A whole number.
    Integer,
    /// A whole number as vLLM reads it: `32768`, `32k` (decimal), `32K` (binary), `25.6k`.
    HumanInteger,
    /// A whole number as SGLang reads it: `32768`, `32k` (decimal), `32Ki` (binary), `25.6k`.
    SiInteger,
    /// A number.
    Float,
    /// `true` or `false`.
    Boolean,
    /// Any JSON value.
    Json,
    /// A JSON object.
    JsonObject,
    /// A JSON object, or any text that does not look like one.
    JsonOrText,
}

/// How often a flag takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// One value; the last one given counts.
    Once,
    /// Several values after one flag; giving the flag again replaces them.
    List,
    /// One value each time; giving the flag again adds one.
    Append,
}

/// Which program registers a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagGroup {
    /// The engine.
    Engine,
    /// The engine's own HTTP server, which is absent where another program drives the engine.
    Frontend,
    /// The program that drives the engine.
    Wrapper,
}

/// A flag of one engine version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// The canonical long name without dashes, in kebab-case: `max-model-len`.
    /// A nested configuration key has dots: `kv-cache-config.dtype`.
    pub name: &'static str,
    /// How it is written.
    pub kind: FlagKind,
    /// What its value looks like; [`ValueType::Boolean`] for [`FlagKind::Switch`] and [`FlagKind::Pair`].
    pub value_type: ValueType,
    /// How often it takes a value.
    pub repeat: Repetition,
    /// The off form of a [`FlagKind::Pair`] without dashes: `no-enable-prefix-caching`.
    pub off: Option<&'static str>,
    /// Who registers it.
    pub group: FlagGroup,
    /// It works but will go.
    pub deprecated: bool,
    /// What later versions want instead, as a command line says it: `--disaggregation-mode=decode`.
    /// It may not exist in this version unless [`deprecated`](Self::deprecated) is set.
    pub replaced_by: Option<&'static str>,
    /// The fact was not taken from exactly this software.
    pub uncertain: bool,
    pub(super) choices: &'static str,
    pub(super) special_values: &'static str,
}

impl Flag {
    /// The closed set of values, in order; empty where any value of the type is accepted or the set is not known.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (dtype, _) = vllm.lookup("dtype").ok_or("known flag")?;
    /// assert_eq!(dtype.choices().collect::<Vec<_>>(), ["auto", "bfloat16", "float", "float16", "float32", "half"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn choices(&self) -> impl Iterator<Item = &'static str> + use<> {
        words(self.choices)
    }

    /// The name as Python and configuration files write it: `max_model_len`, `kv_cache_config.dtype`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let (flag, _) = flags::trtllm_keys().lookup("enable-block-reuse").ok_or("known key")?;
    /// assert_eq!(flag.key(), "kv_cache_config.enable_block_reuse");
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Words that are accepted beside values of the type.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (flag, _) = vllm.lookup("max-model-len").ok_or("known flag")?;
    /// assert_eq!(flag.special_values().collect::<Vec<_>>(), ["auto"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn special_values(&self) -> impl Iterator<Item = &'static str> + use<> {
        words(self.special_values)
    }
}

/// The words of a list separated by `|`.
fn words(list: &'static str) -> impl Iterator<Item = &'static str> + use<> {
    list.split('|').filter(|word| !word.is_empty())
}
