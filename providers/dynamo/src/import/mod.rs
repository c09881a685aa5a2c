//! Import of a `DynamoGraphDeployment` in either CRD version.

pub(crate) mod component;
pub(crate) mod config_file;
pub(crate) mod refine;
pub(crate) mod unify;

use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::component::FRONTEND;
use super::frontend::{HUB_VARIABLES, REPLICA_SYNC, ROUTER_MODE};
use super::runtimes::RELEASES;
use super::{RUNTIMES, frontend, image, runtimes};
use crate::import::component::GraphComponent;
use crate::settings::frontend::{DEFAULT_REQUESTS, ROUTER_MODE_FLAG, is_reserved_flag, is_reserved_variable};
use kubefoundry_deployment::ir::{EngineType, Role};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_engines::{CommandLine, ImportedFlag, flags_from_argv, profile};
use kubefoundry_provider::draft::{
    Draft, Equivalents, ImportRefusal, ImportSource, WorkerDraft, count_at, items_at, quantity_at, string_at,
};
use kubefoundry_provider::import_pod;
use kubefoundry_provider::nixl;
use kubefoundry_provider::releases::{Release, find_release};
use kubefoundry_yaml::field_path::FieldPath;

/// The flag that gives a worker its role, and its value for a worker that does both.
const MODE_FLAG: &str = "disaggregation-mode";
const AGGREGATED_MODE: &str = "agg";

/// The reason for an assumed number of GPUs.
const NO_GPUS: &str = "the object requests no GPU, but the engine needs one for each parallel rank";

/// Imports a graph.
pub(crate) fn import(source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let mut object = source.object.clone();
    unify::distribute_environment(&mut object);
    let components = GraphComponent::all_of(&object);
    let of_kind = |kind: &str| components.iter().filter(move |component| component.kind() == kind).collect::<Vec<_>>();
    let (workers, prefill, decode) = (of_kind("worker"), of_kind("prefill"), of_kind("decode"));
    let roles: Vec<(Role, &GraphComponent<'_>)> = match (workers.as_slice(), prefill.as_slice(), decode.as_slice()) {
        // Upstream's recipes declare the only worker as a decode worker.
        ([worker], [], []) | ([], [], [worker]) => vec![(Role::Aggregated, worker)],
        // In upstream's examples the decode worker has the type of a plain worker.
        ([one, other], [], []) if is_pair(one, other) => vec![(Role::Prefill, one), (Role::Decode, other)],
        ([one, other], [], []) if is_pair(other, one) => vec![(Role::Prefill, other), (Role::Decode, one)],
        ([decode], [prefill], []) | ([], [prefill], [decode]) => vec![(Role::Prefill, prefill), (Role::Decode, decode)],
        _ => {
            return Err(ImportRefusal(format!(
                "it has {} worker, {} prefill and {} decode components, expected one worker, or one prefill and one \
                 decode component",
                workers.len(),
                prefill.len(),
                decode.len()
            )));
        }
    };
    let mut command_lines = Vec::new();
    for (_, component) in &roles {
        let line = component.command_line();
        command_lines
            .push(line.map_err(|reason| ImportRefusal(format!("the command of {} is {reason}", component.name)))?);
    }
    let first = roles.first().map(|(_, component)| *component);
    let backend = detect_backend(source, command_lines.first())?;
    let engine = backend.kind;
    let mut draft = Draft::new(engine);
    if let Some(component) = first {
        import_pod::import_pod(component.metadata, component.pod, component.container, source, &mut draft);
        draft.env = component.env();
        let size = if component.is_v1alpha1 { "/sharedMemory/size" } else { "/sharedMemorySize" };
        draft.shared_memory = quantity_at(component.value, size).or(draft.shared_memory);
        if component.is_v1alpha1 {
            // The operator applies a probe of the service after those of the container
            // (internal/dynamo/graph.go).
            draft.probes.extend(import_pod::probes(component.value));
            draft.hugging_face_token = string_at(component.value, "/envFromSecret").map(str::to_owned);
        }
        import_compilation_cache(component, source, &mut draft);
        import_claims(component, source, &mut draft);
        if let Some(version) = string_at(component.value, "/runtimeVersionOverride") {
            draft.overrides.insert("runtimeVersion".to_owned(), json!(version));
        }
    }
    let played: Vec<Role> = roles.iter().map(|(role, _)| *role).collect();
    let release = first.and_then(|component| find_component_release(component)).or(RELEASES.last());
    let Some(launcher) = release.map(|release| runtimes::launcher(engine, release, false)) else {
        return Err(ImportRefusal("no release of Dynamo is known".to_owned()));
    };
    for ((role, component), line) in roles.iter().zip(&command_lines) {
        let rendered_name = backend.component_name(source.name(), &played, *role);
        draft.equivalents.renames.pairs.push((component.name.to_owned(), rendered_name.to_owned()));
        let mut worker = component.worker(*role, &line.texts());
        worker.flags = draft.equivalents.canonicalize(worker.flags, &launcher);
        let config = config_file::flags(&worker.flags, component.value, component.pod, component.container, source);
        let config = draft.equivalents.canonicalize(config, &launcher);
        config_file::add(config, engine, &mut worker, &mut draft.equivalents);
        note_served_name(&worker, engine, &mut draft.equivalents);
        if worker.gpu_count == 0 && items_at(component.container, "/resources/claims").is_empty() {
            worker.gpu_count = parallel_ranks(&worker, engine);
            let resources = ModelDeployment::path().spec();
            let path: FieldPath = match role {
                Role::Aggregated => resources.resources().gpu().count().into(),
                Role::Prefill => resources.scaling().prefill().gpu().count().into(),
                Role::Decode => resources.scaling().decode().gpu().count().into(),
            };
            draft.assumptions.push((path, NO_GPUS));
        }
        nixl::remove_role(&mut worker.flags, *role);
        if *role == Role::Aggregated {
            take_aggregated_mode(&mut worker, &mut draft.equivalents)?;
        }
        draft.workers.push(worker);
    }
    if let [frontend] = of_kind("frontend").as_slice() {
        draft.equivalents.renames.pairs.push((frontend.name.to_owned(), FRONTEND.to_owned()));
        import_frontend(frontend, &mut draft);
        import_pod::keep_shared_settings(frontend.pod, &mut draft);
        draft.equivalents.default_program = frontend::PROGRAM;
    }
    // The operator derives the framework from the command of the workers.
    let names_module = command_lines.iter().all(|line| line.program.iter().any(|word| word.starts_with("dynamo.")));
    if names_module {
        let field = FieldPath::root().with_key("spec").with_key("backendFramework");
        draft.equivalents.implied_fields.push((field, json!(backend.framework)));
    }
    draft.equivalents.renames.mapping = "spec.services";
    draft.equivalents.renames.pairs.retain(|(imported, rendered)| imported != rendered);
    Ok(draft)
}

