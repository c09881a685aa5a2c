//! The additions of external providers to the pod: init containers that install providers and merge the configuration,
//! their volumes, and the environment by which the server finds the result.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` of `github.com/llamastack/llama-stack-k8s-operator`.

use super::install::{
    DISTRIBUTION, EXTRA_BASE_CONFIGS, EXTRACT_SCRIPT, PROVIDER_SCRIPT, Provider, environment, unexpanded,
};
use super::pod::{Mode, with_user_variables};
use super::server::Server;
use super::types::{Container, Resources, Volume, mount};
use super::wire::VolumeMount;
use super::{options, paths};
use crate::options::Options;
use kubefoundry_kubernetes::pod::{StringMap, env_value};
use kubefoundry_kubernetes::wire::EnvVar;

/// The volume for installed providers.
pub(super) const PROVIDERS: &str = "external-providers";
/// The volume with the base configuration.
pub(super) const BASE_CONFIG: &str = "base-config";
/// The volume with the merged configuration.
pub(super) const CONFIG: &str = "config";

/// Returns the init containers in order of execution: one for each provider in the order of the distribution, one that
/// extracts the configuration of the image unless the user has one, and the merge.
pub(super) fn init_containers(server: &Server, options: &Options<'_>) -> Vec<Container> {
    let mode = Mode::select(server, options);
    let mut containers: Vec<Container> =
        (0..).zip(&server.providers).map(|(order, provider)| install_container(order, provider, options)).collect();
    if mode == Mode::Init && server.user_config.is_none() {
        containers.push(extract_container(server, options));
    }
    if matches!(mode, Mode::Init | Mode::Native) {
        containers.push(merge_container(mode, options));
    }
    containers
}

/// Creates an init container. If it fails, the end of its log becomes its message in the pod's status.
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

/// Creates the init container that installs a provider. The script is the same for all; variables describe the provider.
fn install_container(order: usize, provider: &super::server::Provider, options: &Options<'_>) -> Container {
    let mounts = vec![mount(PROVIDERS, paths::PROVIDERS, false)];
    let description = Provider {
        provider_id: &provider.id,
        image: &provider.image,
        api: provider.api,
        order,
        config: provider.config.as_ref(),
    };
    Container {
        image_pull_policy: Some(provider.pull_policy),
        command: shell_command(PROVIDER_SCRIPT),
        env: environment(&description).into_iter().map(|(name, value)| env_value(name, value)).collect(),
        ..init_container(provider.container_name(), provider.image.clone(), mounts, options)
    }
}

/// Creates the init container that extracts run.yaml from the distribution's image.
fn extract_container(server: &Server, options: &Options<'_>) -> Container {
    let mounts = vec![mount(BASE_CONFIG, paths::BASE_CONFIG, false)];
    Container {
        command: shell_command(EXTRACT_SCRIPT),
        env: search_variables(server, options),
        ..init_container("extract-distribution-config".to_owned(), server.image.clone(), mounts, options)
    }
}

/// Returns the variables with which a script finds the configuration of the image.
fn search_variables(server: &Server, options: &Options<'_>) -> Vec<EnvVar> {
    let paths = options.settings.base_config_paths.join("\n");
    let paths = Some(paths).filter(|paths| !paths.is_empty());
    let variables = [(EXTRA_BASE_CONFIGS, paths), (DISTRIBUTION, server.distribution.clone())];
    variables.into_iter().filter_map(|(name, value)| Some(env_value(name, unexpanded(&value?)))).collect()
}

/// Creates the init container that merges the providers into the configuration. For a server that merges them itself it only
/// lists them.
fn merge_container(mode: Mode, options: &Options<'_>) -> Container {
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

/// Returns the command that runs a script with the shell.
fn shell_command(text: &str) -> Vec<String> {
    ["/bin/sh", "-c", text].map(str::to_owned).to_vec()
}

/// Adds volumes, mounts and variables for external providers to a pod.
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
    // Why a server did not start is in its log: the error names the provider.
    container.termination_message_policy = Some("FallbackToLogsOnError");
    container.volume_mounts.push(mount(PROVIDERS, paths::PROVIDERS, true));
    container.volume_mounts.push(mount(CONFIG, paths::CONFIG, true));
    let user_variables = with_python_path(server.container.env.clone());
    let mut generated = std::mem::take(&mut container.env);
    generated.retain(|variable| !server.container.env.iter().any(|own| own.name == variable.name));
    for variable in generated.iter_mut().filter(|variable| variable.name.as_deref() == Some("LLAMA_STACK_CONFIG")) {
        variable.value = Some(paths::RUN_YAML.to_owned());
    }
    if mode == Mode::Native {
        // The start script searches for the configuration.
        generated.retain(|variable| variable.name.as_deref() != Some("LLAMA_STACK_CONFIG"));
        if server.user_config.is_some() {
            let paths = ["run.yaml", "config.yaml"].map(|key| format!("{}/{key}", paths::USER_CONFIG));
            generated.push(env_value("LLS_CONFIG_PATHS", paths.join("\n")));
        } else {
            generated.extend(search_variables(server, options));
        }
        generated.push(env_value("LLS_EXTRA_PROVIDERS", paths::EXTRA_PROVIDERS));
    }
    if server.workers.is_none() || mode == Mode::Native {
        generated.push(env_value("LLS_START", "run"));
    }
    generated.push(env_value("LLS_PREFLIGHT", options.settings.preflight.as_str()));
    container.env = with_user_variables(generated, user_variables);
}

/// The name suffix of the ConfigMap with the configuration that was merged during rendering.
pub(super) const RUN_CONFIG: &str = "run-config";

/// Returns the user's variables with exactly one `PYTHONPATH`, which begins with the providers' packages.
fn with_python_path(mut env: Vec<EnvVar>) -> Vec<EnvVar> {
    const NAME: &str = "PYTHONPATH";
    let joined = |rest: &str| {
        // Python reads an empty entry as the working directory.
        let separator = if rest.is_empty() { "" } else { ":" };
        env_value(NAME, format!("{}{separator}{rest}", paths::PACKAGES))
    };
    // Choose a name that the user does not use.
    let mut user_name = "LLS_USER_PYTHONPATH".to_owned();
    while env.iter().any(|variable| variable.name.as_ref() == Some(&user_name)) {
        user_name.push('_');
    }
    let Some(position) = env.iter().position(|variable| variable.name.as_deref() == Some(NAME)) else {
        env.insert(0, joined(""));
        return env;
    };
    if let Some(variable) = env.get_mut(position) {
        let source = variable.value_from.take();
        *variable = joined(&variable.value.take().unwrap_or_default());
        // Only a literal value can be joined here. A value from elsewhere moves to a variable that the new one refers
        // to.
        if source.is_some() {
            *variable = joined(&format!("$({user_name})"));
            env.insert(position, EnvVar { name: Some(user_name), value: None, value_from: source });
        }
    }
    env
}
