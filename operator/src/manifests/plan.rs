//! The plan of an installation: defaults, over them what is installed, over that the flags.

use std::collections::BTreeMap;

use clap::Parser as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, LocalObjectReference, PodSpec, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kubefoundry_kubernetes::api_group::ApiGroup;

use super::workload;
use crate::args::{self, Arguments, FailurePolicy, Layout, Package, RoleWord};
use crate::role::Role;

/// The Deployment that runs all roles.
const ONE_DEPLOYMENT: &str = "kubefoundry-controller";
/// The container of the operator.
pub(super) const CONTAINER: &str = "operator";
/// The image that a build was told to be published, in this variable.
const PUBLISHED_IMAGE: Option<&str> = option_env!("KUBEFOUNDRY_OPERATOR_IMAGE");

/// The options from which the manifests are generated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InstallPlan {
    pub(crate) namespace: String,
    pub(crate) image: String,
    pub(crate) layout: Layout,
    /// The roles that run beside those that run by default.
    pub(crate) optional_roles: Vec<Role>,
    pub(crate) webhooks: bool,
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) check_access: bool,
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// The pods of Deployments that are not among [`Self::installed_pods`].
    pub(crate) pods: PodShape,
    /// The pods of Deployments that are installed, by name.
    pub(crate) installed_pods: BTreeMap<String, PodShape>,
}

/// What can differ between the pods of two installations, apart from their roles.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodShape {
    pub(crate) replicas: u16,
    pub(crate) requests: BTreeMap<String, Quantity>,
    pub(crate) limits: BTreeMap<String, Quantity>,
    pub(crate) image_pull_secrets: Vec<String>,
    pub(crate) node_selector: BTreeMap<String, String>,
    pub(crate) tolerations: Vec<Toleration>,
    /// Further arguments of `run`, each with its value: `--resync=30m`.
    pub(crate) settings: Vec<String>,
}

/// A Deployment and the roles that run in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeploymentUnit {
    pub(crate) name: String,
    pub(crate) roles: Vec<Role>,
}

impl Default for PodShape {
    fn default() -> Self {
        let quantities = |amounts: [(&str, &str); 2]| {
            amounts.map(|(resource, amount)| (resource.to_owned(), Quantity(amount.to_owned()))).into()
        };
        Self {
            replicas: 1,
            requests: quantities([("cpu", "100m"), ("memory", "128Mi")]),
            limits: quantities([("cpu", "2"), ("memory", "512Mi")]),
            image_pull_secrets: Vec::new(),
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            settings: Vec::new(),
        }
    }
}

