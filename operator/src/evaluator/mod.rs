//! Evaluates deployments with the options, provider configurations and CRDs of the cluster. A [`Snapshot`] of them is
//! immutable; [`SnapshotBuilder`] publishes a new one when any of them changes.

mod verdicts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_controller_runtime::mutex::lock;
use kubefoundry_controller_runtime::watch::Signal;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_model::gateway;
use kubefoundry_provider::{ObjectKind, Provider};
use kubefoundry_reconcile::decision::OPERATOR_OPTIONS;
use tokio::sync::watch;
use tokio::time::Instant;

use self::verdicts::Verdicts;
use crate::watch::{Configs, Definition, Definitions, Upstream, WatchedKind};

/// The evaluation session for one state of the cluster.
pub(crate) struct Snapshot {
    /// Renders with owner references, for the providers that are registered and the CRDs that are installed.
    pub(crate) session: Session,
    state: ClusterState,
    /// Sessions that select among fewer providers, by the sorted names of these providers.
    restricted: Mutex<BTreeMap<Vec<String>, Session>>,
    /// The verdicts that the controllers share.
    pub(crate) verdicts: Verdicts,
}

/// The latest snapshot, as a channel that reports changes.
pub(crate) type Snapshots = watch::Receiver<Arc<Snapshot>>;

/// The state of the cluster from which a snapshot is built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ClusterState {
    options: Option<String>,
    definitions: BTreeMap<String, Definition>,
    /// Provider configurations by name, as JSON.
    configs: BTreeMap<String, Arc<str>>,
}

/// A cluster in which no CRD of a provider is installed.
const NO_DEFINITIONS: &str =
    r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;
/// Interval at which the options file is read again.
const OPTIONS_INTERVAL: Duration = Duration::from_secs(10);
/// Changes within this time result in one snapshot: at the start, all CRDs arrive within milliseconds.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Maximum number of sessions for fewer providers; then all are dropped.
const MAX_RESTRICTED: usize = 64;

impl Snapshot {
    /// Builds the session.
    ///
    /// # Errors
    /// The errors in the options, or in a CRD.
    fn new(state: ClusterState) -> Result<Self, Vec<Diagnostic>> {
        let session = Session::new(&BUILTIN, &state.sources(true, |_| true), Providers::Configured)?;
        Ok(Self { session, state, restricted: Mutex::default(), verdicts: Verdicts::default() })
    }

    /// The snapshot of a cluster in which no provider is registered.
    #[cfg(test)]
    pub(crate) fn without_providers() -> Arc<Self> {
        Arc::new(Self::new(ClusterState::default()).unwrap())
    }

    /// Returns the text of the options file.
    pub(crate) fn options_text(&self) -> Option<&str> {
        self.state.options.as_deref()
    }

    /// Returns the CRD of a kind, if it is installed and one that the operator looks at.
    pub(crate) fn definition(&self, group: &str, kind: &str) -> Option<&Definition> {
        self.state.definitions.values().find(|known| known.group == group && known.kind == kind)
    }

    /// Returns a session that selects among these providers only. It has no CRDs, because it only selects: the objects
    /// are rendered by `session`.
    pub(crate) fn restricted_to(&self, providers: &[String]) -> Session {
        let mut providers = providers.to_vec();
        providers.sort_unstable();
        providers.dedup();
        let mut restricted = lock(&self.restricted);
        if let Some(session) = restricted.get(&providers) {
            return session.clone();
        }
        let sources = self.state.sources(false, |name| providers.iter().any(|allowed| allowed == name));
        // These options were accepted when the snapshot was built. Otherwise no provider is allowed.
        let Ok(session) = Session::new(&BUILTIN, &sources, Providers::Configured) else {
            tracing::error!("the options cannot be used with the providers that a namespace allows");
            return self.session.with_providers(&SourceSet::default(), Providers::Configured);
        };
        if restricted.len() == MAX_RESTRICTED {
            restricted.clear();
        }
        restricted.insert(providers, session.clone());
        session
    }

