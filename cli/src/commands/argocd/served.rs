//! What the destination cluster serves, as Argo CD says it.

use std::env;

use kubefoundry_engine::pipeline::{Compilation, YamlText};
use kubefoundry_model::provider::Provider;
use kubefoundry_model::providers::{self, PROVIDERS};
use serde_json::Value;

use super::parameters::Given;

/// What stands in a target's place when it is to be chosen.
const AUTO: &str = "auto";

/// Why no target can be chosen. One line each: Argo CD shows it in its UI.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum TargetError {
    #[error(
        "parameter targets: {0} is auto, and KUBE_API_VERSIONS, which says what the cluster serves, is empty; name the version"
    )]
    NothingKnown(String),
    #[error("Provider '{name}' CRD not installed in cluster: KUBE_API_VERSIONS does not have {targets}")]
    NotInstalled { name: &'static str, targets: String },
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

    fn serves(&self, target: &str) -> bool {
        let whole = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.0.iter().any(|version| version.strip_prefix(target).is_some_and(whole))
    }

    /// Puts the first target of a provider that the cluster serves in the place of each `auto` among the parameters.
    /// Returned are the providers of which it serves none: an error only where one of them is needed, which
    /// [`Served::refuse_missing`] finds out. In their place is the default until then.
    pub(super) fn choose_targets(&self, given: &mut Given) -> Result<Vec<&'static dyn Provider>, TargetError> {
        let mut missing = Vec::new();
        let targets = given.get_mut("targets").and_then(Value::as_object_mut);
        for (name, target) in targets.into_iter().flatten().filter(|(_, target)| *target == AUTO) {
            // A provider that there is not is refused where options are read.
            let Some(provider) = providers::find(name) else { continue };
            if !self.is_known() {
                return Err(TargetError::NothingKnown(name.clone()));
            }
            let served = provider.info().targets.iter().find(|target| self.serves(target));
            if served.is_none() {
                missing.push(provider);
            }
            if let Some(chosen) = served.or_else(|| provider.info().targets.first()) {
                *target = Value::from(*chosen);
            }
        }
        Ok(missing)
    }

    /// Fails when a ModelDeployment needs one of these providers.
    pub(super) fn refuse_missing(
        missing: &[&'static dyn Provider],
        compilation: &Compilation<YamlText>,
    ) -> Result<(), TargetError> {
        let needed = missing.iter().find(|provider| targets_of(**provider, compilation).next().is_some());
        needed.map_or(Ok(()), |provider| {
            let targets = provider.info().targets.join(" or ");
            Err(TargetError::NotInstalled { name: provider.name(), targets })
        })
    }

    /// One line for each provider whose CRD the cluster lacks.
    pub(super) fn warnings(&self, compilation: &Compilation<YamlText>) -> String {
        if !self.is_known() {
            return String::new();
        }
        let warning = |provider: &&'static dyn Provider| {
            let target = targets_of(*provider, compilation).find(|target| !self.serves(target))?;
            let name = provider.display_name();
            Some(format!("kubefoundry: the cluster does not serve {target}, which {name} manifests need\n"))
        };
        PROVIDERS.iter().filter_map(warning).collect()
    }
}

/// The CRD versions that are written for a provider, one for each of its ModelDeployments.
fn targets_of<'c>(
    provider: &'static dyn Provider,
    compilation: &'c Compilation<YamlText>,
) -> impl Iterator<Item = &'c str> {
    let decisions = compilation.decisions.iter();
    decisions
        .filter(|decision| decision.provider() == Some(provider.name()))
        .filter_map(|decision| decision.target.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choose(served: &str, targets: &Value) -> Result<(Value, Vec<&'static str>), TargetError> {
        let mut given = Given::from([("targets", targets.clone())]);
        let missing = Served::parse(served).choose_targets(&mut given)?;
        Ok((given.remove("targets").unwrap(), missing.iter().map(|provider| provider.name()).collect()))
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
            let (targets, missing) = choose(served, &auto).unwrap();
            assert_eq!(targets, json!({"dynamo": expected, "kaito": "kaito.sh/v1beta1"}), "{served}");
            assert!(missing.is_empty(), "{served}: {missing:?}");
        }
    }

    /// A version that was named is the user's decision, served or not.
    #[test]
    fn named_targets_stay() {
        let named = json!({"dynamo": "nvidia.com/v1beta1", "nobody": "auto"});
        assert_eq!(choose("v1", &named).unwrap(), (named, vec![]));
        assert_eq!(Served::parse("v1").choose_targets(&mut Given::new()).unwrap().len(), 0);
    }

    #[test]
    fn what_the_cluster_serves_must_be_known() {
        let error = choose(" , ", &json!({"kaito": "auto"})).unwrap_err();
        assert_eq!(error, TargetError::NothingKnown("kaito".to_owned()));
        assert_eq!(choose("v1", &json!({"kaito": "auto"})).unwrap().1, ["kaito"]);
    }
}