impl InstallPlan {
    /// Creates the plan of an installation without flags.
    pub(crate) fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            image: PUBLISHED_IMAGE.map_or_else(placeholder_image, ToOwned::to_owned),
            layout: Layout::All,
            optional_roles: Vec::new(),
            webhooks: true,
            failure_policy: FailurePolicy::Fail,
            check_access: false,
            groups: ApiGroup::find("kubefoundry.ai").into_iter().collect(),
            pods: PodShape::default(),
            installed_pods: BTreeMap::new(),
        }
    }

    /// Reads the plan from the Deployments of an installation, and from the failure policy of its validating webhook.
    ///
    /// # Errors
    /// The reason why this version cannot continue it.
    pub(crate) fn from_installed(
        namespace: &str,
        deployments: &[Deployment],
        failure_policy: Option<&str>,
    ) -> Result<Self, String> {
        let mut plan = Self { webhooks: false, ..Self::new(namespace) };
        if let Some(policy) = failure_policy {
            plan.failure_policy = if policy == "Ignore" { FailurePolicy::Ignore } else { FailurePolicy::Fail };
        }
        plan.layout = Layout::Split;
        for deployment in deployments {
            let name = deployment.metadata.name.clone().unwrap_or_default();
            if name == ONE_DEPLOYMENT {
                plan.layout = Layout::All;
            }
            let pods = plan.read_deployment(deployment).map_err(|error| format!("deployment.apps/{name}: {error}"))?;
            if plan.installed_pods.is_empty() {
                plan.pods = pods.clone();
            }
            plan.installed_pods.insert(name, pods);
        }
        Ok(plan)
    }

    /// Reads what the arguments of a Deployment say about the installation, and returns the shape of its pods.
    fn read_deployment(&mut self, deployment: &Deployment) -> Result<PodShape, String> {
        let no_pod = PodSpec::default();
        let spec = deployment.spec.as_ref();
        let pod = spec.and_then(|spec| spec.template.spec.as_ref()).unwrap_or(&no_pod);
        let no_container = Container::default();
        let container = pod.containers.iter().find(|it| it.name == CONTAINER).unwrap_or(&no_container);
        self.image = container.image.clone().unwrap_or_else(|| self.image.clone());
        let mut settings = Vec::new();
        for argument in join_values(container.args.as_deref().unwrap_or_default()) {
            let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
            match name {
                "run" | "--namespace" => {}
                "--config" if argument == workload::options_argument() => {}
                "--log-format" if argument == workload::LOG_FORMAT => {}
                "--roles" => {
                    self.webhooks |= value.split(',').any(|role| role == Role::Webhooks.name());
                    let runs = |role: &Role| value.split(',').any(|name| name == role.name());
                    let found: Vec<Role> = Role::optional().into_iter().filter(runs).collect();
                    self.add_optional(&found);
                }
                "--check-access" => self.check_access = true,
                "--groups" => {
                    let names = value.split(',').map(|name| name.trim_matches('"'));
                    self.groups = names.map(args::group).collect::<Result<_, _>>()?;
                }
                _ => settings.push(argument),
            }
        }
        let resources = container.resources.clone().unwrap_or_default();
        let replicas = spec.and_then(|spec| spec.replicas).and_then(|replicas| u16::try_from(replicas).ok());
        let secrets = pod.image_pull_secrets.clone().unwrap_or_default();
        Ok(PodShape {
            replicas: replicas.unwrap_or(1),
            requests: resources.requests.unwrap_or_default(),
            limits: resources.limits.unwrap_or_default(),
            image_pull_secrets: secrets.into_iter().map(|LocalObjectReference { name }| name).collect(),
            node_selector: pod.node_selector.clone().unwrap_or_default(),
            tolerations: pod.tolerations.clone().unwrap_or_default(),
            settings,
        })
    }

    /// Changes what the flags give.
    ///
    /// # Errors
    /// A message when the options contradict each other, or when `run` does not take the arguments that result.
    pub(crate) fn with_flags(mut self, package: &Package) -> Result<Self, String> {
        let Package { image, roles, replicas, groups, no_webhooks, failure_policy, check_access, pods, settings } =
            package;
        set(&mut self.image, image.as_ref());
        if !roles.is_empty() {
            self.optional_roles.clear();
        }
        for word in roles {
            match word {
                RoleWord::Layout(layout) => self.layout = *layout,
                RoleWord::Optional(role) => self.add_optional(&[*role]),
            }
        }
        set(&mut self.webhooks, no_webhooks.map(|without| !without).as_ref());
        set(&mut self.failure_policy, failure_policy.as_ref());
        set(&mut self.check_access, check_access.as_ref());
        if !groups.is_empty() {
            self.groups.clone_from(groups);
        }
        if !self.webhooks {
            if *check_access == Some(true) || failure_policy.is_some() {
                return Err("--check-access and --failure-policy need the webhooks".to_owned());
            }
            self.check_access = false;
        }
        for shape in self.installed_pods.values_mut().chain([&mut self.pods]) {
            set(&mut shape.replicas, replicas.as_ref());
            for (amounts, given) in [(&mut shape.requests, &pods.requests), (&mut shape.limits, &pods.limits)] {
                amounts.extend(given.iter().map(|(name, amount)| (name.clone(), Quantity(amount.clone()))));
            }
            if !pods.image_pull_secrets.is_empty() {
                shape.image_pull_secrets.clone_from(&pods.image_pull_secrets);
            }
            if !pods.node_selector.is_empty() {
                shape.node_selector = pods.node_selector.iter().cloned().collect();
            }
            if !pods.tolerations.is_empty() {
                shape.tolerations.clone_from(&pods.tolerations);
            }
            for (name, argument) in settings.arguments() {
                let is_set = |it: &&mut String| it.split('=').next() == Some(name);
                match shape.settings.iter_mut().find(is_set) {
                    Some(setting) => *setting = argument,
                    None => shape.settings.push(argument),
                }
            }
        }
        self.check_arguments()?;
        Ok(self)
    }

    /// Adds optional roles, in the order in which all of them are listed.
    fn add_optional(&mut self, roles: &[Role]) {
        let is_wanted = |role: &Role| self.optional_roles.contains(role) || roles.contains(role);
        self.optional_roles = Role::optional().into_iter().filter(is_wanted).collect();
    }

    /// Checks that this version of the program takes the arguments of every Deployment: an installed one may have some
    /// that another version took.
    fn check_arguments(&self) -> Result<(), String> {
        for unit in self.units() {
            let line = std::iter::once("kubefoundry-operator".to_owned()).chain(workload::arguments(self, &unit));
            if let Err(error) = Arguments::try_parse_from(line) {
                let error = error.to_string();
                let reason = error.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
                return Err(format!("deployment.apps/{} would not start: {reason}", unit.name));
            }
        }
        Ok(())
    }

    /// Whether the image is one that a cluster can pull, as far as the program knows.
    pub(crate) fn has_image(&self) -> bool {
        self.image != placeholder_image()
    }

    /// Returns the shape of the pods of a Deployment.
    pub(crate) fn pods(&self, unit: &DeploymentUnit) -> &PodShape {
        self.installed_pods.get(&unit.name).unwrap_or(&self.pods)
    }

    /// Returns the Deployments, named as specified (docs/specification.md OP-1.4).
    pub(crate) fn units(&self) -> Vec<DeploymentUnit> {
        let mut roles = Role::all();
        roles.retain(|role| self.webhooks || *role != Role::Webhooks);
        roles.extend(&self.optional_roles);
        if self.layout == Layout::All {
            return vec![DeploymentUnit { name: ONE_DEPLOYMENT.to_owned(), roles }];
        }
        let mut units: Vec<DeploymentUnit> = Vec::new();
        for role in roles {
            let name = match role {
                Role::Webhooks | Role::Core => "kubefoundry-core".to_owned(),
                Role::Selector => "provider-selector".to_owned(),
                Role::Provider(provider) => format!("{}-provider", provider.name()),
                Role::Claimed(kind) => format!("kubefoundry-{}", kind.name()),
            };
            match units.iter_mut().find(|unit| unit.name == name) {
                Some(unit) => unit.roles.push(role),
                None => units.push(DeploymentUnit { name, roles: vec![role] }),
            }
        }
        units
    }

    /// Describes what differs from an installed plan, one line for each option.
    pub(crate) fn changes_from(&self, installed: &Self) -> Vec<String> {
        let mut before = installed.describe();
        let after = self.describe();
        let mut lines = Vec::new();
        for (option, new) in after {
            let old = before.remove(&option).unwrap_or_default();
            // A Deployment of another layout has nothing to compare with.
            if old != new && !(old.is_empty() && option.contains('/')) {
                lines.push(format!("{option}: {} -> {}", or_none(&old), or_none(&new)));
            }
        }
        lines
    }

    /// Returns the options with their values as text.
    fn describe(&self) -> BTreeMap<String, String> {
        let yes = |flag: bool| if flag { "on" } else { "off" }.to_owned();
        let mut groups: Vec<&str> = self.groups.iter().map(|api_group| api_group.name).collect();
        groups.sort_unstable();
        let layout = if self.layout == Layout::All { "all" } else { "split" };
        let roles: Vec<&str> = [layout].into_iter().chain(self.optional_roles.iter().map(|role| role.name())).collect();
        let mut options = BTreeMap::from([
            ("image".to_owned(), self.image.clone()),
            ("roles".to_owned(), roles.join(",")),
            ("groups".to_owned(), groups.join(",")),
            ("webhooks".to_owned(), yes(self.webhooks)),
            ("check-access".to_owned(), yes(self.check_access)),
        ]);
        if self.webhooks {
            options.insert("failure-policy".to_owned(), self.failure_policy.as_str().to_owned());
        }
        for unit in self.units() {
            let PodShape { replicas, requests, limits, image_pull_secrets, node_selector, tolerations, settings } =
                self.pods(&unit);
            let quantities = |amounts: &BTreeMap<String, Quantity>| {
                amounts.iter().map(|(name, Quantity(amount))| format!("{name}={amount}")).collect::<Vec<_>>().join(",")
            };
            let selector: Vec<String> = node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let tolerated: Vec<String> = tolerations.iter().map(describe_toleration).collect();
            let of_unit = [
                ("replicas", replicas.to_string()),
                ("requests", quantities(requests)),
                ("limits", quantities(limits)),
                ("image-pull-secrets", image_pull_secrets.join(",")),
                ("node-selector", selector.join(",")),
                ("tolerations", tolerated.join(",")),
                ("arguments", settings.join(" ")),
            ];
            options.extend(of_unit.map(|(option, value)| (format!("{}/{option}", unit.name), value)));
        }
        options
    }
}

