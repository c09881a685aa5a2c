//! The diagnostic codes of migrations.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    MIGRATION_LOSES = "KF0680" "migration-loses" Warning "a field without its effect on the new provider";
    MIGRATION_REFUSED = "KF0681" "migration-refused" Error "a deployment that the new provider cannot run";
    MIGRATION_KEEPS = "KF0682" "migration-keeps" Warning "a value that was chosen for the old provider";
    NOTHING_TO_MIGRATE = "KF0683" "nothing-to-migrate" Error "no deployment to migrate in the input";
    ALREADY_MIGRATED = "KF0684" "already-migrated" Info "a deployment that already runs on the new provider";
    GROUP_CHANGES = "KF0690" "group-changes" Warning "a field that is rendered differently in the new API group";
    GROUP_REFUSED = "KF0691" "group-refused" Error "an object that the new API group does not accept";
    COMMENTS_LOST = "KF0692" "comments-lost" Warning "an object that is rewritten without its comments";
}
