//! Secrets that are written as arguments. They are readable in git, in the rendered object and in the pod.

use super::user_flags::{UserFlag, UserFlagValue};
use crate::launcher::{Launcher, SECRET_HELP};
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::REVOKE;
use kubefoundry_yaml::secret::is_secret_name;

/// Warns about a secret that is written as an argument. `name` is the canonical name of the flag.
pub(crate) fn warn_about_secret(
    user_flag: &UserFlag<'_>,
    name: &str,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) {
    if !is_secret_name(name) || user_flag.value == UserFlagValue::Absent {
        return;
    }
    let help = match name {
        "hf-token" => Some(
            "remove the flag, and set spec.secrets.huggingFaceToken to the name of a Secret with the \
                            key HF_TOKEN",
        ),
        "api-key" | "api-keys" => launcher.api_key_help,
        _ => Some(SECRET_HELP),
    };
    let Some(help) = help else { return };
    let message = format!("--{name} writes a secret into the manifest as plain text");
    findings.report(&codes::EXPOSED_SECRET, FieldRef::key(&user_flag.path), message).help(format!("{help}; {REVOKE}"));
}