fn placeholder_image() -> String {
    format!("kubefoundry-operator:{}", env!("CARGO_PKG_VERSION"))
}

fn set<T: Clone>(field: &mut T, given: Option<&T>) {
    if let Some(given) = given {
        field.clone_from(given);
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn describe_toleration(toleration: &Toleration) -> String {
    let value = toleration.value.as_deref().map(|value| format!("={value}")).unwrap_or_default();
    let effect = toleration.effect.as_deref().map(|effect| format!(":{effect}")).unwrap_or_default();
    format!("{}{value}{effect}", toleration.key.as_deref().unwrap_or("*"))
}

/// Joins each flag with its value where they are separate arguments.
fn join_values(arguments: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for argument in arguments {
        match joined.last_mut() {
            Some(flag) if flag.starts_with("--") && !flag.contains('=') && !argument.starts_with("--") => {
                *flag = format!("{flag}={argument}");
            }
            _ => joined.push(argument.clone()),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(arguments: &[&str]) -> Package {
        let line = ["kubefoundry-operator", "manifests"].iter().chain(arguments);
        match Arguments::try_parse_from(line).unwrap().command {
            args::Command::Manifests(manifests) => manifests.package,
            other => panic!("{other:?}"),
        }
    }

    fn planned(arguments: &[&str]) -> InstallPlan {
        InstallPlan::new("serving").with_flags(&flags(arguments)).unwrap()
    }

    /// The plan that is read from the manifests of another one.
    fn read_back(plan: &InstallPlan) -> InstallPlan {
        let objects = plan.objects().into_iter().filter(|object| object.has_kind("Deployment"));
        let deployments: Vec<Deployment> =
            objects.map(|object| serde_json::from_value(object.value).unwrap()).collect();
        let policy = plan.webhooks.then(|| plan.failure_policy.as_str());
        InstallPlan::from_installed("serving", &deployments, policy).unwrap()
    }

    const EVERY_FLAG: &[&str] = &[
        "--image=registry.example.com/operator:1",
        "--roles=split,llamastack,actors",
        "--replicas=3",
        "--groups=kubefoundry.ai,kubeairunway.ai",
        "--failure-policy=ignore",
        "--check-access",
        "--requests=cpu=1",
        "--limits=memory=2Gi",
        "--image-pull-secrets=pull",
        "--node-selector=pool=system,arch=amd64",
        "--tolerations=dedicated=system:NoSchedule",
        "--lease-duration=30s",
        "--finalizer-timeout=1m",
        "--stale-after=2m",
        "--resync=1h",
        "--concurrency=4",
        "--log=debug",
    ];

    #[test]
    fn an_upgrade_without_flags_keeps_everything() {
        for arguments in [EVERY_FLAG, &["--no-webhooks"], &[]] {
            let plan = planned(arguments);
            let kept = read_back(&plan).with_flags(&Package::default()).unwrap();
            assert_eq!(kept.changes_from(&plan), Vec::<String>::new());
            let text = |plan: &InstallPlan| super::super::to_text(&plan.objects());
            assert_eq!(text(&kept), text(&plan), "{arguments:?}");
        }
    }

    #[test]
    fn a_flag_changes_what_it_names_only() {
        let installed = read_back(&planned(EVERY_FLAG));
        let given = flags(&["--check-access=false", "--resync=5m", "--limits=cpu=4"]);
        let changes = installed.clone().with_flags(&given).unwrap().changes_from(&installed);
        assert_eq!(changes.first().map(String::as_str), Some("check-access: on -> off"));
        // Of each of the seven Deployments.
        assert_eq!(changes.len(), 1 + 7 * 2, "{changes:#?}");
        let of_core: Vec<&String> = changes.iter().filter(|line| line.starts_with("kubefoundry-core/")).collect();
        assert_eq!(
            of_core,
            [
                "kubefoundry-core/arguments: --lease-duration=30s --finalizer-timeout=1m --stale-after=2m --resync=1h \
                 --concurrency=4 --log=debug -> --lease-duration=30s --finalizer-timeout=1m --stale-after=2m --resync=5m \
                 --concurrency=4 --log=debug",
                "kubefoundry-core/limits: cpu=2,memory=2Gi -> cpu=4,memory=2Gi",
            ]
        );
    }

    #[test]
    fn the_flag_for_roles_replaces_the_optional_ones_only() {
        let names = |plan: &InstallPlan| plan.optional_roles.iter().map(|role| role.name()).collect::<Vec<_>>();
        let installed = read_back(&planned(&["--roles=all,actors"]));
        assert_eq!((installed.layout, names(&installed)), (Layout::All, vec!["actors"]));
        let both = installed.clone().with_flags(&flags(&["--roles=actors,llamastack"])).unwrap();
        assert_eq!((both.layout, names(&both)), (Layout::All, vec!["llamastack", "actors"]));
        assert_eq!(both.changes_from(&installed), ["roles: all,actors -> all,llamastack,actors"]);
        let neither = installed.with_flags(&flags(&["--roles=all"])).unwrap();
        assert_eq!(names(&neither), Vec::<&str>::new());
        let line = ["kubefoundry-operator", "manifests", "--roles=kaito"];
        assert!(Arguments::try_parse_from(line).unwrap_err().to_string().contains("llamastack, actors"));
    }

    #[test]
    fn arguments_that_were_added_by_hand_are_kept() {
        let mut plan = planned(&[]);
        plan.pods.settings = vec!["--heartbeat-interval=10s".to_owned()];
        let mut deployments: Vec<Deployment> = plan
            .objects()
            .into_iter()
            .filter(|object| object.has_kind("Deployment"))
            .map(|object| serde_json::from_value(object.value).unwrap())
            .collect();
        let container = &mut deployments[0].spec.as_mut().unwrap().template.spec.as_mut().unwrap().containers[0];
        container.args.as_mut().unwrap().extend(["--stale-after", "9m"].map(str::to_owned));
        let read = InstallPlan::from_installed("serving", &deployments, Some("Fail")).unwrap();
        assert_eq!(read.pods.settings, ["--heartbeat-interval=10s", "--stale-after=9m"]);
        read.clone().with_flags(&Package::default()).unwrap();
        let container = &mut deployments[0].spec.as_mut().unwrap().template.spec.as_mut().unwrap().containers[0];
        container.args.as_mut().unwrap().push("--of-another-version=1".to_owned());
        let read = InstallPlan::from_installed("serving", &deployments, Some("Fail")).unwrap();
        let error = read.with_flags(&Package::default()).unwrap_err();
        assert!(error.contains("kubefoundry-controller") && error.contains("--of-another-version"), "{error}");
    }

    #[test]
    fn options_of_the_webhooks_need_them() {
        for option in ["--check-access", "--failure-policy=ignore"] {
            assert!(InstallPlan::new("serving").with_flags(&flags(&["--no-webhooks", option])).is_err());
        }
        let installed = planned(&["--check-access"]);
        let without = installed.clone().with_flags(&flags(&["--no-webhooks"])).unwrap();
        assert!(!without.check_access);
        assert_eq!(without.changes_from(&installed), ["check-access: on -> off", "webhooks: on -> off"]);
    }
}
