//! Which flags a launcher takes, and in what form.

use super::Launcher;
use super::flags::{self, Flag, FlagTable, Group, Spelling};
use crate::model::ir::EngineType;

/// One argument parser of a program: what it does not know, it leaves to the next.
#[derive(Debug, Clone, Copy)]
struct Stage {
    /// Its flags.
    table: FlagTable,
    /// Whether the start of a flag's name is as good as the name (`allow_abbrev` of argparse).
    abbreviates: bool,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A flag.
    One(Known),
    /// The start of several flags; their names.
    Several(Vec<&'static str>),
    /// No flag that is known.
    Unknown,
}

/// The flags of one launcher of one engine.
#[derive(Debug)]
pub(super) struct Vocabulary<'v> {
    /// The program in messages: `Dynamo 1.4.0's vLLM worker`.
    pub(super) program: String,
    /// Flag tables, the wrapper's first.
    stages: Vec<Stage>,
    /// Configuration keys for what is no flag (TensorRT-LLM).
    pub(super) keys: Option<FlagTable>,
    /// Whether flags of the engine's own server are refused.
    pub(super) refuses_server_flags: bool,
    /// What an unknown flag may come to, after `it is passed on`.
    pub(super) consequence: &'static str,
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
        let mut vocabulary = Self {
            program: name.to_owned(),
            stages: Vec::new(),
            keys: None,
            refuses_server_flags: false,
            consequence: "",
            launcher,
        };
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
                    // dynamo.vllm alone turns abbreviations off, in its own parser (engine-flags §3.6).
                    vocabulary.stages.push(Stage { table: runtime.wrapper, abbreviates: engine != EngineType::Vllm });
                    if engine == EngineType::Trtllm {
                        vocabulary.keys = Some(runtime.engine);
                    } else {
                        vocabulary.stages.push(Stage { table: runtime.engine, abbreviates: true });
                    }
                }
            }
            Launcher::RayServe { version } => {
                vocabulary.program = format!("Ray {version}'s vLLM");
                // "Unknown engine argument" (engine-flags §6).
                vocabulary.consequence =
                    ", and an application with an argument that its vLLM does not know will not start";
                vocabulary.stages.extend(flags::ray(version).map(|table| Stage { table, abbreviates: false }));
            }
            Launcher::VllmServer { image } => {
                vocabulary.stages.push(Stage { table: flags::vllm_of_image(image), abbreviates: true });
            }
            Launcher::KaitoPreset => {
                "KAITO's vLLM".clone_into(&mut vocabulary.program);
                vocabulary.stages.push(Stage { table: flags::vllm_of_image(""), abbreviates: true });
            }
            Launcher::LlamaServer => {
                vocabulary.stages.push(Stage { table: flags::llama_server(), abbreviates: false });
            }
        }
        vocabulary
    }

    /// What a name stands for, kebab-case or snake_case, without dashes. A whole name is never an abbreviation; nor is a
    /// name that may be a configuration key.
    pub(super) fn lookup(&self, name: &str, from_mapping: bool) -> Meaning {
        let exact = self.tables().find_map(|table| table.lookup(name));
        if let Some((flag, spelling)) = exact {
            return Meaning::One(Known { flag, spelling });
        }
        if from_mapping && self.keys.is_some() {
            return Meaning::Unknown;
        }
        let stages = self.stages.iter().filter(|stage| stage.abbreviates);
        let Some(mut meant) = stages.map(|stage| stage.table.abbreviated(name)).find(|meant| !meant.is_empty()) else {
            return Meaning::Unknown;
        };
        // Flags that the program does not have make no name ambiguous.
        let is_taken = |flag: &Flag| !self.refuses_server_flags || flag.group != Group::Frontend;
        if meant.iter().any(|(flag, _)| is_taken(flag)) {
            meant.retain(|(flag, _)| is_taken(flag));
        }
        match meant.as_slice() {
            [(flag, spelling)] => Meaning::One(Known { flag: *flag, spelling: *spelling }),
            _ => Meaning::Several(
                meant
                    .iter()
                    .map(|(flag, how)| flag.off.filter(|_| *how == Spelling::Off).unwrap_or(flag.name))
                    .collect(),
            ),
        }
    }

    fn tables(&self) -> impl Iterator<Item = FlagTable> {
        self.stages.iter().map(|stage| stage.table)
    }

    /// The flag that was probably meant.
    pub(super) fn suggest(&self, name: &str) -> Option<&'static str> {
        self.tables().find_map(|table| table.suggest(name))
    }

    /// What replaces a flag that this version does not have, as a command line says it.
    pub(super) fn replacement(&self, name: &str) -> Option<&'static str> {
        self.tables().find_map(|table| table.replacement(name))
    }

    /// Whether another version has this flag.
    pub(super) fn known_elsewhere(&self, name: &str) -> bool {
        self.tables().any(|table| table.known_elsewhere(name))
    }
}
