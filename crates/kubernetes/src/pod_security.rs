//! The level baseline of Kubernetes' Pod Security Standards, and what a policy allows beyond it.
//!
//! The rules are those of `k8s.io/pod-security-admission/policy`, up to Kubernetes 1.34. They are applied to every
//! field of an object that has the name of a restricted field, wherever it is: custom resources have pods in places of
//! their own, and containers without a pod (`autoscalerOptions` of a RayCluster).

use serde_json::{Map, Value};

use crate::manifest::Manifest;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::one_of;

/// What pods may do beyond the level baseline. The default is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodPolicy {
    /// Whether pods may do everything: the level privileged.
    pub privileged: bool,
    /// Further capabilities, without the prefix `CAP_`.
    pub capabilities: Vec<String>,
    /// Directories of nodes that pods may mount, with everything below them.
    pub host_paths: Vec<String>,
    /// Whether pods may share the IPC namespace of their node.
    pub host_ipc: bool,
}

/// A part of a [`PodPolicy`] that would allow a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// A capability.
    Capability(String),
    /// A directory of nodes.
    HostPath(String),
    /// The IPC namespace of nodes.
    HostIpc,
    /// The level privileged, if nothing smaller is enough.
    Privileged,
}

/// A field of an object that a policy does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the field, by which it is found in the input.
    pub rule: &'static str,
    /// The field.
    pub path: FieldPath,
    /// Its value.
    pub value: Value,
    /// The values that the policy allows, for messages.
    pub allowed: String,
    /// What would allow it.
    pub permission: Permission,
}

/// Annotations with the AppArmor profile of a container, whose name follows.
const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Fields of pods that are restricted, or that contain restricted fields.
const RESTRICTED: &[&str] = &["host", "hostIPC", "hostNetwork", "hostPID", "hostPath", "hostPort", "securityContext"];

/// Fields with handlers that may name a host. `probes` is not a field of pods, but of the objects that become pods.
const HANDLERS: &[&str] = &["lifecycle", "livenessProbe", "probes", "readinessProbe", "startupProbe"];

/// The capabilities that every container may add (check_capabilities_baseline.go).
const CAPABILITIES: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Kernel settings that are isolated between pods (check_sysctls.go).
const SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// SELinux types of containers (check_seLinuxOptions.go). An absent type is one of them.
const SELINUX_TYPES: &[&str] = &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// Profiles of seccomp and AppArmor that restrict a container (check_seccompProfile_baseline.go, check_appArmorProfile.go).
const PROFILES: &[&str] = &["RuntimeDefault", "Localhost"];

/// Returns whether an object has a field that may be restricted, without converting the object.
pub fn has_restricted_fields(manifest: &Manifest) -> bool {
    manifest.body.has_key(&|key| is_any(key, RESTRICTED) || key.starts_with(APP_ARMOR_ANNOTATION))
}

/// Returns the fields of an object that a policy does not allow, in the order of the object.
///
/// ```
/// use kubefoundry_kubernetes::pod_security::{Permission, PodPolicy, violations};
/// use serde_json::json;
/// let pod = json!({"spec": {"containers": [{"securityContext": {"capabilities": {"add": ["CHOWN", "IPC_LOCK"]}}}]}});
/// let found = violations(&pod, &PodPolicy::default());
/// assert_eq!(found[0].path.to_string(), "spec.containers[0].securityContext.capabilities.add[1]");
/// assert_eq!(found[0].permission, Permission::Capability("IPC_LOCK".to_owned()));
/// let policy = PodPolicy { capabilities: vec!["IPC_LOCK".to_owned()], ..PodPolicy::default() };
/// assert!(violations(&pod, &policy).is_empty());
/// ```
pub fn violations(object: &Value, policy: &PodPolicy) -> Vec<Violation> {
    let mut judge = Judge { policy, violations: Vec::new() };
    if !policy.privileged {
        judge.visit(object, &FieldPath::root());
    }
    judge.violations
}

/// Collects violations.
struct Judge<'p> {
    policy: &'p PodPolicy,
    violations: Vec<Violation>,
}

