//! What a deployment says about the engine's container besides its command, variables and resources.

use kubefoundry_yaml::Node;
use serde_json::Value as Json;

/// Probes, mounts and security of the engine's container: of all workers, or of those of one role. Their structure is that
/// of Kubernetes, which the pipeline checks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineContainer {
    /// Probes that replace those of the provider.
    pub probes: Probes,
    /// Where volumes are mounted, besides the mounts of volumes for model data.
    pub volume_mounts: Vec<Node<'static>>,
    /// User, privileges and capabilities.
    pub security_context: Option<Node<'static>>,
}

/// Probes of the engine's container. `None` leaves a probe to the provider.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Probes {
    /// Tells when the engine has started.
    pub startup: Option<Node<'static>>,
    /// Tells whether the engine accepts requests.
    pub readiness: Option<Node<'static>>,
    /// Tells when the kubelet must restart the container.
    pub liveness: Option<Node<'static>>,
}

impl EngineContainer {
    /// Merges the settings of a role over these: a probe replaces the one of the same kind, a mount the one at the same
    /// path, and a field of the security context the same field.
    #[must_use]
    pub fn merged_with(&self, role: &Self) -> Self {
        let probe =
            |own: &Option<Node<'static>>, common: &Option<Node<'static>>| own.as_ref().or(common.as_ref()).cloned();
        let probes = Probes {
            startup: probe(&role.probes.startup, &self.probes.startup),
            readiness: probe(&role.probes.readiness, &self.probes.readiness),
            liveness: probe(&role.probes.liveness, &self.probes.liveness),
        };
        let is_replaced = |mount: &&Node<'_>| {
            let path = mount_path(mount);
            path.is_some() && role.volume_mounts.iter().any(|other| mount_path(other) == path)
        };
        let kept = self.volume_mounts.iter().filter(|mount| !is_replaced(mount));
        let volume_mounts = kept.chain(&role.volume_mounts).cloned().collect();
        let security_context = match (&self.security_context, &role.security_context) {
            (Some(common), Some(own)) => Some(merge_fields(common, own)),
            (common, own) => own.as_ref().or(common.as_ref()).cloned(),
        };
        Self { probes, volume_mounts, security_context }
    }
}

/// Returns the path of a mount without a slash at its end, by which Kubernetes tells mounts apart.
fn mount_path<'n>(mount: &'n Node<'_>) -> Option<&'n str> {
    Some(mount.get("mountPath")?.as_str()?.trim_end_matches('/'))
}

/// Merges the fields of a mapping over those of another one. A value of another type is left to the check of the structure.
fn merge_fields(common: &Node<'static>, own: &Node<'static>) -> Node<'static> {
    let (Json::Object(mut fields), Json::Object(own_fields)) = (common.to_json(), own.to_json()) else {
        return own.clone();
    };
    fields.extend(own_fields);
    Node::from(&Json::Object(fields)).to_owned_node()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(value: &Json) -> EngineContainer {
        let node = |value: Option<&Json>| value.map(|value| Node::from(value).to_owned_node());
        let mounts = value["volumeMounts"].as_array().into_iter().flatten();
        EngineContainer {
            probes: Probes {
                startup: node(value.get("startup")),
                readiness: node(value.get("readiness")),
                liveness: None,
            },
            volume_mounts: mounts.map(|mount| Node::from(mount).to_owned_node()).collect(),
            security_context: node(value.get("securityContext")),
        }
    }

    #[test]
    fn a_role_replaces_what_is_the_same() {
        let common = container(&json!({
            "startup": 1, "readiness": 2,
            "volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}],
            "securityContext": {"runAsUser": 1, "privileged": false},
        }));
        let role = container(&json!({
            "readiness": 3,
            "volumeMounts": [{"name": "c", "mountPath": "/b/"}],
            "securityContext": {"runAsUser": 2},
        }));
        let expected = container(&json!({
            "startup": 1, "readiness": 3,
            "volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "c", "mountPath": "/b/"}],
            "securityContext": {"runAsUser": 2, "privileged": false},
        }));
        let merged = common.merged_with(&role);
        assert_eq!(merged.probes, expected.probes);
        assert_eq!(merged.volume_mounts.len(), 2);
        assert_eq!(merged.security_context.unwrap().to_json(), expected.security_context.unwrap().to_json());
        assert_eq!(EngineContainer::default().merged_with(&role).volume_mounts, role.volume_mounts);
    }
}
