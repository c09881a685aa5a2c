//! The commands of the llamacpp runners (docs/design/0011).

use super::codes::{MODEL_FILE_NOT_NAMED, UNKNOWN_RUNNER};
use super::overrides::{self, Overrides, Runner};
use super::runner::{self, ModelRef};
use super::start_command::{
    ANY_ADDRESS, NO_ID, NO_ID_HELP, PORT, StartCommand, TO_POD, TO_PORT, check_reserved,
    warn_about_ignored_engine_settings,
};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Leaf, ModelSource, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines as engines;
use kubefoundry_engines::{Argument, ArgumentValue, Invocation, Launcher, escape_expansion, flags};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// The help for settings that only llama-server takes.
const USE_LLAMA_SERVER: &str = "set spec.image to a llama-server image, such as ghcr.io/ggml-org/llama.cpp:server";

/// Builds the command of an image. Returns `None` after reporting why there is none.
pub(super) fn build_command(
    deployment: &Deployment,
    worker: &Worker,
    image: &str,
    overrides: &Overrides,
    findings: &mut Findings<'_>,
) -> Option<StartCommand> {
    let runner = overrides.runner.or_else(|| runner::infer_runner(image));
    let Some(id) = deployment.model.id.as_deref() else {
        return Some(start_without_model(deployment, runner, overrides, findings));
    };
    let Some(runner) = runner else {
        let message = format!("kubefoundry does not know how to start the image {:?}", shorten(image));
        findings
            .report(&UNKNOWN_RUNNER, image_place(deployment), message)
            .help(format!("set {} to llama-server, llama-cpp-runner or aikit", overrides::path().runner()));
        return None;
    };
    match runner {
        Runner::Aikit => Some(start_aikit(deployment, findings)),
        Runner::Download => start_local_ai(deployment, worker, image, id, findings),
        Runner::Server => start_llama_server(deployment, worker, id, findings),
    }
}

fn image_place(deployment: &Deployment) -> FieldRef {
    deployment
        .image
        .as_ref()
        .map_or_else(|| ModelDeployment::path().spec().image().into(), |(_, path)| FieldRef::value(path))
}

/// Returns the command for a deployment without a model id. The image contains its model and starts itself, but AIKit's
/// needs the flag for KAITO's port.
fn start_without_model(
    deployment: &Deployment,
    runner: Option<Runner>,
    overrides: &Overrides,
    findings: &mut Findings<'_>,
) -> StartCommand {
    if runner == Some(Runner::Aikit) {
        return start_aikit(deployment, findings);
    }
    if overrides.runner.is_some() {
        let path = overrides::path().runner();
        findings.report(&codes::FIELD_IGNORED, &path, format!("{path} has no effect: {NO_ID}")).help(NO_ID_HELP);
    }
    warn_about_ignored_engine_settings(deployment, NO_ID, NO_ID_HELP, findings);
    StartCommand::default()
}

/// Returns the command of an AIKit image, which contains LocalAI, the model and its settings (kaito-project/kaito
/// website/docs/aikit.md).
fn start_aikit(deployment: &Deployment, findings: &mut Findings<'_>) -> StartCommand {
    const WHY: &str = "an AIKit image contains its model and settings";
    if deployment.model.id.is_some() {
        findings
            .report(
                &codes::FIELD_IGNORED,
                ModelDeployment::path().spec().model().id(),
                format!("spec.model.id has no effect: {WHY}"),
            )
            .help("set spec.model.source: custom, and remove spec.model.id");
    }
    warn_about_ignored_served_name(deployment, WHY, findings);
    warn_about_ignored_engine_settings(deployment, WHY, "remove it, and build the image with this setting", findings);
    StartCommand { args: vec!["run".to_owned(), address_flag()], ..StartCommand::default() }
}

/// Returns the flag for the address on which LocalAI listens.
fn address_flag() -> String {
    format!("--address=:{PORT}")
}

fn warn_about_ignored_served_name(deployment: &Deployment, why: &str, findings: &mut Findings<'_>) {
    if deployment.model.served_name.as_ref().is_some_and(Leaf::is_written) {
        let message = format!("spec.model.servedName has no effect: {why}");
        findings
            .report(&codes::FIELD_IGNORED, ModelDeployment::path().spec().model().served_name(), message)
            .help(USE_LLAMA_SERVER);
    }
}

/// Returns the command of a runner that downloads a model and serves it with LocalAI, whose flags differ from
/// llama-server's.
fn start_local_ai(
    deployment: &Deployment,
    worker: &Worker,
    image: &str,
    id: &str,
    findings: &mut Findings<'_>,
) -> Option<StartCommand> {
    warn_about_ignored_served_name(deployment, "the llama-cpp-runner image names a model after its file", findings);
    let model = match ModelRef::parse(id) {
        ModelRef::Repository(repository, file) => {
            if file.is_none() {
                findings
                    .report(
                        &MODEL_FILE_NOT_NAMED,
                        ModelDeployment::path().spec().model().id(),
                        format!("spec.model.id is {id:?}, which names no file, so the runner chooses one"),
                    )
                    .help(format!("name the file to run: {id}/<file>.gguf"));
            }
            Some(runner::download_argument(image, repository, file))
        }
        ModelRef::Path(_) if deployment.model.source.value == ModelSource::Custom => {
            let message = "spec.model.source is custom, but a llama-cpp-runner image downloads the model that spec.model.id names";
            findings
                .report(&codes::FIELD_NOT_SUPPORTED, ModelDeployment::path().spec().model().source(), message)
                .help(USE_LLAMA_SERVER);
            None
        }
        ModelRef::Path(_) | ModelRef::Bare => {
            let message = format!(
                "spec.model.id is {id:?}, expected org/name or org/name/file.gguf for a llama-cpp-runner image"
            );
            findings
                .report(&codes::FIELD_NOT_SUPPORTED, ModelDeployment::path().spec().model().id(), message)
                .help(USE_LLAMA_SERVER);
            None
        }
    };
    let launcher = Launcher {
        program: "LocalAI".to_owned(),
        extra_flags: &["address", "context-size"],
        api_key_help: Some("remove the flag, and set LOCALAI_API_KEY in spec.env from a Secret"),
        ..Launcher::llama_server()
    };
    let invocation = engines::resolve(deployment, worker, &launcher, findings);
    let flags = local_ai_flags(&invocation, findings)?;
    Some(StartCommand { args: [model?, address_flag()].into_iter().chain(flags).collect(), ..StartCommand::default() })
}

