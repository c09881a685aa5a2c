//! Nodes of a cluster: what decides which pods run on them.
//!
//! Sources: `NodeSpec` and `NodeStatus` in `k8s.io/api/core/v1/types.go`; `ToleratesTaint` in
//! `k8s.io/component-helpers/scheduling/corev1`.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::quantity::billionths;
use crate::wire::Toleration;

/// The taint of a node that takes no more pods (`kubectl cordon`).
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The prefixes of the taints that Kubernetes itself sets and removes as the state of a node changes.
const PASSING_TAINTS: &[&str] = &["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The taints that keep pods away, without those that pass by themselves.
    pub taints: Vec<Taint>,
    /// Whether it takes no more pods.
    pub is_cordoned: bool,
    /// What pods can have in all, by resource, in billionths of its unit.
    pub allocatable: BTreeMap<String, i128>,
}

/// A taint that keeps pods away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; empty if it has none.
    pub value: String,
    /// `NoSchedule` or `NoExecute`.
    pub effect: String,
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, effect } = self;
        if value.is_empty() { write!(f, "{key}:{effect}") } else { write!(f, "{key}={value}:{effect}") }
    }
}

impl Taint {
    /// Returns whether a toleration tolerates the taint. One that compares numbers is taken to do so.
    pub fn is_tolerated_by(&self, toleration: &Toleration) -> bool {
        // An absent field means the same as an empty one.
        let [key, effect, operator, value] =
            [&toleration.key, &toleration.effect, &toleration.operator, &toleration.value]
                .map(|field| field.as_deref().unwrap_or(""));
        (effect.is_empty() || effect == self.effect)
            && (key.is_empty() || key == self.key)
            && match operator {
                "" | "Equal" => value == self.value,
                _ => true,
            }
    }
}

