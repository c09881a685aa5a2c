//! Automatic upgrades of the replicas of an InferenceSet to a newer base image of KAITO.

use super::manifests::{AutoUpgrade, MaintenanceWindow};
use super::overrides::{self, Overrides};
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::text::shorten;

/// Returns the automatic upgrades. Reports times that KAITO rejects (api/v1beta1/inferenceset_validation.go,
/// `validateInferenceSetMaintenanceWindow`).
pub(super) fn choose_upgrades(overrides: &Overrides, findings: &mut Findings<'_>) -> Option<AutoUpgrade> {
    let written = overrides.auto_upgrade.as_ref()?;
    let window = written.maintenance_window.as_ref();
    let path = || overrides::path().auto_upgrade().maintenance_window();
    if let Some(schedule) = window.and_then(|window| window.schedule.as_ref()).filter(|text| !is_schedule(text)) {
        let message = format!("{} is {:?}, expected a cron expression", path().schedule(), shorten(schedule));
        findings
            .report(&codes::INVALID_VALUE, path().schedule(), message)
            .help("write minute, hour, day, month and weekday, such as 0 2 * * 6");
    }
    if let Some(duration) = window.and_then(|window| window.duration.as_ref()).filter(|text| !is_duration(text)) {
        let message = format!("{} is {:?}, expected a duration", path().duration(), shorten(duration));
        findings.report(&codes::INVALID_VALUE, path().duration(), message).help("write a duration such as 4h or 1h30m");
    }
    let maintenance_window = window.and_then(|window| {
        Some(MaintenanceWindow { schedule: window.schedule.clone()?, duration: window.duration.clone() })
    });
    let strategy = written.strategy.map(overrides::UpgradeStrategy::as_str);
    Some(AutoUpgrade { enabled: written.enabled, strategy, maintenance_window })
}

/// Returns whether a text has the form of a cron expression: five fields, or a name such as `@daily`.
fn is_schedule(text: &str) -> bool {
    let is_field = |field: &str| field.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"*/,-?".contains(&byte));
    let is_name = text.starts_with('@') && text.bytes().skip(1).all(|byte| byte.is_ascii_alphanumeric());
    is_name || text.split_ascii_whitespace().count() == 5 && text.split_ascii_whitespace().all(is_field)
}

/// Returns whether a text is a positive duration as Go writes it: numbers, each with a unit.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut is_positive = false;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit());
        let Some((number, unit)) = end.and_then(|end| rest.split_at_checked(end)) else { return false };
        let Some(after) = ["ms", "h", "m", "s"].into_iter().find_map(|name| unit.strip_prefix(name)) else {
            return false;
        };
        if number.is_empty() {
            return false;
        }
        is_positive |= number.bytes().any(|digit| digit != b'0');
        rest = after;
    }
    is_positive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_schedules_and_durations() {
        assert!(["0 2 * * 6", "*/5 1-3 1,15 JAN MON", "@daily"].into_iter().all(is_schedule));
        assert!(!["", "0 2 * *", "0 2 * * 6 7", "a\nb c d !"].into_iter().any(is_schedule));
        assert!(["4h", "1h30m", "90s", "500ms"].into_iter().all(is_duration));
        assert!(!["", "4", "h", "0s", "-1h", "1d", "PT1H"].into_iter().any(is_duration));
    }
}
