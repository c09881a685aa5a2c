//! A flag of an engine: its form, the type of its value and its status.

/// The form in which a flag is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// `--flag=value`.
    Value,
    /// `--flag`, without an off form.
    Switch,
    /// `--flag`, or its [off form](Flag::off).
    Pair,
    /// `--flag` or `--flag=value`.
    OptionalValue,
}

/// The type of a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// Any text.
    Text,
    /// A file or directory path. Any text is accepted.
    Path,
    /// An integer.
    Integer,
    /// An integer in vLLM's notation: `32768`, `32k` (decimal), `32K` (binary), `25.6k`.
    HumanInteger,
    /// An integer in SGLang's notation: `32768`, `32k` (decimal), `32Ki` (binary), `25.6k`.
    SiInteger,
    /// A floating-point number.
    Float,
    /// `true` or `false`.
    Boolean,
    /// Any JSON value.
    Json,
    /// A JSON object.
    JsonObject,
    /// A JSON object, or any text that is not in braces.
    JsonOrText,
}

/// The number of values that a flag takes, and the effect of repeating it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// One value. The last one wins.
    Once,
    /// Several values after one flag. Repeating the flag replaces them.
    List,
    /// One value each time. Repeating the flag adds a value.
    Append,
}

/// The program that registers a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagGroup {
    /// The engine itself.
    Engine,
    /// The engine's own HTTP server, which does not run where another program drives the engine.
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
    /// The form in which it is written.
    pub kind: FlagKind,
    /// The type of its value; [`ValueType::Boolean`] for [`FlagKind::Switch`] and [`FlagKind::Pair`].
    pub value_type: ValueType,
    /// The number of values that it takes.
    pub repeat: Repetition,
    /// The off form of a [`FlagKind::Pair`] without dashes: `no-enable-prefix-caching`.
    pub off: Option<&'static str>,
    /// The program that registers it.
    pub group: FlagGroup,
    /// Whether this version accepts the flag but a later one removes it.
    pub deprecated: bool,
    /// The replacement in later versions, as a command line writes it: `--disaggregation-mode=decode`.
    /// It may not exist in this version unless [`deprecated`](Self::deprecated) is set.
    pub replaced_by: Option<&'static str>,
    /// Whether the facts come from documentation or another build instead of this version's package.
    pub uncertain: bool,
    pub(super) choices: &'static str,
    pub(super) known_values: &'static str,
    pub(super) special_values: &'static str,
    /// The interval of a number: `(0,1]`. Empty without bounds.
    pub(super) range: &'static str,
}

impl Flag {
    /// Returns whether the value is JSON, or may be.
    pub(crate) fn takes_json(&self) -> bool {
        matches!(self.value_type, ValueType::Json | ValueType::JsonObject | ValueType::JsonOrText)
    }

    /// Returns the closed set of values, sorted. Empty where any value of the type is accepted or the set is unknown.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (dtype, _) = vllm.lookup("dtype").ok_or("known flag")?;
    /// assert_eq!(dtype.choices().collect::<Vec<_>>(), ["auto", "bfloat16", "float", "float16", "float32", "half"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn choices(&self) -> impl Iterator<Item = &'static str> + use<> {
        split_words(self.choices)
    }

    /// Returns the values that this version knows, sorted, of a flag whose values plugins may extend. Empty for a closed
    /// set, and where the values are unknown.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (quantization, _) = vllm.lookup("quantization").ok_or("known flag")?;
    /// assert!(quantization.known_values().any(|value| value == "awq"));
    /// assert_eq!(quantization.choices().count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn known_values(&self) -> impl Iterator<Item = &'static str> + use<> {
        split_words(self.known_values)
    }

    /// Returns the name as Python and configuration files write it: `max_model_len`, `kv_cache_config.dtype`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let (flag, _) = flags::trtllm_keys().lookup("enable-block-reuse").ok_or("known key")?;
    /// assert_eq!(flag.key(), "kv_cache_config.enable_block_reuse");
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Returns the words that are accepted besides values of the type.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (flag, _) = vllm.lookup("max-model-len").ok_or("known flag")?;
    /// assert_eq!(flag.special_values().collect::<Vec<_>>(), ["auto"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn special_values(&self) -> impl Iterator<Item = &'static str> + use<> {
        split_words(self.special_values)
    }
}

/// Splits a list of words separated by `|`.
fn split_words(list: &'static str) -> impl Iterator<Item = &'static str> + use<> {
    list.split('|').filter(|word| !word.is_empty())
}
