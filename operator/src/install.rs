//! Applies the objects that the operator needs, and removes them.
//!
//! Everything is sent to the apiserver as a dry run before anything is changed: what would be refused halfway is
//! refused at the beginning.

mod apply;
mod remove;

use std::future::Future;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use thiserror::Error;

use crate::args::{Cluster, Install, Uninstall};
use crate::client;
use crate::manifests::Plan;
use crate::manifests::object::{NAME, Object, PART_OF};

/// The field manager of what is applied here.
pub(crate) const MANAGER: &str = "kubefoundry-install";

/// `kubefoundry-operator install`.
pub(crate) fn install(install: &Install) -> ExitCode {
    run(&install.cluster, install.dry_run, async |session| {
        let plan = Plan::new(&install.cluster.namespace, &install.package);
        session.apply(&plan, install.force_conflicts).await
    })
}

/// `kubefoundry-operator upgrade`.
pub(crate) fn upgrade(install: &Install) -> ExitCode {
    run(&install.cluster, install.dry_run, async |session| {
        let plan = Plan::new(&install.cluster.namespace, &install.package);
        session.upgrade(&plan, install.force_conflicts).await
    })
}

/// `kubefoundry-operator uninstall`.
pub(crate) fn uninstall(uninstall: &Uninstall) -> ExitCode {
    run(&uninstall.cluster, uninstall.dry_run, async |session| {
        session.remove(uninstall.delete_crds, uninstall.delete_namespace).await
    })
}

/// Why it was not done.
#[derive(Debug, Error)]
enum Failure {
    /// The apiserver, or a check here, says no: one line each.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// There is no cluster to talk to.
    #[error("{0}")]
    Unreachable(String),
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    fn refused(message: impl Into<String>) -> Self {
        Self::Refused(vec![message.into()])
    }

    /// What a request about something ended with.
    fn of(what: &str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::refused(format!("{what}: {}", status.message)),
            error => Self::Unreachable(format!("no cluster: {}", chain(&error))),
        }
    }

    /// As of the command line: 1 for what was found wrong, 2 for what could not be tried.
    fn status(&self) -> u8 {
        match self {
            Self::Refused(_) => 1,
            Self::Unreachable(_) | Self::Output(_) => 2,
        }
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
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

/// A connection, and how it is used.
struct Session {
    client: Client,
    namespace: String,
    dry_run: bool,
}

fn run<F: Future<Output = Result<(), Failure>>>(
    cluster: &Cluster,
    dry_run: bool,
    work: impl FnOnce(Session) -> F,
) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(async {
            let client = connect(cluster).await?;
            work(Session { client, namespace: cluster.namespace.clone(), dry_run }).await
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
            ExitCode::from(failure.status())
        }
    }
}

async fn connect(cluster: &Cluster) -> Result<Client, Failure> {
    // Whoever installed one before meant this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Nobody asks how many requests this took.
    client::connect(cluster, Arc::default()).await.map_err(Failure::Unreachable)
}

impl Session {
    fn api(&self, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }

    /// One line of what happened, with a word about a dry run, as kubectl has it.
    fn say(&self, what: &str, happened: &str) -> Result<(), Failure> {
        let dry_run = if self.dry_run { " (server dry run)" } else { "" };
        writeln!(std::io::stdout(), "{what} {happened}{dry_run}")?;
        Ok(())
    }

    /// Something worth knowing.
    fn note(text: &str) {
        let _ = writeln!(std::io::stderr(), "note: {text}");
    }

    /// The objects of one of [`KINDS`] that bear our labels: of the whole cluster, or in our own namespace.
    async fn ours(&self, resource: &ApiResource, is_namespaced: bool) -> Result<Vec<Object>, Failure> {
        let namespace = is_namespaced.then(|| self.namespace.clone());
        let selector = [NAME, PART_OF].map(|(key, value)| format!("{key}={value}")).join(",");
        let found = self.api(resource, namespace.as_deref()).list(&ListParams::default().labels(&selector)).await;
        let objects = found.map_err(|error| Failure::of(&resource.plural, error))?.items.into_iter();
        Ok(objects
            .map(|object| Object {
                resource: resource.clone(),
                namespace: namespace.clone(),
                name: object.metadata.name.clone().unwrap_or_default(),
                value: serde_json::to_value(object).unwrap_or_default(),
            })
            .collect())
    }
}

/// Kinds of what we install and may remove again: those of the webhooks, then what runs, then the rest. CRDs and the
/// namespace are none: with them go other people's objects. Each with whether it belongs to a namespace.
fn kinds() -> Vec<(ApiResource, bool)> {
    use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    use k8s_openapi::api::policy::v1::PodDisruptionBudget;
    use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};

    vec![
        (ApiResource::erase::<ValidatingWebhookConfiguration>(&()), false),
        (ApiResource::erase::<MutatingWebhookConfiguration>(&()), false),
        (ApiResource::erase::<Deployment>(&()), true),
        (ApiResource::erase::<PodDisruptionBudget>(&()), true),
        (ApiResource::erase::<NetworkPolicy>(&()), true),
        (ApiResource::erase::<Service>(&()), true),
        (ApiResource::erase::<ConfigMap>(&()), true),
        (ApiResource::erase::<RoleBinding>(&()), true),
        (ApiResource::erase::<Role>(&()), true),
        (ApiResource::erase::<ClusterRoleBinding>(&()), false),
        (ApiResource::erase::<ClusterRole>(&()), false),
        (ApiResource::erase::<ServiceAccount>(&()), true),
    ]
}

/// Whether it keeps the apiserver asking us.
fn is_webhook(resource: &ApiResource) -> bool {
    resource.group == "admissionregistration.k8s.io"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::tests::plans;

    /// What is installed and not known here would never be removed.
    #[test]
    fn every_kind_that_is_installed_can_be_removed() {
        let kinds = kinds();
        for object in plans().iter().flat_map(Plan::objects) {
            if object.is("CustomResourceDefinition") || object.is("Namespace") {
                continue;
            }
            let known = kinds.iter().find(|(resource, _)| *resource == object.resource);
            let (_, is_namespaced) = known.unwrap_or_else(|| panic!("{} is not known", object.reference()));
            assert_eq!(*is_namespaced, object.namespace.is_some());
        }
    }
}
