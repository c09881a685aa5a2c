//! What a deployment says about the frontend, the HTTP server in front of its workers.

use crate::wire::ModelDeployment;
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_yaml::field_path::FieldPath;

/// An amount of a resource by its name. `None` removes the provider's default.
pub type ResourceAmount = (String, Option<String>);

/// The settings of the frontend that the user wrote.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frontend {
    /// The number of frontends. `None` leaves it to the provider.
    pub replicas: Option<u32>,
    /// Flags of the frontend, in input order.
    pub args: Vec<(String, String)>,
    /// Environment variables of the frontend.
    pub env: Vec<EnvVar>,
    /// Reserved amounts.
    pub requests: Vec<ResourceAmount>,
    /// Upper bounds.
    pub limits: Vec<ResourceAmount>,
}

impl Frontend {
    /// Returns the paths of the fields that are written, for a provider without a frontend.
    pub fn written_fields(&self) -> impl Iterator<Item = FieldPath> {
        let path = || ModelDeployment::path().spec().frontend();
        let Self { replicas, args, env, requests, limits } = self;
        let fields: [(bool, FieldPath); 5] = [
            (replicas.is_some(), path().replicas().into()),
            (!args.is_empty(), path().args().into()),
            (!env.is_empty(), path().env().into()),
            (!requests.is_empty(), path().resources().requests().into()),
            (!limits.is_empty(), path().resources().limits().into()),
        ];
        fields.into_iter().filter_map(|(is_written, path)| is_written.then_some(path))
    }
}
