//! What becomes of every field of a ModelDeployment on a provider: stated by the provider, proved by a test.

/// One row of a provider's field-support table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSupport {
    /// The field, `*` for any key and `[]` for any item: `spec.engine.args.*`.
    pub field: &'static str,
    /// What becomes of it.
    pub support: Support,
    /// Where it goes, or why it does not.
    pub note: &'static str,
}

/// A row: the field, what becomes of it, and where it goes or why it does not.
pub(super) const fn row(field: &'static str, support: Support, note: &'static str) -> FieldSupport {
    FieldSupport { field, support, note }
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It is in the output.
    Rendered,
    /// It is in the output in some forms, and a finding names it in the others (the note says which).
    Partly,
    /// It has no effect, and a warning or an info names it.
    Ignored,
    /// It is an error.
    Refused,
}

/// Every field of the specification that a row must cover (docs/specification.md, MD-1).
pub static FIELDS: &[&str] = &[
    "spec.model.id",
    "spec.model.servedName",
    "spec.model.source",
    "spec.model.storage.volumes[]",
    "spec.provider.overrides",
    "spec.engine.type",
    "spec.engine.contextLength",
    "spec.engine.trustRemoteCode",
    "spec.engine.enablePrefixCaching",
    "spec.engine.enforceEager",
    "spec.engine.image",
    "spec.engine.args.*",
    "spec.engine.extraArgs[]",
    "spec.serving.mode",
    "spec.scaling.replicas",
    "spec.scaling.prefill.replicas",
    "spec.scaling.prefill.gpu.count",
    "spec.scaling.prefill.gpu.type",
    "spec.scaling.prefill.memory",
    "spec.scaling.decode.replicas",
    "spec.scaling.decode.gpu.count",
    "spec.scaling.decode.gpu.type",
    "spec.scaling.decode.memory",
    "spec.resources.gpu.count",
    "spec.resources.gpu.type",
    "spec.resources.memory",
    "spec.resources.cpu",
    "spec.image",
    "spec.env[]",
    "spec.podTemplate.metadata.labels.*",
    "spec.podTemplate.metadata.annotations.*",
    "spec.secrets.huggingFaceToken",
    "spec.imagePullSecrets[]",
    "spec.nodeSelector.*",
    "spec.tolerations[]",
];
