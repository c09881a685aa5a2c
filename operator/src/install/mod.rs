//! The commands `install`, `upgrade` and `uninstall`.
//!
//! All objects are sent as a dry run before the first one is changed, so a refusal never leaves half an installation
//! behind.

mod apply;
mod remove;

use std::collections::BTreeSet;
use std::future::Future;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use kubefoundry_yaml::infallible::to_json;
use serde_json::Value;
use thiserror::Error;

use crate::args::{Cluster, Install, Uninstall};
use crate::manifests::InstallPlan;
use crate::manifests::object::{NAME, OPERATOR_NAMESPACE, Object, PART_OF};

/// The field manager of installed objects.
pub(crate) const MANAGER: &str = "kubefoundry-install";

/// The oldest minor version of Kubernetes 1 that calls webhooks by `matchConditions` without a feature gate. An older one
/// drops the field, and then calls the webhooks for every finalizer.
const MIN_KUBERNETES_MINOR: u32 = 28;

/// Runs `kubefoundry-operator install`.
pub(crate) fn install(install: &Install) -> ExitCode {
    run(&install.cluster, install.dry_run, async |installer| installer.install(install).await)
}

/// Runs `kubefoundry-operator upgrade`.
pub(crate) fn upgrade(install: &Install) -> ExitCode {
    run(&install.cluster, install.dry_run, async |installer| installer.upgrade(install).await)
}

/// Runs `kubefoundry-operator uninstall`.
pub(crate) fn uninstall(uninstall: &Uninstall) -> ExitCode {
    run(&uninstall.cluster, uninstall.dry_run, async |installer| {
        installer.remove(uninstall.delete_crds, uninstall.delete_namespace).await
    })
}

/// The reason why a command failed.
#[derive(Debug, Error)]
enum Failure {
    /// The apiserver or a check refused; one line for each reason.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The options contradict each other, or one is missing.
    #[error("{0}")]
    Usage(String),
    /// The cluster cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    fn refused(message: impl Into<String>) -> Self {
        Self::Refused(vec![message.into()])
    }

    /// Creates the failure of a request; `what` names the object or resource of the request.
    fn from_request(what: &str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::refused(format!("{what}: {}", status.message)),
            error => Self::Unreachable(format!("cannot reach the cluster: {}", error_chain(&error))),
        }
    }

    /// Returns the exit code: 1 when the apiserver refused something, 2 when a request could not be made or the options
    /// are wrong.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => 1,
            Self::Usage(_) | Self::Unreachable(_) | Self::Output(_) => 2,
        }
    }
}

/// Joins an error and its causes into one text.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Some errors repeat their cause.
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

/// A connection to the cluster with the options of the command.
struct Installer {
    client: Client,
    namespace: String,
    dry_run: bool,
}

