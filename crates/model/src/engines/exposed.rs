//! Secrets that stand in the open: arguments are in git, in the generated object, and in what the API shows of a pod.

use super::given::{Given, GivenValue};
use super::launcher::{KEEP_OUT, Launcher};
use crate::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};

/// Flags whose values are secrets.
const SECRETS: &[&str] = &["admin-api-key", "api-key", "api-keys", "hf-token", "ssl-keyfile-password"];

/// Warns of a secret that is given as an argument.
pub(super) fn warn(given: &Given<'_>, name: &str, launcher: &Launcher, findings: &mut Findings<'_>) {
    if !SECRETS.contains(&name) || given.value == GivenValue::Nothing {
        return;
    }
    let help = match name {
        "hf-token" => Some(
            "remove the flag, and set spec.secrets.huggingFaceToken to the name of a Secret with the \
                            key HF_TOKEN",
        ),
        "api-key" | "api-keys" => launcher.api_key_help,
        _ => Some(KEEP_OUT),
    };
    let Some(help) = help else { return };
    let message = format!("--{name} writes a secret into the manifest as plain text");
    findings.report(&codes::EXPOSED_SECRET, FieldRef::key(&given.path), message).help(help);
}
