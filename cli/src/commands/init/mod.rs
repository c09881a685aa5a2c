//! `kubefoundry init`: creates a ModelDeployment, options, and files for CI.
//!
//! The files are compiled before they are written. So `init` needs no rules about what goes together: the compiler has
//! them, and its findings are printed instead of the files.

mod ci_files;
mod commented_document;
mod documents;
mod gpu_suggestion;
mod questions;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::EngineType;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_engines::profile;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_kubernetes::names::dns_1123_label;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_provider::Provider;
use kubefoundry_yaml::text::{one_line, one_of, printable};

use crate::args::{CiSystem, InitArgs};
use crate::console;
use crate::exit::ExitStatus;
use crate::output::{OutDirError, write_new_files};
use crate::run::CommandError;
use ci_files::{ACTION, ci_file};
use documents::{Deployment, TOKEN_SECRET};
use gpu_suggestion::{REFERENCE, suggest_gpus};
use kubefoundry_compiler::options::FILE_NAME;
use kubefoundry_yaml::append_line;
use questions::{Question, QuestionError, Respondent};

/// Reasons why nothing is created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InitError {
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error("the files would have findings")]
    Findings(Vec<Diagnostic>),
}

/// The directory of the ModelDeployment.
const MODELS: &str = "models";

/// The longest name that is made from a model's. Providers add suffixes to it.
const MAX_NAME: usize = 40;

pub(super) fn run(args: &InitArgs) -> Result<ExitStatus, CommandError> {
    // Before a user answers questions for nothing.
    refuse_existing(&args.directory, &[FILE_NAME.into()])?;
    let (mut stdin, mut stderr) = (io::stdin().lock(), io::stderr());
    let mut respondent =
        if io::stdin().is_terminal() { Respondent::Terminal(&mut stdin, &mut stderr) } else { Respondent::Defaults };
    let (deployment, ci) = match complete(args, &mut respondent) {
        Err(InitError::Findings(findings)) => return Ok(refuse(&findings)),
        answers => answers?,
    };
    let mut files = vec![
        (Path::new(MODELS).join(format!("{}.yaml", deployment.name)), deployment.model_deployment()),
        (PathBuf::from(FILE_NAME), deployment.options()),
    ];
    let compilation = compile_deployment(&deployment);
    if !compilation.diagnostics.is_empty() {
        return Ok(refuse(&compilation.diagnostics));
    }
    files.extend(ci_file(ci));
    write_new_files(&args.directory, &files)?;
    console::print([report(&args.directory, &files, &deployment, ci)])?;
    Ok(ExitStatus::Success)
}

fn refuse_existing(directory: &Path, files: &[PathBuf]) -> Result<(), OutDirError> {
    let existing = files.iter().map(|file| directory.join(file)).find(|path| std::fs::symlink_metadata(path).is_ok());
    existing.map_or(Ok(()), |path| Err(OutDirError::Exists(path.display().to_string())))
}

/// Asks for everything that the flags do not give.
fn complete(args: &InitArgs, respondent: &mut Respondent<'_>) -> Result<(Deployment, CiSystem), InitError> {
    let model = choose_model(args, respondent)?;
    let engine = choose_engine(args, &model, respondent)?;
    let provider = choose_provider(args, respondent)?;
    let mut deployment = Deployment {
        name: name_of_model(&model).unwrap_or_default(),
        model,
        engine,
        gpus: u32::from(profile(engine).requires_gpu),
        provider,
        selected: provider.and_then(|name| BUILTIN.find_provider(name)),
        namespace: args.namespace.clone(),
        is_gated: false,
        fit: None,
    };
    // The provider and the model decide what else is needed, and a first compilation tells both. It has another name, so
    // that the findings about the name come last.
    let draft = compile_deployment(&Deployment { name: "draft".to_owned(), namespace: None, ..deployment.clone() });
    let decision = draft.decisions.first();
    deployment.selected =
        decision.and_then(|decision| decision.provider()).and_then(|name| BUILTIN.find_provider(name));
    let worker = decision.and_then(|decision| decision.workers.first());
    deployment.is_gated = worker.and_then(|worker| worker.facts.as_ref()).is_some_and(|it| it.is_gated == Some(true));
    deployment.gpus = choose_gpus(args, &deployment, worker, &draft, respondent)?;
    deployment.fit = worker.and_then(suggest_gpus).map(|suggestion| suggestion.sentence);
    deployment.name = choose_name(args, &deployment.name, respondent)?;
    if deployment.namespace.is_none() {
        deployment.namespace = choose_namespace(respondent)?;
    }
    Ok((deployment, choose_ci(args, respondent)?))
}

fn choose_model(args: &InitArgs, respondent: &mut Respondent<'_>) -> Result<String, InitError> {
    if let Some(model) = &args.model {
        return Ok(model.clone());
    }
    let question = Question {
        flag: "--model",
        text: "Model to serve",
        expected: "an id on HuggingFace such as Qwen/Qwen3-8B",
        default: None,
    };
    let parse =
        |text: &str| if text.is_empty() { Err("the model has no default".to_owned()) } else { Ok(text.to_owned()) };
    Ok(respondent.ask(&question, parse)?)
}

