//! The files for CI systems: those of `deploy/`, which the documentation describes, with heads of their own.

use std::path::PathBuf;

use crate::args::CiSystem;

const GITHUB: &str = include_str!("../../../../deploy/github/plan.yml");
const GITLAB: &str = include_str!("../../../../deploy/gitlab/lint.yml");

/// The repository of the action, which stands for the one that the user has.
pub(super) const ACTION: &str = "platform/kubefoundry";

const GITHUB_HEAD: &str = "\
# Checks every pull request, and comments how it affects running models. Replace platform/kubefoundry by the repository
# that has the action kubefoundry for you.
";

const GITLAB_HEAD: &str = "\
# Checks every merge request: findings show on it (Code Quality) and under its tests. Set `image` in the job to an image
# with kubefoundry on its PATH, or run the job on a runner that has it.
";

/// Returns the path and the text of the file for a CI system.
pub(super) fn ci_file(system: CiSystem) -> Option<(PathBuf, String)> {
    let (path, head, text) = match system {
        CiSystem::Github => (".github/workflows/kubefoundry.yml", GITHUB_HEAD, GITHUB),
        CiSystem::Gitlab => (".gitlab-ci.yml", GITLAB_HEAD, GITLAB),
        CiSystem::None => return None,
    };
    let body: String = text.split_inclusive('\n').skip_while(|line| line.starts_with('#')).collect();
    Some((path.into(), format!("{head}{body}")))
}
