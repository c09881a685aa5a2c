//! Checks the parsers of tool calls and of reasoning against the model, and the two flags that belong together in vLLM.
//!
//! A wrong parser stops nothing: the server answers, and tool calls arrive as plain text. So a parser of another format
//! is a warning.

use super::engine_support;
use crate::arguments::lookup::Meaning;
use crate::invocation::{Argument, ArgumentValue, Invocation};
use crate::launcher::{Launcher, ValueForm};
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_facts::Model;

/// The formats in which models write tool calls, with the parsers that read them in vLLM, SGLang and Dynamo. Parsers that
/// read several formats, or whose format is not known, are not listed.
///
/// Sources: the modules in `vllm/tool_parsers` of vLLM 0.33.0 and `function_call_parser.py` of SGLang 0.5.23.
const TOOL_FORMATS: &[Format] = &[
    Format { models: "Llama", parsers: &["llama3_json", "llama4_pythonic", "llama4_json", "llama3"] },
    Format { models: "Qwen", parsers: &["hermes", "qwen25", "qwen", "qwen3", "qwen3_xml", "qwen3_coder"] },
    Format { models: "Mistral", parsers: &["mistral"] },
    Format { models: "gpt-oss", parsers: &["openai", "gpt-oss", "harmony"] },
    Format {
        models: "DeepSeek",
        parsers: &[
            "deepseek_v3",
            "deepseekv3",
            "deepseek_v31",
            "deepseek_v3_1",
            "deepseekv31",
            "deepseek_v32",
            "deepseek_v3_2",
            "deepseekv32",
            "deepseek_v4",
            "deepseek-v4",
            "deepseekv4",
            "deepseek_v41",
            "deepseekv41",
        ],
    },
    Format { models: "Kimi", parsers: &["kimi_k2", "kimi_k3", "kimi-k3", "kimi_k25"] },
    Format { models: "GLM", parsers: &["glm45", "glm47", "glm"] },
    Format { models: "Gemma 4", parsers: &["gemma4", "gemma-4"] },
    Format { models: "Granite", parsers: &["granite", "granite-20b-fc", "granite4"] },
    Format { models: "InternLM", parsers: &["internlm", "interns1"] },
    Format { models: "Jamba", parsers: &["jamba"] },
    Format { models: "MiniMax", parsers: &["minimax", "minimax_m2", "minimax-m2", "minimax_m3", "minimax-m3"] },
    Format { models: "Phi-4", parsers: &["phi4_mini_json", "phi4"] },
];

/// The formats in which models write their reasoning. Most models write it between `<think>` and `</think>`, so that
/// several parsers are right; the others are formats of their own.
///
/// Sources: the modules in `vllm/reasoning` of vLLM 0.33.0 and `reasoning_parser.py` of SGLang 0.5.23.
const REASONING_FORMATS: &[Format] = &[
    Format { models: "Qwen", parsers: &["qwen3"] },
    Format { models: "DeepSeek", parsers: &["deepseek_r1", "deepseek-r1"] },
    Format { models: "gpt-oss", parsers: &["openai_gptoss", "gpt-oss", "gpt_oss"] },
    Format { models: "Mistral", parsers: &["mistral"] },
    Format { models: "Granite", parsers: &["granite"] },
    Format { models: "Gemma 4", parsers: &["gemma4", "gemma-4"] },
    Format { models: "Command", parsers: &["cohere_command3", "cohere_command4"] },
];

/// The parsers of [`REASONING_FORMATS`] that read `<think>`.
const THINK_TAGS: &[&str] = &["Qwen", "DeepSeek"];

/// The flags with which users choose another format: a template of their own, or a parser from a plugin.
const FORMAT_FLAGS: &[&str] =
    &["chat-template", "custom-jinja-template", "tool-parser-plugin", "reasoning-parser-plugin", "tokenizer"];

const TOOL_FLAGS: &[&str] = &["tool-call-parser", "dyn-tool-call-parser"];
const REASONING_FLAGS: &[&str] = &["reasoning-parser", "dyn-reasoning-parser"];

/// A format of models, and the parsers that read it.
struct Format {
    /// The models that write it.
    models: &'static str,
    /// The names of its parsers, the most common first.
    parsers: &'static [&'static str],
}

/// Warns about parsers of another format than the one that the model writes.
pub(crate) fn check_formats(model: &Model, launcher: &Launcher, invocation: &Invocation, findings: &mut Findings<'_>) {
    if FORMAT_FLAGS.iter().any(|flag| invocation.has(flag)) {
        return;
    }
    let kinds = [
        (TOOL_FLAGS, TOOL_FORMATS, model.tool_parser.as_deref(), ("tool calls", "those")),
        (REASONING_FLAGS, REASONING_FORMATS, model.reasoning_parser.as_deref(), ("reasoning", "that")),
    ];
    for (flags, formats, expected, (what, pronoun)) in kinds {
        let find = |parser: &str| formats.iter().find(|format| format.parsers.contains(&parser));
        let Some(expected) = expected.and_then(find) else { continue };
        for argument in flags.iter().filter_map(|flag| invocation.get(flag)) {
            let Some(parser) = text_of(argument) else { continue };
            let Some(written) = find(parser) else { continue };
            let both_think = [written, expected].iter().all(|format| THINK_TAGS.contains(&format.models));
            let is_same = written.models == expected.models || what == "reasoning" && both_think;
            if is_same {
                continue;
            }
            let message = format!(
                "--{} is {parser:?}, which reads the {what} of {} models, but {} writes {pronoun} of {} models",
                argument.name, written.models, model.id, expected.models
            );
            let reported = findings.report(&codes::FOREIGN_PARSER, &argument.path, message);
            if let Some(parser) = name_in(launcher, argument, expected) {
                reported.help(format!("set it to {parser:?}"));
            }
        }
    }
}

