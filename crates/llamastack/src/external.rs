//! What external providers add to the pod: init containers that install and merge, volumes between them, and what the
//! server needs to find the result.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` of `github.com/llamastack/llama-stack-k8s-operator`.

use super::install::{EXTRA_BASE_CONFIGS, EXTRACT_SCRIPT, PROVIDER_SCRIPT, Provider, environment, unexpanded};
use super::pod::{Mode, with_own};
use super::server::Server;
use super::types::{Container, Resources, Volume, mount};
use super::wire::VolumeMount;
use super::{options, paths};
use crate::options::Options;
use kubefoundry_kubernetes::pod::{StringMap, env_value};
use kubefoundry_kubernetes::wire::EnvVar;

/// The volume that providers are installed on.
pub(super) const PROVIDERS: &str = "external-providers";
/// The volume with the configuration that is merged into.
pub(super) const BASE_CONFIG: &str = "base-config";
/// The volume with the merged configuration.
pub(super) const CONFIG: &str = "config";

/// Where a distribution's image may have its run.yaml.
const KNOWN_CONFIGS: [&str; 2] = ["/opt/app-root/run.yaml", "/etc/llama-stack/run.yaml"];

/// The init containers, in the order in which they run: every provider in the order of the distribution, the
/// configuration of its image unless the user brings one, the merge.
pub(super) fn init_containers(server: &Server, options: &Options<'_>) -> Vec<Container> {
    let mode = Mode::select(server, options);
    let mut containers: Vec<Container> =
        (0..).zip(&server.providers).map(|(order, provider)| install(order, provider, options)).collect();
    if mode == Mode::Init && server.user_config.is_none() {
        containers.push(extract(server, options));
    }
    if matches!(mode, Mode::Init | Mode::Native) {
        containers.push(merge(mode, options));
    }
    containers
}

/// A container that stops before the server starts, and whose last words are in the pod's status when it fails.
fn init_container(name: String, image: String, mounts: Vec<VolumeMount>, options: &Options<'_>) -> Container {
    let settings = &options.settings;
    let resources = Resources {
        limits: StringMap(settings.init_limits.clone()),
        requests: StringMap(settings.init_requests.clone()),
        ..Resources::default()
    };
    let termination_message_policy = Some("FallbackToLogsOnError");
    Container { name, image, resources, volume_mounts: mounts, termination_message_policy, ..Container::default() }
}

/// Installs a provider. What tells it from others is in variables, never in the script.
fn install(order: usize, provider: &super::server::Provider, options: &Options<'_>) -> Container {
    let mounts = vec![mount(PROVIDERS, paths::PROVIDERS, false)];
    let told = Provider {
        provider_id: &provider.id,
        image: &provider.image,
        api: provider.api,
        order,
        config: provider.config.as_ref(),
    };
    Container {
        image_pull_policy: Some(provider.pull_policy),
        command: script(PROVIDER_SCRIPT),
        env: environment(&told).into_iter().map(|(name, value)| env_value(name, value)).collect(),
        ..init_container(provider.container_name(), provider.image.clone(), mounts, options)
    }
}

/// Copies the run.yaml of the distribution's image.
fn extract(server: &Server, options: &Options<'_>) -> Container {
    let mounts = vec![mount(BASE_CONFIG, paths::BASE_CONFIG, false)];
    let further = &options.settings.base_config_paths;
    let env = (!further.is_empty()).then(|| env_value(EXTRA_BASE_CONFIGS, unexpanded(&further.join("\n"))));
    Container {
        command: script(EXTRACT_SCRIPT),
        env: env.into_iter().collect(),
        ..init_container("extract-distribution-config".to_owned(), server.image.clone(), mounts, options)
    }
}

/// Merges the providers into the configuration; for a server that does so itself, only lists them.
fn merge(mode: Mode, options: &Options<'_>) -> Container {
    let mut mounts = vec![mount(PROVIDERS, paths::PROVIDERS, true)];
    let mut command = vec![paths::PROGRAM, "llamastack", "merge-config"];
    if mode == Mode::Native {
        command.push("--extra-providers-only");
    } else {
        mounts.push(mount(BASE_CONFIG, paths::BASE_CONFIG, true));
    }
    mounts.push(mount(CONFIG, paths::CONFIG, false));
    let image = options::mirrored_image(options, &options.settings.renderer().image);
    Container {
        command: command.into_iter().map(str::to_owned).collect(),
        working_dir: Some("/workspace"),
        ..init_container("merge-config".to_owned(), image, mounts, options)
    }
}

