//! What the destination cluster serves, as Argo CD says it.

use std::env;

use kubefoundry_compiler::pipeline::{Compilation, YamlText};
use kubefoundry_model::provider::Provider;
use kubefoundry_model::providers::{self, PROVIDERS};
use serde_json::Value;

use super::parameters::Given;

/// What stands in a crd_version's place when it is to be chosen.
const AUTO: &str = "auto";

/// Why no crd_version can be chosen. One line each: Argo CD shows it in its UI.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum CrdVersionError {
    #[error(
        "parameter crdVersions: {0} is auto, and KUBE_API_VERSIONS, which says what the cluster serves, is empty; name the version"
    )]
    NothingKnown(String),
    #[error("Provider '{name}' CRD not installed in cluster: KUBE_API_VERSIONS does not have {crd_versions}")]
    NotInstalled { name: &'static str, crd_versions: String },
}

/// The API versions that the destination cluster serves: `KUBE_API_VERSIONS`, a list of `group/version` and
/// `group/version/Kind`.
#[derive(Debug)]
pub(super) struct Served(Vec<String>);

impl Served {
    /// Reads the variable.
    pub(super) fn read() -> Self {
        Self::parse(&env::var("KUBE_API_VERSIONS").unwrap_or_default())
    }

    fn parse(list: &str) -> Self {
        Self(list.split(',').map(str::trim).filter(|version| !version.is_empty()).map(str::to_owned).collect())
    }

    fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    fn serves(&self, crd_version: &str) -> bool {
        let whole = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.0.iter().any(|version| version.strip_prefix(crd_version).is_some_and(whole))
    }

    /// Puts the first crd_version of a provider that the cluster serves in the place of each `auto` among the
    /// parameters. Returned are the providers of which it serves none: an error only where one of them is needed, which
    /// [`Served::refuse_missing`] finds out. In their place is the default until then.
    pub(super) fn choose_crd_versions(&self, given: &mut Given) -> Result<Vec<&'static dyn Provider>, CrdVersionError> {
        let mut missing = Vec::new();
        let crd_versions = given.get_mut("crdVersions").and_then(Value::as_object_mut);
        for (name, crd_version) in crd_versions.into_iter().flatten().filter(|(_, crd_version)| *crd_version == AUTO) {
            // A provider that there is not is refused where options are read.
            let Some(provider) = providers::find(name) else { continue };
            if !self.is_known() {
                return Err(CrdVersionError::NothingKnown(name.clone()));
            }
            let served = provider.info().crd_versions.iter().find(|crd_version| self.serves(crd_version));
            if served.is_none() {
                missing.push(provider);
            }
            if let Some(chosen) = served.or_else(|| provider.info().crd_versions.first()) {
                *crd_version = Value::from(*chosen);
            }
        }
        Ok(missing)
    }

    /// Fails when a ModelDeployment needs one of these providers.
    pub(super) fn refuse_missing(
        missing: &[&'static dyn Provider],
        compilation: &Compilation<YamlText>,
    ) -> Result<(), CrdVersionError> {
        let needed = missing.iter().find(|provider| crd_versions_of(**provider, compilation).next().is_some());
        needed.map_or(Ok(()), |provider| {
            let crd_versions = provider.info().crd_versions.join(" or ");
            Err(CrdVersionError::NotInstalled { name: provider.name(), crd_versions })
        })
    }

    /// One line for each provider whose CRD the cluster lacks.
    pub(super) fn warnings(&self, compilation: &Compilation<YamlText>) -> String {
        if !self.is_known() {
            return String::new();
        }
        let warning = |provider: &&'static dyn Provider| {
            let crd_version = crd_versions_of(*provider, compilation).find(|crd_version| !self.serves(crd_version))?;
            let name = provider.display_name();
            Some(format!("kubefoundry: the cluster does not serve {crd_version}, which {name} manifests need\n"))
        };
        PROVIDERS.iter().filter_map(warning).collect()
    }
}

/// The CRD versions that are written for a provider, one for each of its ModelDeployments.
fn crd_versions_of<'c>(
    provider: &'static dyn Provider,
    compilation: &'c Compilation<YamlText>,
) -> impl Iterator<Item = &'c str> {
    let decisions = compilation.decisions.iter();
    decisions
        .filter(|decision| decision.provider() == Some(provider.name()))
        .filter_map(|decision| decision.crd_version.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choose(served: &str, crd_versions: &Value) -> Result<(Value, Vec<&'static str>), CrdVersionError> {
        let mut given = Given::from([("crdVersions", crd_versions.clone())]);
        let missing = Served::parse(served).choose_crd_versions(&mut given)?;
        Ok((given.remove("crdVersions").unwrap(), missing.iter().map(|provider| provider.name()).collect()))
    }

    /// The provider's own order decides among those that are served; a group that only begins the same is another.
    #[test]
    fn the_first_target_that_is_served_is_chosen() {
        let auto = json!({"dynamo": "auto", "kaito": "kaito.sh/v1beta1"});
        let cases = [
            ("v1,nvidia.com/v1beta1,nvidia.com/v1beta1/DynamoGraphDeployment", "nvidia.com/v1beta1"),
            ("nvidia.com/v1beta1,nvidia.com/v1alpha1", "nvidia.com/v1alpha1"),
            (" v1 , nvidia.com/v1beta1/DynamoGraphDeployment ", "nvidia.com/v1beta1"),
            ("nvidia.com/v1alpha1beta,nvidia.com/v1beta1", "nvidia.com/v1beta1"),
        ];
        for (served, expected) in cases {
            let (crd_versions, missing) = choose(served, &auto).unwrap();
            assert_eq!(crd_versions, json!({"dynamo": expected, "kaito": "kaito.sh/v1beta1"}), "{served}");
            assert!(missing.is_empty(), "{served}: {missing:?}");
        }
    }

    /// A version that was named is the user's decision, served or not.
    #[test]
    fn named_targets_stay() {
        let named = json!({"dynamo": "nvidia.com/v1beta1", "nobody": "auto"});
        assert_eq!(choose("v1", &named).unwrap(), (named, vec![]));
        assert_eq!(Served::parse("v1").choose_crd_versions(&mut Given::new()).unwrap().len(), 0);
    }

    #[test]
    fn what_the_cluster_serves_must_be_known() {
        let error = choose(" , ", &json!({"kaito": "auto"})).unwrap_err();
        assert_eq!(error, CrdVersionError::NothingKnown("kaito".to_owned()));
        assert_eq!(choose("v1", &json!({"kaito": "auto"})).unwrap().1, ["kaito"]);
    }
}