fn choose_engine(args: &InitArgs, model: &str, respondent: &mut Respondent<'_>) -> Result<EngineType, InitError> {
    let names: Vec<&str> = EngineType::VARIANTS.iter().map(|(name, _)| *name).collect();
    let expected = one_of(&names);
    let find = |name: &str| {
        let found = EngineType::VARIANTS.iter().find(|(known, _)| *known == name).map(|(_, engine)| *engine);
        found.ok_or_else(|| format!("{name:?} is not an engine, expected {expected}"))
    };
    let is_gguf = model.to_ascii_lowercase().contains("gguf");
    let default = if is_gguf { EngineType::Llamacpp } else { EngineType::Vllm };
    let question =
        Question { flag: "--engine", text: "Engine", expected: &expected, default: Some(default.as_str().to_owned()) };
    // clap has checked the value of the flag.
    match args.engine.as_deref().map(find) {
        Some(Ok(engine)) => Ok(engine),
        _ => Ok(respondent.ask(&question, find)?),
    }
}

/// The answer for the provider that selection rules find.
const BY_RULES: &str = "auto";

fn choose_provider(args: &InitArgs, respondent: &mut Respondent<'_>) -> Result<Option<&'static str>, InitError> {
    if let Some(name) = &args.provider {
        return Ok(BUILTIN.find_provider(name).map(Provider::name));
    }
    let names: Vec<&str> = PROVIDERS.iter().map(|it| it.name()).chain([BY_RULES]).collect();
    let expected = one_of(&names);
    let question = Question {
        flag: "--provider",
        text: "Provider, or auto to have rules select it",
        expected: &expected,
        default: Some(BY_RULES.to_owned()),
    };
    let find = |name: &str| match BUILTIN.find_provider(name) {
        Some(provider) => Ok(Some(provider.name())),
        None if name == BY_RULES => Ok(None),
        None => Err(format!("{name:?} is not a provider, expected {expected}")),
    };
    Ok(respondent.ask(&question, find)?)
}

fn choose_gpus(
    args: &InitArgs,
    deployment: &Deployment,
    worker: Option<&WorkerFit>,
    draft: &Compilation,
    respondent: &mut Respondent<'_>,
) -> Result<u32, InitError> {
    if let Some(gpus) = args.gpus {
        return Ok(gpus);
    }
    let suggestion = worker.and_then(suggest_gpus);
    let default = match &suggestion {
        Some(suggestion) => Some(suggestion.count),
        None if !profile(deployment.engine).requires_gpu => Some(0),
        // A wrong engine or provider is the better message.
        None if draft.has_errors() => return Err(InitError::Findings(draft.diagnostics.clone())),
        None => None,
    };
    let text = match &suggestion {
        Some(suggestion) => format!("{}\nGPUs of one replica; the default is for {REFERENCE}", suggestion.sentence),
        None => "GPUs of one replica".to_owned(),
    };
    let question = Question {
        flag: "--gpus",
        text: &text,
        expected: if default.is_some() {
            "a number"
        } else {
            "a number; nothing is known about the memory of this model"
        },
        default: default.map(|count| count.to_string()),
    };
    let parse = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a number of GPUs"));
    Ok(respondent.ask(&question, parse)?)
}

fn choose_name(args: &InitArgs, default: &str, respondent: &mut Respondent<'_>) -> Result<String, InitError> {
    if let Some(name) = &args.name {
        // The compilation checks it.
        return Ok(name.clone());
    }
    let question = Question {
        flag: "--name",
        text: "Name of the ModelDeployment",
        expected: "lower-case letters, digits and -",
        default: (!default.is_empty()).then(|| default.to_owned()),
    };
    Ok(respondent.ask(&question, parse_label)?)
}

fn choose_namespace(respondent: &mut Respondent<'_>) -> Result<Option<String>, InitError> {
    let question = Question {
        flag: "--namespace",
        text: "Namespace",
        expected: "lower-case letters, digits and -; empty for none",
        default: Some(String::new()),
    };
    let parse = |text: &str| if text.is_empty() { Ok(None) } else { parse_label(text).map(Some) };
    Ok(respondent.ask(&question, parse)?)
}

fn choose_ci(args: &InitArgs, respondent: &mut Respondent<'_>) -> Result<CiSystem, InitError> {
    if let Some(system) = args.ci {
        return Ok(system);
    }
    let question = Question {
        flag: "--ci",
        text: "Files for CI",
        expected: "github, gitlab or none",
        default: Some("none".to_owned()),
    };
    let parse = |text: &str| {
        CiSystem::from_str(text, false)
            .map_err(|_| format!("{text:?} is not a CI system, expected one of github, gitlab, none"))
    };
    Ok(respondent.ask(&question, parse)?)
}

fn parse_label(text: &str) -> Result<String, String> {
    match dns_1123_label(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(expected) => Err(format!("{text:?} is not a name, expected {expected}")),
    }
}

/// Makes the name of a ModelDeployment from the id of its model. Returns `None` if nothing of it can be in a name.
fn name_of_model(id: &str) -> Option<String> {
    let last = id.rsplit('/').find(|part| !part.is_empty())?.to_ascii_lowercase();
    let last = last.strip_suffix(".gguf").unwrap_or(&last);
    let mut name = String::new();
    for c in last.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if name.len() < MAX_NAME && !(c == '-' && (name.is_empty() || name.ends_with('-'))) {
            name.push(c);
        }
    }
    let name = name.trim_matches('-');
    // The name of a Service starts with a letter.
    let prefix = if name.starts_with(|first: char| first.is_ascii_digit()) { "model-" } else { "" };
    (!name.is_empty()).then(|| format!("{prefix}{name}"))
}