/// What is wrong with an object that should be a node: a path from its root, and what is expected there.
pub type NodeProblem = (Vec<String>, &'static str);

impl ClusterNode {
    /// Reads a node as the API server returns it. Fields of other purposes are not looked at.
    ///
    /// ```
    /// use kubefoundry_kubernetes::cluster_node::ClusterNode;
    /// let node = serde_json::json!({
    ///     "metadata": {"name": "gpu-a", "labels": {"pool": "l4"}},
    ///     "spec": {"taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}]},
    ///     "status": {"allocatable": {"nvidia.com/gpu": "4", "memory": "60Gi"}},
    /// });
    /// let node = ClusterNode::from_json(&node).unwrap();
    /// assert_eq!(node.taints[0].to_string(), "sku=gpu:NoSchedule");
    /// assert_eq!(node.allocatable["nvidia.com/gpu"], 4_000_000_000);
    /// ```
    ///
    /// Returns the first field whose value a node cannot have.
    pub fn from_json(node: &Value) -> Result<Self, NodeProblem> {
        let problem = |path: &[&str], expected| (path.iter().map(|key| (*key).to_owned()).collect(), expected);
        let mapping = |path: &[&str]| match path.iter().try_fold(node, |value, key| value.get(key)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(_) => Err(problem(path, "a mapping")),
        };
        for part in ["metadata", "spec", "status"] {
            mapping(&[part])?;
        }
        let mut labels = BTreeMap::new();
        for (key, value) in mapping(&["metadata", "labels"])?.into_iter().flatten() {
            let value = value.as_str().ok_or_else(|| problem(&["metadata", "labels", key], "a string"))?;
            labels.insert(key.clone(), value.to_owned());
        }
        let mut allocatable = BTreeMap::new();
        for (key, value) in mapping(&["status", "allocatable"])?.into_iter().flatten() {
            // kubectl prints quantities as strings, but numbers are quantities, too.
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let amount = billionths(&text).ok_or_else(|| problem(&["status", "allocatable", key], "a quantity"))?;
            allocatable.insert(key.clone(), amount);
        }
        let mut taints = Vec::new();
        match node.pointer("/spec/taints") {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (position, item) in items.iter().enumerate() {
                    let text = |key: &str| match item.get(key) {
                        None | Some(Value::Null) => Ok(String::new()),
                        Some(Value::String(text)) => Ok(text.clone()),
                        Some(_) => Err(problem(&["spec", "taints", &position.to_string(), key], "a string")),
                    };
                    if !item.is_object() {
                        return Err(problem(&["spec", "taints", &position.to_string()], "a mapping"));
                    }
                    taints.push(Taint { key: text("key")?, value: text("value")?, effect: text("effect")? });
                }
            }
            Some(_) => return Err(problem(&["spec", "taints"], "a list")),
        }
        let is_unschedulable = match node.pointer("/spec/unschedulable") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is_unschedulable)) => *is_unschedulable,
            Some(_) => return Err(problem(&["spec", "unschedulable"], "a boolean")),
        };
        let is_cordoned = is_unschedulable || taints.iter().any(|taint| taint.key == UNSCHEDULABLE);
        taints.retain(|taint| {
            taint.effect != "PreferNoSchedule" && !PASSING_TAINTS.iter().any(|prefix| taint.key.starts_with(prefix))
        });
        let name = match node.pointer("/metadata/name") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(problem(&["metadata", "name"], "a string")),
        };
        Ok(Self { name, labels, taints, is_cordoned, allocatable })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        let field = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Toleration {
            key: field(key),
            operator: field(operator),
            value: field(value),
            effect: field(effect),
            ..Toleration::default()
        }
    }

    #[test]
    fn taints_are_tolerated_as_the_scheduler_does() {
        let taint = Taint { key: "sku".into(), value: "gpu".into(), effect: "NoSchedule".into() };
        for (key, operator, value, effect) in [
            ("", "Exists", "", ""),
            ("sku", "Exists", "", ""),
            ("sku", "Exists", "", "NoSchedule"),
            ("sku", "", "gpu", ""),
            ("sku", "Equal", "gpu", "NoSchedule"),
            ("sku", "Gt", "1", ""),
        ] {
            assert!(taint.is_tolerated_by(&toleration(key, operator, value, effect)), "{key} {operator}");
        }
        for (key, operator, value, effect) in [
            ("other", "Exists", "", ""),
            ("sku", "Exists", "", "NoExecute"),
            ("sku", "Equal", "cpu", ""),
            ("sku", "", "", ""),
        ] {
            assert!(!taint.is_tolerated_by(&toleration(key, operator, value, effect)), "{key} {operator}");
        }
    }

    #[test]
    fn passing_taints_and_preferences_keep_no_pod_away() {
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        let node = json!({"metadata": {"name": "a"}, "spec": {"taints": [
            taint("node.kubernetes.io/not-ready", "NoExecute"), taint("spot", "PreferNoSchedule"), taint("b", "NoExecute"),
        ]}});
        let node = ClusterNode::from_json(&node).unwrap();
        assert_eq!(node.taints.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b:NoExecute"]);
        assert!(!node.is_cordoned && node.labels.is_empty() && node.allocatable.is_empty());
        let cordoned = json!({"spec": {"taints": [taint("node.kubernetes.io/unschedulable", "NoSchedule")]}});
        assert!(ClusterNode::from_json(&cordoned).unwrap().is_cordoned);
    }

    #[test]
    fn other_shapes_are_problems_with_a_place() {
        for (node, place) in [
            (json!({"metadata": []}), "metadata"),
            (json!({"metadata": {"labels": "a"}}), "metadata.labels"),
            (json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels.a"),
            (json!({"spec": {"taints": {}}}), "spec.taints"),
            (json!({"spec": {"taints": [1]}}), "spec.taints.0"),
            (json!({"spec": {"taints": [{"key": 1}]}}), "spec.taints.0.key"),
            (json!({"status": {"allocatable": {"memory": "lots"}}}), "status.allocatable.memory"),
            (json!({"status": {"allocatable": {"memory": {}}}}), "status.allocatable.memory"),
        ] {
            let (path, _) = ClusterNode::from_json(&node).unwrap_err();
            assert_eq!(path.join("."), place, "{node}");
        }
        assert!(ClusterNode::from_json(&json!(1)).is_ok(), "a caller passes objects");
    }
}
