//! Which flags a launcher takes, and in what form.

use super::Launcher;
use super::flags::{self, Flag, FlagTable, Spelling};
use crate::model::ir::EngineType;

/// The flags of one launcher of one engine.
#[derive(Debug)]
pub(super) struct Vocabulary<'v> {
    /// The program in messages: `Dynamo 1.4.0's vLLM worker`.
    pub(super) program: String,
    /// Flag tables, the wrapper's first.
    tables: Vec<FlagTable>,
    /// Configuration keys for what is no flag (TensorRT-LLM).
    pub(super) keys: Option<FlagTable>,
    /// Whether flags of the engine's own server are refused.
    pub(super) refuses_server_flags: bool,
    /// Who takes the flags.
    pub(super) launcher: Launcher<'v>,
}

/// A flag of a table, and how it was spelled.
#[derive(Debug)]
pub(super) struct Known {
    /// The flag.
    pub(super) flag: Flag,
    /// Whether its on- or its off-form was written.
    pub(super) spelling: Spelling,
}

impl<'v> Vocabulary<'v> {
    /// The flags that `launcher` takes for `engine`.
    pub(super) fn of(engine: EngineType, launcher: Launcher<'v>) -> Self {
        let name = super::grammar(engine).display_name;
        let mut vocabulary =
            Self { program: name.to_owned(), tables: Vec::new(), keys: None, refuses_server_flags: false, launcher };
        match launcher {
            Launcher::DynamoWorker { version } => {
                vocabulary.program = format!("Dynamo {version}'s {name} worker");
                vocabulary.refuses_server_flags = engine == EngineType::Vllm;
                let wrapped = match engine {
                    EngineType::Vllm => Some(flags::Engine::Vllm),
                    EngineType::Sglang => Some(flags::Engine::Sglang),
                    EngineType::Trtllm => Some(flags::Engine::Trtllm),
                    EngineType::Llamacpp => None,
                };
                if let Some(runtime) = wrapped.and_then(|engine| flags::dynamo(engine, version)) {
                    vocabulary.tables.push(runtime.wrapper);
                    if engine == EngineType::Trtllm {
                        vocabulary.keys = Some(runtime.engine);
                    } else {
                        vocabulary.tables.push(runtime.engine);
                    }
                }
            }
            Launcher::RayServe { version } => {
                vocabulary.program = format!("Ray {version}'s vLLM");
                vocabulary.tables.extend(flags::ray(version));
            }
            Launcher::VllmServer { image } => vocabulary.tables.push(flags::vllm_of_image(image)),
            Launcher::KaitoPreset => {
                "KAITO's vLLM".clone_into(&mut vocabulary.program);
                vocabulary.tables.push(flags::vllm_of_image(""));
            }
            Launcher::LlamaServer => vocabulary.tables.push(flags::llama_server()),
        }
        vocabulary
    }

    /// The flag of this name, kebab-case or snake_case, without dashes.
    pub(super) fn lookup(&self, name: &str) -> Option<Known> {
        self.tables.iter().find_map(|table| table.lookup(name)).map(|(flag, spelling)| Known { flag, spelling })
    }

    /// The flag that was probably meant.
    pub(super) fn suggest(&self, name: &str) -> Option<&'static str> {
        self.tables.iter().find_map(|table| table.suggest(name))
    }

    /// What replaces a flag that this version does not have, as a command line says it.
    pub(super) fn replacement(&self, name: &str) -> Option<&'static str> {
        self.tables.iter().find_map(|table| table.replacement(name))
    }

    /// Whether another version has this flag.
    pub(super) fn known_elsewhere(&self, name: &str) -> bool {
        self.tables.iter().any(|table| table.known_elsewhere(name))
    }
}
