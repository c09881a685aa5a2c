//! The merge of external providers into `run.yaml`, which the init container `merge-config` runs, as a pure function.
//!
//! The merge keeps every byte of the base configuration that it does not have to change: comments, the order of keys,
//! unknown sections, `version: '2'` and `${env.X:=...}`.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` of `github.com/llamastack/llama-stack-k8s-operator`,
//! "Configuration Merge Algorithm".

mod apply;
mod base;
mod discover;
mod error;
mod extra_providers;
mod log;
mod provider_entries;

use serde_json::Value;

use super::package::ProviderPackage;
use super::wire::Api;

pub use base::BaseError;
pub use discover::{CRD_CONFIG, Discovered, Installed, discover};
pub use error::MergeError;

/// An external provider, as the distribution and its package describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The provider's id in the server.
    pub provider_id: String,
    /// The API under which it is listed.
    pub api: Api,
    /// Its position among all external providers, counted from 0.
    pub order: u64,
    /// The image that contains its package.
    pub image: String,
    /// The provider's settings. `run.yaml` omits absent settings but keeps an empty mapping.
    pub config: Option<Value>,
    /// The metadata of its package.
    pub metadata: ProviderPackage,
}

/// The output of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text of `run.yaml`. `None` without a base configuration.
    pub run_yaml: Option<String>,
    /// The text of `extra-providers.yaml`.
    pub extra_providers_yaml: String,
    /// The text of `merge-log.txt`: added, replaced and kept providers.
    pub log: String,
    /// The warnings of the log, three lines each: base providers that external ones replace.
    pub warnings: Vec<String>,
}

/// Merges external providers into a `run.yaml`. Without a base configuration it writes only `extra-providers.yaml`, for
/// a llama-stack that merges providers itself. The order of `entries` does not matter; [`Entry::order`] decides.
///
/// ```
/// use kubefoundry_llamastack::merge::{Entry, merge};
/// use kubefoundry_llamastack::package;
/// use kubefoundry_llamastack::wire::Api;
/// # let text = "{apiVersion: llamastack.io/v1alpha1, kind: ProviderPackage, metadata: {name: a, version: 1.0.0, vendor: b}, \
/// # spec: {packageName: acme.vllm, providerType: 'remote::vllm', api: inference, wheelPath: a.whl}}";
/// let metadata = package::read(text).unwrap().package;
/// let entry = Entry {
///     provider_id: "vllm".into(), api: Api::Inference, order: 0, image: "acme/vllm:1".into(), config: None, metadata,
/// };
/// let merged = merge(Some("version: '2' # kept\n"), &[entry]).unwrap();
/// assert_eq!(merged.run_yaml.unwrap(), "\
/// version: '2' # kept
/// providers:
///   inference:
///   - provider_id: vllm
///     provider_type: remote::vllm
///     module: acme.vllm
/// ");
/// ```
///
/// # Errors
/// Returns all errors: providers under an API that their packages do not implement, providers with the same id, and an
/// invalid base configuration. There is no partial output.
pub fn merge(base: Option<&str>, entries: &[Entry]) -> Result<Merged, Vec<MergeError>> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by(|a, b| (a.order, &a.provider_id).cmp(&(b.order, &b.provider_id)));
    let mut errors = error::check_entries(&entries);
    let applied = base.map(|base| apply::apply(base, &entries)).transpose();
    let applied = applied.map_err(|error| errors.push(MergeError::Base(error)));
    match applied {
        Ok(applied) if errors.is_empty() => {
            let extra_providers_yaml = extra_providers::extra_providers(&entries);
            let log = log::Log::new(&entries, applied.as_ref().map(|applied| &applied.changes));
            Ok(Merged {
                run_yaml: applied.map(|applied| applied.text),
                extra_providers_yaml,
                log: log.text,
                warnings: log.warnings,
            })
        }
        _ => Err(errors),
    }
}
