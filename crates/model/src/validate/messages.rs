//! The messages that `lint` and the rules of our CRDs share. Those about a field follow its path in `lint`; an API server
//! puts the path before them itself.
#![expect(missing_docs, reason = "a message says itself what it is about")]

pub const ENGINE_TYPE_REQUIRED: &str = "engine.type is required";
pub const MODEL_ID_REQUIRED: &str = "model.id is required when source is huggingface";
pub const IMAGE_REQUIRED: &str = "image is required when source is custom";
pub const IMAGES_DIFFER: &str = "spec.engine.image and spec.image differ";
pub const RESOURCES_AND_ROLES: &str = "Cannot specify both resources.gpu and scaling.prefill/decode";
pub const ROLES_REQUIRED: &str = "Disaggregated mode requires scaling.prefill and scaling.decode";

/// What is expected instead of a value of `spec.model.id`.
pub mod model_id {
    pub const IN_IMAGE: &str = "an absolute path inside the image, or no id, when source is custom";
    pub const PATH_WITHOUT_SPACES: &str = "a path without spaces and control characters";
    pub const PATH_BELOW_ROOT: &str = "a path below \"/\"";
    pub const NO_FLAG: &str = "a model id that does not start with '-' and has no spaces";
    pub const FORM: &str =
        "org/name, org/name/file.gguf, a bare name, or an absolute path on a volume of spec.model.storage";
    pub const PARTS: &str = "a HuggingFace id: parts of at most 96 letters, digits, '-', '_' and '.', not starting or \
                             ending with '-' or '.', without \"--\" and \"..\"";
}

pub const SERVED_NAME_TOO_LONG: &str = "a name of at most 253 characters";
pub const SERVED_NAME: &str = "a name without commas, spaces and control characters that does not start with '-'";

pub const PATH_UPWARDS: &str = "a path without \"..\"";
pub const MOUNT_BELOW_ROOT: &str = "an absolute path below \"/\"";
pub const MOUNT_CHARACTERS: &str = "a path without ':', '$' and control characters";
pub const MOUNT_PATH_REQUIRED: &str = "is required when purpose is custom";
pub const CLAIM_NAME_REQUIRED: &str = "is required without a size";
pub const ONLY_FOR_NEW_CLAIM: &str = "is for a new claim, which needs a size";

pub const ARGUMENT_KEY: &str = "expected a bare flag name of lower-case letters, digits, '-' and '_'";
pub const EXTRA_ARGUMENT: &str = "a flag or the value of one";
pub const END_OF_FLAGS: &str = "a flag: \"--\" alone ends the flags";
pub const FIRST_EXTRA_ARGUMENT: &str = "a flag that starts with \"--\"";

pub const TOLERATION_WITHOUT_KEY: &str = "has no key, which only operator Exists allows";
pub const TOLERATION_WITH_VALUE: &str = "is set, but operator Exists takes no value";
pub const TOLERATION_WITHOUT_VALUE: &str = "is missing, expected an integer with operator Lt or Gt";
pub const TOLERATION_VALUE: &str = "an integer with operator Lt or Gt";
pub const TOLERATION_SECONDS: &str = "is set, but applies only to effect NoExecute";

/// Says that what runs a deployment, such as an engine, needs GPUs.
pub fn requires_gpu(subject: &str) -> String {
    format!("{subject} requires GPU (set resources.gpu.count > 0)")
}

/// Says that a field of `resources` is for aggregated workers.
pub fn resource_of_aggregated(field: &str) -> String {
    format!("Cannot specify resources.{field} in disaggregated mode (set scaling.prefill and scaling.decode)")
}

/// Says that a role lacks a field.
pub fn role_requires(role: &str, field: &str) -> String {
    format!("Disaggregated mode requires scaling.{role}.{field}")
}
