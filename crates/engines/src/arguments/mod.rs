//! What users write as flags: `engine.args` and `engine.extraArgs`.

pub(crate) mod config_keys;
pub(crate) mod engine_args;
pub(crate) mod exposed_secrets;
pub(crate) mod flag_value;
pub(crate) mod lookup;
pub(crate) mod refused_flags;
pub(crate) mod unknown_flags;
pub(crate) mod user_flags;