fn script(text: &str) -> Vec<String> {
    ["/bin/sh", "-c", text].map(str::to_owned).to_vec()
}

/// Adds volumes, mounts and variables to a pod that has none of external providers yet.
pub(super) fn extend(
    server: &Server,
    mode: Mode,
    options: &Options<'_>,
    container: &mut Container,
    volumes: &mut Vec<Volume>,
) {
    volumes.push(Volume::empty_dir(PROVIDERS, Some(&options.settings.volume_size_limit)));
    if mode == Mode::Init {
        volumes.push(match &server.user_config {
            Some(config_map) => Volume::config_map(BASE_CONFIG, config_map, None),
            None => Volume::empty_dir(BASE_CONFIG, None),
        });
    }
    volumes.push(match mode {
        Mode::Static => Volume::config_map(CONFIG, &server.object_name(RUN_CONFIG), None),
        _ => Volume::empty_dir(CONFIG, None),
    });
    container.volume_mounts.push(mount(PROVIDERS, paths::PROVIDERS, true));
    container.volume_mounts.push(mount(CONFIG, paths::CONFIG, true));
    let given = python_path(server.container.env.clone());
    let mut made = std::mem::take(&mut container.env);
    made.retain(|variable| !server.container.env.iter().any(|given| given.name == variable.name));
    for variable in made.iter_mut().filter(|variable| variable.name.as_deref() == Some("LLAMA_STACK_CONFIG")) {
        variable.value = Some(paths::RUN_YAML.to_owned());
    }
    if mode == Mode::Native {
        // The configuration is found when the server starts.
        made.retain(|variable| variable.name.as_deref() != Some("LLAMA_STACK_CONFIG"));
        made.push(env_value("LLS_CONFIG_PATHS", unexpanded(&config_paths(server, options).join("\n"))));
        made.push(env_value("LLS_EXTRA_PROVIDERS", paths::EXTRA_PROVIDERS));
    }
    if server.workers.is_none() || mode == Mode::Native {
        made.push(env_value("LLS_START", "run"));
    }
    made.push(env_value("LLS_PREFLIGHT", options.settings.preflight.as_str()));
    container.env = with_own(made, given);
}

/// The ConfigMap with what was merged while rendering, without the server's name.
pub(super) const RUN_CONFIG: &str = "run-config";

/// Where a server that merges external providers itself finds its configuration.
fn config_paths(server: &Server, options: &Options<'_>) -> Vec<String> {
    if server.user_config.is_some() {
        return ["run.yaml", "config.yaml"].map(|key| format!("{}/{key}", paths::USER_CONFIG)).to_vec();
    }
    let known = KNOWN_CONFIGS.map(str::to_owned);
    known.into_iter().chain(options.settings.base_config_paths.iter().cloned()).collect()
}

/// The variables of the user with exactly one `PYTHONPATH`, in which the providers' packages come first.
fn python_path(mut env: Vec<EnvVar>) -> Vec<EnvVar> {
    const NAME: &str = "PYTHONPATH";
    let joined = |rest: &str| {
        // An empty entry would be the working directory.
        let separator = if rest.is_empty() { "" } else { ":" };
        env_value(NAME, format!("{}{separator}{rest}", paths::PACKAGES))
    };
    // The user may have a variable of that name already.
    let mut users = "LLS_USER_PYTHONPATH".to_owned();
    while env.iter().any(|variable| variable.name.as_ref() == Some(&users)) {
        users.push('_');
    }
    let Some(position) = env.iter().position(|variable| variable.name.as_deref() == Some(NAME)) else {
        env.insert(0, joined(""));
        return env;
    };
    if let Some(given) = env.get_mut(position) {
        let source = given.value_from.take();
        *given = joined(&given.value.take().unwrap_or_default());
        if source.is_some() {
            *given = joined(&format!("$({users})"));
            env.insert(position, EnvVar { name: Some(users), value: None, value_from: source });
        }
    }
    env
}