impl Judge<'_> {
    fn visit(&mut self, value: &Value, path: &FieldPath) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    let path = path.key(key.clone());
                    self.check_field(key, field, &path);
                    self.visit(field, &path);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.visit(item, &path.index(index));
                }
            }
            _ => {}
        }
    }

    fn check_field(&mut self, key: &str, field: &Value, path: &FieldPath) {
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        let is_true = *field == Value::Bool(true);
        if is("hostIPC") && is_true && !self.policy.host_ipc {
            self.add("hostIPC", path, field, "no host IPC", Permission::HostIpc);
        } else if is("hostNetwork") && is_true {
            self.refuse("hostNetwork", path, field, "no host networking");
        } else if is("hostPID") && is_true {
            self.refuse("hostPID", path, field, "no host PID namespace");
        } else if is("hostPort") && field.is_number() && field.as_f64() != Some(0.0) {
            self.refuse("hostPort", path, field, "no host ports");
        } else if is("hostPath") && field.is_object() {
            self.check_host_path(field, path);
        } else if is("securityContext") {
            self.check_security_context(field, path);
        } else if is_any(key, HANDLERS) {
            self.check_handlers(field, path);
        } else if key.starts_with(APP_ARMOR_ANNOTATION)
            && let Value::String(profile) = field
            && !(profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/"))
        {
            self.refuse("appArmor", path, field, "only runtime/default and localhost/ profiles");
        }
    }

    fn check_host_path(&mut self, volume: &Value, path: &FieldPath) {
        let (path, directory) = fields_of(volume, "path", path)
            .next()
            .map_or_else(|| (path.key("path"), Value::from("")), |(path, directory)| (path, directory.clone()));
        let directory_text = directory.as_str().unwrap_or_default();
        let allowed = &self.policy.host_paths;
        if allowed.iter().any(|prefix| contains(prefix, directory_text)) {
            return;
        }
        let expected = match allowed.as_slice() {
            [] => "no directory of the host".to_owned(),
            prefixes => {
                let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
                format!("only directories of the host in {}, without \"..\"", one_of(&prefixes))
            }
        };
        let permission = if components(directory_text).is_some() {
            Permission::HostPath(directory_text.to_owned())
        } else {
            Permission::Privileged
        };
        self.add("hostPath", &path, &directory, expected, permission);
    }

    /// Checks the security context of a pod or of a container.
    fn check_security_context(&mut self, context: &Value, path: &FieldPath) {
        for (path, privileged) in fields_of(context, "privileged", path) {
            if *privileged == Value::Bool(true) {
                self.refuse("privileged", &path, privileged, "no privileged containers");
            }
        }
        for (path, capabilities) in fields_of(context, "capabilities", path) {
            for (path, added) in fields_of(capabilities, "add", &path) {
                for (index, capability) in added.as_array().into_iter().flatten().enumerate() {
                    self.check_capability(capability, &path.index(index));
                }
            }
        }
        for (path, sysctls) in fields_of(context, "sysctls", path) {
            for (index, sysctl) in sysctls.as_array().into_iter().flatten().enumerate() {
                for (path, name) in fields_of(sysctl, "name", &path.index(index)) {
                    if !is_one_of(name, SYSCTLS) {
                        self.refuse("sysctl", &path, name, "only kernel settings that are safe between pods");
                    }
                }
            }
        }
        for (path, mount) in fields_of(context, "procMount", path) {
            if !is_one_of(mount, &["Default"]) {
                self.refuse("procMount", &path, mount, "only Default");
            }
        }
        for (rule, profile) in [("seccompProfile", "seccompProfile"), ("appArmorProfile", "appArmorProfile")] {
            for (path, profile) in fields_of(context, profile, path) {
                for (path, kind) in fields_of(profile, "type", &path) {
                    if !is_one_of(kind, PROFILES) {
                        self.refuse(rule, &path, kind, "only RuntimeDefault and Localhost");
                    }
                }
            }
        }
        for (path, options) in fields_of(context, "seLinuxOptions", path) {
            for (path, kind) in fields_of(options, "type", &path) {
                if !is_one_of(kind, SELINUX_TYPES) {
                    self.refuse("seLinuxType", &path, kind, "only the SELinux types of containers");
                }
            }
            for (rule, name) in [("seLinuxUser", "user"), ("seLinuxRole", "role")] {
                for (path, value) in fields_of(options, name, &path) {
                    if !is_one_of(value, &[""]) {
                        self.refuse(rule, &path, value, "no SELinux user or role");
                    }
                }
            }
        }
        for (path, options) in fields_of(context, "windowsOptions", path) {
            for (path, process) in fields_of(options, "hostProcess", &path) {
                if *process == Value::Bool(true) {
                    self.refuse("hostProcess", &path, process, "no host processes on Windows");
                }
            }
        }
    }

    fn check_capability(&mut self, capability: &Value, path: &FieldPath) {
        let Some(name) = capability.as_str() else { return };
        if CAPABILITIES.contains(&name) || self.policy.capabilities.iter().any(|allowed| allowed == name) {
            return;
        }
        let permission = Permission::Capability(name.to_owned());
        self.add("capability", path, capability, "no such capability", permission);
    }

    /// Checks the handlers of a probe or of a lifecycle: with a host, the kubelet sends requests to other machines.
    fn check_handlers(&mut self, value: &Value, path: &FieldPath) {
        let Value::Object(fields) = value else { return };
        for (key, field) in fields {
            let path = path.key(key.clone());
            if key.eq_ignore_ascii_case("httpGet") || key.eq_ignore_ascii_case("tcpSocket") {
                for (path, host) in fields_of(field, "host", &path) {
                    if !is_one_of(host, &[""]) {
                        self.refuse("probeHost", &path, host, "no host, which means the pod itself");
                    }
                }
            } else {
                self.check_handlers(field, &path);
            }
        }
    }

    /// Adds a violation that only the level privileged allows.
    fn refuse(&mut self, rule: &'static str, path: &FieldPath, value: &Value, allowed: &str) {
        self.add(rule, path, value, allowed, Permission::Privileged);
    }

    fn add(
        &mut self,
        rule: &'static str,
        path: &FieldPath,
        value: &Value,
        allowed: impl Into<String>,
        permission: Permission,
    ) {
        let (path, value, allowed) = (path.clone(), value.clone(), allowed.into());
        self.violations.push(Violation { rule, path, value, allowed, permission });
    }
}

