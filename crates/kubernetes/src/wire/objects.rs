//! Wire types for the parts of Kubernetes' own types that inputs contain. They are emitted as they were read.

use serde::Serialize;

use super::facets::Syntax;
use super::path::PathOf;
use super::reader::{IntegerOrString, Map};
use crate::{codes, wire_object};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

wire_object! {
    /// Object metadata. Fields that only the API server sets are accepted, so that you can use the output of
    /// `kubectl get -o yaml`.
    pub struct ObjectMeta {
        /// The name: lower-case letters, digits and `-`, at most 63.
        name: String = "name" [syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_NAME)],
        /// The namespace. Generated objects have none if you omit it.
        namespace: String = "namespace" [syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_NAME)],
        /// Labels. Only those of the object's own API group are copied to generated objects.
        labels: Map<String> = "labels",
        /// Annotations.
        annotations: Map<String> = "annotations",
        /// The UID. Set by the API server.
        uid: String = "uid",
        /// A prefix from which the API server generates a name. Give a `name` instead.
        generate_name: String = "generateName",
        /// Set by the API server.
        creation_timestamp: Node<'static> = "creationTimestamp",
        /// Set by the API server.
        deletion_timestamp: Node<'static> = "deletionTimestamp",
        /// Set by the API server.
        deletion_grace_period_seconds: Node<'static> = "deletionGracePeriodSeconds",
        /// Set by the API server.
        generation: Node<'static> = "generation",
        /// Set by the API server.
        resource_version: Node<'static> = "resourceVersion",
        /// Set by the API server.
        self_link: Node<'static> = "selfLink",
        /// Set by the API server.
        managed_fields: Node<'static> = "managedFields",
        /// Set by controllers.
        finalizers: Node<'static> = "finalizers",
        /// Set by controllers.
        owner_references: Node<'static> = "ownerReferences",
    }
}

/// Returns the path of the metadata of an object of any kind.
///
/// ```
/// use kubefoundry_kubernetes::wire::metadata;
/// assert_eq!(metadata().name().to_string(), "metadata.name");
/// ```
#[must_use]
pub fn metadata() -> PathOf<ObjectMeta> {
    FieldPath::root().with_key("metadata").into()
}

/// Implements [`Serialize`] for wire objects as Kubernetes expects them: only present fields, with their keys in YAML.
macro_rules! serialize_present {
    ($($name:ident { $($field:ident = $key:literal),* })*) => {
        $(impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(if let Some(value) = &self.$field {
                    map.serialize_entry($key, value)?;
                })*
                map.end()
            }
        })*
    };
}