/// Returns the parser of a format under the name that a flag of this launcher knows.
fn name_in(launcher: &Launcher, argument: &Argument, format: &Format) -> Option<&'static str> {
    let Meaning::One(known) = launcher.lookup(&argument.name, false) else { return None };
    let names = || known.flag.choices().chain(known.flag.known_values());
    format.parsers.iter().copied().find(|parser| names().any(|name| name == *parser))
}

/// Checks vLLM's flags for tool calls, of which one does nothing without the other.
///
/// Sources: vLLM `entrypoints/common/cli_args.py` (`validate_parsed_serve_args`; `entrypoints/openai/cli_args.py` in older
/// versions) refuses the switch without a parser; `parser/parser_manager.py` (`get_tool_parser`) ignores a parser without
/// the switch.
pub(crate) fn check_tool_choice(
    profile: &EngineProfile,
    launcher: &Launcher,
    invocation: &Invocation,
    findings: &mut Findings<'_>,
) {
    let (switch, parser) = ("enable-auto-tool-choice", "tool-call-parser");
    match (invocation.get(switch), invocation.get(parser)) {
        (None, Some(argument)) if takes_switch(profile, launcher, switch) => {
            let message = format!("--{parser} has no effect without --{switch}");
            findings
                .report(&codes::UNUSED_TOOL_PARSER, FieldRef::key(&argument.path), message)
                .help(format!("add {switch}: \"true\" to spec.engine.args, or remove --{parser}"));
        }
        (Some(argument), None) if argument.value == ArgumentValue::On => {
            let facts = engine_support::facts_of(profile, launcher);
            let is_server = launcher.value_form == ValueForm::CommandLine;
            let Some(facts) = facts.filter(|facts| is_server && facts.asserts("auto-tool-choice")) else { return };
            let message = format!("--{switch} needs --{parser}: {} {} exits", profile.display_name, facts.version());
            findings
                .report(&codes::TOOL_CHOICE_WITHOUT_PARSER, FieldRef::key(&argument.path), message)
                .help(format!("add {parser} to spec.engine.args with the parser of the model, or remove --{switch}"));
        }
        _ => {}
    }
}

/// Returns whether users turn tool calls on with vLLM's switch here. Dynamo has flags of its own, and KAITO's presets take
/// no switches.
fn takes_switch(profile: &EngineProfile, launcher: &Launcher, switch: &str) -> bool {
    profile.table == "vllm"
        && launcher.server_flag_refusal.is_none()
        && launcher.value_form != ValueForm::BareNumbers
        && matches!(launcher.lookup(switch, false), Meaning::One(_))
}

fn text_of(argument: &Argument) -> Option<&str> {
    if let ArgumentValue::Text(text) = &argument.value { Some(text) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A name in two formats would make the answer depend on their order, and an unknown name would never be found.
    #[test]
    fn each_parser_has_one_format_and_is_known_to_a_table() {
        let tables = [
            include_str!("../flags/data/vllm.txt"),
            include_str!("../flags/data/sglang.txt"),
            include_str!("../flags/data/dynamo-vllm.txt"),
        ];
        for (formats, flag) in [(TOOL_FORMATS, "tool-call-parser"), (REASONING_FORMATS, "reasoning-parser")] {
            let known: BTreeSet<&str> = tables
                .iter()
                .flat_map(|table| table.lines())
                .filter(|line| line.split(' ').next().is_some_and(|name| name.ends_with(flag)))
                .flat_map(|line| line.split(['=', '|', ' ']))
                .collect();
            let names: Vec<&str> = formats.iter().flat_map(|format| format.parsers).copied().collect();
            for name in &names {
                assert!(known.contains(name), "{name}");
                assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            }
        }
    }

    /// Every parser that the facts name has a format, so that each such model is checked.
    #[test]
    fn the_parsers_of_known_models_have_a_format() {
        for id in
            ["Qwen/Qwen3-8B", "openai/gpt-oss-120b", "meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-R1"]
        {
            let model = kubefoundry_facts::model(id).unwrap();
            for (parser, formats) in [(model.tool_parser, TOOL_FORMATS), (model.reasoning_parser, REASONING_FORMATS)] {
                let Some(parser) = parser else { continue };
                assert!(formats.iter().any(|format| format.parsers.contains(&&*parser)), "{id}: {parser}");
            }
        }
    }
}