/// Returns the fields of a name. Letter case does not matter, because some controllers read templates without it.
fn fields_of<'v>(object: &'v Value, name: &str, path: &FieldPath) -> impl Iterator<Item = (FieldPath, &'v Value)> {
    let fields = object.as_object().into_iter().flat_map(Map::iter);
    fields.filter(move |(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null()).map(move |(key, value)| {
        let path = path.key(key.clone());
        (path, value)
    })
}

fn is_any(key: &str, names: &[&str]) -> bool {
    names.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// Returns whether a value is one of the texts. One of another type is not refused here, but by the API server.
fn is_one_of(value: &Value, texts: &[&str]) -> bool {
    value.as_str().is_none_or(|text| texts.contains(&text))
}

/// Returns whether a directory is `prefix` or lies below it.
fn contains(prefix: &str, directory: &str) -> bool {
    let (Some(prefix), Some(directory)) = (components(prefix), components(directory)) else { return false };
    directory.starts_with(&prefix)
}

/// Returns the names of an absolute path, or `None` for a relative one and one with `..`, which may lead anywhere.
fn components(path: &str) -> Option<Vec<&str>> {
    let components: Vec<&str> =
        path.strip_prefix('/')?.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!components.contains(&"..")).then_some(components)
}

/// Checks a prefix of a policy.
///
/// # Errors
/// Returns what is expected instead.
pub fn check_host_path(prefix: &str) -> Result<(), &'static str> {
    components(prefix).map(drop).ok_or("an absolute path without \"..\"")
}