/// Compiles a deployment with its options, as `kubefoundry lint` compiles the files.
fn compile_deployment(deployment: &Deployment) -> Compilation {
    let mut sources = SourceSet::default();
    sources.add_for(Purpose::Options, FILE_NAME, deployment.options());
    sources.add(format!("{MODELS}/{}.yaml", deployment.name), deployment.model_deployment());
    compile(&BUILTIN, &sources, Thoroughness::Everything)
}

/// Prints findings without their places, which are in texts that are not written.
fn refuse(findings: &[Diagnostic]) -> ExitStatus {
    let mut text = String::new();
    for finding in findings {
        append_line!(text, "{}[{}]: {}", finding.severity, finding.code.id, printable(&finding.message));
        if let Some(help) = &finding.help {
            append_line!(text, "  = help: {}", printable(help));
        }
    }
    console::note(&format!("{text}kubefoundry: nothing was written, because the files would have these findings\n"));
    ExitStatus::Failure
}

/// Formats what was created, and the next commands.
fn report(directory: &Path, files: &[(PathBuf, String)], deployment: &Deployment, ci: CiSystem) -> String {
    let mut text = String::new();
    let paths: Vec<String> = files
        .iter()
        .map(|(file, _)| if directory == Path::new(".") { file.clone() } else { directory.join(file) })
        .map(|path| path.display().to_string())
        .collect();
    for path in &paths {
        append_line!(text, "created {}", printable(path));
    }
    text.push_str("\nNext:\n");
    let place = shell_word(&directory.display().to_string());
    let model = paths.first().map(|path| shell_word(path)).unwrap_or_default();
    let ci_file = paths.last().map(|path| shell_word(path)).unwrap_or_default();
    let mut step = |command: &str, purpose: &str| {
        append_line!(text, "  {command}\n      {purpose}");
    };
    step(&format!("kubefoundry lint {place}"), "checks the files, as CI should");
    step(&format!("kubefoundry explain {model}"), "shows which provider runs the model, and what is rendered");
    if deployment.is_gated {
        let namespace = deployment.namespace.as_ref().map_or(String::new(), |name| format!(" --namespace {name}"));
        step(
            &format!("kubectl create secret generic {TOKEN_SECRET} --from-literal=HF_TOKEN=\"$HF_TOKEN\"{namespace}"),
            "creates the Secret with the token for the model, which is gated",
        );
    }
    step(&format!("kubefoundry render {place} | kubectl apply -f -"), "runs the model");
    match ci {
        CiSystem::Github => step(
            &format!("grep -n {ACTION} {ci_file}"),
            "finds the action in the workflow: name the repository that has it for you",
        ),
        CiSystem::Gitlab => {
            step(&format!("grep -n script: {ci_file}"), "finds the job: set its image to one that has kubefoundry");
        }
        CiSystem::None => {}
    }
    text
}

/// Quotes a text as one word of a shell, if it has to be quoted.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let text = one_line(text);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_models() {
        for (id, name) in [
            ("Qwen/Qwen3-32B", "qwen3-32b"),
            ("meta-llama/Llama-3.1-8B-Instruct", "llama-3-1-8b-instruct"),
            ("unsloth/gemma-3-1b-it-GGUF/gemma-3-1b-it-Q4_K_M.gguf", "gemma-3-1b-it-q4-k-m"),
            ("org/01-ai", "model-01-ai"),
            ("/models/x/", "x"),
        ] {
            assert_eq!(name_of_model(id).as_deref(), Some(name));
            assert!(parse_label(name).is_ok());
        }
        let long = name_of_model(&format!("org/{}", "a-".repeat(60))).unwrap();
        assert!(long.len() <= MAX_NAME && parse_label(&long).is_ok(), "{long}");
        assert_eq!(name_of_model("org/模型"), None);
        assert_eq!(name_of_model(""), None);
    }

    #[test]
    fn a_word_with_blanks_is_quoted() {
        assert_eq!(shell_word("team-a/models"), "team-a/models");
        assert_eq!(shell_word("my models' $HOME"), r"'my models'\'' $HOME'");
    }
}