/// Returns whether two plain workers are a prefill and a decode worker by their flags. A worker without a mode decodes
/// what the other prefills.
fn is_pair(prefill: &GraphComponent<'_>, decode: &GraphComponent<'_>) -> bool {
    let mode = |component: &GraphComponent<'_>| {
        let flags = flags_from_argv(&component.readable_command_line().texts());
        flags.iter().rev().find(|flag| flag.name == MODE_FLAG).and_then(|flag| flag.value().map(str::to_owned))
    };
    mode(prefill).as_deref() == Some(Role::Prefill.as_str())
        && mode(decode).is_none_or(|mode| mode == Role::Decode.as_str())
}

/// Removes the flag that declares a worker of an aggregated graph as such. Returns an error if it says otherwise.
fn take_aggregated_mode(worker: &mut WorkerDraft, equivalents: &mut Equivalents) -> Result<(), ImportRefusal> {
    let Some(position) = worker.flags.iter().position(|flag| flag.name == MODE_FLAG) else { return Ok(()) };
    let flag = worker.flags.remove(position);
    if flag.value() != Some(AGGREGATED_MODE) {
        return Err(ImportRefusal(format!(
            "its only worker runs with --{MODE_FLAG} {}, expected a prefill and a decode worker",
            flag.values.join(" ")
        )));
    }
    equivalents.default_flags.push(flag);
    Ok(())
}

/// Adds the name under which an engine serves a model that has no other one.
fn note_served_name(worker: &WorkerDraft, engine: EngineType, equivalents: &mut Equivalents) {
    let names = profile(engine);
    let value = |name: &str| worker.flags.iter().rev().find(|flag| flag.name == name).and_then(ImportedFlag::value);
    if let Some(model) = value(names.model).filter(|_| value(names.served_name).is_none()) {
        equivalents.default_flags.push(ImportedFlag::with_value(names.served_name, model));
    }
}

/// Returns the number of GPUs on which a worker runs by its flags.
fn parallel_ranks(worker: &WorkerDraft, engine: EngineType) -> u32 {
    let names = profile(engine).parallelism.as_ref();
    let names = names.into_iter().flat_map(|flags| [Some(flags.tensor), Some(flags.pipeline), flags.data]).flatten();
    let size = |name: &str| worker.flags.iter().find(|flag| flag.name == name)?.value()?.parse::<u32>().ok();
    names.filter_map(size).fold(1, u32::saturating_mul).max(1)
}