    /// Returns the installed kinds that providers write, each in the version in which it is written.
    pub(crate) fn watched_kinds(&self) -> Vec<WatchedKind> {
        let mut kinds = Vec::new();
        for provider in PROVIDERS {
            let Some(crd_version) = self.session.crd_version(provider.name()) else { continue };
            for definition in self.state.definitions.values() {
                let is_written = provider.info().has_kind(&definition.group, &definition.kind);
                let Some((group, version)) = crd_version.split_once('/').filter(|_| is_written) else { continue };
                if *definition.group != *group {
                    continue;
                }
                kinds.push(WatchedKind {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    kind: definition.kind.clone(),
                    plural: definition.plural.clone(),
                    definition: definition.uid.clone(),
                    provider: Some(provider.name()),
                    labels: None,
                });
            }
        }
        kinds.extend(PROVIDERS.iter().flat_map(|provider| self.watched_builtin_kinds(*provider)));
        for kind in gateway::KINDS {
            let is_it = |it: &&Definition| (&*it.group, &*it.kind) == kind.group_kind();
            let definition = self.state.definitions.values().find(is_it);
            kinds.extend(definition.map(|definition| WatchedKind {
                group: kind.group.to_owned(),
                version: "v1".to_owned(),
                kind: kind.kind.to_owned(),
                plural: kind.plural.to_owned(),
                definition: definition.uid.clone(),
                provider: None,
                labels: None,
            }));
        }
        kinds
    }

    /// Returns the main kinds of a provider that Kubernetes itself defines, so that the cluster has no CRD of them. They
    /// belong to no provider: other objects of these kinds are not watched.
    fn watched_builtin_kinds(&self, provider: &dyn Provider) -> Vec<WatchedKind> {
        // No provider of this repository has one, and choosing a version reads options and CRDs.
        if provider.info().kinds.iter().all(ObjectKind::is_custom) {
            return Vec::new();
        }
        let Some(crd_version) = self.session.crd_version(provider.name()) else { return Vec::new() };
        let (group, version) = crd_version.split_once('/').unwrap_or(("", &crd_version));
        let written = provider.info().kinds.iter().filter(|kind| !kind.is_custom() && kind.group == group);
        let watched = |kind: &ObjectKind| WatchedKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.kind.to_owned(),
            plural: kind.plural.to_owned(),
            definition: String::new(),
            provider: None,
            labels: None,
        };
        written.map(watched).collect()
    }
}

impl ClusterState {
    fn sources(&self, with_definitions: bool, is_allowed: impl Fn(&str) -> bool) -> SourceSet {
        let mut sources = SourceSet::default();
        if let Some(options) = &self.options {
            sources.add_for(Purpose::Options, "options", options.as_str());
        }
        sources.add_for(Purpose::Options, "operator", OPERATOR_OPTIONS);
        for (name, text) in self.configs.iter().filter(|(name, _)| is_allowed(name)) {
            sources.add(format!("InferenceProviderConfig/{name}.json"), &**text);
        }
        sources.add_for(Purpose::Crds, "installed.json", NO_DEFINITIONS);
        if with_definitions {
            for (name, definition) in &self.definitions {
                sources.add_for(Purpose::Crds, format!("{name}.json"), &*definition.text);
            }
        }
        sources
    }
}

/// Reads and checks the options file.
///
/// # Errors
/// The reasons why it cannot be used, one line each.
pub(crate) fn read_options(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut sources = SourceSet::default();
    sources.add_for(Purpose::Options, path.display().to_string(), text.as_str());
    // With an empty cluster `auto` is accepted: the installed CRDs are known later.
    sources.add_for(Purpose::Crds, "installed.json", NO_DEFINITIONS);
    match Session::new(&BUILTIN, &sources, Providers::Configured) {
        Ok(_) => Ok(text),
        Err(diagnostics) => Err(error_lines(&diagnostics, &path.display().to_string())),
    }
}