fn run<F: Future<Output = Result<(), Failure>>>(
    cluster: &Cluster,
    dry_run: bool,
    work: impl FnOnce(Installer) -> F,
) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(async {
            let client = connect(cluster).await?;
            work(Installer { client, namespace: cluster.namespace.clone(), dry_run }).await
        }),
        Err(error) => Err(Failure::Unreachable(error.to_string())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.to_string().lines() {
                let _ = writeln!(std::io::stderr(), "kubefoundry-operator: {line}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

async fn connect(cluster: &Cluster) -> Result<Client, Failure> {
    // An error means that a provider was installed before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The metrics of these requests are not served.
    cluster.connect(Arc::default()).await.map_err(Failure::Unreachable)
}

impl Installer {
    fn api(&self, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }

    /// Prints what happened to an object in kubectl's form: `deployment.apps/x created (server dry run)`.
    fn print_result(&self, what: &str, happened: &str) -> Result<(), Failure> {
        let dry_run = if self.dry_run { " (server dry run)" } else { "" };
        writeln!(std::io::stdout(), "{what} {happened}{dry_run}")?;
        Ok(())
    }

    /// Prints a note on standard error.
    fn print_note(text: &str) {
        let _ = writeln!(std::io::stderr(), "note: {text}");
    }

    /// Lists the installed objects of this namespace's operator in the order of removal, and the namespaces of other
    /// operators.
    async fn list_installed(&self) -> Result<Installed, Failure> {
        let mut all = Vec::new();
        for (resource, is_namespaced) in removable_kinds() {
            all.extend(self.list_labeled(&resource, is_namespaced).await?);
        }
        let owners: Vec<Option<String>> = all.iter().map(|object| owner(object, &all)).collect();
        let is_here = |owner: &Option<String>| owner.as_deref() == Some(self.namespace.as_str());
        let elsewhere = owners.iter().flatten().filter(|owner| **owner != self.namespace).cloned().collect();
        let has_own = owners.iter().any(is_here);
        let has_elsewhere = owners.iter().flatten().any(|owner| *owner != self.namespace);
        // An object without any owner is left of an older version. It goes with the only installation.
        let belongs = |owner: &Option<String>| is_here(owner) || owner.is_none() && has_own && !has_elsewhere;
        let objects = all.into_iter().zip(owners).filter(|(_, owner)| belongs(owner)).map(|(object, _)| object);
        Ok(Installed { objects: objects.collect(), elsewhere })
    }

    /// Lists the installed objects of a kind by their labels: in the whole cluster, or in the operator's namespace.
    async fn list_labeled(&self, resource: &ApiResource, is_namespaced: bool) -> Result<Vec<Object>, Failure> {
        let namespace = is_namespaced.then(|| self.namespace.clone());
        let selector = [NAME, PART_OF].map(|(key, value)| format!("{key}={value}")).join(",");
        let listed = self.api(resource, namespace.as_deref()).list(&ListParams::default().labels(&selector)).await;
        let objects = listed.map_err(|error| Failure::from_request(&resource.plural, error))?.items.into_iter();
        Ok(objects
            .map(|object| Object {
                resource: resource.clone(),
                namespace: namespace.clone(),
                name: object.metadata.name.clone().unwrap_or_default(),
                value: to_json(&object),
            })
            .collect())
    }
}

/// What is installed.
struct Installed {
    /// The objects of the operator in the namespace of the command.
    objects: Vec<Object>,
    /// The namespaces of other operators.
    elsewhere: BTreeSet<String>,
}

/// Returns the namespace of the operator that an object belongs to. The subjects of bindings and the Services of webhooks
/// come before the label, because they are what takes effect, and tools such as kustomize change them alone.
fn owner(object: &Object, all: &[Object]) -> Option<String> {
    if object.namespace.is_some() {
        return object.namespace.clone();
    }
    let text = |object: &Object, at: &str| object.value.pointer(at).and_then(Value::as_str).map(ToOwned::to_owned);
    let in_effect = match object.resource.kind.as_str() {
        "ClusterRoleBinding" => text(object, "/subjects/0/namespace"),
        "ClusterRole" => {
            let binding = all.iter().find(|other| other.has_kind("ClusterRoleBinding") && other.name == object.name);
            binding.and_then(|binding| text(binding, "/subjects/0/namespace"))
        }
        _ => text(object, "/webhooks/0/clientConfig/service/namespace"),
    };
    let labels = object.value.pointer("/metadata/labels");
    let labeled = || labels?.get(OPERATOR_NAMESPACE)?.as_str().map(ToOwned::to_owned);
    in_effect.or_else(labeled)
}

/// Returns the kinds that `install` creates and `uninstall` removes, in the order of removal, the reverse of that of the
/// manifests: webhooks, workload, the rest. The flag says whether the kind is namespaced. CRDs and the namespace are not
/// among them, because removing them would remove objects of users.
fn removable_kinds() -> Vec<(ApiResource, bool)> {
    let mut plan = InstallPlan::new("");
    // With a disruption budget.
    plan.pods.replicas = 2;
    let mut kinds = Vec::new();
    for object in plan.objects().into_iter().rev() {
        let kind = (object.resource.clone(), object.namespace.is_some());
        if !object.has_kind("CustomResourceDefinition") && !object.has_kind("Namespace") && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Whether the apiserver calls the webhooks because of this kind.
fn is_webhook(resource: &ApiResource) -> bool {
    resource.group == "admissionregistration.k8s.io"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::tests::plans;

    /// `uninstall` would never remove an object of another kind. Webhooks come first, so that no request waits for their
    /// answer.
    #[test]
    fn every_kind_that_is_installed_can_be_removed() {
        let kinds = removable_kinds();
        assert!(kinds.iter().take(2).all(|(resource, _)| is_webhook(resource)));
        assert_eq!(kinds.get(2).map(|(resource, _)| resource.kind.as_str()), Some("Deployment"));
        assert_eq!(kinds.len(), 12);
        for object in plans().iter().flat_map(InstallPlan::objects) {
            if object.has_kind("CustomResourceDefinition") || object.has_kind("Namespace") {
                continue;
            }
            let known = kinds.iter().find(|(resource, _)| *resource == object.resource);
            let (_, is_namespaced) = known.unwrap_or_else(|| panic!("{} is not known", object.reference()));
            assert_eq!(*is_namespaced, object.namespace.is_some());
        }
    }

    /// Also of versions without the label, and after kustomize has replaced the namespace.
    #[test]
    fn the_owner_of_a_cluster_wide_object_is_the_namespace_that_takes_effect() {
        for plan in plans() {
            let objects = plan.objects();
            for object in &objects {
                let is_removed = removable_kinds().iter().any(|(resource, _)| *resource == object.resource);
                if is_removed {
                    assert_eq!(owner(object, &objects).as_deref(), Some("serving"), "{}", object.reference());
                    let mut without_label = object.clone();
                    without_label.value["metadata"]["labels"].as_object_mut().unwrap().remove(OPERATOR_NAMESPACE);
                    assert_eq!(owner(&without_label, &objects).as_deref(), Some("serving"), "{}", object.reference());
                }
            }
            let mut binding = objects.iter().find(|object| object.has_kind("ClusterRoleBinding")).unwrap().clone();
            binding.value["subjects"][0]["namespace"] = "moved".into();
            assert_eq!(owner(&binding, &[]).as_deref(), Some("moved"));
            let role = objects.iter().find(|object| object.has_kind("ClusterRole") && object.name == binding.name);
            assert_eq!(owner(role.unwrap(), &[binding]).as_deref(), Some("moved"));
        }
    }
}
