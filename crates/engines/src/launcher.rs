//! The programs that take an engine's flags.

use super::flags::{self, FlagTable};
use kubefoundry_diagnostics::Code;

/// A program that takes an engine's flags: the flags that it knows, and the form in which it takes them. Providers
/// describe the programs of their stacks; this module describes the engines' own servers.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The program's name in messages: `vLLM`.
    pub program: String,
    /// The argument parsers, outermost first. Each leaves the flags that it does not know to the next.
    pub parsers: Vec<Parser>,
    /// Set where a name that is not a flag is a configuration key.
    pub config_keys: Option<ConfigKeys>,
    /// Whether the program takes the model and its served name as flags.
    pub takes_model: bool,
    /// The flags that are written as two elements (`--flag`, `value`) instead of one (`--flag=value`).
    pub separate_values: SeparateValues,
    /// Set where the flags of the engine's own HTTP server are refused.
    pub server_flag_refusal: Option<ServerFlagRefusal>,
    /// Lists of flags that users may not set.
    pub refused_flags: Vec<&'static [RefusedFlag]>,
    /// Flags that the program has but its tables lack. They are passed on without a finding.
    pub extra_flags: &'static [&'static str],
    /// The prefix of flags that the provider itself reads and checks. No finding is reported about them as unknown.
    pub provider_prefix: Option<&'static str>,
    /// Values that the program adds to those of the engine, with their flags.
    pub extra_values: &'static [(&'static str, &'static str)],
    /// How to pass an API key outside the arguments. `None` where another finding says that the program takes no key.
    pub api_key_help: Option<&'static str>,
    /// The form in which the program takes values.
    pub value_form: ValueForm,
    /// The characters that values may have. `None` allows all.
    pub charset: Option<Charset>,
    /// Whether the deployment's GPU count determines how the model is split. Some programs count the GPUs themselves.
    pub splits_model: bool,
    /// Whether the version of the program is exactly known, and its tables are those of that version. An unknown flag
    /// is then an error; otherwise it is a warning, because the program may have it.
    pub is_exact: bool,
    /// The instance type that is ordered for the program's node, if the deployment names one.
    pub instance_type: Option<String>,
    /// What an unknown flag causes, in a message after the flag.
    pub unknown_flag_consequence: &'static str,
}

/// One argument parser of a program.
#[derive(Debug, Clone, Copy)]
pub struct Parser {
    /// The flags that this parser knows.
    pub table: FlagTable,
    /// Whether the parser expands abbreviated flags (`allow_abbrev` of argparse).
    pub abbreviates: bool,
}

/// The configuration keys of a program.
#[derive(Debug, Clone, Copy)]
pub struct ConfigKeys {
    /// The known keys. Unknown keys are passed on with an info.
    pub table: FlagTable,
    /// The help for a key that is written as a command-line flag.
    pub help: &'static str,
}

/// The flags whose values are separate elements of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeparateValues {
    /// The flags of these names.
    Flags(&'static [&'static str]),
    /// Every flag with a value.
    All,
}

/// The answer of a program without an HTTP server to flags of one.
#[derive(Debug, Clone, Copy)]
pub struct ServerFlagRefusal {
    /// Server flags with the program's own flags of the same effect.
    pub replacements: &'static [(&'static str, &'static str)],
    /// The help for all other server flags.
    pub help: &'static str,
}

/// A flag that users may not set. The message is `--{flag} {why}`.
#[derive(Debug, Clone, Copy)]
pub struct RefusedFlag {
    /// The flag's canonical name, without dashes.
    pub flag: &'static str,
    /// The code of the finding.
    pub code: &'static Code,
    /// The reason, in the message after the flag.
    pub why: &'static str,
    /// The help of the finding.
    pub help: &'static str,
}

/// The form in which a program takes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// Text of a command line. JSON is serialized again, so that its spelling is uniform.
    CommandLine,
    /// Typed keyword arguments of Python: maps, lists and numbers.
    Keywords,
    /// Text, but a number where it is written again exactly as the user wrote it.
    BareNumbers,
}

/// The help for a secret in the arguments where the program has no better way to take it.
pub(super) const SECRET_HELP: &str = "remove the flag: everyone who can read the object can read its value";

/// The characters that values may have: ASCII letters and digits, and some more.
#[derive(Debug, Clone, Copy)]
pub struct Charset {
    /// The allowed characters besides ASCII letters and digits.
    pub marks: &'static str,
    /// The reason, in a message after the refused character: `which a shell reads`.
    pub reason: &'static str,
    /// The help, which lists the allowed characters.
    pub help: &'static str,
}

impl Launcher {
    /// Creates a launcher with an ordinary command line, no flag tables and no restrictions.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            parsers: Vec::new(),
            config_keys: None,
            takes_model: true,
            separate_values: SeparateValues::Flags(&[]),
            server_flag_refusal: None,
            refused_flags: Vec::new(),
            extra_flags: &[],
            provider_prefix: None,
            extra_values: &[],
            api_key_help: Some(SECRET_HELP),
            value_form: ValueForm::CommandLine,
            charset: None,
            splits_model: true,
            is_exact: false,
            instance_type: None,
            unknown_flag_consequence: "the program exits when it starts",
        }
    }

    /// Describes vLLM's own server (`python3 -m vllm.entrypoints.openai.api_server`) in the version of the image's tag,
    /// or in the newest known version. The version is exact if the image is the one that vLLM publishes, `vllm-openai`
    /// of any registry.
    pub fn vllm_server(image: &str) -> Self {
        let (table, is_version_known) = flags::vllm_for_image(image);
        let (path, _) = kubefoundry_kubernetes::image::path_and_tag(image);
        let is_published = path.rsplit('/').next() == Some("vllm-openai");
        let parser = Parser { table, abbreviates: true };
        let api_key_help = Some("remove the flag, and set VLLM_API_KEY in spec.env from a Secret");
        let is_exact = is_version_known && is_published;
        Self { parsers: vec![parser], api_key_help, is_exact, ..Self::new("vLLM") }
    }

    /// Describes `llama-server`, or a runner that passes flags on to it. Flags cannot be abbreviated, and a value is a
    /// separate argument (`--flag value`, not `--flag=value`). Several flags can name the model, so the caller adds it.
    pub fn llama_server() -> Self {
        let parser = Parser { table: flags::llama_server(), abbreviates: false };
        Self {
            parsers: vec![parser],
            takes_model: false,
            separate_values: SeparateValues::All,
            api_key_help: Some("remove the flag, and set LLAMA_API_KEY in spec.env from a Secret"),
            ..Self::new("llama.cpp")
        }
    }
}