/// Formats the errors, one on each line.
fn error_lines(diagnostics: &[Diagnostic], file: &str) -> String {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let lines = errors.map(|error| {
        let path = error.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
        format!("{file}: {} {path}: {}", error.code.id, error.message).replace(" : ", ": ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Builds snapshots from the options file and the caches.
pub(crate) struct SnapshotBuilder {
    pub(crate) options: Option<PathBuf>,
    pub(crate) heartbeat_timeout: Duration,
    pub(crate) definitions: Arc<Definitions>,
    /// Provider configurations of each group. Of configurations with the same name, the first group's is used.
    pub(crate) configs: Vec<Arc<Configs>>,
    pub(crate) changed: Arc<Signal>,
}

impl SnapshotBuilder {
    /// Waits until the caches are filled, and builds the first snapshot.
    ///
    /// # Errors
    /// The reason why the options or the CRDs cannot be used.
    pub(crate) async fn build_first(&self) -> Result<Arc<Snapshot>, String> {
        self.definitions.filled().await;
        for configs in &self.configs {
            configs.filled().await;
        }
        let options = self.options.as_deref().map(read_options).transpose()?;
        let state = self.collect(options, Instant::now());
        self.build(state, None).await.ok_or_else(|| "the options or the CRDs are invalid".to_owned())
    }

    /// Publishes a new snapshot whenever the options, the CRDs or the provider configurations change. Never returns. The
    /// kinds that a snapshot renders are watched before it is published.
    pub(crate) async fn publish_changes(self, sender: watch::Sender<Arc<Snapshot>>, upstream: Arc<Upstream>) {
        let mut options = sender.borrow().state.options.clone();
        let mut refused = None;
        let mut last_check = None;
        loop {
            // Counted from the last check, so that a provider that fell silent while the snapshot was built is not
            // missed.
            let next = self.next_silence(last_check);
            let next = next.unwrap_or_else(|| Instant::now() + OPTIONS_INTERVAL).min(Instant::now() + OPTIONS_INTERVAL);
            tokio::select! {
                () = self.changed.wait() => tokio::time::sleep(DEBOUNCE).await,
                () = tokio::time::sleep_until(next) => {}
            }
            if let Some(path) = &self.options {
                match read_options(path) {
                    Ok(text) => {
                        refused = None;
                        options = Some(text);
                    }
                    Err(reason) => {
                        if refused.as_ref() != Some(&reason) {
                            tracing::error!(reason, "invalid options file; keeping the previous options");
                            refused = Some(reason);
                        }
                    }
                }
            }
            let now = Instant::now();
            last_check = Some(now);
            let state = self.collect(options.clone(), now);
            let current = Arc::clone(&sender.borrow());
            if state == current.state {
                continue;
            }
            let Some(snapshot) = self.build(state, Some(&current)).await else { continue };
            upstream.watch_kinds(snapshot.watched_kinds());
            sender.send_replace(snapshot);
        }
    }

    /// Collects the current state of the caches.
    fn collect(&self, options: Option<String>, now: Instant) -> ClusterState {
        let mut configs = BTreeMap::new();
        for group in &self.configs {
            for (name, config) in group.all() {
                configs.entry(name).or_insert_with(|| config.text_at(now, self.heartbeat_timeout));
            }
        }
        ClusterState { options, definitions: self.definitions.all(), configs }
    }

    /// Returns the first time after `after` at which a provider will count as silent.
    fn next_silence(&self, after: Option<Instant>) -> Option<Instant> {
        let configs = self.configs.iter().flat_map(|configs| configs.all().into_values());
        configs
            .filter_map(|config| config.silent_from(self.heartbeat_timeout))
            .filter(|at| after.is_none_or(|after| *at > after))
            .min()
    }

    /// Builds a snapshot on a blocking thread, because reading CRDs takes tens of milliseconds. Logs errors, and
    /// returns none.
    async fn build(&self, state: ClusterState, before: Option<&Snapshot>) -> Option<Arc<Snapshot>> {
        let built = tokio::task::spawn_blocking(move || Snapshot::new(state)).await;
        match built {
            Ok(Ok(snapshot)) => {
                log_changes(&snapshot, before);
                Some(Arc::new(snapshot))
            }
            Ok(Err(diagnostics)) => {
                tracing::error!(
                    reason = error_lines(&diagnostics, "cluster"),
                    "invalid options, provider configurations or CRDs; keeping the previous state"
                );
                None
            }
            Err(error) => {
                tracing::error!(%error, "building the state of the cluster panicked");
                None
            }
        }
    }
}

/// Logs what changed since the snapshot before.
fn log_changes(snapshot: &Snapshot, before: Option<&Snapshot>) {
    let ready = |snapshot: &Snapshot| -> BTreeSet<String> {
        let candidates = snapshot.session.catalog().candidates().iter();
        candidates.filter(|candidate| candidate.ready != Some(false)).map(|candidate| candidate.name.clone()).collect()
    };
    let now = ready(snapshot);
    if before.map(ready).as_ref() != Some(&now) {
        let providers = now.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        tracing::info!(providers, "selectable providers changed");
    }
    let known_problems: Vec<&Diagnostic> = before.iter().flat_map(|before| before.session.problems()).collect();
    for problem in snapshot.session.problems() {
        if problem.severity == Severity::Error && !known_problems.iter().any(|known| known.message == problem.message) {
            let object = problem.object.as_ref().map(ToString::to_string).unwrap_or_default();
            tracing::warn!(
                object,
                code = problem.code.id,
                reason = problem.message,
                "a provider configuration has an error"
            );
        }
    }
    if before.is_none_or(|before| before.state.options != snapshot.state.options) {
        tracing::info!(from_file = snapshot.state.options.is_some(), "options loaded");
    }
}

impl Snapshot {
    /// Watches the kinds that this snapshot writes.
    pub(crate) fn watch(&self, upstream: &Arc<Upstream>) {
        upstream.watch_kinds(self.watched_kinds());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str, ready: bool) -> (String, Arc<str>) {
        let text = format!(
            r#"{{"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {{"name": "{name}"}},
            "spec": {{"capabilities": {{"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true}},
            "selectionRules": [{{"condition": "true", "priority": 1}}]}}, "status": {{"ready": {ready}}}}}"#
        );
        (name.to_owned(), text.into())
    }

    fn phi() -> serde_json::Value {
        serde_json::json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": "u"},
            "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
        })
    }

    #[test]
    fn selects_registered_providers_only_and_writes_owner_references() {
        let configs = [config("dynamo", true), config("kaito", false), config("kuberay", true)].into();
        let snapshot = Snapshot::new(ClusterState { configs, ..ClusterState::default() }).unwrap();
        assert!(snapshot.session.options().owner_references);
        let evaluation = snapshot.session.evaluate(&phi(), None);
        assert_eq!(evaluation.provider(), Some("dynamo"));
        let crd = evaluation.errors().next().unwrap();
        assert_eq!(crd.message, "Provider 'dynamo' CRD not installed in cluster");
        let restricted = snapshot.restricted_to(&["kuberay".to_owned(), "kaito".to_owned()]);
        assert_eq!(restricted.evaluate(&phi(), None).provider(), Some("kuberay"));
        let none = snapshot.restricted_to(&["kaito".to_owned()]).evaluate(&phi(), None);
        assert_eq!(none.errors().next().unwrap().message, "No healthy providers available");
    }

    #[test]
    fn reports_invalid_options_with_file_and_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("options.yaml");
        std::fs::write(&path, "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\ncrdVersions: {kaito: v9}\n")
            .unwrap();
        let reason = read_options(&path).unwrap_err();
        assert!(reason.contains("KF0801") && reason.contains("crdVersions.kaito"), "{reason}");
        assert!(read_options(&dir.path().join("absent.yaml")).unwrap_err().contains("absent.yaml"));
    }
}