/// Converts the flags to LocalAI's: the two that it shares with llama-server, and those that llama-server does not
/// know. LocalAI stops at unknown flags (mudler/LocalAI core/cli/run.go), so flags of llama-server are omitted with a
/// warning.
fn local_ai_flags(invocation: &Invocation, findings: &mut Findings<'_>) -> Option<Vec<String>> {
    let mut flags: Vec<(&str, &FieldPath, String)> = Vec::new();
    for Argument { name, value, path } in &invocation.arguments {
        let name = match name.as_str() {
            "ctx-size" => "context-size",
            "address" => {
                check_reserved(invocation, "address", &[], TO_PORT, findings)?;
                continue;
            }
            "threads" => "threads",
            name if flags::llama_server().lookup(name).is_some() => {
                let message =
                    format!("{path} has no effect: the llama-cpp-runner image starts LocalAI, which has no --{name}");
                findings.report(&codes::FIELD_IGNORED, path, message).help(USE_LLAMA_SERVER);
                continue;
            }
            name => name,
        };
        if let Some((_, first, _)) = flags.iter().find(|(existing, ..)| *existing == name) {
            let message = format!("--{name} is set twice for LocalAI: here and by {first}");
            findings
                .report(&codes::DUPLICATE_FLAG, FieldRef::key(path), message)
                .related(*first, "first set here")
                .help("remove one of the two");
            return None;
        }
        let text = match value {
            ArgumentValue::Text(text) => format!("--{name}={}", escape_expansion(text)),
            ArgumentValue::Number(number) => format!("--{name}={number}"),
            ArgumentValue::Json(json) => format!("--{name}={}", escape_expansion(&json.to_string())),
            ArgumentValue::List(texts) => format!("--{name}={}", escape_expansion(&texts.join(","))),
            ArgumentValue::On => format!("--{name}"),
            ArgumentValue::Off(off) => format!("--{off}"),
        };
        flags.push((name, path, text));
    }
    Some(flags.into_iter().map(|(.., text)| text).collect())
}

/// Returns the command of llama.cpp's own server, which downloads a repository or loads a file.
fn start_llama_server(
    deployment: &Deployment,
    worker: &Worker,
    id: &str,
    findings: &mut Findings<'_>,
) -> Option<StartCommand> {
    let model = match ModelRef::parse(id) {
        ModelRef::Path(path) => Some(vec![("model", path)]),
        ModelRef::Repository(repository, None) => Some(vec![("hf-repo", repository)]),
        ModelRef::Repository(repository, Some(file)) => Some(vec![("hf-repo", repository), ("hf-file", file)]),
        ModelRef::Bare => {
            let message = format!("spec.model.id is {id:?}, expected org/name, org/name/file.gguf or an absolute path");
            findings
                .report(&codes::FIELD_NOT_SUPPORTED, ModelDeployment::path().spec().model().id(), message)
                .help("write org/name: llama-server needs the organization of a repository");
            None
        }
    };
    let mut invocation = engines::resolve(deployment, worker, &Launcher::llama_server(), findings);
    let port = PORT.to_string();
    let mut reserved = vec![
        check_reserved(&invocation, "port", &[&port], TO_PORT, findings),
        check_reserved(&invocation, "host", ANY_ADDRESS, TO_POD, findings),
    ];
    for name in ["hf-repo", "hf-file"] {
        let value = model.iter().flatten().find(|(flag, _)| *flag == name).map(|(_, value)| *value);
        // For an id without a file, the user may choose the file with --hf-file.
        if name == "hf-repo" || value.is_some() || matches!(ModelRef::parse(id), ModelRef::Path(_)) {
            reserved.push(check_reserved(
                &invocation,
                name,
                value.as_slice(),
                "it follows from spec.model.id",
                findings,
            ));
        }
    }
    if reserved.contains(&None) {
        return None;
    }
    let model = model?;
    invocation.arguments.retain(|argument| !model.iter().any(|(flag, _)| *flag == argument.name));
    invocation.set_default("host", ArgumentValue::Text("0.0.0.0".to_owned()));
    invocation.set_default("port", ArgumentValue::Text(port));
    let alias = deployment.model.served_name.as_ref().map(|name| ("alias", name.value.as_str()));
    let own_flags = model.into_iter().chain(alias);
    let mut args: Vec<String> =
        own_flags.flat_map(|(flag, value)| [format!("--{flag}"), escape_expansion(value).into_owned()]).collect();
    args.extend(invocation.argv());
    Some(StartCommand { args, cache_variable: Some("LLAMA_CACHE"), ..StartCommand::default() })
}
