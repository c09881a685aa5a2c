//! `run.yaml` with external providers: what the init container `merge-config` makes, as a pure function.
//!
//! The base keeps every byte that the merge does not have to change: comments, order of keys, sections that nobody here
//! knows, `version: '2'` and `${env.X:=...}`.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` of `github.com/llamastack/llama-stack-k8s-operator`,
//! "Configuration Merge Algorithm".

mod apply;
mod base;
mod discover;
mod error;
mod expected;
mod extra;
mod log;

use serde_json::Value;

use super::package::ProviderPackage;
use super::wire::Api;

pub use base::{BaseError, check_base};
pub use discover::{CRD_CONFIG, Discovered, Installed, discover};
pub use error::MergeError;

/// An external provider: what the distribution says of it, and what its package does.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it is called in the server.
    pub provider_id: String,
    /// The API that it is listed under.
    pub api: Api,
    /// Its place among all external providers, counted from 0.
    pub order: u64,
    /// The image that its package is in.
    pub image: String,
    /// Its settings; absent ones are left out of `run.yaml`, an empty mapping is kept.
    pub config: Option<Value>,
    /// What its package says of itself.
    pub metadata: ProviderPackage,
}

/// What the merge makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// `run.yaml`; none without a base.
    pub run_yaml: Option<String>,
    /// `extra-providers.yaml`.
    pub extra_providers_yaml: String,
    /// `merge-log.txt`: what was added, replaced and left.
    pub log: String,
    /// The warnings of the log: base providers that external ones replace, three lines each.
    pub warnings: Vec<String>,
}

/// Merges external providers into a `run.yaml`. Without a base only `extra-providers.yaml` is made, for a llama-stack that
/// reads it itself. Entries may come in any order; [`Entry::order`] counts.
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
/// All that is wrong: providers under an API that their packages do not provide, providers of one id, a base that is no
/// mapping in YAML. Then there is no output at all.
pub fn merge(base: Option<&str>, entries: &[Entry]) -> Result<Merged, Vec<MergeError>> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by(|a, b| (a.order, &a.provider_id).cmp(&(b.order, &b.provider_id)));
    let mut errors = error::of_entries(&entries);
    let applied = base.map(|base| apply::apply(base, &entries)).transpose();
    let applied = applied.map_err(|error| errors.push(MergeError::Base(error)));
    match applied {
        Ok(applied) if errors.is_empty() => {
            let extra_providers_yaml = extra::extra_providers(&entries);
            let log = log::Log::of(&entries, applied.as_ref().map(|applied| &applied.changes));
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