wire_object! {
    /// An environment variable of a container (core/v1 EnvVar).
    pub struct EnvVar {
        /// The variable's name, unique in the list.
        name: String = "name" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::EnvironmentVariable), checked_by(&codes::INVALID_ENVIRONMENT), max_length(1024)],
        /// The variable's value. The kubelet expands `$(NAME)`.
        value: String = "value",
        /// The source of the value, instead of `value`. Set exactly one source.
        value_from: EnvVarSource = "valueFrom",
    }
}
wire_object! {
    /// The source of the value of an environment variable. Set exactly one field.
    pub struct EnvVarSource {
        /// A field of the pod.
        field_ref: FieldSelector = "fieldRef",
        /// A resource of the container.
        resource_field_ref: ResourceFieldSelector = "resourceFieldRef",
        /// A key of a ConfigMap.
        config_map_key_ref: ConfigMapKeySelector = "configMapKeyRef",
        /// A key of a Secret.
        secret_key_ref: SecretKeySelector = "secretKeyRef",
        /// A key of an env file in a volume.
        file_key_ref: FileKeySelector = "fileKeyRef",
    }
}
wire_object! {
    /// A field of the pod.
    pub struct FieldSelector {
        /// The API version of the path, `v1` by default.
        api_version: String = "apiVersion" [allowed_values(&["v1"]), checked_by(&codes::INVALID_ENVIRONMENT)],
        /// The path, such as `status.podIP`.
        field_path: String = "fieldPath" [required(), checked_by(&codes::REQUIRED_FIELD)],
    }
}
wire_object! {
    /// A resource of a container.
    pub struct ResourceFieldSelector {
        /// The container, if not this one.
        container_name: String = "containerName" [syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_NAME)],
        /// The resource, such as `limits.memory`.
        resource: String = "resource" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The unit of the value, such as `1Mi`; 1 by default.
        divisor: IntegerOrString = "divisor",
    }
}
wire_object! {
    /// A key of a ConfigMap in the same namespace.
    pub struct ConfigMapKeySelector {
        /// The ConfigMap.
        name: String = "name" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::DnsSubdomain), checked_by(&codes::INVALID_NAME)],
        /// The key.
        key: String = "key" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::ConfigKey), checked_by(&codes::INVALID_ENVIRONMENT)],
        /// Whether the key may be absent.
        optional: bool = "optional",
    }
}
wire_object! {
    /// A key of a Secret in the same namespace.
    pub struct SecretKeySelector {
        /// The Secret.
        name: String = "name" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::DnsSubdomain), checked_by(&codes::INVALID_NAME)],
        /// The key.
        key: String = "key" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::ConfigKey), checked_by(&codes::INVALID_ENVIRONMENT)],
        /// Whether the key may be absent.
        optional: bool = "optional",
    }
}
wire_object! {
    /// A key of an env file.
    pub struct FileKeySelector {
        /// The volume that holds the file.
        volume_name: String = "volumeName" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::DnsLabel), checked_by(&codes::INVALID_NAME)],
        /// The path of the file in the volume.
        path: String = "path" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The key.
        key: String = "key" [required(), checked_by(&codes::REQUIRED_FIELD), syntax(Syntax::EnvironmentVariable), checked_by(&codes::INVALID_ENVIRONMENT), max_length(1024)],
        /// Whether the key may be absent.
        optional: bool = "optional",
    }
}
wire_object! {
    /// A toleration of a pod (core/v1 Toleration).
    pub struct Toleration {
        /// The taint's key. With `Exists`, an empty key matches every taint.
        key: String = "key" [syntax(Syntax::LabelKey), checked_by(&codes::INVALID_TOLERATION)],
        /// The comparison of key and value: `Exists`, `Equal` (default), `Lt` or `Gt`.
        operator: String = "operator" [allowed_values(&["Exists", "Equal", "Lt", "Gt"]), checked_by(&codes::INVALID_TOLERATION)],
        /// The taint's value.
        value: String = "value" [max_length(253), checked_by(&codes::INVALID_TOLERATION)],
        /// The taint's effect. An empty one matches every effect.
        effect: String = "effect" [allowed_values(&["NoSchedule", "PreferNoSchedule", "NoExecute"]), checked_by(&codes::INVALID_TOLERATION)],
        /// The time for which a `NoExecute` taint is tolerated, in seconds.
        toleration_seconds: i64 = "tolerationSeconds",
    }
}
wire_object! {
    /// The name of an object in the same namespace.
    pub struct LocalObjectReference {
        /// The object's name.
        name: String = "name" [required(), syntax(Syntax::DnsSubdomain)],
    }
}

impl Serialize for IntegerOrString {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

serialize_present! {
    EnvVar { name = "name", value = "value", value_from = "valueFrom" }
    EnvVarSource {
        field_ref = "fieldRef", resource_field_ref = "resourceFieldRef", config_map_key_ref = "configMapKeyRef",
        secret_key_ref = "secretKeyRef", file_key_ref = "fileKeyRef"
    }
    FieldSelector { api_version = "apiVersion", field_path = "fieldPath" }
    ResourceFieldSelector { container_name = "containerName", resource = "resource", divisor = "divisor" }
    ConfigMapKeySelector { name = "name", key = "key", optional = "optional" }
    SecretKeySelector { name = "name", key = "key", optional = "optional" }
    FileKeySelector { volume_name = "volumeName", path = "path", key = "key", optional = "optional" }
    Toleration {
        key = "key", operator = "operator", value = "value", effect = "effect", toleration_seconds = "tolerationSeconds"
    }
    LocalObjectReference { name = "name" }
}
