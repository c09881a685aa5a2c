//! The programs that take an engine's flags.

use super::flags::{self, FlagTable};
use kubefoundry_diagnostics::Code;

/// A program that takes an engine's flags: which it knows, and in what form it wants them. Whoever starts a program says
/// what it is; this module starts with [`Launcher::new`] and the programs that are not part of a provider's stack.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// Its name in messages: `vLLM`.
    pub program: String,
    /// Its argument parsers, the outermost first: what one does not know, it leaves to the next.
    pub parsers: Vec<Parser>,
    /// Configuration keys, where what is no flag is one.
    pub keys: Option<Keys>,
    /// Whether the model and its served name are among the flags, not named elsewhere.
    pub takes_model: bool,
    /// Which valued flags must be two elements (`--flag`, `value`) where others are one (`--flag=value`).
    pub separate: Separate,
    /// Set where the flags of the engine's own server are refused.
    pub server_flags: Option<ServerFlagRefusal>,
    /// Flags that may not be given, in lists.
    pub refused: Vec<&'static [Refused]>,
    /// Flags that it has and its tables have not: nothing is said of them.
    pub further: &'static [&'static str],
    /// How to give it an API key that is not in its arguments; none where another finding says that it takes no key.
    pub api_key_help: Option<&'static str>,
    /// What values become.
    pub form: ValueForm,
    /// The characters that values may have; none where any will do.
    pub charset: Option<Charset>,
    /// Whether the model is split over the GPUs that the deployment counts; some programs look for themselves.
    pub splits_model: bool,
    /// What an unknown flag may come to, in a message after `it is passed on`.
    pub consequence: &'static str,
}

/// One argument parser of a program.
#[derive(Debug, Clone, Copy)]
pub struct Parser {
    /// Its flags.
    pub table: FlagTable,
    /// Whether the start of a flag's name is as good as the name (`allow_abbrev` of argparse).
    pub abbreviates: bool,
}

/// The configuration keys of a program.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// The keys that are known.
    pub table: FlagTable,
    /// Help for who gives one as a command-line flag.
    pub help: &'static str,
}

/// Which valued flags are two elements of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separate {
    /// These.
    Flags(&'static [&'static str]),
    /// All.
    All,
}

/// How a program that has no server of its own answers flags of one.
#[derive(Debug, Clone, Copy)]
pub struct ServerFlagRefusal {
    /// Server flags, and the program's own flags that do the same.
    pub replacements: &'static [(&'static str, &'static str)],
    /// Help for the other flags.
    pub help: &'static str,
}

/// A flag that may not be given, and what is said of it: `--{flag} {why}`.
#[derive(Debug, Clone, Copy)]
pub struct Refused {
    /// Its canonical name.
    pub flag: &'static str,
    /// How it is reported.
    pub code: &'static Code,
    /// Why, in a message after the flag.
    pub why: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// What values become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// Text of a command line; JSON is written by our own serializer.
    CommandLine,
    /// Typed keyword arguments: maps, lists and numbers.
    Keywords,
    /// Text, and numbers where a number comes out as it went in.
    BareNumbers,
}

/// What to do about a secret, where there is no more to say.
pub(super) const KEEP_OUT: &str = "remove the flag: everyone who can read the object can read its value";

/// The characters that values may have: ASCII letters and digits, and some more.
#[derive(Debug, Clone, Copy)]
pub struct Charset {
    /// The characters beside letters and digits.
    pub marks: &'static str,
    /// Why no others, in a message after the character: `which a shell reads`.
    pub reason: &'static str,
    /// What values are made of.
    pub help: &'static str,
}

impl Launcher {
    /// A program with a command line of which nothing more is known.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            parsers: Vec::new(),
            keys: None,
            takes_model: true,
            separate: Separate::Flags(&[]),
            server_flags: None,
            refused: Vec::new(),
            further: &[],
            api_key_help: Some(KEEP_OUT),
            form: ValueForm::CommandLine,
            charset: None,
            splits_model: true,
            consequence: "",
        }
    }

    /// vLLM's own server (`python3 -m vllm.entrypoints.openai.api_server`) of the version that an image's tag says, if
    /// it says one.
    pub fn vllm_server(image: &str) -> Self {
        let parser = Parser { table: flags::vllm_for_image(image), abbreviates: true };
        let api_key_help = Some("remove the flag, and set VLLM_API_KEY in spec.env from a Secret");
        Self { parsers: vec![parser], api_key_help, ..Self::new("vLLM") }
    }

    /// `llama-server`, or a runner that passes its flags on. It looks names up whole, and wants two elements a flag.
    /// What it loads has several flags: its caller chooses.
    pub fn llama_server() -> Self {
        let parser = Parser { table: flags::llama_server(), abbreviates: false };
        Self {
            parsers: vec![parser],
            takes_model: false,
            separate: Separate::All,
            api_key_help: Some("remove the flag, and set LLAMA_API_KEY in spec.env from a Secret"),
            ..Self::new("llama.cpp")
        }
    }
}
