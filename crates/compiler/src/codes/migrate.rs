//! The diagnostic codes of migrations.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    MIGRATION_LOSES = "KF0712" "migration-loses" Warning "a field without its effect on the new provider";
    MIGRATION_REFUSED = "KF0713" "migration-refused" Error "a deployment that the new provider cannot run";
    MIGRATION_KEEPS = "KF0714" "migration-keeps" Warning "a value that was chosen for the old provider";
    NOTHING_TO_MIGRATE = "KF0715" "migration-finds-nothing" Error "no deployment to migrate in the input";
    ALREADY_MIGRATED = "KF0716" "migration-done" Info "a deployment that already runs on the new provider";
    GROUP_CHANGES = "KF0717" "migration-changes-group" Warning "a field that is rendered differently in the new API group";
    GROUP_REFUSED = "KF0718" "migration-refuses-group" Error "an object that the new API group does not accept";
    COMMENTS_LOST = "KF0719" "migration-loses-comments" Warning "an object that is rewritten without its comments";
}