/// Checks the name of a capability.
///
/// # Errors
/// Returns what is expected instead.
pub fn check_capability(name: &str) -> Result<(), &'static str> {
    let is_name = name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if is_name && !name.starts_with("CAP_") {
        Ok(())
    } else {
        Err("the name of a capability in upper case, without CAP_, such as IPC_LOCK")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::SpecBody;

    fn rules(object: &Value, policy: &PodPolicy) -> Vec<&'static str> {
        violations(object, policy).into_iter().map(|violation| violation.rule).collect()
    }

    /// A value that the level baseline refuses, for each rule.
    fn refused() -> Vec<(&'static str, Value)> {
        let context = |context: Value| json!({"securityContext": context});
        vec![
            ("hostIPC", json!({"hostIPC": true})),
            ("hostNetwork", json!({"hostNetwork": true})),
            ("hostPID", json!({"hostPID": true})),
            ("hostPath", json!({"volumes": [{"name": "v", "hostPath": {"path": "/data"}}]})),
            ("hostPort", json!({"ports": [{"hostPort": 80}]})),
            ("privileged", context(json!({"privileged": true}))),
            ("capability", context(json!({"capabilities": {"add": ["SYS_ADMIN"]}}))),
            ("sysctl", context(json!({"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}))),
            ("procMount", context(json!({"procMount": "Unmasked"}))),
            ("seccompProfile", context(json!({"seccompProfile": {"type": "Unconfined"}}))),
            ("appArmorProfile", context(json!({"appArmorProfile": {"type": "Unconfined"}}))),
            ("seLinuxType", context(json!({"seLinuxOptions": {"type": "spc_t"}}))),
            ("seLinuxUser", context(json!({"seLinuxOptions": {"user": "u"}}))),
            ("seLinuxRole", context(json!({"seLinuxOptions": {"role": "r"}}))),
            ("hostProcess", context(json!({"windowsOptions": {"hostProcess": true}}))),
            ("probeHost", json!({"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 1}}})),
            ("probeHost", json!({"lifecycle": {"preStop": {"tcpSocket": {"host": "h", "port": 1}}}})),
            ("appArmor", json!({"annotations": {format!("{APP_ARMOR_ANNOTATION}main"): "unconfined"}})),
        ]
    }

    #[test]
    fn every_rule_of_the_baseline_is_found_at_any_depth_and_in_any_case() {
        let privileged = PodPolicy { privileged: true, ..PodPolicy::default() };
        for (rule, pod) in refused() {
            for pod in [pod.clone(), json!({"spec": {"groups": [{"template": {"spec": pod.clone()}}]}})] {
                assert_eq!(rules(&pod, &PodPolicy::default()), [rule], "{pod}");
                assert_eq!(rules(&pod, &privileged), [""; 0], "{pod}");
                let manifest = Manifest::new("v1", "Pod", "p", SpecBody { spec: pod.clone() });
                assert!(has_restricted_fields(&manifest), "{pod}");
            }
            if rule != "appArmor" {
                let lower =
                    serde_json::from_str(&pod.to_string().replace("host", "HOST").replace("Context", "context"));
                let lower: Value = lower.unwrap();
                assert_eq!(rules(&lower, &PodPolicy::default()).len(), 1, "{lower}");
            }
        }
    }

    #[test]
    fn what_the_baseline_allows_is_not_found() {
        let pod = json!({
            "hostIPC": false, "hostNetwork": false, "hostPID": null,
            "annotations": {format!("{APP_ARMOR_ANNOTATION}main"): "runtime/default", "hostPath": "text"},
            "volumes": [{"emptyDir": {}}, {"secret": {"secretName": "s"}}],
            "securityContext": {
                "runAsUser": 1000, "fsGroup": 1000, "privileged": false, "procMount": "Default",
                "seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "Localhost"},
                "seLinuxOptions": {"level": "s0", "type": "container_t", "user": "", "role": ""},
                "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}],
                "capabilities": {"add": ["SYS_CHROOT"], "drop": ["ALL"]},
            },
            "containers": [{"ports": [{"hostPort": 0}], "readinessProbe": {"httpGet": {"path": "/", "port": 1}}}],
        });
        assert_eq!(rules(&pod, &PodPolicy::default()), [""; 0]);
    }

    #[test]
    fn each_permission_allows_only_itself() {
        let every: Vec<Value> = refused().into_iter().map(|(_, pod)| pod).collect();
        let all = violations(&json!(every), &PodPolicy::default());
        let left = |policy: PodPolicy| all.len() - violations(&json!(every), &policy).len();
        assert_eq!(left(PodPolicy { host_ipc: true, ..PodPolicy::default() }), 1);
        assert_eq!(left(PodPolicy { capabilities: vec!["SYS_ADMIN".to_owned()], ..PodPolicy::default() }), 1);
        assert_eq!(left(PodPolicy { capabilities: vec!["IPC_LOCK".to_owned()], ..PodPolicy::default() }), 0);
        assert_eq!(left(PodPolicy { host_paths: vec!["/data".to_owned()], ..PodPolicy::default() }), 1);
    }

    #[test]
    fn host_paths_match_by_component() {
        for (prefix, directory, expected) in [
            ("/data", "/data", true),
            ("/data/", "/data/models", true),
            ("/data", "//data/./models/", true),
            ("/", "/etc", true),
            ("/data", "/database", false),
            ("/data", "/data/../etc", false),
            ("/data", "data", false),
            ("/data", "", false),
            ("/data/models", "/data", false),
        ] {
            assert_eq!(contains(prefix, directory), expected, "{prefix} {directory}");
        }
    }

    #[test]
    fn objects_without_restricted_fields_need_no_conversion() {
        let pod = json!({"containers": [{"image": "i", "args": ["--host", "0.0.0.0"], "env": [{"name": "hostPath"}]}]});
        assert!(!has_restricted_fields(&Manifest::new("v1", "Pod", "p", SpecBody { spec: pod })));
    }

    #[test]
    fn names_of_capabilities_have_no_prefix() {
        for (name, expected) in [("IPC_LOCK", true), ("ALL", true), ("CAP_IPC_LOCK", false), ("ipc_lock", false)] {
            assert_eq!(check_capability(name).is_ok(), expected, "{name}");
        }
    }
}
