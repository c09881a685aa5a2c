//! The API versions that the destination cluster serves, as reported by Argo CD.

use std::env;

use kubefoundry_compiler::pipeline::{Compilation, YamlText};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_provider::Provider;
use serde_json::Value;

use super::parameters::ParameterValues;

/// The CRD version that means: choose one that the cluster serves.
const AUTO: &str = "auto";

/// Reasons why no CRD version can be chosen, each on one line, because Argo CD shows them in its UI.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum CrdVersionError {
    #[error(
        "parameter crdVersions: {0} is auto, but KUBE_API_VERSIONS (the API versions of the cluster) is empty; set a version"
    )]
    UnknownCluster(String),
    #[error("Provider '{name}' CRD not installed in cluster: KUBE_API_VERSIONS does not list {crd_versions}")]
    NotInstalled { name: &'static str, crd_versions: String },
}

/// The API versions that the destination cluster serves: `KUBE_API_VERSIONS`, a list of `group/version` and
/// `group/version/Kind`.
#[derive(Debug)]
pub(super) struct ServedVersions(Vec<String>);

impl ServedVersions {
    pub(super) fn from_env() -> Self {
        Self::parse(&env::var_os("KUBE_API_VERSIONS").unwrap_or_default().to_string_lossy())
    }

    fn parse(list: &str) -> Self {
        Self(list.split(',').map(str::trim).filter(|version| !version.is_empty()).map(str::to_owned).collect())
    }

    /// Whether Argo CD reported any version; an empty list means that it does not know the cluster.
    fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    fn serves(&self, crd_version: &str) -> bool {
        // `nvidia.com/v1beta1/Kind` matches `nvidia.com/v1beta1`; `nvidia.com/v1beta10` must not.
        let ends_at_separator = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.0.iter().any(|version| version.strip_prefix(crd_version).is_some_and(ends_at_separator))
    }

    /// Replaces each `auto` in the parameter `crdVersions` by the first CRD version of the provider that the cluster
    /// serves.
    ///
    /// Returns the providers of which the cluster serves no version; they get their default. This is an error only if a
    /// ModelDeployment needs one of them, which [`ServedVersions::reject_missing`] checks after rendering.
    pub(super) fn choose_crd_versions(
        &self,
        values: &mut ParameterValues,
    ) -> Result<Vec<&'static dyn Provider>, CrdVersionError> {
        let mut missing = Vec::new();
        let crd_versions = values.get_mut("crdVersions").and_then(Value::as_object_mut);
        for (name, crd_version) in crd_versions.into_iter().flatten().filter(|(_, crd_version)| *crd_version == AUTO) {
            // Unknown providers are rejected when the options are read.
            let Some(provider) = BUILTIN.find_provider(name) else { continue };
            if !self.is_known() {
                return Err(CrdVersionError::UnknownCluster(name.clone()));
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

    /// Fails if a ModelDeployment needs one of these providers.
    pub(super) fn reject_missing(
        missing: &[&'static dyn Provider],
        compilation: &Compilation<YamlText>,
    ) -> Result<(), CrdVersionError> {
        let needed = missing.iter().find(|provider| rendered_crd_versions(**provider, compilation).next().is_some());
        needed.map_or(Ok(()), |provider| {
            let crd_versions = provider.info().crd_versions.join(" or ");
            Err(CrdVersionError::NotInstalled { name: provider.name(), crd_versions })
        })
    }

    /// Returns one line for each provider whose CRD version is rendered but not served by the cluster.
    pub(super) fn warnings(&self, compilation: &Compilation<YamlText>) -> String {
        if !self.is_known() {
            return String::new();
        }
        let warning = |provider: &&'static dyn Provider| {
            let crd_version =
                rendered_crd_versions(*provider, compilation).find(|crd_version| !self.serves(crd_version))?;
            let name = provider.display_name();
            Some(format!("kubefoundry: the cluster does not serve {crd_version}, which {name} manifests need\n"))
        };
        PROVIDERS.iter().filter_map(warning).collect()
    }
}

/// Returns the CRD version of each ModelDeployment of a provider.
fn rendered_crd_versions<'c>(
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
        let mut values = ParameterValues::from([("crdVersions", crd_versions.clone())]);
        let missing = ServedVersions::parse(served).choose_crd_versions(&mut values)?;
        Ok((values.remove("crdVersions").unwrap(), missing.iter().map(|provider| provider.name()).collect()))
    }

    /// The order of the provider decides among the served versions. A version that is only a prefix of another does not
    /// match.
    #[test]
    fn chooses_the_first_served_crd_version() {
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

    /// An explicit version is kept, even if the cluster does not serve it.
    #[test]
    fn keeps_explicit_crd_versions() {
        let named = json!({"dynamo": "nvidia.com/v1beta1", "unknown": "auto"});
        assert_eq!(choose("v1", &named).unwrap(), (named, vec![]));
        assert_eq!(ServedVersions::parse("v1").choose_crd_versions(&mut ParameterValues::new()).unwrap().len(), 0);
    }

    #[test]
    fn auto_needs_the_served_versions() {
        let error = choose(" , ", &json!({"kaito": "auto"})).unwrap_err();
        assert_eq!(error, CrdVersionError::UnknownCluster("kaito".to_owned()));
        assert_eq!(choose("v1", &json!({"kaito": "auto"})).unwrap().1, ["kaito"]);
    }
}