/// Imports the claims that a component of `v1alpha1` mounts by its own fields.
fn import_claims(component: &GraphComponent<'_>, source: &ImportSource<'_>, draft: &mut Draft) {
    for mount in items_at(component.value, "/volumeMounts") {
        let (Some(claim), Some(path)) = (string_at(mount, "/name"), string_at(mount, "/mountPoint")) else { continue };
        let is_taken = draft.volumes.iter().any(|volume| string_at(volume, "/name") == Some(claim));
        if component.is_v1alpha1 && mount.get("useAsCompilationCache") != Some(&Value::Bool(true)) && !is_taken {
            let purpose = import_pod::volume_purpose(path, draft);
            import_pod::add_claim_volume(claim, purpose, path, claim, false, source, draft);
        }
    }
}

/// Returns the release that the image or an override names, or the nearest known one, or else the default one.
fn find_component_release(component: &GraphComponent<'_>) -> Option<&'static Release> {
    let declared = string_at(component.value, "/runtimeVersionOverride")
        .or_else(|| string_at(component.container, "/image").and_then(image::tag_version));
    let found = declared.and_then(|version| find_release(RELEASES, version));
    found.or_else(|| find_release(RELEASES, RUNTIMES.first()?)).map(|found| found.release)
}

/// Detects the backend from the command of the workers, or from `spec.backendFramework`.
fn detect_backend(source: &ImportSource<'_>, line: Option<&CommandLine>) -> Result<&'static Backend, ImportRefusal> {
    let framework = source.string_at("/spec/backendFramework");
    let module = line.and_then(|line| line.program.iter().find_map(|word| word.strip_prefix("dynamo.")));
    module.or(framework).and_then(Backend::find_by_framework).ok_or_else(|| {
        let program = line.map(|line| line.program.join(" ")).filter(|program| !program.is_empty());
        ImportRefusal(match program {
            Some(program) => format!(
                "its engine is unknown: its command is {program}, expected python3 -m dynamo.vllm, dynamo.sglang or \
                 dynamo.trtllm"
            ),
            None => "its engine is unknown: it has neither spec.backendFramework nor a command such as python3 -m \
                     dynamo.vllm"
                .to_owned(),
        })
    })
}

/// The path at which the operator mounts a compilation cache by default, vLLM's own cache directory.
const DEFAULT_CACHE_PATH: &str = "/root/.cache/vllm";

/// Imports the compilation cache that the operator mounts as a volume of the deployment.
fn import_compilation_cache(component: &GraphComponent<'_>, source: &ImportSource<'_>, draft: &mut Draft) {
    let (claim, path) = if component.is_v1alpha1 {
        let mounts = items_at(component.value, "/volumeMounts").iter();
        let Some(mount) = mounts.into_iter().find(|mount| mount["useAsCompilationCache"] == true) else { return };
        (string_at(mount, "/name"), string_at(mount, "/mountPoint"))
    } else {
        let cache = |field: &str| string_at(component.value, &format!("/compilationCache/{field}"));
        (cache("pvcName"), cache("mountPath"))
    };
    let Some(claim) = claim else { return };
    let path = path.unwrap_or(DEFAULT_CACHE_PATH);
    // A rendered claim is named `<deployment>-<volume>`.
    let prefix = format!("{}-", source.name());
    let is_taken = |name: &str| draft.volumes.iter().any(|volume| string_at(volume, "/name") == Some(name));
    let derived = claim.strip_prefix(&prefix).filter(|name| !name.is_empty() && !is_taken(name));
    let name =
        derived.unwrap_or(if is_taken("compilation-cache") { "compilation-cache-0" } else { "compilation-cache" });
    let name = name.to_owned();
    import_pod::add_claim_volume(&name, "compilationCache", path, claim, false, source, draft);
}

/// Imports the settings of the frontend that differ from the defaults: as overrides, which every API group has, if there
/// is one of the same meaning, and otherwise as `spec.frontend`.
fn import_frontend(frontend: &GraphComponent<'_>, draft: &mut Draft) {
    let env = frontend.env();
    let mode = env.iter().find(|variable| string_at(variable, "/name") == Some(ROUTER_MODE));
    let mode = mode.and_then(|mode| string_at(mode, "/value"));
    let flags = flags_from_argv(&frontend.readable_command_line().texts());
    let mut args = frontend_args(&flags, draft);
    // The flag means the same as the variable, and wins over it. It is an override unless it stands among other flags.
    let flag = flags.iter().find(|flag| flag.name == ROUTER_MODE_FLAG && flag.value().is_some());
    match flag.and_then(ImportedFlag::value) {
        Some(mode) if !args.is_empty() => drop(args.insert(ROUTER_MODE_FLAG.to_owned(), json!(mode))),
        written => {
            if let Some(mode) = written.or(mode) {
                draft.overrides.insert("routerMode".to_owned(), json!(mode));
            }
            draft.equivalents.default_flags.extend(flag.cloned());
        }
    }
    args.sort_keys();
    let mut settings = Map::new();
    if let Some(replicas) = count_at(frontend.value, "/replicas").filter(|replicas| *replicas != 1) {
        settings.insert("replicas".to_owned(), json!(replicas));
    }
    let (cpu, memory) = frontend.requests();
    let mut resources = Map::new();
    for ((field, default), amount) in DEFAULT_REQUESTS.into_iter().zip([cpu, memory]) {
        if let Some(amount) = amount.filter(|amount| amount != default) {
            resources.insert(field.to_owned(), json!(amount));
        }
    }
    if !resources.is_empty() {
        settings.insert("resources".to_owned(), Value::Object(resources));
    }
    if !settings.is_empty() {
        draft.overrides.insert("frontend".to_owned(), Value::Object(settings));
    }
    let env: Vec<Value> = env.into_iter().filter(|variable| is_frontend_variable(variable, &args, draft)).collect();
    let resources = frontend_resources(frontend);
    for (field, value) in [("args", Value::Object(args)), ("env", Value::Array(env)), ("resources", resources)] {
        let is_empty = value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            draft.frontend.insert(field.to_owned(), value);
        }
    }
}

/// Flags of the frontend with the value that the operator gives it (component_frontend.go and frontend_args.py).
const FRONTEND_DEFAULTS: &[(&str, &str)] = &[("http-host", "0.0.0.0"), ("http-port", "8000")];

/// Returns the flags of the frontend that `spec.frontend.args` can say. Those that users may not set stay what the
/// result lacks, unless they say what the operator sets.
fn frontend_args(flags: &[ImportedFlag], draft: &mut Draft) -> Map<String, Value> {
    let mut args = Map::new();
    for flag in flags {
        let is_default =
            FRONTEND_DEFAULTS.iter().any(|(name, value)| flag.name == *name && flag.value() == Some(*value));
        if flag.name == ROUTER_MODE_FLAG {
            continue;
        }
        if is_default {
            draft.equivalents.default_flags.push(flag.clone());
            continue;
        }
        let is_name = flag.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !is_name || is_reserved_flag(&flag.name) {
            continue;
        }
        match flag.values.as_slice() {
            [] => drop(args.insert(flag.name.clone(), json!(""))),
            [value] => drop(args.insert(flag.name.clone(), json!(value))),
            _ => {}
        }
    }
    args
}

/// Returns whether `spec.frontend.env` says a variable: nothing else sets it, and users may set it.
fn is_frontend_variable(variable: &Value, args: &Map<String, Value>, draft: &Draft) -> bool {
    let Some(name) = string_at(variable, "/name") else { return false };
    let is_common = HUB_VARIABLES.contains(&name) && draft.env.contains(variable);
    let replicas = draft.overrides.get("frontend").and_then(|settings| count_at(settings, "/replicas")).unwrap_or(1);
    let is_synchronized = name == REPLICA_SYNC
        && replicas > 1
        && (draft.overrides.get("routerMode") == Some(&json!("kv"))
            || args.get(ROUTER_MODE_FLAG) == Some(&json!("kv")))
        && string_at(variable, "/value") == Some("true");
    !is_common && !is_synchronized && !is_reserved_variable(name)
}

/// Returns `spec.frontend.resources`: limits, requests that no override says, and `null` for a default that the frontend
/// does not have.
fn frontend_resources(frontend: &GraphComponent<'_>) -> Value {
    let owner = if frontend.is_v1alpha1 { frontend.value } else { frontend.container };
    let amounts = |list: &str| -> Map<String, Value> {
        let written = owner.pointer(&format!("/resources/{list}")).and_then(Value::as_object);
        let own = written.into_iter().flatten().filter(|(name, value)| {
            // v1alpha1 has the GPUs and other resources in fields of their own.
            !(frontend.is_v1alpha1 && matches!(name.as_str(), "gpu" | "gpuType" | "custom" | "claims")
                || value.is_null())
        });
        let others = owner.pointer(&format!("/resources/{list}/custom")).and_then(Value::as_object);
        let others = others.filter(|_| frontend.is_v1alpha1).into_iter().flatten();
        own.chain(others).map(|(name, amount)| (name.clone(), amount.clone())).collect()
    };
    let mut requests = amounts("requests");
    let has = |requests: &Map<String, Value>, name: &str| requests.contains_key(name);
    let absent: Vec<&str> =
        DEFAULT_REQUESTS.iter().map(|(name, _)| *name).filter(|name| !has(&requests, name)).collect();
    requests.retain(|name, _| !DEFAULT_REQUESTS.iter().any(|(known, _)| known == name));
    requests.extend(absent.into_iter().map(|name| (name.to_owned(), Value::Null)));
    let mut resources = Map::new();
    for (field, amounts) in [("requests", requests), ("limits", amounts("limits"))] {
        if !amounts.is_empty() {
            resources.insert(field.to_owned(), Value::Object(amounts));
        }
    }
    Value::Object(resources)
}
